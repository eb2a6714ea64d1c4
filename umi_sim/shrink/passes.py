"""The passes of a round, in the order in which they run."""

from collections.abc import Callable
from typing import Final

from umi_sim.shrink import removal, simplification, tidying
from umi_sim.shrink.search import ShrinkSearch

Pass = Callable[[ShrinkSearch], None]

PASSES: Final[tuple[Pass, ...]] = (
    removal.drop_after_failure,
    removal.keep_last_requests,
    removal.drop_kinds_of_items,
    removal.drop_kinds_of_faults,
    removal.drop_agents,
    removal.drop_operations,
    removal.drop_failing_item,
    removal.drop_faults,
    removal.drop_deviations,
    removal.drop_clock_moves,
    tidying.all_options,  # early, since plain runs are fast
    simplification.shorten_gaps,
    simplification.simplify_equal_values,
    simplification.simplify_arguments,
    simplification.simplify_fault_arguments,
    tidying.options,
    tidying.order,
    removal.drop_pairs,
)
