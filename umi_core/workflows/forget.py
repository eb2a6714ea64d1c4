"""forget: an entity leaves with everything that is its own: versions, relations, memberships, vector, access,
core entry.

Entities at the other ends of its relations, and its categories, are written again. A tombstone stays, so
that a later mention continues the versions instead of repeating them.
"""

from collections import Counter
from typing import Final

import attrs

from umi_core.conditions import Condition
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.questions import asks
from umi_core.engine.workflow import Learned, Step, Workflow, nothing, retry
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByFilter, ByIds, Expect, Read, Write
from umi_core.messages.requests import Forget
from umi_core.messages.results import Forgotten
from umi_core.rows import Entity, Membership, Relation, Row, Tombstone
from umi_core.tiers.core import forget
from umi_core.workflows.commits import (
    CORE,
    PLAN,
    REQUEST_KEY,
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
from umi_core.workflows.linking import unlinked
from umi_core.workflows.remember import KNOWN_ANSWER, REPLY, SEEN

REQUEST: Final = Fact("request", Forget)
ROW: Final = Fact("row", Row | None)
TOUCHING: Final = Fact("touching", tuple[Row, ...])  # versions, memberships, relations from and to it
ENDS: Final = Fact("ends", tuple[Row, ...])  # the entities at the other ends, and its categories


def id_of(facts: Facts) -> str:
    return facts[REQUEST].entity_id


def claim_entity(facts: Facts, view: View) -> tuple[str, ...]:
    return (id_of(facts),)


def ask_lookup(facts: Facts, view: View) -> Read:
    return Read(ByIds((address(view.scope, "entity", id_of(facts)), address(view.scope, "core"))))


def take_lookup(facts: Facts, answer: ReadDone, view: View) -> Learned:
    rows = found(answer)
    core = core_of(rows, view.scope)
    adopt(view, core)
    return Learned(ROW(rows.get(address(view.scope, "entity", id_of(facts)))) | CORE(core))


def ask_touching(facts: Facts, view: View) -> Read | None:
    if facts[ROW] is None:
        return None
    kinds = ("version", "relation", "membership")
    return Read(ByFilter(view.scope, kinds, (Condition("touches", "contains", id_of(facts)),)))


def take_touching(facts: Facts, answer: ReadDone | None, view: View) -> Learned:
    return Learned(TOUCHING(answer.rows if answer is not None else ()))


def lost_counts(facts: Facts) -> dict[str, int]:
    """How many relations each other entity loses."""
    relations = [row.body for row in facts[TOUCHING] if isinstance(row.body, Relation)]
    ends = (end for relation in relations for end, _ in (relation.source, relation.target))
    return dict(sorted(Counter(end for end in ends if end != id_of(facts)).items()))


def ask_ends(facts: Facts, view: View) -> Read | None:
    if facts[ROW] is None:
        return None
    bodies = [row.body for row in facts[TOUCHING]]
    homes = sorted(body.category_id for body in bodies if isinstance(body, Membership))
    ends = [address(view.scope, "entity", key) for key in lost_counts(facts)]
    ends += [address(view.scope, "category", key) for key in homes]
    return Read(ByIds(tuple(ends))) if ends else None


def take_ends(facts: Facts, answer: ReadDone | None, view: View) -> Learned:
    return Learned(ENDS(answer.rows if answer is not None else ()))


def bereft(row: Row, facts: Facts) -> Entity:
    """An entity at the other end, without its relations to the one that is forgotten."""
    entity = row.body
    assert isinstance(entity, Entity)
    count = entity.relation_count - lost_counts(facts)[entity.id]
    refs = tuple(it for it in entity.contradicts if it.partition("@")[0] != id_of(facts))
    return attrs.evolve(entity, relation_count=count, contradicts=refs)


def take_plan(facts: Facts, answer: None, view: View) -> Learned:
    row, core, key = facts[ROW], facts[CORE], id_of(facts)
    if row is None:
        return Learned(PLAN(Plan(view.now_ms, value=Forgotten(False), forgotten=(key,))))
    assert isinstance(row.body, Entity)
    grave = put(view.scope, "tombstone", key, Tombstone(row.body.version))
    access = view.tiers.access.writes(view.scope)
    rides = tuple(write for write in access if write.address.id != key)
    touching, ends = facts[TOUCHING], facts[ENDS]
    others = [end for end in ends if isinstance(end.body, Entity)]
    kept = tuple(put(view.scope, "entity", end.address.id, bereft(end, facts)) for end in others)
    kept += unlinked(touching, ends, view)
    plan = Plan(
        view.now_ms,
        writes=(*deletions(facts, view), *kept, grave, *rides),
        expects=tuple(Expect(read.address, read.version) for read in (row, *facts[ENDS])),
        value=Forgotten(True),
        forgotten=(key,),
    )
    if core.home_of(key) is None:
        return Learned(PLAN(attrs.evolve(plan, expects=(*plan.expects, as_read(core, view.scope)))))
    return Learned(PLAN(attrs.evolve(plan, core=forget(core, key))))


def deletions(facts: Facts, view: View) -> tuple[Write, ...]:
    own = tuple(address(view.scope, kind, id_of(facts)) for kind in ("entity", "vector", "access"))
    return tuple(Write(where, None) for where in (*own, *(row.address for row in facts[TOUCHING])))


FORGET = Workflow(
    "forget",
    given=(REQUEST, REQUEST_KEY),
    steps=(
        SEEN,
        Step("lookup", requires=(REQUEST,), produces=(ROW, CORE), otherwise=nothing(ROW, CORE),
             claims=claim_entity, **asks(Read, ask_lookup, take_lookup, retry(3))),
        Step("touching", requires=(ROW,), produces=(TOUCHING,), otherwise=nothing(TOUCHING),
             **asks(Read, ask_touching, take_touching, retry(3))),
        Step("ends", requires=(ROW, TOUCHING), produces=(ENDS,), otherwise=nothing(ENDS),
             **asks(Read, ask_ends, take_ends, retry(3))),
        Step("plan", requires=(ROW, CORE, TOUCHING, ENDS), produces=(PLAN,), otherwise=nothing(PLAN),
             take=take_plan),
        commit_row(replan="lookup", ask=ask_if_any),
        SETTLE,
        REPLY,
    ),
    laws=(KNOWN_ANSWER,),
)  # fmt: skip
