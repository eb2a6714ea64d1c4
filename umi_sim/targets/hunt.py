"""The hunt: many runs of one adapter, and the first broken promise, as small as it gets."""

from collections.abc import Iterable
from functools import partial
from time import monotonic
from typing import Final

import attrs

from umi_core.data import Owner
from umi_sim.kernel.progress import at
from umi_sim.targets.adapter import Adapter, check_judged
from umi_sim.targets.drawing import Moments, draw_items
from umi_sim.targets.life import Verdict, run
from umi_sim.targets.shrinking import shrink

PROBES: Final = range(8)
COUNT_MAX: Final = 6
SEED_COUNT_MAX: Final = 1_000_000


@attrs.define
class Hunt(Owner):
    """How much was run; of a broken promise the seed, the run as it was and as small as it gets."""

    adapter: type[Adapter]
    moments: Moments = attrs.field(factory=dict)
    run_count: int = 0
    op_count: int = 0
    known: tuple[str, ...] = ()
    seed: int = 0
    first: Verdict | None = None
    small: Verdict | None = None


def moments_of(adapter: type[Adapter]) -> Moments:
    """When each operation may fail: what it was seen to reach in a few quiet runs there."""
    most: dict[tuple[str, str], int] = {}
    for seed in PROBES:
        for key, count in run(adapter, draw_items(adapter, seed, {})).reached.items():
            most[key] = max(count, most.get(key, 0))
    found: dict[str, list[tuple[str, int]]] = {}
    for (name, site), count in sorted(most.items()):
        if site in adapter.fails:
            found.setdefault(name, []).extend((site, n) for n in range(1, min(count, COUNT_MAX) + 1))
    return found


def hunt(
    adapter: type[Adapter],
    seeds: Iterable[int] = range(SEED_COUNT_MAX),
    seconds: int | None = None,
) -> Hunt:
    """Until the first broken promise, or until time is over. Raises BadAdapter if nothing could be judged."""
    check_judged(adapter)
    until_s = None if seconds is None else monotonic() + seconds
    found = Hunt(adapter, moments_of(adapter))
    for seed in seeds:
        verdict = run(adapter, draw_items(adapter, seed, found.moments))
        found.run_count += 1
        found.op_count += sum(len(step.item.ops) for step in verdict.steps)
        found.known = tuple(dict.fromkeys((*found.known, *verdict.known)))
        at("hunting", found.run_count, seconds=seconds or 0)
        if verdict.broken is not None:
            found.seed, found.first = seed, verdict
            found.small = shrink(partial(run, adapter), verdict)
            break
        if until_s is not None and monotonic() >= until_s:
            break
    return found
