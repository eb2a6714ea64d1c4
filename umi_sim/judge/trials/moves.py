"""Moves of one row between two stores: a drawn life, from a drawn phase on, and then the way back.

Runs move whole agents, a request after another; here a store fails, or the machine dies, at any question, and
the one row is asked for again and again.

Law 1. What may happen next, and what must hold then, stands in one_row.py, as for all short lives.
"""

from typing import Final

from umi_core.api_domains import PHASES
from umi_core.config import Config
from umi_core.invariants.broken import demand
from umi_core.messages.effects import MAIN
from umi_core.migration.migrator import LEGACY, Migrator
from umi_core.values import Scope
from umi_sim.judge.trials.one_row import OF_LEGACY, Budget, World, at, check, come_home, steps, with_budget
from umi_sim.kernel.prng import Stream
from umi_sim.record import rules

STEPS: Final = 50
WHO: Final = Scope("u", "a")
DULL: Final = 3  # one answer in so many is any that may come


def try_moves(draw: Stream, config: Config) -> None:
    """Any life; and one in which a write with its key is asked for again and again, before main decides."""
    budget = Budget(
        writes=draw.between(1, 6), reads=draw.between(1, 6), works=draw.below(6), crashes=draw.below(5),
        failures=draw.below(5), keyed=draw.below(5),
    )  # fmt: skip
    live(draw, with_budget(at(draw.pick(PHASES)), budget))
    of_keys = Budget(
        writes=draw.between(1, 3), reads=6, works=draw.below(2), crashes=draw.below(4),
        failures=draw.below(3), keyed=draw.between(2, 6),
    )  # fmt: skip
    live(draw, with_budget(at(draw.pick(OF_LEGACY)), of_keys))


def live(draw: Stream, world: World) -> None:
    for _ in range(STEPS):
        after = ahead(draw, world)
        if after is None:
            break
        check(after, world)
        check_asked(after)
        world = after
    come_home(world)


def ahead(draw: Stream, world: World) -> World | None:
    """What happens next: mostly that a store answers as it should, or that the client asks for something."""
    may_be = steps(world)
    if world.asked is not None and world.late is None and not draw.chance(1, DULL):
        return next(may_be)[1]
    found = list(may_be)
    of_client = [it for it in found if it[0].startswith("client")]
    if of_client and draw.chance(3, 4):
        found = of_client
    return draw.pick(found)[1] if found else None


def check_asked(world: World) -> None:
    """What it asks becomes a read or a batch of one of the two stores. A table that none has raises."""
    if world.asked is not None:
        store = Migrator(WHO, 1).effect_of("blocks", world.asked).store
        demand(store in (MAIN, LEGACY), rules.ONE_TRUTH, "a store that is asked", (MAIN, LEGACY), store)
