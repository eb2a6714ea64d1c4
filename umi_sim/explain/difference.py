"""Where two runs part: the first record, and the field of it, that they do not share, with what led there.

Law 1. Records before the first difference are those of both; steps are counted as failures count them.
Law 2. One line for each place; what a memory or a model said is escaped and cut.
"""

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from umi_core.codec import DECODERS
from umi_sim.explain.calls import literal
from umi_sim.explain.playback import Playback, is_step, look
from umi_sim.explain.report import COLUMNS, REST
from umi_sim.kernel import state_tree
from umi_sim.kernel.state_tree import Change
from umi_sim.kernel.wording import cut, escaped, row
from umi_sim.record import trace
from umi_sim.record.trace import Difference, Field, Record, SavedTrace, Tag, Trace

AROUND_COUNT: Final = 5
COLUMN_CHARS: Final = 56
VALUE_CHARS_MAX: Final = 60
DELTA_COUNT_MAX: Final = 12
TAG: Final = 2
OUTCOME: Final = 4
NAMES: Final = ("first", "second")
FIELDS: Final = {
    Tag.RUN: "scenario version seed", Tag.OP: "item agent reading name request",
    Tag.STEP: "agent reading input event", Tag.EFFECT: "event service request value",
    Tag.REPLY: "op outcome value", Tag.ANSWER: "event answer request value",
    Tag.FAULT: "item kind event", Tag.CLOCK: "agent move reading", Tag.LIFE: "change agent",
    Tag.SCHEDULE: "taken over", Tag.PHASE: "phase", Tag.MARK: "mark", Tag.STATE: "agent digest",
    Tag.SKIPPED: "item why", Tag.END: "verdict steps",
}  # fmt: skip

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


# The field.


def field_apart(a: Record | None, b: Record | None, names: tuple[str, str] = NAMES) -> str:
    """The first field in which two records differ, with both values."""
    if a is None or b is None:
        return f"where the {names[0] if a is None else names[1]} trace has ended"
    number = next(at for at, (mine, theirs) in enumerate(zip_longest(a, b)) if mine != theirs)
    return f"field {field_name(a, number)}: {shown(a, number)} / {shown(b, number)}"


def field_name(record: Record, number: int) -> str:
    tag = record[2]
    own = FIELDS[Tag(tag)].split() if isinstance(tag, int) and tag in list(Tag) else []
    names = ["record", "world_ms", "tag", *own]
    return names[number] if number < len(names) else str(number)


def shown(record: Record, number: int) -> str:
    """A field of a record; tags and outcomes have names."""
    field = record[number] if number < len(record) else None
    if number == TAG and field in list(Tag):
        return Tag(field).name.lower()
    if record[TAG] == Tag.REPLY and isinstance(field, bool):
        return outcome_word(record)
    return escaped(cut(hex_or_literal(record[TAG], field), VALUE_CHARS_MAX))


def hex_or_literal(tag: object, field: Field) -> str:
    return field.hex() if tag == Tag.STATE and isinstance(field, bytes) else literal(field)


def outcome_word(record: Record) -> str:
    """What a reply was: done, refused, failed, unknown; a done that degraded says so."""
    is_plain, told = record[OUTCOME], record[OUTCOME + 1]
    if is_plain or not isinstance(told, list):
        return "done"
    name = DECODERS[told[0]].__name__.lower() if told[0] in DECODERS else "?"
    return "done, degraded" if name == "done" else name


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
