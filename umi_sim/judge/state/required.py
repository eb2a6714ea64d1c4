"""What umi_core.state_checks requires of every state, judged as rules of the same names.

These checks take their bounds from umi_core.limits, as the memory does; tests/unit/core/test_limits.py holds
them against the specification.
"""

from collections.abc import Container

from umi_core import state_checks
from umi_core.engine.registry import Registry
from umi_core.state import State
from umi_core.state_checks import Requirements
from umi_core.tiers.core import CoreTier
from umi_core.tiers.working import WorkingTier
from umi_sim.record import rules
from umi_sim.record.broken import demand


def demand_each(requirements: Requirements) -> None:
    for holds, promise, message, expected, got in requirements:
        demand(holds, rules.NAMED[promise], message, expected, got)


def check_cheap(state: State) -> None:
    """Check totals against their limits, and operations in flight; counts nothing again."""
    demand_each(state_checks.check_cheap(state))


def check_tables(state: State, registry: Registry, known: Container[int | None] = ()) -> None:
    """Demand that every operation in flight is as its table says, except those whose question is `known`."""
    demand_each(state_checks.check_tables(state, registry, known))


def check_working(tier: WorkingTier, now_ms: int) -> None:
    """Demand that entries are within their limits, and that their bytes and deadlines are counted right."""
    demand_each(state_checks.check_working(tier, now_ms))


def check_core(core: CoreTier) -> None:
    """Demand that core is what is rendered: each id and each slot once, in one order."""
    demand_each(state_checks.check_core(core))
