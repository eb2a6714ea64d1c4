"""Relating: the relations that a remember adds, and what they change at both their ends.

Law 1. A relation leads from an older statement to a new one, or from what ends to what ends it. Both ends
exist, because the commit rewrites both: one that forgets an end meanwhile conflicts. Law 2. A fact at its
limit takes no more; what is left out is counted.
"""

from collections.abc import Iterator

from msgspec import structs

from umi_core.data import Data
from umi_core.engine.facts import Facts, View
from umi_core.ids import relation_id
from umi_core.language.evolution import StatementVerdict
from umi_core.limits import RELATION_COUNT_MAX
from umi_core.rows import Entity, Relation, Row
from umi_core.values import ENDING_KINDS
from umi_core.workflows.drafting import Drafted, with_entity
from umi_core.workflows.evolving import all_verdicts, candidate_rows, compared_facts

End = tuple[str, int]


class Related(Data):
    """The new relations; the drafts and the other entities as they are with them."""

    relations: tuple[Relation, ...]
    drafts: tuple[Drafted, ...]
    others: tuple[tuple[Row, Entity], ...]
    dropped_count: int


def relate_facts(facts: Facts, drafts: tuple[Drafted, ...], view: View) -> Related:
    """Return the relations of this text, from its verdicts on candidates."""
    rows = candidate_rows(facts)
    entities = {key: row.body for key, row in rows.items() if isinstance(row.body, Entity)}
    entities |= {draft.entity.id: draft.entity for draft in drafts}
    kept: list[Relation] = []
    wanted = tuple(verdict_relations(facts, view))
    for relation in wanted:
        ends = (relation.source[0], relation.target[0])
        # Both ends count the relation, so it needs room at both.
        if all(entities[end].relation_count < RELATION_COUNT_MAX for end in ends):
            kept.append(relation)
            for end in ends:
                count = entities[end].relation_count + 1
                entities[end] = structs.replace(entities[end], relation_count=count)
    for relation in kept:
        contradict(relation, entities)
    others = tuple((row, entities[key]) for key, row in rows.items() if entities[key] != row.body)
    return Related(
        tuple(kept),
        tuple(with_entity(draft, entities[draft.entity.id]) for draft in drafts),
        others,
        len(wanted) - len(kept),
    )


def contradict(relation: Relation, entities: dict[str, Entity]) -> None:
    """Let both facts name each other in `contradicts`."""
    if relation.kind != "contradict":
        return
    ends = relation.target, relation.source
    for (key, _), (other, version) in (ends, ends[::-1]):
        entities[key] = add_contradiction(entities[key], f"{other}@{version}")


def add_contradiction(entity: Entity, statement: str) -> Entity:
    # The newest last: at the limit the oldest is dropped.
    refs = (*(it for it in entity.contradicts if it != statement), statement)
    return structs.replace(entity, contradicts=refs[-RELATION_COUNT_MAX:])


# The relations.


def build_relation(source: End, target: End, verdict: StatementVerdict, view: View) -> Relation:
    row_id = relation_id(view.scope, source, target, verdict.kind)
    return Relation(
        row_id, verdict.kind, source, target, verdict.confidence_ppm, verdict.reason, verdict.by, view.now_ms
    )


def verdict_relations(facts: Facts, view: View) -> Iterator[Relation]:
    """Yield the relations between the statements of each pair."""
    entities = compared_facts(facts)
    for (new_ref, known_ref), verdict in all_verdicts(facts):
        new, known = entities[new_ref], entities[known_ref]
        is_past = verdict.kind in ENDING_KINDS and new.happened_before(known)
        source, target = (new, known) if is_past else (known, new)
        yield build_relation((source.id, source.version), (target.id, target.version), verdict, view)
