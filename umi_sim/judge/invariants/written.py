"""Rows that a memory writes: ranges of fields, and vectors of texts.

Law 1. A written row has no field out of range, since it would count as damaged when read, and be lost.
Law 2. A commit that changes the text of a summary or a reflection stores the vector of the new text, or
deletes the old vector; a commit with the same text does not write its vector.
"""

from collections.abc import Sequence
from typing import Final

from umi_core.messages.answers import Answer, ReadDone
from umi_core.messages.effects import Commit, Effect, Write
from umi_core.rows import Category, Reflection
from umi_core.shapes import anything
from umi_core.values import Scope
from umi_sim.judge.observer import Observer
from umi_sim.judge.plain.requests import is_damaged
from umi_sim.machines.protocol import Machine
from umi_sim.record import rules
from umi_sim.record.broken import demand
from umi_sim.services.calls import Call


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
    message = f"the kind of the row that is written as {address.id}"
    demand(body.row_kind == address.kind, rules.WHOLE_VALUES, message, address.kind, body.row_kind)
    wrong = anything(body)
    message = f"a field out of its range in the {address.kind} that is written as {address.id}"
    demand(not wrong, rules.WHOLE_VALUES, message, "", wrong)


# Texts that a model makes from others.


# By workflow, the step that reads the row with the text.
FIRST_READS: Final = {"summarise": "category", "reflect": "session"}


def text_of(body: object) -> str | None:
    if isinstance(body, Category):
        return body.summary
    return body.text if isinstance(body, Reflection) else None


class StatedTexts(Observer):
    """Checks law 2. `before`: by operation and id of a row, the text that the operation has read."""

    is_hooked: bool
    before: dict[str, dict[str, str]] = {}

    def observe_answer(self, call: Call, answer: Answer, scope: Scope) -> None:
        if self.is_hooked or call.workflow not in FIRST_READS:
            return
        if isinstance(answer, ReadDone) and call.step == FIRST_READS[call.workflow]:
            rows = [row for row in answer.rows if not is_damaged(row)]
            texts = {row.address.id: text_of(row.body) for row in rows}
            self.before[call.op_id] = {key: text for key, text in texts.items() if text is not None}
        if isinstance(call.effect, Commit):
            self.check_writes(call.op_id, call.effect.writes)

    def check_writes(self, op_id: str, writes: tuple[Write, ...]) -> None:
        before = self.before.get(op_id, {})
        found_by = [it.address.id for it in writes if it.address.kind == "vector"]
        for key, text in ((it.address.id, text_of(it.body)) for it in writes):
            if text is None:
                continue
            is_new, is_written = before.get(key) != text, key in found_by
            message = f"whether {op_id} writes or deletes the vector of {key}"
            demand(is_new == is_written, rules.INDEX_FOLLOWS_ROW, message, is_new, is_written)
