"""Relating: the relations that a remember adds, and what they change at both their ends.

Law 1. A relation leads from an old statement to a new one, or links two entities; both ends exist, because
the commit rewrites both: one that forgets an end meanwhile conflicts. Law 2. An entity at its limit takes no
more; what is left out is counted.
"""

from collections.abc import Iterator
from typing import Final

import attrs

from umi_core.data import Data
from umi_core.engine.facts import Fact, Facts, View
from umi_core.ids import relation_id
from umi_core.language.evolution import Verdict
from umi_core.language.extraction import Link, Mention
from umi_core.limits import RELATION_COUNT_MAX
from umi_core.rows import Entity, Relation, Row
from umi_core.text import norm
from umi_core.values import Scope
from umi_core.workflows.drafting import Drafted, id_of, ref, with_entity
from umi_core.workflows.evolving import LINKS, MENTIONS, VERDICTS, candidate_rows

End = tuple[str, int]

KNOWN_LINKS: Final = Fact("known_links", tuple[str, ...])  # of the links of a text those that are stored


@attrs.frozen
class Related(Data):
    """The new relations; the drafts and the other entities as they are with them."""

    relations: tuple[Relation, ...]
    drafts: tuple[Drafted, ...]
    others: tuple[tuple[Row, Entity], ...]
    dropped_count: int


def related(facts: Facts, drafts: tuple[Drafted, ...], view: View) -> Related:
    """Return the relations of this text: links first, then verdicts on candidates."""
    rows = candidate_rows(facts)
    entities = {key: row.body for key, row in rows.items() if isinstance(row.body, Entity)}
    entities |= {draft.entity.id: draft.entity for draft in drafts}
    kept: list[Relation] = []
    wanted = [*link_relations(facts, view), *verdict_relations(facts, drafts, view)]
    for relation in wanted:
        ends = (relation.source[0], relation.target[0])
        if all(entities[end].relation_count < RELATION_COUNT_MAX for end in ends):
            kept.append(relation)
            entities |= {end: counted(entities[end]) for end in ends}
    for relation in kept:
        contradict(relation, entities)
    others = tuple((row, entities[key]) for key, row in rows.items() if entities[key] != row.body)
    return Related(
        tuple(kept),
        tuple(with_entity(draft, entities[draft.entity.id]) for draft in drafts),
        others,
        len(wanted) - len(kept),
    )


def counted(entity: Entity) -> Entity:
    return attrs.evolve(entity, relation_count=entity.relation_count + 1)


def contradict(relation: Relation, entities: dict[str, Entity]) -> None:
    """Both facts say so."""
    if relation.kind != "contradict":
        return
    ends = relation.target, relation.source
    for (key, _), (other, version) in (ends, ends[::-1]):
        entities[key] = contradicting(entities[key], f"{other}@{version}")


def contradicting(entity: Entity, statement: str) -> Entity:
    refs = (*(it for it in entity.contradicts if it != statement), statement)
    return attrs.evolve(entity, contradicts=refs[-RELATION_COUNT_MAX:])


# The relations.


def made(source: End, target: End, verdict: Verdict, view: View) -> Relation:
    row_id = relation_id(view.scope, source, target, verdict.kind)
    return Relation(
        row_id, verdict.kind, source, target, verdict.confidence_ppm, verdict.reason, verdict.by, view.now_ms
    )


def verdict_relations(facts: Facts, drafts: tuple[Drafted, ...], view: View) -> Iterator[Relation]:
    """Yield the relations from candidates to new statements."""
    targets = {ref(draft.entity): (draft.entity.id, draft.entity.version) for draft in drafts}
    bodies = [row.body for row in candidate_rows(facts).values() if isinstance(row.body, Entity)]
    sources = {ref(body): (body.id, body.version) for body in bodies}
    for pair, verdict in facts[VERDICTS]:
        if pair[1] in sources:
            yield made(sources[pair[1]], targets[pair[0]], verdict, view)


def link_relations(facts: Facts, view: View) -> Iterator[Relation]:
    """Links that are not stored yet."""
    for link in facts[LINKS]:
        source, target = link_ends(link, facts[MENTIONS], view.scope)
        relation = made(source, target, Verdict(link.kind, link.confidence_ppm), view)
        if relation.id not in facts[KNOWN_LINKS]:
            yield relation


def link_ends(link: Link, mentions: tuple[Mention, ...], scope: Scope) -> tuple[End, End]:
    """Links have version 0 at both ends; of two mentions about one name the first is meant."""
    ids = {norm(name): id_of(it, scope) for it in reversed(mentions) for name in it.names}
    return (ids[norm(link.source_name)], 0), (ids[norm(link.target_name)], 0)


def link_ids(facts: Facts, scope: Scope) -> tuple[str, ...]:
    """The rows where the links of this text are, or will be."""
    ends = [(link_ends(link, facts[MENTIONS], scope), link.kind) for link in facts[LINKS]]
    return tuple(relation_id(scope, source, target, kind) for (source, target), kind in ends)
