"""Repairs: entities without a vector, some of which no embedder can do, and a memory that is asked to repair.

Runs have few that lack a vector, and an embedder that is away for a while; here one page is full of what it
will never do.

Law 1. All that an embedder can do gets its vector, however much it cannot do stands before it, within so many
rebalances as two walks over all that lacks one take. What it cannot do stays as it is.
"""

from collections.abc import Sequence
from typing import Final

import attrs

from umi_core.config import Config
from umi_core.invariants.broken import demand
from umi_core.messages.effects import Commit, Done, Write
from umi_core.messages.requests import Rebalance
from umi_core.messages.results import Rebalanced
from umi_core.rows import Address, Entity, Vector
from umi_core.values import Scope
from umi_sim.judge.small_world import SmallWorld
from umi_sim.kernel.prng import Stream
from umi_sim.record import rules
from umi_sim.services.storage import SimStorage

TRIED: Final = 4  # of each trial
WHO: Final = Scope("u", "a")
NOW_MS: Final = 1_000_000
PAGE_COUNT: Final = 16  # what one rebalance looks at (M7.8)
COUNT_MAX: Final = 2 * PAGE_COUNT + 3
QUIET: Final = Config(auto_rebalance=False, auto_evolution=False)


def try_repairs(draw: Stream, config: Config) -> None:
    for _ in range(TRIED):
        check_repairs(draw)


def check_repairs(draw: Stream) -> None:
    """`hopeless`: the first ones, or any."""
    count = draw.pick((1, 3, PAGE_COUNT, PAGE_COUNT + 1, COUNT_MAX))
    ids = [f"e{n:02}" for n in range(count)]
    first = draw.pick((0, 1, PAGE_COUNT - 1, PAGE_COUNT, PAGE_COUNT + 2))
    hopeless = ids[:first] if draw.chance(1, 2) else [key for key in ids if draw.chance(1, 2)]
    world = World(WHO, QUIET, NOW_MS, storage=without_vectors(ids), hopeless=hopeless)
    page_count = -(-count // PAGE_COUNT)
    repaired = [key for number in range(2 * (page_count + 1)) for key in world.rebalance(number)]
    due, told = [key for key in ids if key not in hopeless], f"{count} without a vector, never {hopeless}"
    got = [key for key in ids if world.has_vector(key)]
    demand(due == got, rules.PENDING_UNTIL_DONE, told, due, got)
    demand(due == sorted(repaired), rules.PENDING_UNTIL_DONE, f"{told}: what is told", due, repaired)


@attrs.define
class World(SmallWorld):
    """Its embedder gives no vector for what is hopeless."""

    hopeless: Sequence[str] = ()

    def rebalance(self, number: int) -> tuple[str, ...]:
        """What was repaired, as it is told."""
        outcome = self.ask(Rebalance(f"r{number}"))
        value = outcome.value if isinstance(outcome, Done) else None
        return value.repaired if isinstance(value, Rebalanced) else ()

    def vector(self, text: str) -> tuple[int, ...]:
        return () if any(map(text.startswith, self.hopeless)) else super().vector(text)

    def has_vector(self, key: str) -> bool:
        """And its row says so."""
        row, vector = (self.storage.rows.get(Address(WHO, kind, key)) for kind in ("entity", "vector"))
        body = row.body if row is not None else None
        is_marked = isinstance(body, Entity) and body.vector_missing
        return not is_marked and vector is not None and isinstance(vector.body, Vector)


def without_vectors(ids: Sequence[str]) -> SimStorage:
    """As a remember leaves what it stores while the embedder is away."""
    rows = [
        Entity(key, "note", key, f"{key}: x", 1, 500_000, 500_000, "facts", 1, 1, vector_missing=True)
        for key in ids
    ]
    storage = SimStorage()
    storage.flush(
        storage.arrive(Commit(tuple(Write(Address(WHO, "entity", it.id), it) for it in rows), ()), WHO.agent),
        NOW_MS,
    )
    return storage
