"""Judged: how often each rule had something to judge in a run.

Every check ends in a `demand`, of umi_core's invariants or of the oracle; for the time of a run they count.
Law 1. The checks have no switch for it: their `demand` is replaced from outside, as for a planted bug.
Law 2. A check that finds nothing to look at returns before its `demand`, and so counts for nothing.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Final

from umi_core.invariants import accesses, operations, plans, prompts, steps, tiers
from umi_sim.judge.invariants import relations, rule_named, store
from umi_sim.judge.oracle import core, judge, readings, refusals, sessions, working, worlds
from umi_sim.mutants.planting import Patch
from umi_sim.world import revisions, world

JUDGES: Final[tuple[ModuleType, ...]] = (
    accesses, operations, plans, prompts, steps, tiers, relations, store, core, judge, readings, refusals,
    sessions, working, worlds, revisions, world,
)  # fmt: skip
"""Who demands, besides the runner."""

Demand = Callable[..., None]


@contextmanager
def counting(judged: Counter[str], runner: ModuleType) -> Iterator[None]:
    """Until the block ends, each rule is counted whenever it is looked at."""

    def counted(demand: Demand) -> Demand:
        def counting_demand(holds: object, rule: str, *told: object) -> None:
            judged[rule] += 1
            if not holds:
                demand(holds, rule, *told)

        return counting_demand

    with ExitStack() as stack:
        for module in (*JUDGES, runner):
            stack.enter_context(Patch(module, "demand", counted).plant())
        yield


def with_equivalences(judged: Mapping[str, int], marks: Mapping[str, int]) -> Counter[str]:
    """What was judged, and what was compared, which leaves marks such as `equal: E-RESTORE`."""
    equal = {mark: count for mark, count in marks.items() if mark.startswith("equal: ")}
    compared = {rule_named(mark.removeprefix("equal: ")).name: count for mark, count in equal.items()}
    return Counter(judged) + Counter(compared)
