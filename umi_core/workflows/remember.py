"""remember: a text becomes entities, versions and vectors, in one commit.

Law 1. No failure of model or embedder loses the text. Law 2. All of it is stored, or nothing is.
Law 3. A mention whose lines are all known changes nothing; else it is the next version, with its relation.
Law 4. What becomes of core stands in placing.py.
"""

from collections.abc import Iterable, Mapping

import attrs

from umi_core.engine.workflow import Degrade, Learned, Refuse, Step, Taken, Unusable, Workflow, nothing, retry
from umi_core.errors import KeyReused
from umi_core.ids import relation_id
from umi_core.language import replies
from umi_core.language.evolution import NEEDS_RESOLUTION_MIN_PPM
from umi_core.language.extraction import fallback_note, parse_extraction
from umi_core.language.prompts import ask_extract, ask_route
from umi_core.language.routing import parse_routes
from umi_core.limits import ENTITY_VERSION_COUNT_MAX
from umi_core.messages.answers import Answer, Embedded, ModelReplied
from umi_core.messages.effects import AskModel, ByIds, Done, Embed, Expect, Read, Write
from umi_core.messages.results import Remembered, Stored, as_repeated
from umi_core.policies.routing import table_decision
from umi_core.policies.similarity import sound_vectors
from umi_core.rows import Entity, Receipt, Relation, Vector, Version
from umi_core.state import Facts, View
from umi_core.tiers.core import CoreTier
from umi_core.values import EVOLUTION_KINDS, RoutingDecision, Scope
from umi_core.workflows.commits import (
    SETTLE,
    Plan,
    address,
    adopt,
    as_read,
    commit_row,
    core_of,
    entity_ids,
    found,
    key_of,
    put,
    request_digest,
)  # fmt: skip
from umi_core.workflows.drafting import Drafted, drafted, embedded_text, id_of, ref
from umi_core.workflows.evolving import CANDIDATES, EVOLVE, asked, drafts_of
from umi_core.workflows.placing import place
from umi_core.workflows.relating import Related, link_ids, mentions_of, related

# seen: the request key may be known already.


def ask_seen(facts: Facts, view: View) -> Read | None:
    if facts["request_key"] is None:
        return None
    return Read(ByIds((address(view.scope, "receipt", key_of(facts, view)),)))


def take_seen(facts: Facts, answer: Answer | None, view: View) -> Taken:
    row = next(iter(found(answer).values()), None) if answer else None
    if row is None:
        return Learned({"receipt": None})
    assert isinstance(row.body, Receipt)
    if row.body.request_digest != request_digest(facts):
        return Refuse(KeyReused(str(facts["request_key"])))
    view.marks.append("request key known: replied from the receipt")
    return Learned({"receipt": row.body}, skip_to="reply")


SEEN = Step(
    "seen", requires=("request", "request_key"), produces=("receipt",), skips_to=("reply",),
    effect=Read, ask=ask_seen, take=take_seen, on_failure=retry(3),
)  # fmt: skip


# extract: names and what is said about them.


def ask_extraction(facts: Facts, view: View) -> AskModel | None:
    request = asked(facts)
    return AskModel("extract", ask_extract(request.text)) if request.extract else None


def take_extraction(facts: Facts, answer: Answer | None, view: View) -> Taken:
    text = asked(facts).text
    if answer is None:
        return Learned(one_note(facts))
    assert isinstance(answer, ModelReplied)
    extraction = parse_extraction(answer.text, text, view.config)
    if isinstance(extraction, replies.Unusable):
        return Unusable(extraction.reason)
    partial = (("partial", "malformed", 1),) if extraction.partial else ()
    learned: Facts = {
        "mentions": extraction.entities,
        "links": extraction.links,
        "dropped": extraction.dropped,
    }
    return Learned(learned, degraded=partial, shapes=extraction.shapes)


def one_note(facts: Facts, reason: str = "") -> Mapping[str, object]:
    return {"mentions": (fallback_note(asked(facts).text),), "links": (), "dropped": ()}


# lookup: what is known about these names, and what this text makes of it.


def ask_lookup(facts: Facts, view: View) -> Read:
    ids = tuple(id_of(mention, view.scope) for mention in mentions_of(facts))
    rows = [address(view.scope, kind, key) for key in ids for kind in ("entity", "tombstone")]
    links = [address(view.scope, "relation", key) for key in link_ids(facts, view.scope)]
    return Read(ByIds((*rows, *links, address(view.scope, "core"))))


def take_lookup(facts: Facts, answer: Answer | None, view: View) -> Learned:
    rows = found(answer)
    core = core_of(rows, view.scope)
    adopt(view, core)
    drafts = tuple(drafted(mention, asked(facts), rows, view) for mention in mentions_of(facts))
    known = tuple(key for key in link_ids(facts, view.scope) if address(view.scope, "relation", key) in rows)
    return Learned({"drafts": drafts, "known_links": known, "core": core})


# embed and route: for what changed.


def changed(facts: Facts) -> tuple[Drafted, ...]:
    return tuple(draft for draft in drafts_of(facts, "evolved") if draft.is_changed)


def ask_vectors(facts: Facts, view: View) -> Embed | None:
    entities = [draft.entity for draft in changed(facts)]
    if not entities or not asked(facts).embed:
        return None
    return Embed(tuple(embedded_text(entity.name, entity.content) for entity in entities))


def take_vectors(facts: Facts, answer: Answer | None, view: View) -> Taken:
    if answer is None:
        return Learned(no_vectors(facts))
    assert isinstance(answer, Embedded)
    vectors = sound_vectors(answer.vectors, len(changed(facts)), view.config.embedding_dims)
    if vectors is None:
        return Unusable("wrong number of vectors")
    missing = sum(vector is None for vector in vectors)
    return Learned({"vectors": vectors}, degraded=(("no_vectors", "unsound", missing),) if missing else ())


def no_vectors(facts: Facts, reason: str = "") -> Mapping[str, object]:
    return {"vectors": (None,) * len(changed(facts))}


def ask_routes(facts: Facts, view: View) -> AskModel | None:
    entities = tuple(draft.entity for draft in changed(facts))
    if not entities or not view.config.semantic_routing:
        return None
    return AskModel("route", ask_route(entities, asked(facts).text))


def take_routes(facts: Facts, answer: Answer | None, view: View) -> Taken:
    if answer is None:
        return Learned(by_table(facts))
    assert isinstance(answer, ModelReplied)
    routes = parse_routes(answer.text, tuple(draft.entity for draft in changed(facts)), view.config)
    if isinstance(routes, replies.Unusable):
        return Unusable(routes.reason)
    partial = tuple(("partial", reason, 1) for reason in routes.degraded)
    return Learned({"routes": routes.decisions}, degraded=partial, shapes=routes.shapes)


def by_table(facts: Facts, reason: str = "") -> Mapping[str, object]:
    return {"routes": tuple(table_decision(draft.entity) for draft in changed(facts))}


# plan: rows, core and the reply, from what is known.


def take_plan(facts: Facts, answer: Answer | None, view: View) -> Learned:
    core = facts["core"]
    assert isinstance(core, CoreTier)
    relating = related({**facts, "evolved": settled(facts)}, view)
    drafts = relating.drafts
    decisions = all_decisions(facts, drafts)
    entities = tuple(draft.entity for draft in drafts)
    access = view.tiers.access.touched(entities, view.now_ms, entity_ids(core))
    placed = place(entities, decisions, core, access, view)
    is_moved = placed.core.blocks != core.blocks
    rows = tuple(write for draft in drafts for write in rows_of(draft, facts, view))
    rows += tuple(put(view.scope, "relation", relation.id, relation) for relation in relating.relations)
    rows += tuple(put(view.scope, "entity", entity.id, entity) for _, entity in relating.others)
    value = Remembered(
        tuple(Stored(draft.entity.id, draft.entity.version, draft.change) for draft in drafts),
        relating.relations, needs_resolution(relating.relations),
        placed.decisions, placed.promoted, placed.evicted, dropped(facts), relating.dropped_count,
    )  # fmt: skip
    plan = Plan(
        view.now_ms,
        writes=(*rows, *access.writes(view.scope)),
        expects=(*expected(drafts, None if is_moved else core, view.scope), *ends_as_read(relating)),
        core=placed.core if is_moved else None,
        value=value,
        accessed=entities,
        decisions=placed.decisions,
        spoken=(asked(facts).text, tuple(entity.name for entity in entities)),
    )
    return Learned({"plan": plan})


def ends_as_read(relating: Related) -> tuple[Expect, ...]:
    return tuple(Expect(row.address, row.version) for row, _ in relating.others)


def needs_resolution(relations: tuple[Relation, ...]) -> bool:
    contradictions = (it for it in relations if it.kind == "contradict")
    return any(it.confidence_ppm >= NEEDS_RESOLUTION_MIN_PPM for it in contradictions)


def dropped(facts: Facts) -> tuple[tuple[int, str], ...]:
    value = facts["dropped"]
    assert isinstance(value, tuple)
    return value


def settled(facts: Facts) -> tuple[Drafted, ...]:
    """The drafts with block and vector mark, as routing and embedding came out."""
    drafts, routes, vectors = drafts_of(facts, "evolved"), facts["routes"], facts["vectors"]
    assert isinstance(routes, tuple)
    assert isinstance(vectors, tuple)
    todo = iter(zip(routes, vectors, strict=True))
    return tuple(placed_draft(draft, *next(todo), facts) if draft.is_changed else draft for draft in drafts)


def placed_draft(draft: Drafted, route: RoutingDecision, vector: object, facts: Facts) -> Drafted:
    missing = vector is None and asked(facts).embed
    return attrs.evolve(draft, entity=attrs.evolve(draft.entity, block=route.block, vector_missing=missing))


def all_decisions(facts: Facts, drafts: tuple[Drafted, ...]) -> tuple[RoutingDecision, ...]:
    """One decision per entity, in entity order; what did not change keeps its block."""
    routes = facts["routes"]
    assert isinstance(routes, tuple)
    todo = iter(routes)
    return tuple(next(todo) if draft.is_changed else kept(draft.entity) for draft in drafts)


def kept(entity: Entity) -> RoutingDecision:
    return RoutingDecision(entity.id, entity.block, False, None, "", "kept", None)


def rows_of(draft: Drafted, facts: Facts, view: View) -> Iterable[Write]:
    """Current row, version and vector of one entity."""
    entity, scope = draft.entity, view.scope
    if draft.is_row_changed:
        yield put(scope, "entity", entity.id, entity)
    if not draft.is_changed:
        return
    yield put(scope, "version", ref(entity), version_of(draft, view.now_ms))
    if draft.tombstone_version:
        yield put(scope, "tombstone", entity.id, None)
    yield put(scope, "vector", entity.id, vector_of(draft, facts))
    yield from outdated(entity, scope)


def version_of(draft: Drafted, now_ms: int) -> Version:
    entity = draft.entity
    kind = draft.verdict.kind if draft.verdict else None
    return Version(
        entity.id, entity.version, draft.mention, kind, entity.content, entity.event_time_ms, entity.metadata,
        entity.source, now_ms,
    )  # fmt: skip


def vector_of(draft: Drafted, facts: Facts) -> Vector | None:
    vectors = facts["vectors"]
    assert isinstance(vectors, tuple)
    at = next(n for n, other in enumerate(changed(facts)) if other.entity.id == draft.entity.id)
    return None if vectors[at] is None else Vector(draft.entity.id, draft.entity.version, vectors[at])


def outdated(entity: Entity, scope: Scope) -> Iterable[Write]:
    """Version n takes version n-100 with it, and the relation from there, whatever its kind."""
    last = entity.version - ENTITY_VERSION_COUNT_MAX
    if last < 1:
        return
    yield put(scope, "version", f"{entity.id}@{last}", None)
    for kind in EVOLUTION_KINDS:
        yield put(scope, "relation", relation_id(scope, (entity.id, last), (entity.id, last + 1), kind), None)


def expected(drafts: tuple[Drafted, ...], core: CoreTier | None, scope: Scope) -> tuple[Expect, ...]:
    """Every row as it was read; `core` if it is not written, and may come to show an old version."""
    rows = tuple(Expect(address(scope, "entity", draft.entity.id), draft.row_version) for draft in drafts)
    graves = tuple(
        Expect(address(scope, "tombstone", draft.entity.id), draft.tombstone_version)
        for draft in drafts
        if not draft.row_version
    )
    has_updates = any(draft.is_next for draft in drafts)
    return rows + graves + ((as_read(core, scope),) if core is not None and has_updates else ())


# reply.


def take_reply(facts: Facts, answer: Answer | None, view: View) -> Learned:
    receipt = facts["receipt"]
    if receipt is None:
        return Learned({"outcome": Done(facts["stored"])})
    assert isinstance(receipt, Receipt)
    return Learned({"outcome": Done(as_repeated(receipt.value))})


REPLY = Step("reply", requires=("receipt", "stored"), produces=("outcome",), take=take_reply)

REMEMBER = Workflow(
    "remember",
    given=("request", "request_key"),
    steps=(
        SEEN,
        Step("extract", requires=("request",), produces=("mentions", "links", "dropped"),
             otherwise=nothing("mentions", "links", "dropped"), config=(("profile", "default"),),
             effect=AskModel, ask=ask_extraction, take=take_extraction,
             on_failure=retry(2, then=Degrade("one_note", one_note))),
        Step("lookup", requires=("request", "mentions", "links"), produces=("drafts", "known_links", "core"),
             otherwise=nothing("drafts", "known_links", "core"),
             effect=Read, ask=ask_lookup, take=take_lookup, on_failure=retry(3)),
        CANDIDATES,
        EVOLVE,
        Step("embed", requires=("request", "evolved"), produces=("vectors",), otherwise=nothing("vectors"),
             config=(("profile", "default"),), effect=Embed, ask=ask_vectors, take=take_vectors,
             on_failure=retry(2, then=Degrade("no_vectors", no_vectors))),
        Step("route", requires=("request", "evolved"), produces=("routes",), otherwise=nothing("routes"),
             config=(("profile", "default"),), effect=AskModel, ask=ask_routes, take=take_routes,
             on_failure=retry(2, then=Degrade("table", by_table))),
        Step("plan",
             requires=("request", "mentions", "links", "known_links", "dropped", "candidates", "verdicts",
                       "evolved", "core", "vectors", "routes"),
             produces=("plan",), otherwise=nothing("plan"), take=take_plan),
        commit_row(replan="lookup"),
        SETTLE,
        REPLY,
    ),
)  # fmt: skip

__all__ = ["REMEMBER", "REPLY", "SEEN"]
