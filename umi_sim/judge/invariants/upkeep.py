"""Upkeep and divisions: the pending work that rows show, and whether a memory has scheduled it.

Law 1. Work that an acknowledged commit leaves is scheduled in the step that gets its answer. Work that the
commit has done is not scheduled, unless another commit may have become durable since.
Law 2. An incarnation that has just recovered has scheduled exactly the pending work.
Law 3. Failed work is tried again after the time since its row was last written: at least an interval, and at
most a day, or the interval if that is longer.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import itemgetter
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
from umi_sim.judge.plain.requests import is_damaged
from umi_sim.judge.plain.scores import again_ms, division_ms
from umi_sim.machines.protocol import Machine
from umi_sim.machines.umi import memory_of
from umi_sim.record import rules
from umi_sim.record.broken import demand
from umi_sim.services.calls import Call
from umi_sim.services.storage import SimStorage

KINDS: Final = ("category", "resource", "reflection")
WORKFLOWS: Final = ("memorize", "summarise", "reflect")
PURGE: Final = "epoch"  # the row of a closed agent, under whose id the purge is scheduled
Schedule = tuple[int, int | None]  # the version of a row, and when its work is due
UNKNOWN: Final[Schedule] = (0, None)
UpkeepRow = Category | Resource | Reflection


def has_work(body: object) -> TypeGuard[UpkeepRow]:
    """Return True if a row shows pending work."""
    match body:
        case Category(summary_dirty=True, member_count=count):
            return count > 0
        case Resource(pending=[_, *_], parent_id=None):
            return True
        case Reflection(degraded=is_begun, pending=is_empty):
            return is_begun or is_empty
    return False


def list_unfinished(storage: SimStorage, scope: Scope) -> list[UpkeepRow]:
    return [body for row in storage.live_rows(scope) if has_work(body := row.body)]


def check_upkeep(storage: SimStorage, state: State, *, is_sure: bool) -> None:
    """Check the upkeep and the divisions that a recovered memory has scheduled.

    `is_sure`: storage has returned no damaged row, which would count as absent.
    """
    interval_ms, got = state.config.upkeep_interval_ms, dict(state.tiers.upkeep)
    categories = [it for row in storage.live_rows(state.scope) if isinstance(it := row.body, Category)]
    divided = {it.name: at_ms for it in categories if (at_ms := division_ms(it, state.config)) is not None}
    check_schedule("divisions", divided, dict(state.tiers.divisions), is_sure=is_sure)
    if state.phase == "closed":
        message = "the purge of a closed agent is not scheduled after a restart"
        demand(PURGE in got, rules.RESTART_KEEPS_DUES, message, PURGE, got)
        return
    unfinished = list_unfinished(storage, state.scope) if interval_ms else []
    expected = {it.id: it.updated_ms + interval_ms for it in unfinished}
    check_schedule("upkeep", expected, got, is_sure=is_sure)


def check_schedule(name: str, expected: Mapping[str, int], got: Mapping[str, int], *, is_sure: bool) -> None:
    # A damaged row counts as absent, so it can hide work but not add any.
    strange = {key: at_ms for key, at_ms in got.items() if expected.get(key) != at_ms}
    message = f"{name} that a restart has scheduled without need, or at another time"
    demand(not strange, rules.RESTART_KEEPS_DUES, message, expected, strange)
    lost = [key for key in expected if key not in got] if is_sure else []
    demand(not lost, rules.RESTART_KEEPS_DUES, f"{name} that a restart has not scheduled", expected, got)


class UpkeepSchedule(Observer):
    """Checks that a memory schedules the work that commits leave to do.

    `reported`: by agent, the work left by the commit that is answered in this step, by id of the row (None:
    nothing). `newest`: by agent, the newest row of each id in the answers that its incarnation got.
    `counts`: by agent, how many commits were answered; `begun`: by request, that number when it was issued.
    `is_late`: by agent, whether another commit may have become durable in between, which is always possible
    for background work. `looks`: by agent, the unfinished row that its upkeep reads in this step.
    `is_forged`: rows and answers may differ from what was committed, so the newest row is unknown.
    """

    config: Config
    is_forged: bool
    reported: dict[str, dict[str, int | None]] = {}
    newest: dict[str, dict[str, Schedule]] = {}
    counts: Counter[str] = msgspec.field(default_factory=Counter)
    begun: dict[str, int] = {}
    is_late: dict[str, bool] = {}
    looks: dict[str, UpkeepRow] = {}

    def observe_request(self, agent: str, op_id: str, request: Request) -> None:
        self.begun[op_id] = self.counts[agent]

    def observe_answer(self, call: Call, answer: Answer, scope: Scope) -> None:
        if self.is_forged:
            return
        caller = call.old_asker if call.old_asker in self.newest else call.agent
        if call.workflow == "upkeep" and isinstance(answer, ReadDone):
            for row in answer.rows:
                if not is_damaged(row) and has_work(row.body):
                    self.looks[caller] = row.body
            return
        begun, commit = self.begun.get(call.op_id, -1), call.effect
        if not isinstance(commit, Commit) or not isinstance(answer, Committed):
            return
        # If it was issued after two answered commits and is the fourth, the third may have written the row.
        self.is_late[caller] = self.counts[caller] > begun
        self.counts[caller] += 1
        receipts = [it.body for it in commit.writes if isinstance(it.body, Receipt)]
        if answer.receipt not in (None, *receipts):
            return  # the key belongs to an earlier batch of the same operation
        versions = {where.id: version for where, version in answer.versions if where.kind in KINDS}
        bodies = {it.address.id: it.body for it in commit.writes if isinstance(it.body, UpkeepRow)}
        newest = self.newest.setdefault(caller, {})
        if not self.is_late[caller]:  # after a loss, storage may continue from a lower version
            newest |= dict.fromkeys(bodies, UNKNOWN)
        for key, body in bodies.items():
            # If version 3 is known and version 2 comes late, version 3 shows the pending work.
            now = versions[key], self.due_ms(body)
            newest[key] = max(newest.get(key, UNKNOWN), now, key=itemgetter(0))
        self.reported[caller] = {key: newest[key][1] for key in bodies}

    def due_ms(self, body: UpkeepRow) -> int | None:
        interval_ms = self.config.upkeep_interval_ms
        return body.updated_ms + interval_ms if interval_ms and has_work(body) else None

    def observe_step(self, agent: str, scope: Scope, machine: Machine, effects: Sequence[Effect]) -> None:
        """Compare the work left by commits with the schedule.

        After a late answer the schedule may have work that is done already; upkeep then finds nothing to do.
        """
        reported, memory, is_late = self.reported.pop(agent, {}), memory_of(machine), self.is_late.get(agent)
        seen, scheduled = self.looks.pop(agent, None), memory.state.tiers.upkeep if memory is not None else {}
        if memory is None:
            return
        # If there is work to do, upkeep begins an operation of background work in the same step.
        running = [it for it in memory.state.operations.values() if it.op_id is None]
        if seen is not None and any(it.workflow in WORKFLOWS for it in running):
            due_ms, known_ms = again_ms(seen, memory.state.seen_ms, self.config), scheduled.get(seen.id)
            message = f"when {agent} tries the unfinished work of {seen.id} again"
            demand(known_ms in (None, due_ms), rules.PENDING_UNTIL_DONE, message, due_ms, known_ms)
        known = {key: scheduled.get(key) for key in reported}
        others = {key: stated for key, stated in reported.items() if stated != known[key]}
        wrong = {key: stated for key, stated in others.items() if not (is_late and known[key] is not None)}
        message = f"the work that a commit of {agent} leaves, as it is scheduled"
        if reported:
            demand(not wrong, rules.PENDING_UNTIL_DONE, message, wrong, known)

    def observe_takeover(self, agent: str, old: str) -> None:
        """Move the tables to the old incarnation; its answers no longer belong to `agent`."""
        self.newest[old], self.counts[old] = self.newest.pop(agent, {}), self.counts[agent]

    def observe_crash(self, agent: str) -> None:
        for table in (self.reported, self.newest, self.is_late, self.looks):
            table.pop(agent, None)
