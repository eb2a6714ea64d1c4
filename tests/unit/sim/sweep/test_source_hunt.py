"""Goal: an edit of the source is run in a process of its own until a run shows it, in whatever form."""

from itertools import islice
from pathlib import Path

import pytest
from msgspec import structs

from umi_sim.kernel import folders
from umi_sim.mutants.source_edits import SourceEdit
from umi_sim.sweep import source_hunt
from umi_sim.sweep.plan import source_of
from umi_sim.sweep.source_hunt import (
    NO_END,
    NO_START,
    NO_VERDICT,
    TESTED,
    EditedRun,
    UneditedRun,
    hunt,
    hunts,
    run_unedited,
    turns,
)

WORKING = "umi_core/tiers/working.py"
EFFECTS = "umi_core/messages/effects.py"


def edit(file: str, old: str, new: str) -> SourceEdit:
    text = (folders.PROJECT / file).read_text("utf-8")
    assert text.count(old) == 1
    return SourceEdit(file, 1, 0, old, new, text.replace(old, new))


BOUNDARY = edit(WORKING, "if tier.due_ms <= now_ms:", "if tier.due_ms < now_ms:")
HOW = {
    "a rule": (BOUNDARY, "no-spurious-refusal (CAP-2)"),
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
    found = hunt(wrong, [UneditedRun(source_of("working"), 1, 1, {})], "1", 20_000)
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
    assert found.runs >= found.met == 1
    assert 300 <= found.cpu_ms < 30_000


@pytest.mark.slow
def test_what_no_run_shows_is_given_to_the_tests_of_functions() -> None:
    wrong = edit("umi_core/text.py", "else len(text.encode())", "else len(text)")
    found = hunt(wrong, (), "0", 0)
    assert (found.how, found.scenario, found.runs, found.cpu_ms) == (TESTED, "", 0, 0)


def unedited(name: str, cpu_ms: int) -> UneditedRun:
    return UneditedRun(source_of(name), 7, cpu_ms, {})


def test_runs_that_execute_the_line_come_first_and_then_share_the_time() -> None:
    met, others = [unedited("core", 300), unedited("smoke", 100)], [unedited("working", 50)]
    used_ms: dict[str, int] = {}
    order = turns(met, others, "0", used_ms)
    first = [(source.name, seed) for source, seed in islice(order, 2)]
    assert first == [("smoke", 7), ("core", 7)]
    used_ms |= {"smoke": 100, "core": 300}
    later = []
    for source, seed in islice(order, 10):
        later.append(source.name)
        assert seed != 7
        used_ms[source.name] = used_ms.get(source.name, 0) + 100
    assert later == "smoke smoke working smoke core smoke core working smoke core".split()


def test_scenarios_take_turns_if_none_executes_the_line() -> None:
    others, used_ms = [unedited("core", 300), unedited("smoke", 100)], dict[str, int]()
    names, seeds = [], set()
    for source, seed in islice(turns([], others, "0", used_ms), 4):
        names.append(source.name)
        seeds.add(seed)
        used_ms[source.name] = used_ms.get(source.name, 0) + 100
    assert names == ["smoke", "core", "smoke", "core"]
    assert len(seeds) == 4  # a seed alone says which settings and faults are drawn


def test_a_survivor_tells_how_many_scenarios_execute_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    late = edit(WORKING, "    total = number + delta", "    total = delta + number")
    line = late.text[: late.text.index(late.after)].count("\n") + 1
    known = [run_unedited(source_of(name), 1) for name in ("working", "rendering")] + [unedited("core", 1)]
    monkeypatch.setattr(source_hunt, "run_edited", lambda *args: EditedRun("", 20_000))
    found = hunt(structs.replace(late, line=line), known, "1", 41_000)
    assert (found.how, found.runs, found.met, found.cpu_ms) == ("", 3, 1, 60_000)


def test_a_scenario_without_a_result_executes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(source_hunt.LIMITS, "wall_ms_max", 0)
    assert run_unedited(source_of("working"), 1) == UneditedRun(source_of("working"), 1, 30_000, {})
