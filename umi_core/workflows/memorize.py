"""memorize: a text becomes a resource, and its statements become facts in categories, in one commit.

    content     the text to read: the lines of a text, or a model's description of an image, audio or video
    unit        one segment, to be read for one memory type, with a question of its own

Law 1. No failure of model or embedder loses the text; if a unit fails, only its facts are missing.
Law 2. The whole text is stored, or nothing. Law 3. Memorizing a text a second time changes nothing. A fact
that another resource also states is reinforced, not stored twice. Law 4. New facts are compared with known
ones as in `remember`. Law 5. The segments together are the text: no line is lost, and no line is read twice
for one memory type. Law 6. Units that were read before are not read again.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import structs

from umi_core.conditions import Condition
from umi_core.conversations import NORMALISERS, first_sentence, list_spoken
from umi_core.data import Data
from umi_core.domains import Document, Flag, MemoryType
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import (
    OUTCOME,
    Degrade,
    Law,
    Learned,
    Step,
    TakeResult,
    Unusable,
    Workflow,
    asks,
    degrade,
    learn_rows,
    retry,
)
from umi_core.ids import resource_id, segment_id, text_hash
from umi_core.language.dates import add_dates, day_of
from umi_core.language.descriptions import Undescribed, parse_description
from umi_core.language.extraction import CONFIDENCE_PPM, Mention, find_uncovered, is_pronoun, merge
from umi_core.language.memories import ExtractedFact, Unread, parse_memories
from umi_core.language.prompts import ask_description, ask_memories, ask_segment
from umi_core.language.segments import Segment, Span, Useless, parse_segments, segments_of, windows
from umi_core.language.words import auto_name
from umi_core.limits import CAPTION_BYTES_MAX, EXTRACT_CONTENT_BYTES_MAX, SEGMENTED_BYTES_MAX
from umi_core.messages.answers import ModelReplied, ReadDone
from umi_core.messages.effects import AskModel, ByFilter, ByIds, Done, Read, Write
from umi_core.messages.requests import Memorize
from umi_core.messages.results import Memorized, Stored
from umi_core.rows import Address, Resource, Row, bodies_of, body_as
from umi_core.text import norm, size
from umi_core.values import DESCRIBED_BY, MEMORY_TYPES, Scope
from umi_core.workflows.commits import (
    CORE,
    PLAN,
    SETTLE,
    STORED,
    Plan,
    address,
    ask_if_any,
    commit_row,
    entity_ids,
    index_rows,
    read_core,
)
from umi_core.workflows.drafting import (
    DRAFTS,
    PLACES,
    Drafted,
    SharedOptions,
    add_source,
    chain_drafts,
    claim_mentions,
    id_of,
    keep_ended,
    look_up_fact,
)
from umi_core.workflows.entities import (
    EMBED_FACTS,
    STATEMENTS,
    TYPE_OF,
    CategorisedFact,
    classify_draft,
    links_of,
    mark_missing_vectors,
)
from umi_core.workflows.evolving import (
    COMPARE,
    COMPARE_LAWS,
    COMPARED_FROM,
    ENDING_LAW,
    LEFT_CATEGORIES,
    STATED,
    compare,
)
from umi_core.workflows.linking import (
    CAPTION_LAW,
    CAPTION_VECTORS,
    CATEGORY_ROWS,
    EMBED,
    EMBED_CAPTIONS,
    READ_SUBCATEGORIES,
    SUBCATEGORIES,
    TO_EMBED,
    addresses,
    choose_categories,
    link_facts,
    list_unembedded,
    list_unfound,
    write_vectors,
)
from umi_core.workflows.remember import (
    VECTORS,
    VECTORS_LAW,
    entity_rows,
    show_successors,
)

TYPES_DEFAULT: Final = ("profile", "event")
WINDOW_LINE_COUNT: Final = 40  # lines of a segment if the model fails to divide the conversation


class Unit(Data):
    memory_type: MemoryType
    text: Document


class UnitReading(Data):
    """The facts that a model found in a unit; `is_missing`: the model failed for this unit."""

    memories: tuple[ExtractedFact, ...]
    is_missing: Flag


REQUEST: Final = Fact("request", Memorize)
KNOWN: Final = Fact("known", Memorized | None)  # the reply, if there is nothing to do
RESOURCE: Final = Fact("resource", Row | None)  # as it was when the operation began
PARTS: Final = Fact("parts", tuple[Row, ...])  # segments of RESOURCE
NEWER: Final = Fact("newer", tuple[Row, ...])  # its segments at `reread`, if the resource has changed since
CONTENT: Final = Fact("content", str)  # empty if there is nothing to read
CAPTION: Final = Fact("caption", str)  # by the model that described it; else empty: first sentence instead
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


# ingest and parts: read the stored resource and its segments.


def ask_resource(facts: Facts, view: View) -> Read:
    return Read(ByIds((own_address(facts, view.scope),)))


def take_resource(facts: Facts, answer: ReadDone, view: View) -> Learned:
    row = next(iter(answer.rows), None)
    body = body_as(row, Resource)
    # Upkeep requested this by an older version of the row; the current version decides.
    if view.is_unasked and (body is None or request_pending(body) != facts[REQUEST]):
        view.marks.append("memorize: overtaken")
    elif body is not None and is_read(body, facts[REQUEST]):
        view.marks.append("memorize: unchanged")
    else:
        return Learned(RESOURCE(row) | KNOWN(None))
    return Learned(RESOURCE(row) | KNOWN(reply_unchanged(facts, view.scope)), skip_to="reply")


def reply_unchanged(facts: Facts, scope: Scope) -> Memorized:
    return Memorized(own_id(facts, scope), "unchanged")


def request_pending(resource: Resource) -> Memorize:
    """Return the request by which upkeep reads what is pending of a text."""
    # If only `embed` is pending, request the types already read: then no unit is left for the model.
    kinds = tuple(kind for kind in MEMORY_TYPES if kind in resource.pending) or resource.extracted_types
    return Memorize("", resource.text, resource.modality, resource.uri, kinds, resource.happened_ms)


def is_read(resource: Resource, request: Memorize) -> bool:
    """Check whether nothing is left to do: the resource has the same text and session, was read for all
    requested memory types, and has its vectors.
    """
    is_complete = (
        set(wanted_types(request)) <= set(resource.extracted_types) and EMBED not in resource.pending
    )
    is_same_session = request.session_id in (None, resource.session_id)
    return is_same_text(resource, request) and is_complete and is_same_session


def ask_parts(facts: Facts, view: View) -> Read | None:
    row = facts[RESOURCE]
    return None if row is None else Read(parts_of(row.address))


def parts_of(whole: Address) -> ByFilter:
    return ByFilter(whole.scope, ("resource",), (Condition("parent_id", "eq", whole.id),))


def ask_parts_again(facts: Facts, view: View) -> Read | None:
    """Read the segments again if the resource changed since `ingest`: a commit in doubt may be durable."""
    own = own_address(facts, view.scope)
    now = next((row for row in facts[CATEGORY_ROWS] if row.address == own), None)
    return None if now == facts[RESOURCE] else Read(parts_of(own))


INGEST: Final = Step(
    "ingest", requires=(REQUEST,), produces=(RESOURCE, KNOWN), skips_to=("reply",),
    claims=lambda facts, view: (own_id(facts, view.scope),),
    **asks(Read, ask_resource, take_resource, retry(3)),
)  # fmt: skip

READ_PARTS: Final = Step(
    "parts", requires=(RESOURCE,), produces=(PARTS,), **asks(Read, ask_parts, learn_rows(PARTS), retry(3)),
)  # fmt: skip

REREAD_PARTS: Final = Step(
    "reread", requires=(REQUEST, RESOURCE, CATEGORY_ROWS), produces=(NEWER,),
    **asks(Read, ask_parts_again, learn_rows(NEWER), retry(3)),
)  # fmt: skip


# preprocess: get the content. A model describes an image, an audio or a video, once.


def find_described(facts: Facts) -> Resource | None:
    """Return the resource if a model has described this payload before."""
    text = same_as_known(facts)
    return text if text is not None and text.description else None


def same_as_known(facts: Facts) -> Resource | None:
    """Return the resource as it was when the operation began; None if its text was another one."""
    text = body_as(facts[RESOURCE], Resource)
    return text if text is not None and is_same_text(text, facts[REQUEST]) else None


def ask_payload(facts: Facts, view: View) -> AskModel | None:
    request = facts[REQUEST]
    task = DESCRIBED_BY.get(request.modality)
    return (
        AskModel(task, ask_description(task, request.text))
        if task and find_described(facts) is None
        else None
    )


def take_payload(facts: Facts, answer: ModelReplied | None, view: View) -> TakeResult:
    request, known = facts[REQUEST], find_described(facts)
    if answer is not None:
        found = parse_description(answer.text)
        if isinstance(found, Undescribed):
            return Unusable(found.reason)
        return Learned(CONTENT(found.text) | CAPTION(found.caption))
    if known is not None:
        return Learned(CONTENT(known.description) | CAPTION(known.caption))
    return Learned(CONTENT(NORMALISERS[request.modality](request.text)) | CAPTION(""))


PREPROCESS: Final = Step(
    "preprocess", requires=(REQUEST, RESOURCE), produces=(CONTENT, CAPTION),
    **asks(AskModel, ask_payload, take_payload, retry(2, then=degrade("none", CONTENT("") | CAPTION("")))),
)  # fmt: skip


def lacks_description(facts: Facts) -> bool:
    """Check whether the payload has no description yet, so that no unit of it can be read."""
    return facts[REQUEST].modality in DESCRIBED_BY and not facts[CONTENT]


# segment: divide the content into segments, which are ranges of lines.


def lines_of(facts: Facts) -> list[str]:
    return facts[CONTENT].split("\n")


def known_segments(facts: Facts) -> tuple[Segment, ...]:
    """Return the stored segments of a text that was memorized before; empty if the text is new."""
    if same_as_known(facts) is None:
        return ()
    # The text is not divided again: ids of segments follow from their texts, so they must stay the same.
    parts = sorted(bodies(facts[PARTS]).values(), key=lambda it: (it.position, it.id))
    return tuple(Segment(it.first_line, it.last_line, it.text) for it in parts)


def bodies(rows: tuple[Row, ...]) -> dict[str, Resource]:
    return {it.id: it for it in bodies_of(rows, Resource)}


def ask_segments(facts: Facts, view: View) -> AskModel | None:
    request, lines = facts[REQUEST], lines_of(facts)
    is_long = request.modality == "conversation" and len(lines) >= view.config.segment_line_count_min
    text = "\n".join(lines)
    if not is_long or size(text) > SEGMENTED_BYTES_MAX or known_segments(facts):
        return None
    return AskModel("segment", ask_segment(text))


def take_segments(facts: Facts, answer: ModelReplied | None, view: View) -> TakeResult:
    if answer is None:
        return Learned(SPANS(((0, len(lines_of(facts)) - 1),)))
    partition = parse_segments(answer.text, len(lines_of(facts)))
    if isinstance(partition, Useless):
        return Unusable(partition.reason)
    return Learned(SPANS(partition.spans), shapes=partition.repairs)


def by_windows(facts: Facts, reason: str = "") -> Mapping[str, object]:
    return SPANS(windows(len(lines_of(facts)), WINDOW_LINE_COUNT))


SEGMENT: Final = Step(
    "segment", requires=(REQUEST, RESOURCE, PARTS, CONTENT), produces=(SPANS,),
    **asks(AskModel, ask_segments, take_segments, retry(2, then=Degrade("windows", by_windows))),
)  # fmt: skip


# units: list the units to read.


def take_units(facts: Facts, answer: None, view: View) -> Learned:
    """Learn the segments, and the units that were not read before."""
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
    # Without duplicates: a paragraph that occurs twice in a text is read once.
    learned = SEGMENTS(segments) | UNITS(tuple(dict.fromkeys(units)))
    return Learned(learned | STATED(facts[REQUEST].text))


def segment_ids(segments: tuple[Segment, ...], facts: Facts, scope: Scope) -> list[str]:
    """Return the row ids of the segments; a single segment has the id of the resource itself."""
    parent, counts, ids = own_id(facts, scope), Counter[str](), list[str]()
    for segment in segments:
        ids.append(segment_id(scope, parent, segment.text, counts[segment.text]))
        counts[segment.text] += 1
    return ids if len(ids) > 1 else [parent]


def extracted_before(key: str, known: Mapping[str, Resource], request: Memorize) -> tuple[str, ...]:
    """Return the memory types for which the segment with this id was read, by these stored rows."""
    it = known.get(key)
    if it is None or (it.parent_id is None and not is_same_text(it, request)):
        return ()
    return it.extracted_types


LIST_UNITS: Final = Step(
    "units", requires=(REQUEST, RESOURCE, PARTS, CONTENT, SPANS), produces=(SEGMENTS, UNITS, STATED),
    take=take_units,
)  # fmt: skip


# extract: ask the model about each unit.


def ask_unit(facts: Facts, view: View) -> AskModel:
    unit = facts.unit(UNITS)
    day = find_day(facts[REQUEST], view)
    return AskModel("memories", ask_memories(unit.memory_type, unit.text, view.config.categories, day))


def add_date(memories: tuple[ExtractedFact, ...], request: Memorize, view: View) -> tuple[ExtractedFact, ...]:
    """Return the facts with dates added after words such as `yesterday`, if the text has a day."""
    day = find_day(request, view)
    if day is None:
        return memories
    dated = (add_dates(it.content, day, EXTRACT_CONTENT_BYTES_MAX) for it in memories)
    return tuple(structs.replace(it, content=text) for it, text in zip(memories, dated, strict=True))


def find_day(request: Memorize, view: View) -> int | None:
    """Return the day from which words such as `yesterday` count; None if the request names no time."""
    # The day of the request would be wrong: a document was often written long before it is memorized.
    return None if request.happened_ms is None else day_of(request.happened_ms, view.config)


def take_unit(facts: Facts, answer: ModelReplied, view: View) -> TakeResult:
    memories = parse_memories(answer.text)
    if isinstance(memories, Unread):
        return Unusable(memories.reason)
    count = memories.diagnostics.count("too_many")
    partial = (("partial", "too_many", count),) if count else ()
    learned = FOUND.unit(UnitReading(add_date(memories.memories, facts[REQUEST], view), is_missing=False))
    return Learned(learned, degraded=partial, shapes=memories.diagnostics)


EXTRACT: Final = Step(
    "extract", each=UNITS, produces=(FOUND,), **asks(AskModel, ask_unit, take_unit,
           retry(2, then=degrade("unit_missing", FOUND.unit(UnitReading((), is_missing=True))))),
)  # fmt: skip


# Facts in categories.


Rows = Mapping[Address, Row]
CATEGORY_KINDS: Final = ("category", "membership", "resource")
DESCRIBE: Final = "describe"  # in `pending` of a payload that has no description


# gather: collect the facts of all units, without duplicates.


def take_statements(facts: Facts, answer: None, view: View) -> Learned:
    groups: dict[str, list[CategorisedFact]] = {}
    shapes: list[str] = []
    units, found_in = facts[UNITS], facts[FOUND]
    for unit, it in zip(units, found_in, strict=True):
        for memory in it.memories:
            stated, shape = read(memory, unit, view)
            # Units overlap: two memory types of one segment often find the same statement.
            groups.setdefault(norm(memory.content), []).append(stated)
            shapes += shape
    all_statements = tuple(stated for group in groups.values() for stated in unite_facts(group))
    return Learned(STATEMENTS(all_statements), shapes=tuple(dict.fromkeys(shapes)))


def read(memory: ExtractedFact, unit: Unit, view: View) -> tuple[CategorisedFact, list[str]]:
    """Return the memory as a fact with categories, and marks for what was unusual in the answer.

    A name that is missing or a pronoun is replaced by one made from the content.
    """
    choice = choose_categories(memory.categories, unit.memory_type, view.config)
    is_named = bool(memory.name) and not is_pronoun(memory.name)
    name = memory.name if is_named else auto_name(memory.content)
    mention = Mention(
        TYPE_OF[unit.memory_type], name, memory.content, CONFIDENCE_PPM, is_named, unit.memory_type
    )
    shapes = ["category_unknown"] if choice.unknown_count else []
    shapes += ["category_defaulted"] if choice.by == "default" else []
    return CategorisedFact(mention, choice.names, choice.by), shapes


def unite_facts(group: list[CategorisedFact]) -> Iterator[CategorisedFact]:
    """Yield one fact for equal contents about the same name, in the categories of all of them.

    For example, "likes tea" about Ann in two memory types is one fact in the categories of both.
    """
    for mention in merge(fact.mention for fact in group):
        names = {norm(name) for name in mention.names}
        its = [it for it in group if not it.mention.named or norm(it.mention.name) in names]
        categories = tuple(dict.fromkeys(name for fact in its for name in fact.categories))
        yield CategorisedFact(mention, categories, its[0].by)


# lookup: read the stored facts, their categories and memberships, the resource with its segments, and core.


def ids_of(facts: Facts, scope: Scope) -> list[str]:
    return [id_of(fact.mention, scope) for fact in facts[STATEMENTS]]


def ask_lookup(facts: Facts, view: View) -> Read:
    scope, ids = view.scope, ids_of(facts, view.scope)
    wanted = [address(scope, kind, key) for key in ids for kind in PLACES]
    all_statements = facts[STATEMENTS]
    for key, fact in zip(ids, all_statements, strict=True):
        wanted += addresses(key, fact.categories, scope)
    resources = (own_id(facts, scope), *segment_ids(facts[SEGMENTS], facts, scope), *bodies(facts[PARTS]))
    wanted += [address(scope, "resource", key) for key in resources]
    return Read(ByIds(tuple(dict.fromkeys((*wanted, address(scope, "core"))))))


def take_lookup(facts: Facts, answer: ReadDone, view: View) -> Learned:
    rows, core = index_rows(answer), read_core(answer, view)
    drafts = keep_ended([draft_of(fact, rows, facts, view) for fact in facts[STATEMENTS]], facts[STATED])
    category_rows = tuple(row for row in answer.rows if row.address.kind in CATEGORY_KINDS)
    names = [name for fact in facts[STATEMENTS] for name in fact.categories]
    lacking = list_unembedded(captions(facts, view.scope), names, rows, view)
    return Learned(DRAFTS(drafts) | CATEGORY_ROWS(category_rows) | TO_EMBED(lacking) | CORE(core))


def captions(facts: Facts, scope: Scope) -> Iterator[tuple[str, str]]:
    """Yield the id and caption of the whole text, and of each segment if there are several."""
    segments = facts[SEGMENTS]
    yield own_id(facts, scope), caption_of_text(facts)
    if len(segments) > 1:
        ids = segment_ids(segments, facts, scope)
        yield from ((key, caption(it.text)) for key, it in zip(ids, segments, strict=True))


def caption_of_text(facts: Facts) -> str:
    return facts[CAPTION] or caption(facts[SEGMENTS][0].text)


def draft_of(fact: CategorisedFact, rows: Mapping[Address, Row], facts: Facts, view: View) -> Drafted:
    """Return the draft of the fact with this resource as a source; only a new source reinforces a fact."""
    draft = look_up_fact(fact.mention, SharedOptions(facts[REQUEST].happened_ms), rows, view)
    return classify_draft(add_source(own_id(facts, view.scope), draft, view.now_ms), fact.mention.memory_type)


# plan: compute all rows and the reply.


def take_plan(facts: Facts, answer: None, view: View) -> Learned:
    """Learn the plan. It is empty if upkeep runs this and the text has been replaced or forgotten since."""
    rows_before = {row.address: row for row in (*facts[CATEGORY_ROWS], *facts[NEWER])}
    # upkeep       begin: text A is pending .................. plan: text B is stored, so write nothing
    # memorize         text B under the same uri     commit
    if view.is_unasked and same_before(facts, rows_before, view) is None:
        view.marks.append("memorize: overtaken")
        return Learned(PLAN(Plan(view.now_ms, value=reply_unchanged(facts, view.scope))))
    return Learned(PLAN(build_plan(facts, rows_before, view)))


def build_plan(facts: Facts, rows_before: Mapping[Address, Row], view: View) -> Plan:
    core = facts[CORE]
    compared = compare(chain_drafts(mark_missing_vectors(facts), facts[STATED], None), facts, view)
    drafts, ended, entities = compared.drafts, compared.ended, compared.current
    access = view.tiers.access.record_accesses(entities, view.now_ms, entity_ids(core))
    after = show_successors(core, compared.replaced_by, access, view)
    is_moved = after.blocks != core.blocks
    there = {it.id: None for it in entities}
    current = (it for it in links_of(facts, drafts, view) if it.entity_id in there)
    links = link_facts(current, with_leaving(compared.writes, facts, rows_before), view)
    resources = resources_of(facts, rows_before, view)
    pending = pending_of(facts, rows_before, view)
    is_there = own_address(facts, view.scope) in rows_before
    change = "unchanged" if not resources else "updated" if is_there else "created"
    stored = tuple(Stored(draft.entity.id, draft.entity.version, draft.change) for draft in drafts)
    value = Memorized(
        own_id(facts, view.scope), change, len(facts[SEGMENTS]), stored, pending,
        compared.relations, compared.dropped_count, ended, count_uncovered(facts),
    )  # fmt: skip
    writes = (
        *entity_rows(drafts, facts, view, compared.past), *compared.writes, *links, *resources,
        *write_vectors(facts, rows_before, (*links, *resources), view.scope),
        *access.writes(view.scope, ended),
    )  # fmt: skip
    return Plan(
        view.now_ms,
        # Of two writes to a category keep the later one: `links` builds on `compared.writes`.
        writes=tuple({it.address: it for it in writes}.values()),
        expects=compared.expects,
        core=after if is_moved else None,
        value=value,
        accessed=entities,
        forgotten=ended,
    )


def count_uncovered(facts: Facts) -> int:
    """Count the sentences of the content that no extracted fact covers."""
    units, found_in = facts[UNITS], facts[FOUND]
    stated = {unit.text: list[str]() for unit in units}
    for unit, found in zip(units, found_in, strict=True):
        stated[unit.text] += (part for it in found.memories for part in (it.name, it.content))
    # A text with a missing unit is pending: its other facts are not known yet, so its sentences do not count.
    pending = {unit.text for unit, found in zip(units, found_in, strict=True) if found.is_missing}
    # In a conversation count only what people say: no lines of an assistant, and no number, time or role.
    shown = list_spoken if facts[REQUEST].modality == "conversation" else str
    return sum(len(find_uncovered(shown(text), stated[text])) for text in stated if text not in pending)


def with_leaving(leaving: tuple[Write, ...], facts: Facts, rows_before: Rows) -> Rows:
    """Return `rows_before` with the categories as they are after the writes `leaving` removed members."""
    read = {row.address: row for row in facts[LEFT_CATEGORIES]}
    after = {it.address: it.body for it in leaving}
    # A category may lose a member and get another one in this commit: it is written once, with both changes.
    left = {where: structs.replace(row, body=after[where]) for where, row in read.items() if where in after}
    return {**rows_before, **left}


# The resource and its segments.


def stored_before(facts: Facts, rows_before: Mapping[Address, Row], view: View) -> Resource | None:
    """Return the stored resource, whatever its text; None if there is none."""
    return body_as(rows_before.get(own_address(facts, view.scope)), Resource)


def same_before(facts: Facts, rows_before: Mapping[Address, Row], view: View) -> Resource | None:
    """Return the stored resource if it has the text of the request."""
    before = stored_before(facts, rows_before, view)
    return before if before is not None and is_same_text(before, facts[REQUEST]) else None


def types_read(facts: Facts, rows_before: Mapping[Address, Row], scope: Scope) -> list[tuple[str, ...]]:
    """Return the memory types for which each segment has been read, now or before."""
    if lacks_description(facts):
        return [()]
    request, segments = facts[REQUEST], facts[SEGMENTS]
    units, found_in = facts[UNITS], facts[FOUND]
    now = frozenset(unit for unit, it in zip(units, found_in, strict=True) if not it.is_missing)
    before = bodies(tuple(rows_before.values()))
    return [
        tuple(
            kind
            for kind in MEMORY_TYPES
            if kind in extracted_before(key, before, request)
            or (kind in wanted_types(request) and (Unit(kind, it.text) in now or not it.text.strip()))
        )
        for key, it in zip(segment_ids(segments, facts, scope), segments, strict=True)
    ]


def pending_of(facts: Facts, rows_before: Mapping[Address, Row], view: View) -> tuple[str, ...]:
    """Return what is still to do: `describe`, then the memory types that were requested, now or before,
    and not read for every segment, then `embed` if the text or a segment has no vector.
    """
    same = same_before(facts, rows_before, view)
    # Types that an earlier request left pending stay pending even if this request does not name them.
    asked = {*wanted_types(facts[REQUEST]), *(same.pending if same is not None else ())}
    done = types_read(facts, rows_before, view.scope)
    lacking = [kind for kind in MEMORY_TYPES if kind in asked and any(kind not in types for types in done)]
    first, last = (DESCRIBE,) * lacks_description(facts), (EMBED,) * bool(unfound_texts(facts, view.scope))
    return (*first, *lacking, *last)


def unfound_texts(facts: Facts, scope: Scope) -> list[str]:
    lost = list_unfound(facts)
    return [key for key, _ in captions(facts, scope) if key in lost]


def resources_of(facts: Facts, rows_before: Mapping[Address, Row], view: View) -> tuple[Write, ...]:
    """Return the writes of new and changed resources, and the deletions of segments that no longer exist."""
    wanted = {address(view.scope, "resource", it.id): it for it in as_resources(facts, rows_before, view)}
    removed = [where for where in rows_before if where.kind == "resource" and where not in wanted]
    writes = [Write(where, it) for where, it in wanted.items() if is_news(it, rows_before.get(where))]
    writes += [Write(where, None) for where in removed]
    return tuple(writes)


def is_news(resource: Resource, row: Row | None) -> bool:
    old = row.body if row is not None else None
    # A row that would change only in `updated_ms` is not written.
    return not isinstance(old, Resource) or structs.replace(old, updated_ms=resource.updated_ms) != resource


def as_resources(facts: Facts, rows_before: Mapping[Address, Row], view: View) -> Iterator[Resource]:
    """Yield the resource, and then its segments if there are several."""
    request, segments, done = facts[REQUEST], facts[SEGMENTS], types_read(facts, rows_before, view.scope)
    parent, ids = own_id(facts, view.scope), segment_ids(facts[SEGMENTS], facts, view.scope)
    before, same = stored_before(facts, rows_before, view), same_before(facts, rows_before, view)
    # Without a time in the request, the same text keeps its stored time; another text under this uri does
    # not. The session stays for either text, unless the request names another one.
    happened_ms = request.happened_ms
    if happened_ms is None and same is not None:
        happened_ms = same.happened_ms
    lost = unfound_texts(facts, view.scope)
    whole = Resource(
        parent, request.modality, request.text, text_hash(request.text), caption_of_text(facts), 0,
        max(segment.last_line for segment in segments), since(parent, rows_before, view), view.now_ms,
        request.uri,
        extracted_types=tuple(kind for kind in MEMORY_TYPES if all(kind in types for types in done)),
        pending=pending_of(facts, rows_before, view), happened_ms=happened_ms,
        description=facts[CONTENT] if request.modality in DESCRIBED_BY else "",
        session_id=request.session_id or (before.session_id if before is not None else None),
    )  # fmt: skip
    yield whole
    # A single segment has no row of its own (`segment_ids`).
    for at, (key, it) in enumerate(zip(ids, segments, strict=True) if len(ids) > 1 else ()):
        yield structs.replace(
            whole, id=key, text=it.text, text_hash=text_hash(it.text), caption=caption(it.text),
            first_line=it.first_line, last_line=it.last_line, created_ms=since(key, rows_before, view),
            uri=None, parent_id=parent, position=at, extracted_types=done[at],
            pending=(EMBED,) * (key in lost), description="",
        )  # fmt: skip


def caption(text: str) -> str:
    return first_sentence(text, CAPTION_BYTES_MAX)


def since(key: str, rows_before: Mapping[Address, Row], view: View) -> int:
    """Return when this row was created; `now_ms` if it is new."""
    text = body_as(rows_before.get(address(view.scope, "resource", key)), Resource)
    return view.now_ms if text is None else text.created_ms


# reply.


def take_reply(facts: Facts, answer: None, view: View) -> Learned:
    known = facts[KNOWN]
    return Learned(OUTCOME(Done(facts[STORED] if known is None else known)))


MEMORIZE: Final = Workflow(
    "memorize",
    given=(REQUEST,),
    steps=(
        INGEST,
        READ_PARTS,
        PREPROCESS,
        SEGMENT,
        LIST_UNITS,
        EXTRACT,
        Step("gather", requires=(UNITS, FOUND), produces=(STATEMENTS,), take=take_statements),
        Step("lookup", requires=(REQUEST, PARTS, SEGMENTS, CAPTION, STATEMENTS, STATED),
             produces=(DRAFTS, CATEGORY_ROWS, TO_EMBED, CORE),
             claims=lambda facts, view: claim_mentions((it.mention for it in facts[STATEMENTS]), view.scope),
             **asks(Read, ask_lookup, take_lookup, retry(3))),
        REREAD_PARTS,
        *COMPARE,
        EMBED_FACTS,
        EMBED_CAPTIONS,
        READ_SUBCATEGORIES,
        Step("plan", requires=(REQUEST, CONTENT, CAPTION, SEGMENTS, UNITS, FOUND, STATEMENTS, STATED, DRAFTS,
                       CATEGORY_ROWS, NEWER, *COMPARED_FROM, CORE, VECTORS, TO_EMBED, CAPTION_VECTORS,
                       SUBCATEGORIES),
             produces=(PLAN,), take=take_plan),
        # A conflict goes back to `lookup`: the model does not read the units again.
        commit_row(replan="lookup", ask=ask_if_any),
        SETTLE,
        Step("reply", requires=(KNOWN, STORED), produces=(OUTCOME,), take=take_reply),
    ),
    laws=(
        Law("a draft for each fact", (STATEMENTS, DRAFTS),
            lambda facts, scope: [it.entity.id for it in facts[DRAFTS]] == ids_of(facts, scope)),
        *COMPARE_LAWS,
        ENDING_LAW,
        VECTORS_LAW,
        CAPTION_LAW,
        Law("some segment", (SEGMENTS,), lambda facts, scope: len(facts[SEGMENTS]) > 0),
    ),
)  # fmt: skip
