"""Rows that are committed hold what their fields may hold; replies are looked at by the oracle.

A row with a field out of its range is taken for damaged when it is read, so whoever writes one has lost it.
"""

from collections.abc import Sequence

from umi_core.invariants.broken import demand
from umi_core.messages.effects import Commit, Effect, Write
from umi_core.rows import Receipt
from umi_core.values import Scope
from umi_sim.judge.observer import Observer
from umi_sim.judge.plain.requests import is_whole, misfit
from umi_sim.judge.plain.rows import unfit
from umi_sim.record import rules
from umi_sim.target.machine import Machine


class WrittenRows(Observer):
    """Looks at whatever a commit writes."""

    def stepped(self, agent: str, scope: Scope, machine: Machine, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Commit):
                for write in effect.writes:
                    check_row(write)


def check_row(write: Write) -> None:
    body, address = write.body, write.address
    if body is None:
        return
    told = f"the row that is written as {address.id} is of another kind than its address says"
    demand(body.row_kind == address.kind, rules.WHOLE_VALUES, told, address.kind, body.row_kind)
    wrong = {name: getattr(body, name) for name in unfit(body)}
    if isinstance(body, Receipt) and not is_whole(body.value):
        wrong["value"] = misfit(body.value)
    told = f"fields that nobody may believe, in the {address.kind} that is written as {address.id}"
    demand(not wrong, rules.WHOLE_VALUES, told, {}, wrong)
