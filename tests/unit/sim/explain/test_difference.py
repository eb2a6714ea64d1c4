"""Goal: of two runs the first record and field that differ are named, with what led there and what it did."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.sim.commands import lines_of, refused, umi
from umi_core.codec import plain
from umi_core.errors import Conflict
from umi_core.messages.effects import Failed, Unknown
from umi_sim.explain import difference
from umi_sim.kernel.report import WIDTH
from umi_sim.record.trace import Tag, Trace
from umi_sim.runs import runner
from umi_sim.scenario import files as scenario
from umi_sim.seedfile import files as seed_file

pytestmark = pytest.mark.usefixtures("own_folder")
STEP = (Tag.STEP, "a", 5, "Wake", "a/wake#1")
SMALL = ("--set", "workload.operations=6", "--set", "agents.count=1", "--mode", "plain")


def traced(*records: tuple[Any, ...]) -> Trace:
    kept = Trace(keep_all=True)
    for tag, *fields in records:
        kept.add(tag, *fields)
    return kept


def apart(first: Trace, second: Trace) -> list[str]:
    found = difference.apart(first, second)
    assert found is not None
    return lines_of(difference.report(found), WIDTH)


def test_the_first_field_that_differs_is_named_and_what_led_there_stands_side_by_side() -> None:
    failed = (Tag.REPLY, "o1", False, plain(Failed(Conflict("commit", "conflict", 3))))
    lines = apart(
        traced(STEP, (Tag.REPLY, "o1", True, 7), STEP),
        traced(STEP, failed, (Tag.OP, "o2", "a", 5, "len", [])),
    )
    assert [line.split() for line in lines] == [
        "first difference at record 1, step 1, field outcome: done / failed".split(),
        ["first", "second"],
        "0 a/wake#1 step \"Wake\" 0 a/wake#1 step \"Wake\"".split(),
        ["1", "o1", "reply", "done", "7", "|", "1", "o1", "reply", "failed", *lines[3].split()[10:]],
        ["2", "a/wake#1", "step", '"Wake"', "|", "2", "o2", "op", '"len"', "[]"],
    ]  # fmt: skip


def test_an_unknown_outcome_is_called_so() -> None:
    unknown = (Tag.REPLY, "o1", False, plain(Unknown()))
    assert "field outcome: unknown / done" in apart(traced(unknown), traced((Tag.REPLY, "o1", True, None)))[0]


def test_records_of_two_subjects_are_distinguished() -> None:
    difference = apart(traced(STEP), traced((Tag.MARK, "x")))[0]
    assert difference == 'first difference at record 0, step 1; first: a/wake#1 step "Wake"; second: mark "x"'


def test_only_the_last_records_before_are_shown() -> None:
    lines = apart(traced(*[STEP] * 20), traced(*[STEP] * 19))
    assert lines[0] == "first difference at record 19, step 20, where the second trace has ended"
    assert [line.split()[0] for line in lines[2:]] == ["14", "15", "16", "17", "18", "19"]
    assert lines[-1].endswith("| (ended)")


def test_a_text_of_a_model_moves_no_cursor() -> None:
    lines = apart(traced((Tag.ANSWER, "e", "model\x1b[2J", "x" * 999)), traced((Tag.ANSWER, "e", "\u202e")))
    assert all(line.isprintable() for line in lines)
    assert max(map(len, lines)) <= WIDTH


def test_a_run_is_the_same_as_itself_however_it_is_named() -> None:
    config = scenario.draw(scenario.find("working"), 3)
    seed_file.write(Path("run.json"), runner.run(config))
    runner.trace_of(config).write(Path("run.trace"), {})
    for other in ("working --seed 3", "run.json", "run.trace"):
        result = umi("diff", "working:3", other)
        assert (result.exit_code, result.stdout) == (0, "SAME the two runs have the same records\n"), other


def test_two_configurations_of_a_seed_differ_in_state_too() -> None:
    result = umi("diff", "working:4", "working --seed 4 --set memory.working_entry_count_max=1")
    assert result.exit_code == 1
    first, *_ = result.stdout.splitlines()
    assert first.startswith("DIFFER first difference at record ")
    assert "field outcome: done / refused" in first
    assert "memory.a.tiers.working.entries." in result.stdout


def test_a_trace_file_has_no_states() -> None:
    runner.trace_of(scenario.draw(scenario.find("working"), 3)).write(Path("run.trace"), {})
    result = umi("diff", "run.trace", "working:4")
    assert result.exit_code == 1
    assert "  state " not in result.stdout


@pytest.mark.parametrize(
    ("side", "complaint"),
    [
        ("smoke", "neither a file nor a seed"), ("smoke:x", "is not a seed"),
        ("nowhere:1", "no such scenario"),
        ("absent.json", "cannot be read"), ("bad.json", "bad.json"), ("bad.trace", "not a trace"),
        ("absent.trace", "No such file"), ("smoke:1 --nonsense", "No such option"), ("smoke:'1", "quotation"),
        ("", "neither a file nor a seed"), ("folder", "neither a file nor a seed"),
    ],
)  # fmt: skip
def test_a_side_that_is_none_is_one_line(side: str, complaint: str) -> None:
    Path("bad.json").write_text("{}")
    Path("bad.trace").write_bytes(b"\x93\x01\x02")
    Path("folder").mkdir()
    assert complaint in refused("diff", side, "smoke:1")
