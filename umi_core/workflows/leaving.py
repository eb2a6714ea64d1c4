"""Leaving: what an entity takes with it, whoever makes it go: versions, relations, memberships, its vector.

Entities at the other ends of its relations are written again. A tombstone stays, so that a later mention
continues the versions instead of repeating them.
"""

from collections import Counter
from typing import Final

import attrs

from umi_core.conditions import Condition
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import Law, Learned, Step, asks, nothing, retry
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByFilter, ByIds, Read, Write
from umi_core.rows import Entity, Membership, Relation, Row, Tombstone
from umi_core.values import Scope
from umi_core.workflows.commits import address, put

ROW: Final = Fact("row", Row | None, ("entity",))  # of the entity that leaves; None if none does
TOUCHING: Final = Fact("touching", tuple[Row, ...])  # versions, memberships, relations, who gave it what
ENDS: Final = Fact("ends", tuple[Row, ...])  # the entities at the other ends, and its categories


def ask_touching(facts: Facts, view: View) -> Read | None:
    row = facts[ROW]
    if row is None:
        return None
    kinds = ("version", "relation", "membership", "given")
    return Read(ByFilter(view.scope, kinds, (Condition("touches", "contains", row.address.id),)))


def take_touching(facts: Facts, answer: ReadDone | None, view: View) -> Learned:
    return Learned(TOUCHING(answer.rows if answer is not None else ()))


def lost_counts(facts: Facts, own_id: str) -> dict[str, int]:
    """How many relations each other entity loses."""
    relations = [row.body for row in facts[TOUCHING] if isinstance(row.body, Relation)]
    ends = (end for relation in relations for end, _ in (relation.source, relation.target))
    return dict(sorted(Counter(end for end in ends if end != own_id).items()))


def ask_ends(facts: Facts, view: View) -> Read | None:
    row = facts[ROW]
    if row is None:
        return None
    bodies = [it.body for it in facts[TOUCHING]]
    homes = sorted(body.category_id for body in bodies if isinstance(body, Membership))
    ends = [address(view.scope, "entity", key) for key in lost_counts(facts, row.address.id)]
    ends += [address(view.scope, "category", key) for key in homes]
    return Read(ByIds(tuple(ends))) if ends else None


def take_ends(facts: Facts, answer: ReadDone | None, view: View) -> Learned:
    return Learned(ENDS(answer.rows if answer is not None else ()))


READ_TOUCHING: Final = Step(
    "touching", requires=(ROW,), produces=(TOUCHING,), otherwise=nothing(TOUCHING),
    **asks(Read, ask_touching, take_touching, retry(3)),
)  # fmt: skip
READ_ENDS: Final = Step(
    "ends", requires=(ROW, TOUCHING), produces=(ENDS,), otherwise=nothing(ENDS),
    **asks(Read, ask_ends, take_ends, retry(3)),
)  # fmt: skip


def are_ends(facts: Facts, scope: Scope) -> bool:
    """Each entity at an end is that of a relation that goes."""
    row, ends = facts[ROW], [it.body for it in facts[ENDS]]
    counts = lost_counts(facts, row.address.id) if row is not None else {}
    return all(it.id in counts for it in ends if isinstance(it, Entity))


ENDS_LAW: Final = Law("ends of relations that go", (ROW, TOUCHING, ENDS), are_ends)


# What is written.


def departure(row: Row, facts: Facts, shelf: tuple[Write, ...], scope: Scope) -> tuple[Write, ...]:
    """Its own rows go, those at other ends and its categories are without it, and a tombstone stays."""
    body, key = row.body, row.address.id
    assert isinstance(body, Entity)
    own = (address(scope, kind, key) for kind in ("entity", "vector", "access"))
    gone = (Write(where, None) for where in (*own, *(it.address for it in facts[TOUCHING])))
    others = [it.body for it in facts[ENDS] if isinstance(it.body, Entity)]
    counts = lost_counts(facts, key)
    kept = (after for it in others if (after := bereft(it, key, counts[it.id])) != it)
    grave = put(scope, "tombstone", key, Tombstone(body.version))
    return (*gone, *(put(scope, "entity", it.id, it) for it in kept), *shelf, grave)


def bereft(entity: Entity, gone_id: str, count: int) -> Entity:
    """An entity at the other end, without its relations to the one that leaves."""
    refs = tuple(it for it in entity.contradicts if it.partition("@")[0] != gone_id)
    return attrs.evolve(entity, relation_count=max(0, entity.relation_count - count), contradicts=refs)
