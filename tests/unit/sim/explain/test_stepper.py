"""Goal: a recorded run is gone through step by step; back is as exact as forth, nothing is too long."""

from pathlib import Path

import pytest
from msgspec import structs

from tests.unit.sim.commands import lines_of, umi
from umi_sim.explain import playback
from umi_sim.explain.playback import Playback, look
from umi_sim.explain.stepper import LINE_COUNT_MAX, Stepper, limit_lines
from umi_sim.kernel.report import Report
from umi_sim.record.items import Fault, Item, Op
from umi_sim.record.state_tree import NoSuchPath, Tree, changes, tree_at
from umi_sim.runs import runner
from umi_sim.seedfile import files as seed_file
from umi_sim.seedfile.fields import PLAIN

ITEMS: tuple[Item, ...] = (
    Op("o1", 5_000, "a", "set", {"key": "a.b\x1b", "value": b" 5", "ttl_ms": 10_000}),
    Op("o2", 5_001, "a", "remember", {"text": "Alice likes tea."}),
    Fault("f1", "storage_lost", "o2/commit#1", {"told": "nothing"}),
    Op("o3", 6_000, "a", "incr", {"key": "a.b\x1b", "delta": 1}),
)
CONFIG = structs.replace(PLAIN, scenario="working", mode="swarm", faults={"storage_lost": (1, 4)})
PLAYBACK = Playback(CONFIG, ITEMS)
FAILING = Playback(structs.replace(CONFIG, planted="lenient-counter-text"), ITEMS)


def run_commands(*commands: str, of: Playback = PLAYBACK) -> list[str]:
    """What the last of these commands says."""
    stepper = Stepper(of)
    return [list_lines(stepper, command) for command in commands][-1]


def list_lines(stepper: Stepper, command: str) -> list[str]:
    return lines_of(stepper.do(command)[0])


# The run.


def test_watching_changes_nothing() -> None:
    _, records = runner.run_once(CONFIG, ITEMS, keep_trace=True)
    course = PLAYBACK.course()
    stand = PLAYBACK.at(len(course.events) + 1)
    assert stand.run.world.trace.hexdigest()[:8] != ""
    assert list(stand.run.world.trace.kept) == list(records.kept)[:-1]  # but for the record of the end
    assert stand.run.world.step_count == len(course.events)


def test_each_step_ends_where_the_next_begins() -> None:
    for step in range(1, PLAYBACK.course().events.index("o3")):
        before, after = PLAYBACK.at(step), PLAYBACK.at(step + 1)
        assert look(before.run, "memory") == after.before.parts["memory"]


def test_a_failure_is_counted_in_the_same_steps() -> None:
    failure = FAILING.course().failure
    assert failure is not None
    assert FAILING.course().events[failure.step - 1] == "o3"
    assert FAILING.at(failure.step).failure == failure
    assert FAILING.at(failure.step - 1).failure is None


# The state.


def test_what_a_name_holds_is_found_however_it_is_written() -> None:
    run = PLAYBACK.at(100).run
    for path in (
        "memory.a.counters",
        "storage.rows",
        "oracle.agents.a.working.twins.0.config",
        "world.clocks.a",
    ):
        assert look(run, path) is not None
    run = PLAYBACK.at(Stepper(PLAYBACK).course.events.index("o1") + 1).run
    value = (b" 5", 1_700_000_015_000)
    assert look(run, "memory.a.tiers.working.entries.a.b\x1b") == value
    assert look(run, "memory.a.tiers.working.entries.a.b\\x1b") == value
    with pytest.raises(NoSuchPath, match="no nothing here, only memory, storage, oracle, world, config"):
        look(run, "nothing")


def test_a_copy_does_not_change_with_the_run() -> None:
    with PLAYBACK.begin() as (run, watcher):
        seen: list[Tree] = []
        watcher.ends = lambda: seen.append(look(run, "memory.a.operation_count"))
        playback.run_until_stop(run)
    assert len(dict.fromkeys(map(str, seen))) > 1  # each life counts anew, the last one too


def test_an_addition_and_a_removal_are_one_change_each() -> None:
    old, new = tree_at({"x": 1, "y": {"z": (1, 2)}}), tree_at({"y": {"z": (1, 3)}, "w": {"v": 1}})
    assert [str(change) for change in changes(old, new)] == [
        "x 1 -> absent", "y.z (1, 2) -> (1, 3)", "w absent -> 1 in a dict",
    ]  # fmt: skip
    assert list(changes(old, old)) == []
    assert [str(it) for it in changes(tree_at({"x": True}), tree_at({"x": 1}))] == ["x True -> 1"]


def test_keys_that_look_alike_stay_apart() -> None:
    class Key:
        pass

    assert list(tree_at({Key(): 1, Key(): 2}).parts.values()) == [1, 2]


# The conversation.


def test_a_step_is_described_by_its_records() -> None:
    events = PLAYBACK.course().events
    stepper = Stepper(PLAYBACK)
    assert stepper.prompt() == f"0/{len(events)} start> "
    lines = list_lines(stepper, "e o2")
    assert stepper.prompt() == f"{events.index('o2') + 1}/{len(events)} o2> "
    assert [line.split()[4:] for line in lines] == [
        ["o2", "op", '"remember"', '["Alice', "likes", 'tea."]'], ["o2/extract#1", "effect", '"model"'],
    ]  # fmt: skip


def test_back_is_where_one_was() -> None:
    stepper = Stepper(PLAYBACK)
    there = [(list_lines(stepper, "n"), list_lines(stepper, "d")) for _ in range(6)]
    back = [(list_lines(stepper, f"g {step}"), list_lines(stepper, "d")) for step in range(6, 0, -1)]
    assert back[::-1] == there
    assert list_lines(stepper, "p 1") == []
    assert stepper.step == 0


def test_an_event_without_an_answer_is_where_it_was_sent() -> None:
    stepper = Stepper(PLAYBACK)
    assert list_lines(stepper, "e o2/commit#1")[-1].endswith('o2/commit#1 effect "commit"')
    assert list_lines(stepper, "n")[0].endswith('o2/commit#1 fault "f1" "storage_lost"')


def test_what_a_step_changed() -> None:
    change = 'memory.a.tiers.working.entries.a.b\\x1b absent -> (b" 5", 1700000015000)'
    assert f"  {change}" in run_commands("e o1", "d")
    assert run_commands("d") == ["  nothing"]


def test_the_next_step_that_changes_a_path_is_found() -> None:
    stepper = Stepper(PLAYBACK)
    assert list_lines(stepper, "f memory.a.tiers.working.entries")[-1].endswith(
        'absent -> (b" 5", 1700000015000)'
    )
    assert stepper.course.events[stepper.step - 1] == "o1"
    stepper.do("f storage.rows")
    assert stepper.course.events[stepper.step - 1].startswith(("o2/commit", "a/wake", "a:"))
    assert list_lines(stepper, "f config") == [f"  config does not change after step {stepper.step}"]


def test_a_change_by_the_first_step_is_found() -> None:
    stepper = Stepper(PLAYBACK)
    assert list_lines(stepper, "f memory.a.phase")[-1].endswith('memory.a.phase "new" -> "recovering"')
    assert stepper.step == 1


def test_the_step_that_fails_says_so() -> None:
    lines = run_commands("e o3", of=FAILING)
    assert lines[-1].startswith("  FAIL safety reference-agrees (REF-1) at step ")


def test_a_value_is_shown_in_full_and_parts_line_by_line() -> None:
    assert run_commands("e o2", "s memory.a.phase") == ['  "ready"']
    assert [line.split()[0] for line in run_commands("s")] == [
        "memory",
        "storage",
        "oracle",
        "world",
        "config",
    ]
    assert lines_of(Report("", limit_lines(list("x" * 100))))[-2:] == ["x", "  and 71 more"]
    assert len(limit_lines(list("x" * 100))) == LINE_COUNT_MAX


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("g 999", "there is no step 999: the run has steps 0 to "), ("p", "there is no step -1"),
        ("g", "expected a whole number, got nothing"), ("g ١", "expected a whole number"),
        ("n x", "expected a whole number"), ("e", "write the name of an event"),
        ("e o2/com", "no such event; there are o2/commit#2"), ("e nope", "nope: no such event"),
        ("s memory.b", "memory.b: no b here, only a"), ("f", "write a path"),
        ("f nope", "nope: no nope here"),
        ("z", "z: no such command; h lists them"), ("\x1b[2J", "\\x1b[2J: no such command"),
        ("w", "only a seed file can be asked why"), ("g " + "9" * 5_000, "expected a whole number"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_one_line_and_moves_nothing(command: str, complaint: str) -> None:
    stepper = Stepper(PLAYBACK)
    report, is_done = stepper.do(command)
    assert not is_done
    (line,) = lines_of(report, 999)
    assert complaint in line
    assert line.isprintable()
    assert stepper.step == 0


# The command.


@pytest.fixture
def file(own_folder: Path) -> str:
    seed_file.write(Path("run.json"), runner.run(FAILING.config, ITEMS))
    return "run.json"


def test_commands_come_from_a_pipe_and_are_printed(file: str) -> None:
    result = umi("step", file, stdin="e o3\nw\nq\nn\n")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].endswith("start> e o3")
    assert lines[-1].endswith(" o3> q")
    assert any(line.startswith("  needed   o1 set key=") for line in lines)
    ended = umi("step", file, stdin="n\n")
    assert ended.exit_code == 0
    assert ended.stdout.endswith("> \n")


def test_the_first_command_of_a_pipe_that_cannot_be_done_ends_it(file: str) -> None:
    result = umi("step", file, stdin="e o3\n\xff\nn\n".encode("latin-1"))
    assert result.exit_code == 2
    assert result.stdout.count("> ") == 2
    assert result.stderr.startswith("umi-sim: command 2, ")


def test_a_seed_can_be_stepped_through_too() -> None:
    result = umi("step", "working:3", stdin="n\n")
    assert result.stdout.splitlines()[0].endswith(" start> n")


def test_what_is_no_run_is_one_line(own_folder: Path) -> None:
    Path("x.trace").write_bytes(b"x")
    for argument in ("absent.json", "x.trace", "smoke"):
        result = umi("step", argument)
        assert result.exit_code == 2
        assert result.stderr.count("\n") == 1
