"""Goal: an answer counts as heard if and only if the memory takes it."""

import pytest

from tests.worlds import Pair
from umi_core.messages.answers import EffectFailed
from umi_core.messages.effects import Asked, Commit
from umi_core.messages.requests import SetBlock
from umi_sim.kernel.clock import SimClock
from umi_sim.record.run_config import AgentConfig
from umi_sim.world.agent import Agent


def waiting() -> tuple[Pair, Agent, Asked]:
    """A memory whose commit is on its way."""
    pair = Pair()
    pair.step(SetBlock(1, "human", "Alice"))
    pair.until(Commit)
    agent = Agent("a", AgentConfig("a", pair.scope), SimClock.start(0), pair.memory)
    (effect,) = pair.pending
    return pair, agent, effect


@pytest.mark.parametrize(("late_ms", "is_heard"), [(-1, True), (0, False), (1, False)])
def test_an_answer_in_the_millisecond_of_the_timeout_comes_too_late(late_ms: int, is_heard: bool) -> None:
    pair, agent, effect = waiting()
    answer, at_ms = EffectFailed(effect.request_id, "refused"), pair.now_ms + effect.timeout_ms + late_ms
    assert agent.awaits(answer, at_ms) is is_heard
    pair.memory.step(at_ms, answer)
    assert ("late answer" not in pair.memory.marks) is is_heard


def test_an_answer_is_heard_once_and_not_after_a_crash() -> None:
    pair, agent, effect = waiting()
    answer = EffectFailed(effect.request_id, "refused")
    assert agent.awaits(answer, pair.now_ms)
    pair.memory.step(pair.now_ms, answer)
    assert not agent.awaits(answer, pair.now_ms)
    agent.memory = None
    assert not agent.awaits(answer, pair.now_ms)
