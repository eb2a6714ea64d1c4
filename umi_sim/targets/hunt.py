"""The hunt: runs an adapter with many seeds until a promise is broken, and shrinks that run."""

import signal
import sys
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import islice, permutations
from multiprocessing import get_context
from time import monotonic
from typing import Final

from msgspec import structs

from umi_core.data import Data, Owner
from umi_sim.kernel.prng import Stream
from umi_sim.kernel.progress import at
from umi_sim.targets.adapter import Adapter, BadAdapter, flags_of, ops_of
from umi_sim.targets.checker import BrokenContract
from umi_sim.targets.declarations import check_judged
from umi_sim.targets.drawing import Moments, draw_items
from umi_sim.targets.items import N_MAX, ContractOp, Item
from umi_sim.targets.life import NO_JOBS, JobCounts, KnownMet, TargetVerdict, find_known, run
from umi_sim.targets.model import CROWD, Pool
from umi_sim.targets.promises import SCOPES, name_anomaly, promise_broken
from umi_sim.targets.shrinking import Live, find_needed, fingerprint_of, is_endless, shrink
from umi_sim.targets.values import MISSING

PROBES: Final = range(8)
EARLY_COUNT: Final = 6
COUNT_MAX: Final = 100
SEED_COUNT_MAX: Final = 1_000_000
NOT_RECURRING_COUNT_MAX: Final = 10
SEEDS_PER_TASK: Final = 10
AFRESH_ITEM_COUNT_MAX: Final = 1  # state left by an earlier run shows with so few items
MORE: Final = CROWD + 50  # entries written to confirm a bound: as many are left as of CROWD entries
KEPT: Final = {"kv": "entries", "memory": "entries", "sessions": "messages of a session"}
TASKS_PER_JOB: Final = 2
Make = Callable[[], type[Adapter]]
Draw = Callable[[type[Adapter], int, Moments], tuple[Item, ...]]


class Finding(Owner):
    """A broken promise: the first run that broke it, the shrunk run, and how many runs broke it.

    `needed`: for each item of the small run, a change to this item alone, and how the changed run ends.
    """

    first: TargetVerdict
    small: TargetVerdict
    count: int = 1
    needed: Sequence[tuple[Item, str, str]] = ()


class HuntShare(Owner):
    """Counts of some runs. `broken`: those of them that broke a promise, in the share of one process.

    `tried`: by promise, how many runs could have broken it. `died_at`: as in a verdict.
    """

    run_count: int = 0
    op_count: int = 0
    known: tuple[KnownMet, ...] = ()
    jobs: JobCounts = NO_JOBS
    threads: tuple[str, ...] = ()
    inferred: tuple[tuple[str, object], ...] = ()  # from all runs: a flag can have several values
    broken: list[TargetVerdict] = []
    tried: dict[str, int] = {}
    died_at: tuple[str, ...] = ()

    def take(self, other: "HuntShare") -> None:
        self.run_count += other.run_count
        self.op_count += other.op_count
        self.jobs += other.jobs
        self.tried = dict(Counter(self.tried) + Counter(other.tried))
        self.known = tuple(dict.fromkeys((*self.known, *other.known)))
        self.threads = tuple(dict.fromkeys((*self.threads, *other.threads)))
        self.died_at = tuple(dict.fromkeys((*self.died_at, *other.died_at)))
        self.inferred = tuple(dict.fromkeys((*self.inferred, *other.inferred)))


class Hunt(HuntShare, kw_only=True):
    """The result of a hunt: the counts of all runs, and one finding of each kind."""

    adapter: type[Adapter]
    moments: Moments
    findings: list[Finding] = []
    kinds: dict[str, Finding] = {}  # by mark, of the first run and of the shrunk one
    not_recurring: list[TargetVerdict] = []  # runs that broke a promise, but not when repeated

    @property
    def first(self) -> TargetVerdict | None:
        return self.findings[0].first if self.findings else None

    @property
    def small(self) -> TargetVerdict | None:
        return self.findings[0].small if self.findings else None

    def add(self, verdict: TargetVerdict, live: Live) -> None:
        """Add a failing run: repeat it, and shrink it unless its kind is known already."""
        assert verdict.broken is not None
        kind = mark_of(verdict.broken)
        if kind in self.kinds:
            self.kinds[kind].count += 1
            return
        if not recurs(self.adapter, verdict, live):
            self.not_recurring.append(verdict)
            return
        small = shrink(self.adapter, verdict, live)
        if not recurs(self.adapter, small, live):
            small = structs.replace(verdict, items=verdict.items[: verdict.ended_at + 1])
        assert small.broken is not None
        smallest = mark_of(small.broken)
        if smallest in self.kinds:
            self.kinds[smallest].count += 1
        else:
            needed = tuple(find_needed(self.adapter, small, live))
            small = explain_bound(self.adapter, verdict, name_skew(self.adapter, small, live))
            self.kinds[smallest] = Finding(verdict, small, needed=needed)
            self.findings.append(self.kinds[smallest])
        self.kinds[kind] = self.kinds[smallest]


def mark_of(broken: BrokenContract) -> str:
    """Return the kind of a failure: a removed row that is shown differs from a row that is missing."""
    return f"{fingerprint_of(broken)} {promise_broken(broken.rule, broken.anomaly, ())}"


def recurs(adapter: type[Adapter], verdict: TargetVerdict, live: Live) -> bool:
    """Return whether the items of a run break the same promise when they are run again."""
    again = live(adapter, verdict.items, verdict.seed).broken
    assert verdict.broken is not None
    return again is not None and fingerprint_of(again) == fingerprint_of(verdict.broken)


def moments_of(adapter: type[Adapter]) -> Moments:
    """Return by operation where it can fail or be cancelled, or its process die. Raises BadAdapter.

    They are the sites that the operation reached in a few runs without faults, and its steps.
    """
    check_judged(adapter)
    most: dict[tuple[str, str], int] = {}
    for seed in PROBES:
        verdict = run(adapter, draw_items(adapter, seed, {}), seed)
        for key, count in verdict.reached.items():
            most[key] = max(count, most.get(key, 0))
        if is_endless(verdict):  # each such run takes seconds
            break
    found: dict[str, list[tuple[str, int]]] = {}
    for (name, site), count in sorted(most.items()):
        found.setdefault(name, []).extend((site, n) for n in list_times(count))
    return found


def list_times(count: int) -> list[int]:
    """Return numbers from 1 to `count` to draw from: some COUNT_MAX at most, the first ones twice if many."""
    every = range(1, min(count, N_MAX) + 1)
    spread = every[:: len(every) // (COUNT_MAX + 1) + 1]
    return [*spread, *(every[:EARLY_COUNT] if count > EARLY_COUNT else ())]


class HuntStrategy(Data):
    """The functions that draw and run items. `to_end`: the hunt continues after a broken promise."""

    draw: Draw = draw_items
    live: Live = run
    to_end: bool = False


def hunt(
    adapter: type[Adapter],
    seeds: Iterable[int] = range(SEED_COUNT_MAX),
    seconds: int | None = None,
    jobs: int = 1,
    make: Make | None = None,
    way: HuntStrategy | None = None,
) -> Hunt:
    """Run seeds until a promise is broken, or `seconds` are over. Raises BadAdapter if nothing can be judged.

    `jobs`: the number of processes; each gets the adapter by `make`. Findings do not depend on it.
    """
    way = way or HuntStrategy()
    found = Hunt(adapter=adapter, moments=moments_of(adapter))
    until_s = None if seconds is None else monotonic() + seconds  # the probes do not count
    task = partial(run_part, way=way, moments=found.moments)
    parts = by_processes(partial(task, make), seeds, jobs) if make and jobs > 1 else None
    for part in parts or (task(lambda: adapter, [seed]) for seed in seeds):
        found.take(part)
        at("hunting", found.run_count, seconds=seconds or 0)
        if part.broken and parts is not None and not way.to_end:
            parts.close()
        for verdict in part.broken:
            found.add(verdict, way.live)
        is_over = until_s is not None and monotonic() >= until_s
        is_over = is_over or len(found.not_recurring) >= NOT_RECURRING_COUNT_MAX
        if is_over or (found.findings and not way.to_end):
            break
    if way.to_end:
        found.known = tuple(explain_known(adapter, met, way.live) for met in found.known)
    return found


def explain_known(adapter: type[Adapter], met: KnownMet, live: Live) -> KnownMet:
    """Return a known divergence with the promise that its shrunk run breaks."""
    others = tuple(each for each in adapter.known if each.address != met.address)
    undeclared = declare(adapter, {"known": others})
    verdict = live(undeclared, met.items, met.seed)
    small = shrink(undeclared, verdict, live) if verdict.broken else verdict
    # The shrunk run may break another rule, as concurrency and deaths are removed from it.
    shown = find_known(adapter, small.broken) or met
    shown = shown if shown.address == met.address else met
    items = small.items if small.broken else ()
    return structs.replace(met, promise=promise_broken(shown.rule, shown.anomaly, items))


def run_part(make: Make, seeds: Sequence[int], *, way: HuntStrategy, moments: Moments) -> HuntShare:
    """Run these seeds, up to the first that breaks a promise unless the strategy goes `to_end`."""
    adapter, share = make(), HuntShare()
    for seed in seeds:
        verdict = way.live(adapter, way.draw(adapter, seed, moments), seed)
        op_count = sum(len(step.item.ops) for step in verdict.steps)
        share.take(
            HuntShare(
                1, op_count, verdict.known, verdict.jobs, verdict.threads, verdict.inferred,
                tried=dict.fromkeys(verdict.tried, 1), died_at=verdict.died_at,
            )
        )  # fmt: skip
        if verdict.broken is not None:
            share.broken.append(verdict)
            if not way.to_end:
                break
    return share


def by_processes(
    task: Callable[[Sequence[int]], HuntShare], seeds: Iterable[int], jobs: int
) -> Generator[HuntShare, None, None]:
    """Yield the shares of several processes in the order of their seeds, whichever ends first."""
    left = iter(seeds)
    some = iter(lambda: list(islice(left, SEEDS_PER_TASK)), [])
    with ProcessPoolExecutor(
        jobs, get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN)
    ) as pool:
        try:
            begun = deque(pool.submit(task, each) for each in islice(some, jobs * TASKS_PER_JOB))
            while begun:
                yield begun.popleft().result()
                begun += [pool.submit(task, each) for each in islice(some, 1)]
        except BrokenExecutor:
            raise BadAdapter("a process died with the store that it ran: --jobs 1 shows where") from None
        finally:
            pool.shutdown(cancel_futures=True)


# Repeating findings in a new process, without state of earlier runs, such as a global of a module.


def check_afresh(make: Make, found: Hunt) -> None:
    """Remove findings of at most AFRESH_ITEM_COUNT_MAX items that do not recur in a new process."""
    for each in [it for it in found.findings if len(it.small.items) <= AFRESH_ITEM_COUNT_MAX]:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool, suppress(BrokenExecutor):
            # Without answers: they may contain objects that cannot be pickled, such as locks.
            small = structs.replace(each.small, steps=())
            if not pool.submit(recurs_here, make, small).result():
                found.findings.remove(each)
                found.not_recurring.append(each.small)


def recurs_here(make: Make, verdict: TargetVerdict) -> bool:
    sys.unraisablehook = lambda _: None  # as in the process of the command
    return recurs(make(), verdict, run)


# Bounds, such as that of a cache of a hundred entries, that the class does not declare, or declares with a
# wrong number. Losing entries to such a bound is a failure; the report says what to declare.


def explain_bound(adapter: type[Adapter], found: TargetVerdict, small: TargetVerdict) -> TargetVerdict:
    """Return the small failure, with a hint at a bound if both runs pass once that bound is declared."""
    bound = adapter.contract.bound
    if small.broken is None or small.broken.rule != "answer":
        return small
    known = flags_of(adapter).get(bound)
    try:
        most = count_kept(adapter, CROWD)
        is_bound = 0 < most < CROWD and count_kept(adapter, MORE) == most
    except BadAdapter:  # the store cannot be given so many entries
        return small
    if not is_bound:
        return small
    declared = declare(adapter, {bound: most})
    if any(run(declared, each.items, each.seed).broken for each in (found, small)):
        return small
    anomaly = name_anomaly("answer", "bounded") if known is None else small.broken.anomaly
    kept = f"{most} {KEPT[adapter.contract.name]}" + ("" if known is None else f", not {known}")
    message = f"answers as if it kept {kept}: {bound} = {most} promises that"
    return structs.replace(small, broken=structs.replace(small.broken, anomaly=anomaly, hint=message))


def name_skew(adapter: type[Adapter], small: TargetVerdict, live: Live) -> TargetVerdict:
    """Return the small failure, named write skew if that broke the invariant.

    Write skew: concurrent writes to different entries break an invariant that they keep in any sequential
    order. Example: two doctors leave the on-call list, and each has seen that the other is still on it.
    """
    *before, last = small.items
    if small.broken is None or small.broken.rule != "invariant" or last.kind != "at_once":
        return small
    entries = [entry for op in last.ops for entry in entries_of(op)]
    if len({*entries}) < len(entries) or {op.name for op in last.ops} & {*adapter.contract.reads}:
        return small
    orders = (tuple(Item("op", (op,)) for op in order) for order in permutations(last.ops))
    if any(live(adapter, (*before, *order), small.seed).broken for order in orders):
        return small
    anomaly = name_anomaly("invariant", "apart")
    return structs.replace(small, broken=structs.replace(small.broken, anomaly=anomaly))


def entries_of(op: ContractOp) -> list[tuple[str, ...]]:
    """Return the entries that an operation names: each name with its scope."""
    scope = [str(op.args.get(name)) for name in SCOPES]
    names = op.args.get("keys", op.args.get("pairs", [op.args.get("key", op.args.get("id"))]))
    return [(*scope, str(name)) for name in names] if isinstance(names, list | dict) else []


def declare(adapter: type[Adapter], flags: dict[str, object]) -> type[Adapter]:
    return type(adapter.__name__, (adapter,), {**flags, "__module__": adapter.__module__})


def count_kept(adapter: type[Adapter], count: int) -> int:
    """Write `count` entries one after the other, read them, and return how many are left."""
    pool = Pool(["a"], ["u"], [])
    crowd = adapter.contract.crowd(pool, ops_of(adapter), Stream(0), count, is_bounded=True)
    items = [Item("in_turn", tuple(each)) for each in crowd if each]
    verdict = run(declare(adapter, {adapter.contract.bound: 1, "evicts": "many"}), items)
    values = [got.value for step in verdict.steps[1:2] for got in step.gots if not got.error]
    if values and isinstance(values[0], list):
        return len(values[0])
    return sum(value is not None and value is not MISSING for value in values)
