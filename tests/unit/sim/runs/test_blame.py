"""Goal: what a store raises is its failure, except on a machine without free space."""

import pytest
from msgspec import structs

from umi_core.memory import Memory
from umi_core.messages.answers import Value
from umi_core.messages.effects import Effect, Outcome
from umi_core.messages.requests import Request
from umi_sim.judge.inspector import Inspector
from umi_sim.machines.subject import SubjectTarget
from umi_sim.machines.umi import UmiTarget, memory_of
from umi_sim.record.verdict import Failure
from umi_sim.runs.blame import wrong_fields
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find
from umi_sim.world.source import Replay
from umi_sim.world.world import World


class Broke:
    """A store that raises this at its first request."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def call(self, now_ms: int, request: Request) -> Outcome:
        raise self.error


def crash_by(error: Exception) -> Failure | None:
    target = SubjectTarget(lambda: Broke(error), ("set",))
    verdict, _ = run_once(draw(find("working"), 3), target_of=lambda config, registry: target)
    return verdict.failure


def test_what_a_store_raises_is_a_crash_of_it() -> None:
    failure = crash_by(KeyError("k"))
    assert failure is not None
    assert failure.kind == "crash"


def test_an_allocation_that_fails_is_no_finding() -> None:
    with pytest.raises(MemoryError):
        crash_by(MemoryError())


def test_on_a_memory_that_holds_what_none_can_hold_the_judge_may_stumble(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def step(memory: Memory, value: Value) -> tuple[Effect, ...]:
        effects = full_step(memory, value)
        memory.state.tiers.upkeep = None  # type: ignore[assignment]
        return effects

    full_step = Memory.full_step
    monkeypatch.setattr(Memory, "full_step", step)
    config = structs.replace(draw(find("memorize"), 1), memory={"upkeep_interval_ms": 1_000})
    verdict, _ = run_once(config)
    assert verdict.failure is not None
    assert verdict.failure.kind == "crash"
    assert verdict.failure.message.endswith("state.tiers.upkeep: None is not a table")


def test_what_its_state_holds_is_printed() -> None:
    config = draw(find("smoke"), 1)
    world = World(config, Replay(()), Inspector(config), UmiTarget(config))
    world.begin()
    assert [*wrong_fields(world)] == []
    memory = memory_of(world.incarnations[0].machine)
    assert memory is not None
    memory.state.tiers.upkeep = None  # type: ignore[assignment]
    assert [*wrong_fields(world)] == ["a: state.tiers.upkeep: None is not a table"]
    memory.state.tiers = None  # type: ignore[assignment]
    assert next(wrong_fields(world)) == "a: state.tiers: None is not a Tiers"
