"""Repairs: entities without a vector, some of which no embedder can do, and a memory that is asked to repair.

Runs have few that lack a vector, and an embedder that is away for a while; here one page is full of what it
will never do.

Law 1. All that an embedder can do gets its vector, however much it cannot do stands before it, within so many
rebalances as two walks over all that lacks one take. What it cannot do stays as it is.
"""

from typing import Final

import attrs

from umi_core.config import Config
from umi_core.data import Owner
from umi_core.invariants.broken import demand
from umi_core.memory import Memory
from umi_core.messages.answers import Answer, EffectFailed, Embedded, Value, Wake
from umi_core.messages.effects import Asked, Commit, Done, Embed, Outcome, Read, Reply, Write
from umi_core.messages.requests import Rebalance
from umi_core.messages.results import Rebalanced
from umi_core.rows import Address, Entity, Vector
from umi_core.values import Scope
from umi_sim.kernel.prng import Stream
from umi_sim.record import rules
from umi_sim.services.embedder import embed
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
    world = World(hopeless)
    world.store(ids)
    page_count = -(-count // PAGE_COUNT)
    repaired = [key for number in range(2 * (page_count + 1)) for key in world.rebalance(number)]
    due, told = [key for key in ids if key not in hopeless], f"{count} without a vector, never {hopeless}"
    got = [key for key in ids if world.has_vector(key)]
    demand(due == got, rules.PENDING_UNTIL_DONE, told, due, got)
    demand(due == sorted(repaired), rules.PENDING_UNTIL_DONE, f"{told}: what is told", due, repaired)


@attrs.define
class World(Owner):
    """A memory over a storage; an embedder that gives no vector for what is hopeless."""

    hopeless: list[str]
    storage: SimStorage = attrs.Factory(SimStorage)
    memory: Memory = attrs.field(init=False)
    outcomes: dict[object, Outcome] = attrs.field(factory=dict)

    def store(self, ids: list[str]) -> None:
        """As a remember leaves them whose embedder was away; then the memory begins."""
        rows = [
            Entity(key, "note", key, f"{key}: x", 1, 500_000, 500_000, "facts", 1, 1, vector_missing=True)
            for key in ids
        ]
        batch = Commit(tuple(Write(Address(WHO, "entity", it.id), it) for it in rows), ())
        self.answered(batch)
        self.memory = Memory(WHO, QUIET)
        self.step(Wake())

    def rebalance(self, number: int) -> tuple[str, ...]:
        """What was repaired, as it is told."""
        self.step(Rebalance(f"r{number}"))
        outcome = self.outcomes[f"r{number}"]
        value = outcome.value if isinstance(outcome, Done) else None
        return value.repaired if isinstance(value, Rebalanced) else ()

    def step(self, value: Value) -> None:
        for effect in self.memory.step(NOW_MS, value):
            if isinstance(effect, Reply):
                self.outcomes[effect.op_id] = effect.outcome
            else:
                self.step(self.answered(effect))

    def answered(self, effect: Asked) -> Answer:
        if isinstance(effect, Embed):
            return Embedded(effect.request_id, tuple(self.vector(text) for text in effect.texts))
        if isinstance(effect, Read):
            return self.storage.read(effect.request_id, effect.query)
        assert isinstance(effect, Commit)
        ticket = self.storage.arrive(effect, WHO.agent)
        return self.storage.flush(ticket, NOW_MS) or EffectFailed(effect.request_id, "unknown")

    def vector(self, text: str) -> tuple[int, ...]:
        is_hopeless = any(text.startswith(key) for key in self.hopeless)
        return () if is_hopeless else embed(text, QUIET.embedding_dims)

    def has_vector(self, key: str) -> bool:
        """And its row says so."""
        row, vector = (self.storage.rows.get(Address(WHO, kind, key)) for kind in ("entity", "vector"))
        body = row.body if row is not None else None
        is_marked = isinstance(body, Entity) and body.vector_missing
        return not is_marked and vector is not None and isinstance(vector.body, Vector)
