"""list, recent_entities, get_entity and count: one required read each.

A failed read is an error, never an empty page, None or zero. A list reports damaged rows by their ids.
"""

from typing import Final

from umi_core.conditions import Condition, Where, conditions_of, reaches
from umi_core.domains import LISTED
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import OUTCOME, Learned, TakeResult, Unusable, one_read
from umi_core.kelpie.requests import RecentEntities
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByFilter, ByIds, CountRows, Done, Read
from umi_core.messages.requests import Count, GetEntity, List
from umi_core.messages.results import Listed, ListedRow
from umi_core.rows import Entity, bodies_of
from umi_core.workflows.commits import address
from umi_core.workflows.drafting import PLACES

WANTED: Final = Fact("request", List)
RECENT: Final = Fact("request", RecentEntities)


def ask_page(facts: Facts, view: View) -> Read | None:
    request = facts[WANTED]
    if not reaches(request.where, request.kind, view.scope):
        return None
    limit = view.config.recall_limit_default if request.limit is None else request.limit
    return Read(ByFilter(view.scope, (request.kind,), conditions_of(request.where), limit, request.cursor))


def take_page(facts: Facts, answer: ReadDone, view: View) -> Learned:
    # Damaged rows come without a body (`spares`), so that one of them does not make the whole page fail.
    shown = (row.body for row in answer.rows)
    rows = tuple(it for it in shown if isinstance(it, ListedRow))
    damaged = tuple(row.address.id for row in answer.rows if row.body is None)
    return Learned(OUTCOME(Done(Listed(rows, answer.cursor, damaged))))


LIST: Final = one_read("list", WANTED, ask_page, take_page, spares=LISTED)


# recent_entities: storage pages rows by id, so all facts are read and sorted by time.


def of_types(types: tuple[str, ...] | None) -> Where:
    return () if types is None else (Condition("type", "in", types),)


def ask_recent(facts: Facts, view: View) -> Read:
    return Read(ByFilter(view.scope, ("entity",), of_types(facts[RECENT].types)))


def take_recent(facts: Facts, answer: ReadDone, view: View) -> Learned:
    request = facts[RECENT]
    limit = view.config.recall_limit_default if request.limit is None else request.limit
    newest = sorted(bodies_of(answer.rows, Entity), key=lambda it: (-it.updated_ms, it.id))[
        request.skip : request.skip + limit
    ]
    damaged = tuple(row.address.id for row in answer.rows if row.body is None)
    return Learned(OUTCOME(Done(Listed(tuple(newest), None, damaged))))


RECENT_ENTITIES: Final = one_read("recent_entities", RECENT, ask_recent, take_recent, spares=("entity",))


# get_entity and count.


ENTITY: Final = Fact("request", GetEntity)
COUNTED: Final = Fact("request", Count)


def ask_entity(facts: Facts, view: View) -> Read:
    return Read(ByIds(tuple(address(view.scope, kind, facts[ENTITY].entity_id) for kind in PLACES)))


def take_entity(facts: Facts, answer: ReadDone, view: View) -> Learned:
    return Learned(OUTCOME(Done(next((row.body for row in answer.rows), None))))


def ask_count(facts: Facts, view: View) -> Read:
    return Read(CountRows(view.scope, ("entity",), of_types(facts[COUNTED].types)))


def take_count(facts: Facts, answer: ReadDone, view: View) -> TakeResult:
    if type(answer.count) is not int or answer.count < 0:
        return Unusable("no count of rows")
    return Learned(OUTCOME(Done(answer.count)))


GET_ENTITY: Final = one_read("get_entity", ENTITY, ask_entity, take_entity)

COUNT: Final = one_read("count", COUNTED, ask_count, take_count)
