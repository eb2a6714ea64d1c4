"""add_archival, delete_archival: records that own what they tell of people and things.

    remember         seen  extract  lookup  candidates  evolve  embed  route  plan  commit  settle  reply
    add_archival        .     *        *         .         .      .      .     *      .       .       .
    forget_resource        load  told  touching  ends  left  embed  plan  commit  settle  reply
    delete_archival  seen   *      .      .       .     .      .     *      .       .       *

Law 1. A record is its text, whatever a model makes of it; of one that is not to be read for facts nothing is
asked. Law 2. Record, facts and who gave them land in one commit. Law 3. A record takes with it what only it
told. A dot is the row of the other table, a star another one in its place.
"""

from typing import Any, Final

import attrs

from umi_core.api_errors import NotFound
from umi_core.api_rows import Archival
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import Learned, Refuse, Step, Taken, Workflow, asks, nothing, retry
from umi_core.ids import log_id
from umi_core.messages.answers import ModelReplied, ReadDone
from umi_core.messages.api_requests import AddArchival, DeleteArchival
from umi_core.messages.effects import ByIds, Read
from umi_core.messages.results import RecordAdded, RecordForgotten, Remembered
from umi_core.workflows import extracting, forget_resource, remember
from umi_core.workflows.api_logs import LOG, append_plan, found_log
from umi_core.workflows.commits import CORE, PLAN, REQUEST_KEY, Plan, address, found, key_of
from umi_core.workflows.drafting import DRAFTS
from umi_core.workflows.extracting import DROPPED, LINKS, MENTIONS
from umi_core.workflows.forget_resource import RESOURCE, plan_without, told
from umi_core.workflows.giving import given_rows, told_by
from umi_core.workflows.relating import KNOWN_LINKS
from umi_core.workflows.remember import KNOWN_ANSWER, SEEN, claim_entities, plan_of
from umi_core.workflows.telling import settled

ADD: Final = Fact("request", AddArchival)
DELETE: Final = Fact("request", DeleteArchival)


def revised(workflow: Workflow, name: str, given: tuple[Fact[Any], ...], *steps: Step) -> Workflow:
    """The table with these rows in the place of those of the same name."""
    by_name = {step.id: step for step in steps}
    strange = by_name.keys() - {step.id for step in workflow.steps}
    assert not strange, f"{name}: {workflow.name} has no row {', '.join(sorted(strange))}"
    rows = tuple(by_name.get(step.id, step) for step in workflow.steps)
    return attrs.evolve(workflow, name=name, given=given, steps=rows)


def skippable(workflow: Workflow) -> Workflow:
    """Whoever gave the same key before is told what was done: nothing else runs."""
    rows = (attrs.evolve(step, otherwise=nothing(*step.produces)) for step in workflow.steps)
    return attrs.evolve(workflow, steps=(SEEN, *rows), laws=(*workflow.laws, KNOWN_ANSWER))


# add_archival.


def take_facts(facts: Facts, answer: ModelReplied | None, view: View) -> Taken:
    if not facts[ADD].extract:
        return Learned(MENTIONS(()) | LINKS(()) | DROPPED(()))
    return extracting.take_extraction(facts, answer, view)


def claim_turn(facts: Facts, view: View) -> tuple[str, ...]:
    """All claims of an operation are made at once: those of the log, too."""
    return ("log archival", *claim_entities(facts, view))


def ask_known(facts: Facts, view: View) -> Read:
    log = address(view.scope, "log", "archival")
    known = remember.wanted(facts, view) if facts[MENTIONS] else ()
    return Read(ByIds((*known, log)))


def take_known(facts: Facts, answer: ReadDone, view: View) -> Learned:
    learned = LOG(found_log(answer, "archival"))
    if not facts[MENTIONS]:
        return Learned(learned | DRAFTS(()) | KNOWN_LINKS(()) | CORE(view.tiers.core))
    return Learned({**remember.take_lookup(facts, answer, view).facts, **learned})


def take_plan(facts: Facts, answer: None, view: View) -> Learned:
    request, seq = facts[ADD], facts[LOG].next_seq
    key = log_id("archival", seq)
    body = Archival(key, seq, request.content, request.tags, request.metadata, view.now_ms)
    alone = append_plan((body,), facts, view)
    return Learned(PLAN(with_facts(alone, key, facts, view) if request.extract else alone))


def with_facts(alone: Plan, key: str, facts: Facts, view: View) -> Plan:
    """The record, and what it tells: nobody has told anything under its id before."""
    drafts = tuple(told_by(key, draft, view.now_ms) for draft in remember.settled(facts))
    plan = plan_of(drafts, facts, view)
    given = given_rows(drafts, key, {}, view)
    assert isinstance(plan.value, Remembered)
    return attrs.evolve(
        plan,
        writes=(*alone.writes, *plan.writes, *given),
        value=RecordAdded("archival", facts[LOG].next_seq, 1, view.now_ms, facts=plan.value),
        spoken=None,
    )


ADD_ARCHIVAL: Final = revised(
    remember.REMEMBER, "add_archival", (ADD, REQUEST_KEY),
    attrs.evolve(extracting.EXTRACT, take=take_facts),
    Step("lookup", requires=(ADD, MENTIONS, LINKS), produces=(DRAFTS, KNOWN_LINKS, CORE, LOG),
         otherwise=nothing(DRAFTS, KNOWN_LINKS, CORE, LOG), claims=claim_turn,
         **asks(Read, ask_known, take_known, retry(3))),
    Step("plan", requires=(*remember.PLANNED_FROM, LOG), produces=(PLAN,),
         otherwise=nothing(PLAN), take=take_plan),
)  # fmt: skip


# delete_archival.


def ask_record(facts: Facts, view: View) -> Read:
    record = address(view.scope, "archival", facts[DELETE].record_id)
    return Read(ByIds((record, address(view.scope, "receipt", key_of(facts, view)))))


def take_record(facts: Facts, answer: ReadDone, view: View) -> Taken:
    """An earlier plan, or an equal request with its key, may have taken it away: then the receipt tells."""
    if not answer.rows:
        return Refuse(NotFound("archival", facts[DELETE].record_id))
    record = address(view.scope, "archival", facts[DELETE].record_id)
    return Learned(RESOURCE(found(answer).get(record)))


def take_delete(facts: Facts, answer: None, view: View) -> Learned:
    row, value = facts[RESOURCE], RecordForgotten(facts[DELETE].record_id)
    if row is None:
        return Learned(PLAN(Plan(view.now_ms, value=value)))
    value = attrs.evolve(value, entities=tuple(told(facts, settled(facts))))
    return Learned(PLAN(attrs.evolve(plan_without(row, facts, view), value=value)))


DELETE_ARCHIVAL: Final = revised(
    skippable(forget_resource.FORGET_RESOURCE), "delete_archival", (DELETE, REQUEST_KEY),
    Step("load", requires=(DELETE,), produces=(RESOURCE,), otherwise=nothing(RESOURCE),
         claims=forget_resource.claim_resource, **asks(Read, ask_record, take_record, retry(3))),
    Step("plan", requires=forget_resource.PLANNED_FROM, produces=(PLAN,), otherwise=nothing(PLAN),
         take=take_delete),
    remember.REPLY,
)  # fmt: skip
