"""The passes, from top to bottom, in the order in which they run; together they are a round."""

from collections.abc import Callable
from typing import Final

from umi_sim.shrink import removal, simplification, tidying
from umi_sim.shrink.search import Search

Pass = Callable[[Search], None]

PASSES: Final[tuple[tuple[str, Pass], ...]] = (
    ("cut: after the failure", removal.after_the_failure),
    ("cut: all but the last few operations", removal.all_but_the_last),
    ("cut: all faults, deviations, clock moves", removal.whole_kinds_of_items),
    ("cut: kinds of faults", removal.kinds_of_faults),
    ("cut: agents and users", removal.agents),
    ("one by one: operations, with their faults", removal.operations),
    ("cut: the operation that failed", removal.the_failing_item),
    ("one by one: faults", removal.faults),
    ("one by one: deviations", removal.deviations),
    ("one by one: clock moves", removal.clock_moves),
    ("tidy: options, all at once", tidying.all_options),  # early, for a plain run is a quick one
    ("simpler: times", simplification.gaps),
    ("simpler: equal arguments", simplification.equal_arguments),
    ("simpler: arguments", simplification.arguments),
    ("simpler: arguments of faults", simplification.fault_arguments),
    ("tidy: options", tidying.options),
    ("tidy: order", tidying.order),
    ("one by one: pairs", removal.pairs),
)
