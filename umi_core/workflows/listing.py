"""list, recent_entities, get_entity and count: one required read each.

A failed read is an error, never an empty page, None or zero. A list names damaged rows by their ids.
"""

from typing import Final

from umi_core.conditions import Condition, conditions_of, reaches
from umi_core.domains import LISTED
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import OUTCOME, Learned, Step, Taken, Unusable, Workflow, asks, retry
from umi_core.kelpie.requests import RecentEntities
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByFilter, ByIds, CountRows, Done, Read
from umi_core.messages.requests import Count, GetEntity, List
from umi_core.messages.results import Listed, ListedRow
from umi_core.rows import Entity, bodies_of
from umi_core.workflows.commits import address

WANTED: Final = Fact("request", List)
RECENT: Final = Fact("request", RecentEntities)


def ask_page(facts: Facts, view: View) -> Read | None:
    request = facts[WANTED]
    if not reaches(request.where, request.kind, view.scope):
        return None
    limit = view.config.recall_limit_default if request.limit is None else request.limit
    return Read(ByFilter(view.scope, (request.kind,), conditions_of(request.where), limit, request.cursor))


def take_page(facts: Facts, answer: ReadDone, view: View) -> Learned:
    # Damaged rows are spared, so that one of them does not hide the page: they come without a body.
    shown = (row.body for row in answer.rows)
    rows = tuple(it for it in shown if isinstance(it, ListedRow))
    damaged = tuple(row.address.id for row in answer.rows if row.body is None)
    return Learned(OUTCOME(Done(Listed(rows, answer.cursor, damaged))))


LIST: Final = Workflow(
    "list",
    given=(WANTED,),
    steps=(
        Step("read", requires=(WANTED,), produces=(OUTCOME,), spares=LISTED,
             **asks(Read, ask_page, take_page, retry(3))),
    ),
)  # fmt: skip


# The last ones written: storage has its rows by id, so all of them are looked at.


def ask_recent(facts: Facts, view: View) -> Read:
    types = facts[RECENT].types
    where = () if types is None else (Condition("type", "in", types),)
    return Read(ByFilter(view.scope, ("entity",), where))


def take_recent(facts: Facts, answer: ReadDone, view: View) -> Learned:
    request = facts[RECENT]
    limit = view.config.recall_limit_default if request.limit is None else request.limit
    newest = sorted(bodies_of(answer.rows, Entity), key=lambda it: (-it.updated_ms, it.id))[
        request.skip : request.skip + limit
    ]
    damaged = tuple(row.address.id for row in answer.rows if row.body is None)
    return Learned(OUTCOME(Done(Listed(tuple(newest), None, damaged))))


RECENT_ENTITIES: Final = Workflow(
    "recent_entities",
    given=(RECENT,),
    steps=(
        Step("read", requires=(RECENT,), produces=(OUTCOME,), spares=("entity",),
             **asks(Read, ask_recent, take_recent, retry(3))),
    ),
)  # fmt: skip


# get_entity and count.


ENTITY: Final = Fact("request", GetEntity)
COUNTED: Final = Fact("request", Count)


def ask_entity(facts: Facts, view: View) -> Read:
    return Read(
        ByIds(tuple(address(view.scope, kind, facts[ENTITY].entity_id) for kind in ("entity", "ended")))
    )


def take_entity(facts: Facts, answer: ReadDone, view: View) -> Learned:
    return Learned(OUTCOME(Done(next((row.body for row in answer.rows), None))))


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
    given=(ENTITY,),
    steps=(
        Step("read", requires=(ENTITY,), produces=(OUTCOME,),
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
