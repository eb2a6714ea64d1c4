"""Schedules: which of several events due at the same time is delivered first.

Law 1. A policy sees only the names of the ready events, oldest first.
Law 2. If a policy takes an event before the oldest, that is recorded as a deviation. So a replay needs no
policy.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from umi_sim.kernel.prng import Keyed, Stream, stream_key
from umi_sim.record.run_config import RunConfig

DEPTH_MAX: Final = 5
DEPTHS: Final = tuple(f"pct({depth})" for depth in range(1, DEPTH_MAX + 1))
POLICIES: Final = ("fifo", "lifo", "random", *DEPTHS)
DECISIONS_PER_OPERATION: Final = 8  # an estimate; it gives the range in which turning points are drawn


class SchedulingPolicy(Protocol):
    """A policy that chooses one of several ready events."""

    def choose(self, ready: Sequence[str]) -> int:
        """Return the index of the ready event to deliver; they are oldest first, so fifo returns 0."""
        ...


def policy_of(config: RunConfig) -> SchedulingPolicy:
    """Make the policy that the configuration names."""
    return MAKERS[config.policy](config.seed, config.operations_max * len(config.agents))


class Fifo:
    """Takes the oldest event first."""

    def choose(self, ready: Sequence[str]) -> int:
        return 0


class Lifo:
    """Takes the newest event first."""

    def choose(self, ready: Sequence[str]) -> int:
        return len(ready) - 1


class Uniform:
    """Takes each ready event with the same probability."""

    def __init__(self, seed: int) -> None:
        self._stream = Stream(seed, "schedule")

    def choose(self, ready: Sequence[str]) -> int:
        return self._stream.below(len(ready))


class Pct:
    """Probabilistic concurrency testing: every lane has a random priority, and the highest one runs.

    At depth - 1 decisions, chosen at random, the lane that would run falls below all others. If a bug needs
    `depth` events in a certain order, a run shows it with a probability of at least
    1 / (lanes * decisions^(depth - 1)) (Burckhardt et al., ASPLOS 2010).
    """

    def __init__(self, seed: int, depth: int, operation_count: int) -> None:
        stream = Stream(seed, "schedule")
        decision_count = max(1, DECISIONS_PER_OPERATION * operation_count)
        # Drawn before the run, over its estimated length. A bug of depth 3 needs the two right decisions out
        # of, say, 480, and each pair is equally likely.
        self._turns = tuple(stream.below(decision_count) for _ in range(depth - 1))
        self._keyed = Keyed(stream_key(seed, ("schedule", "lane")))
        self._lowered: dict[str, int] = {}
        self._count = 0

    def choose(self, ready: Sequence[str]) -> int:
        lanes = [lane_of(event) for event in ready]
        if self._count in self._turns:
            # Draws of Keyed are never negative, so a fallen lane is below all others; a later fall is lower.
            self._lowered[max(lanes, key=self._priority)] = -1 - self._count
        self._count += 1
        # `ready` is oldest first, so `index` finds the oldest event of the winning lane.
        return lanes.index(max(lanes, key=self._priority))

    def _priority(self, lane: str) -> int:
        lowered = self._lowered.get(lane)
        return self._keyed.draw(lane) if lowered is None else lowered


def lane_of(event: str) -> str:
    """Return the lane of an event: an operation, the flushes of storage, or an agent's wake-ups."""
    # The flushes of all agents are one lane, since they share one disk.
    if event.endswith("/flush"):
        return "storage"
    owner, _, place = event.partition("/")
    return f"{owner}/wake" if place.startswith("wake#") else owner


def pct(depth: int) -> Callable[[int, int], SchedulingPolicy]:
    return lambda seed, operation_count: Pct(seed, depth, operation_count)


MAKERS: Final[Mapping[str, Callable[[int, int], SchedulingPolicy]]] = {
    "fifo": lambda seed, operation_count: Fifo(),
    "lifo": lambda seed, operation_count: Lifo(),
    "random": lambda seed, operation_count: Uniform(seed),
    **{name: pct(depth) for depth, name in enumerate(DEPTHS, 1)},
}
assert tuple(MAKERS) == POLICIES
