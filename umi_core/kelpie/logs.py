"""Messages and archival records of an agent server: logs, to which rows are added under the next numbers.

Law 1. A request adds all its rows and the new next number in one commit. Numbers are therefore dense and in
commit order, whatever the clock shows. Law 2. A number is never reused, even after its row was deleted.
"""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import structs

from umi_core.conditions import Condition
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import (
    OUTCOME,
    Learned,
    Rejection,
    Step,
    TakeResult,
    Unusable,
    Workflow,
    asks,
    one_read,
    retry,
)
from umi_core.ids import log_id
from umi_core.kelpie import requests as api
from umi_core.kelpie.errors import NotFound
from umi_core.kelpie.results import Appended, MessagesFound, MessagesShown, RecordsShown
from umi_core.kelpie.rows import Archival, Log, Message
from umi_core.language.dates import list_dated
from umi_core.language.words import words
from umi_core.limits import PAGE_ROWS_DEFAULT, QUERY_BYTES_MAX
from umi_core.messages.answers import ModelReplied, ReadDone
from umi_core.messages.effects import ByFilter, ByIds, Done, Read
from umi_core.messages.results import RecordAdded, RecordForgotten, Remembered
from umi_core.policies.term_scores import score_alone
from umi_core.rows import Entity, bodies_of
from umi_core.workflows import evolving, forget, remember
from umi_core.workflows.commits import (
    CORE,
    PLAN,
    REQUEST_KEY,
    Plan,
    address,
    commit_row,
    index_rows,
    key_of,
    put,
)
from umi_core.workflows.drafting import DRAFTS, add_source, chain_drafts
from umi_core.workflows.evolving import DROPPED, MENTIONS, STATED
from umi_core.workflows.forget import RESOURCE, plan_without, report_facts
from umi_core.workflows.recall import ASKED_ON, DATE
from umi_core.workflows.remember import KNOWN_ANSWER, REPLY, SEEN, claim_entities, plan_of

APPEND: Final = Fact("request", api.AddMessages)
PAGE: Final = Fact("request", api.ListMessages)
GET: Final = Fact("request", api.GetArchival)
LIST: Final = Fact("request", api.ListArchival)
SEARCH: Final = Fact("request", api.SearchArchival)
SEARCH_OF_LOG: Final = Fact("request", api.SearchMessages)
LOG: Final = Fact("log", Log)
RECORDS: Final = Fact("records", tuple[Archival, ...])


# append: read the log, plan rows under its next numbers, commit.


def ask_log(facts: Facts, view: View) -> Read:
    return Read(ByIds((address(view.scope, "log", "message"),)))


def take_log(facts: Facts, answer: ReadDone, view: View) -> Learned:
    return Learned(LOG(find_log(answer, "message")))


def find_log(answer: ReadDone, name: str) -> Log:
    """Return the log of the answer; an absent log starts at number 1."""
    return next(iter(bodies_of(answer.rows, Log)), Log(name, 1))


def take_append(facts: Facts, answer: None, view: View) -> Learned:
    messages = list_messages(facts[APPEND], facts[LOG].next_seq, view)
    return Learned(PLAN(append_plan(tuple(messages), facts, view)))


def append_plan(bodies: tuple[Archival | Message, ...], facts: Facts, view: View) -> Plan:
    """Return the plan that adds these rows under the next numbers of their log."""
    log = facts[LOG]
    rows = tuple(put(view.scope, log.name, body.id, body) for body in bodies)
    after = put(view.scope, "log", log.name, structs.replace(log, next_seq=log.next_seq + len(rows)))
    return Plan(
        view.now_ms,
        writes=(*rows, after),
        value=Appended(log.name, log.next_seq, len(rows), view.now_ms),
    )


def list_messages(request: api.AddMessages, first: int, view: View) -> Iterator[Message]:
    for seq, parts in enumerate(request.messages, first):
        (_, role), (_, content), *details = parts
        yield Message(log_id("message", seq), seq, role, content, tuple(details), view.now_ms)


APPEND_ROWS: Final = Workflow(
    "append",
    given=(APPEND, REQUEST_KEY),
    steps=(
        SEEN,
        Step("load", requires=(APPEND,), produces=(LOG,),
             # Appends wait for each other, since concurrent ones would plan the same numbers.
             claims=lambda facts, view: ("log message",), **asks(Read, ask_log, take_log, retry(3))),
        Step("plan", requires=(APPEND, LOG), produces=(PLAN,), take=take_append),
        commit_row(replan="load"),
        REPLY,
    ),
    laws=(KNOWN_ANSWER,),
)  # fmt: skip


# Messages are read by number: numbers are dense, so the ids of a page are known before it is read.


def span_of(request: api.ListMessages, log: Log) -> range:
    """Return the numbers of the rows on the page."""
    limit = request.limit or PAGE_ROWS_DEFAULT
    # A page ends at the end of the log that was read, even if another append was committed since.
    end = log.next_seq if request.before is None else min(request.before, log.next_seq)
    if request.after is None:
        # With next number 11, limit 4 and no bounds: 7 to 10. If the log was restarted at 9: 9 and 10.
        return range(max(log.first_seq, end - limit), max(log.first_seq, end))
    first = max(request.after + 1, log.first_seq)
    return range(first, max(first, min(first + limit, end)))


def ask_page(facts: Facts, view: View) -> Read | None:
    span = span_of(facts[PAGE], facts[LOG])
    wanted = tuple(address(view.scope, "message", log_id("message", seq)) for seq in span)
    return Read(ByIds(wanted)) if wanted else None


def take_page(facts: Facts, answer: ReadDone, view: View) -> TakeResult:
    log, messages = facts[LOG], tuple(bodies_of(answer.rows, Message))
    span = span_of(facts[PAGE], log)
    # Numbers are dense, so a gap means that storage has lost a row.
    if len(messages) < len(span):
        return Unusable("messages are missing")
    total = log.next_seq - log.first_seq
    # If `after` is beyond an empty log, the page begins above the first number, but nothing is older.
    has_older, has_newer = span.start > log.first_seq and total > 0, span.stop < log.next_seq
    return Learned(OUTCOME(Done(MessagesShown(messages, total, has_older, has_newer))))


LIST_MESSAGES: Final = Workflow(
    "list_messages",
    given=(PAGE,),
    steps=(
        Step("end", requires=(PAGE,), produces=(LOG,), **asks(Read, ask_log, take_log, retry(3))),
        Step("page", requires=(PAGE, LOG), produces=(OUTCOME,), **asks(Read, ask_page, take_page, retry(3))),
    ),
)  # fmt: skip


# Search of messages: a filter over the log.


def ask_search_messages(facts: Facts, view: View) -> Read:
    request = facts[SEARCH_OF_LOG]
    # `until_ms` is exclusive: a range of days ends at the midnight after its last day.
    bounds = (
        ("at_ms", "gte", request.from_ms),
        ("at_ms", "lt", request.until_ms),
        ("seq", "lt", request.before),
    )
    where = tuple(Condition(field, operator, end) for field, operator, end in bounds if end is not None)
    return Read(ByFilter(view.scope, ("message",), where))


def take_search_messages(facts: Facts, answer: ReadDone, view: View) -> Learned:
    request = facts[SEARCH_OF_LOG]
    wanted, limit = set(words(request.query or "")), request.limit or PAGE_ROWS_DEFAULT
    # Storage filters only by time and number; words are compared here, and pages are cut afterwards.
    found = [it for it in bodies_of(answer.rows, Message) if wanted.issubset(words(it.content))]
    end = request.skip + limit
    page = sorted(found, key=lambda it: -it.seq)[request.skip : end]
    return Learned(OUTCOME(Done(MessagesFound(tuple(page), page[-1].seq if len(found) > end else None))))


SEARCH_MESSAGES: Final = one_read("search_messages", SEARCH_OF_LOG, ask_search_messages, take_search_messages)


# Archival records.

NO_PLACE: Final = "an empty page that goes on"


def ask_record(facts: Facts, view: View) -> Read:
    return Read(ByIds((address(view.scope, "archival", facts[GET].record_id),)))


def take_get(facts: Facts, answer: ReadDone, view: View) -> TakeResult:
    there = tuple(bodies_of(answer.rows, Archival))
    if not there:
        return Rejection(NotFound("archival", facts[GET].record_id))
    return Learned(OUTCOME(Done(RecordsShown(there))))


def with_tags(tags: tuple[str, ...]) -> tuple[Condition, ...]:
    return tuple(Condition("tags", "contains", tag) for tag in tags)


def ask_list(facts: Facts, view: View) -> Read:
    request = facts[LIST]
    cursor = None if request.cursor is None else f"archival/{request.cursor}"
    limit = request.limit or PAGE_ROWS_DEFAULT
    return Read(ByFilter(view.scope, ("archival",), with_tags(request.tags), limit, cursor))


def take_list(facts: Facts, answer: ReadDone, view: View) -> TakeResult:
    there = tuple(bodies_of(answer.rows, Archival))
    if answer.cursor is None:
        return Learned(OUTCOME(Done(RecordsShown(there))))
    return Learned(OUTCOME(Done(RecordsShown(there, there[-1].id)))) if there else Unusable(NO_PLACE)


def ask_search(facts: Facts, view: View) -> Read:
    return Read(ByFilter(view.scope, ("archival",), with_tags(facts[SEARCH].tags)))


def take_search(facts: Facts, answer: ReadDone, view: View) -> Learned:
    return Learned(RECORDS(tuple(bodies_of(answer.rows, Archival))))


def ask_record_facts(facts: Facts, view: View) -> Read | None:
    """Read the facts that have sources; ask nothing if there is no record."""
    where = (Condition("sources", "ne", ()),)
    return Read(ByFilter(view.scope, ("entity",), where)) if facts[RECORDS] else None


def take_record_facts(facts: Facts, answer: ReadDone, view: View) -> Learned:
    """Score each record by its text, and by name and content of each of its facts; the best score counts."""
    request = facts[SEARCH]
    texts = list_dated(request.query, facts[ASKED_ON], QUERY_BYTES_MAX)
    fits = {it.id: score_best(texts, "", it.content) for it in facts[RECORDS]}
    for it in bodies_of(answer.rows, Entity):
        ppm = score_best(texts, it.name, it.content)
        # A record that only says "he" is found by a name if one of its facts has that name.
        fits |= {key: max(fits[key], ppm) for key in it.sources if key in fits}
    scored = [(fits[it.id], it) for it in facts[RECORDS]]
    # Record ids sort by number, so records with equal scores come in the order in which they were added.
    hits = sorted((hit for hit in scored if hit[0] > 0), key=lambda hit: (-hit[0], hit[1].id))
    hits = hits[request.skip : request.skip + (request.limit or PAGE_ROWS_DEFAULT)]
    best = RecordsShown(tuple(it for _, it in hits), scores_ppm=tuple(score for score, _ in hits))
    return Learned(OUTCOME(Done(best)))


def score_best(texts: tuple[str, ...], name: str, content: str) -> int:
    return max(score_alone(text, name, content) for text in texts)


GET_ARCHIVAL: Final = one_read("get_archival", GET, ask_record, take_get)

LIST_ARCHIVAL: Final = one_read("list_archival", LIST, ask_list, take_list)

SEARCH_ARCHIVAL: Final = Workflow(
    "search_archival", given=(SEARCH,),
    steps=(
        DATE,
        Step("read", requires=(SEARCH,), produces=(RECORDS,),
             **asks(Read, ask_search, take_search, retry(3))),
        Step("facts", requires=(SEARCH, ASKED_ON, RECORDS), produces=(OUTCOME,),
             **asks(Read, ask_record_facts, take_record_facts, retry(3))),
    ),
)  # fmt: skip


# add_archival and delete_archival: records are the sources of the facts extracted from them.
#
#     remember         seen  extract  lookup  candidates ... route  plan  commit  settle  reply
#     add_archival        .     *        *         .      ...   .     *      .       .       .
#     forget_resource        load  facts  touching  ends  plan  commit  settle  reply
#     delete_archival  seen   *      .       .       .     *      .       .       *
#
# A dot is the step of the table above, a star is another step in its place.
#
# Law 1. A record is stored as its text, whatever facts a model finds in it; without `extract` no model is
# asked. Law 2. The record, its facts and their sources are written in one commit. Law 3. Deleting a record
# also deletes the facts that have no other source.


ADD: Final = Fact("request", api.AddArchival)
DELETE: Final = Fact("request", api.DeleteArchival)


def replace_steps(workflow: Workflow, name: str, given: tuple[Fact[Any], ...], *steps: Step) -> Workflow:
    """Return a copy of the table under another name, with steps of equal id replaced by these."""
    by_name = {step.id: step for step in steps}
    strange = by_name.keys() - {step.id for step in workflow.steps}
    # Without this check, a replacement under a wrong id would be ignored silently.
    assert not strange, f"{name}: {workflow.name} has no row {', '.join(sorted(strange))}"
    rows = tuple(by_name.get(step.id, step) for step in workflow.steps)
    return structs.replace(workflow, name=name, given=given, steps=rows)


# add_archival.


def take_facts(facts: Facts, answer: ModelReplied | None, view: View) -> TakeResult:
    if not facts[ADD].extract:
        return Learned(MENTIONS(()) | DROPPED(()))
    return evolving.take_extraction(facts, answer, view)


def claim_turn(facts: Facts, view: View) -> tuple[str, ...]:
    """Claim the log in the same turn as the facts, since nothing may be claimed after these (EN4.14)."""
    return ("log archival", *claim_entities(facts, view))


def ask_known(facts: Facts, view: View) -> Read:
    log = address(view.scope, "log", "archival")
    known = remember.list_addresses(facts, view) if facts[MENTIONS] else ()
    return Read(ByIds((*known, log)))


def take_known(facts: Facts, answer: ReadDone, view: View) -> Learned:
    learned = LOG(find_log(answer, "archival"))
    if not facts[MENTIONS]:
        # Without facts core does not change, so it is not read.
        return Learned(learned | DRAFTS(()) | CORE(view.tiers.core))
    return Learned({**remember.take_lookup(facts, answer, view).facts, **learned})


def take_plan(facts: Facts, answer: None, view: View) -> Learned:
    request, seq = facts[ADD], facts[LOG].next_seq
    key = log_id("archival", seq)
    body = Archival(key, seq, request.content, request.tags, request.metadata, view.now_ms)
    alone = append_plan((body,), facts, view)
    return Learned(PLAN(with_facts(alone, key, facts, view) if request.extract else alone))


def with_facts(alone: Plan, key: str, facts: Facts, view: View) -> Plan:
    """Return the plan for the record and its facts, to each of which the new record is added as a source."""
    drafts = tuple(add_source(key, draft, view.now_ms) for draft in remember.place_drafts(facts))
    plan = plan_of(chain_drafts(drafts, facts[STATED], None), facts, view)
    assert isinstance(plan.value, Remembered)
    return structs.replace(
        plan,
        writes=(*alone.writes, *plan.writes),
        value=RecordAdded("archival", facts[LOG].next_seq, 1, view.now_ms, facts=plan.value),
    )


ADD_ARCHIVAL: Final = replace_steps(
    remember.REMEMBER, "add_archival", (ADD, REQUEST_KEY),
    structs.replace(evolving.EXTRACT, take=take_facts),
    Step("lookup", requires=(ADD, STATED, MENTIONS), produces=(DRAFTS, CORE, LOG), claims=claim_turn,
         **asks(Read, ask_known, take_known, retry(3))),
    Step("plan", requires=(*remember.PLANNED_FROM, LOG), produces=(PLAN,), take=take_plan),
)  # fmt: skip


# delete_archival.


def ask_deleted(facts: Facts, view: View) -> Read:
    record = address(view.scope, "archival", facts[DELETE].record_id)
    return Read(ByIds((record, address(view.scope, "receipt", key_of(facts, view)))))


def take_record(facts: Facts, answer: ReadDone, view: View) -> TakeResult:
    """Take the record, or None if an earlier plan or an equal request with this key has deleted it."""
    # With neither the record nor a receipt under this key, the record never existed for this request.
    if not answer.rows:
        return Rejection(NotFound("archival", facts[DELETE].record_id))
    record = address(view.scope, "archival", facts[DELETE].record_id)
    return Learned(RESOURCE(index_rows(answer).get(record)))


def take_delete(facts: Facts, answer: None, view: View) -> Learned:
    row, value = facts[RESOURCE], RecordForgotten(facts[DELETE].record_id)
    if row is None:
        return Learned(PLAN(Plan(view.now_ms, value=value)))
    value = structs.replace(value, entities=tuple(report_facts(facts)))
    return Learned(PLAN(structs.replace(plan_without(row, facts, view), value=value)))


# forget_resource with a first step that answers a repeated request key and then skips the others.
FORGOTTEN: Final = forget.FORGET_RESOURCE
DELETE_ARCHIVAL: Final = replace_steps(
    structs.replace(FORGOTTEN, steps=(SEEN, *FORGOTTEN.steps), laws=(*FORGOTTEN.laws, KNOWN_ANSWER)),
    "delete_archival", (DELETE, REQUEST_KEY),
    Step("load", requires=(DELETE,), produces=(RESOURCE,),
         claims=forget.claim_resource, **asks(Read, ask_deleted, take_record, retry(3))),
    Step("plan", requires=forget.PLANNED_FROM, produces=(PLAN,), take=take_delete),
    remember.REPLY,
)  # fmt: skip
