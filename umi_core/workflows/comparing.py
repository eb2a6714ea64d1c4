"""Comparing: what the new facts of a text make of known ones, and of each other, as one batch writes it.

Law. A new fact is compared with what is known, and with what its text tells, whichever request tells it.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from umi_core.data import Data
from umi_core.engine.facts import Facts, View
from umi_core.messages.effects import Expect, Write
from umi_core.rows import Entity, Relation
from umi_core.workflows.commits import put
from umi_core.workflows.drafting import Drafted
from umi_core.workflows.ending import (
    ENDING,
    FIND_ENDING,
    MEMBERSHIPS,
    READ_MEMBERSHIPS,
    READ_SHELVES,
    SHELVES,
    ended_rows,
    expected_homes,
    find_last,
    put_ended,
    successors,
)
from umi_core.workflows.evolving import CANDIDATES, COMPARE_STEPS, VERDICTS
from umi_core.workflows.relating import Related, relate_facts

COMPARE: Final = (*COMPARE_STEPS, FIND_ENDING, READ_MEMBERSHIPS, READ_SHELVES)
COMPARED_FROM: Final = (CANDIDATES, VERDICTS, ENDING, MEMBERSHIPS, SHELVES)


class Comparison(Data):
    """The drafts with their new relations, and what is written of known facts.

    `past`: by id of each draft that ends, its writes, none of a known one, which `writes` has. `current`: the
    facts of the drafts that have not ended; only these are counted as used, and get a block. `ended`: the ids
    of all facts that end. `heirs`: by the id of each known one of them the fact of this text that is current
    in its place.
    """

    drafts: tuple[Drafted, ...]
    relations: tuple[Relation, ...]
    dropped_count: int
    past: Mapping[str, tuple[Write, ...]]
    current: tuple[Entity, ...]
    ended: tuple[str, ...]
    heirs: Mapping[str, Entity | None]
    writes: tuple[Write, ...]
    expects: tuple[Expect, ...]


def compare(drafts: tuple[Drafted, ...], facts: Facts, view: View) -> Comparison:
    """Return what the verdicts on these drafts come to."""
    relating, before = relate_facts(facts, drafts, view), {draft.entity.id: draft.entity for draft in drafts}
    ended, after = successors(facts), {draft.entity.id: draft for draft in relating.drafts}
    heirs = {it.id: before.get(find_last(it.id, ended)) for it in facts[ENDING]}
    past = {
        key: () if key in heirs else (put_ended(it.entity, ended[key].entity.id, ended[key].how, view),)
        for key, it in after.items()
        if key in ended
    }
    current = tuple(it.entity for key, it in after.items() if key not in past and not it.stays_ended)
    return Comparison(
        relating.drafts, relating.relations, relating.dropped_count, past, current,
        tuple(dict.fromkeys((*past, *heirs))), heirs,
        tuple(known_rows(relating, facts, view)), expected_homes(facts, view),
    )  # fmt: skip


def known_rows(relating: Related, facts: Facts, view: View) -> Iterator[Write]:
    """Yield the new relations, the known facts that have them, and those that end."""
    yield from (put(view.scope, "relation", it.id, it) for it in relating.relations)
    others, ended = {it.id: it for _, it in relating.others}, successors(facts)
    # A fact that ends is written as an ended row, with its new relation, and not as a current one.
    yield from (put(view.scope, "entity", key, it) for key, it in others.items() if key not in ended)
    drafted = {draft.entity.id: draft.entity for draft in relating.drafts}
    yield from ended_rows({**others, **drafted}, facts, view)
