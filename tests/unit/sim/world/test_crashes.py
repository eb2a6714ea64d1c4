"""Goal: an agent comes back with the limits of its last crash, and what belongs to itself always has room."""

from typing import Final

import attrs

from umi_core.config import Config
from umi_core.rows import Core
from umi_core.values import Block, Entry, Scope
from umi_sim.kernel.clock import SimClock
from umi_sim.record.run_config import AgentConfig
from umi_sim.world.agent import Agent
from umi_sim.world.crashes import config_of

NOBODY: Final = Entry("", 1, "", "", 0)


def core(human_count: int, self_count: int) -> Core:
    blocks = [("persona", self_count), ("human", human_count)]
    return Core(tuple(Block(kind, entries=(NOBODY,) * count) for kind, count in blocks if count))


def agent() -> Agent:
    return Agent("a", AgentConfig("a", Scope("u1", "a1")), SimClock.start(0, 0))


def test_a_limit_counts_for_the_next_life_alone() -> None:
    usual: dict[str, int | bool] = {"core_entry_count_max": 7}
    limits = [config_of(attrs.evolve(agent(), entry_count_max=it), usual, iter(())) for it in (2, None)]
    assert [config.core_entry_count_max for config in limits] == [2, 7]


def test_entries_of_self_that_may_still_land_have_room() -> None:
    one = attrs.evolve(agent(), entry_count_max=1)
    found = config_of(one, {}, iter((core(5, 0), core(0, 3))))
    assert found == attrs.evolve(Config(), core_entry_count_max=3)


def test_room_that_was_made_for_them_stays_when_they_have_left() -> None:
    """A false alarm of `conversation` 66: a plain restart found less room, and core lost another entry."""
    one = attrs.evolve(agent(), entry_count_max=0)
    config_of(one, {}, iter((core(0, 1),)))
    assert config_of(one, {}, iter((core(1, 0),))).core_entry_count_max == 1
