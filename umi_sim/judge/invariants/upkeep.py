"""Upkeep: the work that rows say is left to do, and whether a memory knows of it.

Law 1. What an acknowledged commit has left to do is known in the step that hears of it, and what it has done
is not wanted any more, unless it hears of it late.
Law 2. A life that has just recovered knows of all of it, and of nothing else.
Law 3. What is looked at and still lacks something is looked at again: after as long as it has been left, an
interval at least and a day or an interval at most.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final, TypeGuard

import msgspec

from umi_core.config import Config
from umi_core.messages.answers import Answer, Committed, ReadDone
from umi_core.messages.effects import Commit, Effect
from umi_core.messages.requests import Request
from umi_core.rows import Category, Receipt, Reflection, Resource
from umi_core.state import State
from umi_core.values import Scope
from umi_sim.judge.observer import Observer
from umi_sim.judge.oracle.promises import is_damaged
from umi_sim.judge.plain.scores import again_ms
from umi_sim.machines.protocol import Machine
from umi_sim.machines.umi import memory_of
from umi_sim.record import rules
from umi_sim.record.broken import demand
from umi_sim.services.calls import Call
from umi_sim.services.storage import SimStorage

KEPT_UP: Final = ("category", "resource", "reflection")
DOERS: Final = ("memorize", "summarise", "reflect")
PURGE: Final = "epoch"  # the row of the agent, of which the purge is left to do


Kept = Category | Resource | Reflection


def has_work(body: object) -> TypeGuard[Kept]:
    """Return True if a row says that something is left to do."""
    match body:
        case Category(summary_dirty=True, member_count=count):
            return count > 0
        case Resource(pending=[_, *_], parent_id=None):
            return True
        case Reflection(degraded=is_begun, pending=is_empty):
            return is_begun or is_empty
    return False


def list_unfinished(storage: SimStorage, scope: Scope) -> list[Kept]:
    return [body for row in storage.live_rows(scope) if has_work(body := row.body)]


def check_upkeep(storage: SimStorage, state: State, *, is_sure: bool) -> None:
    """Check the schedule of a recovered memory.

    `is_sure`: no row can have come back damaged, which counts as none.
    """
    interval_ms, got = state.config.upkeep_interval_ms, dict(state.tiers.upkeep)
    if state.phase == "closed":
        demand(
            PURGE in got, rules.RESTART_KEEPS_DUES, "the purge of a closed agent after a restart", PURGE, got
        )
        return
    unfinished = list_unfinished(storage, state.scope) if interval_ms else []
    due = {it.id: it.updated_ms + interval_ms for it in unfinished}
    # a damaged row counts as none: it can hide work, and cannot make any
    strange = {key: at_ms for key, at_ms in got.items() if due.get(key) != at_ms}
    demand(not strange, rules.RESTART_KEEPS_DUES, "upkeep after a restart that was not due", due, strange)
    lost = [key for key in due if key not in got] if is_sure else []
    demand(not lost, rules.RESTART_KEEPS_DUES, "upkeep that was due and is not after a restart", due, got)


Due = tuple[int, int | None]  # the version of a row, and when something of it is due
UNTOLD: Final[Due] = (0, None)


class Tended(Observer):
    """Checks that a memory knows the work that commits leave to do.

    `told`: by agent, the work that the commit it hears of in this step leaves, by id; None: nothing.
    `newest`: by agent, the newest row of each id that its life was told of. `heard`: by agent, how many
    commits it has heard of; `begun`: by request, how many when it was asked for. `is_late`: by agent, whether
    others may have landed since, as is always possible in background work. `looks`: by agent, the row that a
    look at the work left finds in this step. `is_forged`: rows and answers may be others than were committed,
    and the newest one is unknown.
    """

    config: Config
    is_forged: bool
    reported: dict[str, dict[str, int | None]] = {}
    newest: dict[str, dict[str, Due]] = {}
    heard: Counter[str] = msgspec.field(default_factory=Counter)
    begun: dict[str, int] = {}
    is_late: dict[str, bool] = {}
    looks: dict[str, Kept] = {}

    def observe_request(self, agent: str, op_id: str, request: Request) -> None:
        self.begun[op_id] = self.heard[agent]

    def observe_answer(self, call: Call, answer: Answer, scope: Scope) -> None:
        if self.is_forged:
            return
        if call.workflow == "upkeep" and isinstance(answer, ReadDone):
            asker = call.old_asker if call.old_asker in self.newest else call.agent
            for row in answer.rows:
                if not is_damaged(row) and has_work(row.body):
                    self.looks[asker] = row.body
            return
        begun, commit = self.begun.get(call.op_id, -1), call.effect
        if not isinstance(commit, Commit) or not isinstance(answer, Committed):
            return
        asker = call.old_asker if call.old_asker in self.newest else call.agent
        # asked when two commits were known, answered when three are: the third may have written the same row
        self.is_late[asker] = self.heard[asker] > begun
        self.heard[asker] += 1
        receipts = [it.body for it in commit.writes if isinstance(it.body, Receipt)]
        if answer.receipt not in (None, *receipts):
            return  # an earlier batch of its own has the key
        versions = {where.id: version for where, version in answer.versions if where.kind in KEPT_UP}
        bodies = {it.address.id: it.body for it in commit.writes if isinstance(it.body, Kept)}
        newest = self.newest.setdefault(asker, {})
        if not self.is_late[asker]:  # storage may have lost rows, and count from a lower version again
            newest |= dict.fromkeys(bodies, UNTOLD)
        for key, body in bodies.items():
            # row 3 was heard of, row 2 comes late: row 3 says what is left to do
            newest[key] = max(newest.get(key, UNTOLD), (versions[key], self.due_ms(body)), key=version_of)
        self.reported[asker] = {key: newest[key][1] for key in bodies}

    def due_ms(self, body: Kept) -> int | None:
        interval_ms = self.config.upkeep_interval_ms
        return body.updated_ms + interval_ms if interval_ms and has_work(body) else None

    def observe_step(self, agent: str, scope: Scope, machine: Machine, effects: Sequence[Effect]) -> None:
        """Compare the work that commits left with the schedule.

        A late answer may leave work scheduled that is done; it is looked at, and left as it is.
        """
        reported, memory, is_late = self.reported.pop(agent, {}), memory_of(machine), self.is_late.get(agent)
        seen = self.looks.pop(agent, None)
        if seen is not None and memory is not None and is_being_done(memory.state):
            self.check_look(agent, seen, memory.state)
        if not reported or memory is None:
            return
        known = {key: memory.state.tiers.upkeep.get(key) for key in reported}
        wrong = {
            key: due
            for key, due in reported.items()
            if due != known[key] and not (is_late and known[key] is not None)
        }
        message = f"{agent}: what a commit has left to do, as it is known"
        demand(not wrong, rules.PENDING_UNTIL_DONE, message, wrong, known)

    def check_look(self, agent: str, seen: Kept, state: State) -> None:
        """Demand that unfinished work is looked at again no sooner than it has been left."""
        at_ms, known_ms = again_ms(seen, state.seen_ms, self.config), state.tiers.upkeep.get(seen.id)
        message = f"{agent}: when what lacks something is looked at again"
        demand(known_ms in (None, at_ms), rules.PENDING_UNTIL_DONE, message, at_ms, known_ms)

    def observe_takeover(self, agent: str, old: str) -> None:
        """Give the old life its own tables: its answers are no longer those of `agent`."""
        self.newest[old], self.heard[old] = self.newest.pop(agent, {}), self.heard[agent]

    def observe_crash(self, agent: str) -> None:
        for table in (self.reported, self.newest, self.is_late, self.looks):
            table.pop(agent, None)


def is_being_done(state: State) -> bool:
    """Return True if a look has found something to do, which follows at once."""
    return any(it.op_id is None and it.workflow in DOERS for it in state.operations.values())


def version_of(due: Due) -> int:
    return due[0]
