"""create_entity and update_entity: single facts as their callers word them; no model is asked.

Law 1. The caller of create_entity gives no name, so the id of the fact follows from its content. Creating the
fact again changes nothing, and memorize finds the same fact. Law 2. Everything is stored in one commit, or
nothing. Law 3. A fact is one row, whichever request stores it; a request changes only the values that it
gives. Law 4. A new membership names the group of its category nearest to the new vector, or none. Law 5. With
other content a fact is another fact, under the id of that content. It ends the old fact and takes over what
is known of it; if the other fact is stored already, the two become one. Law 6. A wanted membership that
exists stays as it is. Law 7. A commit writes a category once, with all members added and removed.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import structs

from umi_core.data import Data
from umi_core.domains import CategoryNames, LinkMaker
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import Degrade, Law, Learned, Rejection, Step, TakeResult, Workflow, asks, retry
from umi_core.ids import category_id, fact_id
from umi_core.kelpie.errors import NotFound
from umi_core.language.extraction import CONFIDENCE_PPM, Mention
from umi_core.language.words import auto_name
from umi_core.limits import I64_MAX, SOURCE_COUNT_MAX
from umi_core.messages.answers import Committed, ReadDone
from umi_core.messages.effects import ByIds, Embed, Read, Write
from umi_core.messages.requests import CreateEntity, UpdateEntity
from umi_core.messages.results import Stored
from umi_core.policies.routing import BLOCK_OF_TYPE
from umi_core.rows import Address, Category, Entity, Membership, Row, bodies_of, body_as
from umi_core.values import Scope
from umi_core.workflows.commits import (
    CORE,
    LOST,
    PLAN,
    REPLY,
    SETTLE,
    Plan,
    address,
    commit_row,
    entity_ids,
    index_rows,
    put,
    read_core,
    take_keyed_commit,
)
from umi_core.workflows.drafting import (
    DRAFTS,
    PLACES,
    Drafted,
    SharedOptions,
    create_fact,
    draft_fact,
    embedded_text,
    id_of,
    with_entity,
)
from umi_core.workflows.evolving import end_fact
from umi_core.workflows.linking import (
    CAPTION_LAW,
    CAPTION_VECTORS,
    CATEGORY_ROWS,
    EMBED_CAPTIONS,
    READ_SUBCATEGORIES,
    SUBCATEGORIES,
    TO_EMBED,
    Link,
    addresses,
    all_addresses,
    default_of,
    expect_memberships,
    link_facts,
    link_id,
    list_unembedded,
    match_group,
    memberships_of,
    unlink_members,
    write_vectors,
)
from umi_core.workflows.remember import (
    VECTORS,
    VECTORS_LAW,
    entity_rows,
    list_changed,
    no_vectors,
    show_successors,
    take_vectors,
    vectors_of,
)

# Facts with their categories.


TYPE_OF: Final = {
    "profile": "person", "behavior": "preference", "event": "event", "knowledge": "topic", "skill": "topic",
}  # fmt: skip


class CategorisedFact(Data):
    """One fact with its categories; `by`: who chose them (model, user, default)."""

    mention: Mention
    categories: CategoryNames
    by: LinkMaker


STATEMENTS: Final = Fact("statements", tuple[CategorisedFact, ...])


def classify_draft(draft: Drafted, memory_type: str | None) -> Drafted:
    """Return the draft with its memory type and block; a known fact keeps those that are stored."""
    entity = draft.entity
    # A model may have routed a known fact to a block that is not the one of its type.
    block = entity.block if draft.old is not None else BLOCK_OF_TYPE[entity.type]
    entity = structs.replace(entity, memory_type=entity.memory_type or memory_type, block=block)
    return with_entity(draft, entity)


# Vectors and links of facts.


def ask_vectors(facts: Facts, view: View) -> Embed | None:
    texts = tuple(embedded_text(draft.entity) for draft in list_changed(facts))
    return Embed(texts) if texts else None


EMBED_FACTS: Final = Step(
    "embed", requires=(DRAFTS,), produces=(VECTORS,),
    **asks(Embed, ask_vectors, take_vectors, retry(2, then=Degrade("no_vectors", no_vectors))),
)  # fmt: skip


def mark_missing_vectors(facts: Facts) -> tuple[Drafted, ...]:
    """Return the drafts; a changed draft without a vector is marked."""
    lacking = [key for key, vector in vectors_of(facts).items() if vector is None]
    return tuple(
        structs.replace(
            draft, entity=structs.replace(draft.entity, vector_missing=draft.entity.id in lacking)
        )
        if draft.is_changed
        else draft
        for draft in facts[DRAFTS]
    )


def links_of(facts: Facts, drafts: tuple[Drafted, ...], view: View) -> Iterator[Link]:
    all_statements = facts[STATEMENTS]
    for fact, draft in zip(all_statements, drafts, strict=True):
        yield from (link_of(draft.entity, name, fact.by, facts, view) for name in fact.categories)


def link_of(entity: Entity, category: str, by: str, facts: Facts, view: View) -> Link:
    """Return the link to a category, with the group nearest to the fact's new vector, if one is near."""
    key, groups, vector = (
        category_id(view.scope, category),
        facts[SUBCATEGORIES],
        vectors_of(facts).get(entity.id),
    )
    near = [group for group in groups if group.category_id == key]
    place = match_group(vector, entity.content, near, view.config.assign_ppm)
    if place.subcategory_id is not None:
        view.marks.append("memorize: a member finds its group")
    return Link(entity.id, entity.version, category, by, place)


# create_entity.


CREATE: Final = Fact("request", CreateEntity)


def categorise_request(request: CreateEntity, view: View) -> CategorisedFact:
    """Return the fact with the categories of the request, or with the default one of its memory type."""
    kind, content = request.memory_type, request.content
    mention = Mention(TYPE_OF[kind], auto_name(content), content, CONFIDENCE_PPM, False, kind)
    if request.categories is None:
        return CategorisedFact(mention, (default_of(kind, view.config),), "default")
    return CategorisedFact(mention, tuple(dict.fromkeys(request.categories)), "user")


def claim_entity(facts: Facts, view: View) -> tuple[str, ...]:
    # The second of two equal requests waits for the first, finds its fact and changes nothing.
    return (id_of(categorise_request(facts[CREATE], view).mention, view.scope),)


def ask_lookup(facts: Facts, view: View) -> Read:
    stated, scope = categorise_request(facts[CREATE], view), view.scope
    key = id_of(stated.mention, scope)
    own = (address(scope, kind, key) for kind in PLACES)
    return Read(ByIds((*own, address(scope, "core"), *addresses(key, stated.categories, scope))))


def take_lookup(facts: Facts, answer: ReadDone, view: View) -> Learned:
    rows, stated, core = index_rows(answer), categorise_request(facts[CREATE], view), read_core(answer, view)
    draft = classify_draft(
        draft_fact(stated.mention, SharedOptions(), rows, view), stated.mention.memory_type
    )
    category_rows = tuple(row for row in answer.rows if row.address.kind in ("category", "membership"))
    lacking = list_unembedded((), stated.categories, rows, view)
    return Learned(
        STATEMENTS((stated,))
        | DRAFTS((draft,))
        | CATEGORY_ROWS(category_rows)
        | TO_EMBED(lacking)
        | CORE(core)
    )


def take_plan(facts: Facts, answer: None, view: View) -> Learned:
    core, drafts = facts[CORE], mark_missing_vectors(facts)
    entities = tuple(draft.entity for draft in drafts)
    access = view.tiers.access.record_accesses(entities, view.now_ms, entity_ids(core))
    rows_before = {row.address: row for row in facts[CATEGORY_ROWS]}
    # The fact is not compared with others and not promoted to core: the request asks for neither.
    links = link_facts(links_of(facts, drafts, view), rows_before, view)
    (draft,) = drafts
    plan = Plan(
        view.now_ms,
        writes=(
            *entity_rows(drafts, facts, view), *links, *write_vectors(facts, {}, links, view.scope),
            *access.writes(view.scope)
        ),
        value=Stored(draft.entity.id, draft.entity.version, draft.change),
        accessed=entities,
    )  # fmt: skip
    return Learned(PLAN(plan))


def is_of_request(facts: Facts, scope: Scope) -> bool:
    own = [id_of(fact.mention, scope) for fact in facts[STATEMENTS]]
    return own == [draft.entity.id for draft in facts[DRAFTS]]


CREATE_ENTITY: Final = Workflow(
    "create_entity",
    given=(CREATE,),
    steps=(
        Step("lookup", requires=(CREATE,), produces=(STATEMENTS, DRAFTS, CATEGORY_ROWS, TO_EMBED, CORE),
             claims=claim_entity, **asks(Read, ask_lookup, take_lookup, retry(3))),
        EMBED_FACTS,
        EMBED_CAPTIONS,
        READ_SUBCATEGORIES,
        Step("plan", requires=(STATEMENTS, DRAFTS, CATEGORY_ROWS, TO_EMBED, CORE, VECTORS, CAPTION_VECTORS,
                       SUBCATEGORIES),
             produces=(PLAN,), take=take_plan),
        commit_row(replan="lookup"),
        SETTLE,
        REPLY,
    ),
    laws=(
        Law("a draft of what is told", (STATEMENTS, DRAFTS), is_of_request),
        VECTORS_LAW,
        CAPTION_LAW,
    ),
)  # fmt: skip


# update_entity: new content or categories of a fact.


Rows = Mapping[Address, Row]


# The fact.


def new_id(old: Entity, content: str | None, scope: Scope) -> str:
    """Return the id of the fact with this content; its old id if the content is None."""
    return old.id if content is None else fact_id(scope, old.about, content)


def revise_fact(row: Row, content: str | None, rows: Rows, view: View) -> Drafted:
    """Return the draft of the updated fact, whose id may be another one; `rows`: the rows under that id."""
    old = row.body
    assert isinstance(old, Entity)
    key = new_id(old, content, view.scope)
    if content is None:
        return Drafted(old, False, old=old)
    if key == old.id:
        direct = structs.replace(old, is_direct=True)
        return Drafted(direct, direct != old, old=old)
    return move_fact(old, content, key, rows, view)


def move_fact(old: Entity, content: str, key: str, rows: Rows, view: View) -> Drafted:
    """Return the draft under the new id, with what is known of the old fact.

    If the fact with that id is stored already, it only gets the sources of the old one.
    """
    row = rows.get(address(view.scope, "entity", key))
    if row is not None and isinstance(row.body, Entity):
        view.marks.append("update_entity: two facts became one")
        fresh = add_sources(structs.replace(row.body, is_direct=True), old.sources, view.now_ms)
        return Drafted(fresh, fresh != row.body, old=row.body)
    view.marks.append("update_entity: a fact moved to another id")
    name = old.name if old.about else auto_name(content)
    mention = Mention(old.type, name, content, old.confidence_ppm, bool(old.about), others=old.others)
    given = SharedOptions(old.event_time_ms, old.importance_ppm, old.metadata, old.source)
    draft = create_fact(mention, given, rows, view)
    entity = structs.replace(
        draft.entity, block=old.block, memory_type=draft.entity.memory_type or old.memory_type, is_direct=True
    )
    # A fact that becomes current again has sources of its own; those of the old fact are added.
    if draft.has_ended:
        return with_entity(draft, add_sources(entity, old.sources, view.now_ms))
    entity = structs.replace(
        entity, sources=old.sources, reinforced_count=old.reinforced_count,
        last_reinforced_ms=old.last_reinforced_ms,
    )  # fmt: skip
    return with_entity(draft, entity)


def add_sources(entity: Entity, sources: tuple[str, ...], now_ms: int) -> Entity:
    """Return the fact with these sources added, as far as there is room; each new one reinforces it."""
    news = [key for key in sources if key not in entity.sources][: SOURCE_COUNT_MAX - len(entity.sources)]
    if not news:
        return entity
    return structs.replace(
        entity, sources=tuple(sorted((*entity.sources, *news))),
        # A row changed from outside may be at the limit of a stored integer.
        reinforced_count=min(entity.reinforced_count + len(news), I64_MAX), last_reinforced_ms=now_ms,
    )  # fmt: skip


# Its memberships.


def members_of(key: str, rows: Rows, view: View) -> dict[str, Row]:
    """Return the membership rows of a fact, by category name; `rows` must include retired categories."""
    scope, retired = view.scope, (rows.get(address(view.scope, "category", it)) for it in view.tiers.retired)
    stored = bodies_of((row for row in retired if row is not None), Category)
    names = (*view.config.abouts, *(it.name for it in stored))
    places = {name: address(scope, "membership", link_id(scope, key, name)) for name in names}
    return {name: rows[where] for name, where in places.items() if where in rows}


def list_wanted_categories(
    named: tuple[str, ...] | None, ids: tuple[str, str], rows: Rows, view: View
) -> dict[str, str]:
    """Return the wanted categories, each with its `assigned_by`; `ids`: the old and the new id of the fact.

    If the request names no categories, these are all categories that the fact is in under either id.
    """
    if named is not None:
        return dict.fromkeys(named, "user")
    memberships = members_of(ids[1], rows, view) | members_of(ids[0], rows, view)
    found = {name: body_as(row, Membership) for name, row in memberships.items()}
    return {name: it.assigned_by for name, it in found.items() if it is not None}


def move_memberships(
    draft: Drafted, old_id: str, wanted: dict[str, str], facts: Facts, rows: Rows, view: View
) -> tuple[Write, ...]:
    """Return the writes of memberships and categories; `wanted`: the wanted categories by name.

    `end_current` deletes the memberships under the old id, but their categories are written here.
    """
    entity, scope = draft.entity, view.scope
    memberships, before = members_of(entity.id, rows, view), members_of(old_id, rows, view)
    unwanted = [row for name, row in memberships.items() if name not in wanted]
    lost = [*unwanted, *(before.values() if old_id != entity.id else ())]
    left = unlink_members(lost, categories_of(lost, rows, scope), view)
    # Add the new member to the categories as they are without the old one, so that each is written once.
    between = {
        **rows,
        **{it.address: structs.replace(rows[it.address], body=it.body) for it in left if it.body},
    }
    lacking = {name: by for name, by in wanted.items() if draft.is_changed or name not in memberships}
    added = link_facts(
        (link_of(entity, name, by, facts, view) for name, by in lacking.items()), between, view
    )
    removed = tuple(Write(row.address, None) for row in unwanted)
    writes = {it.address: it for it in (*removed, *left, *added)}
    return tuple(writes.values())


def categories_of(memberships: list[Row], rows: Rows, scope: Scope) -> list[Row]:
    keys = dict.fromkeys(it.category_id for it in bodies_of(memberships, Membership))
    places = [address(scope, "category", key) for key in keys]
    return [rows[where] for where in places if where in rows]


# The operation.


UPDATE: Final = Fact("request", UpdateEntity)
# The stored fact; None only if an earlier plan of this operation may have moved it.
CURRENT: Final = Fact("current", Row | None, ("entity",))
ROW: Final = Fact("row", Row | None, ("entity",))  # CURRENT if the content, and so the id, changes; else None
# The memberships of the fact, and all stored categories.
OWN_CATEGORIES: Final = Fact("own_categories", tuple[Row, ...])


# lookup: read the stored fact, its memberships and the categories.


def ask_current(facts: Facts, view: View) -> Read:
    key, scope = facts[UPDATE].entity_id, view.scope
    own = (address(scope, "entity", key), address(scope, "core"))
    return Read(ByIds((*own, *all_addresses(key, view))))


def take_current(facts: Facts, answer: ReadDone, view: View) -> TakeResult:
    """Learn the fact; reject the request if there is none.

    In doubt the fact may be missing because an earlier plan moved it; `take_done` decides by the receipt.
    """
    rows, request, core = index_rows(answer), facts[UPDATE], read_core(answer, view)
    row = rows.get(address(view.scope, "entity", request.entity_id))
    if row is None and not view.in_doubt:
        return Rejection(NotFound("entity", request.entity_id))
    own = tuple(it for it in answer.rows if it.address.kind in ("category", "membership"))
    # New content moves the fact to another id; new categories do not.
    leaving = row if row is not None and goal(row, request, view.scope) != request.entity_id else None
    return Learned(CURRENT(row) | OWN_CATEGORIES(own) | ROW(leaving) | CORE(core))


def goal(row: Row, request: UpdateEntity, scope: Scope) -> str:
    """Return the id of the fact after the update."""
    assert isinstance(row.body, Entity)
    return new_id(row.body, request.content, scope)


# target: read the rows under the new id, and draft the fact.


def ask_target(facts: Facts, view: View) -> Read | None:
    row, scope = facts[ROW], view.scope
    if row is None:
        return None
    key = goal(row, facts[UPDATE], scope)
    own = (address(scope, kind, key) for kind in PLACES)
    return Read(ByIds((*own, *memberships_of(key, view))))


def take_target(facts: Facts, answer: ReadDone, view: View) -> Learned:
    row, scope, request = facts[CURRENT], view.scope, facts[UPDATE]
    if row is None:
        return Learned(DRAFTS(()) | CATEGORY_ROWS(()) | TO_EMBED(()))
    there = index_rows(answer)
    draft = revise_fact(row, request.content, there, view)
    rows = {it.address: it for it in (*facts[OWN_CATEGORIES], *there.values())}
    wanted = wanted_categories(facts, draft, rows, view)
    touched = {
        **wanted,
        **members_of(request.entity_id, rows, view),
        **members_of(draft.entity.id, rows, view),
    }
    keys = [category_id(scope, name) for name in touched]
    category_rows = tuple(
        it for it in rows.values() if it.address.kind == "membership" or it.address.id in keys
    )
    return Learned(
        DRAFTS((draft,)) | CATEGORY_ROWS(category_rows) | TO_EMBED(list_unembedded((), wanted, rows, view))
    )


def wanted_categories(facts: Facts, draft: Drafted, rows: dict[Address, Row], view: View) -> dict[str, str]:
    request = facts[UPDATE]
    return list_wanted_categories(request.categories, (request.entity_id, draft.entity.id), rows, view)


# plan: one batch.


def take_update(facts: Facts, answer: None, view: View) -> Learned:
    old_id, leaving, scope = facts[UPDATE].entity_id, facts[ROW], view.scope
    if not facts[DRAFTS]:
        removed = Stored(old_id, 0, "unchanged")  # never replied: `take_done` rejects, or takes the receipt
        return Learned(PLAN(Plan(view.now_ms, value=removed, forgotten=(old_id,))))
    core, (draft,) = facts[CORE], mark_missing_vectors(facts)
    entity, rows = draft.entity, {row.address: row for row in facts[CATEGORY_ROWS]}
    access = view.tiers.access.record_accesses((entity,), view.now_ms, entity_ids(core))
    after = show_successors(core, {old_id: entity}, access, view) if leaving is not None else core
    is_moved = after.blocks != core.blocks
    links = move_memberships(draft, old_id, wanted_categories(facts, draft, rows, view), facts, rows, view)
    rides = access.writes(scope, () if leaving is None else (old_id,))
    writes = (
        *(end_current(entity, leaving, facts, view) if leaving is not None else ()),
        *entity_rows((draft,), facts, view), *links, *write_vectors(facts, {}, links, scope), *rides,
    )  # fmt: skip
    expected = (it for key in (old_id, entity.id) for it in expect_memberships(key, rows.values(), view))
    plan = Plan(
        view.now_ms,
        writes=tuple({it.address: it for it in writes}.values()),  # a batch has one write for each address
        expects=tuple(dict.fromkeys(expected)),
        core=after if is_moved else None,
        value=Stored(entity.id, entity.version, draft.change),
        accessed=(entity,),
        forgotten=(old_id,) if leaving is not None else (),
    )
    return Learned(PLAN(plan))


def end_current(entity: Entity, row: Row, facts: Facts, view: View) -> Iterator[Write]:
    """Yield the writes that end this fact, except its categories, which `move_memberships` writes."""
    fact = row.body
    assert isinstance(fact, Entity)
    yield from end_fact(fact, entity.id, "update", view)
    own = (it for it in bodies_of(facts[OWN_CATEGORIES], Membership) if it.entity_id == fact.id)
    yield from (put(view.scope, "membership", it.id, None) for it in own)


def take_done(facts: Facts, answer: Committed | None, view: View) -> TakeResult:
    """Learn the commit. A missing fact is an error, unless an earlier plan of this operation moved it."""
    taken = take_keyed_commit(facts, answer, view)
    is_missing = facts[CURRENT] is None and isinstance(taken, Learned) and not taken.facts[LOST.name]
    return Rejection(NotFound("entity", facts[UPDATE].entity_id)) if is_missing else taken


def is_of_current(facts: Facts, scope: Scope) -> bool:
    """Check that there is one draft with the id of the updated fact, and none without a stored fact."""
    row, drafts = facts[CURRENT], facts[DRAFTS]
    ids = [] if row is None else [goal(row, facts[UPDATE], scope)]
    return [draft.entity.id for draft in drafts] == ids


UPDATE_ENTITY: Final = Workflow(
    "update_entity",
    given=(UPDATE,),
    steps=(
        Step("lookup", requires=(UPDATE,), produces=(CURRENT, OWN_CATEGORIES, ROW, CORE),
             claims=lambda facts, view: (facts[UPDATE].entity_id,),
             **asks(Read, ask_current, take_current, retry(3))),
        Step("target", requires=(UPDATE, CURRENT, OWN_CATEGORIES, ROW),
             produces=(DRAFTS, CATEGORY_ROWS, TO_EMBED),
             **asks(Read, ask_target, take_target, retry(3))),
        EMBED_FACTS,
        EMBED_CAPTIONS,
        READ_SUBCATEGORIES,
        Step("plan", requires=(UPDATE, DRAFTS, CATEGORY_ROWS, TO_EMBED, ROW, OWN_CATEGORIES, CORE, VECTORS,
                       CAPTION_VECTORS, SUBCATEGORIES),
             produces=(PLAN,), take=take_update),
        commit_row(replan="lookup", take=take_done),
        SETTLE,
        REPLY,
    ),
    laws=(
        Law("a draft of the entity", (UPDATE, CURRENT, DRAFTS), is_of_current),
        VECTORS_LAW,
        CAPTION_LAW,
    ),
)  # fmt: skip
