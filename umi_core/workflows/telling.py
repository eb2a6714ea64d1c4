"""Telling: facts with the categories in which they belong, and the rows that a batch writes for them.

Law 1. A fact is one row, whichever request tells it: of what was known only what is told anew changes.
Law 2. A member is written with the group of its category that is nearest to its new vector, or with none.
"""

from collections.abc import Iterator
from typing import Final

from msgspec import structs

from umi_core.data import Data
from umi_core.domains import CategoryNames, LinkMaker
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import Degrade, Step, asks, nothing, retry
from umi_core.ids import category_id
from umi_core.language.extraction import Mention
from umi_core.messages.effects import Embed
from umi_core.policies.routing import BLOCK_OF_TYPE
from umi_core.rows import Entity
from umi_core.workflows.drafting import DRAFTS, Drafted, embedded_text, with_entity
from umi_core.workflows.linking import HOMES, Link, place_of
from umi_core.workflows.remember import VECTORS, list_changed, no_vectors, take_vectors, vectors_of

TYPE_OF: Final = {
    "profile": "person", "behavior": "preference", "event": "event", "knowledge": "topic", "skill": "topic",
}  # fmt: skip


class CategorisedFact(Data):
    """One fact, and the categories in which it belongs."""

    mention: Mention
    categories: CategoryNames
    by: LinkMaker


TOLD: Final = Fact("told", tuple[CategorisedFact, ...])


def classify_draft(draft: Drafted, memory_type: str | None) -> Drafted:
    """Return the draft with its memory type and block; a known fact keeps those that it has."""
    entity = draft.entity
    # A model may have routed a known fact to another block than the one of its type.
    block = entity.block if draft.old is not None else BLOCK_OF_TYPE[entity.type]
    entity = structs.replace(entity, memory_type=entity.memory_type or memory_type, block=block)
    return with_entity(draft, entity)


# How they are embedded, and written.


def ask_vectors(facts: Facts, view: View) -> Embed | None:
    texts = tuple(embedded_text(draft.entity) for draft in list_changed(facts))
    return Embed(texts) if texts else None


EMBED_FACTS: Final = Step(
    "embed", requires=(DRAFTS,), produces=(VECTORS,), otherwise=nothing(VECTORS),
    **asks(Embed, ask_vectors, take_vectors, retry(2, then=Degrade("no_vectors", no_vectors))),
)  # fmt: skip


def mark_missing_vectors(facts: Facts) -> tuple[Drafted, ...]:
    """Return the drafts, each changed one marked if its vector is missing."""
    lacking = [key for key, vector in vectors_of(facts).items() if vector is None]
    return tuple(
        structs.replace(
            draft, entity=structs.replace(draft.entity, vector_missing=draft.entity.id in lacking)
        )
        if draft.is_changed
        else draft
        for draft in facts[DRAFTS]
    )


def links_of(facts: Facts, drafts: tuple[Drafted, ...], view: View) -> Iterator[Link]:
    all_told = facts[TOLD]
    for fact, draft in zip(all_told, drafts, strict=True):
        yield from (link_of(draft.entity, name, fact.by, facts, view) for name in fact.categories)


def link_of(entity: Entity, category: str, by: str, facts: Facts, view: View) -> Link:
    """Return the link to a category, in the group that is nearest to the new vector, if there is one."""
    key, homes, vector = category_id(view.scope, category), facts[HOMES], vectors_of(facts).get(entity.id)
    near = [home for home in homes if home.category_id == key]
    place = place_of(vector, entity.content, near, view.config.assign_ppm)
    if place.subcategory_id is not None:
        view.marks.append("memorize: a member finds its group")
    return Link(entity.id, entity.version, category, by, place)
