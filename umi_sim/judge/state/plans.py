"""Commits as they are planned: which entries enter core, which leave, and why.

Law 1. An entry leaves only if that was asked for, or if its room was needed; the reply names it.
Law 2. Which entries leave, enter or are refused is what walk.py says, the simpler second implementation.
Law 3. A commit touches its own scope, and for what leaves core it deletes nothing.

A plan is judged in the step that made it, because scores move with time and accesses. If an access was
counted in that same step, before or after the plan, both tables are tried.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from umi_core.config import Config
from umi_core.kelpie.requests import AddArchival, DeleteArchival, DeleteBlock
from umi_core.limits import ACCESS_PRUNE_MS, ENTRY_TEXT_BYTES_MAX
from umi_core.messages.effects import Commit, Write
from umi_core.messages.requests import (
    Forget,
    ForgetResource,
    LoadSession,
    Memorize,
    Remember,
    RemoveBlock,
    UpdateEntity,
)
from umi_core.policies import promotion
from umi_core.policies.routing import SELF_BLOCK
from umi_core.rows import AccessRecord, Ended, Entity, Relation, Row
from umi_core.state import Operation, State
from umi_core.tiers.archive import AccessTable
from umi_core.tiers.core import CoreTier, entry_of
from umi_core.values import ENDING_KINDS, EVOLUTION_KINDS, RoutingDecision, Scope
from umi_sim.judge.plain.pairs import JUDGED_COUNT, ToldFact, list_new, list_pairs
from umi_sim.judge.state.accesses import check_recorded, prune_fault
from umi_sim.judge.state.eviction import ReferenceEviction, ScoredEntry
from umi_sim.judge.state.homes import check_homes
from umi_sim.judge.state.tiers import bytes_of_entry, bytes_of_text, check_core_limits, slot_of
from umi_sim.judge.state.vectors import check_written
from umi_sim.record import rules
from umi_sim.record.broken import Broken, demand


@runtime_checkable
class Planned(Protocol):
    """The fact `plan` of a workflow, which lies a layer above this file."""

    at_ms: int
    core: CoreTier | None
    value: object
    accessed: tuple[Entity, ...]
    forgotten: tuple[str, ...]
    pruned: tuple[AccessRecord, ...]
    decisions: tuple[RoutingDecision, ...] | None


RowVersion = tuple[str, int]  # id and version


class RememberDraft(Protocol):
    """A draft of a remember, which lies a layer above this file."""

    entity: Entity
    old: Entity | None
    past: Ended | None


def check_new_plan(operation: Operation, state: State, access_before: AccessTable) -> None:
    """Check the commit that this operation has just asked for the first time, if it is one."""
    if not isinstance(operation.asked, Commit):
        return
    check_scope(operation.asked.writes, state.scope)
    check_relations(operation.asked.writes, operation.facts)
    check_compared(operation.facts)
    check_marked(operation.asked.writes, operation.facts)
    check_written(operation.facts, operation.asked.writes)
    now = state.tiers.access
    tables = (now,) if access_before.records is now.records else (now, access_before)
    check_plan(operation.facts, operation.asked.writes, tables, state.config)


def check_scope(writes: Iterable[Write], scope: Scope) -> None:
    for write in writes:
        of = write.address
        # A session belongs to a user, not to one agent: its
        # row lies in a scope of its own, (user, session id).
        own = of.scope == scope or (of.kind == "session" and of.scope == Scope(scope.user, of.id))
        demand(own, rules.WRITE_SCOPE, "a row of another scope is written", scope, of)


def check_relations(writes: Iterable[Write], facts: Mapping[str, object]) -> None:
    """Demand that each new relation is between two facts that a model was asked about."""
    questions = facts.get("pairs")
    if not isinstance(questions, tuple):
        return
    asked = {(read_ref(old), read_ref(new)): None for pairs in questions for new, old in pairs}
    for relation in (write.body for write in writes):
        if isinstance(relation, Relation) and relation.kind in EVOLUTION_KINDS:
            ends = relation.source, relation.target
            # A new fact that a known one ends is the source.
            is_asked = ends in asked or (relation.kind in ENDING_KINDS and ends[::-1] in asked)
            demand(is_asked, rules.RELATION_ENDS, "a relation that was not asked about", list(asked), ends)


def check_compared(facts: Mapping[str, object]) -> None:
    """Demand that each new fact is compared, up to a limit, and that all its candidates are asked about."""
    request, drafts, candidates = (facts.get(name) for name in ("request", "drafts", "candidates"))
    if not isinstance(drafts, tuple) or not isinstance(candidates, tuple):
        return
    stated, is_wanted = str(facts.get("stated")), getattr(request, "evolve", True)
    drafted = [ToldFact(it.entity, it.old is None, None not in (it.old, it.past)) for it in drafts]
    due = list_new(drafted, stated) if is_wanted else []
    fresh, pairs = facts.get("fresh"), facts.get("pairs")
    got = [it.entity.id for it in fresh] if isinstance(fresh, tuple) else []
    demand(got == due, rules.COMPARED, "the new facts that are compared", due, got)
    asked_about = [pair for question in pairs for pair in question] if isinstance(pairs, tuple) else []
    found = [[(row.score_ppm or 0, row.address.id) for row in rows] for rows in candidates]
    wanted = list_pairs(drafted, stated, found) if is_wanted else []
    ends = [(read_ref(new)[0], read_ref(old)[0]) for new, old in asked_about]
    ends = ends[: len(wanted)] if len(due) > JUDGED_COUNT else ends
    demand(ends == wanted, rules.COMPARED, "the pairs that a model is asked about", wanted, ends)


def check_marked(writes: Iterable[Write], facts: Mapping[str, object]) -> None:
    """Demand that a new current fact has a vector, or is marked as lacking one that a scan adds."""
    request, drafts = facts.get("request"), facts.get("drafts")
    if isinstance(request, Remember | AddArchival | LoadSession) and isinstance(drafts, tuple):
        rows = {(write.address.kind, write.address.id): write.body for write in writes}
        fresh = (draft.entity.id for draft in drafts if draft.old is None)
        for key in (key for key in fresh if rows.get(("ended", key)) is None):
            entity, is_lacking = rows.get(("entity", key)), rows.get(("vector", key)) is None
            is_due = is_lacking and request.embed
            holds = isinstance(entity, Entity) and entity.vector_missing == is_due and ("vector", key) in rows
            demand(holds, rules.INDEX_FOLLOWS_ROW, f"{key} lacks a vector and is marked so", is_due, entity)


def read_ref(ref: str) -> RowVersion:
    """Return the id and the version of a fact that is named in a question."""
    key, _, version = ref.partition("@")
    return key, int(version)


def check_plan(
    facts: Mapping[str, object], writes: Sequence[Write], tables: Sequence[AccessTable], config: Config
) -> None:
    """Check what a plan does to core.

    `facts` are of an operation that has planned; one of `tables` is what it scored with.
    """
    plan, core = facts.get("plan"), facts.get("core")
    if not isinstance(core, CoreTier) or not isinstance(plan, Planned):  # the second takes longer
        return
    after = core if plan.core is None else plan.core
    asked_ids = asked_to_leave(facts.get("request"), core, plan)
    change = CoreChange(core, after, plan, asked_ids, endings_of(writes))
    if plan.core is not None:
        check_core_limits(plan.core, config)
    check_named(change, facts.get("request"))
    check_leaving(change, writes)
    check_entering(change)
    check_homes(core, after, plan.decisions, plan.accessed, facts.get("rows"))
    check_recorded(plan.accessed, writes)
    if "gone" in facts:  # of a scan
        removed, inside = facts["gone"], ids_of(core)
        require_one_sound([prune_fault(plan.pruned, removed, inside, table, plan.at_ms) for table in tables])
    # Scores decide what leaves, and an access of this very
    # step changes scores: one of both tables must fit.
    require_one_sound([find_eviction_fault(change, facts, table, config) for table in tables])
    if change.left_ids:  # found to be needed, and the weakest
        demand(True, rules.DISPLACEMENT if change.entered_ids else rules.FEWEST_VICTIMS, "")


def require_one_sound(faults: Sequence[Broken | None]) -> None:
    """Raise the first fault unless one of the tables has none."""
    if faults[0] is not None and None not in faults:
        raise faults[0]


def asked_to_leave(request: object, core: CoreTier, plan: Planned) -> tuple[str, ...]:
    """Return the ids that may leave core because the request removes or ends their facts."""
    match request:
        case ForgetResource() | DeleteArchival():
            return tuple(key for key in ids_of(core) if key in plan.forgotten)
        case UpdateEntity(entity_id=entity_id):
            # another text makes another fact with another id: then the old one leaves
            return () if entity_id in [it.id for it in plan.accessed] else (entity_id,)
        case Forget(entity_id=entity_id):
            return (entity_id,)
        case Remember() | AddArchival() | Memorize() | LoadSession():
            return tuple(getattr(find_core_reply(plan), "ended", ()))
        case RemoveBlock(kind=kind, label=label):
            block = core.find(kind, label)
            return tuple(entry.entity_id for entry in block.entries) if block else ()
        case DeleteBlock() if plan.core is not None:
            # The request names a block by id or label; the reply has
            # its label, and what is missing afterwards has gone.
            there, named = {slot_of(block) for block in plan.core.blocks}, getattr(plan.value, "label", None)
            removed = [block for block in core.blocks if slot_of(block) not in there]
            left = [block.entries for block in removed if (block.label or block.kind) == named]
            return tuple(entry.entity_id for entries in left for entry in entries)
    return ()


class CoreChange(NamedTuple):
    """Core as it was read and as it is planned, the ids of it that the request named, and what ends what."""

    before: CoreTier
    after: CoreTier
    plan: Planned
    asked_ids: tuple[str, ...]
    endings: Mapping[str, str]

    @property
    def left_ids(self) -> tuple[str, ...]:
        """List the ids that leave without having been named, in the order of core."""
        there = (*ids_of(self.after), *self.asked_ids)
        return tuple(key for key in ids_of(self.before) if key not in there)

    @property
    def entered_ids(self) -> tuple[str, ...]:
        was = ids_of(self.before)
        return tuple(key for key in ids_of(self.after) if key not in was)

    @property
    def evicted_ids(self) -> Collection[str]:
        """List the ids that leave according to the reply."""
        evicted: Collection[str] = getattr(find_core_reply(self.plan), "evicted", self.left_ids)
        return evicted


def endings_of(writes: Iterable[Write]) -> Mapping[str, str]:
    """Return by the id of each fact that these writes end the id of the fact that ends it."""
    return {it.body.id: it.body.by for it in writes if isinstance(it.body, Ended)}


def find_core_reply(plan: Planned) -> object:
    """Return the part of the reply that is about core."""
    return getattr(plan.value, "facts", plan.value)


def ids_of(core: CoreTier) -> tuple[str, ...]:
    return tuple(entry.entity_id for _, entry in core.entries())


def check_named(change: CoreChange, request: object) -> None:
    there = ids_of(change.after)
    stays = [key for key in change.asked_ids if key in there]
    is_forgotten = isinstance(request, Forget | ForgetResource | DeleteArchival)
    rule = rules.DELETED_STAYS_DELETED if is_forgotten else rules.CORE_BIJECTION
    demand(not stays, rule, "who was named in the request stays in core", (), stays)


def check_leaving(change: CoreChange, writes: Iterable[Write]) -> None:
    left = change.left_ids
    removed = [key for key in left if is_self(change.before, key)]
    demand(
        not removed,
        rules.SELF_STAYS,
        "a self entry leaves core, and the request does not name it",
        (),
        removed,
    )
    untold = [key for key in left if key not in change.evicted_ids]
    demand(not untold, rules.CORE_BIJECTION, "entries leave core, and the reply does not say so", (), untold)
    was = ids_of(change.before)
    strange = [key for key in change.evicted_ids if key not in was]
    message = "entries leave core by the reply that were not in it"
    demand(not strange, rules.CORE_BIJECTION, message, (), strange)
    deleted = [write.address for write in writes if write.body is None]
    lost = [of.id for of in deleted if of.kind == "entity" and of.id in left]
    demand(not lost, rules.ARCHIVE_UNTOUCHED, "what leaves core is deleted from the archive", (), lost)


def is_self(core: CoreTier, entity_id: str) -> bool:
    home = core.home_of(entity_id)
    return home is not None and home[0].kind == SELF_BLOCK


def check_entering(change: CoreChange) -> None:
    """Demand that the reply names the promotions core will show, and that only asked entities enter."""
    plan = change.plan
    check_promoted(change, getattr(find_core_reply(plan), "promoted", change.entered_ids))
    if plan.decisions is not None:
        named = [entity.id for entity in plan.accessed]
        decided = [decision.entity_id for decision in plan.decisions]
        demand(decided == named, rules.ROUTE_PER_ENTITY, "decisions, one for each entity", named, decided)
        check_promoted(change, [it.entity_id for it in plan.decisions if it.outcome == "promoted"])


def check_promoted(change: CoreChange, ids: Iterable[str]) -> None:
    """Compare `told`, the promoted ids of a reply, with those that enter.

    An entry that left and came back in the same plan may be named or not.
    """
    came_back = [key for key in ids_of(change.before) if key in change.evicted_ids]
    promoted = sorted(key for key in ids if key not in came_back)
    entered = sorted(change.entered_ids)
    ids = "the promoted entries, as core will show them"
    demand(promoted == entered, rules.ROUTE_KNOWN_ONLY, ids, entered, promoted)


# Against the twin.


def find_eviction_fault(
    change: CoreChange, facts: Mapping[str, object], access: AccessTable, config: Config
) -> Broken | None:
    """Return what is wrong with the entries of core after the plan; None if nothing is."""
    scored = find_scoring_table(change, access)
    successors, candidates = successors_of(change, scored), candidates_of(change, facts, scored)
    texts = {slot_of(block): bytes_of_text(block) for block in change.after.blocks}
    walk = ReferenceEviction(config, texts, seats_of(change, scored))
    # The reference plays the same game in the same order:
    # room for text first, then successors, then candidates.
    if not walk.make_room():
        return None  # authored text and self alone are too large: recovery says so and gives up
    for candidate in successors:
        walk.admit(candidate, is_successor=True)
    for candidate in candidates:
        if candidate.entity_id not in walk.candidates:
            walk.admit(candidate)
    asking = {candidate.entity_id: candidate for candidate in (*successors, *candidates)}
    return difference(walk, seats_of(change, scored) | asking, change)


def difference(
    walk: ReferenceEviction, candidates: dict[str, ScoredEntry], change: CoreChange
) -> Broken | None:
    """Return the rule that breaks where plan and reference differ.

    `candidates` are of all entries that were in core or asked for a place.
    """
    expected, got = sorted(walk.candidates), sorted(ids_of(change.after))
    if expected == got:
        return None
    planned = ReferenceEviction(
        walk.config, walk.texts, {key: candidates[key] for key in got if key in candidates}
    )
    missing = [key for key in expected if key not in got]
    intruders = [key for key in got if key not in expected and key in change.entered_ids]
    is_needless = any(planned.has_room_for(candidates[key]) for key in missing)
    is_over_quota = any(key in candidates and candidates[key].is_self for key in intruders)
    # c is in core, a is not: c displaced a wrongly; with room for a, it left or was refused without need
    rule = rules.CORE_LIMITS if is_over_quota else rules.DISPLACEMENT if intruders else rules.FEWEST_VICTIMS
    return Broken(
        rules.FEWEST_VICTIMS if is_needless else rule, "entries of core after the plan", expected, got
    )


def find_scoring_table(change: CoreChange, access: AccessTable) -> AccessTable:
    """Return the records to score with: of a remember, as they will be after its commit."""
    plan = change.plan
    return (
        access.record_accesses(plan.accessed, plan.at_ms, ids_of(change.before)) if plan.accessed else access
    )


def score_of(entity_id: str, access: AccessTable, at_ms: int) -> int:
    """Return the score of an entry; 0, the first to leave, if it has no record."""
    record = access.records.get(entity_id)
    return promotion.score_ppm(record, at_ms) if record else 0


def seats_of(change: CoreChange, access: AccessTable) -> dict[str, ScoredEntry]:
    """Return by id the entries that were in core and that the request did not name."""
    at_ms, candidates = change.plan.at_ms, dict[str, ScoredEntry]()
    for block, entry in change.before.entries():
        key = entry.entity_id
        if key not in change.asked_ids:
            candidates[key] = ScoredEntry(
                key, block.kind, bytes_of_entry(entry), score_of(key, access, at_ms)
            )
    return candidates


def candidates_of(change: CoreChange, facts: Mapping[str, object], access: AccessTable) -> list[ScoredEntry]:
    """Return the facts that ask for a place, in order."""
    plan, rows, candidates = change.plan, facts.get("rows"), list[ScoredEntry]()
    if plan.decisions is not None:
        entities = {entity.id: entity for entity in plan.accessed}
        wanting = [(entities[it.entity_id], it.block) for it in plan.decisions if it.promote]
        candidates = best_first(candidates_for(wanting, access, plan.at_ms))
        # Sorting is stable: self entries come first, and among each group the best stay first.
        candidates.sort(key=lambda candidate: not candidate.is_self)
    elif isinstance(rows, tuple):
        found = [row.body for row in rows if isinstance(row, Row) and isinstance(row.body, Entity)]
        fresh = [entity for entity in found if is_fresh(entity.id, access, plan.at_ms)]
        candidates = best_first(candidates_for([(it, it.block) for it in fresh], access, plan.at_ms))
    inside = ids_of(change.before)
    return [candidate for candidate in candidates if candidate.entity_id not in inside]


def successors_of(change: CoreChange, access: AccessTable) -> list[ScoredEntry]:
    """Return the facts that end one in core, once each, in the order in which they ask for its place."""
    entities, inside = {entity.id: entity for entity in change.plan.accessed}, ids_of(change.before)
    by = [find_last(new, change.endings) for old, new in change.endings.items() if old in inside]
    # A forget that takes a relation from a fact that ended earlier ends nothing: nothing asks for its place.
    asking = dict.fromkeys(new for new in by if new not in inside and new in entities)
    return candidates_for([(entities[key], entities[key].block) for key in asking], access, change.plan.at_ms)


def find_last(key: str, endings: Mapping[str, str]) -> str:
    """Return what is current in the place of a fact that may have ended in the same commit."""
    for _ in endings:
        key = endings.get(key, key)
    return key


def candidates_for(
    wanting: Iterable[tuple[Entity, str]], access: AccessTable, at_ms: int
) -> list[ScoredEntry]:
    """Return a place for each fact with its block, but for facts that are too long for an entry."""
    entries = [(entry_of(entity, at_ms), kind) for entity, kind in wanting]
    fitting = [(it, kind) for it, kind in entries if len(it.text.encode()) <= ENTRY_TEXT_BYTES_MAX]
    return [
        ScoredEntry(it.entity_id, kind, bytes_of_entry(it), score_of(it.entity_id, access, at_ms))
        for it, kind in fitting
    ]


def best_first(candidates: list[ScoredEntry]) -> list[ScoredEntry]:
    return sorted(candidates, key=lambda candidate: (-candidate.score_ppm, candidate.entity_id))


def is_fresh(entity_id: str, access: AccessTable, at_ms: int) -> bool:
    """Return True if an entity has a record that is not about to be pruned."""
    record = access.records.get(entity_id)
    return record is not None and record.last_ms >= at_ms - ACCESS_PRUNE_MS
