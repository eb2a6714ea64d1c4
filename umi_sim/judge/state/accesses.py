"""Accesses and sessions: which accesses are counted, and which access records a scan reads.

Law 1. Each hit of an answered recall and each stored fact of a committed write counts as one access; nothing
else does.
Law 2. A record has the fields that the score of its entity needs.
Law 3. A scan reads the whole next page of records; whether one is a candidate follows from the record and the
time alone.
Law 4. The values of the reserved keys (`__...`) change only in steps with an answer that they depend on.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import structs

from umi_core.config import Config
from umi_core.limits import ACCESS_PRUNE_MS, ACCESS_RECORD_COUNT_MAX, SCAN_COUNT_MAX
from umi_core.messages.answers import Committed, ReadDone, Value
from umi_core.messages.effects import Asked, ByFilter, ByIds, Commit, Done, Outcome, Read, Reply, Write
from umi_core.messages.results import (
    Memorized,
    Recalled,
    RecordAdded,
    Remembered,
    Retrieved,
    SessionLoaded,
    Stored,
)
from umi_core.policies.promotion import score_ppm
from umi_core.rows import AccessRecord, Entity, Row
from umi_core.state import Operation
from umi_core.tiers.archive import AccessTable
from umi_core.tiers.session import SessionInfo
from umi_sim.judge.state.snapshots import OperationSnapshot
from umi_sim.record import rules
from umi_sim.record.broken import Broken, demand

LEARN_BY_READING: Final = ("recall", "recover", "forget")  # a forget that finds no fact drops its record
COUNTED: Final = (
    "recall", "remember", "add_archival", "memorize", "create_entity", "update_entity", "retrieve",
    "load_session",
)  # fmt: skip
SESSION_BY_READING: Final = ("recall", "load_session")
SESSION_BY_COMMIT: Final = ("remember", "create_session", "save_session", "load_session")


def may_end_unanswered(answered: OperationSnapshot) -> bool:
    """Return True if an operation can end, and change the state, even if its question gets no answer."""
    query = answered.asked.query if isinstance(answered.asked, Read) else None
    # The last reads of a recall find facts to show next to its hits. A recall does not need these, and a
    # retrieve does not need any of its reads.
    is_context = answered.pinned[0] == "recall" and isinstance(query, ByFilter)
    # A load whose earlier plan won reads only core before it replaces the session, and does not need it.
    kinds = [it.kind for it in query.addresses] if isinstance(query, ByIds) else []
    is_settling = answered.pinned[0] == "load_session" and kinds == ["core"]
    return is_context or is_settling or answered.pinned[0] == "retrieve"


def check_access_source(
    was: AccessTable, now: AccessTable, value: Value, answered: OperationSnapshot | None
) -> None:
    """Demand that access records change only in steps with an answer that counts accesses.

    Reading a candidate is no access. Forgotten or pruned records are removed with the commit that deletes
    them.
    """
    if now.records is was.records or now.records == was.records:
        return
    workflow = answered.pinned[0] if answered else ""
    is_read = isinstance(value, ReadDone) and workflow in LEARN_BY_READING
    is_last = answered is not None and may_end_unanswered(answered)
    holds = is_read or is_last or (workflow != "" and isinstance(value, Committed))
    message = "access records changed in a step that learnt nothing"
    demand(holds, rules.ACCESS_TRUTH, message, was.records, now.records)


def check_kept(
    was: AccessTable,
    now: AccessTable,
    now_ms: int,
    answered: OperationSnapshot | None,
    cores: Sequence[Collection[str]] = ((),),
) -> None:
    """Demand that a record stays unless its entity was forgotten or long unused, or the table is full.

    `prune_fault` judges the records that the plan of a rebalance removes. `cores`: ids in core before the
    step and after it; the memory may have kept the records of either.
    """
    check_room(was, now, answered, cores)
    pruned = getattr(answered.facts.get("plan"), "pruned", ()) if answered is not None else ()
    lost = [record for key, record in was.records.items() if key not in now.records and record not in pruned]
    young = [it.entity_id for it in lost if it.last_ms >= now_ms - ACCESS_PRUNE_MS]
    needless = [key for key in young if key not in now.forgotten]
    if needless:
        # With 10,000 records and a new one, the longest unused of those outside core is removed.
        expected = [list_evicted(was, now, inside) for inside in cores]
        message = "records that left without a reason"
        demand(
            any({*needless} <= {*keys} for keys in expected), rules.ACCESS_TRUTH, message, expected, needless
        )


def check_room(
    was: AccessTable, now: AccessTable, answered: OperationSnapshot | None, cores: Sequence[Collection[str]]
) -> None:
    """Demand that the number of records is within its limit; those in core or of this step may stay."""
    is_loaded = answered is not None and answered.pinned[0] == "recover"
    touched = [key for key, record in now.records.items() if was.records.get(key) != record]
    spared = () if is_loaded else touched
    # With lowered limits, core alone may have more entries than the table has room for; all of them stay.
    count_max = max(len({*inside, *spared}) for inside in cores)
    holds = not touched or len(now.records) <= max(ACCESS_RECORD_COUNT_MAX, count_max)
    demand(holds, rules.TABLES_BOUNDED, "access records", ACCESS_RECORD_COUNT_MAX, len(now.records))


def list_evicted(was: AccessTable, now: AccessTable, inside: Collection[str]) -> list[str]:
    """List the surplus records to be removed: the longest unused, outside core, not changed in this step."""
    new_count = sum(key not in was.records for key in now.records)
    too_many = max(0, len(was.records) + new_count - ACCESS_RECORD_COUNT_MAX)
    others = [it for key, it in was.records.items() if key not in inside and now.records.get(key, it) == it]
    oldest = sorted(others, key=lambda it: (it.last_ms, it.entity_id))
    return [it.entity_id for it in oldest[:too_many]]


def check_deleted(asked: Asked | None, value: object, was: AccessTable, now: AccessTable) -> None:
    """Demand that no record is left of a fact that the durable batch `asked` has deleted.

    A record stays if a later batch has stored the fact again before the answer came:

        forget commits (row 2)      memorize commits (row 3), is answered      forget is answered: row 2
    """
    writes = asked.writes if isinstance(asked, Commit) else ()
    removed = [it.address.id for it in writes if it.address.kind == "entity" and it.body is None]
    versions = value.versions if isinstance(value, Committed) else ()
    newest = was.newest(versions)
    again = [of.id for of, number in versions if of.kind == "access" and number < newest.get(of.id, 0)]
    left = [key for key in removed if key in now.records and key not in again]
    demand(not left, rules.ACCESS_TRUTH, "records are left of entities that a commit deleted", [], left)


def check_removed(rows: Iterable[Row], removed: object) -> None:
    """Demand that a scan takes no entity as `removed` whose row is among the `rows` that it has read."""
    there = [row.address.id for row in rows if row.address.kind == "entity"]
    needless = [key for key in there if isinstance(removed, tuple) and key in removed]
    demand(not needless, rules.ACCESS_TRUTH, "a scan takes stored entities for deleted", [], needless)


def prune_fault(
    pruned: Iterable[AccessRecord], removed: object, inside: Collection[str], table: AccessTable, at_ms: int
) -> Broken | None:
    """Compare the records that a rebalance prunes with those that it must prune: unused or without a row.

    Returns the broken rule, or None. `removed`: ids without a row. `inside`: ids in core, whose records stay.
    `at_ms`: the time of the plan.
    """
    stale = [
        it for key, it in table.records.items() if key not in inside and it.last_ms < at_ms - ACCESS_PRUNE_MS
    ]
    # Unused for 90 days (ACCESS_PRUNE_MS), or of an entity whose row the scan did not find.
    ids = dict.fromkeys(it.entity_id for it in stale)
    ids |= {key: None for key in table.records if isinstance(removed, tuple) and key in removed}
    expected, got = sorted(ids), sorted(it.entity_id for it in pruned)
    message = "records that a rebalance prunes"
    return None if expected == got else Broken(rules.ACCESS_TRUTH, message, expected, got)


def check_session_source(
    was: SessionInfo, now: SessionInfo, value: Value, answered: OperationSnapshot | None
) -> None:
    if now is was or now == was:
        return
    workflow = answered.pinned[0] if answered else ""
    is_read = isinstance(value, ReadDone) and workflow in SESSION_BY_READING
    is_read = is_read or (answered is not None and may_end_unanswered(answered))
    is_commit = isinstance(value, Committed) and workflow in SESSION_BY_COMMIT
    message = "the session changed in a step that learnt nothing"
    demand(is_read or is_commit, rules.SESSION_KEYS_TRUE, message, was, now)


def check_counted(
    was: AccessTable,
    now: AccessTable,
    answered: OperationSnapshot | None,
    replies: Iterable[Reply],
    late: Iterable[Outcome],
) -> None:
    """Demand that each access is counted once, at the end of its operation.

    `answered`: the operation that got its answer in this step. `late`: outcomes of other operations that
    ended in this step because their last question got no answer.
    """
    op_id = getattr(answered.request, "op_id", None) if answered is not None else None
    mine = [reply.outcome for reply in replies if answered is not None and reply.op_id == op_id]
    if answered is not None and (answered.pinned[0] not in COUNTED or not mine):
        return  # it has not ended yet: a remember whose earlier plan won reads core before it replies
    counted = Counter[str]()
    # If an op_id was used twice there may be two replies; the first belongs to the waiting operation.
    for outcome in mine[:1]:
        counted.update(count_accesses(answered, outcome))
    for outcome in late:
        counted.update(count_accesses(None, outcome))
    # If a fact is accessed and forgotten in the same step, it has no record any more.
    expected = {key: count for key, count in counted.items() if key not in now.forgotten}
    got = {}
    if now.records is not was.records:  # most steps access nothing
        before = {key: record.count for key, record in was.records.items()}
        got = {key: more for key, it in now.records.items() if (more := it.count - before.get(key, 0))}
    demand(got == expected, rules.ACCESS_TRUTH, "how often each entity was accessed", expected, got)


def list_unanswered_ends(
    ended: Iterable[OperationSnapshot], answered: OperationSnapshot | None, replies: Iterable[Reply]
) -> list[Outcome]:
    """List the outcomes of operations that ended in this step without the answer that they waited for."""
    names = [
        getattr(it.request, "op_id", None) for it in ended if it is not answered and may_end_unanswered(it)
    ]
    return [reply.outcome for reply in replies if reply.op_id in names]


def count_accesses(answered: OperationSnapshot | None, outcome: Outcome) -> Mapping[str, int]:
    """Count by id the accesses that an `outcome` reports.

    `answered`: the operation that ended with it, None if it got no answer.
    """
    value = outcome.value if isinstance(outcome, Done) else None
    if isinstance(value, Recalled):
        return Counter(hit.id for hit in value.hits if not hit.agent)
    if isinstance(value, Retrieved):
        return Counter(hit.id for hit in value.hits if hit.level == "entities")
    if isinstance(value, RecordAdded):
        value = structs.replace(value.facts, repeated=value.repeated)
    value = value.facts if isinstance(value, SessionLoaded) else value
    if answered is None or not isinstance(answered.asked, Commit):
        return {}
    if isinstance(value, Remembered | Memorized):
        # A fact that is ended by its own text is in the reply but has no record.
        ended = [*list_kept(answered.facts), *value.ended]
        stored = (it.id for it in value.entities if it.id not in ended)
        return {} if getattr(value, "repeated", False) else Counter(stored)
    if isinstance(value, Stored):
        return {value.id: 1}
    return {}


def list_kept(facts: Mapping[str, object]) -> Iterator[str]:
    """Yield the ids of the facts of a text that had ended before and stay ended; they are not accessed."""
    drafts = facts.get("drafts")
    for draft in drafts if isinstance(drafts, tuple) else ():
        if None not in (draft.old, draft.past):
            yield draft.entity.id


def check_recorded(entities: Iterable[Entity], writes: Iterable[Write]) -> None:
    """Demand that access records written with a remember have the importance and type of its entities."""
    expected = {entity.id: (entity.importance_ppm, entity.type) for entity in entities}
    for body in (write.body for write in writes if write.address.id in expected):
        if isinstance(body, AccessRecord):
            wanted, got = expected[body.entity_id], (body.importance_ppm, body.type)
            message = f"importance and type in the access record of {body.entity_id}"
            demand(wanted == got, rules.PROMOTION_FAIR, message, wanted, got)


def check_scan(
    operation: Operation, tables: Sequence[AccessTable], inside: Sequence[str], now_ms: int, config: Config
) -> None:
    """Check the page of a scan that has just requested its rows.

    `tables`: the access tables that the scan may have used, one for each state of the accesses in this step.
    `inside`: ids in core.
    """
    facts = operation.facts
    candidates, others = facts.get("candidates"), facts.get("others")
    is_new = operation.plan_number == 1 and "rows" not in facts
    if not isinstance(candidates, tuple) or not isinstance(others, tuple) or not is_new:
        return
    looked, cursor = (*candidates, *others), facts["cursor"]
    # An access of this step may have been counted before the scan or after it, so either table is accepted.
    pages = [page_of(table) for table in tables]
    missing = [[key for key in page if key not in looked and key not in inside] for page, _ in pages]
    demand([] in missing, rules.PROMOTION_FAIR, "a scan passes over records of its page", pages, looked)
    cursors = [end for _, end in pages]
    demand(cursor in cursors, rules.PROMOTION_FAIR, "where the next scan begins", cursors, cursor)
    scored = [{key: score_ppm(table.records[key], now_ms) for key in page_of(table)[0]} for table in tables]
    expected = [sorted(key for key in each if each[key] >= config.promote_score_min_ppm) for each in scored]
    wanted = [[key for key in keys if key not in inside] for keys in expected]
    got = sorted(key for key in candidates if key not in inside)
    message = "entities that deserve a place in core by record and time alone"
    demand(got in wanted, rules.PROMOTION_PURE, message, wanted, got)


def page_of(table: AccessTable) -> tuple[list[str], str]:
    """Return the ids of the next page of records, and the cursor of the page after it."""
    # Records a b c d, cursor b, pages of one: the page is [c] and the next cursor c; after d it is "".
    later = sorted(key for key in table.records if key > table.cursor)
    page = later[:SCAN_COUNT_MAX]
    return page, page[-1] if len(later) > len(page) else ""
