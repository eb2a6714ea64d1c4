"""upkeep: finds what a row is missing. The memory then begins that work, as if a caller had requested it.

    row in storage                                   work
    a text with something pending                    memorize, for the pending memory types
    a category whose summary is out of date          summarise
    a reflection that is empty or not by a model     end_session, for its session

Law 1. The row as it is stored now decides. Work that was done since it was scheduled is not done again.
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
from umi_core.workflows.memorize import request_pending

Work = Memorize | Summarise | EndSession
ROW_ID: Final = Fact("row_id", str)


def ask_row(facts: Facts, view: View) -> Read:
    """Read the row with this id, whatever its kind."""
    return Read(ByIds(tuple(address(view.scope, kind, facts[ROW_ID]) for kind in schedule.UPKEEP_KINDS)))


def take_row(facts: Facts, answer: ReadDone, view: View) -> Learned:
    # The ids of the three kinds have different prefixes, so at most one row has this id.
    row = next(iter(answer.rows), None)
    row_id, upkeep, config = facts[ROW_ID], view.tiers.upkeep, view.config
    if row is None or schedule.upkeep_ms(row.body, config) is None:
        view.tiers.upkeep = schedule.without(upkeep, row_id)
        return Learned(OUTCOME(Done(None)))
    if row_id in upkeep:  # a commit may have removed it since: then nothing is left to do
        again_ms = schedule.again_ms(row.body, view.now_ms, config)
        view.tiers.upkeep = {**upkeep, row_id: max(upkeep[row_id], again_ms)}
    return Learned(OUTCOME(Done(work_of(row.body))))


def work_of(body: object) -> Work:
    if isinstance(body, Resource):
        return request_pending(body)
    if isinstance(body, Reflection):
        return EndSession("", body.session_id)
    assert isinstance(body, Category)  # `ask_row` reads no other kind
    return Summarise("", body.name)


UPKEEP: Final = Workflow(
    "upkeep",
    given=(ROW_ID,),
    steps=(
        Step("row", requires=(ROW_ID,), produces=(OUTCOME,), **asks(Read, ask_row, take_row, retry(3))),
    ),
)  # fmt: skip
