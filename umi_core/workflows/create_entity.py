"""create_entity: a fact, as its caller says it, is put into categories in one commit; no model is asked.

Law 1. It has no name of its own, so its id follows from what it says: told again, it changes nothing, and
memorize finds the same one. Law 2. All of it is stored, or nothing is.
"""

from typing import Final

from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import Law, Learned, Step, Workflow, asks, nothing, retry
from umi_core.language.extraction import CONFIDENCE_PPM, Mention
from umi_core.language.words import auto_name
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByIds, Read
from umi_core.messages.requests import CreateEntity
from umi_core.messages.results import Stored
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
from umi_core.workflows.drafting import DRAFTS, PLACES, SharedOptions, draft_fact, id_of
from umi_core.workflows.linking import (
    EMBED_SHELF,
    HOMES,
    READ_HOMES,
    SHELF,
    SHELF_LAW,
    SHELF_VECTORS,
    UNSHELVED,
    addresses,
    default_of,
    link_facts,
    list_unembedded,
    write_vectors,
)
from umi_core.workflows.remember import (
    VECTORS,
    VECTORS_LAW,
    entity_rows,
)
from umi_core.workflows.telling import (
    EMBED_FACTS,
    TOLD,
    TYPE_OF,
    CategorisedFact,
    classify_draft,
    links_of,
    mark_missing_vectors,
)

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
             produces=(PLAN,), otherwise=nothing(PLAN), take=take_plan),
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
