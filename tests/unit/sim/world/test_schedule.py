"""Goal: each policy keeps its order, and PCT meets rare orders more often than chance does."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

import pytest
from msgspec import structs

from umi_core.values import Scope
from umi_sim.record.run_config import AgentConfig
from umi_sim.record.trace import Tag, decode
from umi_sim.runs.runner import run_once
from umi_sim.seedfile.fields import PLAIN
from umi_sim.testing.script import Script
from umi_sim.world.schedule import DECISIONS_PER_OPERATION, POLICIES, SchedulingPolicy, lane_of, policy_of

EVENTS: Final = DECISIONS_PER_OPERATION  # of each lane


def made(name: str, seed: int = 0, operation_count: int = 2) -> SchedulingPolicy:
    return policy_of(structs.replace(PLAIN, policy=name, seed=seed, operations_max=operation_count))


def list_events(policy: SchedulingPolicy, lanes: Sequence[str]) -> list[str]:
    """Lanes that are always ready, the first one the oldest, one event after the other."""
    rest = {lane: [f"{lane}/step#{n}" for n in range(1, EVENTS + 1)] for lane in lanes}
    order: list[str] = []
    while ready := [events[0] for events in rest.values() if events]:
        event = ready[policy.choose(ready)]
        rest[lane_of(event)].remove(event)
        order.append(event)
    return order


def test_fifo_takes_the_oldest_and_lifo_the_newest() -> None:
    assert [made("fifo").choose("abc"), made("lifo").choose("abc")] == [0, 2]


def test_random_takes_each_as_often_as_the_others() -> None:
    policy = made("random")
    taken = [policy.choose("abc") for _ in range(300)]
    assert all(80 < taken.count(index) < 120 for index in range(3))


@pytest.mark.parametrize("name", POLICIES)
def test_the_same_seed_gives_the_same_order(name: str) -> None:
    orders = [list_events(made(name, seed=7, operation_count=3), ("o1", "o2", "o3")) for _ in range(2)]
    assert orders[0] == orders[1]
    assert len(orders[0]) == 3 * EVENTS


@pytest.mark.parametrize(
    ("event", "lane"),
    [
        ("o7", "o7"), ("o7/commit#1", "o7"), ("o7/commit#1/answer", "o7"), ("o7/commit#2/flush", "storage"),
        ("a/wake#3", "a/wake"), ("a:rebalance:2/rows#1", "a:rebalance:2"), ("audit:1/get#1", "audit:1"),
    ],
)  # fmt: skip
def test_a_lane_is_an_operation_a_service_or_the_wake_ups_of_an_agent(event: str, lane: str) -> None:
    assert lane_of(event) == lane


def changes(order: Sequence[str]) -> int:
    """How often another lane than before goes on, although the one before could."""
    ends = {f"o{lane}/step#{EVENTS}" for lane in range(9)}
    return sum(lane_of(this) != lane_of(then) and this not in ends for this, then in pairwise(order))


@pytest.mark.parametrize("depth", range(1, 6))
def test_pct_changes_lanes_at_depth_less_one_decisions(depth: int) -> None:
    most = [
        changes(list_events(made(f"pct({depth})", seed, 4), ("o1", "o2", "o3", "o4"))) for seed in range(300)
    ]
    assert max(most) == depth - 1


# An ordering bug of depth d needs d events that each come after the end of another stretch: these pairs.

BUGS: Final[Mapping[int, Sequence[tuple[str, str]]]] = {
    1: (("o2/step#8", "o1/step#1"),),
    2: (("o1/step#4", "o2/step#1"), ("o2/step#8", "o1/step#5")),
    3: (("o1/step#4", "o2/step#1"), ("o2/step#4", "o1/step#5"), ("o1/step#8", "o2/step#5")),
}


def finds(name: str, depth: int, seeds: int) -> int:
    """In how many runs the bug of this depth shows."""
    orders = (list_events(made(name, seed), ("o1", "o2")) for seed in range(seeds))
    return sum(all(order.index(one) < order.index(then) for one, then in BUGS[depth]) for order in orders)


@pytest.mark.parametrize(("depth", "seeds"), [(1, 100), (2, 400), (3, 2_000)])
def test_pct_finds_an_ordering_bug_of_its_depth_more_often_than_random(depth: int, seeds: int) -> None:
    found = finds(f"pct({depth})", depth, seeds)
    assert found * 2 * (2 * EVENTS) ** (depth - 1) >= seeds // 2, "half of what is proved of it"
    assert found > 3 * finds("random", depth, seeds)


def test_pct_of_a_smaller_depth_never_finds_it() -> None:
    assert finds("pct(1)", 2, 400) == finds("pct(2)", 3, 400) == 0


def test_the_turns_are_spread_over_all_agents() -> None:
    agents = tuple(AgentConfig(name, Scope("u1", name)) for name in "abcd")
    config = structs.replace(PLAIN, policy="pct(5)", agents=agents, operations_max=100)
    turns = [
        turn for seed in range(20) for turn in vars(policy_of(structs.replace(config, seed=seed)))["_turns"]
    ]
    assert max(turns) < 4 * 100 * DECISIONS_PER_OPERATION
    assert max(turns) > 2 * 100 * DECISIONS_PER_OPERATION


def test_a_script_that_names_no_policy_is_followed_where_it_departs_from_the_oldest() -> None:
    """The order of a script was passed over: its configuration is a plain one, and that takes the oldest."""
    script = Script("smoke", plain=True, agents=["a", "b"])
    script.op("o1", "a", "len", at_ms=5)
    script.op("o2", "b", "len", at_ms=5)
    script.schedule("s1", take="o2", over="o1")
    assert script.config.policy == "fifo"
    _, record = run_once(script.config, script.items, keep_trace=True)
    asked = [fields[3] for fields in map(decode, record.kept) if fields[2] == Tag.OP]
    assert asked[:2] == ["o2", "o1"]
