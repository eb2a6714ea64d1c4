"""forget: an entity leaves with everything that is its own: versions, relations, vector, access, core entry.

Entities at the other ends of its relations are written again. A tombstone stays, so that a later
mention continues the versions instead of repeating them.
"""

from collections import Counter

import attrs

from umi_core.conditions import Where
from umi_core.engine.workflow import Learned, Step, Workflow, nothing, retry
from umi_core.messages.answers import Answer, ReadDone
from umi_core.messages.effects import ByFilter, ByIds, Expect, Read, Write
from umi_core.messages.requests import Forget
from umi_core.messages.results import Forgotten
from umi_core.rows import Entity, Relation, Row, Tombstone
from umi_core.state import Facts, View
from umi_core.tiers.core import CoreTier, forget
from umi_core.workflows.commits import (
    SETTLE,
    Plan,
    address,
    adopt,
    as_read,
    ask_if_any,
    commit_row,
    core_of,
    found,
    put,
)
from umi_core.workflows.remember import REPLY, SEEN


def id_of(facts: Facts) -> str:
    request = facts["request"]
    assert isinstance(request, Forget)
    return request.entity_id


def ask_lookup(facts: Facts, view: View) -> Read:
    return Read(ByIds((address(view.scope, "entity", id_of(facts)), address(view.scope, "core"))))


def take_lookup(facts: Facts, answer: Answer | None, view: View) -> Learned:
    rows = found(answer)
    core = core_of(rows, view.scope)
    adopt(view, core)
    return Learned({"row": rows.get(address(view.scope, "entity", id_of(facts))), "core": core})


def ask_touching(facts: Facts, view: View) -> Read | None:
    if facts["row"] is None:
        return None
    return Read(ByFilter(view.scope, ("version", "relation"), Where(touches=id_of(facts))))


def take_touching(facts: Facts, answer: Answer | None, view: View) -> Learned:
    return Learned({"touching": answer.rows if isinstance(answer, ReadDone) else ()})


def touching(facts: Facts) -> tuple[Row, ...]:
    rows = facts["touching"]
    assert isinstance(rows, tuple)
    return rows


def lost_counts(facts: Facts) -> dict[str, int]:
    """How many relations each other entity loses."""
    relations = [row.body for row in touching(facts) if isinstance(row.body, Relation)]
    ends = (end for relation in relations for end, _ in (relation.source, relation.target))
    return dict(sorted(Counter(end for end in ends if end != id_of(facts)).items()))


def ask_ends(facts: Facts, view: View) -> Read | None:
    keys = lost_counts(facts) if facts["row"] is not None else {}
    return Read(ByIds(tuple(address(view.scope, "entity", key) for key in keys))) if keys else None


def take_ends(facts: Facts, answer: Answer | None, view: View) -> Learned:
    return Learned({"ends": tuple(found(answer).values()) if answer is not None else ()})


def bereft(row: Row, facts: Facts) -> Entity:
    """An entity at the other end, without its relations to the one that is forgotten."""
    entity = row.body
    assert isinstance(entity, Entity)
    count = entity.relation_count - lost_counts(facts)[entity.id]
    refs = tuple(it for it in entity.contradicts if it.partition("@")[0] != id_of(facts))
    return attrs.evolve(entity, relation_count=count, contradicts=refs)


def take_plan(facts: Facts, answer: Answer | None, view: View) -> Learned:
    row, core, key = facts["row"], facts["core"], id_of(facts)
    assert isinstance(core, CoreTier)
    if row is None:
        return Learned({"plan": Plan(view.now_ms, value=Forgotten(False), forgotten=(key,))})
    assert isinstance(row, Row)
    assert isinstance(row.body, Entity)
    grave = put(view.scope, "tombstone", key, Tombstone(row.body.version))
    access = view.tiers.access.writes(view.scope)
    rides = tuple(write for write in access if write.address.id != key)
    ends = facts["ends"]
    assert isinstance(ends, tuple)
    kept = tuple(put(view.scope, "entity", end.address.id, bereft(end, facts)) for end in ends)
    plan = Plan(
        view.now_ms,
        writes=(*deletions(facts, view), *kept, grave, *rides),
        expects=tuple(Expect(read.address, read.version) for read in (row, *ends)),
        value=Forgotten(True),
        forgotten=(key,),
    )
    if core.home_of(key) is None:
        return Learned({"plan": attrs.evolve(plan, expects=(*plan.expects, as_read(core, view.scope)))})
    return Learned({"plan": attrs.evolve(plan, core=forget(core, key))})


def deletions(facts: Facts, view: View) -> tuple[Write, ...]:
    own = tuple(address(view.scope, kind, id_of(facts)) for kind in ("entity", "vector", "access"))
    return tuple(Write(where, None) for where in (*own, *(row.address for row in touching(facts))))


FORGET = Workflow(
    "forget",
    given=("request", "request_key"),
    steps=(
        SEEN,
        Step("lookup", requires=("request",), produces=("row", "core"), otherwise=nothing("row", "core"),
             effect=Read, ask=ask_lookup, take=take_lookup, on_failure=retry(3)),
        Step("touching", requires=("row",), produces=("touching",), otherwise=nothing("touching"),
             effect=Read, ask=ask_touching, take=take_touching, on_failure=retry(3)),
        Step("ends", requires=("row", "touching"), produces=("ends",), otherwise=nothing("ends"),
             effect=Read, ask=ask_ends, take=take_ends, on_failure=retry(3)),
        Step("plan", requires=("row", "core", "touching", "ends"), produces=("plan",),
             otherwise=nothing("plan"), take=take_plan),
        commit_row(replan="lookup", ask=ask_if_any),
        SETTLE,
        REPLY,
    ),
)  # fmt: skip
