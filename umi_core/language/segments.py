"""Segments: a text of many lines, divided into parts that are read one by one, without gaps or overlaps.

Law 1. Total: any reply gives a partition of the lines, or a `Useless` with the reason.
Law 2. Every line is in exactly one span. The segments of all spans, joined, are the text.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, Literal

from umi_core.data import Data
from umi_core.domains import Content, Count
from umi_core.json_text import Json, JsonNumber
from umi_core.language.replies import (
    ArrayWith,
    ObjectWith,
    Unread,
    UnusableReply,
    field,
    find_json,
    find_objects,
    list_under,
)
from umi_core.language.sentences import divide_line, fits, sentences
from umi_core.text import size

ENDS: Final = ("start", "end")
SegmentRepair = Literal["salvaged", "bad_element", "inverted", "outside", "covered", "overlap", "gap"]
Span = tuple[int, int]  # the first and the last line, both included


class Segment(Data):
    """Lines of a text, or a part of one line that is too long. `last_line` is included."""

    first_line: Count
    last_line: Count
    text: Content


class Partition(Data):
    spans: tuple[Span, ...]
    repairs: tuple[SegmentRepair, ...]


class Useless(Data):
    """A reply without any usable segment."""

    reason: Unread | Literal["no_segment"]


def parse_segments(reply: str, line_count: int) -> Partition | Useless:
    elements, repairs = find_elements(reply)
    if isinstance(elements, UnusableReply):
        return Useless(elements.reason)
    spans = partition([read_span(element) for element in elements], line_count, repairs)
    return Useless("no_segment") if spans is None else Partition(spans, tuple(repairs))


def find_elements(reply: str) -> tuple[list[Json] | UnusableReply, list[SegmentRepair]]:
    """Return the elements of the requested list, or any objects that look like its elements."""
    payload = find_json(reply, ObjectWith("segments"))
    elements = None if isinstance(payload, UnusableReply) else list_under(payload, "segments")
    if isinstance(elements, list):
        return elements, []
    listed = find_json(reply, ArrayWith(ENDS))
    if isinstance(listed, list):
        return listed, []
    objects = find_objects(reply, ENDS) if listed.reason == "no_json" else []
    return (objects, ["salvaged"]) if objects else (listed, [])


NUMBER: Final = re.compile(r"\s*\[?(-?[0-9]{1,9})(?:\.0+)?\]?\s*")


def read_span(element: Json) -> Span | None:
    """Return both ends of an element as numbers, or None if one of them is no number."""
    pair = element.replace("–", "-").split("-") if isinstance(element, str) else element
    ends = pair if isinstance(pair, list) and len(pair) == len(ENDS) else [field(element, it) for it in ENDS]
    start, end = map(read_line_number, ends)
    return None if start is None or end is None else (start, end)


def read_line_number(value: Json) -> int | None:
    text = value.text if isinstance(value, JsonNumber) else value
    match = NUMBER.fullmatch(text) if isinstance(text, str) else None
    return int(match[1]) if match else None


# The repairs of rule H3.22 (docs/spec), in its order.


def partition(
    pairs: Iterable[Span | None], line_count: int, repairs: list[SegmentRepair]
) -> tuple[Span, ...] | None:
    """Return spans that have each line once, made from the pairs of a reply; None if no pair is usable."""
    spans = list(drop_overlaps(sorted(clip_spans(pairs, line_count, repairs)), repairs))
    if not spans:
        return None
    begins = [0, *(start for start, _ in spans[1:])]
    filled = tuple(zip(begins, (*(start - 1 for start in begins[1:]), line_count - 1), strict=True))
    if filled != tuple(spans):
        repairs.append("gap")
    return filled


def clip_spans(pairs: Iterable[Span | None], line_count: int, repairs: list[SegmentRepair]) -> Iterator[Span]:
    """Yield the well-formed spans, cut to the lines of the text."""
    for pair in pairs:
        if pair is None:
            repairs.append("bad_element")
        elif pair[0] > pair[1]:
            repairs.append("inverted")
        elif pair[1] < 0 or pair[0] >= line_count:
            repairs.append("outside")
        else:
            yield max(0, pair[0]), min(line_count - 1, pair[1])


def drop_overlaps(pairs: Iterable[Span], repairs: list[SegmentRepair]) -> Iterator[Span]:
    """Yield the spans without lines that an earlier span has."""
    covered = -1
    for start, end in pairs:
        if end <= covered:
            repairs.append("covered")
            continue
        if start <= covered:
            repairs.append("overlap")
        # Spans 1-4 and 3-6 become 1-4 and 5-6: the earlier span keeps the common lines.
        yield max(start, covered + 1), end
        covered = end


# Texts.


def segments_of(lines: list[str], spans: Iterable[Span]) -> tuple[Segment, ...]:
    """Return the segments of these spans; a span that is too long becomes several segments."""
    return tuple(part for span in spans for part in divide_span(lines, span))


def windows(line_count: int, window_lines: int) -> tuple[Span, ...]:
    return tuple(
        (start, min(start + window_lines, line_count) - 1) for start in range(0, line_count, window_lines)
    )


def divide_span(lines: list[str], span: Span) -> Iterator[Segment]:
    """Yield segments of as many lines as fit; a line that is too long for one segment is divided."""
    first, used_bytes, used_count = span[0], 0, 0  # size of the lines from `first` on, with their LFs
    for at in range(span[0], span[1] + 1):
        size_bytes, count = size(lines[at]) + 1, len(sentences(lines[at]))
        if at > first and not fits(used_bytes + size_bytes - 1, used_count + count):
            yield from parts_of_lines(lines, first, at - 1)
            first, used_bytes, used_count = at, 0, 0
        used_bytes, used_count = used_bytes + size_bytes, used_count + count
    yield from parts_of_lines(lines, first, span[1])


def parts_of_lines(lines: list[str], first: int, last: int) -> Iterator[Segment]:
    """Yield several lines as one segment, or a single line as one or more segments."""
    texts = divide_line(lines[first]) if first == last else ["\n".join(lines[first : last + 1])]
    yield from (Segment(first, last, text) for text in texts)
