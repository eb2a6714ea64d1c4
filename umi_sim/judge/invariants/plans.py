"""Plans: the answers to an operation of groups since it began to plan.

Law 1. A page with a row that counts for no answer tells nothing.
Law 2. A damaged row is known by its address alone.
"""

from typing import Final

from msgspec import structs

from umi_core.data import Owner
from umi_core.language.keywords import parse_name
from umi_core.limits import PPM
from umi_core.messages.answers import Answer, ModelReplied, ReadDone
from umi_core.messages.effects import ByFilter, ByIds, Read
from umi_core.rows import Address, Body, Row
from umi_sim.judge.oracle.promises import is_damaged, is_foreign, is_left_out
from umi_sim.record import rules
from umi_sim.record.broken import Broken
from umi_sim.services.model.prompts import Inputs, inputs

WHOLE: Final = ("members", "contents")  # damaged rows are among the answers of these, without a body
NEVER_MS: Final = -1  # before any use

Question = tuple[tuple[str, ...], tuple[str, ...]]  # keywords and contents


class PlanInputs(Owner):
    """The answers to an operation since it began to plan: rows by step, names by question.

    `asked`: the addresses that were asked for. `ended`: steps that have read to the last page. `uses`: when
    each entity was accessed last, as it was known when the members were divided; `unused_ms`: what is used
    later than that is in use.
    """

    rows: dict[str, dict[Address, Row]] = {}
    names: dict[Question, str] = {}
    asked: dict[Address, None] = {}
    ended: dict[str, bool] = {}
    uses: dict[str, int] = {}
    unused_ms: int = NEVER_MS

    def read(self, step: str, effect: Read, answer: ReadDone) -> None:
        """Take the rows of a page.

        A page with a row that counts for no answer is asked again, and dropped.
        """
        if not all(is_asked_for(effect, row) for row in answer.rows):
            return
        rows = [structs.replace(row, body=None) if is_damaged(row) else row for row in answer.rows]
        if step not in WHOLE and any(row.body is None for row in rows):
            return
        query = effect.query
        # a first page begins the rows of its step anew, as a second plan reads them all again
        if not isinstance(query, ByFilter) or query.cursor is None:
            self.rows[step] = {}
        self.rows[step] |= {row.address: row for row in rows}
        self.asked |= dict.fromkeys(query.addresses if isinstance(query, ByIds) else ())
        self.ended[step] = answer.cursor is None

    def name(self, prompt: str, answer: Answer) -> None:
        name = parse_name(answer.text) if isinstance(answer, ModelReplied) else ""
        shown = inputs(prompt)
        self.names[texts_of(shown, "keywords"), texts_of(shown, "contents")] = (
            name if isinstance(name, str) else ""
        )

    def bodies(self, *steps: str) -> list[Body]:
        return [row.body for step in steps for row in self.rows.get(step, {}).values() if row.body]


def texts_of(shown: Inputs, name: str) -> tuple[str, ...]:
    """Return an input of a question for a name. Raises Broken if the memory did not give it."""
    values = shown.get(name)
    if not isinstance(values, list):
        raise Broken(rules.CLUSTER_MEMBERS, f"input {name} of a question for a name", "a list", values)
    return tuple(values)


def is_asked_for(effect: Read, row: Row) -> bool:
    """Return True if a row fits the read, as far as address, condition and numbers tell."""
    if is_foreign(effect.query, row) or is_left_out(effect.query, row):
        return False
    return row.version >= 0 and (row.score_ppm is None or 0 <= row.score_ppm <= PPM)
