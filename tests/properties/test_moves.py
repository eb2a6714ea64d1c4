"""Goal: a row that moves between two stores keeps its last value, whatever fails, and comes back whole.

tests/unit/sim/explore has every short life of such a row; here longer ones are drawn.
"""

from typing import Final

import pytest
from msgspec import structs

from tests.properties.laws import Draw, law
from umi_core.messages.effects import MAIN
from umi_core.migration.migrator import LEGACY, Migrator
from umi_core.migration.rows import PHASES
from umi_core.values import Scope
from umi_sim.explore.migration import explore
from umi_sim.explore.one_row import (
    LEGACY_PHASES,
    EventBudget,
    OneRowWorld,
    check_stores,
    check_way_back,
    list_steps,
    reach_phase,
)

STEPS: Final = 50
Choices = list[int]  # one number for each step, which chooses what happens


def long_lives(draw: Draw) -> tuple[OneRowWorld, Choices]:
    budget = EventBudget(
        writes=draw.between(1, 6), reads=draw.between(1, 6), works=draw.below(6), crashes=draw.below(5),
        failures=draw.below(5), keyed=draw.below(5),
    )  # fmt: skip
    choices = draw.many(lambda draw: draw.below(2**12), STEPS, STEPS)
    return structs.replace(reach_phase(draw.pick(PHASES)), left=budget), choices


def live(world: OneRowWorld, choices: Choices) -> None:
    for choice in choices:
        after = next_world(world, choice)
        if after is None:
            break
        check_stores(after, world)
        if after.asked is not None:  # a table without this kind of row raises
            assert Migrator(Scope("u", "a"), 1).question_of("blocks", after.asked).store in (MAIN, LEGACY)
        world = after
    check_way_back(world)


def next_world(world: OneRowWorld, choice: int) -> OneRowWorld | None:
    """Choose what happens next: mostly a store answers as it should, or a client asks."""
    may_be, choice, is_odd = list_steps(world), choice // 3, choice % 3 == 2
    if world.asked is not None and world.late is None and not is_odd:
        return next(may_be)[1]
    found, choice, may_be_any = list(may_be), choice // 4, choice % 4 == 3
    of_client = [it for it in found if it[0].startswith("client")]
    found = found if may_be_any or not of_client else of_client
    return found[choice % len(found)][1] if found else None


test_no_long_life_of_a_row_loses_its_value = pytest.mark.slow(law(long_lives)(live))


def test_a_write_with_a_key_that_a_crash_has_cut_off_is_done_once() -> None:
    """All short lives in which the write comes twice before main decides."""
    for phase in LEGACY_PHASES:
        found = explore(EventBudget(writes=1, reads=1, works=0, crashes=1, failures=0, keyed=2), phase)
        assert found.broken == "", found.steps
        assert found.state_count > 1_000
