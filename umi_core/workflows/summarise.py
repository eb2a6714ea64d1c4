"""summarise: what the members of a category say, as a text that names what it was made of.

Law 1. `summary_sources` are the entities, with the versions, that the model was shown: no more, no less.
Law 2. While members are only added the old summary is shown beside them; once one has changed or gone it is
not, so that nothing of it is left. Law 3. If the model fails the old summary stays, and stays dirty.
"""

from typing import Final

from msgspec import structs

from umi_core.conditions import Condition
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import (
    Learned,
    Step,
    Taken,
    Unusable,
    Workflow,
    asks,
    degrade,
    learn_rows,
    retry,
)
from umi_core.ids import category_id
from umi_core.language.prompts import ask_summary
from umi_core.language.summaries import Unwritten, parse_summary
from umi_core.limits import SUMMARY_MEMBER_COUNT_MAX
from umi_core.messages.answers import ModelReplied, ReadDone
from umi_core.messages.effects import AskModel, ByFilter, ByIds, Embed, Read
from umi_core.messages.requests import EvolveCategory, Summarise
from umi_core.messages.results import Summarised
from umi_core.rows import Category, Entity, Membership, Row, bodies_of, body_as
from umi_core.workflows.commits import (
    PLAN,
    REPLY,
    SETTLE,
    Plan,
    address,
    ask_if_any,
    commit_row,
    put,
)
from umi_core.workflows.drafting import statement_of
from umi_core.workflows.linking import VECTOR, describe_category, take_vector, vector_row

# How this and evolve_category begin: with the category and its memberships.


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
    return Learned(HOME(next(iter(answer.rows), None)))


def category_of(facts: Facts) -> Category | None:
    return body_as(facts[HOME], Category)


def ask_members(facts: Facts, view: View) -> Read | None:
    if facts[HOME] is None:
        return None
    where = (Condition("category_id", "eq", own_id(facts, view)),)
    return Read(ByFilter(view.scope, ("membership",), where))


REQUEST: Final = Fact("request", Summarise)
SHOWN: Final = Fact("contents", tuple[Row, ...])  # the entities that are summarised, the last updated first
TEXT: Final = Fact("text", str | None)  # the new summary; None if the old one stays

End = tuple[str, int]


def ask_contents(facts: Facts, view: View) -> Read | None:
    ids = [it.entity_id for it in bodies_of(facts[MEMBERS], Membership)]
    return Read(ByIds(tuple(address(view.scope, "entity", key) for key in ids))) if ids else None


def take_contents(facts: Facts, answer: ReadDone, view: View) -> Learned:
    found = [(row, row.body) for row in answer.rows]
    dated = [(-body.updated_ms, row.address.id, row) for row, body in found if isinstance(body, Entity)]
    rows = [row for _, _, row in sorted(dated, key=lambda it: it[:2])]
    left_out = max(0, len(rows) - SUMMARY_MEMBER_COUNT_MAX)
    partial = (("partial", "too_many", left_out),) if left_out else ()
    return Learned(SHOWN(tuple(rows[:SUMMARY_MEMBER_COUNT_MAX])), degraded=partial)


# ask: with the old summary, if all that it was made of is still so.


def sources_of(facts: Facts) -> dict[End, Entity]:
    return {(it.id, it.version): it for it in bodies_of(facts[SHOWN], Entity)}


def ask_text(facts: Facts, view: View) -> AskModel | None:
    category, current = category_of(facts), sources_of(facts)
    if category is None or not current or current.keys() == dict.fromkeys(category.summary_sources).keys():
        return None
    # Only additions: then the model sees the old summary and the new facts. After a forget it would see, and
    # repeat, what the old summary says of the fact that is gone.
    is_added_to = bool(category.summary) and all(end in current for end in category.summary_sources)
    known = category.summary_sources if is_added_to else ()
    new = tuple(statement_of(it) for end, it in current.items() if end not in known)
    old = category.summary if is_added_to else None
    return AskModel("summarise_category", ask_summary(category.name, category.description, old, new))


def take_text(facts: Facts, answer: ModelReplied | None, view: View) -> Taken:
    if answer is None:
        category = category_of(facts)
        return Learned(TEXT(category.summary if category is not None and sources_of(facts) else ""))
    text = parse_summary(answer.text)
    if isinstance(text, Unwritten):
        return Unusable(text.reason)
    return Learned(TEXT(text))


# embed_summary: a category is found by its summary.


def ask_vector(facts: Facts, view: View) -> Embed | None:
    category, text = category_of(facts), facts[TEXT]
    if category is None or text is None or text == category.summary:
        return None
    return Embed((describe_category(category.name, category.description, text),))


# plan.


def take_plan(facts: Facts, answer: None, view: View) -> Learned:
    row, category, text = facts[HOME], category_of(facts), facts[TEXT]
    if row is None or category is None:
        return Learned(PLAN(Plan(view.now_ms, value=build_reply(None))))
    if text is None:  # of what is shown, even where the row does not know of it: a remember marks no category
        return Learned(
            PLAN(Plan(view.now_ms, value=build_reply(structs.replace(category, summary_dirty=True))))
        )
    after = structs.replace(
        category, summary=text, summary_sources=tuple(sorted(sources_of(facts))), summary_dirty=False
    )
    if after == category:
        return Learned(PLAN(Plan(view.now_ms, value=build_reply(category))))
    after = structs.replace(after, updated_ms=view.now_ms)
    writes = [put(view.scope, "category", after.id, after)]
    if text != category.summary:
        writes.append(vector_row(after.id, facts[VECTOR], view.scope))
    plan = Plan(view.now_ms, tuple(writes), value=build_reply(after))
    return Learned(PLAN(plan))


def build_reply(category: Category | None) -> Summarised:
    if category is None:
        return Summarised("", (), False)
    return Summarised(category.summary, category.summary_sources, category.summary_dirty)


SUMMARISE: Final = Workflow(
    "summarise",
    given=(REQUEST,),
    steps=(
        Step("home", requires=(REQUEST,), produces=(HOME,), claims=claim_category,
             **asks(Read, ask_home, take_home, retry(3))),
        Step("members", requires=(REQUEST, HOME), produces=(MEMBERS,), loose=("membership",),
             **asks(Read, ask_members, learn_rows(MEMBERS), retry(3))),
        Step("contents", requires=(MEMBERS,), produces=(SHOWN,), loose=("entity",),
             **asks(Read, ask_contents, take_contents, retry(3))),
        Step("ask", requires=(HOME, SHOWN), produces=(TEXT,),
             **asks(AskModel, ask_text, take_text, retry(2, then=degrade("old_summary", TEXT(None))))),
        Step("embed_summary", requires=(HOME, TEXT), produces=(VECTOR,),
             **asks(Embed, ask_vector, take_vector, retry(2, then=degrade("no_vectors", VECTOR(None))))),
        Step("plan", requires=(HOME, SHOWN, TEXT, VECTOR), produces=(PLAN,), take=take_plan),
        commit_row(replan="home", ask=ask_if_any),
        SETTLE,
        REPLY,
    ),
)  # fmt: skip
