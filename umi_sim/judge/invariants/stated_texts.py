"""Texts that models make of others, a summary and a reflection: their vector goes with them.

Law 1. A commit that changes the text of a row stores the vector of the new one, or deletes the old vector; a
commit with the same text leaves its vector alone.
"""

from typing import Final

from umi_core.messages.answers import Answer, ReadDone
from umi_core.messages.effects import Commit, Write
from umi_core.rows import Category, Reflection
from umi_core.values import Scope
from umi_sim.judge.observer import Observer
from umi_sim.judge.oracle.promises import is_damaged
from umi_sim.record import rules
from umi_sim.record.broken import demand
from umi_sim.services.calls import Call

FIRST_READS: Final = {"summarise": "home", "reflect": "session"}  # by workflow, what reads the row


def text_of(body: object) -> str | None:
    if isinstance(body, Category):
        return body.summary
    return body.text if isinstance(body, Reflection) else None


class StatedTexts(Observer):
    """`before`: by operation, and by id of a row, the text that it has read there."""

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
            # another text needs a vector, or none; with the same text the row keeps what it has
            is_new, message = before.get(key) != text, f"{op_id}: the vector of the text of {key}"
            demand(is_new == (key in found_by), rules.INDEX_FOLLOWS_ROW, message, is_new, key in found_by)
