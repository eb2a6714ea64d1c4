"""forget_resource: a text that was memorized leaves, with its segments and the facts that only it told.

An archival record leaves by the same steps (kelpie/logs.py).

Law 1. A fact stays that another resource told as well, or that was told otherwise; any other is forgotten.
Law 2. A summary or reflection made of the text is emptied until it is made anew. Law 3. All of it leaves in
one commit, or nothing does.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import structs

from umi_core.conditions import Condition
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import Law, Learned, Step, Workflow, asks, learn_unit_rows, retry
from umi_core.ids import reflection_id
from umi_core.kelpie.requests import DeleteArchival
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByFilter, ByIds, Expect, Read, Write
from umi_core.messages.requests import ForgetResource
from umi_core.messages.results import ResourceForgotten, Stored
from umi_core.rows import Address, Entity, Membership, Reflection, Resource, Row, bodies_of, body_as, fact_of
from umi_core.tiers.core import without
from umi_core.values import Scope
from umi_core.workflows.commits import (
    CORE,
    PLAN,
    REPLY,
    SETTLE,
    Plan,
    address,
    ask_if_any,
    commit_row,
    put,
    read_core,
)
from umi_core.workflows.drafting import drop_source
from umi_core.workflows.forget import ask_belonging, count_lost, delete_fact, list_ends, update_ends
from umi_core.workflows.linking import expect_memberships, unlink_members, vector_row

REQUEST: Final = Fact("request", ForgetResource | DeleteArchival)
RESOURCE: Final = Fact("resource", Row | None)
MADE_OF_IT: Final = Fact("made_of_it", tuple[Row, ...])  # its segments, and the reflections that name it
KNOWN: Final = Fact("known", tuple[Row, ...], ("entity", "ended"))  # the facts that it told
TOUCHING: Final = Fact("touching", tuple[tuple[Row, ...], ...])  # of each what belongs to it
ENDS: Final = Fact("ends", tuple[Row, ...])  # other ends of what goes, categories, the session's reflection


def id_of(facts: Facts) -> str:
    request = facts[REQUEST]
    return request.record_id if isinstance(request, DeleteArchival) else request.resource_id


# load, told, touching, ends: what there is.


def claim_resource(facts: Facts, view: View) -> tuple[str, ...]:
    return (id_of(facts),)


def ask_resource(facts: Facts, view: View) -> Read:
    return Read(ByIds((address(view.scope, "resource", id_of(facts)),)))


def take_resource(facts: Facts, answer: ReadDone, view: View) -> Learned:
    """Take the row; a segment is only a part of a text, so it counts as missing."""
    row = next(iter(answer.rows), None)
    text = body_as(row, Resource)
    return Learned(RESOURCE(row if text is not None and text.parent_id is None else None))


def ask_told(facts: Facts, view: View) -> Read | None:
    if facts[RESOURCE] is None:
        return None
    kinds = ("resource", "entity", "ended", "reflection")
    return Read(ByFilter(view.scope, kinds, (Condition("touches", "contains", id_of(facts)),)))


def take_told(facts: Facts, answer: ReadDone, view: View) -> Learned:
    facts_told = (row for row in answer.rows if fact_of(row.body) is not None)
    known = tuple(sorted(facts_told, key=lambda row: row.address.id))
    return Learned(KNOWN(known) | MADE_OF_IT(tuple(row for row in answer.rows if row not in known)))


def ask_touching(facts: Facts, view: View) -> Read:
    return ask_belonging(facts.unit(KNOWN).address.id, view.scope)


def all_touching(facts: Facts) -> list[Row]:
    return [row for rows in facts[TOUCHING] for row in rows]


def ask_ends(facts: Facts, view: View) -> Read | None:
    if facts[RESOURCE] is None:
        return None
    # Facts that the text told were read already, in `told`; they lose relations as well.
    known = [row.address.id for row in facts[KNOWN]]
    others = (key for key in lost_of(facts) if key not in known)
    ends = list_ends(others, all_touching(facts), view.scope)
    return Read(ByIds((*ends, *reflection_address(facts, view.scope), address(view.scope, "core"))))


def reflection_address(facts: Facts, scope: Scope) -> tuple[Address, ...]:
    """Return the address of the reflection of the text's session, which may end while this goes on."""
    text = body_as(facts[RESOURCE], Resource)
    session = text.session_id if text is not None else None
    return () if session is None else (address(scope, "reflection", reflection_id(scope, session)),)


def take_ends(facts: Facts, answer: ReadDone, view: View) -> Learned:
    ends = tuple(row for row in answer.rows if row.address.kind != "core")
    return Learned(ENDS(ends) | CORE(read_core(answer, view)))


# What becomes of the entities.


def split_facts(facts: Facts) -> list[tuple[Row, tuple[Row, ...], Entity | None]]:
    """Return each fact of the text, its rows, and what is left of it without the text; None: nothing."""
    known, belonging = facts[KNOWN], facts[TOUCHING]
    facts_of = [(row, rows, fact_of(row.body)) for row, rows in zip(known, belonging, strict=True)]
    return [(row, rows, drop_source(id_of(facts), it)) for row, rows, it in facts_of if it is not None]


def gone_ids(facts: Facts) -> tuple[str, ...]:
    return tuple(row.address.id for row, _, it in split_facts(facts) if it is None)


def lost_of(facts: Facts) -> Mapping[str, int]:
    return count_lost(all_touching(facts), gone_ids(facts))


# plan: what goes, and what is written again.


def take_plan(facts: Facts, answer: None, view: View) -> Learned:
    resource = facts[RESOURCE]
    if resource is None:
        return Learned(PLAN(Plan(view.now_ms, value=ResourceForgotten(False))))
    value = ResourceForgotten(True, tuple(report_facts(facts)))
    return Learned(PLAN(structs.replace(plan_without(resource, facts, view), value=value)))


def plan_without(resource: Row, facts: Facts, view: View) -> Plan:
    """Return the plan that deletes the text and the facts that only it told."""
    removed = gone_ids(facts)
    core = without(facts[CORE], removed)
    is_moved = core.blocks != facts[CORE].blocks
    writes = (
        *resource_writes(resource, facts, view), *fact_writes(facts, view),
        *category_writes(facts, view), *view.tiers.access.writes(view.scope, removed),
    )  # fmt: skip
    return Plan(
        view.now_ms,
        writes=tuple({write.address: write for write in writes}.values()),
        expects=tuple(homes_of_gone(facts, view)),
        core=core if is_moved else None,
        forgotten=removed,
    )


def homes_of_gone(facts: Facts, view: View) -> Iterator[Expect]:
    for row, touching, it in split_facts(facts):
        if it is None:
            yield from expect_memberships(row.address.id, touching, view)


def report_facts(facts: Facts) -> Iterator[Stored]:
    """Yield the outcome of each fact that the text told, for the reply."""
    for row, _, it in split_facts(facts):
        fact = fact_of(row.body)
        assert fact is not None
        yield Stored(fact.id, fact.version, "forgotten" if it is None else "unchanged")


def resource_writes(resource: Row, facts: Facts, view: View) -> Iterator[Write]:
    """Yield the deletions of the text, its segments and their vectors, and the reflections of it emptied."""
    for row in (resource, *(row for row in facts[MADE_OF_IT] if row.address.kind == "resource")):
        yield Write(row.address, None)
        if row.address.kind == "resource":
            yield vector_row(row.address.id, None, view.scope)
    bodies = {row.address: row.body for row in (*facts[MADE_OF_IT], *facts[ENDS])}
    for body in bodies.values():
        if isinstance(body, Reflection) and id_of(facts) in body.touches:
            emptied = structs.replace(body, text="", sources=(), pending=True, updated_ms=view.now_ms)
            yield put(view.scope, "reflection", body.id, emptied)
            yield vector_row(body.id, None, view.scope)


def fact_writes(facts: Facts, view: View) -> Iterator[Write]:
    """Yield the facts that go, then those that stay, without this source, and those at the other ends."""
    split, ends = split_facts(facts), facts[ENDS]
    for row, touching, it in split:
        if it is None:
            yield from delete_fact(row, touching, view.scope)
    kept = ((row, it) for row, _, it in split)
    others = ((row, fact_of(row.body)) for row in ends)
    yield from update_ends((*kept, *others), gone_ids(facts), lost_of(facts))


def category_writes(facts: Facts, view: View) -> tuple[Write, ...]:
    lost = [row for _, touching, it in split_facts(facts) if it is None for row in touching]
    homes = {address(view.scope, "category", it.category_id) for it in bodies_of(lost, Membership)}
    return unlink_members(lost, [row for row in facts[ENDS] if row.address in homes], view)


PLANNED_FROM: Final = (REQUEST, RESOURCE, MADE_OF_IT, KNOWN, TOUCHING, ENDS, CORE)

FORGET_RESOURCE: Final = Workflow(
    "forget_resource",
    given=(REQUEST,),
    steps=(
        Step("load", requires=(REQUEST,), produces=(RESOURCE,), claims=claim_resource,
             **asks(Read, ask_resource, take_resource, retry(3))),
        Step("told", requires=(REQUEST, RESOURCE), produces=(KNOWN, MADE_OF_IT),
             **asks(Read, ask_told, take_told, retry(3))),
        Step("touching", each=KNOWN, produces=(TOUCHING,),
             **asks(Read, ask_touching, learn_unit_rows(TOUCHING), retry(3))),
        Step("ends", requires=(REQUEST, RESOURCE, KNOWN, TOUCHING), produces=(ENDS, CORE),
             **asks(Read, ask_ends, take_ends, retry(3))),
        Step("plan", requires=PLANNED_FROM, produces=(PLAN,), take=take_plan),
        commit_row(replan="load", ask=ask_if_any),
        SETTLE,
        REPLY,
    ),
    laws=(
        Law("what belongs to each fact", (KNOWN, TOUCHING),
            lambda facts, scope: len(facts[TOUCHING]) == len(facts[KNOWN])),
    ),
)  # fmt: skip
