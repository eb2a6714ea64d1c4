"""Shrinking: fewer items, then plainer ones, as long as a run breaks the same promise."""

from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import Final

import attrs

from umi_sim.kernel import progress
from umi_sim.kernel.wording import plural
from umi_sim.record import fingerprint
from umi_sim.shrink.reduction import fewer, lower
from umi_sim.targets.checker import Broken
from umi_sim.targets.items import Item, Op
from umi_sim.targets.life import Verdict

RUNS_MAX: Final = 400
SECONDS_MAX: Final = 60
ROUNDS_MAX: Final = 4
ORDERS: Final = 6  # of requests at once that are tried from the first one on
TEXT_CHARS: Final = 40
Runs = Callable[[Sequence[Item]], Verdict]


def fingerprint_of(broken: Broken) -> str:
    return fingerprint.digest("target", broken.rule, broken.error, broken.frame)


def shrink(run: Runs, found: Verdict) -> Verdict:
    """The smallest run that was met within RUNS_MAX runs."""
    search = Search(run, found)
    search.keep(found.items[: found.ended_at + 1])
    for _ in range(ROUNDS_MAX):
        before = search.best.items
        fewer(search.best.items, search.keep)
        for at in reversed(range(len(search.best.items))):
            search.simplify(at)
        if search.best.items == before:
            break
    return search.best


class Search:
    """`best`: the smallest run so far that breaks the same promise."""

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
        progress.at("shrinking", self.run_count, note=f"{plural(len(self.best.items), 'item')} left")
        verdict = self.run(items)
        if verdict.broken is None or fingerprint_of(verdict.broken) != self.wanted:
            return False
        self.best = attrs.evolve(verdict, items=verdict.items[: verdict.ended_at + 1])
        return True

    def put(self, at: int, item: Item) -> bool:
        return self.keep((*self.best.items[:at], item, *self.best.items[at + 1 :]))

    def simplify(self, at: int) -> None:
        """A plainer item in its place, then lower numbers, then plainer arguments."""
        if at >= len(self.best.items):
            return
        any(self.put(at, other) for other in plainer(self.best.items[at]))
        if at >= len(self.best.items):
            return  # it breaks earlier now
        item = self.best.items[at]
        if item.kind == "at_once":
            fewer(item.ops, lambda few: len(few) > 1 and self.put(at, attrs.evolve(item, ops=tuple(few))))
        else:
            least = 1 if item.ops else 0
            lower(item.number, lambda n: n >= least and self.put(at, attrs.evolve(item, number=n)))
        for other in plainer_ops(self.best.items[at]):
            self.put(at, other)


def plainer(item: Item) -> Iterator[Item]:
    """The operation alone; a crash at any time; requests at once in an order of a low number."""
    if item.kind == "op" or not item.ops:
        return
    yield from (Item("op", (op,)) for op in item.ops)
    if item.kind == "crash_in":
        yield Item("crash")
    if item.kind == "at_once":
        yield from (attrs.evolve(item, number=number) for number in range(min(item.number, ORDERS)))


def plainer_ops(item: Item) -> Iterator[Item]:
    """The same with one argument shorter."""
    for at, op in enumerate(item.ops):
        for name, value in op.args.items():
            for other in shorter_values(name, value):
                changed = Op(op.name, {**op.args, name: other})
                yield attrs.evolve(item, ops=(*item.ops[:at], changed, *item.ops[at + 1 :]))


def shorter_values(name: str, value: object) -> Iterator[object]:
    match value:
        case [_, _, *_]:
            yield value[:1]
            yield value[:2]
        case dict() if name == "pairs" and len(value) > 1:
            yield dict(list(value.items())[:1])
            yield dict(list(value.items())[:2])
        case str() if len(value) > TEXT_CHARS:
            yield value[:1] * TEXT_CHARS
