"""Reading a text to be memorized: the resource that it is, its segments, and what a model finds in each.

    content     what is read: the text in its lines, or what a model says of an image, an audio or a video
    unit        one segment, read for one memory type; asked about by itself, and missing by itself

Law 1. The segments together are the text: no line is lost, and none is read twice for one memory type.
Law 2. Parts that were read before are not asked about again. Law 3. The text is stored whatever a model does.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from msgspec import structs

from umi_core.conditions import Condition
from umi_core.conversations import NORMALISERS
from umi_core.data import Data
from umi_core.domains import Document, Flag, MemoryType
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import Degrade, Learned, Step, Taken, Unusable, asks, degrade, nothing, retry
from umi_core.ids import resource_id, segment_id, text_hash
from umi_core.language.dates import add_dates, day_of
from umi_core.language.descriptions import Undescribed, parse_description
from umi_core.language.memories import ExtractedFact, Unread, parse_memories
from umi_core.language.prompts import ask_description, ask_memories, ask_segment
from umi_core.language.segments import Segment, Span, Useless, parse_segments, segments_of, windows
from umi_core.limits import EXTRACT_CONTENT_BYTES_MAX, SEGMENTED_BYTES_MAX
from umi_core.messages.answers import ModelReplied, ReadDone
from umi_core.messages.effects import AskModel, ByFilter, ByIds, Read
from umi_core.messages.requests import Memorize
from umi_core.messages.results import Memorized
from umi_core.rows import Address, Resource, Row
from umi_core.text import size
from umi_core.values import DESCRIBED_BY, MEMORY_TYPES, Scope
from umi_core.workflows.commits import address, index_rows
from umi_core.workflows.evolving import STATED
from umi_core.workflows.grouping import SHELF
from umi_core.workflows.shelving import EMBED

TYPES_DEFAULT: Final = ("profile", "event")
WINDOW_LINE_COUNT: Final = 40  # where no model says what belongs together


class Unit(Data):
    memory_type: MemoryType
    text: Document


class UnitReading(Data):
    """The facts that a model found in a unit; `is_missing`: it could not be read."""

    memories: tuple[ExtractedFact, ...]
    is_missing: Flag


REQUEST: Final = Fact("request", Memorize)
KNOWN: Final = Fact("known", Memorized | None)  # the reply, if there is nothing to do
RESOURCE: Final = Fact("resource", Row | None)  # as it was when the operation began
PARTS: Final = Fact("parts", tuple[Row, ...])  # its segments then
NEWER: Final = Fact("newer", tuple[Row, ...])  # its segments as they are now, if it has changed meanwhile
CONTENT: Final = Fact("content", str)  # empty if there is nothing to read
CAPTION: Final = Fact("caption", str)  # as a model gave it; empty of a text, which has its first sentence
SPANS: Final = Fact("spans", tuple[Span, ...])
SEGMENTS: Final = Fact("segments", tuple[Segment, ...])
UNITS: Final = Fact("units", tuple[Unit, ...])
FOUND: Final = Fact("found", tuple[UnitReading, ...])


def wanted_types(request: Memorize) -> tuple[str, ...]:
    wanted = request.memory_types or TYPES_DEFAULT
    return tuple(kind for kind in MEMORY_TYPES if kind in wanted)


def own_id(facts: Facts, scope: Scope) -> str:
    return resource_id(scope, facts[REQUEST].uri, facts[REQUEST].text)


def own_address(facts: Facts, scope: Scope) -> Address:
    return address(scope, "resource", own_id(facts, scope))


def is_same_text(resource: Resource, request: Memorize) -> bool:
    return resource.text_hash == text_hash(request.text) and resource.modality == request.modality


# ingest and parts: what is known of this text.


def claim_resource(facts: Facts, view: View) -> tuple[str, ...]:
    return (own_id(facts, view.scope),)


def ask_resource(facts: Facts, view: View) -> Read:
    return Read(ByIds((own_address(facts, view.scope),)))


def take_resource(facts: Facts, answer: ReadDone, view: View) -> Learned:
    row = next(iter(index_rows(answer).values()), None)
    body = row.body if row is not None and isinstance(row.body, Resource) else None
    # Upkeep asked for this when the row said something else was pending; the row of now decides.
    if view.is_unasked and (body is None or left_to_read(body) != facts[REQUEST]):
        view.marks.append("memorize: overtaken")
    elif body is not None and is_read(body, facts[REQUEST]):
        view.marks.append("memorize: unchanged")
    else:
        return Learned(RESOURCE(row) | KNOWN(None))
    return Learned(RESOURCE(row) | KNOWN(reply_unchanged(facts, view.scope)), skip_to="reply")


def reply_unchanged(facts: Facts, scope: Scope) -> Memorized:
    return Memorized(own_id(facts, scope), "unchanged")


def left_to_read(resource: Resource) -> Memorize:
    """Return the memorize that upkeep asks for while something of a text is pending."""
    # With only `embed` pending, the types that were read before: then no unit is left to ask about.
    kinds = tuple(kind for kind in MEMORY_TYPES if kind in resource.pending) or resource.extracted_types
    return Memorize("", resource.text, resource.modality, resource.uri, kinds, resource.happened_ms)


def is_read(resource: Resource, request: Memorize) -> bool:
    """Check whether nothing is left to do: the same text and session, read for all memory types asked for,
    with its vectors.
    """
    is_whole = set(wanted_types(request)) <= set(resource.extracted_types) and EMBED not in resource.pending
    is_at_home = request.session_id in (None, resource.session_id)
    return is_same_text(resource, request) and is_whole and is_at_home


def ask_parts(facts: Facts, view: View) -> Read | None:
    row = facts[RESOURCE]
    return None if row is None else Read(parts_of(row.address))


def parts_of(whole: Address) -> ByFilter:
    return ByFilter(whole.scope, ("resource",), (Condition("parent_id", "eq", whole.id),))


def take_parts(facts: Facts, answer: ReadDone | None, view: View) -> Learned:
    return Learned(PARTS(answer.rows if answer is not None else ()))


def ask_parts_again(facts: Facts, view: View) -> Read | None:
    """Read the parts again if the text changed since `ingest`: a plan in doubt has landed since then."""
    own = own_address(facts, view.scope)
    now = next((row for row in facts[SHELF] if row.address == own), None)
    return None if now == facts[RESOURCE] else Read(parts_of(own))


def take_parts_again(facts: Facts, answer: ReadDone | None, view: View) -> Learned:
    return Learned(NEWER(answer.rows if answer is not None else ()))


INGEST: Final = Step(
    "ingest", requires=(REQUEST,), produces=(RESOURCE, KNOWN), skips_to=("reply",), claims=claim_resource,
    **asks(Read, ask_resource, take_resource, retry(3)),
)  # fmt: skip

READ_PARTS: Final = Step(
    "parts", requires=(RESOURCE,), produces=(PARTS,), otherwise=nothing(PARTS),
    **asks(Read, ask_parts, take_parts, retry(3)),
)  # fmt: skip

REREAD_PARTS: Final = Step(
    "reread", requires=(REQUEST, RESOURCE, SHELF), produces=(NEWER,), otherwise=nothing(NEWER),
    **asks(Read, ask_parts_again, take_parts_again, retry(3)),
)  # fmt: skip


# preprocess: what there is to read. An image, an audio or a video is described once.


def find_described(facts: Facts) -> Resource | None:
    """Return the resource if a model has described this payload before."""
    row = facts[RESOURCE]
    body = row.body if row is not None else None
    if not isinstance(body, Resource) or not is_same_text(body, facts[REQUEST]):
        return None
    return body if body.description else None


def ask_payload(facts: Facts, view: View) -> AskModel | None:
    request = facts[REQUEST]
    task = DESCRIBED_BY.get(request.modality)
    return (
        AskModel(task, ask_description(task, request.text))
        if task and find_described(facts) is None
        else None
    )


def take_payload(facts: Facts, answer: ModelReplied | None, view: View) -> Taken:
    request, known = facts[REQUEST], find_described(facts)
    if answer is not None:
        found = parse_description(answer.text)
        if isinstance(found, Undescribed):
            return Unusable(found.reason)
        return Learned(CONTENT(found.text) | CAPTION(found.caption))
    if known is not None:
        return Learned(CONTENT(known.description) | CAPTION(known.caption))
    return Learned(CONTENT(NORMALISERS[request.modality](request.text)) | CAPTION(""))


def skip_description(facts: Facts, reason: str = "") -> Mapping[str, object]:
    return CONTENT("") | CAPTION("")


PREPROCESS: Final = Step(
    "preprocess", requires=(REQUEST, RESOURCE), produces=(CONTENT, CAPTION), config=(("profile", "default"),),
    otherwise=nothing(CONTENT, CAPTION),
    **asks(AskModel, ask_payload, take_payload, retry(2, then=Degrade("none", skip_description))),
)  # fmt: skip


def lacks_description(facts: Facts) -> bool:
    """Check whether the payload was never described, so that none of it has been read."""
    return facts[REQUEST].modality in DESCRIBED_BY and not facts[CONTENT]


# segment: which lines belong together.


def lines_of(facts: Facts) -> list[str]:
    return facts[CONTENT].split("\n")


def known_segments(facts: Facts) -> tuple[Segment, ...]:
    """Return the segments of a text that was read before, as they were then; empty if it is new."""
    row = facts[RESOURCE]
    if row is None or not isinstance(row.body, Resource) or not is_same_text(row.body, facts[REQUEST]):
        return ()
    # The same cuts as before, whatever a model would say now: ids of segments follow from their texts.
    parts = sorted(bodies(facts[PARTS]).values(), key=lambda it: (it.position, it.id))
    return tuple(Segment(it.first_line, it.last_line, it.text) for it in parts)


def bodies(rows: tuple[Row, ...]) -> dict[str, Resource]:
    return {row.address.id: row.body for row in rows if isinstance(row.body, Resource)}


def ask_segments(facts: Facts, view: View) -> AskModel | None:
    request, lines = facts[REQUEST], lines_of(facts)
    is_long = request.modality == "conversation" and len(lines) >= view.config.segment_line_count_min
    text = "\n".join(lines)
    if not is_long or size(text) > SEGMENTED_BYTES_MAX or known_segments(facts):
        return None
    return AskModel("segment", ask_segment(text))


def take_segments(facts: Facts, answer: ModelReplied | None, view: View) -> Taken:
    if answer is None:
        return Learned(SPANS(whole(facts)))
    partition = parse_segments(answer.text, len(lines_of(facts)))
    if isinstance(partition, Useless):
        return Unusable(partition.reason)
    return Learned(SPANS(partition.spans), shapes=partition.mended)


def whole(facts: Facts) -> tuple[Span, ...]:
    return ((0, len(lines_of(facts)) - 1),)


def by_windows(facts: Facts, reason: str = "") -> Mapping[str, object]:
    return SPANS(windows(len(lines_of(facts)), WINDOW_LINE_COUNT))


SEGMENT: Final = Step(
    "segment", requires=(REQUEST, RESOURCE, PARTS, CONTENT), produces=(SPANS,), otherwise=nothing(SPANS),
    config=(("profile", "default"),),
    **asks(AskModel, ask_segments, take_segments, retry(2, then=Degrade("windows", by_windows))),
)  # fmt: skip


# units: what is to be read of the segments.


def take_units(facts: Facts, answer: None, view: View) -> Learned:
    """Take the units that were not read before, segment by segment."""
    spans = facts[SPANS]
    segments = known_segments(facts) or segments_of(lines_of(facts), spans)
    ids = segment_ids(segments, facts, view.scope)
    known = bodies(tuple(row for row in (facts[RESOURCE], *facts[PARTS]) if row is not None))
    units = [
        Unit(kind, segment.text)
        for key, segment in zip(ids, segments, strict=True)
        for kind in wanted_types(facts[REQUEST])
        if segment.text.strip() and kind not in extracted_before(key, known, facts[REQUEST])
    ]
    # Each unit once: a text that repeats a paragraph asks about it once.
    learned = SEGMENTS(segments) | UNITS(tuple(dict.fromkeys(units)))
    return Learned(learned | STATED(facts[REQUEST].text))


def segment_ids(segments: tuple[Segment, ...], facts: Facts, scope: Scope) -> list[str]:
    """Return the ids of the segments' rows; a single segment is the resource itself."""
    parent, counts, ids = own_id(facts, scope), Counter[str](), list[str]()
    for segment in segments:
        ids.append(segment_id(scope, parent, segment.text, counts[segment.text]))
        counts[segment.text] += 1
    return ids if len(ids) > 1 else [parent]


def extracted_before(key: str, known: Mapping[str, Resource], request: Memorize) -> tuple[str, ...]:
    """Return the memory types for which a segment was read; a single segment is the resource itself."""
    it = known.get(key)
    if it is None or (it.parent_id is None and not is_same_text(it, request)):
        return ()
    return it.extracted_types


LIST_UNITS: Final = Step(
    "units", requires=(REQUEST, RESOURCE, PARTS, CONTENT, SPANS), produces=(SEGMENTS, UNITS, STATED),
    otherwise=nothing(SEGMENTS, UNITS, STATED), take=take_units,
)  # fmt: skip


# extract: each unit by itself.


def ask_unit(facts: Facts, view: View) -> AskModel:
    unit = facts.unit(UNITS)
    day = told_on(facts[REQUEST], view)
    return AskModel("memories", ask_memories(unit.memory_type, unit.text, view.config.categories, day))


def add_date(memories: tuple[ExtractedFact, ...], request: Memorize, view: View) -> tuple[ExtractedFact, ...]:
    """Return what was read with its dates put right, if it is known from which day they count."""
    day = told_on(request, view)
    if day is None:
        return memories
    dated = (add_dates(it.content, day, EXTRACT_CONTENT_BYTES_MAX) for it in memories)
    return tuple(structs.replace(it, content=text) for it, text in zip(memories, dated, strict=True))


def told_on(request: Memorize, view: View) -> int | None:
    """Return the day from which words such as `yesterday` count; None if its caller did not say."""
    # Unlike a statement, a document is seldom of the day on which it is memorized.
    return None if request.happened_ms is None else day_of(request.happened_ms, view.config)


def take_unit(facts: Facts, answer: ModelReplied, view: View) -> Taken:
    memories = parse_memories(answer.text)
    if isinstance(memories, Unread):
        return Unusable(memories.reason)
    count = memories.diagnostics.count("too_many")
    partial = (("partial", "too_many", count),) if count else ()
    learned = FOUND.unit(UnitReading(add_date(memories.memories, facts[REQUEST], view), is_missing=False))
    return Learned(learned, degraded=partial, shapes=memories.diagnostics)


EXTRACT: Final = Step(
    "extract", each=UNITS, produces=(FOUND,), otherwise=nothing(FOUND), config=(("profile", "default"),),
    **asks(AskModel, ask_unit, take_unit,
           retry(2, then=degrade("unit_missing", FOUND.unit(UnitReading((), is_missing=True))))),
)  # fmt: skip
