"""get_entity and count: one required read each. A failed read is an error, never None or zero."""

from typing import Final

from umi_core.conditions import Condition
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import OUTCOME, Learned, Step, Taken, Unusable, Workflow, asks, retry
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByIds, CountRows, Done, Read
from umi_core.messages.requests import Count, GetEntity
from umi_core.workflows.commits import address, found

WANTED: Final = Fact("request", GetEntity)
COUNTED: Final = Fact("request", Count)


def ask_entity(facts: Facts, view: View) -> Read:
    request = facts[WANTED]
    if request.version is None:
        return Read(ByIds((address(view.scope, "entity", request.entity_id),)))
    return Read(ByIds((address(view.scope, "version", f"{request.entity_id}@{request.version}"),)))


def take_entity(facts: Facts, answer: ReadDone, view: View) -> Learned:
    row = next(iter(found(answer).values()), None)
    return Learned(OUTCOME(Done(row.body if row else None)))


def ask_count(facts: Facts, view: View) -> Read:
    types = facts[COUNTED].types
    where = () if types is None else (Condition("type", "in", types),)
    return Read(CountRows(view.scope, ("entity",), where))


def take_count(facts: Facts, answer: ReadDone, view: View) -> Taken:
    if type(answer.count) is not int or answer.count < 0:
        return Unusable("no count of rows")
    return Learned(OUTCOME(Done(answer.count)))


GET_ENTITY = Workflow(
    "get_entity",
    given=(WANTED,),
    steps=(
        Step("read", requires=(WANTED,), produces=(OUTCOME,),
             **asks(Read, ask_entity, take_entity, retry(3))),
    ),
)  # fmt: skip

COUNT = Workflow(
    "count",
    given=(COUNTED,),
    steps=(
        Step("read", requires=(COUNTED,), produces=(OUTCOME,),
             **asks(Read, ask_count, take_count, retry(3))),
    ),
)  # fmt: skip
