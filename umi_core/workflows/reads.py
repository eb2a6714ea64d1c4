"""get_entity and count: one required read each. A failed read is an error, never None or zero."""

from umi_core.conditions import Where
from umi_core.engine.workflow import Learned, Step, Taken, Unusable, Workflow, retry
from umi_core.messages.answers import Answer, ReadDone
from umi_core.messages.effects import ByIds, CountRows, Done, Read
from umi_core.messages.requests import Count, GetEntity
from umi_core.state import Facts, View
from umi_core.workflows.commits import address, found


def ask_entity(facts: Facts, view: View) -> Read:
    request = facts["request"]
    assert isinstance(request, GetEntity)
    if request.version is None:
        return Read(ByIds((address(view.scope, "entity", request.entity_id),)))
    return Read(ByIds((address(view.scope, "version", f"{request.entity_id}@{request.version}"),)))


def take_entity(facts: Facts, answer: Answer | None, view: View) -> Learned:
    row = next(iter(found(answer).values()), None)
    return Learned({"outcome": Done(row.body if row else None)})


def ask_count(facts: Facts, view: View) -> Read:
    request = facts["request"]
    assert isinstance(request, Count)
    return Read(CountRows(view.scope, ("entity",), Where(types=request.types)))


def take_count(facts: Facts, answer: Answer | None, view: View) -> Taken:
    assert isinstance(answer, ReadDone)
    if type(answer.count) is not int or answer.count < 0:
        return Unusable("no count of rows")
    return Learned({"outcome": Done(answer.count)})


GET_ENTITY = Workflow(
    "get_entity",
    given=("request",),
    steps=(
        Step("read", requires=("request",), produces=("outcome",),
             effect=Read, ask=ask_entity, take=take_entity, on_failure=retry(3)),
    ),
)  # fmt: skip

COUNT = Workflow(
    "count",
    given=("request",),
    steps=(
        Step("read", requires=("request",), produces=("outcome",),
             effect=Read, ask=ask_count, take=take_count, on_failure=retry(3)),
    ),
)  # fmt: skip
