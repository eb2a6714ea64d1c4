"""Planned commits: which entries enter or leave core, why, and in which block they are.

Law 1. An entry leaves only if the request removes it or its room is needed; the reply names it.
Law 2. The entries that leave, enter or are refused are those of eviction.py, a simpler implementation.
Law 3. A commit writes only rows of its own scope, and deletes no fact because its entry leaves core.
Law 4. A fact enters core in the block that was decided or that is stored with it, and no entry changes its
       block. A decision has the outcome "promoted" if and only if core newly shows the fact.

A plan is judged in the step that made it, because scores change with time and accesses. If an access was
counted in the same step, before or after the plan, both access tables are tried.
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
from umi_core.rows import AccessRecord, Address, Ended, Entity, Relation, Row
from umi_core.state import Operation, State
from umi_core.tiers.archive import AccessTable
from umi_core.tiers.core import CoreTier, entry_of
from umi_core.values import ENDING_KINDS, EVOLUTION_KINDS, Entry, RoutingDecision, Scope
from umi_sim.judge.plain.pairs import JUDGED_COUNT, TextFact, list_new, list_pairs
from umi_sim.judge.state.accesses import check_recorded, prune_fault
from umi_sim.judge.state.eviction import ReferenceEviction, ScoredEntry
from umi_sim.judge.state.tiers import bytes_of_entry, bytes_of_text, check_core_limits, slot_of
from umi_sim.judge.state.vectors import check_written
from umi_sim.record import rules
from umi_sim.record.broken import Broken, demand


@runtime_checkable
class Planned(Protocol):
    """The interface of the fact `plan` of a workflow, whose class this file must not import."""

    at_ms: int
    core: CoreTier | None
    value: object
    accessed: tuple[Entity, ...]
    forgotten: tuple[str, ...]
    pruned: tuple[AccessRecord, ...]
    decisions: tuple[RoutingDecision, ...] | None


RowVersion = tuple[str, int]  # id and version


def check_new_plan(operation: Operation, state: State, access_before: AccessTable) -> None:
    """Check the question that this operation has just sent for the first time, if it is a commit."""
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
        demand(is_of_scope(of, scope), rules.WRITE_SCOPE, "the scope of a row that is written", scope, of)


def is_of_scope(address: Address, scope: Scope) -> bool:
    """Return True if a row is of this scope, or a session of its user."""
    # The row of session s of user u is in the scope (u, s), so that all agents of u can read it.
    of = address.scope
    return of is scope or of == scope or (address.kind == "session" and of == Scope(scope.user, address.id))


def check_relations(writes: Iterable[Write], facts: Mapping[str, object]) -> None:
    """Demand that a model was asked about the two facts of each new relation."""
    questions = facts.get("pairs")
    if not isinstance(questions, tuple):
        return
    asked = {(read_ref(old), read_ref(new)): None for pairs in questions for new, old in pairs}
    for relation in (write.body for write in writes):
        if isinstance(relation, Relation) and relation.kind in EVOLUTION_KINDS:
            ends = relation.source, relation.target
            # The source is the known fact, or the new one if the known fact ends it.
            is_asked = ends in asked or (relation.kind in ENDING_KINDS and ends[::-1] in asked)
            message = "a relation of facts that no model was asked about"
            demand(is_asked, rules.RELATION_ENDS, message, list(asked), ends)


def check_compared(facts: Mapping[str, object]) -> None:
    """Demand that each new fact is compared, up to a limit, with all of its candidates."""
    request, drafts, candidates = (facts.get(name) for name in ("request", "drafts", "candidates"))
    if not isinstance(drafts, tuple) or not isinstance(candidates, tuple):
        return
    stated, is_wanted = str(facts.get("stated")), getattr(request, "evolve", True)
    drafted = [TextFact(it.entity, it.old is None, None not in (it.old, it.past)) for it in drafts]
    expected = list_new(drafted, stated) if is_wanted else []
    fresh, pairs = facts.get("fresh"), facts.get("pairs")
    got = [it.entity.id for it in fresh] if isinstance(fresh, tuple) else []
    demand(got == expected, rules.COMPARED, "the new facts that are compared", expected, got)
    asked_about = [pair for question in pairs for pair in question] if isinstance(pairs, tuple) else []
    found = [[(row.score_ppm or 0, row.address.id) for row in rows] for rows in candidates]
    wanted = list_pairs(drafted, stated, found) if is_wanted else []
    ends = [(read_ref(new)[0], read_ref(old)[0]) for new, old in asked_about]
    ends = ends[: len(wanted)] if len(expected) > JUDGED_COUNT else ends
    demand(ends == wanted, rules.COMPARED, "the pairs that a model is asked about", wanted, ends)


def check_marked(writes: Iterable[Write], facts: Mapping[str, object]) -> None:
    """Demand that a new current fact has a vector, or is marked as missing it, so that a scan adds it."""
    request, drafts = facts.get("request"), facts.get("drafts")
    if isinstance(request, Remember | AddArchival | LoadSession) and isinstance(drafts, tuple):
        rows = {(write.address.kind, write.address.id): write.body for write in writes}
        fresh = (draft.entity.id for draft in drafts if draft.old is None)
        for key in (key for key in fresh if rows.get(("ended", key)) is None):
            entity, is_missing = rows.get(("entity", key)), rows.get(("vector", key)) is None
            is_required = is_missing and request.embed
            holds = (
                isinstance(entity, Entity)
                and entity.vector_missing == is_required
                and ("vector", key) in rows
            )
            message = f"whether {key} is marked as a fact without a vector"
            demand(holds, rules.INDEX_FOLLOWS_ROW, message, is_required, entity)


def read_ref(ref: str) -> RowVersion:
    """Return the id and the version in a reference such as `fct_1@2`."""
    key, _, version = ref.partition("@")
    return key, int(version)


def check_plan(
    facts: Mapping[str, object], writes: Sequence[Write], tables: Sequence[AccessTable], config: Config
) -> None:
    """Check the changes of a plan to core.

    `facts`: those of the operation; `tables`: access tables, one of which the plan has used for scores.
    """
    plan, core = facts.get("plan"), facts.get("core")
    if not isinstance(core, CoreTier) or not isinstance(plan, Planned):  # the slower check comes second
        return
    if facts.get("earlier") is not None and plan.core is None:
        # Another request has committed under this key. The plan repeats its value, which tells of core as it
        # was then, and the commit decides: the same request is repeated, a different one is refused.
        return
    after, request = core if plan.core is None else plan.core, facts.get("request")
    endings = {it.body.id: it.body.by for it in writes if isinstance(it.body, Ended)}
    change = CoreChange(core, after, plan, list_named(request, core, plan), endings)
    if plan.core is not None:
        check_core_limits(plan.core, config)
    check_named(change, request)
    check_leaving(change, writes)
    check_entering(change)
    check_blocks(core, after, plan.decisions, plan.accessed, facts.get("rows"))
    check_recorded(plan.accessed, writes)
    if "gone" in facts:  # the operation is a scan
        removed, inside = facts["gone"], ids_of(core)
        raise_unless_explained(
            [prune_fault(plan.pruned, removed, inside, table, plan.at_ms) for table in tables]
        )
    # Scores decide which entries leave, and an access in this step
    # changes scores, so one of the tables must explain the plan.
    raise_unless_explained([find_eviction_fault(change, facts, table, config) for table in tables])
    if change.left_ids:  # all needed, and the weakest
        demand(True, rules.DISPLACEMENT if change.entered_ids else rules.FEWEST_VICTIMS, "")


def raise_unless_explained(faults: Sequence[Broken | None]) -> None:
    """Raise the first fault, unless one of the faults is None: then that table explains the plan."""
    if faults[0] is not None and None not in faults:
        raise faults[0]


def list_named(request: object, core: CoreTier, plan: Planned) -> tuple[str, ...]:
    """List the ids that may leave core because the request removes or ends their facts."""
    match request:
        case ForgetResource() | DeleteArchival():
            return tuple(key for key in ids_of(core) if key in plan.forgotten)
        case UpdateEntity(entity_id=entity_id):
            # With another text the fact has another id, and the old entry leaves.
            return () if entity_id in [it.id for it in plan.accessed] else (entity_id,)
        case Forget(entity_id=entity_id):
            return (entity_id,)
        case Remember() | AddArchival() | Memorize() | LoadSession():
            return tuple(getattr(find_core_reply(plan), "ended", ()))
        case RemoveBlock(kind=kind, label=label):
            block = core.find(kind, label)
            return tuple(entry.entity_id for entry in block.entries) if block else ()
        case DeleteBlock() if plan.core is not None:
            # The request names a block by id or label, and the reply has the label. Two blocks of different
            # kinds may have it, so only those that are missing after the plan count.
            there, shown = {slot_of(block) for block in plan.core.blocks}, getattr(plan.value, "label", None)
            removed = [block for block in core.blocks if slot_of(block) not in there]
            left = [block.entries for block in removed if (block.label or block.kind) == shown]
            return tuple(entry.entity_id for entries in left for entry in entries)
    return ()


class CoreChange(NamedTuple):
    """Core as it was read, and as it is planned.

    `named_ids`: entries whose facts the request removes or ends. `endings`: by the id of each fact that the
    commit ends, the id of the fact that ends it.
    """

    before: CoreTier
    after: CoreTier
    plan: Planned
    named_ids: tuple[str, ...]
    endings: Mapping[str, str]

    @property
    def left_ids(self) -> tuple[str, ...]:
        """List the ids that leave core although the request does not name them, in the order of core."""
        there = (*ids_of(self.after), *self.named_ids)
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


def find_core_reply(plan: Planned) -> object:
    """Return the part of the reply that is about core."""
    return getattr(plan.value, "facts", plan.value)


def ids_of(core: CoreTier) -> tuple[str, ...]:
    return tuple(entry.entity_id for _, entry in core.entries())


def check_named(change: CoreChange, request: object) -> None:
    there = ids_of(change.after)
    stays = [key for key in change.named_ids if key in there]
    is_forgotten = isinstance(request, Forget | ForgetResource | DeleteArchival)
    rule = rules.DELETED_STAYS_DELETED if is_forgotten else rules.CORE_BIJECTION
    demand(not stays, rule, "entries stay in core that the request removes or ends", (), stays)


def check_leaving(change: CoreChange, writes: Iterable[Write]) -> None:
    left = change.left_ids
    own = [entry.entity_id for block, entry in change.before.entries() if block.kind == SELF_BLOCK]
    removed = [key for key in left if key in own]
    message = "entries of self leave core, and the request does not name them"
    demand(not removed, rules.SELF_STAYS, message, (), removed)
    unreported = [key for key in left if key not in change.evicted_ids]
    message = "entries leave core, and the reply does not say so"
    demand(not unreported, rules.CORE_BIJECTION, message, (), unreported)
    was = ids_of(change.before)
    strange = [key for key in change.evicted_ids if key not in was]
    message = "the reply says that entries leave core which were not in it"
    demand(not strange, rules.CORE_BIJECTION, message, (), strange)
    deleted = [write.address for write in writes if write.body is None]
    lost = [of.id for of in deleted if of.kind == "entity" and of.id in left]
    message = "facts whose entries leave core are deleted from the archive"
    demand(not lost, rules.ARCHIVE_UNTOUCHED, message, (), lost)


def check_entering(change: CoreChange) -> None:
    """Demand that the reply names exactly the entries that enter core, and one decision for each fact."""
    plan = change.plan
    check_promoted(change, getattr(find_core_reply(plan), "promoted", change.entered_ids))
    if plan.decisions is not None:
        named = [entity.id for entity in plan.accessed]
        decided = [decision.entity_id for decision in plan.decisions]
        demand(decided == named, rules.ROUTE_PER_ENTITY, "decisions, one for each entity", named, decided)
        check_promoted(change, [it.entity_id for it in plan.decisions if it.outcome == "promoted"])


def check_promoted(change: CoreChange, ids: Iterable[str]) -> None:
    """Compare `ids`, which a reply names as promoted, with the entries that enter core.

    An entry that left and entered again in the same plan may or may not be named.
    """
    reentered = [key for key in ids_of(change.before) if key in change.evicted_ids]
    promoted, entered = sorted(key for key in ids if key not in reentered), sorted(change.entered_ids)
    demand(promoted == entered, rules.ROUTE_KNOWN_ONLY, "the entries called promoted", entered, promoted)


# Comparison with the reference.


def find_eviction_fault(
    change: CoreChange, facts: Mapping[str, object], access: AccessTable, config: Config
) -> Broken | None:
    """Return the rule that is broken by the entries of core after the plan, or None."""
    plan = change.plan
    # A remember computes scores from the records after its commit.
    inside = ids_of(change.before)
    scored = access.record_accesses(plan.accessed, plan.at_ms, inside) if plan.accessed else access
    there = list_present(change, scored)
    successors, candidates = list_successors(change, scored), list_candidates(change, facts, scored)
    texts = {slot_of(block): bytes_of_text(block) for block in change.after.blocks}
    reference = ReferenceEviction(config, texts, dict(there))
    # In the same order as the memory: room for text first, then successors, then candidates.
    if not reference.make_room():
        return None  # authored text and self alone are too large; recovery reports that and fails
    for it in successors:
        reference.admit(it, is_successor=True)
    for it in candidates:
        if it.entity_id not in reference.candidates:
            reference.admit(it)
    return find_difference(reference, there | {it.entity_id: it for it in (*successors, *candidates)}, change)


def find_difference(
    reference: ReferenceEviction, known: dict[str, ScoredEntry], change: CoreChange
) -> Broken | None:
    """Return the rule that is broken if plan and reference differ, or None.

    `known`: by id, all entries that were in core or candidates for it.
    """
    expected, got = sorted(reference.candidates), sorted(ids_of(change.after))
    if expected == got:
        return None
    inside = {key: known[key] for key in got if key in known}
    planned = ReferenceEviction(reference.config, reference.texts, inside)
    missing = [key for key in expected if key not in got]
    intruders = [key for key in got if key not in expected and key in change.entered_ids]
    is_needless = any(planned.has_room_for(known[key]) for key in missing)
    is_over_quota = any(key in known and known[key].is_self for key in intruders)
    # If c is in core instead of a, c displaced a wrongly. If there is room for a, a is missing needlessly.
    rule = rules.CORE_LIMITS if is_over_quota else rules.DISPLACEMENT if intruders else rules.FEWEST_VICTIMS
    rule = rules.FEWEST_VICTIMS if is_needless else rule
    return Broken(rule, "entries of core after the plan", expected, got)


def list_present(change: CoreChange, access: AccessTable) -> dict[str, ScoredEntry]:
    """Return by id the entries that were in core and are not named by the request."""
    at_ms = change.plan.at_ms
    entries = [(block, it) for block, it in change.before.entries() if it.entity_id not in change.named_ids]
    return {it.entity_id: score_entry(it, block.kind, access, at_ms) for block, it in entries}


def list_candidates(
    change: CoreChange, facts: Mapping[str, object], access: AccessTable
) -> list[ScoredEntry]:
    """List the candidates for core, in the order of their admission."""
    plan, rows, candidates = change.plan, facts.get("rows"), list[ScoredEntry]()
    if plan.decisions is not None:
        entities = {entity.id: entity for entity in plan.accessed}
        asking = [(entities[it.entity_id], it.block) for it in plan.decisions if it.promote]
        # Self entries come first; in each group the best come first.
        candidates = sorted(
            score_facts(asking, access, plan.at_ms), key=lambda it: (not it.is_self, *rank_of(it))
        )
    elif isinstance(rows, tuple):
        found = [row.body for row in rows if isinstance(row, Row) and isinstance(row.body, Entity)]
        # An entity whose record is about to be pruned is no candidate.
        records, least_ms = access.records, plan.at_ms - ACCESS_PRUNE_MS
        asking = [(it, it.block) for it in found if it.id in records and records[it.id].last_ms >= least_ms]
        candidates = sorted(score_facts(asking, access, plan.at_ms), key=rank_of)
    inside = ids_of(change.before)
    return [it for it in candidates if it.entity_id not in inside]


def list_successors(change: CoreChange, access: AccessTable) -> list[ScoredEntry]:
    """List the facts that end a fact in core, each once, in the order of their admission."""
    entities, inside = {entity.id: entity for entity in change.plan.accessed}, ids_of(change.before)
    by = [find_current(new, change.endings) for old, new in change.endings.items() if old in inside]
    # A forget may rewrite a fact that had ended before, without a relation; it has no successor then.
    asking = dict.fromkeys(new for new in by if new not in inside and new in entities)
    return score_facts([(entities[key], entities[key].block) for key in asking], access, change.plan.at_ms)


def find_current(key: str, endings: Mapping[str, str]) -> str:
    """Return the current fact at the end of a chain of facts that end each other in one commit."""
    current = key
    for _ in endings:
        current = endings.get(current, current)
    return current


def score_facts(asking: Iterable[tuple[Entity, str]], access: AccessTable, at_ms: int) -> list[ScoredEntry]:
    """Return the entry of each fact with its block, without facts that are too long for an entry."""
    entries = [(entry_of(entity, at_ms), kind) for entity, kind in asking]
    fitting = [(it, kind) for it, kind in entries if len(it.text.encode()) <= ENTRY_TEXT_BYTES_MAX]
    return [score_entry(it, kind, access, at_ms) for it, kind in fitting]


def score_entry(entry: Entry, kind: str, access: AccessTable, at_ms: int) -> ScoredEntry:
    """Return an entry with its score; without an access record it is 0, so that the entry leaves first."""
    record = access.records.get(entry.entity_id)
    score_ppm = promotion.score_ppm(record, at_ms) if record else 0
    return ScoredEntry(entry.entity_id, kind, bytes_of_entry(entry), score_ppm)


def rank_of(entry: ScoredEntry) -> tuple[int, str]:
    return -entry.score_ppm, entry.entity_id


# Blocks of entries.


def check_blocks(
    before: CoreTier,
    after: CoreTier,
    decisions: tuple[RoutingDecision, ...] | None,
    accessed: Sequence[Entity],
    rows: object,
) -> None:
    """Raise Broken for an entry in a wrong block. `rows`: rows of entities read by a rebalance."""
    was, now = ({entry.entity_id: it.kind for it, entry in core.entries()} for core in (before, after))
    read = [row.body for row in rows if isinstance(row, Row)] if isinstance(rows, tuple) else []
    stored = {it.id: it.block for it in (*read, *accessed) if isinstance(it, Entity)}
    for key in now:
        # The block of the entry before; for a new entry the block in its row, if that is known.
        expected = was.get(key, stored.get(key, now[key]))
        demand(now[key] == expected, rules.ENTRY_AT_HOME, f"the block of {key}", expected, now[key])
    for it in decisions or ():
        is_new, is_promoted = it.entity_id in now and it.entity_id not in was, it.outcome == "promoted"
        message = f"the decision about {it.entity_id}, which enters core"
        demand(is_promoted or not is_new, rules.ENTRY_AT_HOME, message, "promoted", it.outcome)
        message = f"the decision about {it.entity_id}, which is not in core"
        is_there = it.entity_id in now or not is_promoted
        demand(is_there, rules.ENTRY_AT_HOME, message, "not promoted", it.outcome)
