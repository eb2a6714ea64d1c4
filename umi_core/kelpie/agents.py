"""delete_agent and open_agent, which close and open an agent; purge, which removes the rows of a closed one.

    DeleteAgent     marks the epoch row as closed, under its next version: no earlier commit can land, and no
                    other agent may read the archive
    purge           deletes one page of rows per commit, until no row is left
    OpenAgent       marks the epoch row as open; its logs continue with their next numbers

Law 1. Each runs alone, and the memory restarts its state afterwards (memory.py). Law 2. A new incarnation
leaves the agent open or closed as it was. Law 3. Only rows that refer to deleted things remain: the logs with
their next numbers, and receipts, which storage expires.
"""

from typing import Final

from msgspec import structs

from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import (
    OUTCOME,
    Learned,
    Rejection,
    Step,
    TakeResult,
    Workflow,
    asks,
    learn_rows,
    retry,
)
from umi_core.kelpie.domains import LOGS
from umi_core.kelpie.errors import NotFound
from umi_core.kelpie.requests import DeleteAgent, OpenAgent
from umi_core.kelpie.results import AgentSwitched
from umi_core.kelpie.rows import Log
from umi_core.limits import PURGE_ROW_COUNT_MAX
from umi_core.messages.answers import Committed, ReadDone
from umi_core.messages.effects import ByFilter, ByIds, Commit, Read, Write
from umi_core.rows import BODIES, Epoch, Grant, Row, bodies_of
from umi_core.tiers import schedule
from umi_core.workflows.commits import (
    LOST,
    PLAN,
    REQUEST_KEY,
    STORED,
    Plan,
    address,
    ask_if_any,
    commit_row,
    put,
    take_commit,
    take_reply,
)
from umi_core.workflows.remember import KNOWN_ANSWER, REPLY, SEEN

SWITCH: Final = Fact("request", DeleteAgent | OpenAgent)
ROWS: Final = Fact("rows", tuple[Row, ...])
# Rows that stay: the closed state of the agent, the numbers given by its logs, and receipts of replies.
KEPT: Final = ("epoch", "log", "receipt")
# Rows of a migration are purged too, in any phase; sessions belong to the user and stay.
PURGED: Final = tuple(sorted(kind for kind in BODIES if kind not in (*KEPT, "session")))


def ask_agent(facts: Facts, view: View) -> Read:
    logs = (address(view.scope, "log", name) for name in LOGS)
    return Read(ByIds((address(view.scope, "epoch"), address(view.scope, "grant"), *logs)))


def take_switch(facts: Facts, answer: None, view: View) -> TakeResult:
    """Plan to close or open the agent; write nothing if it is open already."""
    rows = {row.address: row.body for row in facts[ROWS]}
    now, is_deleted = rows.get(address(view.scope, "epoch")), isinstance(facts[SWITCH], DeleteAgent)
    is_closed = isinstance(now, Epoch) and now.is_closed
    if is_closed and is_deleted:
        return Rejection(NotFound("agent", view.scope.agent))
    if not is_closed and not is_deleted:
        return Learned(PLAN(Plan(view.now_ms, value=AgentSwitched("unchanged", view.now_ms))))
    # `claimed_ms` stays unchanged. `held_by` names this incarnation, so that its recovery recognises the row.
    claimed_ms = now.claimed_ms if isinstance(now, Epoch) else view.now_ms
    # The row gets its next version, so a batch that was sent before expects the old one and conflicts.
    after = Write(address(view.scope, "epoch"), Epoch(claimed_ms, is_deleted, view.epoch))
    # If numbers up to 7 were given, the log starts at 8, so that no id ever names two messages.
    anew = () if is_deleted else bodies_of(facts[ROWS], Log)
    logs = (put(view.scope, "log", it.name, structs.replace(it, first_seq=it.next_seq)) for it in anew)
    # Grants are deleted in this batch, so that no other agent reads rows that the purge has not reached yet.
    grants = (Write(row.address, None) for row in facts[ROWS] if isinstance(row.body, Grant))
    value = AgentSwitched("closed" if is_deleted else "opened", view.now_ms)
    return Learned(PLAN(Plan(view.now_ms, (after, *grants, *logs), value=value)))


def switch(name: str) -> Workflow:
    return Workflow(
        name,
        given=(SWITCH, REQUEST_KEY),
        steps=(
            SEEN,
            Step("load", requires=(SWITCH,), produces=(ROWS,),
                 **asks(Read, ask_agent, learn_rows(ROWS), retry(3))),
            Step("plan", requires=(SWITCH, ROWS), produces=(PLAN,), take=take_switch),
            commit_row(replan="load", ask=ask_if_any),
            REPLY,
        ),
        laws=(KNOWN_ANSWER,),
    )  # fmt: skip


DELETE_AGENT: Final = switch("delete_agent")
OPEN_AGENT: Final = switch("open_agent")


# purge.


def ask_page(facts: Facts, view: View) -> Read:
    return Read(ByFilter(view.scope, PURGED, limit=PURGE_ROW_COUNT_MAX))


def take_page(facts: Facts, answer: ReadDone, view: View) -> Learned:
    """Plan to delete a page of rows, including damaged ones; an empty page means that the purge is done."""
    if not answer.rows and answer.cursor is None:
        view.tiers.upkeep = schedule.without(view.tiers.upkeep, schedule.PURGE)
    writes = tuple(Write(row.address, None) for row in answer.rows)
    return Learned(PLAN(Plan(view.now_ms, writes, value=AgentSwitched("purged", view.now_ms))))


def take_purged(facts: Facts, answer: Committed | None, view: View) -> TakeResult:
    """Make the next page due now, since there may be more rows."""
    taken = take_commit(facts, answer, view)
    if answer is not None:
        view.tiers.upkeep = {schedule.PURGE: view.now_ms}
    return taken


PURGE: Final = Workflow(
    "purge",
    given=(),
    steps=(
        Step("page", produces=(PLAN,), spares=PURGED, **asks(Read, ask_page, take_page, retry(3))),
        Step("commit", requires=(PLAN,), produces=(STORED, LOST),
             **asks(Commit, ask_if_any, take_purged, retry(3))),
        Step("end", requires=(STORED,), produces=(OUTCOME,), take=take_reply),
    ),
)  # fmt: skip
