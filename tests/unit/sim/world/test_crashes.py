"""Goal: an agent comes back with the limits of its last crash, and what belongs to itself always has room."""

from typing import Final

import attrs

from umi_core.config import Config
from umi_core.rows import Core
from umi_core.values import Block, Entry, Scope
from umi_sim.faults.kinds import Dice, Draw
from umi_sim.kernel.clock import SimClock
from umi_sim.record.items import Args
from umi_sim.record.run_config import AgentConfig
from umi_sim.world.agent import Agent
from umi_sim.world.crashes import config_of, crash_args, down_ms

LOWER: Final = "agent_lower_limit"
NOBODY: Final = Entry("", 1, "", "", 0)


def core(human_count: int, self_count: int) -> Core:
    blocks = [("persona", self_count), ("human", human_count)]
    return Core(tuple(Block(kind, entries=(NOBODY,) * count) for kind, count in blocks if count))


def agent() -> Agent:
    return Agent("a", AgentConfig("a", Scope("u1", "a1")), SimClock.start(0, 0))


def lowest(label: str, n: int) -> int:
    return 0


def struck(stored: Core | None, place: str = "life", draw: Draw = lowest) -> Args | None:
    return crash_args(place, lambda: stored, LOWER, draw)


def test_a_limit_is_drawn_below_what_core_holds_and_never_below_self() -> None:
    ends: tuple[Draw, ...] = (lowest, lambda label, n: n - 1)
    drawn = [struck(core(3, 2), "life", draw) for draw in ends]
    assert [args and args["core_entry_count_max"] for args in drawn] == [2, 4]


def test_where_nobody_would_leave_the_fault_is_blunt() -> None:
    assert [struck(None), struck(core(0, 2)), struck(core(3, 2), "recovery")] == [None] * 3


def test_the_next_crash_gives_the_usual_limit_back() -> None:
    usual: dict[str, int | bool] = {"core_entry_count_max": 7}
    limits, one = [], agent()
    for args in ({"down_ms": 5, "core_entry_count_max": 2}, {"down_ms": 6}):
        assert down_ms(one, args) == args["down_ms"]
        limits.append(config_of(one, usual, iter(())).core_entry_count_max)
    assert limits == [2, 7]


def test_entries_of_self_that_may_still_land_have_room() -> None:
    one = attrs.evolve(agent(), entry_count_max=1)
    found = config_of(one, {}, iter((core(5, 0), core(0, 3))))
    assert found == attrs.evolve(Config(), core_entry_count_max=3)


def test_everywhere_means_every_site() -> None:
    sites = [f"storage.commit.{name}.commit" for name in ("remember", "forget", "recover", "rebalance")]
    dice = [Dice(1, {"storage_lost": (1, 1)}, is_everywhere=each) for each in (True, False)]
    struck = [[it.struck("storage.commit", site, "o1/commit#1") for site in sites] for it in dice]
    assert struck[0] == ["storage_lost"] * 4
    assert None in struck[1]
