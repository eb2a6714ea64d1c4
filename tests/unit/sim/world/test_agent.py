"""Goal: an answer counts as delivered if and only if the memory takes it."""

from typing import Final

import pytest

from tests.worlds import Pair
from umi_core.messages.answers import EffectFailed
from umi_core.messages.effects import Asked, Commit
from umi_core.messages.requests import SetBlock
from umi_sim.kernel.clock import SimClock
from umi_sim.machines.umi import UmiMachine
from umi_sim.record.run_config import AgentConfig
from umi_sim.world.agent import Agent, is_busy

NOW_MS: Final = 0


def waiting() -> tuple[UmiMachine, Agent, Asked]:
    """A memory whose commit is on its way."""
    pair = Pair()
    pair.step(SetBlock(1, "human", "Alice"))
    pair.until(Commit)
    machine = UmiMachine.restore(pair.memory.snapshot(), life=0)
    assert isinstance(machine, UmiMachine)
    agent = Agent("a", AgentConfig("a", pair.scope), SimClock.start(0), machine)
    (effect,) = pair.pending
    return machine, agent, effect


@pytest.mark.parametrize(("late_ms", "is_taken"), [(-1, True), (0, False), (1, False)])
def test_an_answer_in_the_millisecond_of_the_timeout_comes_too_late(late_ms: int, is_taken: bool) -> None:
    machine, agent, effect = waiting()
    answer, at_ms = EffectFailed(effect.request_id, "refused"), NOW_MS + effect.timeout_ms + late_ms
    assert agent.awaits(answer, at_ms) is is_taken
    machine.step(at_ms, answer)
    assert ("late answer" not in machine.marks) is is_taken


def test_an_answer_is_delivered_once_and_not_after_a_crash() -> None:
    machine, agent, effect = waiting()
    answer = EffectFailed(effect.request_id, "refused")
    assert agent.awaits(answer, NOW_MS)
    machine.step(NOW_MS, answer)
    assert not agent.awaits(answer, NOW_MS)
    agent.machine = None
    assert not agent.awaits(answer, NOW_MS)


@pytest.mark.parametrize(("wake_ms", "is_awaited"), [(7, True), (None, False)])
def test_work_in_flight_keeps_the_world_busy_only_while_an_alarm_can_end_it(
    wake_ms: int | None, is_awaited: bool
) -> None:
    """A clock that stands gives no alarm. Messages under way keep the world busy by themselves."""
    _, agent, _ = waiting()
    agent.in_flight, agent.wake_ms = {"o1": "set_block"}, wake_ms
    assert is_busy(agent) is is_awaited
