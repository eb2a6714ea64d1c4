"""forget: a fact leaves with everything that is its own: relations, memberships, vector, access, core entry.

Its categories are written again. The rows that it takes with it are described in linking.py.
"""

from typing import Final

from msgspec import structs

from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import Learned, Step, Workflow, asks, nothing, retry
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByIds, Read
from umi_core.messages.requests import Forget
from umi_core.messages.results import Forgotten
from umi_core.rows import fact_of
from umi_core.tiers.core import without
from umi_core.workflows.commits import (
    CORE,
    PLAN,
    REQUEST_KEY,
    SETTLE,
    Plan,
    address,
    adopt,
    ask_if_any,
    commit_row,
    core_of,
    index_rows,
)
from umi_core.workflows.linking import (
    ENDS,
    ENDS_LAW,
    READ_ENDS,
    READ_TOUCHING,
    ROW,
    TOUCHING,
    delete_fact,
    expect_memberships,
    unlink_members,
)
from umi_core.workflows.remember import KNOWN_ANSWER, REPLY, SEEN

REQUEST: Final = Fact("request", Forget)


def id_of(facts: Facts) -> str:
    return facts[REQUEST].entity_id


def claim_entity(facts: Facts, view: View) -> tuple[str, ...]:
    return (id_of(facts),)


def ask_lookup(facts: Facts, view: View) -> Read:
    own = (address(view.scope, kind, id_of(facts)) for kind in ("entity", "ended"))
    return Read(ByIds((*own, address(view.scope, "core"))))


def take_lookup(facts: Facts, answer: ReadDone, view: View) -> Learned:
    rows = index_rows(answer)
    core = core_of(rows, view.scope)
    adopt(view, core)
    # A fact is current or ended: the batch that ends it deletes the other row.
    row = next((it for it in rows.values() if fact_of(it.body) is not None), None)
    return Learned(ROW(row) | CORE(core))


def take_plan(facts: Facts, answer: None, view: View) -> Learned:
    row, core, key = facts[ROW], facts[CORE], id_of(facts)
    touching, ends = facts[TOUCHING], facts[ENDS]
    if row is None:  # an entry of it may be there all the same, if storage has lost the row
        after = without(core, (key,)) if core.home_of(key) else None
        # Forgotten for the access table, too: a recall that read the fact before must not bring it back.
        return Learned(PLAN(Plan(view.now_ms, core=after, value=Forgotten(False), forgotten=(key,))))
    rides = view.tiers.access.writes(view.scope, (key,))
    shelf = unlink_members(touching, ends, view)
    plan = Plan(
        view.now_ms,
        writes=(*delete_fact(row, facts, shelf, view.scope), *rides),
        expects=expect_memberships(key, touching, view),
        value=Forgotten(True),
        forgotten=(key,),
    )
    return Learned(PLAN(structs.replace(plan, core=without(core, (key,)) if core.home_of(key) else None)))


FORGET = Workflow(
    "forget",
    given=(REQUEST, REQUEST_KEY),
    steps=(
        SEEN,
        Step("lookup", requires=(REQUEST,), produces=(ROW, CORE), otherwise=nothing(ROW, CORE),
             claims=claim_entity, **asks(Read, ask_lookup, take_lookup, retry(3))),
        READ_TOUCHING,
        READ_ENDS,
        Step("plan", requires=(ROW, CORE, TOUCHING, ENDS), produces=(PLAN,), otherwise=nothing(PLAN),
             take=take_plan),
        commit_row(replan="lookup", ask=ask_if_any),
        SETTLE,
        REPLY,
    ),
    laws=(KNOWN_ANSWER, ENDS_LAW),
)  # fmt: skip
