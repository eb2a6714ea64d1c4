"""Category reads: how summarise and evolve_category begin, with the category and its memberships."""

from typing import Final

from umi_core.conditions import Condition
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import Learned
from umi_core.ids import category_id
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByFilter, ByIds, Read
from umi_core.messages.requests import EvolveCategory, Summarise
from umi_core.rows import Category, Row
from umi_core.workflows.commits import address, index_rows

ABOUT: Final = Fact("request", Summarise | EvolveCategory)
HOME: Final = Fact("home", Row | None)  # the category
MEMBERS: Final = Fact("members", tuple[Row, ...])  # its memberships


def own_id(facts: Facts, view: View) -> str:
    return category_id(view.scope, facts[ABOUT].category)


def claim_category(facts: Facts, view: View) -> tuple[str, ...]:
    return (own_id(facts, view),)


def ask_home(facts: Facts, view: View) -> Read:
    return Read(ByIds((address(view.scope, "category", own_id(facts, view)),)))


def take_home(facts: Facts, answer: ReadDone, view: View) -> Learned:
    return Learned(HOME(next(iter(index_rows(answer).values()), None)))


def category_of(facts: Facts) -> Category | None:
    row = facts[HOME]
    return row.body if row is not None and isinstance(row.body, Category) else None


def ask_members(facts: Facts, view: View) -> Read | None:
    if facts[HOME] is None:
        return None
    where = (Condition("category_id", "eq", own_id(facts, view)),)
    return Read(ByFilter(view.scope, ("membership",), where))


def take_members(facts: Facts, answer: ReadDone | None, view: View) -> Learned:
    return Learned(MEMBERS(answer.rows if answer is not None else ()))
