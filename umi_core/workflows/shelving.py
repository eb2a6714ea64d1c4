"""Shelving: the vectors of texts and of categories, by which the levels of the archive are searched.

Law 1. The vector of a text is that of its caption; that of a category is of its summary, or of its name and
what it is about while it has none. Law 2. It changes in the commit that changes its text, or goes with it.
Law 3. A text that has none though there is something to find it by says so, and gets it the next time that it
is memorized.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import Degrade, Law, Learned, Step, Taken, Unusable, asks, nothing, retry
from umi_core.ids import category_id
from umi_core.messages.answers import Embedded
from umi_core.messages.effects import Embed, Write
from umi_core.policies.similarity import lacking_vectors, sound_vectors
from umi_core.rows import Address, Body, Resource, Row, Vector
from umi_core.values import Scope
from umi_core.workflows.commits import address, put

Components = tuple[int, ...]
VECTOR: Final = Fact("text_vector", Components | None)  # of the one text that a row is found by
UNSHELVED: Final = Fact("unshelved", tuple[tuple[str, str], ...])  # ids of rows, each with its text
SHELF_VECTORS: Final = Fact("shelf_vectors", tuple[Components | None, ...])  # of those, in order

EMBED: Final = "embed"  # what is pending of a text, or of a part of it, that has no vector
VERSION: Final = 1  # of the vector of a row that has no versions


def list_unembedded(
    captions: Iterable[tuple[str, str]], names: Iterable[str], shelf: Mapping[Address, Row], view: View
) -> tuple[tuple[str, str], ...]:
    """Return ids and texts that need a vector: new captions, those without one, and new categories."""
    scope, abouts = view.scope, view.config.abouts
    texts = [
        (row_id, text)
        for row_id, text in captions
        if text.strip() and not has_vector(shelf.get(address(scope, "resource", row_id)), text)
    ]
    # A category gets its row with its first member, and its vector in the same commit.
    keys = {category_id(scope, name): name for name in names}
    new = [(key, name) for key, name in keys.items() if address(scope, "category", key) not in shelf]
    return (*texts, *((key, describe_category(name, abouts.get(name, ""), "")) for key, name in new))


def has_vector(row: Row | None, caption: str) -> bool:
    body = row.body if row is not None else None
    return isinstance(body, Resource) and body.caption == caption and EMBED not in body.pending


def caption_of(row: Row | None) -> str | None:
    return row.body.caption if row is not None and isinstance(row.body, Resource) else None


def describe_category(name: str, description: str, summary: str) -> str:
    """Return the text by which a category is found."""
    return summary or f"{name}: {description}"


def take_vector(facts: Facts, answer: Embedded | None, view: View) -> Taken:
    """Take the vector of the one text that a row is found by."""
    if answer is None:
        return Learned(VECTOR(None))
    vectors = sound_vectors(answer.vectors, 1, view.config.embedding_dims)
    if vectors is None:
        return Unusable("wrong number of vectors")
    lacking = lacking_vectors("no_vectors", answer.vectors, view.config.embedding_dims)
    return Learned(VECTOR(vectors[0]), degraded=lacking)


def ask_shelf(facts: Facts, view: View) -> Embed | None:
    texts = tuple(text for _, text in facts[UNSHELVED])
    return Embed(texts) if texts else None


def take_shelf(facts: Facts, answer: Embedded | None, view: View) -> Taken:
    if answer is None:
        return Learned(SHELF_VECTORS(()))
    vectors = sound_vectors(answer.vectors, len(facts[UNSHELVED]), view.config.embedding_dims)
    if vectors is None:
        return Unusable("wrong number of vectors")
    lacking = lacking_vectors("no_vectors", answer.vectors, view.config.embedding_dims)
    return Learned(SHELF_VECTORS(vectors), degraded=lacking)


def none_of_shelf(facts: Facts, reason: str = "") -> Mapping[str, object]:
    return SHELF_VECTORS((None,) * len(facts[UNSHELVED]))


def write_vectors(
    facts: Facts, shelf: Mapping[Address, Row], rows: Collection[Write], scope: Scope
) -> Iterator[Write]:
    """Yield the new vectors, and the deletions of those whose text is gone; `rows`: what is written besides.

    A new category gets no row, and so no vector, if each fact that named it ends as it arrives.
    """
    texts, vectors = facts[UNSHELVED], facts[SHELF_VECTORS]
    there = {it.id for it in shelf} | {it.address.id for it in rows}
    for (row_id, text), components in zip(texts, vectors, strict=True):
        # No new vector, and the caption is the stored one: the old vector still fits. Else it is deleted.
        is_old = not components and caption_of(shelf.get(address(scope, "resource", row_id))) == text
        if row_id in there and not is_old:
            yield vector_row(row_id, components, scope)
    removed = (it for it in rows if it.address.kind == "resource" and not is_found(it.body))
    yield from (vector_row(it.address.id, None, scope) for it in removed)


def list_unfound(facts: Facts) -> tuple[str, ...]:
    """Return the ids of what needs a vector and got none."""
    texts, vectors = facts[UNSHELVED], facts[SHELF_VECTORS]
    return tuple(row_id for (row_id, _), it in zip(texts, vectors, strict=True) if it is None)


def is_found(body: Body | None) -> bool:
    """Check whether the row has a caption by which it can be found."""
    return isinstance(body, Resource) and bool(body.caption.strip())


def vector_row(row_id: str, components: Components | None, scope: Scope) -> Write:
    """Return the write of a vector; without components it deletes the vector."""
    return put(scope, "vector", row_id, Vector(row_id, VERSION, components) if components else None)


EMBED_SHELF: Final = Step(
    "embed_shelf", requires=(UNSHELVED,), produces=(SHELF_VECTORS,), otherwise=nothing(SHELF_VECTORS),
    config=(("profile", "default"),),
    **asks(Embed, ask_shelf, take_shelf, retry(2, then=Degrade("no_vectors", none_of_shelf))),
)  # fmt: skip
SHELF_LAW: Final = Law(
    "a vector or none for each text of a level", (UNSHELVED, SHELF_VECTORS),
    lambda facts, scope: len(facts[SHELF_VECTORS]) == len(facts[UNSHELVED]),
)  # fmt: skip
