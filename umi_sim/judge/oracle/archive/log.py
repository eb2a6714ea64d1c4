"""The log: which batch of which operation became durable, and what reads and replies may show of it.

Law 1. Each id has one state at each position. Law 2. Storage says which batch became durable, and when; what
it did the plain memory says. Law 3. A read shows the states of some position between its request and reply.
"""

from collections.abc import Iterable
from typing import Final

import attrs

from umi_core.kelpie.requests import DeleteArchival
from umi_core.messages.effects import Commit
from umi_core.messages.requests import (
    ForgetResource,
    Memorize,
    Remember,
)
from umi_core.rows import Ended, Entity
from umi_sim.judge.oracle.archive.facts import (
    FactState,
)
from umi_sim.judge.oracle.archive.operations import ArchiveOperation, Exchange
from umi_sim.judge.oracle.archive.plain_memory import PlainMemory, end_of
from umi_sim.judge.oracle.archive.timelines import Batch
from umi_sim.judge.plain.text import format_minute
from umi_sim.record import rules
from umi_sim.record.rules import Rule

UNHEARD: Final = ((), ("evolve",), ("route",), ("evolve", "route"))
"""Steps whose answers an interceptor may keep from the memory; it says so in the reply alone."""


@attrs.define
class BatchLog(PlainMemory):
    """Every operation, and the batches that are durable.

    `known`: ids that are stored, or may be, for those who ask for some. `ops`: by op_id, `flying` those of
    them that have no reply. `by_id`: the last batch that changed an id, `by_op` those of an operation,
    `by_key` those under a request key. `last_told`: the last facts of the texts that were remembered.
    """

    known: dict[str, None] = attrs.field(factory=dict)
    ops: dict[str, ArchiveOperation] = attrs.field(factory=dict)
    flying: dict[str, ArchiveOperation] = attrs.field(factory=dict)
    by_id: dict[str, Batch] = attrs.field(factory=dict)
    by_op: dict[ArchiveOperation, list[Batch]] = attrs.field(factory=dict)
    by_key: dict[str, list[Batch]] = attrs.field(factory=dict)
    last_told: dict[str, None] = attrs.field(factory=dict)

    def landed(self, op: ArchiveOperation, event: str, commit: Commit) -> Batch:
        """A batch of this operation has become durable."""
        plan = op.plans[event]
        batch = self.apply(op, plan)
        if isinstance(op.request, Remember | Memorize) and self.context.may_turn_away:
            twins = [self.apply(op, plan.without(steps)) for steps in UNHEARD]
            batch, *batch.twins = [it for it in twins if is_in(it, commit)] or [batch]
        if isinstance(op.request, Remember) and op.record is None and batch.did:
            for it in (batch, *batch.twins):
                self.follow_last(it, commit)
            self.last_told[batch.order[-1]] = None
        self.by_id |= {key: batch for key, state in batch.states.items() if state != self.state(key)}
        self.store_batch(batch)
        self.by_op.setdefault(op, []).append(batch)
        if op.key:
            self.by_key.setdefault(op.key, []).append(batch)
        return batch

    def follow_last(self, batch: Batch, commit: Commit) -> None:
        """The first fact of a text follows the last one of an earlier text, which only the memory knows."""
        first, *_ = batch.order
        follows = [getattr(it.body, "follows", None) for it in commit.writes if it.address.id == first]
        last = next((it for it in follows if it in self.last_told or self.was_sent(it)), None)
        if last is not None and self.is_first(batch, first):
            self.follow(batch, first, last)

    def was_sent(self, key: str | None) -> bool:
        """Whether a batch was sent that tells this fact; it may have been answered, and lost."""
        plans = ((op, it) for op in self.ops.values() for it in op.plans.values())
        told = (key in self.apply(op, it).order[-1:] for op, it in plans if isinstance(op.request, Remember))
        return key is not None and any(told)

    def empty(self) -> None:
        PlainMemory.empty(self)
        self.by_id.clear()

    # Looking.

    def states_since(self, key: str, op: ArchiveOperation) -> tuple[FactState, ...]:
        """The states that this id has been in since a request was issued."""
        return self.facts.since(key, op.position)

    def all_since(self, op: ArchiveOperation) -> dict[str, tuple[FactState, ...]]:
        return {key: self.facts.since(key, op.position) for key in self.facts.entries}

    def is_at_rest(self, op: ArchiveOperation, lag_ms: int) -> bool:
        """Whether no fact has changed since a request was issued, nor so long before."""
        changed_ms = self.times[self.facts_at - 1] if self.facts_at else 0
        return self.facts_at <= op.position and (not lag_ms or changed_ms + lag_ms <= op.asked_ms)

    def batch_of(self, op: ArchiveOperation) -> Batch | None:
        """The batch that counts for an operation: the first, until its receipt is forgotten."""
        found: Batch | None = None
        for it in self.by_op.get(op, ()):
            is_known = found is not None and self.context.keeps_receipt(found.at_ms, it.at_ms)
            found = found if is_known else it
        return found

    def key_holder(self, op: ArchiveOperation, own: Batch | None = None) -> Batch | None:
        """The batch under the request key of this operation of which storage had the receipt when it was
        issued, or when its own batch became durable."""
        found = [it for it in self.by_key.get(op.key or "", ()) if own is None or it.position < own.position]
        at_ms = op.asked_ms if own is None else own.at_ms
        return found[-1] if found and self.context.keeps_receipt(found[-1].at_ms, at_ms) else None

    # Demanding.

    def judge_times(self, op: ArchiveOperation, asked: Exchange) -> None:
        """Demand that a model is told of each statement when it was told, and when it happened."""
        now = format_minute(op.plan.time_of("lookup"))
        for it in asked.inputs.get("new", ()):
            self.demand(it["told"] == now, rules.TIMES_TOLD, f"{it['ref']} is new", now, it)
        for it in (*asked.inputs.get("old", ()), *asked.inputs.get("facts", ())):
            key, version = end_of(str(it["ref"]))
            states = [state for _, state in self.facts.entries.get(key, ())]  # a search may show an old one
            known = [state.fact for state in states if state.fact is not None]
            due = [times_of(fact) for fact in known if fact.version == version]
            got = it["told"], it.get("happened")
            self.demand(
                got in due or not due, rules.TIMES_TOLD, f"{it['ref']} was told at another time", due, got
            )

    def rule_at_stake(self, key: str, states: Iterable[FactState]) -> Rule:
        """What another version than the right one that was shown would have broken."""
        if self.is_shared(key):
            return rules.ALL_OR_NOTHING
        if all(state.fact for state in states):
            return rules.ACKNOWLEDGED_IS_DURABLE
        return rules.DELETED_STAYS_DELETED if self.state(key).version else rules.REFERENCE_AGREES

    def rule_of(self, key: str, states: Iterable[FactState], got: int) -> Rule:
        """The rule that a version breaks: less than there must be, more than there can be, or another."""
        versions = [state.fact.version if state.fact else 0 for state in states]
        low, high = min(versions), max(versions)
        if self.is_shared(key):
            return rules.ALL_OR_NOTHING
        batch = self.by_id.get(key)
        is_left = batch is not None and isinstance(batch.op.request, ForgetResource | DeleteArchival)
        if is_left and (got > 0) == (high > 0):
            return rules.DELETE_ONLY_ITS_OWN
        if got < low:
            return rules.ACKNOWLEDGED_IS_DURABLE
        version = self.state(key).version
        if got > high == 0 and version >= got:
            return rules.DELETED_STAYS_DELETED
        return rules.ONCE_ONLY if got > high and version else rules.REFERENCE_AGREES

    def judge_fact(self, op: ArchiveOperation, key: str, got: Entity | Ended | None) -> None:
        """A read shows this row, or that there is none."""
        states, version = self.states_since(key, op), got_version(got)
        holds = any(got == (state.ended or state.entity) for state in states)
        rule = self.rule_at_stake(key, states) if holds else self.rule_of(key, states, version)
        if not holds and got is not None and rule == rules.REFERENCE_AGREES:
            fact = got.fact if isinstance(got, Ended) else got
            rule = rule_of_relations(states, fact.contradicts)
        told = f"shows version {version}{others(states, got)}" if version else "is not there"
        self.demand(holds, rule, f"{key} {told}", states[:3], got)

    def is_shared(self, key: str) -> bool:
        """Whether this id and others were changed last by a batch that no reply has told of."""
        batch = self.by_id.get(key)
        return batch is not None and not batch.is_told and len(batch.did) > 1


def times_of(fact: Entity) -> tuple[str, str | None]:
    """When it was told, and when it happened, as a model is told."""
    happened_ms = fact.event_time_ms
    return format_minute(fact.updated_ms), None if happened_ms is None else format_minute(happened_ms)


def rule_of_relations(states: Iterable[FactState], got: tuple[str, ...]) -> Rule:
    """What a read has broken that shows other contradictions than there are."""
    known = [it.contradicts for state in states if (it := state.fact) is not None]
    if not known or got in known:
        return rules.REFERENCE_AGREES
    is_less = all(set(got) < set(it) for it in known)
    return rules.ACKNOWLEDGED_IS_DURABLE if is_less else rules.RELATION_ENDS


def others(states: Iterable[FactState], got: Entity | Ended | None) -> str:
    """The fields that a row shows otherwise than the last of these states."""
    *_, last = states
    want, fact = last.fact, got.fact if isinstance(got, Ended) else got
    if want is None or fact is None:
        return ""
    names = [it.name for it in attrs.fields(Entity) if getattr(want, it.name) != getattr(fact, it.name)]
    return f", with another {', '.join(names)}" if names else ""


def got_version(got: Entity | Ended | None) -> int:
    """The version that a read shows; 0 is none."""
    fact = got.fact if isinstance(got, Ended) else got
    return fact.version if fact is not None else 0


def is_in(batch: Batch, commit: Commit) -> bool:
    """Whether this is the batch that became durable, of several that differ in what was heard."""
    rows = {it.address: it.body for it in commit.writes}
    blocks = {where.id: body.block for where, body in rows.items() if isinstance(body, Entity)}
    ended = [where.id for where, body in rows.items() if where.kind == "ended" and body is not None]
    related = [where.id for where, body in rows.items() if where.kind == "relation" and body is not None]
    is_routed = all(blocks.get(key) == it.block for key, it in batch.routing.items() if key in batch.changed)
    is_ended = sorted(ended) == sorted(batch.ended)
    return is_routed and is_ended and sorted(related) == sorted(it.id for it in batch.relations)
