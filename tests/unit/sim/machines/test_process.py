"""A memory in a process is run as ours is, and every fault of the process is a finding."""

import re
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from msgspec import structs

from tests.second_memory import (
    COMMAND,
    SERVER,
    Broken,
    Here,
    Twist,
    counts_one_more,
    drawn,
    run_beside_ours,
    run_from_outside,
    saves_what_it_was,
    served_here,
)
from umi_core.messages.answers import Wake
from umi_core.messages.effects import AskModel, Commit, Done, Effect, Read, Reply
from umi_core.messages.effects import CountRows as Count
from umi_core.values import Scope
from umi_sim.machines import wire
from umi_sim.machines.process import BadProcess, BadStep, ProcessMachine, ProcessTarget, Server, must_be_alike
from umi_sim.record.broken import Broken as BrokenRule
from umi_sim.runs.runner import run_once


@pytest.mark.slow
def test_behind_pipes_a_memory_lives_as_in_this_process() -> None:
    config = structs.replace(drawn("smoke", 1, is_compared=True), command=f"{sys.executable} -P {SERVER}")
    verdict, _ = run_once(config)
    assert verdict.failure is None
    assert verdict.trace_hash == run_from_outside(config).trace_hash


@pytest.mark.parametrize(("scenario", "seed"), [("working", 1), ("crash_storm", 1), ("sessions", 1)])
def test_a_second_memory_comes_to_the_same_trace(scenario: str, seed: int) -> None:
    """Crashes, restarts, searches, sessions; each step beside one of ours (E-SECOND)."""
    verdict = run_beside_ours(scenario, seed)
    assert verdict.failure is None
    assert verdict.trace_hash == run_from_outside(drawn(scenario, seed, is_compared=True)).trace_hash


def test_what_is_to_be_kept_up_is_waited_for() -> None:
    """Another memory does not show its pending work, only that it wants to be stepped."""
    config = drawn("memorize", 17, is_compared=False, settings={"workload.operations": "6"})
    assert run_from_outside(config).failure is None


@pytest.mark.slow
def test_an_answer_that_is_none_reaches_it_as_none() -> None:
    """Services answer with numbers without end, lists, and parts of another type."""
    settings = {"workload.operations": "24"}
    with served_here():
        verdict, _ = run_once(drawn("answers", 0, is_compared=True, settings=settings))
    assert verdict.failure is None
    assert any(name.endswith("nonsense") for name in verdict.fired)


def test_effects_that_differ_break_a_rule() -> None:
    failure = run_beside_ours("working", 0, counts_one_more).failure
    assert failure is not None
    assert (failure.rule, failure.message) == ("second-implementation", "effect 1 of a step differs")


@pytest.mark.parametrize(("ours", "theirs"), [("ab", "a"), ("a", "ab"), ("ab", "ac"), ("", "a")])
def test_one_effect_more_or_less_differs_too(ours: str, theirs: str) -> None:
    replies = [tuple(Reply(each, Done()) for each in side) for side in (ours, theirs)]
    must_be_alike(replies[0], replies[0])
    with pytest.raises(BrokenRule, match="differs"):
        must_be_alike(*replies)


def test_a_process_that_ends_is_a_crash_of_the_memory() -> None:
    with served_here(kind=Broken):
        failure = run_once(drawn("working", 1, is_compared=False))[0].failure
    assert failure is not None
    assert (failure.kind, failure.message) == ("crash", "BadStep: the process has ended with status 3")


# One that saves itself.


class Counted(Here):
    started: list["Counted"] = []  # of all its runs

    def __init__(self, command: str, **more: Any) -> None:
        super().__init__(command, **more)
        self.started.append(self)


def test_in_the_middle_of_a_run_another_process_goes_on_with_what_was_saved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Crashes, several agents, operations in flight; each step beside one of ours (E-SECOND)."""
    monkeypatch.setattr(Counted, "started", [])
    config = drawn("crash_storm", 1, is_compared=True)
    with served_here(kind=Counted):
        verdict, _ = run_once(config)
    assert verdict.failure is None
    assert verdict.trace_hash == run_from_outside(config).trace_hash
    assert len(Counted.started) == 1 + sum(count <= verdict.steps for count in (4, 16, 64, 256, 1024))
    assert len(Counted.started) > 3
    first, *later = Counted.started
    assert first.asked.count("step") == 4
    assert {"save", "restore"} <= {*later[0].asked}
    assert all(each.is_killed for each in Counted.started)


def test_one_that_forgets_in_what_it_saves_is_another_memory() -> None:
    failure = run_beside_ours("smoke", 1, saves_what_it_was()).failure
    assert failure is not None
    assert (failure.kind, failure.rule) == ("safety", "copied-state-continues")
    assert failure.message == "life 1, made of what it has saved, is another memory"


def test_a_rule_that_is_off_says_nothing_of_what_was_saved() -> None:
    config = structs.replace(drawn("smoke", 1, is_compared=False), off=("copied-state-continues",))
    with served_here(saves_what_it_was()):
        failure = run_once(config)[0].failure
    assert failure is None or failure.rule != "copied-state-continues"


def without(name: str) -> Twist:
    return lambda asked, message: message.pop(name, None) and None


def odd_when_restored(asked: dict[str, Any], message: dict[str, Any]) -> None:
    if asked["op"] == "restore":
        message["deadline_ms"] = "soon"


def stepped_once(twist: Twist) -> tuple[Server, ProcessMachine]:
    with served_here(twist):
        server = Server(COMMAND)
        config = ProcessTarget(drawn("working", 1, is_compared=False)).config_of("a", ())
        machine = server.begin(SCOPE, config, None)
        machine.step(1, Wake())
        server.begin(SCOPE, config, None)
        server.restart()
    return server, machine


def test_a_process_without_a_step_begins_again() -> None:
    server, _ = stepped_once(lambda asked, message: None)
    assert server.process.asked == ["hello", "restore", "begin"]  # type: ignore[attr-defined]  # that of the test


@pytest.mark.parametrize(
    ("twist", "message"),
    [(without("saved"), "saves nothing of life 1"), (odd_when_restored, "at `$.deadline_ms`")],
)
def test_a_malformed_saved_state_is_reported(twist: Twist, message: str) -> None:
    with pytest.raises(BadStep, match=re.escape(message)):
        stepped_once(twist)


def test_one_that_does_not_save_itself_lives_in_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counted, "started", [])
    with served_here(without("saves"), kind=Counted):
        assert run_once(drawn("smoke", 1, is_compared=False))[0].failure is None
    assert len(Counted.started) == 1


# One step.


class Says:
    """A process that gives one answer."""

    def __init__(self, answer: object, **more: object) -> None:
        self.message = {"id": 1, "answer": answer, **more}

    def ask(self, request: Any) -> dict[str, Any]:
        return self.message

    def count_step(self) -> None:
        """It goes on as it is."""


def machine(answer: object, **more: object) -> ProcessMachine:
    return ProcessMachine(Says(answer, **more), 1)  # type: ignore[arg-type]  # that of the test


def standing(*operations: object, effects: Sequence[Effect] = (), **more: object) -> dict[str, object]:
    return {"operations": [*operations], "effects": [wire.to_json(each) for each in effects], **more}


SCOPE = Scope("u", "a")
ASKS: dict[str, object] = {"number": 1, "workflow": "recover", "step": "load", "asks": 7, "due_ms": 90}
READ = Read(Count(SCOPE, ("entity",)), request_id=7)
ELSEWHERE = structs.replace(READ, store="attic")
NO_PROMPT = AskModel("extract", 7, request_id=7)  # type: ignore[arg-type]  # what it must not be
COMMIT = Commit((), (), "key", request_id=7)


def test_a_machine_reports_the_output_of_its_process() -> None:
    it = machine(
        standing(ASKS, effects=[COMMIT], deadline_ms=90, recovering=True, marks=["late"], digest="00ff")
    )
    assert (it.deadline_ms(), it.is_working, it.is_recovering, it.marks) == (0, False, False, ())
    assert list(it.step(50, Wake())) == [COMMIT]
    assert (it.deadline_ms(), it.is_working, it.is_recovering, it.is_committing) == (90, True, True, True)
    assert (it.marks, it.digest(), it.seen_ms, list(it.running())) == (
        ("late",),
        b"\x00\xff",
        50,
        ["recover"],
    )
    origin = it.origin_of(COMMIT)
    assert (origin.op_id, origin.workflow, origin.step, origin.number) == (None, "recover", "load", 1)
    awaited = [it.awaits(7, 89), it.awaits(7, 90), it.awaits(8, 50)]
    assert awaited == [True, False, False]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (standing(effects=[READ]), "asks 7, and no operation waits for the answer"),
        (standing(ASKS, effects=[READ, READ]), "asks under the number 7, after 7"),
        (standing(ASKS, effects=[ELSEWHERE]), "asks the store 'attic', and there is main alone"),
        (standing(ASKS, effects=[NO_PROMPT]), "AskModel.prompt: 7 is not a text"),
        ({"effects": [[28]]}, "TypeError"),
        ({"effects": [[999_999]]}, "KeyError"),
        ({"effects": [7]}, "int"),
        ({"effects": 7}, "Expected `array`, got `int` - at `$.effects`"),
        ({"operations": [{"number": 1}]}, "missing required field `workflow` - at `$.operations[0]`"),
        ({"operations": [{**ASKS, "op": 7}]}, "at `$.operations[0].op`"),
        ({"operations": [{**ASKS, "due_ms": "90"}]}, "at `$.operations[0].due_ms`"),
        ({"digest": "xy"}, "hexadecimal"),
        ({"deadline_ms": 1.5}, "at `$.deadline_ms`"),
        ({"marks": [7]}, "at `$.marks[0]`"),
    ],
)  # fmt: skip
def test_an_answer_that_no_memory_can_give_is_reported(answer: object, message: str) -> None:
    with pytest.raises(BadStep, match=re.escape(message)):
        machine(answer).step(1, Wake())


def test_an_error_that_it_answers_is_reported() -> None:
    with pytest.raises(BadStep, match="no room"):
        machine(None, error="no room").step(1, Wake())


@pytest.mark.parametrize("serves", [[], ["sing"], "set", [7]])
def test_one_that_serves_nothing_known_is_not_tested(serves: object) -> None:
    def twist(asked: dict[str, Any], message: dict[str, Any]) -> None:
        message["serves"] = serves

    with served_here(twist), pytest.raises(BadProcess, match="expected names of requests"):
        ProcessTarget(drawn("working", 1, is_compared=False))


def test_one_that_does_not_start_is_not_tested(capfd: pytest.CaptureFixture[str]) -> None:
    config = structs.replace(
        drawn("working", 1, is_compared=False), command=f"{sys.executable} -S nowhere.py"
    )
    with pytest.raises(BadProcess, match="has ended with status 2"):
        ProcessTarget(config)
    assert "nowhere.py" in capfd.readouterr().err


def test_the_process_ends_with_the_run() -> None:
    with served_here():
        target = ProcessTarget(structs.replace(drawn("working", 1, is_compared=False), command=COMMAND))
        target.close()
    assert target.server.process.is_killed  # type: ignore[attr-defined]  # that of the test
    assert not target.revise(None, ())
