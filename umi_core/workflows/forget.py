"""forget: an entity leaves with everything that is its own: versions, relations, vector, access, core entry.

A tombstone stays, so that a later mention continues the versions instead of repeating them.
"""

import attrs

from umi_core.effects import ByFilter, ByIds, Expect, Read, Where, Write
from umi_core.inputs import Answer, Forget, ReadDone
from umi_core.results import Forgotten
from umi_core.state import Facts, View
from umi_core.tiers.core import CoreTier, forget
from umi_core.values import Entity, Row, Tombstone
from umi_core.workflow import Learned, Step, Workflow, nothing, retry
from umi_core.workflows.commits import SETTLE, Plan, address, adopt, as_read, commit_row, core_of, found, put
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
    return Learned(
        {"touching": tuple(row.address for row in answer.rows) if isinstance(answer, ReadDone) else ()}
    )


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
    plan = Plan(
        view.now_ms,
        writes=(*deletions(facts, view), grave, *rides),
        expects=(Expect(row.address, row.version),),
        value=Forgotten(True),
        forgotten=(key,),
    )
    if core.home_of(key) is None:
        return Learned({"plan": attrs.evolve(plan, expects=(*plan.expects, as_read(core, view.scope)))})
    return Learned({"plan": attrs.evolve(plan, core=forget(core, key))})


def deletions(facts: Facts, view: View) -> tuple[Write, ...]:
    touching = facts["touching"]
    assert isinstance(touching, tuple)
    own = tuple(address(view.scope, kind, id_of(facts)) for kind in ("entity", "vector", "access"))
    return tuple(Write(where, None) for where in (*own, *touching))


FORGET = Workflow(
    "forget",
    given=("request", "request_key"),
    steps=(
        SEEN,
        Step("lookup", requires=("request",), produces=("row", "core"), otherwise=nothing("row", "core"),
             effect=Read, ask=ask_lookup, take=take_lookup, on_failure=retry(3)),
        Step("touching", requires=("row",), produces=("touching",), otherwise=nothing("touching"),
             effect=Read, ask=ask_touching, take=take_touching, on_failure=retry(3)),
        Step("plan", requires=("row", "core", "touching"), produces=("plan",), otherwise=nothing("plan"),
             take=take_plan),
        commit_row(replan="lookup"),
        SETTLE,
        REPLY,
    ),
)  # fmt: skip
