"""Shrinking: fewer items, then plainer ones, as long as a run breaks the same promise."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from time import monotonic
from typing import Any, Final

import attrs

from umi_sim.record import fingerprint
from umi_sim.shrink.reduction import fewer, lower
from umi_sim.targets.checker import Broken
from umi_sim.targets.items import Advance, AtOnce, Cancel, Crash, Fail, Item, Op
from umi_sim.targets.life import Verdict

RUNS_MAX: Final = 400
SECONDS_MAX: Final = 60
Runs = Callable[[Sequence[Item]], Verdict]


def fingerprint_of(broken: Broken) -> str:
    return fingerprint.digest("target", broken.rule, broken.error, broken.frame)


def shrunk(run: Runs, found: Verdict) -> Verdict:
    """The smallest run that was met within RUNS_MAX runs."""
    search = Search(run, found)
    search.keep(found.items[: found.broken_at + 1])
    for _ in range(4):
        before = search.best.items
        fewer(search.best.items, search.keep)
        for at in range(len(search.best.items) - 1, -1, -1):
            search.simplify(at)
        if search.best.items == before:
            break
    return search.best


class Search:
    def __init__(self, run: Runs, found: Verdict) -> None:
        assert found.broken is not None
        self.run, self.best, self.run_count = run, found, 0
        self.until_s = monotonic() + SECONDS_MAX
        self.wanted = fingerprint_of(found.broken)

    def keep(self, items: Sequence[Item]) -> bool:
        """Whether these fail alike; then they are the best."""
        if self.run_count >= RUNS_MAX or monotonic() >= self.until_s or not items:
            return False
        self.run_count += 1
        verdict = self.run(items)
        if verdict.broken is None or fingerprint_of(verdict.broken) != self.wanted:
            return False
        self.best = attrs.evolve(verdict, items=verdict.items[: verdict.broken_at + 1])
        return True

    def puts(self, at: int, item: Item) -> bool:
        return self.keep((*self.best.items[:at], item, *self.best.items[at + 1 :]))

    def simplify(self, at: int) -> None:
        if at >= len(self.best.items):
            return
        for other in plainer(self.best.items[at]):
            if self.puts(at, other):
                break
        match self.best.items[at] if at < len(self.best.items) else None:
            case Advance(ms=ms):
                lower(ms, lambda less: self.puts(at, Advance(less)))
            case AtOnce(ops=ops, order=order) if len(ops) > 2:
                fewer(ops, lambda few: len(few) > 1 and self.puts(at, AtOnce(tuple(few), order)))
            case Fail() | Crash(of=Op()) | Cancel() as item:
                self.simplify_number(at, item)
        for each in simpler_args(self.best.items, at):
            self.keep(each)

    def simplify_number(self, at: int, item: Item) -> None:
        name = "steps" if isinstance(item, Cancel) else "n"
        numbered: Any = partial(attrs.evolve, item)
        lower(getattr(item, name), lambda less: less > 0 and self.puts(at, numbered(**{name: less})))


def plainer(item: Item) -> Iterator[Item]:
    """The operation alone; requests at once in the order in which they came."""
    match item:
        case AtOnce(order=order, ops=ops):
            yield from ops
            if order:
                yield AtOnce(ops, 0)
                yield from (AtOnce(ops, each) for each in range(1, 6))
        case Crash(of=Op() as op):
            yield op
            yield Crash()
        case Fail(of=op) | Cancel(of=op):
            yield op


def simpler_args(items: Sequence[Item], at: int) -> Iterator[tuple[Item, ...]]:
    """The same items with one argument of one of them left out, or plain, or shorter."""
    item = items[at]
    if not isinstance(item, Op):
        inner = getattr(item, "of", None)
        evolved: Any = partial(attrs.evolve, item)
        if isinstance(inner, Op):
            for (changed,) in simpler_args((inner,), 0):
                yield (*items[:at], evolved(of=changed), *items[at + 1 :])
        return
    for name, value in item.args.items():
        for other in simpler_values(name, value):
            yield (*items[:at], Op(item.name, {**item.args, name: other}), *items[at + 1 :])


def simpler_values(name: str, value: object) -> Iterator[object]:
    if isinstance(value, list) and len(value) > 1:
        yield value[:1]
        yield value[:2]
    if isinstance(value, dict) and len(value) > 1 and name == "pairs":
        yield dict(list(value.items())[:1])
        yield dict(list(value.items())[:2])
    if isinstance(value, str) and len(value) > 40:
        yield value[:1] * 40
