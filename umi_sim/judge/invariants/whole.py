"""Committed rows hold what their fields may hold; the oracle checks replies.

A row with a field out of its range is taken for damaged when it is read, so a row written like that
is lost.
"""

from collections.abc import Sequence

from umi_core.messages.effects import Commit, Effect, Write
from umi_core.shapes import anything
from umi_core.values import Scope
from umi_sim.judge.observer import Observer
from umi_sim.machines.protocol import Machine
from umi_sim.record import rules
from umi_sim.record.broken import demand


class WrittenRows(Observer):
    """Checks every row that a commit writes."""

    def observe_step(self, agent: str, scope: Scope, machine: Machine, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Commit):
                for write in effect.writes:
                    check_row(write)


def check_row(write: Write) -> None:
    body, address = write.body, write.address
    if body is None:
        return
    message = f"the row that is written as {address.id} is of another kind than its address says"
    demand(body.row_kind == address.kind, rules.WHOLE_VALUES, message, address.kind, body.row_kind)
    wrong = anything(body)
    message = f"a field out of its range, in the {address.kind} that is written as {address.id}"
    demand(not wrong, rules.WHOLE_VALUES, message, "", wrong)
