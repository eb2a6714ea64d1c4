"""recover: the first operation of an incarnation. It claims an epoch, then loads core, access records and
scheduled work.

Law 1. It never gives up, and never treats a failed read as "no data". Law 2. Every commit of an incarnation
expects the epoch that this incarnation claimed, so a delayed commit of an earlier incarnation conflicts:

    life 1, epoch 7   plan ................................... arrives last: the epoch is 8, conflict
    life 2                    recover, epoch 8   plan   commit

Law 3. The claim has no idempotency key: if two processes read the same epoch, only one claim may succeed.
Law 4. After a delete_agent or open_agent it runs again in the same incarnation, because the outcome may be
unknown. If the agent was closed or opened, the tiers start empty. If another process has claimed an epoch
since, it leaves the epoch row unchanged.
"""

from typing import Final

from msgspec import structs

from umi_core.conditions import Condition
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import EPOCH, OUTCOME, Law, Learned, Step, Workflow, asks, forever
from umi_core.messages.answers import Committed, ReadDone
from umi_core.messages.effects import ByFilter, ByIds, Commit, Done, Read, Write
from umi_core.rows import AccessRecord, Epoch, Row, bodies_of, body_as
from umi_core.state import Tiers
from umi_core.tiers import schedule
from umi_core.tiers.archive import AccessTable, as_records, surplus
from umi_core.tiers.core import fit
from umi_core.values import Scope
from umi_core.workflows.blocks import ask_load, take_load
from umi_core.workflows.commits import (
    CORE,
    LOST,
    PLAN,
    SETTLE,
    STORED,
    Plan,
    address,
    ask_if_any,
    entity_ids,
    head_of,
    index_rows,
    scores_of,
    take_commit,
)
from umi_core.workflows.linking import retired_of

LAST: Final = Fact("last", tuple[int, str])  # this life's epoch and phase until now; (0, "") at its start
CLOSED: Final = Fact("closed", bool)  # whether the agent is closed
HEAD: Final = Fact("head", tuple[str, int])  # cursor of the fair scan, and the version of its row
LOADED: Final = Fact("loaded", int)
FITS: Final = Fact("fits", bool)


def ask_head(facts: Facts, view: View) -> Read:
    return Read(ByIds((address(view.scope, "epoch"), address(view.scope, "head"))))


def take_head(facts: Facts, answer: ReadDone, view: View) -> Learned:
    rows = index_rows(answer)
    last, _ = facts[LAST]
    row = rows.get(address(view.scope, "epoch"))
    before, epoch = row.version if row else 0, body_as(row, Epoch) or Epoch(0)
    known = HEAD(head_of(rows, view.scope)) | CLOSED(epoch.is_closed)
    # Example: `last` is 7. If the row has version 7, this process still holds the epoch. If it has 8 and is
    # held by 7, this process claimed it and the answer was lost. Otherwise another process has claimed it.
    is_anothers = last and before != last and epoch.held_by != last
    return Learned(known, skip_to="done" if is_anothers else None)


def ask_claim(facts: Facts, view: View) -> Commit:
    """Claim the next epoch; whether the agent is closed does not change.

    The row names the last epoch of this process (`held_by`), so that it recognises its own claim if the
    answer is lost.
    """
    epoch = address(view.scope, "epoch")
    last, _ = facts[LAST]
    claimed = Epoch(view.now_ms, facts[CLOSED], last)
    return Commit((Write(epoch, claimed),))


def take_claim(facts: Facts, answer: Committed, view: View) -> Learned:
    """Learn the epoch. Load nothing if the agent is closed, or if this process still has its tiers."""
    epoch = dict(answer.versions)[address(view.scope, "epoch")]
    last, is_closed = facts[LAST], facts[CLOSED]
    if is_switched(last, is_closed):
        view.tiers = Tiers(working=view.tiers.working, session=view.tiers.session)
    has_all = is_closed or (last[0] > 0 and not is_switched(last, is_closed))
    return Learned(EPOCH(epoch), skip_to="done" if has_all else None)


def is_switched(last: tuple[int, str], is_closed: bool) -> bool:
    """Check whether the agent was closed or opened since this process last held an epoch."""
    return last[0] > 0 and is_closed != (last[1] == "closed")


def ask_access(facts: Facts, view: View) -> Read:
    # Only upkeep uses reflections here, so without upkeep they are not read.
    upkeep_kinds = ("reflection",) * bool(view.config.upkeep_interval_ms)
    return Read(ByFilter(view.scope, ("access", "category", *upkeep_kinds)))


def take_access(facts: Facts, answer: ReadDone, view: View) -> Learned:
    records = {record.entity_id: record for record in bodies_of(answer.rows, AccessRecord)}
    # A scan is due one interval from now: the previous incarnation may have died before it finished one.
    table = AccessTable(as_records(records), is_due=True, ran_ms=view.now_ms).scan_at(*facts[HEAD])
    # There may be more records than the limit: it may have been lowered, or storage may have lost deletions.
    view.tiers.access = table.without(surplus(table.records, entity_ids(view.tiers.core)))
    view.tiers.divisions = schedule.update_divisions({}, (row.body for row in answer.rows), view.config)
    view.tiers.upkeep = update_upkeep({}, answer.rows, view)
    view.tiers.retired = retired_of(answer.rows, view)
    return Learned(LOADED(len(records)))


def update_upkeep(upkeep: schedule.Schedule, rows: tuple[Row, ...], view: View) -> schedule.Schedule:
    """Return the schedule of upkeep with the work that these rows need."""
    return schedule.update_upkeep(upkeep, ((row.address.id, row.body) for row in rows), view.config)


def ask_pending(facts: Facts, view: View) -> Read | None:
    """Read the resources of which something is pending, but not their segments."""
    # The row of a resource also names what is pending of its segments.
    where = (Condition("pending", "ne", ()), Condition("parent_id", "eq", None))
    return Read(ByFilter(view.scope, ("resource",), where)) if view.config.upkeep_interval_ms else None


def take_pending(facts: Facts, answer: ReadDone, view: View) -> Learned:
    view.tiers.upkeep = update_upkeep(view.tiers.upkeep, answer.rows, view)
    return Learned()


def take_fit(facts: Facts, answer: None, view: View) -> Learned:
    """Fit core under limits that may have been lowered: drop entries, but never authored text."""
    core = facts[CORE]
    fitted = fit(core, scores_of(core, view.tiers.access, view.now_ms), view.config)
    if fitted is None:
        view.marks.append("recover: authored text does not fit")
        return Learned(PLAN(Plan(view.now_ms)) | FITS(False))
    after, left = fitted
    return Learned(PLAN(Plan(view.now_ms, core=after if left else None)) | FITS(True))


def ask_fit(facts: Facts, view: View) -> Commit | None:
    return ask_if_any(facts, with_claimed_epoch(facts, view))


def take_fitted(facts: Facts, answer: Committed | None, view: View) -> Learned:
    return take_commit(facts, answer, with_claimed_epoch(facts, view))


def with_claimed_epoch(facts: Facts, view: View) -> View:
    """Return the view with the claimed epoch, which the memory itself learns only when recovery ends."""
    return structs.replace(view, epoch=facts[EPOCH])


def is_of_this_life(facts: Facts, scope: Scope) -> bool:
    epoch, phase = facts[LAST]
    return phase in ("ready", "over_limit", "closed") if epoch > 0 else facts[LAST] == (0, "")


RECOVER = Workflow(
    "recover",
    given=(LAST,),
    steps=(
        Step("head", requires=(LAST,), produces=(HEAD, CLOSED), skips_to=("done",), loose=("head",),
             **asks(Read, ask_head, take_head, forever())),
        Step("claim", requires=(LAST, CLOSED), produces=(EPOCH,), otherwise=EPOCH(0),
             skips_to=("done",), **asks(Commit, ask_claim, take_claim, forever(replan="head"))),
        Step("load", produces=(CORE,), **asks(Read, ask_load, take_load, forever())),
        Step("access", requires=(HEAD,), produces=(LOADED,),
             spares=("category", "reflection"), **asks(Read, ask_access, take_access, forever())),
        Step("pending", requires=(LOADED,), spares=("resource",),
             **asks(Read, ask_pending, take_pending, forever())),
        Step("fit", requires=(CORE, LOADED), produces=(PLAN, FITS), otherwise=FITS(True), take=take_fit),
        Step("commit", requires=(PLAN, EPOCH), produces=(STORED, LOST),
             **asks(Commit, ask_fit, take_fitted, forever(replan="load"))),
        structs.replace(SETTLE, on_failure=forever()),  # degraded, a core over its limits would stay in use
        Step("done", requires=(EPOCH, FITS), produces=(OUTCOME,),
             take=lambda facts, answer, view: Learned(OUTCOME(Done(facts[EPOCH])))),
    ),
    laws=(Law("a life that has an epoch has a phase", (LAST,), is_of_this_life),),
)  # fmt: skip
