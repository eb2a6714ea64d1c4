"""rebalance: a fair scan of the access records, promotion by score, and repair of missing vectors.

Law 1. Every access record is scanned within ceil(n / SCAN_COUNT_MAX) + 1 runs. Law 2. A core entry is built
from the fact as this run reads it, not as an earlier scan saw it. Law 3. It commits only if it has something
to write; a moved cursor counts. Law 4. A run moves the cursor only if it is still where the run began, so the
second of two runs that began there does not move it. Law 5. It is due again while work is left: records
accessed since the scan, unsaved records, the rest of a scan, vectors that are missing or may be. Law 6. A
damaged fact, or a text that the embedder refuses, does not keep other facts from promotion or repair.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import structs

from umi_core.conditions import Condition
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import (
    Degrade,
    Learned,
    Step,
    TakeResult,
    Workflow,
    asks,
    degrade,
    learn_vectors,
    retry,
)
from umi_core.limits import REPAIR_COUNT_MAX, SCAN_COUNT_MAX
from umi_core.messages.answers import Committed, Embedded, ReadDone
from umi_core.messages.effects import ByFilter, ByIds, Commit, Embed, Expect, Read, Write
from umi_core.messages.requests import Rebalance
from umi_core.messages.results import Rebalanced
from umi_core.policies.promotion import score_ppm
from umi_core.rows import Address, Entity, Head, Row, Vector, bodies_of
from umi_core.tiers.archive import AccessTable
from umi_core.tiers.core import CoreTier, admit, entry_of
from umi_core.workflows.commits import (
    CORE,
    LOST,
    PLAN,
    REPLY,
    SETTLE,
    STORED,
    Plan,
    address,
    ask_if_any,
    entity_ids,
    head_of,
    index_rows,
    read_core,
    scores_of,
    take_commit,
)  # fmt: skip
from umi_core.workflows.drafting import embedded_text

REQUEST: Final = Fact("request", Rebalance | None)  # None: a background job without a caller
BEGIN: Final = Fact("begin", str)  # cursor at which this scan begins
CURSOR: Final = Fact("cursor", str)  # cursor at which the next scan begins
CANDIDATES: Final = Fact("candidates", tuple[str, ...])  # ids eligible by the score of their records
OTHERS: Final = Fact("others", tuple[str, ...])  # ids only checked for a missing row
SCANNED: Final = Fact("scanned", int)
TOUCHES: Final = Fact("touches", int)
ROWS: Final = Fact("rows", tuple[Row, ...])  # of CANDIDATES
WITHOUT_ROW: Final = Fact("gone", tuple[str, ...])  # ids of records whose facts have no row
REPAIR_FROM: Final = Fact("repair_from", str)
UNEMBEDDED: Final = Fact("lacking", tuple[Row, ...], ("entity",))  # entities without a vector
PASSED: Final = Fact("passed", int)  # rows of the page that are damaged
ONWARD: Final = Fact("onward", str | None)  # cursor after the page; None: the read failed
VECTORS: Final = Fact("vectors", tuple[tuple[int, ...] | None, ...])  # one for each of UNEMBEDDED, in order
MISSING: Final = Fact("missing", bool)  # more repairs may be needed
REPAIR_CURSOR: Final = Fact("repair_cursor", str)


def take_scan(facts: Facts, answer: None, view: View) -> Learned:
    """Learn the next page of the scan: eligible ids, other ids to check, and the next cursor."""
    access, inside = view.tiers.access, entity_ids(view.tiers.core)
    page, cursor = access.after(access.cursor, SCAN_COUNT_MAX)
    # The page includes records of facts in core, so that the cursor passes them; they need no promotion.
    outside = [record for record in page if record.entity_id not in inside]
    floor_ppm = view.config.promote_score_min_ppm
    eligible = [record for record in outside if score_ppm(record, view.now_ms) >= floor_ppm]
    candidates = tuple(record.entity_id for record in eligible)
    others = tuple(record.entity_id for record in outside if record not in eligible)
    view.tiers.access = structs.replace(access, ran_ms=view.now_ms)
    scanned = BEGIN(access.cursor) | CURSOR(cursor) | SCANNED(len(page)) | TOUCHES(access.touch_count)
    return Learned(CANDIDATES(candidates) | OTHERS(others) | scanned)


def ask_rows(facts: Facts, view: View) -> Read:
    entities = (address(view.scope, "entity", key) for key in list_checked(facts))
    return Read(ByIds((address(view.scope, "core"), address(view.scope, "head"), *entities)))


def list_checked(facts: Facts) -> tuple[str, ...]:
    return facts[CANDIDATES] + facts[OTHERS]


def take_rows(facts: Facts, answer: ReadDone, view: View) -> Learned:
    rows, core = index_rows(answer), read_core(answer, view)
    head = head_of(rows, view.scope)
    access = view.tiers.access
    # A later plan follows a conflict, so it takes the stored head even if its version is lower than known.
    view.tiers.access = access.scan_from(*head) if view.plan_count > 1 else access.scan_at(*head)
    found = {row.address.id: row for row in rows.values() if isinstance(row.body, Entity)}
    removed = tuple(key for key in list_checked(facts) if address(view.scope, "entity", key) not in rows)
    eligible = tuple(found[key] for key in facts[CANDIDATES] if key in found)
    repair_from = view.tiers.access.repair_cursor
    return Learned(CORE(core) | ROWS(eligible) | WITHOUT_ROW(removed) | REPAIR_FROM(repair_from))


def ask_unembedded(facts: Facts, view: View) -> Read:
    cursor = facts[REPAIR_FROM] or None
    where = (Condition("vector_missing", "eq", True),)
    return Read(ByFilter(view.scope, ("entity",), where, REPAIR_COUNT_MAX, cursor))


def take_unembedded(facts: Facts, answer: ReadDone, view: View) -> Learned:
    rows = tuple(row for row in answer.rows if isinstance(row.body, Entity) and row.body.vector_missing)
    return Learned(UNEMBEDDED(rows) | PASSED(len(answer.rows) - len(rows)) | ONWARD(answer.cursor or ""))


def ask_vectors(facts: Facts, view: View) -> Embed | None:
    entities = bodies_of(facts[UNEMBEDDED], Entity)
    return Embed(tuple(embedded_text(entity) for entity in entities)) if entities else None


def take_vectors(facts: Facts, answer: Embedded | None, view: View) -> TakeResult:
    return learn_vectors(answer, len(facts[UNEMBEDDED]), "none", VECTORS, view)


def no_vectors(facts: Facts, reason: str = "") -> Mapping[str, object]:
    return VECTORS((None,) * len(facts[UNEMBEDDED]))


def take_plan(facts: Facts, answer: None, view: View) -> Learned:
    core, rows, cursor = facts[CORE], facts[ROWS], facts[CURSOR]
    stale, before = find_stale(facts, view), view.tiers.access
    access = before.without((*facts[WITHOUT_ROW], *stale))
    after, promoted, evicted = admit_eligible(rows, core, access, view)
    repairs, repaired = repair_writes(facts, view)
    dropped = sorted(key for key in {*facts[WITHOUT_ROW], *stale} if key in before.records)
    removed = tuple(before.records[key] for key in dropped)
    removed_ids = tuple(record.entity_id for record in removed)
    value = Rebalanced(promoted, evicted, repaired, removed_ids, cursor, facts[SCANNED])
    # Facts are `loose` here, but a core entry shows its fact, so the promoted ones are expected as read.
    current = tuple(Expect(row.address, row.version) for row in rows if row.address.id in promoted)
    plan = Plan(
        view.now_ms, (*repairs, *access.writes(view.scope)), current,
        after if after.blocks != core.blocks else None, value, pruned=removed,
    )  # fmt: skip
    # Law 4: if another run has moved the cursor since, moving it back would scan a page twice.
    plan = move_cursor(plan, cursor, view) if access.cursor == facts[BEGIN] != cursor else plan
    repair_cursor, missing = after_repairs(facts, len(facts[UNEMBEDDED]) - len(repaired))
    return Learned(PLAN(plan) | MISSING(missing) | REPAIR_CURSOR(repair_cursor))


def after_repairs(facts: Facts, unrepaired_count: int) -> tuple[str, bool]:
    """Return the repair cursor of the next run, and whether more repairs may be needed."""
    # onward: None if the page was not read, "" after the last page, else the cursor of the next page.
    begin, onward = facts[REPAIR_FROM], facts[ONWARD]
    if onward is None:
        return "", True
    left_count = unrepaired_count + facts[PASSED]
    # If the whole page was repaired, its rows no longer match the filter, so the next page begins at the same
    # cursor. If some rows are left, the next run goes on after them, so that one bad text blocks no others.
    return (begin if onward and not left_count else onward), bool(begin or onward or left_count)


def move_cursor(plan: Plan, cursor: str, view: View) -> Plan:
    """Return the plan that also moves the cursor of the scan."""
    head, version = address(view.scope, "head"), view.tiers.access.head_version
    writes, expects = (*plan.writes, Write(head, Head(cursor))), (*plan.expects, Expect(head, version))
    return structs.replace(plan, writes=writes, expects=expects, cursor=cursor)


def find_stale(facts: Facts, view: View) -> tuple[str, ...]:
    """Return the ids of records whose last access is too long ago."""
    stale = view.tiers.access.stale(view.now_ms, entity_ids(facts[CORE]))
    if stale:
        view.marks.append("rebalance: a record that was not used for long left")
    return stale


def admit_eligible(
    rows: tuple[Row, ...], core: CoreTier, access: AccessTable, view: View
) -> tuple[CoreTier, tuple[str, ...], tuple[str, ...]]:
    """Admit the eligible facts to core, highest score first; return core, the added and the evicted ids.

    A fact that core refuses is no error.
    """
    entities = {row.address.id: row.body for row in rows if isinstance(row.body, Entity)}
    eligible = [key for key in entities if key in access.records and core.locate(key) is None]
    scores = {key: score_ppm(access.records[key], view.now_ms) for key in eligible}
    before, removed = core, dict[str, None]()
    for key in sorted(scores, key=lambda key: (-scores[key], key)):
        entity = entities[key]
        core_scores = scores_of(core, access, view.now_ms)
        admission = admit(
            core, entry_of(entity, view.now_ms), entity.block, scores[key], core_scores, view.config
        )
        core, removed = admission.core, removed | dict.fromkeys(admission.evicted_ids)
    promoted = tuple(key for key in entities if core.locate(key) and not before.locate(key))
    return core, promoted, tuple(key for key in removed if before.locate(key) and not core.locate(key))


def repair_writes(facts: Facts, view: View) -> tuple[tuple[Write, ...], tuple[str, ...]]:
    """Return the writes of the new vectors and of their facts, no longer marked, and the ids of the facts."""
    rows, vectors = facts[UNEMBEDDED], facts[VECTORS]
    writes: tuple[Write, ...] = ()
    repaired: tuple[str, ...] = ()
    for row, vector in zip(rows, vectors, strict=True):
        entity = row.body
        assert isinstance(entity, Entity)
        if vector is not None:
            repaired_entity = structs.replace(entity, vector_missing=False)
            where = Address(view.scope, "vector", entity.id)
            writes += (
                Write(row.address, repaired_entity),
                Write(where, Vector(entity.id, entity.version, vector)),
            )
            repaired += (entity.id,)
    return writes, repaired


def take_done(facts: Facts, answer: Committed | None, view: View) -> Learned:
    """Learn the commit, the moved cursor, and whether rebalance is due again (Law 5)."""
    learned, plan = take_commit(facts, answer, view), facts[PLAN]
    access, lost = view.tiers.access, learned.facts[LOST.name]
    if answer is not None and plan.cursor is not None and not lost:
        access = access.scan_at(plan.cursor, dict(answer.versions)[address(view.scope, "head")])
    # An access since the scan may have made a fact eligible that the scan has already passed.
    is_touched = access.touch_count != facts[TOUCHES]
    is_due = bool(is_touched or access.unsaved or access.cursor or facts[MISSING] or lost)
    view.tiers.access = structs.replace(access, is_due=is_due, repair_cursor=facts[REPAIR_CURSOR])
    return learned


REBALANCE = Workflow(
    "rebalance",
    given=(REQUEST,),
    steps=(
        Step("scan", produces=(BEGIN, CANDIDATES, OTHERS, CURSOR, SCANNED, TOUCHES), take=take_scan),
        Step("rows", requires=(CANDIDATES, OTHERS), produces=(CORE, ROWS, WITHOUT_ROW, REPAIR_FROM),
             spares=("entity",), loose=("entity", "core"), **asks(Read, ask_rows, take_rows, retry(3))),
        Step("unembedded", requires=(REPAIR_FROM,), produces=(UNEMBEDDED, PASSED, ONWARD), spares=("entity",),
             loose=("entity",), **asks(Read, ask_unembedded, take_unembedded,
                    retry(2, then=degrade("none", UNEMBEDDED(()) | PASSED(0) | ONWARD(None))))),
        Step("embed", requires=(UNEMBEDDED,), produces=(VECTORS,),
             **asks(Embed, ask_vectors, take_vectors, retry(2, then=Degrade("none", no_vectors)))),
        Step("plan", produces=(PLAN, MISSING, REPAIR_CURSOR), take=take_plan,
             requires=(BEGIN, CURSOR, SCANNED, CORE, ROWS, WITHOUT_ROW, REPAIR_FROM,
                       UNEMBEDDED, PASSED, ONWARD, VECTORS)),
        Step("commit", requires=(PLAN, MISSING, REPAIR_CURSOR, TOUCHES), produces=(STORED, LOST),
             **asks(Commit, ask_if_any, take_done, retry(3, replan="rows"))),
        SETTLE,
        REPLY,
    ),
)  # fmt: skip
