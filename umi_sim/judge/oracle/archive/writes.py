"""Writes: what a reply says that a request did must be what its batch did at its position in the log.

Law 1. A request that is done is durable; one that was refused or failed is not. Law 2. Under one request key
one batch is durable as long as storage keeps its receipt: a later request tells of that one.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import attrs

from umi_core.invariants.limits import EVOLVE_FACT_COUNT_MAX
from umi_core.messages.effects import Commit, Degraded, Embed
from umi_core.messages.requests import Forget, Remember
from umi_core.messages.results import (
    Forgotten,
    Memorized,
    RecordAdded,
    RecordForgotten,
    Remembered,
    ResourceForgotten,
    Stored,
)
from umi_core.rows import Entity, Receipt
from umi_core.values import BLOCK_KINDS, RoutingDecision
from umi_sim.judge.oracle.archive.context import ArchivePart
from umi_sim.judge.oracle.archive.evidence import OF_SHELF, Degradations
from umi_sim.judge.oracle.archive.facts import CHANGES
from umi_sim.judge.oracle.archive.log import BatchLog
from umi_sim.judge.oracle.archive.operations import ArchiveOperation
from umi_sim.judge.oracle.archive.timelines import Batch, Claim
from umi_sim.judge.plain.rows import relation_id
from umi_sim.record import rules
from umi_sim.record.rules import Rule
from umi_sim.services.calls import Call

NOT_COMPARED: Final = "compare:partial"
REASONED: Final = ("relations", "routing")  # fields of a reply that hold what a model said


@attrs.define
class Writes(ArchivePart):
    """Judges remembers, forgets, and facts of a caller's own."""

    degradations: Degradations
    log: BatchLog

    def batch_of(self, op: ArchiveOperation, *, repeated: bool = False) -> Batch | None:
        """Whose batch a reply tells of: its own, or that of a request with the same key."""
        own = self.log.batch_of(op)
        holder = self.log.key_holder(op, own)
        if repeated:
            is_fair = own is None and holder is not None and holder.op.is_like(op)
            self.demand(is_fair, rules.ONCE_ONLY, "called repeated, and nobody had asked before", op.key)
            return holder
        told = "one key was done twice"
        self.demand(own is None or holder is None, rules.ONCE_ONLY, told, op.key, holder and holder.did)
        if own is not None:
            own.is_told = True
        return own

    def must_be_durable(self, op: ArchiveOperation, *, repeated: bool = False) -> Batch | None:
        batch = self.batch_of(op, repeated=repeated)
        told = f"{type(op.request).__name__} is done, and no batch of it is durable"
        self.demand(batch is not None, rules.ACKNOWLEDGED_IS_DURABLE, told)
        return batch

    def judge_receipt(self, commit: Commit) -> None:
        """Demand that a receipt has no reasons: it outlives by a day what they tell of."""
        values = [it.body.value for it in commit.writes if isinstance(it.body, Receipt)]
        facts = [value.facts if isinstance(value, RecordAdded) else value for value in values]
        told = [it.reason for one in facts for name in REASONED for it in getattr(one, name, ()) if it.reason]
        self.demand(not told, rules.DELETE_REACHES_ALL, "a receipt keeps what a model said", (), told)

    # What facts became of it.

    def judge_stored(self, batch: Batch, stored: Iterable[Stored]) -> None:
        """The same ids, in the same order, each as the batch left it."""
        got = [it.id for it in stored]
        given = [it.id for it in batch.stored]
        rule = rule_at_loss(batch, given, got)
        self.demand(given == got, rule, "other ids than the answers give", given, got)
        for it in stored if given == got else ():
            self.judge_claim(batch, it.id, (it.version, it.change))

    def judge_claim(self, batch: Batch, key: str, claim: Claim) -> None:
        did, (version, change) = batch.did[key], claim
        message = f"{key} was {change} with version {version}"
        self.demand(claim == did, self.rule_of_claim(batch, key, claim), message, did, claim)

    def rule_of_claim(self, batch: Batch, key: str, claim: Claim) -> Rule:
        """The rule that a claim breaks: another one may have come first, or it found what it made itself."""
        (version, change), did = claim, batch.did[key]
        if self.log.is_shared(key) and self.log.by_id[key] is not batch:
            return rules.ALL_OR_NOTHING
        if change in CHANGES and did[1] == "unchanged":
            entries = self.log.facts.entries.get(key, [])
            is_rival = any(batch.op.position < at < batch.position for at, _ in entries)
            return rules.NO_LOST_UPDATE if is_rival else rules.ONCE_ONLY
        if change == "unchanged" or version > did[0]:
            return rules.ONCE_ONLY
        return rules.ACKNOWLEDGED_IS_DURABLE

    def judge_create(self, op: ArchiveOperation, value: Stored, names: list[str]) -> None:
        """One fact, under the id that its content gives; an update ends the fact that was there before."""
        self.degradations.judge_causes(op, names, value.change in CHANGES)
        batch = self.must_be_durable(op)
        if batch is not None:
            self.judge_stored(batch, [value])

    def judge_forget(self, op: ArchiveOperation, value: Forgotten) -> None:
        assert isinstance(op.request, Forget)
        key, change = op.request.entity_id, "forgot" if value.existed else "absent"
        batch = self.batch_of(op, repeated=value.repeated)
        rule = rules.DELETED_STAYS_DELETED if value.existed else rules.ACKNOWLEDGED_IS_DURABLE
        if batch is not None:
            self.demand(batch.did[key][1] == change, rule, f"{key} was {change}", batch.did[key], value)
        else:
            states = self.log.states_since(key, op)
            is_fair = not value.existed and any(state.fact is None for state in states)
            self.demand(is_fair, rule, f"{key} was {change}, and nothing is durable", states[:3], value)

    def judge_forget_resource(
        self, op: ArchiveOperation, value: ResourceForgotten | RecordForgotten, names: list[str]
    ) -> None:
        """A text or a record takes with it all that it alone told, and nothing else."""
        existed = not isinstance(value, ResourceForgotten) or value.existed
        repeated = not isinstance(value, ResourceForgotten) and value.repeated
        batch = self.batch_of(op, repeated=repeated)
        if not repeated:
            self.degradations.judge_causes(op, names, 0)
        ids = [it.id for it in value.entities]
        is_page = ids == sorted(set(ids)) and (existed or not ids)
        self.demand(is_page, rules.REFERENCE_AGREES, "entities of a text, by id", sorted(set(ids)), ids)
        did = batch.did if batch is not None else {}
        changes = {"forgotten": "forgot"}
        got = {it.id: (it.version, changes.get(it.change, it.change)) for it in value.entities}
        self.demand(got == did, rules.DELETE_ONLY_ITS_OWN, "facts that a source leaves", did, got)

    # Remember.

    def judge_remember(self, op: ArchiveOperation, value: Remembered, names: list[str]) -> None:
        assert isinstance(op.request, Remember)
        self.demand(value.entities, rules.TEXT_NEVER_LOST, "a remember is done and stored nothing")
        batch = self.must_be_durable(op, repeated=value.repeated)
        if batch is None:
            return
        if value.repeated:
            due, told = (batch.stored, batch.ended), (list(value.entities), list(value.ended))
            self.demand(told == due, rules.ONCE_ONLY, "one key was told two things", due, told)
        else:
            self.degradations.judge_extraction(op, names, batch.extraction)
        self.judge_stored(batch, value.entities)
        dropped, got = batch.extraction.dropped if batch.extraction else (), value.dropped
        self.demand(got == dropped, rules.REFERENCE_AGREES, "other elements were dropped", dropped, got)
        self.judge_routing(batch, value)
        self.judge_ended(batch, value)
        self.judge_relations(batch, value)
        if not value.repeated:
            changed = [it for key in batch.changed if (it := batch.states[key].entity) is not None]
            self.degradations.judge_partial(op, names, batch.extraction, changed)
            self.degradations.judge_causes(op, names, len(changed) if op.request.embed else 0)
            is_fair = op.request.evolve or op.plan.last("evolve") is None
            self.demand(is_fair, rules.REFERENCE_AGREES, "a model was asked to evolve", (), op.answers)

    def judge_limits(self, op: ArchiveOperation, lacks: Sequence[Degraded]) -> None:
        """Demand that a reply names how many new facts were not compared with known ones."""
        batch, request = self.log.batch_of(op), op.request
        is_wanted = batch is not None and (not isinstance(request, Remember) or request.evolve)
        left = len(batch.changed) - EVOLVE_FACT_COUNT_MAX if batch is not None and is_wanted else 0
        due = [Degraded(NOT_COMPARED, "too_many", left)] if left > 0 else []
        got = [it for it in lacks if it.name == NOT_COMPARED]
        self.demand(got == due, rules.DEGRADATION_NAMED, "what was not compared", due, got)

    def judge_ended(self, batch: Batch, value: Remembered | Memorized) -> None:
        """A fact ends by a verdict that names it, and only so."""
        due, got = batch.ended, list(value.ended)
        self.demand(got == due, rules.ENDED_AS_NAMED, "other facts have ended than a verdict names", due, got)

    def judge_relations(self, batch: Batch, value: Remembered | Memorized) -> None:
        """What was stated is told, or counted as dropped where an end has no room."""
        due, got = batch.relations, list(value.relations)
        for it in got:
            wanted = relation_id(self.context.scope, it.source, it.target, it.kind)
            self.demand(it.id == wanted, rules.RELATION_ENDS, "a relation under another id", wanted, it.id)
        bare = [attrs.evolve(it, reason="") for it in due]
        is_right = got == due or (is_retold(batch, value) and got == bare)
        self.demand(is_right, rules.RELATION_ENDS, "other relations than were stated", due, got)
        count = value.relation_dropped_count
        told = "relations without room"
        self.demand(count == batch.dropped_count, rules.RELATION_ENDS, told, batch.dropped_count, count)

    def judge_routing(self, batch: Batch, value: Remembered) -> None:
        """One decision per entity: of a sound row, of the table, or kept."""
        ids, decided = [stored.id for stored in value.entities], [it.entity_id for it in value.routing]
        told = "not one decision per entity, in order"
        self.demand(decided == ids, rules.ROUTE_PER_ENTITY, told, ids, decided)
        # A fact that ends another may take its place in core; the invariants judge which one does.
        may_enter = [it for it in value.routing if it.promote or batch.ended]
        entered = tuple(it.entity_id for it in may_enter if it.outcome == "promoted")
        told = "others were promoted than asked for"
        self.demand(value.promoted == entered, rules.ROUTE_KNOWN_ONLY, told, entered, value.promoted)
        for decision in value.routing:
            fact = batch.states[decision.entity_id].entity if decision.entity_id in batch.routing else None
            if fact is not None:
                due = [it.routing[fact.id] for it in (batch, *batch.twins)]
                due += [attrs.evolve(it, reason="") for it in due if is_retold(batch, value)]
                self.judge_route(fact, decision, due)

    def judge_route(self, fact: Entity, got: RoutingDecision, due: list[RoutingDecision]) -> None:
        block, what = got.block, f"{fact.type} {fact.id} was routed to {got.block}"
        is_open = block in BLOCK_KINDS[1:] and (block != "persona" or fact.type == "self")
        self.demand(is_open, rules.SYSTEM_IS_AUTHORED, what)
        is_due = any(attrs.evolve(got, outcome=it.outcome) == it for it in due)
        self.demand(is_due, rules.ROUTE_PER_ENTITY, what, due, got)

    def hear_shelf(self, call: Call) -> None:
        """Categories are found by what they are about."""
        due = [f"{name}: {about}" for name, about in self.context.config.categories]
        texts = call.effect.texts if isinstance(call.effect, Embed) and call.step in OF_SHELF else ()
        others = [text for text in texts if text not in due]
        self.demand(not others, rules.VECTORS_AS_ANSWERED, "a category is found by another text", "", others)


def is_retold(batch: Batch, value: Remembered | Memorized) -> bool:
    """Return whether a receipt may tell it, which has no reasons: of a request key or an earlier plan."""
    is_repeated = isinstance(value, Remembered) and value.repeated
    return is_repeated or len(batch.op.plans) > 1


def rule_at_loss(batch: Batch, given: list[str], got: list[str]) -> Rule:
    """What other ids than the answers give have broken."""
    if isinstance(batch.op.request, Remember) and batch.extraction is None:
        return rules.TEXT_NEVER_LOST
    is_passed_over = batch.extraction is not None and batch.extraction.uncovered_count > 0
    return rules.SENTENCE_NEVER_LOST if is_passed_over and got == given[:-1] else rules.REFERENCE_AGREES
