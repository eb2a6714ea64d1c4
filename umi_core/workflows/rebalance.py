"""rebalance: a fair scan of the access records, promotion by score, and repair of missing vectors.

Law 1. Every record is looked at within ceil(n / SCAN_COUNT_MAX) + 1 runs. Law 2. The entry is built from the
row as it is now, not as a scan once saw it. Law 3. It commits only if there is something to write; a moved
cursor is. Law 4. A cursor moves on only from where its scan began: the first of two runs that began at one
place moves it. Law 5. It is due again while anything is left: records accessed since its scan, or unsaved,
the rest of a scan, vectors that are or may be missing. Law 6. A damaged entity, or a text that no embedder
takes, does not keep others from promotion or from their vectors.
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
    Taken,
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

REQUEST: Final = Fact("request", Rebalance | None)  # None: it has no caller, it was due
BEGIN: Final = Fact("begin", str)  # where this scan begins, and the next one
CURSOR: Final = Fact("cursor", str)
CANDIDATES: Final = Fact("candidates", tuple[str, ...])  # eligible by record alone
OTHERS: Final = Fact("others", tuple[str, ...])  # only looked up
SCANNED: Final = Fact("scanned", int)
TOUCHES: Final = Fact("touches", int)
ROWS: Final = Fact("rows", tuple[Row, ...])  # of the eligible
GONE: Final = Fact("gone", tuple[str, ...])
REPAIR_FROM: Final = Fact("repair_from", str)
LACKING: Final = Fact("lacking", tuple[Row, ...], ("entity",))  # entities without a vector
PASSED: Final = Fact("passed", int)
ONWARD: Final = Fact("onward", str | None)  # None: it was not read, or storage does not know the cursor
VECTORS: Final = Fact("vectors", tuple[tuple[int, ...] | None, ...])  # of those that lack one, in order
MISSING: Final = Fact("missing", bool)
REPAIR_CURSOR: Final = Fact("repair_cursor", str)


def take_scan(facts: Facts, answer: None, view: View) -> Learned:
    """Take the next page of the scan: ids eligible by their record alone, ids that are only looked up, and
    where the next scan begins.
    """
    access, inside = view.tiers.access, entity_ids(view.tiers.core)
    page, cursor = access.after(access.cursor, SCAN_COUNT_MAX)
    # Records of facts in core are part of the page, so that the cursor passes them, and ask for no place.
    outside = [record for record in page if record.entity_id not in inside]
    floor_ppm = view.config.promote_score_min_ppm
    eligible = [record for record in outside if score_ppm(record, view.now_ms) >= floor_ppm]
    candidates = tuple(record.entity_id for record in eligible)
    others = tuple(record.entity_id for record in outside if record not in eligible)
    view.tiers.access = structs.replace(access, ran_ms=view.now_ms)
    scanned = BEGIN(access.cursor) | CURSOR(cursor) | SCANNED(len(page)) | TOUCHES(access.touch_count)
    return Learned(CANDIDATES(candidates) | OTHERS(others) | scanned)


def ask_rows(facts: Facts, view: View) -> Read:
    entities = (address(view.scope, "entity", key) for key in looked_at(facts))
    return Read(ByIds((address(view.scope, "core"), address(view.scope, "head"), *entities)))


def looked_at(facts: Facts) -> tuple[str, ...]:
    return facts[CANDIDATES] + facts[OTHERS]


def take_rows(facts: Facts, answer: ReadDone, view: View) -> Learned:
    rows, core = index_rows(answer), read_core(answer, view)
    head = head_of(rows, view.scope)
    access = view.tiers.access
    # A second plan follows a conflict over the head, so its row is believed though its version is lower.
    view.tiers.access = access.scan_from(*head) if view.plan_count > 1 else access.scan_at(*head)
    there = {row.address.id: row for row in rows.values() if isinstance(row.body, Entity)}
    removed = tuple(key for key in looked_at(facts) if address(view.scope, "entity", key) not in rows)
    eligible = tuple(there[key] for key in facts[CANDIDATES] if key in there)
    repair_from = view.tiers.access.repair_cursor
    return Learned(CORE(core) | ROWS(eligible) | GONE(removed) | REPAIR_FROM(repair_from))


def ask_unembedded(facts: Facts, view: View) -> Read:
    cursor = facts[REPAIR_FROM] or None
    where = (Condition("vector_missing", "eq", True),)
    return Read(ByFilter(view.scope, ("entity",), where, REPAIR_COUNT_MAX, cursor))


def take_unembedded(facts: Facts, answer: ReadDone, view: View) -> Learned:
    rows = tuple(row for row in answer.rows if isinstance(row.body, Entity) and row.body.vector_missing)
    return Learned(LACKING(rows) | PASSED(len(answer.rows) - len(rows)) | ONWARD(answer.cursor or ""))


def ask_vectors(facts: Facts, view: View) -> Embed | None:
    entities = bodies_of(facts[LACKING], Entity)
    return Embed(tuple(embedded_text(entity) for entity in entities)) if entities else None


def take_vectors(facts: Facts, answer: Embedded | None, view: View) -> Taken:
    return learn_vectors(answer, len(facts[LACKING]), "none", VECTORS, view)


def no_vectors(facts: Facts, reason: str = "") -> Mapping[str, object]:
    return VECTORS((None,) * len(facts[LACKING]))


def take_plan(facts: Facts, answer: None, view: View) -> Learned:
    core, rows, cursor = facts[CORE], facts[ROWS], facts[CURSOR]
    stale, before = find_stale(facts, view), view.tiers.access
    access = before.without((*facts[GONE], *stale))
    after, promoted, evicted = promotions(rows, core, access, view)
    repairs, repaired = repair_writes(facts, view)
    left = sorted(key for key in {*facts[GONE], *stale} if key in before.records)
    removed = tuple(before.records[key] for key in left)
    gone_ids = tuple(record.entity_id for record in removed)
    value = Rebalanced(promoted, evicted, repaired, gone_ids, cursor, facts[SCANNED])
    # Rows are read loosely here, but an entry shows its row, so those of the promoted must still be so.
    current = tuple(Expect(row.address, row.version) for row in rows if row.address.id in promoted)
    plan = Plan(
        view.now_ms, (*repairs, *access.writes(view.scope)), current,
        after if after.blocks != core.blocks else None, value, pruned=removed,
    )  # fmt: skip
    # Another run may have moved the cursor since this scan began; moving it back would scan a page twice.
    plan = move_cursor(plan, cursor, view) if access.cursor == facts[BEGIN] != cursor else plan
    repair_cursor, missing = after_repairs(facts, len(facts[LACKING]) - len(repaired))
    return Learned(PLAN(plan) | MISSING(missing) | REPAIR_CURSOR(repair_cursor))


def after_repairs(facts: Facts, unrepaired_count: int) -> tuple[str, bool]:
    """Return the cursor of the next look, and whether anything is left; failed texts are passed over."""
    # onward: None if the page was not read, "" behind the last row, else the cursor of the next page.
    begin, onward = facts[REPAIR_FROM], facts[ONWARD]
    if onward is None:
        return "", True
    left_count = unrepaired_count + facts[PASSED]
    # A page that was repaired as a whole is looked at again from its beginning: rows leave the filter, so the
    # next ones move up. With some left the look goes on behind them, else one bad text would hold up all.
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


def promotions(
    rows: tuple[Row, ...], core: CoreTier, access: AccessTable, view: View
) -> tuple[CoreTier, tuple[str, ...], tuple[str, ...]]:
    """Admit the eligible into core, the highest score first; return core, and the ids that entered and left.

    A refusal is no error.
    """
    entities = {row.address.id: row.body for row in rows if isinstance(row.body, Entity)}
    asking = [key for key in entities if key in access.records and core.locate(key) is None]
    scores = {key: score_ppm(access.records[key], view.now_ms) for key in asking}
    before, removed = core, dict[str, None]()
    for key in sorted(scores, key=lambda key: (-scores[key], key)):
        entity = entities[key]
        standing = scores_of(core, access, view.now_ms)
        admission = admit(
            core, entry_of(entity, view.now_ms), entity.block, scores[key], standing, view.config
        )
        core, removed = admission.core, removed | dict.fromkeys(admission.evicted_ids)
    promoted = tuple(key for key in entities if core.locate(key) and not before.locate(key))
    return core, promoted, tuple(key for key in removed if before.locate(key) and not core.locate(key))


def repair_writes(facts: Facts, view: View) -> tuple[tuple[Write, ...], tuple[str, ...]]:
    """Return the writes of the vectors that came, with their rows unmarked, and the ids of those rows."""
    lacking, vectors = facts[LACKING], facts[VECTORS]
    writes: tuple[Write, ...] = ()
    repaired: tuple[str, ...] = ()
    for row, vector in zip(lacking, vectors, strict=True):
        entity = row.body
        assert isinstance(entity, Entity)
        if vector is not None:
            whole = structs.replace(entity, vector_missing=False)
            where = Address(view.scope, "vector", entity.id)
            writes += (Write(row.address, whole), Write(where, Vector(entity.id, entity.version, vector)))
            repaired += (entity.id,)
    return writes, repaired


def take_done(facts: Facts, answer: Committed | None, view: View) -> Learned:
    """Move the cursor of the scan, which is due again while something is left to do."""
    learned, plan = take_commit(facts, answer, view), facts[PLAN]
    access, lost = view.tiers.access, learned.facts[LOST.name]
    if answer is not None and plan.cursor is not None and not lost:
        access = access.scan_at(plan.cursor, dict(answer.versions)[address(view.scope, "head")])
    # An access since the scan may have made an entity eligible that the scan has passed.
    is_touched = access.touch_count != facts[TOUCHES]
    is_due = bool(is_touched or access.unsaved or access.cursor or facts[MISSING] or lost)
    view.tiers.access = structs.replace(access, is_due=is_due, repair_cursor=facts[REPAIR_CURSOR])
    return learned


REBALANCE = Workflow(
    "rebalance",
    given=(REQUEST,),
    steps=(
        Step("scan", produces=(BEGIN, CANDIDATES, OTHERS, CURSOR, SCANNED, TOUCHES), take=take_scan),
        Step("rows", requires=(CANDIDATES, OTHERS), produces=(CORE, ROWS, GONE, REPAIR_FROM),
             spares=("entity",), loose=("entity", "core"), **asks(Read, ask_rows, take_rows, retry(3))),
        Step("unembedded", requires=(REPAIR_FROM,), produces=(LACKING, PASSED, ONWARD), spares=("entity",),
             loose=("entity",), **asks(Read, ask_unembedded, take_unembedded,
                    retry(2, then=degrade("none", LACKING(()) | PASSED(0) | ONWARD(None))))),
        Step("embed", requires=(LACKING,), produces=(VECTORS,),
             **asks(Embed, ask_vectors, take_vectors, retry(2, then=Degrade("none", no_vectors)))),
        Step("plan", produces=(PLAN, MISSING, REPAIR_CURSOR), take=take_plan,
             requires=(BEGIN, CURSOR, SCANNED, CORE, ROWS, GONE, REPAIR_FROM,
                       LACKING, PASSED, ONWARD, VECTORS)),
        Step("commit", requires=(PLAN, MISSING, REPAIR_CURSOR, TOUCHES), produces=(STORED, LOST),
             **asks(Commit, ask_if_any, take_done, retry(3, replan="rows"))),
        SETTLE,
        REPLY,
    ),
)  # fmt: skip
