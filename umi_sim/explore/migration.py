"""Explores all short runs of a migration: writes, reads, switches, failures and crashes, with both stores.

Law 1. All orders are tried, shortest first, each state once, so the first failure has the fewest steps.
"""

from collections import deque

from msgspec import structs

from umi_core.data import Data
from umi_sim.explore.one_row import (
    SMALL,
    EventBudget,
    OneRowWorld,
    check_stores,
    check_way_back,
    list_steps,
    reach_phase,
)
from umi_sim.machines.limits import lower_limits
from umi_sim.record.broken import Broken


class MigrationFindings(Data):
    """The number of states that were reached, and the steps to the first state that breaks a rule, if any."""

    state_count: int
    steps: tuple[str, ...] = ()
    broken: str = ""


def explore(
    budget: EventBudget = SMALL, phase: str = "legacy", *, stores_too: bool = True
) -> MigrationFindings:
    """Try all runs within the budget, starting in a phase; `stores_too`: check rules about stores as well."""
    with lower_limits({"hand_over_row_count_max": 1}):  # one row at a time, so that a key moves after its row
        return explore_from(structs.replace(reach_phase(phase), left=budget), stores_too=stores_too)


def explore_from(start: OneRowWorld, *, stores_too: bool) -> MigrationFindings:
    seen: dict[OneRowWorld, tuple[OneRowWorld, str] | None] = {start: None}
    queue = deque([start])
    while queue:
        world = queue.popleft()
        try:
            if world.asked is None:
                check_way_back(world)
            for action, after in list_steps(world):
                if after not in seen:
                    seen[after] = (world, action)
                    queue.append(after)
                    if stores_too:
                        check_stores(after, world)
        except Broken as broken:
            return MigrationFindings(len(seen), path(seen, world), str(broken))
    return MigrationFindings(len(seen))


def path(seen: dict[OneRowWorld, tuple[OneRowWorld, str] | None], world: OneRowWorld) -> tuple[str, ...]:
    """Return the actions that lead from the start to a world."""
    actions: list[str] = []
    origin = seen[world]
    while origin is not None:
        actions.append(origin[1])
        origin = seen[origin[0]]
    return tuple(reversed(actions))
