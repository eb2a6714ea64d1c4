"""The passes of a round, in the order in which they run."""

from collections.abc import Callable
from typing import Final

from umi_sim.shrink import removal, simplification, tidying
from umi_sim.shrink.search import ShrinkSearch

Pass = Callable[[ShrinkSearch], None]

PASSES: Final[tuple[Pass, ...]] = (
    removal.after_the_failure,
    removal.all_but_the_last,
    removal.whole_kinds_of_items,
    removal.kinds_of_faults,
    removal.agents,
    removal.operations,
    removal.the_failing_item,
    removal.faults,
    removal.deviations,
    removal.clock_moves,
    tidying.all_options,  # early, since plain runs are fast
    simplification.gaps,
    simplification.equal_arguments,
    simplification.arguments,
    simplification.fault_arguments,
    tidying.options,
    tidying.order,
    removal.pairs,
)
