"""create_entity: a fact, as its caller says it, is put into categories in one commit; no model is asked.

Law 1. It has no name of its own, so its id follows from what it says: told again, it changes nothing, and
memorize finds the same one. Law 2. All of it is stored, or nothing is. Law 3. A fact is one row, whichever
request tells it: of what was known only what is told anew changes. Law 4. A member is written with the group
of its category that is nearest to its new vector, or with none.
"""

from collections.abc import Iterator
from typing import Final

from msgspec import structs

from umi_core.data import Data
from umi_core.domains import CategoryNames, LinkMaker
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import Degrade, Law, Learned, Step, Workflow, asks, retry
from umi_core.ids import category_id
from umi_core.language.extraction import CONFIDENCE_PPM, Mention
from umi_core.language.words import auto_name
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByIds, Embed, Read
from umi_core.messages.requests import CreateEntity
from umi_core.messages.results import Stored
from umi_core.policies.routing import BLOCK_OF_TYPE
from umi_core.rows import Entity
from umi_core.values import Scope
from umi_core.workflows.commits import (
    CORE,
    PLAN,
    REPLY,
    SETTLE,
    Plan,
    address,
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
    draft_fact,
    embedded_text,
    id_of,
    with_entity,
)
from umi_core.workflows.linking import (
    EMBED_SHELF,
    HOMES,
    READ_HOMES,
    SHELF,
    SHELF_LAW,
    SHELF_VECTORS,
    UNSHELVED,
    Link,
    addresses,
    default_of,
    link_facts,
    list_unembedded,
    place_of,
    write_vectors,
)
from umi_core.workflows.remember import (
    VECTORS,
    VECTORS_LAW,
    entity_rows,
    list_changed,
    no_vectors,
    take_vectors,
    vectors_of,
)

# Facts with the categories in which they belong, and the rows that a batch writes for them.


TYPE_OF: Final = {
    "profile": "person", "behavior": "preference", "event": "event", "knowledge": "topic", "skill": "topic",
}  # fmt: skip


class CategorisedFact(Data):
    """One fact, and the categories in which it belongs."""

    mention: Mention
    categories: CategoryNames
    by: LinkMaker


TOLD: Final = Fact("told", tuple[CategorisedFact, ...])


def classify_draft(draft: Drafted, memory_type: str | None) -> Drafted:
    """Return the draft with its memory type and block; a known fact keeps those that it has."""
    entity = draft.entity
    # A model may have routed a known fact to another block than the one of its type.
    block = entity.block if draft.old is not None else BLOCK_OF_TYPE[entity.type]
    entity = structs.replace(entity, memory_type=entity.memory_type or memory_type, block=block)
    return with_entity(draft, entity)


# How they are embedded, and written.


def ask_vectors(facts: Facts, view: View) -> Embed | None:
    texts = tuple(embedded_text(draft.entity) for draft in list_changed(facts))
    return Embed(texts) if texts else None


EMBED_FACTS: Final = Step(
    "embed", requires=(DRAFTS,), produces=(VECTORS,),
    **asks(Embed, ask_vectors, take_vectors, retry(2, then=Degrade("no_vectors", no_vectors))),
)  # fmt: skip


def mark_missing_vectors(facts: Facts) -> tuple[Drafted, ...]:
    """Return the drafts, each changed one marked if its vector is missing."""
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
    all_told = facts[TOLD]
    for fact, draft in zip(all_told, drafts, strict=True):
        yield from (link_of(draft.entity, name, fact.by, facts, view) for name in fact.categories)


def link_of(entity: Entity, category: str, by: str, facts: Facts, view: View) -> Link:
    """Return the link to a category, in the group that is nearest to the new vector, if there is one."""
    key, homes, vector = category_id(view.scope, category), facts[HOMES], vectors_of(facts).get(entity.id)
    near = [home for home in homes if home.category_id == key]
    place = place_of(vector, entity.content, near, view.config.assign_ppm)
    if place.subcategory_id is not None:
        view.marks.append("memorize: a member finds its group")
    return Link(entity.id, entity.version, category, by, place)


# The operation.


REQUEST: Final = Fact("request", CreateEntity)


def categorise_request(request: CreateEntity, view: View) -> CategorisedFact:
    """Return the fact with the categories of the request, or else with the one of its memory type."""
    kind, content = request.memory_type, request.content
    mention = Mention(TYPE_OF[kind], auto_name(content), content, CONFIDENCE_PPM, False, kind)
    if request.categories is None:
        return CategorisedFact(mention, (default_of(kind, view.config),), "default")
    return CategorisedFact(mention, tuple(dict.fromkeys(request.categories)), "user")


def claim_entity(facts: Facts, view: View) -> tuple[str, ...]:
    # The id follows from the text, so two equal requests wait for each other, and the second changes nothing.
    return (id_of(categorise_request(facts[REQUEST], view).mention, view.scope),)


def ask_lookup(facts: Facts, view: View) -> Read:
    stated, scope = categorise_request(facts[REQUEST], view), view.scope
    key = id_of(stated.mention, scope)
    own = (address(scope, kind, key) for kind in PLACES)
    return Read(ByIds((*own, address(scope, "core"), *addresses(key, stated.categories, scope))))


def take_lookup(facts: Facts, answer: ReadDone, view: View) -> Learned:
    rows, stated, core = index_rows(answer), categorise_request(facts[REQUEST], view), read_core(answer, view)
    draft = classify_draft(
        draft_fact(stated.mention, SharedOptions(), rows, view), stated.mention.memory_type
    )
    shelf = tuple(row for row in answer.rows if row.address.kind in ("category", "membership"))
    lacking = list_unembedded((), stated.categories, rows, view)
    return Learned(TOLD((stated,)) | DRAFTS((draft,)) | SHELF(shelf) | UNSHELVED(lacking) | CORE(core))


def take_plan(facts: Facts, answer: None, view: View) -> Learned:
    core, drafts = facts[CORE], mark_missing_vectors(facts)
    entities = tuple(draft.entity for draft in drafts)
    access = view.tiers.access.record_accesses(entities, view.now_ms, entity_ids(core))
    shelf = {row.address: row for row in facts[SHELF]}
    # No fact is compared with it and core is not asked for a place: its caller says what it is, and no more.
    links = link_facts(links_of(facts, drafts, view), shelf, view)
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
    own = [id_of(fact.mention, scope) for fact in facts[TOLD]]
    return own == [draft.entity.id for draft in facts[DRAFTS]]


CREATE_ENTITY: Final = Workflow(
    "create_entity",
    given=(REQUEST,),
    steps=(
        Step("lookup", requires=(REQUEST,), produces=(TOLD, DRAFTS, SHELF, UNSHELVED, CORE),
             claims=claim_entity, **asks(Read, ask_lookup, take_lookup, retry(3))),
        EMBED_FACTS,
        EMBED_SHELF,
        READ_HOMES,
        Step("plan", requires=(TOLD, DRAFTS, SHELF, UNSHELVED, CORE, VECTORS, SHELF_VECTORS, HOMES),
             produces=(PLAN,), take=take_plan),
        commit_row(replan="lookup"),
        SETTLE,
        REPLY,
    ),
    laws=(
        Law("a draft of what is told", (TOLD, DRAFTS), is_of_request),
        VECTORS_LAW,
        SHELF_LAW,
    ),
)  # fmt: skip
