"""The hunt: many runs of one adapter, and the first broken promise, as small as it gets."""

import signal
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from functools import partial
from itertools import islice
from multiprocessing import get_context
from time import monotonic
from typing import Final

import attrs

from umi_core.data import Data, Owner
from umi_sim.kernel.progress import at
from umi_sim.targets.adapter import Adapter, BadAdapter, check_judged
from umi_sim.targets.drawing import Moments, draw_items
from umi_sim.targets.life import Verdict, run
from umi_sim.targets.shrinking import shrink

PROBES: Final = range(8)
COUNT_MAX: Final = 6
SEED_COUNT_MAX: Final = 1_000_000
SEEDS_PER_TASK: Final = 10
TASKS_PER_JOB: Final = 2


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


@attrs.frozen
class Part(Data):
    """What came of some seeds, up to the first that breaks a promise."""

    run_count: int
    op_count: int
    known: tuple[str, ...]
    seed: int = 0
    broken: Verdict | None = None


Make = Callable[[], type[Adapter]]


def hunt(
    adapter: type[Adapter],
    seeds: Iterable[int] = range(SEED_COUNT_MAX),
    seconds: int | None = None,
    jobs: int = 1,
    make: Make | None = None,
) -> Hunt:
    """Until the first broken promise, or until time is over. Raises BadAdapter if nothing could be judged.

    `jobs`: so many processes, each of which gets the adapter by `make`; what is told is the same.
    """
    check_judged(adapter)
    until_s = None if seconds is None else monotonic() + seconds
    found = Hunt(adapter, moments_of(adapter))
    parts = by_processes(make, found.moments, seeds, jobs) if make and jobs > 1 else None
    for part in parts or (run_part(lambda: adapter, found.moments, [seed]) for seed in seeds):
        found.run_count += part.run_count
        found.op_count += part.op_count
        found.known = tuple(dict.fromkeys((*found.known, *part.known)))
        at("hunting", found.run_count, seconds=seconds or 0)
        if part.broken is not None:
            if parts is not None:
                parts.close()
            found.seed, found.first = part.seed, part.broken
            found.small = shrink(partial(run, adapter), part.broken)
            break
        if until_s is not None and monotonic() >= until_s:
            break
    return found


def run_part(make: Make, moments: Moments, seeds: Sequence[int]) -> Part:
    adapter, op_count, known = make(), 0, list[str]()
    for count, seed in enumerate(seeds, 1):
        verdict = run(adapter, draw_items(adapter, seed, moments))
        op_count += sum(len(step.item.ops) for step in verdict.steps)
        known += verdict.known
        if verdict.broken is not None:
            return Part(count, op_count, tuple(known), seed, verdict)
    return Part(len(seeds), op_count, tuple(known))


def by_processes(
    make: Make, moments: Moments, seeds: Iterable[int], jobs: int
) -> Generator[Part, None, None]:
    """Parts in the order of their seeds, however long each takes."""
    left = iter(seeds)
    tasks = iter(lambda: list(islice(left, SEEDS_PER_TASK)), [])
    with ProcessPoolExecutor(
        jobs, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN)
    ) as pool:
        try:
            begun = deque(
                pool.submit(run_part, make, moments, task) for task in islice(tasks, jobs * TASKS_PER_JOB)
            )
            while begun:
                yield begun.popleft().result()
                begun += [pool.submit(run_part, make, moments, task) for task in islice(tasks, 1)]
        except BrokenExecutor:
            raise BadAdapter("a process died with the store that it ran: --jobs 1 shows where") from None
        finally:
            pool.shutdown(cancel_futures=True)
