"""Shrinking: reduces the items of a failing run to fewer and plainer ones that break the same promise."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, islice, product
from time import monotonic
from typing import Any, Final

from msgspec import structs

from umi_sim.kernel import progress
from umi_sim.kernel.wording import plural
from umi_sim.record import fingerprint
from umi_sim.shrink.reduction import fewer, lower, shorter
from umi_sim.targets.adapter import Adapter, required_arguments
from umi_sim.targets.checker import BrokenContract
from umi_sim.targets.items import NEEDED, ContractOp, Item
from umi_sim.targets.life import TargetVerdict, run
from umi_sim.targets.promises import promise_broken
from umi_sim.targets.values import MISSING, key_of
from umi_sim.targets.world import ENDLESS

RUNS_MAX: Final = 400
SECONDS_MAX: Final = 60
BRIEF_SECONDS: Final = 3 / 10  # the limit per item, for a store that computes for ever
ROUNDS_MAX: Final = 4
CALMER_RUNS_MAX: Final = 100
ORDERS_MAX: Final = 48  # sequential orders of concurrent operations to try
NEEDED_COUNT_MAX: Final = 12  # items of a run; each item costs a run or more
PAUSES_MAX: Final = 40  # points at which a single pause is tried
TEXT_CHARS: Final = 40
Runs = Callable[[Sequence[Item]], TargetVerdict]
Live = Callable[..., TargetVerdict]  # the signature of `run` in life.py


def fingerprint_of(broken: BrokenContract) -> str:
    return fingerprint.digest("target", broken.rule, f"{broken.op} {broken.error}", broken.frame)


def is_alike(one: BrokenContract, other: BrokenContract) -> bool:
    """Return whether two failures may be the same bug; their operations may differ."""
    return kind_of(one) == kind_of(other)


def kind_of(broken: BrokenContract) -> tuple[str, ...]:
    return broken.rule, broken.error, broken.frame, promise_broken(broken.rule, broken.anomaly, ())


def with_less_patience(adapter: type[Adapter], found: TargetVerdict, live: Live) -> Live:
    """Return `live` with a short time limit, for a run in which the store computes for ever.

    The limit stays long if an earlier item of the run needs it.
    """
    if not is_endless(found):
        return live
    brief = partial(live, seconds=BRIEF_SECONDS)
    before = brief(adapter, found.items[: found.ended_at], found.seed).broken
    return live if before else brief


def is_endless(verdict: TargetVerdict) -> bool:
    return verdict.broken is not None and (verdict.broken.rule, verdict.broken.got) == ("hang", ENDLESS)


def shrink(adapter: type[Adapter], found: TargetVerdict, live: Live = run) -> TargetVerdict:
    """Return the smallest run that was found to break the same promise, within RUNS_MAX runs."""
    live = with_less_patience(adapter, found, live)
    search = RunShrinker(adapter, lambda items: live(adapter, items, found.seed), found)
    search.keep(found.items[: found.ended_at + 1])
    for _ in range(ROUNDS_MAX):
        before = search.best.items
        fewer(search.best.items, search.keep)
        for at in reversed(range(len(search.best.items))):
            for simplify in (
                search.simplify_kind, search.simplify_pauses, search.simplify_numbers, search.simplify_ops
            ):  # fmt: skip
                if at < len(search.best.items):  # else the run now ends before this item
                    simplify(at, search.best.items[at])
        if search.best.items == before:
            break
    return simpler(adapter, search.best, live)


def simpler(adapter: type[Adapter], small: TargetVerdict, live: Live) -> TargetVerdict:
    """Return a shrunk run with fewer conditions that breaks any promise, or else this run.

    Conditions are concurrency, faults, restarts and times to live. A bug that also shows without them is
    reported by the rule that it breaks then.
    """
    until_s = monotonic() + SECONDS_MAX
    for items in islice(calmer(adapter, small.items), CALMER_RUNS_MAX):
        verdict = live(adapter, items, small.seed) if monotonic() < until_s else small
        if verdict.broken is not None and verdict is not small:
            return shrink(adapter, verdict, live)
    return small


def calmer(adapter: type[Adapter], items: Sequence[Item]) -> Iterator[tuple[Item, ...]]:
    """Yield variants of these items with fewer conditions, those with the fewest first."""
    choices = [[*item.of.alone(item)] for item in items]
    sequential = [tuple(chain.from_iterable(each)) for each in islice(product(*choices), ORDERS_MAX)]
    tried = [without_ttl(adapter, each) for each in sequential] + sequential
    for at, item in enumerate(items):
        tried += [(*items[:at], *each, *items[at + 1 :]) for each in item.of.alone(item)]
        tried.append((*items[:at], *items[at + 1 :]))
        tried += [(*items[:at], *each, *items[at + 1 :]) for each in item.of.calmer(item)]
    tried.append(without_ttl(adapter, items))
    distinct = {key_of(each): each for each in tried if each and each != tuple(items)}
    yield from distinct.values()


def find_needed(
    adapter: type[Adapter], small: TargetVerdict, live: Live = run
) -> Iterator[tuple[Item, str, str]]:
    """Yield each item of a run, a change to this item alone, and how the changed run ends."""
    items, live = small.items[: small.ended_at + 1], with_less_patience(adapter, small, live)
    for at, item in enumerate(items if len(items) <= NEEDED_COUNT_MAX else ()):
        others = item.of.alone(item) if item.of.lesser else [()]
        changed = [(*items[:at], *each, *items[at + 1 :]) for each in others]
        broken = [live(adapter, each, small.seed).broken for each in changed if each]
        ends = dict.fromkeys(f"breaks {each.rule}" if each else "passes" for each in broken)
        if ends:
            yield item, item.of.lesser or "without it", " or ".join(ends)


def without_ttl(adapter: type[Adapter], items: Sequence[Item]) -> tuple[Item, ...]:
    """Return the items without `ttl` arguments and without time that passes.

    Operations whose `ttl` has no default are left out, with their items.
    """
    found = []
    for item in items:
        timed = [op for op in item.ops if "ttl" in op.args]
        is_needed = any({"ttl", "ttl_ms"} & {*required_arguments(adapter, op.name)} for op in timed)
        if item.kind != "advance" and not is_needed:
            ops = [ContractOp(op.name, {k: v for k, v in op.args.items() if k != "ttl"}) for op in item.ops]
            found.append(structs.replace(item, ops=tuple(ops)))
    return tuple(found)


class RunShrinker:
    """A search for a smaller run. `best`: the smallest so far that breaks the same promise."""

    def __init__(self, adapter: type[Adapter], run: Runs, found: TargetVerdict) -> None:
        assert found.broken is not None
        self.adapter, self.run, self.best, self.run_count = adapter, run, found, 0
        self.until_s = monotonic() + SECONDS_MAX
        self.wanted = found.broken

    def keep(self, items: Sequence[Item]) -> bool:
        """Run these items. Return whether they fail in the same way; then they become `best`."""
        if self.run_count >= RUNS_MAX or monotonic() >= self.until_s or not items:
            return False
        self.run_count += 1
        progress.at("shrinking", self.run_count, note=f"{plural(len(self.best.items), 'item')} left")
        verdict = self.run(items)
        if verdict.broken is None or not is_alike(verdict.broken, self.wanted):
            return False
        self.best = structs.replace(verdict, items=verdict.items[: verdict.ended_at + 1])
        return True

    def put(self, at: int, **changes: Any) -> bool:
        """Return whether the run still fails in the same way with this item changed."""
        items = self.best.items
        return at < len(items) and self.put_item(at, structs.replace(items[at], **changes))

    def put_item(self, at: int, item: Item) -> bool:
        return self.keep((*self.best.items[:at], item, *self.best.items[at + 1 :]))

    def simplify_kind(self, at: int, item: Item) -> None:
        any(self.put_item(at, each) for each in item.of.plainer(item))

    def simplify_numbers(self, at: int, item: Item) -> None:
        item.of.shrink(item, partial(self.put, at))

    def simplify_pauses(self, at: int, item: Item) -> None:
        """Try no pause at all, then a single early one, then fewer and earlier pauses."""
        if not item.pauses or self.put(at, pauses=()):
            return
        point_count = sum(each for each in item.pauses if each > 0)
        ends = range(-1, min(item.pauses) - 1, -1)  # empty if no result comes late
        if any(self.put(at, pauses=(it,)) for it in (*range(1, min(point_count, PAUSES_MAX) + 1), *ends)):
            return
        fewer(item.pauses, lambda few: bool(few) and self.put(at, pauses=tuple(few)))
        for place in range(len(self.best.items[at].pauses)):
            lower(self.best.items[at].pauses[place], partial(self.put_pause, at, place))

    def put_pause(self, at: int, place: int, number: int) -> bool:
        pauses = self.best.items[at].pauses
        return number > 0 and self.put(at, pauses=(*pauses[:place], number, *pauses[place + 1 :]))

    def simplify_ops(self, at: int, item: Item) -> None:
        if item.kind == "in_turn":  # many operations, plain already
            return
        for place, op in enumerate(item.ops):
            needed = {*NEEDED, *required_arguments(self.adapter, op.name)}
            for name, value in op.args.items():
                if name in needed or not self.put_arg(at, place, name):
                    shorten(name, value, partial(self.put_arg, at, place, name))

    def put_arg(self, at: int, place: int, name: str, value: object = MISSING) -> bool:
        """Try another value of an argument, or none. Return whether the run still fails in the same way."""
        if at >= len(self.best.items):
            return False
        ops = list(self.best.items[at].ops)
        args = {**ops[place].args, name: value}
        ops[place] = ContractOp(
            ops[place].name, {each: args[each] for each in args if args[each] is not MISSING}
        )
        return self.put(at, ops=tuple(ops))


def shorten(name: str, value: object, works: Callable[[object], bool]) -> None:
    """Try fewer members of a list or of pairs, or a shorter text."""
    match value:
        case list():
            fewer(value, lambda few: bool(few) and works(list(few)))
        case dict() if name == "pairs":
            fewer(list(value.items()), lambda few: bool(few) and works(dict(few)))
        case str() if len(value) > TEXT_CHARS:
            shorter(value, "a", works)
