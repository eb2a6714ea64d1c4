"""remember: a text becomes facts and their vectors, in one commit.

Law 1. No failure of model or embedder loses the text. Law 2. The whole text is stored, or nothing.
Law 3. A statement that is already stored changes nothing. Any other becomes a fact of its own; statements are
never merged. Law 4. If core shows a fact that ends, it shows the successor instead, in the successor's block,
if there is room without evicting an entry. For example, "Ann lives in Berlin" replaces "Ann lives in Paris",
so every prompt says where Ann lives. Law 5. After that, facts whose routing decision promotes them are
admitted to core: facts about the agent itself first, then by falling score. Law 6. The reply reports core at
the end: a fact that was admitted and then evicted by another fact of the same request is `refused_full`.
"""

from collections.abc import Iterable, Mapping
from itertools import chain
from types import MappingProxyType
from typing import Final

from msgspec import structs

from umi_core.data import Data
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import (
    OUTCOME,
    Degrade,
    Law,
    Learned,
    Rejection,
    Step,
    TakeResult,
    Unusable,
    Workflow,
    asks,
    learn_vectors,
    retry,
)
from umi_core.errors import KeyReused
from umi_core.language import replies
from umi_core.language.prompts import ask_route
from umi_core.language.routing import parse_routes
from umi_core.messages.answers import Embedded, ModelReplied, ReadDone
from umi_core.messages.effects import AskModel, ByIds, Done, Embed, Read, Write
from umi_core.messages.requests import Remember
from umi_core.messages.results import Remembered, Repeatable, Stored, as_repeated
from umi_core.policies.promotion import score_ppm
from umi_core.policies.routing import table_decision
from umi_core.rows import Address, Entity, Receipt, Vector, bodies_of
from umi_core.tiers.archive import AccessTable
from umi_core.tiers.core import CoreTier, admit, entry_of, without
from umi_core.values import RoutingDecision, Scope
from umi_core.workflows import commits
from umi_core.workflows.commits import (
    CORE,
    PLAN,
    REQUEST_KEY,
    SETTLE,
    STORED,
    Plan,
    address,
    commit_row,
    entity_ids,
    index_rows,
    key_of,
    put,
    read_core,
    request_digest,
    scores_of,
)
from umi_core.workflows.drafting import (
    DRAFTS,
    PLACES,
    Drafted,
    SharedOptions,
    chain_drafts,
    claim_mentions,
    draft_fact,
    embedded_text,
    id_of,
    keep_ended,
    look_up_fact,
    order_by_text,
)
from umi_core.workflows.evolving import (
    ANY_REQUEST,
    COMPARE,
    COMPARE_LAWS,
    COMPARED_FROM,
    DATE,
    DROPPED,
    ENDING_LAW,
    EXTRACT,
    MENTIONS,
    REQUEST,
    STATED,
    STATED_ON,
    compare,
)

# Placing: how a batch of facts changes core.


class Placement(Data):
    """Core afterwards, the decisions with their outcomes, and the ids of added and of removed entries."""

    core: CoreTier
    decisions: tuple[RoutingDecision, ...]
    promoted: tuple[str, ...]
    evicted: tuple[str, ...]


def admit_promoted(
    entities: tuple[Entity, ...],
    decisions: tuple[RoutingDecision, ...],
    before: CoreTier,
    succeeded: CoreTier,
    access: AccessTable,
    view: View,
) -> Placement:
    """Return core after admitting the promoted facts; `decisions` has one for each fact, in their order.

    `before` is core as it was read; `succeeded` is core after `show_successors`; `access` already counts
    these facts as accessed.
    """
    core, outcomes = succeeded, dict[str, str]()
    candidates = [
        (it, entity)
        for it, entity in zip(decisions, entities, strict=True)
        if it.promote and core.locate(entity.id) is None
    ]
    scores = {entity.id: score_ppm(access.records[entity.id], view.now_ms) for _, entity in candidates}
    candidates.sort(key=lambda pair: (pair[1].type != "self", -scores[pair[1].id], pair[1].id))
    evicted: dict[str, None] = {}
    for decision, entity in candidates:
        core_scores = scores_of(core, access, view.now_ms)
        entry = entry_of(entity, view.now_ms)
        admission = admit(core, entry, decision.block, scores[entity.id], core_scores, view.config)
        core, outcomes[entity.id] = admission.core, admission.outcome
        evicted |= dict.fromkeys(admission.evicted_ids)
    # Law 6: a fact that was admitted may have been evicted by a later one of this request.
    outcomes = {key: "refused_full" if it == "promoted" else it for key, it in outcomes.items()}
    entered = (key for key in entity_ids(core) if before.locate(key) is None)
    outcomes |= dict.fromkeys(entered, "promoted")
    decided = tuple(structs.replace(it, outcome=outcomes.get(it.entity_id, "not_asked")) for it in decisions)
    promoted = tuple(it.entity_id for it in decided if it.outcome == "promoted")
    evicted_ids = tuple(key for key in evicted if before.locate(key) and not core.locate(key))
    return Placement(core, decided, promoted, evicted_ids)


def show_successors(
    core: CoreTier, successors: Mapping[str, Entity | None], access: AccessTable, view: View
) -> CoreTier:
    """Return core with each ended fact replaced by its successor.

    `successors` maps the id of each ended fact to the current fact in its place; None if that is not of this
    text. A successor that needs room which only an eviction would give is left out.
    """
    shown = [(core.locate(key), entity) for key, entity in successors.items()]
    core = without(core, tuple(successors))
    for found, entity in shown:
        if found is not None and entity is not None and core.locate(entity.id) is None:
            entry = entry_of(entity, found[1].promoted_ms)
            scores = scores_of(core, access, view.now_ms)
            admission = admit(core, entry, entity.block, 0, scores, view.config)
            # Score 0 evicts nothing for an ordinary fact, but a fact about the agent itself evicts any entry,
            # and the reply would not name the evicted one.
            core = core if admission.evicted_ids else admission.core
    return core


# The operation.


RECEIPT: Final = Fact("receipt", Receipt | None)
VECTORS: Final = Fact("vectors", tuple[tuple[int, ...] | None, ...])  # one for each changed draft, in order
ROUTES: Final = Fact("routes", tuple[RoutingDecision, ...])  # one for each changed draft, in order

# seen: look up the receipt of an earlier request with this key.


def ask_seen(facts: Facts, view: View) -> Read | None:
    if facts[REQUEST_KEY] is None:
        return None
    return Read(ByIds((address(view.scope, "receipt", key_of(facts, view)),)))


def take_seen(facts: Facts, answer: ReadDone, view: View) -> TakeResult:
    receipt = next(iter(bodies_of(answer.rows, Receipt)), None)
    if receipt is None:
        return Learned(RECEIPT(None))
    if receipt.request_digest != request_digest(facts):
        return Rejection(KeyReused(str(facts[REQUEST_KEY])))
    if not isinstance(receipt.value, Repeatable):
        return Unusable("no reply")  # damaged: requests with a key store only repeatable values
    view.marks.append("request key known: replied from the receipt")
    return Learned(RECEIPT(receipt), skip_to="reply")


SEEN = Step(
    "seen", requires=(commits.REQUEST, REQUEST_KEY), produces=(RECEIPT,), skips_to=("reply",),
    **asks(Read, ask_seen, take_seen, retry(3)),
)  # fmt: skip


KNOWN_ANSWER = Law(
    "a receipt holds what was replied", (RECEIPT,),
    lambda facts, scope: isinstance(getattr(facts[RECEIPT], "value", None), Repeatable),
)  # fmt: skip


# lookup: read the stored facts with the ids of these statements, and draft the facts of this text.


def claim_entities(facts: Facts, view: View) -> tuple[str, ...]:
    mentions = facts[MENTIONS]
    return claim_mentions(mentions, view.scope)


def ask_lookup(facts: Facts, view: View) -> Read:
    return Read(ByIds(list_addresses(facts, view)))


def list_addresses(facts: Facts, view: View) -> tuple[Address, ...]:
    """Return the addresses under which the facts of this text may be stored, and that of core."""
    ids = [id_of(mention, view.scope) for mention in facts[MENTIONS]]
    rows = [address(view.scope, kind, key) for key in ids for kind in PLACES]
    return (*rows, address(view.scope, "core"))


def take_lookup(facts: Facts, answer: ReadDone, view: View) -> Learned:
    rows, core = index_rows(answer), read_core(answer, view)
    request, mentions = facts[REQUEST], facts[MENTIONS]
    drafts = (
        tuple(draft_fact(it, request, rows, view) for it in mentions)
        if isinstance(request, Remember)
        else tuple(look_up_fact(it, SharedOptions(), rows, view) for it in mentions)
    )
    return Learned(DRAFTS(keep_ended(drafts, facts[STATED])) | CORE(core))


# embed and route: for changed drafts only.


def list_changed(facts: Facts) -> tuple[Drafted, ...]:
    return tuple(draft for draft in facts[DRAFTS] if draft.is_changed)


def ask_vectors(facts: Facts, view: View) -> Embed | None:
    entities = [draft.entity for draft in list_changed(facts)]
    if not entities or not facts[ANY_REQUEST].embed:
        return None
    return Embed(tuple(embedded_text(entity) for entity in entities))


def take_vectors(facts: Facts, answer: Embedded | None, view: View) -> TakeResult:
    return learn_vectors(answer, len(list_changed(facts)), "no_vectors", VECTORS, view)


def no_vectors(facts: Facts, reason: str = "") -> Mapping[str, object]:
    return VECTORS((None,) * len(list_changed(facts)))


def ask_routes(facts: Facts, view: View) -> AskModel | None:
    entities = tuple(draft.entity for draft in list_changed(facts))
    if not entities or not view.config.semantic_routing:
        return None
    return AskModel("route", ask_route(entities, facts[STATED], facts[STATED_ON]))


def take_routes(facts: Facts, answer: ModelReplied | None, view: View) -> TakeResult:
    if answer is None:
        return Learned(by_table(facts))
    routes = parse_routes(answer.text, tuple(draft.entity for draft in list_changed(facts)), view.config)
    if isinstance(routes, replies.UnusableReply):
        return Unusable(routes.reason)
    partial = tuple(("partial", reason, 1) for reason in routes.degraded)
    return Learned(ROUTES(routes.decisions), degraded=partial, shapes=routes.shapes)


def by_table(facts: Facts, reason: str = "") -> Mapping[str, object]:
    return ROUTES(tuple(table_decision(draft.entity) for draft in list_changed(facts)))


# plan: compute rows, core and the reply.


def take_plan(facts: Facts, answer: None, view: View) -> Learned:
    drafts = chain_drafts(place_drafts(facts), facts[STATED], view.tiers.session.last_fact)
    entities = tuple(draft.entity for draft in drafts)
    names = tuple(name for it in entities for name in (it.name, *it.others))
    last = next(reversed(order_by_text(entities, facts[STATED])), None)
    spoken = facts[REQUEST].text, names, last, tuple(it.id for it in entities)
    return Learned(PLAN(structs.replace(plan_of(drafts, facts, view), spoken=spoken)))


def plan_of(drafts: tuple[Drafted, ...], facts: Facts, view: View) -> Plan:
    core = facts[CORE]
    compared = compare(drafts, facts, view)
    drafts, ended = compared.drafts, compared.ended
    entities = compared.current
    decided = {it.entity_id: it for it in list_decisions(facts, drafts)}
    decisions = tuple(decided[it.id] for it in entities)
    access = view.tiers.access.record_accesses(entities, view.now_ms, entity_ids(core))
    succeeded = show_successors(core, compared.replaced_by, access, view)
    placement = admit_promoted(entities, decisions, core, succeeded, access, view)
    is_moved = placement.core.blocks != core.blocks
    # This commit also writes the access records that are not stored yet, so they need none of their own.
    access_writes = access.writes(view.scope, ended)
    value = Remembered(
        tuple(Stored(draft.entity.id, draft.entity.version, draft.change) for draft in drafts),
        compared.relations,
        placement.decisions, placement.promoted, placement.evicted, facts[DROPPED], compared.dropped_count,
        ended=ended,
    )  # fmt: skip
    return Plan(
        view.now_ms,
        writes=(*entity_rows(drafts, facts, view, compared.past), *compared.writes, *access_writes),
        expects=compared.expects,
        core=placement.core if is_moved else None,
        value=value,
        accessed=entities,
        forgotten=ended,
        decisions=placement.decisions,
    )


def place_drafts(facts: Facts) -> tuple[Drafted, ...]:
    """Return the drafts with the blocks that routing chose; a draft without its vector is marked."""
    drafts, routes, vectors = facts[DRAFTS], facts[ROUTES], facts[VECTORS]
    # There is a route and a vector for each changed draft, in order, and none for the others:
    #
    #     drafts   Ann (new)   Bob (known)   Eve (new)
    #     routes   first           -         second
    todo = iter(zip(routes, vectors, strict=True))
    return tuple(place_draft(draft, *next(todo), facts) if draft.is_changed else draft for draft in drafts)


def place_draft(draft: Drafted, route: RoutingDecision, vector: object, facts: Facts) -> Drafted:
    # If the request wants no vectors, none is missing, and rebalance must not add one.
    missing = vector is None and facts[ANY_REQUEST].embed
    return structs.replace(
        draft, entity=structs.replace(draft.entity, block=route.block, vector_missing=missing)
    )


def list_decisions(facts: Facts, drafts: tuple[Drafted, ...]) -> tuple[RoutingDecision, ...]:
    """Return one decision for each fact, in their order; an unchanged fact keeps its block."""
    routes = facts[ROUTES]
    todo, changes = iter(routes), ((draft.is_changed, draft.entity) for draft in drafts)
    return tuple(
        next(todo) if is_changed else RoutingDecision(it.id, it.block, False, None, "", "kept", None)
        for is_changed, it in changes
    )


def entity_rows(
    drafts: Iterable[Drafted],
    facts: Facts,
    view: View,
    past: Mapping[str, tuple[Write, ...]] = MappingProxyType({}),
) -> tuple[Write, ...]:
    """Return the writes of these facts, with the vectors of new ones; `past`: writes of facts that end."""
    writes = (past[it.entity.id] if it.entity.id in past else rows_of(it, facts, view) for it in drafts)
    return tuple(chain.from_iterable(writes))


def rows_of(draft: Drafted, facts: Facts, view: View) -> Iterable[Write]:
    """Yield the writes of one fact: its row if that changed, and its vector if the fact is new."""
    entity, scope = draft.entity, view.scope
    if draft.is_row_changed and draft.past is not None and draft.stays_ended:
        yield put(scope, "ended", entity.id, structs.replace(draft.past, fact=entity))
    elif draft.is_row_changed:
        yield put(scope, "entity", entity.id, entity)
    if not draft.is_changed:
        return
    if draft.has_ended:
        yield put(scope, "ended", entity.id, None)
    vector = vectors_of(facts)[entity.id]
    row = None if vector is None else Vector(entity.id, entity.version, vector)
    yield put(scope, "vector", entity.id, row)


def vectors_of(facts: Facts) -> dict[str, tuple[int, ...] | None]:
    """Return the new vectors by the ids of the changed facts; None where the embedder gave none."""
    vectors = facts[VECTORS]
    return {draft.entity.id: it for draft, it in zip(list_changed(facts), vectors, strict=True)}


# Laws about several facts.


def are_of_mentions(facts: Facts, scope: Scope) -> bool:
    own = [draft.entity.id for draft in facts[DRAFTS]]
    return own == [id_of(mention, scope) for mention in facts[MENTIONS]]


# reply.


def take_reply(facts: Facts, answer: None, view: View) -> Learned:
    receipt = facts[RECEIPT]
    return Learned(OUTCOME(Done(facts[STORED] if receipt is None else as_repeated(receipt.value))))


REPLY = Step("reply", requires=(RECEIPT, STORED), produces=(OUTCOME,), take=take_reply)

PLANNED_FROM = (
    REQUEST, STATED, MENTIONS, DROPPED, DRAFTS, *COMPARED_FROM, CORE, VECTORS, ROUTES,
)  # fmt: skip

VECTORS_LAW: Final = Law(
    "a vector or none for each change", (DRAFTS, VECTORS),
    lambda facts, scope: len(facts[VECTORS]) == len(list_changed(facts)),
)  # fmt: skip
STATEMENT_LAWS: Final = (
    Law("a draft for each mention", (MENTIONS, DRAFTS), are_of_mentions),
    *COMPARE_LAWS,
    ENDING_LAW,
    VECTORS_LAW,
    Law("a route for each change", (DRAFTS, ROUTES),
        lambda facts, scope: len(facts[ROUTES]) == len(list_changed(facts))),
)  # fmt: skip

REMEMBER = Workflow(
    "remember",
    given=(REQUEST, REQUEST_KEY),
    steps=(
        DATE,
        SEEN,
        EXTRACT,
        Step("lookup", requires=(REQUEST, STATED, MENTIONS), produces=(DRAFTS, CORE), claims=claim_entities,
             **asks(Read, ask_lookup, take_lookup, retry(3))),
        *COMPARE,
        Step("embed", requires=(ANY_REQUEST, DRAFTS), produces=(VECTORS,),
             **asks(Embed, ask_vectors, take_vectors, retry(2, then=Degrade("no_vectors", no_vectors)))),
        Step("route", requires=(ANY_REQUEST, STATED, STATED_ON, DRAFTS), produces=(ROUTES,),
             **asks(AskModel, ask_routes, take_routes, retry(2, then=Degrade("table", by_table)))),
        Step("plan", requires=PLANNED_FROM, produces=(PLAN,), take=take_plan),
        # A conflict goes back to `lookup`; the model is not asked again to extract the statements.
        commit_row(replan="lookup"),
        SETTLE,
        REPLY,
    ),
    laws=(KNOWN_ANSWER, *STATEMENT_LAWS),
)  # fmt: skip
