"""Goal: an edit of the source is run in a process of its own until a run shows it, in whatever form."""

from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from umi_sim.kernel import folders
from umi_sim.mutants.source_edits import SourceEdit
from umi_sim.scenario import files as scenario
from umi_sim.sweep import source_hunt
from umi_sim.sweep.plan import source_of
from umi_sim.sweep.source_hunt import NO_END, NO_START, NO_VERDICT, TESTED, hunt, hunts, turns

WORKING = "umi_core/tiers/working.py"
EFFECTS = "umi_core/messages/effects.py"


def edit(file: str, old: str, new: str) -> SourceEdit:
    text = (folders.PROJECT / file).read_text("utf-8")
    assert text.count(old) == 1
    return SourceEdit(file, 1, 0, old, new, text.replace(old, new))


BOUNDARY = edit(WORKING, "if tier.due_ms <= now_ms:", "if tier.due_ms < now_ms:")
HOW = {
    "a rule": (BOUNDARY, "reference-agrees (REF-1)"),
    "an exception": (edit(WORKING, "if tier.due_ms <= now_ms:", "if tier.due_ms <= None:"), "crash"),
    "no import": (edit(WORKING, '"""Working tier: key', 'import nowhere\n"""Working tier: key'), NO_START),
    "no end": (edit(WORKING, "if tier.due_ms <= now_ms:", "while True:"), NO_END),
    "an exception of the simulator": (
        edit(
            EFFECTS,
            "    error: Error\n\n\nclass Failed",
            "    why: Error\n\n\nclass Failed",
        ),
        NO_VERDICT,
    ),
}


@pytest.fixture(autouse=True)
def tests_of_functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One test in the place of all tests of umi_core."""
    monkeypatch.setattr(source_hunt, "TESTS", (tmp_path,))
    text = "from umi_core.text import size\n\n\ndef test_size() -> None:\n    assert size('é') == 2\n"
    (tmp_path / "test_size.py").write_text(text, "utf-8")


@pytest.mark.parametrize(("wrong", "how"), HOW.values(), ids=HOW)
def test_an_edit_is_seen(monkeypatch: pytest.MonkeyPatch, wrong: SourceEdit, how: str) -> None:
    monkeypatch.setitem(source_hunt.LIMITS, "cpu_s_max", 1)
    found = hunt(wrong, (source_of("working"),), "1", 20_000)
    assert found.how == how


def test_what_changes_nothing_survives() -> None:
    (found,) = hunts(
        [edit("umi_core/text.py", "# category Cc", "# control characters")],
        (source_of("working"),),
        "0",
        300,
        1,
    )
    assert structs.astuple(found)[3:6] == ("", "", 0)
    assert found.runs == found.met >= 1
    assert 300 <= found.cpu_ms < 30_000


@pytest.mark.slow
def test_what_no_run_shows_is_given_to_the_tests_of_functions() -> None:
    wrong = edit("umi_core/text.py", "else len(text.encode())", "else len(text)")
    found = hunt(wrong, (), "0", 0)
    assert (found.how, found.scenario, found.runs, found.cpu_ms) == (TESTED, "", 0, 0)


def test_scenarios_take_turns() -> None:
    names = sorted(scenario.list_shipped())[:3]
    order = turns(tuple(source_of(name) for name in names), "0", {})
    first = [next(order) for _ in range(6)]
    assert [source.name for source, _ in first] == names * 2
    assert len({seed for _, seed in first}) == 6  # a seed alone says what settings and faults are drawn


def test_scenarios_that_do_not_meet_the_line_sit_out_four_of_five_turns() -> None:
    names = ["core", "smoke", "working"]
    order = turns(tuple(source_of(name) for name in names), "0", {"core": 1, "smoke": 0})
    swept = [source.name for source, _ in islice(order, 10)]
    assert swept == [*names, "core", "core", "core", "core", *names]


def test_a_survivor_tells_how_many_runs_met_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    run = source_hunt.run_edited
    late = edit(WORKING, "    total = number + delta", "    total = delta + number")
    line = late.text[: late.text.index(late.after)].count("\n") + 1
    costs_ms = iter((20, 20, 20))

    def run_at_a_cost(*args: Any) -> source_hunt.EditedRun:
        return structs.replace(run(*args), cpu_ms=next(costs_ms))

    monkeypatch.setattr(source_hunt, "run_edited", run_at_a_cost)
    found = hunt(structs.replace(late, line=line), (source_of("working"), source_of("rendering")), "1", 41)
    assert (found.how, found.runs, found.met, found.cpu_ms) == ("", 3, 2, 60)
