"""Upkeep: what rows say that is left to do, and whether a memory knows of it.

Law 1. What an acknowledged commit has left to do is known in the step that hears of it, and what it has done
is not wanted any more. Law 2. A life that has just recovered knows of all of it, and of nothing else.
"""

from collections.abc import Sequence
from typing import TypeGuard

import attrs

from umi_core.config import Config
from umi_core.invariants.broken import demand
from umi_core.messages.answers import Answer, Committed
from umi_core.messages.effects import Commit, Effect
from umi_core.rows import Category, Receipt, Resource
from umi_core.state import State
from umi_core.values import Scope
from umi_sim.judge.observer import Observer
from umi_sim.record import rules
from umi_sim.services.calls import Call
from umi_sim.services.storage import SimStorage
from umi_sim.target.machine import Machine
from umi_sim.target.umi import memory_of


def lacks(body: object) -> TypeGuard[Category | Resource]:
    """Whether a row says that something is left to do."""
    match body:
        case Category(summary_dirty=True, member_count=count):
            return count > 0
        case Resource(pending=[_, *_], parent_id=None):
            return True
    return False


def lacking(storage: SimStorage, scope: Scope) -> list[Category | Resource]:
    return [body for row in storage.live_rows(scope) if lacks(body := row.body)]


def check_upkeep(storage: SimStorage, state: State, *, is_sure: bool) -> None:
    """`is_sure`: no row can have come back damaged, which counts as none."""
    interval_ms, got = state.config.upkeep_interval_ms, dict(state.tiers.upkeep)
    due = {it.id: it.updated_ms + interval_ms for it in lacking(storage, state.scope)} if interval_ms else {}
    strange = {key: at_ms for key, at_ms in got.items() if due.get(key) != at_ms}
    demand(not strange, rules.RESTART_KEEPS_DUES, "upkeep after a restart that was not due", due, strange)
    lost = [key for key in due if key not in got] if is_sure else []
    demand(not lost, rules.RESTART_KEEPS_DUES, "upkeep that was due and is not after a restart", due, got)


@attrs.define
class Tended(Observer):
    """`told`: by agent, what the commit that it hears of in this step leaves to do, by id; None: nothing."""

    config: Config
    is_hooked: bool
    told: dict[str, dict[str, int | None]] = attrs.field(factory=dict)

    def answered(self, call: Call, answer: Answer, scope: Scope) -> None:
        interval_ms, commit = self.config.upkeep_interval_ms, call.effect
        if not interval_ms or self.is_hooked or not isinstance(commit, Commit):
            return
        receipts = [it.body for it in commit.writes if isinstance(it.body, Receipt)]
        if not isinstance(answer, Committed) or answer.receipt not in (None, *receipts):
            return  # an earlier batch of its own has the key
        bodies = {it.address.id: it.body for it in commit.writes if isinstance(it.body, Category | Resource)}
        self.told[call.agent] = {
            key: body.updated_ms + interval_ms if lacks(body) else None for key, body in bodies.items()
        }

    def stepped(self, agent: str, scope: Scope, machine: Machine, effects: Sequence[Effect]) -> None:
        told, memory = self.told.pop(agent, {}), memory_of(machine)
        if not told or memory is None:
            return
        known = {key: memory.state.tiers.upkeep.get(key) for key in told}
        message = f"{agent}: what a commit has left to do, as it is known"
        demand(known == told, rules.PENDING_UNTIL_DONE, message, told, known)

    def crashed(self, agent: str) -> None:
        self.told.pop(agent, None)
