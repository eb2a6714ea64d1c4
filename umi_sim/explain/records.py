"""Records of a trace in words: a line each, half a line each, or plain data."""

from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Final

from umi_sim.kernel.literals import literal
from umi_sim.kernel.report import ReportRow, row
from umi_sim.kernel.wording import LINE_CHARS_MAX, cut, group_digits
from umi_sim.record.trace import Field, Record, Tag
from umi_sim.record.trace_fields import COLUMNS, REST, TAG, field_name, hex_or_literal, outcome_word

EVENT_COLUMN: Final = 18
HANG: Final = 8


def is_step(record: Record) -> bool:
    """Check whether the record is a step of the memory: with a request, an answer, or only the time."""
    return record[TAG] in (Tag.OP, Tag.STEP)


def event_of(record: Record) -> str:
    """Return the name of the event that a step delivers, without its leg."""
    # [seq, world_ms, tag, *fields]: an OP begins with its item,
    # a STEP has agent, reading, input and then the event.
    return str(record[3] if record[TAG] == Tag.OP else record[6]).replace("/answer", "")


def name_of(record: Record) -> str:
    tag = record[TAG]
    return Tag(tag).name.lower() if isinstance(tag, int) and tag in list(Tag) else f"tag {tag!r}"


def read_record(record: Record) -> tuple[str, object, str, str]:
    """Return the agent, what its clock reads, the event, and what happened."""
    tag, fields = record[TAG], record[TAG + 1 :]
    places = COLUMNS.get(tag if isinstance(tag, int) else 0, REST)
    agent, reading, event = (fields[place] if place < len(fields) else "" for place in places[:3])
    values = [hex_or_literal(tag, fields[place]) for place in places[3:] if place < len(fields)]
    if tag == Tag.REPLY:
        values = [outcome_word(record), *map(literal, fields[2:])]
    return str(agent), reading, str(event), " ".join((name_of(record), *values))


def in_column(record: Record | None) -> str:
    """Write a record in a column: its number, its event or agent, and its other fields."""
    if record is None:
        return "(ended)"
    return f"{literal(record[0]):>5} {in_words(record)}"


def in_words(record: Record) -> str:
    """Write the event or agent of a record, and its other fields."""
    agent, _, event, values = read_record(record)
    return " ".join(filter(None, (event or agent, values)))


def subject(record: Record) -> tuple[Field, str]:
    """Return what a record is about: comparing other fields is useful only for records of one subject."""
    agent, _, event, _ = read_record(record)
    # Two replies to o7 differ in some field; a reply to o7 and a reply to o8 are unrelated records.
    return record[TAG], event or agent


def in_lines(records: Iterable[Record]) -> Iterator[ReportRow]:
    """Yield a line per record: number, step, world time, agent with its reading, event, and other fields."""
    kept = list(records)
    # A running count of steps: each record is shown with its step.
    for record, step in zip(kept, accumulate(map(is_step, kept)), strict=True):
        agent, reading, event, values = read_record(record)
        clock = f"{agent} {group_digits(reading)}" if isinstance(reading, int) else agent
        place = f"{record[0]!s:>6} {step:>5} {group_digits(int(str(record[1]))):>17} ms  {clock:19}"
        yield row(
            "", cut(f"{place}  {event:{EVENT_COLUMN}} {values}", 2 * LINE_CHARS_MAX), hang=HANG, column=0
        )


def as_object(record: Record) -> dict[str, object]:
    """Return the fields of a record by name; bytes as hex digits."""
    return {field_name(record, at): plain(field) for at, field in enumerate(record)} | {
        "tag": name_of(record)
    }


def plain(field: Field) -> object:
    if isinstance(field, list | tuple):
        return [plain(each) for each in field]
    return field.hex() if isinstance(field, bytes) else field
