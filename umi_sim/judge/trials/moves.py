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
from umi_sim.judge.trials.one_row import Budget, World, at, check, come_home, steps, with_budget
from umi_sim.kernel.prng import Stream
from umi_sim.record import rules

STEPS: Final = 50
STARTS: Final = (*PHASES, "legacy", "dual_write", "dual_write", "dual_read", "rolling_back")
WHO: Final = Scope("u", "a")
DULL: Final = 4  # one answer in so many is any that may come


def try_moves(draw: Stream, config: Config) -> None:
    budget = Budget(
        writes=draw.between(1, 6), reads=draw.below(6), works=draw.below(6), crashes=draw.below(5),
        failures=draw.below(5), keyed=draw.below(5),
    )  # fmt: skip
    live(draw, with_budget(at(draw.pick(STARTS)), budget))


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
    """What happens next: mostly that a store answers as it should."""
    is_plain = world.asked is not None and not draw.chance(1, DULL)
    may_be = steps(world)
    if is_plain and world.late is None:
        return next(may_be)[1]
    found = [after for _, after in may_be]
    return draw.pick(found) if found else None


def check_asked(world: World) -> None:
    """What it asks becomes a read or a batch of one of the two stores. A table that none has raises."""
    if world.asked is not None:
        store = Migrator(WHO, 1).effect_of("blocks", world.asked).store
        demand(store in (MAIN, LEGACY), rules.ONE_TRUTH, "a store that is asked", (MAIN, LEGACY), store)
