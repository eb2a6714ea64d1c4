"""delete_agent and open_agent: the agent's row says whether it is open; and purge, which removes what it had.

    DeleteAgent     the row says closed, under the next version: no commit of before lands any more, and no
                    other agent may read the archive
    purge           one page of rows in one commit, until there is none
    OpenAgent       the row says open again; its logs go on with their next numbers

Law 1. Both run alone, and the memory begins anew behind them (memory.py). Law 2. A life that begins leaves
the agent open or closed as it was. Law 3. What is left is what names things that are gone: the next numbers
of logs, and receipts, of which storage disposes.
"""

from typing import Final

from msgspec import structs

from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import (
    OUTCOME,
    Learned,
    Rejection,
    Step,
    Taken,
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
# The rows that say that the agent is closed, which numbers were given, and what was replied.
KEPT: Final = ("epoch", "log", "receipt")
# Rows of a move go too, in whatever phase it is; sessions are their user's.
PURGED: Final = tuple(sorted(kind for kind in BODIES if kind not in (*KEPT, "session")))


def ask_agent(facts: Facts, view: View) -> Read:
    logs = (address(view.scope, "log", name) for name in LOGS)
    return Read(ByIds((address(view.scope, "epoch"), address(view.scope, "grant"), *logs)))


def take_switch(facts: Facts, answer: None, view: View) -> Taken:
    """Plan to close or open the agent; nothing is written if it is open already."""
    rows = {row.address: row.body for row in facts[ROWS]}
    now, is_deleted = rows.get(address(view.scope, "epoch")), isinstance(facts[SWITCH], DeleteAgent)
    is_closed = isinstance(now, Epoch) and now.is_closed
    if is_closed and is_deleted:
        return Rejection(NotFound("agent", view.scope.agent))
    if not is_closed and not is_deleted:
        return Learned(PLAN(Plan(view.now_ms, value=AgentSwitched("unchanged", view.now_ms))))
    # The claim stays as it was. `held_by` is this incarnation, by which its own recovery knows the row again.
    claimed_ms = now.claimed_ms if isinstance(now, Epoch) else view.now_ms
    # The row gets its next version: a batch that was sent before expects the old one, and conflicts.
    after = Write(address(view.scope, "epoch"), Epoch(claimed_ms, is_deleted, view.epoch))
    # Numbers up to 7 were given: the log starts at 8, so an id never names two messages.
    anew = () if is_deleted else bodies_of(facts[ROWS], Log)
    logs = (put(view.scope, "log", it.name, structs.replace(it, first_seq=it.next_seq)) for it in anew)
    # In the same batch, as the other rows go page by page: no other agent reads what is left of them.
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
    """Take a page of rows, damaged ones too; an empty page means that all is done."""
    if not answer.rows and answer.cursor is None:
        view.tiers.upkeep = schedule.without(view.tiers.upkeep, schedule.PURGE)
    writes = tuple(Write(row.address, None) for row in answer.rows)
    return Learned(PLAN(Plan(view.now_ms, writes, value=AgentSwitched("purged", view.now_ms))))


def take_purged(facts: Facts, answer: Committed | None, view: View) -> Taken:
    """Make the next page due at once: there may be one."""
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
