"""Where two runs first differ: the record and its field, with the records that led there.

Law 1. Records before the first difference are equal in both runs. Steps are numbered as in failures.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, zip_longest
from typing import Final

from umi_core.data import Data
from umi_sim.explain.playback import Playback, look
from umi_sim.explain.records import as_object, in_column, in_words, is_step, subject
from umi_sim.kernel.report import Line, Pair, Report, ReportRow, row, under
from umi_sim.kernel.wording import cut
from umi_sim.record import state_tree, trace
from umi_sim.record.state_tree import TreeChange
from umi_sim.record.trace import Difference, Record, SavedTrace, Trace
from umi_sim.record.trace_fields import NAMES, field_apart

AROUND_COUNT: Final = 5
TOLD_CHARS_MAX: Final = 60
DELTA_COUNT_MAX: Final = 12
Traced = Trace | SavedTrace


class FirstDifference(Data):
    """The first difference of two runs. `before`: shared records before it; `after`: those of each run."""

    found: Difference
    names: tuple[str, str]
    step: int
    before: Sequence[Record]
    after: tuple[Sequence[Record], Sequence[Record]]

    @property
    def head(self) -> str:
        """Name both records if they describe different events, else the field that differs."""
        where = f"first difference at record {self.found.index}, step {self.step}"
        a, b = self.found.a, self.found.b
        if a is None or b is None or subject(a) == subject(b):
            return f"{where}, {field_apart(a, b, self.names)}"
        first, second = (cut(in_words(it), TOLD_CHARS_MAX) for it in (a, b))
        return f"{where}; {self.names[0]}: {first}; {self.names[1]}: {second}"

    def pairs(self) -> Iterator[Pair]:
        yield Pair(*self.names)
        for record in self.before:
            yield Pair(in_column(record), in_column(record))
        for mine, theirs in zip_longest(*self.after):
            yield Pair(in_column(mine), in_column(theirs), "" if mine == theirs else "|")

    def as_object(self) -> dict[str, object]:
        a, b = ([as_object(record) for record in side] for side in self.after)
        before = [as_object(record) for record in self.before]
        return {"record": self.found.index, "step": self.step, "before": before, "a": a, "b": b}


def apart(
    first: Traced, second: Traced, names: tuple[str, str] = NAMES, around: int = AROUND_COUNT
) -> FirstDifference | None:
    """Find the first difference of two runs; None if there is none."""
    found = trace.first_difference(first, second)
    if found is None:
        return None
    kept = [[trace.decode(it) for it in side.kept] for side in (first, second)]
    # A trace may have dropped its oldest records, so an index into the run is not an index into `kept`.
    starts = [found.index - trace.first_index(side) for side in (first, second)]
    before = kept[0][: starts[0]]
    # Count the steps before the difference, plus one if a differing record itself is a step.
    count = sum(map(is_step, before)) + any(it is not None and is_step(it) for it in (found.a, found.b))
    mine, theirs = (records[start : start + around] for records, start in zip(kept, starts, strict=True))
    return FirstDifference(found, names, count, before[-around:], (mine, theirs))


def report(found: FirstDifference, lines: Iterable[Line] = ()) -> Report:
    """Return a report about the difference; `lines` are added at its end."""
    return Report(found.head, chain(found.pairs(), lines), found.as_object)


def rows(found: FirstDifference) -> Iterator[Line]:
    """Yield rows about the difference, below other rows."""
    yield row("", found.head)
    yield from found.pairs()


# Details.


def delta(first: Playback, second: Playback, step: int) -> list[TreeChange]:
    """Find the differences between the states of two runs after this step."""
    one, other = (look(each.at(step).run) for each in (first, second))
    return list(state_tree.changes(one, other))


def delta_rows(changes: Sequence[TreeChange]) -> Iterator[ReportRow]:
    texts = [f"{each.path}: {each.old} / {each.new}" for each in changes[:DELTA_COUNT_MAX]]
    more = [f"and {len(changes) - DELTA_COUNT_MAX} more places"] if len(changes) > DELTA_COUNT_MAX else []
    yield from under("state", (row("", each, hang=2) for each in (*texts, *more)))
