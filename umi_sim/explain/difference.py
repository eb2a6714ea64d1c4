"""Where two runs part: the first record, and the field of it, that they do not share, with what led there.

Law 1. Records before the first difference are those of both; steps are counted as failures count them.
Law 2. One line for each place; what a memory or a model said is escaped and cut.
"""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from umi_sim.explain.playback import Playback, is_step, look
from umi_sim.kernel.literals import literal
from umi_sim.kernel.wording import cut, escaped, row
from umi_sim.record import state_tree, trace
from umi_sim.record.state_tree import Change
from umi_sim.record.trace import Difference, Record, SavedTrace, Tag, Trace
from umi_sim.record.trace_fields import COLUMNS, NAMES, REST, TAG, field_apart, hex_or_literal, outcome_word

AROUND_COUNT: Final = 5
COLUMN_CHARS: Final = 56
DELTA_COUNT_MAX: Final = 12
Traced = Trace | SavedTrace


def layout(
    found: Difference,
    first: Traced,
    second: Traced,
    names: tuple[str, str] = NAMES,
    around: int = AROUND_COUNT,
) -> Iterator[str]:
    """The first difference in a line, then the records before and after it side by side."""
    both = [trace.decode(record) for record in kept_before(found, first)]
    step = step_of(found, first)
    yield f"first difference at record {found.index}, step {step}, {field_apart(found.a, found.b, names)}"
    sides = [[trace.decode(it) for it in kept_after(found, each, around)] for each in (first, second)]
    yield from columns(names[0], "  ", names[1])
    for record in both[-around:]:
        yield from columns(cell(record), "  ", cell(record))
    for mine, theirs in zip_longest(*sides):
        yield from columns(cell(mine), "  " if mine == theirs else "| ", cell(theirs))


def step_of(found: Difference, side: Traced) -> int:
    """The step in which the difference is."""
    count = sum(is_step(trace.decode(record)) for record in kept_before(found, side))
    return count + any(record is not None and is_step(record) for record in (found.a, found.b))


def columns(left: str, mark: str, right: str) -> Iterator[str]:
    yield f"  {left:{COLUMN_CHARS}} {mark}{right}".rstrip()


def kept_before(found: Difference, side: Traced) -> Sequence[bytes]:
    return list(side.kept)[: found.index - trace.first_index(side)]


def kept_after(found: Difference, side: Traced, count: int) -> Sequence[bytes]:
    start = found.index - trace.first_index(side)
    return list(side.kept)[start : start + count]


def cell(record: Record | None, chars_max: int = COLUMN_CHARS) -> str:
    """A record in one column: its number, its event or agent, and what it tells."""
    if record is None:
        return "(ended)"
    seq, tag, fields = literal(record[0]), record[TAG], record[TAG + 1 :]
    kind = Tag(tag) if isinstance(tag, int) and tag in list(Tag) else None
    agent, _, event, *places = COLUMNS.get(kind or 0, REST)
    subject = next((str(fields[place]) for place in (event, agent) if place < len(fields)), "")
    said = [hex_or_literal(kind, fields[place]) for place in places if place < len(fields)]
    if kind == Tag.REPLY:
        said = [outcome_word(record), *map(literal, fields[2:])]
    name = kind.name.lower() if kind else f"tag {tag!r}"
    return escaped(cut(" ".join(filter(None, (f"{seq:>5}", subject, name, *said))), chars_max))


# What stands behind it.


def delta(first: Playback, second: Playback, step: int) -> list[Change]:
    """Where the states of two runs differ after this step."""
    one, other = (look(each.at(step).live) for each in (first, second))
    return list(state_tree.changes(one, other))


def delta_rows(changes: Sequence[Change]) -> Iterator[str]:
    for number, change in enumerate(changes[:DELTA_COUNT_MAX]):
        told = f"{escaped(change.path)}: {change.old} / {change.new}"
        yield row("" if number else "state", cut(told))
    if len(changes) > DELTA_COUNT_MAX:
        yield row("", f"and {len(changes) - DELTA_COUNT_MAX} more places")
