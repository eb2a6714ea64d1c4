"""memorize: a text becomes a resource, and what it says becomes facts in categories, in one commit.

Law 1. No failure of model or embedder loses the text; a unit that fails costs only that unit.
Law 2. All of it is stored, or nothing is. Law 3. Memorizing again what was memorized changes nothing; a fact
that another resource tells as well is reinforced, not stored twice. Law 4. New facts are compared as those of
a remember are.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import structs

from umi_core.conversations import first_sentence
from umi_core.engine.facts import Facts, View
from umi_core.engine.workflow import (
    OUTCOME,
    Degrade,
    Law,
    Learned,
    Step,
    Workflow,
    asks,
    nothing,
    retry,
)
from umi_core.ids import text_hash
from umi_core.language.extraction import CONFIDENCE_PPM, Mention, is_pronoun, merge
from umi_core.language.memories import ExtractedFact
from umi_core.language.words import auto_name
from umi_core.limits import CAPTION_BYTES_MAX
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByIds, Done, Embed, Read, Write
from umi_core.messages.results import Memorized, Stored
from umi_core.rows import Address, Resource, Row
from umi_core.text import norm
from umi_core.values import DESCRIBED_BY, MEMORY_TYPES, Scope
from umi_core.workflows.commits import (
    CORE,
    PLAN,
    SETTLE,
    STORED,
    Plan,
    address,
    adopt,
    ask_if_any,
    commit_row,
    core_of,
    entity_ids,
    index_rows,
)
from umi_core.workflows.comparing import COMPARE, COMPARED_FROM, compare
from umi_core.workflows.drafting import (
    DRAFTS,
    PLACES,
    Drafted,
    SharedOptions,
    chain_drafts,
    claim_mentions,
    id_of,
    keep_ended,
    look_up_fact,
)
from umi_core.workflows.ending import ENDING_LAW, SHELVES
from umi_core.workflows.evolving import COMPARE_LAWS, STATED
from umi_core.workflows.giving import add_source
from umi_core.workflows.grouping import HOMES, READ_HOMES, SHELF
from umi_core.workflows.linking import addresses, choose_categories, link_facts
from umi_core.workflows.placing import show_successors
from umi_core.workflows.reading import (
    CAPTION,
    CONTENT,
    EXTRACT,
    FOUND,
    INGEST,
    KNOWN,
    LIST_UNITS,
    NEWER,
    PARTS,
    PREPROCESS,
    READ_PARTS,
    REQUEST,
    REREAD_PARTS,
    SEGMENT,
    SEGMENTS,
    UNITS,
    Unit,
    bodies,
    extracted_before,
    is_same_text,
    lacks_description,
    own_address,
    own_id,
    reply_unchanged,
    segment_ids,
    wanted_types,
)
from umi_core.workflows.remember import (
    VECTORS,
    entity_rows,
    list_changed,
    no_vectors,
    take_vectors,
)
from umi_core.workflows.shelving import (
    EMBED,
    EMBED_SHELF,
    SHELF_LAW,
    SHELF_VECTORS,
    UNSHELVED,
    list_unembedded,
    list_unfound,
    write_vectors,
)
from umi_core.workflows.telling import (
    TOLD,
    TYPE_OF,
    CategorisedFact,
    ask_vectors,
    classify_draft,
    links_of,
    mark_missing_vectors,
)

Rows = Mapping[Address, Row]
SHELVED: Final = ("category", "membership", "resource")
DESCRIBE: Final = "describe"  # what is pending of a payload that no model has described


# gather: what the units found, each fact once.


def take_told(facts: Facts, answer: None, view: View) -> Learned:
    groups: dict[str, list[CategorisedFact]] = {}
    shapes: list[str] = []
    units, found_in = facts[UNITS], facts[FOUND]
    for unit, it in zip(units, found_in, strict=True):
        for memory in it.memories:
            stated, shape = read(memory, unit, view)
            # Units overlap: two memory types of one segment often find the same statement.
            groups.setdefault(norm(memory.content), []).append(stated)
            shapes += shape
    all_told = tuple(stated for group in groups.values() for stated in unite_facts(group))
    return Learned(TOLD(all_told), shapes=tuple(dict.fromkeys(shapes)))


def read(memory: ExtractedFact, unit: Unit, view: View) -> tuple[CategorisedFact, list[str]]:
    """Return the memory as a fact, about its name if that is usable, and the shapes to mark."""
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
    """Yield equal contents as one fact, in all categories that were named for any of them."""
    # "likes tea" under Ann, in two memory types: one fact in the categories of both.
    for mention in merge(fact.mention for fact in group):
        names = {norm(name) for name in mention.names}
        its = [it for it in group if not it.mention.named or norm(it.mention.name) in names]
        categories = tuple(dict.fromkeys(name for fact in its for name in fact.categories))
        yield CategorisedFact(mention, categories, its[0].by)


# lookup: what is known about these entities, their categories and the text itself.


def ids_of(facts: Facts, scope: Scope) -> list[str]:
    return [id_of(fact.mention, scope) for fact in facts[TOLD]]


def claim_told(facts: Facts, view: View) -> tuple[str, ...]:
    return claim_mentions((fact.mention for fact in facts[TOLD]), view.scope)


def ask_lookup(facts: Facts, view: View) -> Read:
    scope, ids = view.scope, ids_of(facts, view.scope)
    wanted = [address(scope, kind, key) for key in ids for kind in PLACES]
    all_told = facts[TOLD]
    for key, fact in zip(ids, all_told, strict=True):
        wanted += addresses(key, fact.categories, scope)
    resources = (own_id(facts, scope), *segment_ids(facts[SEGMENTS], facts, scope), *bodies(facts[PARTS]))
    wanted += [address(scope, "resource", key) for key in resources]
    return Read(ByIds(tuple(dict.fromkeys((*wanted, address(scope, "core"))))))


def take_lookup(facts: Facts, answer: ReadDone, view: View) -> Learned:
    rows = index_rows(answer)
    core = core_of(rows, view.scope)
    adopt(view, core)
    drafts = keep_ended([draft_of(fact, rows, facts, view) for fact in facts[TOLD]], facts[STATED])
    shelf = tuple(row for row in answer.rows if row.address.kind in SHELVED)
    names = [name for fact in facts[TOLD] for name in fact.categories]
    lacking = list_unembedded(captions(facts, view.scope), names, rows, view)
    return Learned(DRAFTS(drafts) | SHELF(shelf) | UNSHELVED(lacking) | CORE(core))


def captions(facts: Facts, scope: Scope) -> Iterator[tuple[str, str]]:
    """Yield the id and caption of the whole text, and of each segment if there are several."""
    segments = facts[SEGMENTS]
    yield own_id(facts, scope), caption_of_whole(facts)
    if len(segments) > 1:
        ids = segment_ids(segments, facts, scope)
        yield from ((key, caption(it.text)) for key, it in zip(ids, segments, strict=True))


def caption_of_whole(facts: Facts) -> str:
    return facts[CAPTION] or caption(facts[SEGMENTS][0].text)


def draft_of(fact: CategorisedFact, rows: Mapping[Address, Row], facts: Facts, view: View) -> Drafted:
    """Return the entity as the text leaves it; a fact of no other resource than before is not reinforced."""
    draft = look_up_fact(fact.mention, SharedOptions(facts[REQUEST].happened_ms), rows, view)
    return classify_draft(add_source(own_id(facts, view.scope), draft, view.now_ms), fact.mention.memory_type)


# plan: all rows of it.


def take_plan(facts: Facts, answer: None, view: View) -> Learned:
    """Take the plan; upkeep, which has no caller, brings back no text that was replaced or forgotten."""
    shelf = {row.address: row for row in (*facts[SHELF], *facts[NEWER])}
    # upkeep       begin: text A is pending ..... plan: text B is stored, so A stays replaced
    # memorize         text B under the same uri   commit
    if view.is_unasked and same_before(facts, shelf, view) is None:
        view.marks.append("memorize: overtaken")
        return Learned(PLAN(Plan(view.now_ms, value=reply_unchanged(facts, view.scope))))
    return Learned(PLAN(build_plan(facts, shelf, view)))


def build_plan(facts: Facts, shelf: Mapping[Address, Row], view: View) -> Plan:
    core = facts[CORE]
    compared = compare(chain_drafts(mark_missing_vectors(facts), facts[STATED], None), facts, view)
    drafts, ended, entities = compared.drafts, compared.ended, compared.current
    access = view.tiers.access.record_accesses(entities, view.now_ms, entity_ids(core))
    after = show_successors(core, compared.heirs, access, view)
    is_moved = after.blocks != core.blocks
    there = {it.id: None for it in entities}
    current = (it for it in links_of(facts, drafts, view) if it.entity_id in there)
    links = link_facts(current, with_leaving(compared.writes, facts, shelf), view)
    resources = resources_of(facts, shelf, view)
    pending = pending_of(facts, shelf, view)
    is_there = own_address(facts, view.scope) in shelf
    change = "unchanged" if not resources else "updated" if is_there else "created"
    stored = tuple(Stored(draft.entity.id, draft.entity.version, draft.change) for draft in drafts)
    value = Memorized(
        own_id(facts, view.scope), change, len(facts[SEGMENTS]), stored, pending,
        compared.relations, compared.dropped_count, ended,
    )  # fmt: skip
    writes = (
        *entity_rows(drafts, facts, view, compared.past), *compared.writes, *links, *resources,
        *write_vectors(facts, shelf, (*links, *resources), view.scope), *access.writes(view.scope, ended),
    )  # fmt: skip
    return Plan(
        view.now_ms,
        writes=tuple({it.address: it for it in writes}.values()),  # a category may lose members and get some
        expects=compared.expects,
        core=after if is_moved else None,
        value=value,
        accessed=entities,
        forgotten=ended,
    )


def with_leaving(leaving: tuple[Write, ...], facts: Facts, shelf: Rows) -> Rows:
    """Return what is stored of categories, as it is without the facts that end."""
    read = {row.address: row for row in facts[SHELVES]}
    after = {it.address: it.body for it in leaving}
    # A category that loses a member here and gets another one is written once, with both changes.
    left = {where: structs.replace(row, body=after[where]) for where, row in read.items() if where in after}
    return {**shelf, **left}


# The resource and its segments.


def whole_before(facts: Facts, shelf: Mapping[Address, Row], view: View) -> Resource | None:
    """Return the resource as it is, whatever it says."""
    row = shelf.get(own_address(facts, view.scope))
    return row.body if row is not None and isinstance(row.body, Resource) else None


def same_before(facts: Facts, shelf: Mapping[Address, Row], view: View) -> Resource | None:
    """Return the resource, if it says already what is to be memorized."""
    before = whole_before(facts, shelf, view)
    return before if before is not None and is_same_text(before, facts[REQUEST]) else None


def read_now(facts: Facts) -> frozenset[Unit]:
    """Return the units that this memorize has read itself."""
    units, found_in = facts[UNITS], facts[FOUND]
    return frozenset(unit for unit, it in zip(units, found_in, strict=True) if not it.is_missing)


def types_read(facts: Facts, shelf: Mapping[Address, Row], scope: Scope) -> list[tuple[str, ...]]:
    """Return for each segment the memory types for which it has been read by now."""
    if lacks_description(facts):
        return [()]
    request, segments = facts[REQUEST], facts[SEGMENTS]
    now, before = read_now(facts), bodies(tuple(shelf.values()))
    return [
        tuple(
            kind
            for kind in MEMORY_TYPES
            if kind in extracted_before(key, before, request)
            or (kind in wanted_types(request) and (Unit(kind, it.text) in now or not it.text.strip()))
        )
        for key, it in zip(segment_ids(segments, facts, scope), segments, strict=True)
    ]


def pending_of(facts: Facts, shelf: Mapping[Address, Row], view: View) -> tuple[str, ...]:
    """Return the types that were asked for, now or before, and that some segment lacks; `describe` before
    them, and `embed` behind, if the text or a segment has no vector.
    """
    same = same_before(facts, shelf, view)
    # Types that an earlier request has left pending stay pending, though this one does not ask for them.
    asked = {*wanted_types(facts[REQUEST]), *(same.pending if same is not None else ())}
    done = types_read(facts, shelf, view.scope)
    lacking = [kind for kind in MEMORY_TYPES if kind in asked and any(kind not in types for types in done)]
    first, last = (DESCRIBE,) * lacks_description(facts), (EMBED,) * bool(unfound_texts(facts, view.scope))
    return (*first, *lacking, *last)


def unfound_texts(facts: Facts, scope: Scope) -> list[str]:
    lost = list_unfound(facts)
    return [key for key, _ in captions(facts, scope) if key in lost]


def resources_of(facts: Facts, shelf: Mapping[Address, Row], view: View) -> tuple[Write, ...]:
    """Return the writes of new and changed resources, and the deletions of segments that are gone."""
    wanted = {address(view.scope, "resource", it.id): it for it in as_resources(facts, shelf, view)}
    removed = [where for where in shelf if where.kind == "resource" and where not in wanted]
    writes = [Write(where, it) for where, it in wanted.items() if is_news(it, shelf.get(where))]
    writes += [Write(where, None) for where in removed]
    return tuple(writes)


def is_news(resource: Resource, row: Row | None) -> bool:
    old = row.body if row is not None else None
    # A row that differs only in the time of its update would be written for nothing.
    return not isinstance(old, Resource) or structs.replace(old, updated_ms=resource.updated_ms) != resource


def as_resources(facts: Facts, shelf: Mapping[Address, Row], view: View) -> Iterator[Resource]:
    """Yield the rows to store; segments have rows of their own if there are several."""
    request, segments, done = facts[REQUEST], facts[SEGMENTS], types_read(facts, shelf, view.scope)
    parent, ids = own_id(facts, view.scope), segment_ids(facts[SEGMENTS], facts, view.scope)
    before, same = whole_before(facts, shelf, view), same_before(facts, shelf, view)
    # A text keeps the time of its rows while it is the same. Another text under this uri has a time of its
    # own, but it was told in the same session unless the request names another one.
    happened_ms = request.happened_ms
    if happened_ms is None and same is not None:
        happened_ms = same.happened_ms
    lost = unfound_texts(facts, view.scope)
    whole = Resource(
        parent, request.modality, request.text, text_hash(request.text), caption_of_whole(facts), 0,
        max(segment.last_line for segment in segments), since(parent, shelf, view), view.now_ms, request.uri,
        extracted_types=tuple(kind for kind in MEMORY_TYPES if all(kind in types for types in done)),
        pending=pending_of(facts, shelf, view), happened_ms=happened_ms,
        description=facts[CONTENT] if request.modality in DESCRIBED_BY else "",
        session_id=request.session_id or (before.session_id if before is not None else None),
    )  # fmt: skip
    # A text of one segment has no rows of segments: the resource is its own only segment (`segment_ids`).
    yield whole
    for at, (key, it) in enumerate(zip(ids, segments, strict=True) if len(ids) > 1 else ()):
        yield structs.replace(
            whole, id=key, text=it.text, text_hash=text_hash(it.text), caption=caption(it.text),
            first_line=it.first_line, last_line=it.last_line, created_ms=since(key, shelf, view), uri=None,
            parent_id=parent, position=at, extracted_types=done[at], pending=(EMBED,) * (key in lost),
            description="",
        )  # fmt: skip


def caption(text: str) -> str:
    return first_sentence(text, CAPTION_BYTES_MAX)


def since(key: str, shelf: Mapping[Address, Row], view: View) -> int:
    """Return when this row was created: now, if it is new."""
    row = shelf.get(address(view.scope, "resource", key))
    return row.body.created_ms if row and isinstance(row.body, Resource) else view.now_ms


# reply.


def take_reply(facts: Facts, answer: None, view: View) -> Learned:
    known = facts[KNOWN]
    return Learned(OUTCOME(Done(facts[STORED] if known is None else known)))


# What holds of these facts together.


def are_of_told(facts: Facts, scope: Scope) -> bool:
    return [draft.entity.id for draft in facts[DRAFTS]] == ids_of(facts, scope)


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
        Step("gather", requires=(UNITS, FOUND), produces=(TOLD,), otherwise=nothing(TOLD), take=take_told),
        Step("lookup", requires=(REQUEST, PARTS, SEGMENTS, CAPTION, TOLD, STATED),
             produces=(DRAFTS, SHELF, UNSHELVED, CORE), otherwise=nothing(DRAFTS, SHELF, UNSHELVED, CORE),
             claims=claim_told, **asks(Read, ask_lookup, take_lookup, retry(3))),
        REREAD_PARTS,
        *COMPARE,
        Step("embed", requires=(DRAFTS,), produces=(VECTORS,), otherwise=nothing(VECTORS),
             config=(("profile", "default"),),
             **asks(Embed, ask_vectors, take_vectors, retry(2, then=Degrade("no_vectors", no_vectors)))),
        EMBED_SHELF,
        READ_HOMES,
        Step("plan",
             requires=(REQUEST, CONTENT, CAPTION, SEGMENTS, UNITS, FOUND, TOLD, STATED, DRAFTS,
                       SHELF, NEWER, *COMPARED_FROM, CORE, VECTORS, UNSHELVED, SHELF_VECTORS, HOMES),
             produces=(PLAN,), otherwise=nothing(PLAN), take=take_plan),
        # The units stay as they were read: a conflict does not ask the model again.
        commit_row(replan="lookup", ask=ask_if_any),
        SETTLE,
        Step("reply", requires=(KNOWN, STORED), produces=(OUTCOME,), take=take_reply),
    ),
    laws=(
        Law("a draft for each fact", (TOLD, DRAFTS), are_of_told),
        *COMPARE_LAWS,
        ENDING_LAW,
        Law("a vector or none for each change", (DRAFTS, VECTORS),
            lambda facts, scope: len(facts[VECTORS]) == len(list_changed(facts))),
        SHELF_LAW,
        Law("some segment", (SEGMENTS,), lambda facts, scope: len(facts[SEGMENTS]) > 0),
    ),
)  # fmt: skip
