"""The hunt: many runs of one adapter, and the first broken promise, as small as it gets."""

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from time import monotonic
from typing import Any, Final

import attrs

from umi_core.data import Data
from umi_sim.targets.adapter import Adapter
from umi_sim.targets.drawing import items_of
from umi_sim.targets.items import Item, ops_in
from umi_sim.targets.life import Life, Verdict, run
from umi_sim.targets.shrinking import shrunk

PROBES: Final = range(3)
SEED_COUNT_MAX: Final = 1_000_000


@attrs.frozen
class Found(Data):
    """How much was run; of a broken promise the seed, the run as it was and as small as it gets."""

    adapter: type[Adapter]
    run_count: int
    op_count: int
    seed: int = 0
    first: Verdict | None = None
    small: Verdict | None = None
    known: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()


def sites_of(adapter: type[Adapter]) -> tuple[str, ...]:
    """What the store was seen to reach in a few quiet runs: only that can fail."""
    if adapter not in SITES:
        SITES[adapter] = tuple(sorted(probed(adapter).intersection(adapter.fails)))
    return SITES[adapter]


SITES: Final[dict[Any, tuple[str, ...]]] = {}


def probed(adapter: type[Adapter]) -> set[str]:
    reached: set[str] = set()
    for seed in PROBES:
        with ExitStack() as stack:
            life = Life(adapter, stack)
            life.live(items_of(adapter, seed, ()))
            reached |= set(life.sites.reached)
    return reached


def items_of_seed(adapter: type[Adapter], seed: int) -> tuple[Item, ...]:
    return items_of(adapter, seed, sites_of(adapter))


def hunt(
    adapter: type[Adapter],
    seeds: Iterable[int] = range(SEED_COUNT_MAX),
    seconds: float | None = None,
    told: Callable[[int], None] = lambda count: None,
) -> Found:
    """Until the first broken promise, or until the time is over."""
    began_s = monotonic()
    run_count = op_count = 0
    known: dict[str, None] = {}
    found: tuple[int, Verdict] | None = None
    for seed in seeds:
        verdict = run(adapter, items_of_seed(adapter, seed))
        run_count += 1
        op_count += sum(len(ops_in(step.item)) for step in verdict.steps)
        known |= dict.fromkeys(verdict.known)
        told(run_count)
        if verdict.broken is not None:
            found = seed, verdict
            break
        if seconds is not None and monotonic() - began_s >= seconds:
            break
    result = Found(adapter, run_count, op_count, known=tuple(known), sites=sites_of(adapter))
    if found is None:
        return result
    return attrs.evolve(result, seed=found[0], first=found[1], small=shrunk(partial(run, adapter), found[1]))
