"""Reports: the result of a command as a value, and its layout in lines.

    FAIL safety ttl-boundary (TTL-1) at step 7      the head: the verdict
      promised alive exactly until its deadline     a row: a label and its parts

Law 1. Texts of a memory or a model are shown with control and bidi characters escaped.
Law 2. A line is broken between parts, never inside one: a command, a path, a hash is one part.
Law 3. A report in a given width has the same bytes everywhere: it depends on no locale and no time.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final

from msgspec import structs

from umi_core.data import Data
from umi_sim.kernel.wording import cut, escape_text

WIDTH: Final = 120
LABEL_COLUMN: Final = 9
NARROW: Final = 40  # in fewer columns a label has a line of its own
MARGIN: Final = "  "
COMMA: Final = ", "
COMMANDS: Final = ("umi-sim ", "python ", "git ")  # parts that begin like this are meant to be copied


class ReportRow(Data):
    """A label and its parts. Lines after the first are indented by `hang` more columns."""

    label: str
    parts: Sequence[str]
    joint: str = " "
    hang: int = 0
    column: int = LABEL_COLUMN


class Pair(Data):
    """Two texts side by side, each cut to half a line, with `mark` between them."""

    left: str
    right: str
    mark: str = ""


Line = ReportRow | Pair | str
"""A plain text is the heading of a section."""


class Report(Data):
    """The result of a command. `lines` and `value`, its JSON, are computed only when they are needed.

    If `value` is None, the command has already printed an error, and only the exit code is used.
    """

    head: str
    lines: Iterable[Line] = ()
    value: Callable[[], Any] | None = None
    exit_code: int = 0

    def also(self, *rows: ReportRow) -> "Report":
        """Return the report with more rows at its end, and in its JSON."""
        known = self.value
        value = None if known is None else lambda: {**known(), **as_object(rows)}
        return structs.replace(self, lines=chain(self.lines, rows), value=value)


# Rows.


def row(label: str, text: str, copied: str = "", *, hang: int = 0, column: int = LABEL_COLUMN) -> ReportRow:
    """Return a row of words, wrapped where a line is full; `copied` follows them and is never broken."""
    return ReportRow(label, [*text.split(" "), *([copied] if copied else [])], hang=hang, column=column)


def whole(label: str, text: str) -> ReportRow:
    """Return a row whose text is never broken, so that it can be copied."""
    return ReportRow(label, (text,))


def list_row(label: str, parts: Sequence[str], most: int = 100, column: int = LABEL_COLUMN) -> ReportRow:
    """Return a row with a list of at most `most` parts; the others are counted."""
    rest = (f"and {len(parts) - most} more",) if len(parts) > most else ()
    return ReportRow(label, (*parts[:most], *rest), COMMA, column=column)


def under(label: str, rows: Iterable[ReportRow]) -> Iterator[ReportRow]:
    """Yield the rows with the label at the first one only."""
    for number, each in enumerate(rows):
        yield structs.replace(each, label="" if number else label)


BLANK: Final = ReportRow("", ())


# Lines.


def laid_out(report: Report, width: int = WIDTH) -> Iterator[str]:
    """Yield the lines of the report for people."""
    for line in chain([report.head] if report.head else [], report.lines):
        yield from lines_of(line, width)


def lines_of(line: Line, width: int) -> Iterator[str]:
    if isinstance(line, str):
        yield from fill_lines(line.split(" "), "", MARGIN, width)
        return
    if isinstance(line, Pair):
        yield from (escape_text(it) for it in side_by_side(line, width))
        return
    if width < NARROW:
        yield from fill_lines(line.label.split(), MARGIN, MARGIN * 2, width) if line.label else ()
        words = chain.from_iterable(map(in_words, join_parts(line)))
        yield from fill_lines(words, MARGIN * 2, MARGIN * 3, width)
        return
    first = f"{MARGIN}{escape_text(line.label):{line.column}}"
    if line.label and len(line.label) >= line.column:
        first += MARGIN
    if len(first) > width // 2:
        yield first.rstrip()
        first = MARGIN * 2
    yield from fill_lines(join_parts(line), first, " " * (len(first) + line.hang), width)


def join_parts(row: ReportRow) -> list[str]:
    """Return the parts of a row, each but the last with the joint appended."""
    *parts, last = row.parts or ("",)
    joint = row.joint.rstrip()
    return [*(part + joint for part in parts), last]


def in_words(part: str) -> Sequence[str]:
    """Return the words of a part; a command stays one piece."""
    return [part] if part.startswith(COMMANDS) else part.split()


def side_by_side(pair: Pair, width: int) -> Iterator[str]:
    """Yield the pair in one line; in a narrow terminal in two, or in one if both sides are equal."""
    if width >= NARROW:
        room = (width - 8) // 2
        yield f"  {cut(pair.left, room):{room}} {pair.mark:2}{cut(pair.right, room)}".rstrip()
        return
    yield cut(f"{MARGIN}{pair.left}", width)
    if pair.left != pair.right:
        yield cut(f"{MARGIN}{pair.mark} {pair.right}", width)


def fill_lines(parts: Iterable[str], first: str, rest: str, width: int) -> Iterator[str]:
    """Yield the parts with blanks between them in as few lines as possible.

    `first` begins the first line, `rest` every other one.
    """
    line, is_empty = first, True
    for part in map(escape_text, parts):
        if not is_empty and len(line) + 1 + len(part) > width:
            yield line.rstrip()
            line, is_empty = rest, True
        if part or not is_empty or line is first:  # no blanks at the beginning of a continued line
            line += part if is_empty else f" {part}"
            is_empty = False
    yield line.rstrip()


# For programs.


def as_object(lines: Iterable[Line]) -> dict[str, object]:
    """Return the rows by label, each as a text or a list; rows without a label belong to the one above.

    Without a row above, the label is `more`.
    """
    found: dict[str, object] = {}
    label = "more"
    for line in lines:
        if isinstance(line, ReportRow) and line.parts:
            value = list(line.parts) if line.joint == COMMA else line.joint.join(line.parts)
            if line.label:
                label = line.label
                found[label] = value
            else:
                known = found.get(label, [])
                found[label] = [*(known if isinstance(known, list) else [known]), value]
    return found
