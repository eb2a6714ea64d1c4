"""upkeep: finds the work that a row lacks; the memory, which begins this, does that work next, as if asked.

    a text with something pending    memorize, for what is pending; for a vector alone, as it was read before
    a category with other members than its summary names    summarise
    a reflection that no model has made, or that is empty    end_session, for its session

Law 1. The row decides, as it is stored now: work that was done meanwhile is not done again.
"""

from typing import Final

from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import OUTCOME, Learned, Step, Workflow, asks, retry
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByIds, Done, Read
from umi_core.messages.requests import EndSession, Memorize, Summarise
from umi_core.rows import Category, Reflection, Resource
from umi_core.tiers import schedule
from umi_core.workflows.commits import address
from umi_core.workflows.memorize import left_to_read

Work = Memorize | Summarise | EndSession
ROW_ID: Final = Fact("row_id", str)


def ask_row(facts: Facts, view: View) -> Read:
    """Read the row of this id: at most one of these kinds has it."""
    return Read(ByIds(tuple(address(view.scope, kind, facts[ROW_ID]) for kind in schedule.KEPT_UP)))


def take_row(facts: Facts, answer: ReadDone, view: View) -> Learned:
    # The ids of the three kinds have different prefixes, so at most one row has this id.
    row = next(iter(answer.rows), None)
    row_id, upkeep, config = facts[ROW_ID], view.tiers.upkeep, view.config
    if row is None or schedule.upkeep_ms(row.body, config) is None:
        view.tiers.upkeep = schedule.without(upkeep, row_id)
        return Learned(OUTCOME(Done(None)))
    if row_id in upkeep:  # unless a commit has told meanwhile that nothing is left
        again_ms = schedule.again_ms(row.body, view.now_ms, config)
        view.tiers.upkeep = {**upkeep, row_id: max(upkeep[row_id], again_ms)}
    return Learned(OUTCOME(Done(work_of(row.body))))


def work_of(body: object) -> Work:
    if isinstance(body, Resource):
        return left_to_read(body)
    if isinstance(body, Reflection):
        return EndSession("", body.session_id)
    assert isinstance(body, Category)  # of what is kept up, nothing else is asked for
    return Summarise("", body.name)


UPKEEP: Final = Workflow(
    "upkeep",
    given=(ROW_ID,),
    steps=(
        Step("row", requires=(ROW_ID,), produces=(OUTCOME,), **asks(Read, ask_row, take_row, retry(3))),
    ),
)  # fmt: skip
