"""Linking: entities and the categories that they are members of, with the groups and vectors of these.

Law 1. A membership, and the count of it in its category, change in one commit. Law 2. A category has a row as
soon as it has a member, and keeps it. Law 3. A subcategory is a row and, under its id, the vector that its
members are compared with. Its members are the memberships that name it, so nothing is counted twice.
Law 4. Whatever makes, changes or takes away a membership also writes its category, so a plan that read the
category knows all groups that there are. Law 5. The vector of a text is that of its caption; that of a
category is of its summary, or of its name and what it is about while it has none. It changes in the commit
that changes its text, or goes with it. Law 6. A text that has none though there is something to find it by
says so, and gets it the next time that it is memorized.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from msgspec import structs

from umi_core.config import Config
from umi_core.data import Data
from umi_core.domains import Components, EntityId, Importance, Texts
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import Degrade, Law, Learned, Step, Taken, asks, learn_vectors, retry
from umi_core.errors import BadOption, BadType, Error
from umi_core.ids import category_id, membership_id
from umi_core.language.keywords import key_words
from umi_core.limits import CATEGORY_LINK_COUNT_MAX, I64_MAX
from umi_core.messages.answers import Embedded, ReadDone
from umi_core.messages.effects import ByIds, Embed, Expect, Read, Write
from umi_core.messages.requests import CreateEntity, EvolveCategory, Request, Summarise, UpdateEntity
from umi_core.policies.clustering import nearest_known
from umi_core.rows import (
    Address,
    Body,
    Category,
    Membership,
    Resource,
    Row,
    Subcategory,
    Vector,
    bodies_of,
    body_as,
)
from umi_core.state import Tiers
from umi_core.text import show_value
from umi_core.values import Scope
from umi_core.workflows.commits import address, put

# Grouping: the subcategories of a category as rows, and where a new member belongs among them.


# What storage has of categories, memberships, resources and given lines.
CATEGORY_ROWS: Final = Fact("category_rows", tuple[Row, ...])


class GroupPlace(Data):
    """Where a member is put: a subcategory, how near it is, and which keywords of it its content has."""

    subcategory_id: EntityId | None = None
    confidence_ppm: Importance | None = None
    keywords_matched: Texts = ()


NOWHERE: Final = GroupPlace()


class GroupCentroid(Data):
    """A subcategory as a place to be put: its category, its centroid and its keywords."""

    id: EntityId
    category_id: EntityId
    centroid: Components
    keywords: Texts


SUBCATEGORIES: Final = Fact("subcategories", tuple[GroupCentroid, ...])


def group_addresses(category: Category, scope: Scope) -> Iterator[Address]:
    for key in category.subcategory_ids:
        yield address(scope, "subcategory", key)
        yield address(scope, "vector", key)


def group_centroids(rows: tuple[Row, ...]) -> tuple[GroupCentroid, ...]:
    """Return the subcategories among these rows whose centroid is among them, too."""
    # A group whose vector is lost takes no new members until it is divided anew.
    centroids = {it.entity_id: it.components for it in bodies_of(rows, Vector)}
    groups = [it for it in bodies_of(rows, Subcategory) if it.id in centroids]
    return tuple(GroupCentroid(it.id, it.category_id, centroids[it.id], it.keywords) for it in groups)


def place_of(
    vector: Components | None, content: str, groups: Iterable[GroupCentroid], floor_ppm: int
) -> GroupPlace:
    """Return the nearest subcategory, or NOWHERE if none is as near as `floor_ppm`."""
    by_id = {group.id: group for group in groups}
    centroids = [(key, group.centroid) for key, group in by_id.items()]
    nearest = nearest_known(vector, centroids, floor_ppm) if vector else None
    if nearest is None:
        return NOWHERE
    return GroupPlace(*nearest, match_keywords(content, by_id[nearest[0]].keywords))


def match_keywords(content: str, keywords: Iterable[str]) -> tuple[str, ...]:
    """Return the keywords that occur in the content."""
    words = key_words(content)
    return tuple(word for word in keywords if word in words)


def put_into(membership: Membership, place: GroupPlace) -> Membership:
    return structs.replace(
        membership, subcategory_id=place.subcategory_id, confidence_ppm=place.confidence_ppm,
        keywords_matched=place.keywords_matched,
    )  # fmt: skip


# subcategories: the subcategories of the categories that get members.


def ask_subcategories(facts: Facts, view: View) -> Read | None:
    # A category that has just got its first member has no groups, so there may be nothing to read.
    categories = bodies_of(facts[CATEGORY_ROWS], Category)
    wanted = [where for it in categories for where in group_addresses(it, view.scope)]
    return Read(ByIds(tuple(wanted))) if wanted else None


def take_subcategories(facts: Facts, answer: ReadDone, view: View) -> Learned:
    return Learned(SUBCATEGORIES(group_centroids(answer.rows)))


READ_SUBCATEGORIES: Final = Step(
    "subcategories", requires=(CATEGORY_ROWS,), produces=(SUBCATEGORIES,),
    **asks(Read, ask_subcategories, take_subcategories, retry(3)),
)  # fmt: skip


# Shelving: the vectors of texts and of categories, by which the levels of the archive are searched.


VECTOR: Final = Fact("text_vector", tuple[int, ...] | None)  # of the one text that a row is found by
TO_EMBED: Final = Fact("to_embed", tuple[tuple[str, str], ...])  # ids of rows, each with its text
CAPTION_VECTORS: Final = Fact("caption_vectors", tuple[tuple[int, ...] | None, ...])  # of those, in order

EMBED: Final = "embed"  # what is pending of a text, or of a part of it, that has no vector
VERSION: Final = 1  # of the vector of a row that has no versions


def list_unembedded(
    captions: Iterable[tuple[str, str]], names: Iterable[str], rows_before: Mapping[Address, Row], view: View
) -> tuple[tuple[str, str], ...]:
    """Return ids and texts that need a vector: new captions, those without one, and new categories."""
    scope, abouts = view.scope, view.config.abouts
    texts = [
        (row_id, text)
        for row_id, text in captions
        if text.strip() and not has_vector(rows_before.get(address(scope, "resource", row_id)), text)
    ]
    # A category gets its row with its first member, and its vector in the same commit.
    keys = {category_id(scope, name): name for name in names}
    new = [(key, name) for key, name in keys.items() if address(scope, "category", key) not in rows_before]
    return (*texts, *((key, describe_category(name, abouts.get(name, ""), "")) for key, name in new))


def has_vector(row: Row | None, caption: str) -> bool:
    text = body_as(row, Resource)
    return text is not None and text.caption == caption and EMBED not in text.pending


def caption_of(row: Row | None) -> str | None:
    return text.caption if (text := body_as(row, Resource)) else None


def describe_category(name: str, description: str, summary: str) -> str:
    """Return the text by which a category is found."""
    return summary or f"{name}: {description}"


def take_vector(facts: Facts, answer: Embedded | None, view: View) -> Taken:
    """Take the vector of the one text that a row is found by."""
    return learn_vectors(answer, 1, "no_vectors", lambda found: VECTOR(found[0]), view)


def ask_caption_vectors(facts: Facts, view: View) -> Embed | None:
    texts = tuple(text for _, text in facts[TO_EMBED])
    return Embed(texts) if texts else None


def take_caption_vectors(facts: Facts, answer: Embedded | None, view: View) -> Taken:
    return learn_vectors(answer, len(facts[TO_EMBED]), "no_vectors", CAPTION_VECTORS, view)


def no_caption_vectors(facts: Facts, reason: str = "") -> Mapping[str, object]:
    return CAPTION_VECTORS((None,) * len(facts[TO_EMBED]))


def write_vectors(
    facts: Facts, rows_before: Mapping[Address, Row], rows: Collection[Write], scope: Scope
) -> Iterator[Write]:
    """Yield the new vectors, and the deletions of those whose text is gone; `rows`: what is written besides.

    A new category gets no row, and so no vector, if each fact that named it ends as it arrives.
    """
    texts, vectors = facts[TO_EMBED], facts[CAPTION_VECTORS]
    there = {it.id for it in rows_before} | {it.address.id for it in rows}
    for (row_id, text), components in zip(texts, vectors, strict=True):
        # No new vector, and the caption is the stored one: the old vector still fits. Else it is deleted.
        is_old = not components and caption_of(rows_before.get(address(scope, "resource", row_id))) == text
        if row_id in there and not is_old:
            yield vector_row(row_id, components, scope)
    removed = (it for it in rows if it.address.kind == "resource" and not is_found(it.body))
    yield from (vector_row(it.address.id, None, scope) for it in removed)


def list_unfound(facts: Facts) -> tuple[str, ...]:
    """Return the ids of what needs a vector and got none."""
    texts, vectors = facts[TO_EMBED], facts[CAPTION_VECTORS]
    return tuple(row_id for (row_id, _), it in zip(texts, vectors, strict=True) if it is None)


def is_found(body: Body | None) -> bool:
    """Check whether the row has a caption by which it can be found."""
    return isinstance(body, Resource) and bool(body.caption.strip())


def vector_row(row_id: str, components: Components | None, scope: Scope) -> Write:
    """Return the write of a vector; without components it deletes the vector."""
    return put(scope, "vector", row_id, Vector(row_id, VERSION, components) if components else None)


EMBED_CAPTIONS: Final = Step(
    "embed_captions", requires=(TO_EMBED,), produces=(CAPTION_VECTORS,),
    **asks(Embed, ask_caption_vectors, take_caption_vectors,
           retry(2, then=Degrade("no_vectors", no_caption_vectors))),
)  # fmt: skip
CAPTION_LAW: Final = Law(
    "a vector or none for each text of a level", (TO_EMBED, CAPTION_VECTORS),
    lambda facts, scope: len(facts[CAPTION_VECTORS]) == len(facts[TO_EMBED]),
)  # fmt: skip


# Links.


DEFAULT: Final = {
    "profile": "facts", "event": "context", "knowledge": "facts", "behavior": "preferences",
    "skill": "skills",
}  # fmt: skip
"""The category of each memory type where neither model nor caller names one, if the settings list it."""


class Choice(Data):
    """The categories that a model named, of those that there are; else the default of its memory type."""

    names: tuple[str, ...]
    by: str
    unknown_count: int = 0


def choose_categories(proposed: Iterable[str], memory_type: str, config: Config) -> Choice:
    """Return the first known ones of the names that a model gave, at most a few, or the default."""
    called = [config.category_called(name) for name in proposed]
    known = tuple(dict.fromkeys(name for name in called if name is not None))
    unknown_count = called.count(None)
    if known:
        return Choice(known[:CATEGORY_LINK_COUNT_MAX], "model", unknown_count)
    return Choice((default_of(memory_type, config),), "default", unknown_count)


def default_of(memory_type: str, config: Config) -> str:
    """Return the default of this memory type, or the first category of a list that lacks it."""
    return config.category_called(DEFAULT[memory_type]) or config.categories[0][0]


def bad_names(request: Request, tiers: Tiers, scope: Scope, config: Config) -> Error | None:
    """Check the categories that a caller names: facts go into those of the settings, and what is there
    already is summarised and divided in a retired one, too."""
    listed = config.abouts
    match request:
        case CreateEntity(categories=names) | UpdateEntity(categories=names) if names:
            if not all(name in listed for name in names):
                return BadType("categories", show_value(names), f"none, or categories: {', '.join(listed)}")
        case Summarise(category=name) | EvolveCategory(category=name):
            if name not in listed and category_id(scope, name) not in tiers.retired:
                return BadOption("category", show_value(name), ", ".join(listed))
    return None


def retired_of(rows: Iterable[Row], view: View) -> tuple[str, ...]:
    """Return the ids of the categories that are stored and not listed, whether they can be read or not."""
    listed = {category_id(view.scope, name) for name in view.config.abouts}
    stored = sorted(row.address.id for row in rows if row.address.kind == "category")
    return tuple(key for key in stored if key not in listed)


def category_ids(view: View) -> tuple[str, ...]:
    """Return the ids of all categories in which a fact may be: those of the settings, and retired ones."""
    return (*(category_id(view.scope, name) for name in view.config.abouts), *view.tiers.retired)


class Link(Data):
    """An entity, in the version that is linked, the name of a category, and where in it the entity is put."""

    entity_id: str
    entity_version: int
    category: str
    by: str
    place: GroupPlace = NOWHERE


def addresses(entity_id: str, names: Iterable[str], scope: Scope) -> Iterator[Address]:
    """Yield the addresses of these categories and of the fact's memberships in them."""
    for name in names:
        yield address(scope, "category", category_id(scope, name))
        yield address(scope, "membership", link_id(scope, entity_id, name))


def all_addresses(entity_id: str, view: View) -> Iterator[Address]:
    """Yield the addresses of every category in which a fact may be, and of its membership there."""
    for key in category_ids(view):
        yield address(view.scope, "category", key)
        yield address(view.scope, "membership", membership_id(view.scope, entity_id, key))


def memberships_of(entity_id: str, view: View) -> Iterator[Address]:
    return (where for where in all_addresses(entity_id, view) if where.kind == "membership")


def link_id(scope: Scope, entity_id: str, name: str) -> str:
    return membership_id(scope, entity_id, category_id(scope, name))


def expect_memberships(entity_id: str, rows: Iterable[Row], view: View) -> tuple[Expect, ...]:
    """Expect all memberships of the fact to be as they were read, and no others to exist.

    A membership that is added meanwhile writes no row of the fact itself, so without this an operation that
    deletes or moves the fact would leave it behind.
    """
    versions = {row.address: row.version for row in rows}
    return tuple(Expect(where, versions.get(where, 0)) for where in memberships_of(entity_id, view))


def link_facts(links: Iterable[Link], rows: Mapping[Address, Row], view: View) -> tuple[Write, ...]:
    """Return the memberships that are missing, and the categories that count them."""
    scope = view.scope
    # By address, so that a fact that is named twice for one category is one membership.
    wanted = {address(scope, "membership", link_id(scope, it.entity_id, it.category)): it for it in links}
    news = {where: it for where, it in wanted.items() if body_as(rows.get(where), Membership) is None}
    writes = [Write(where, membership(where.id, link, view)) for where, link in news.items()]
    touched = {category_id(scope, link.category): link.category for link in news.values()}
    # A damaged membership is written again, and was counted when it came.
    counts = Counter(link.category for where, link in news.items() if where not in rows)
    for key, name in touched.items():
        row = rows.get(address(scope, "category", key))
        writes.append(put(scope, "category", key, grow_category(row, key, name, counts[name], view)))
    return tuple(writes)


def membership(key: str, link: Link, view: View) -> Membership:
    parent = category_id(view.scope, link.category)
    new = Membership(key, link.entity_id, link.entity_version, parent, link.by, view.now_ms)
    return put_into(new, link.place)


def grow_category(row: Row | None, key: str, name: str, count: int, view: View) -> Category:
    """Return the category with `count` more members; its summary and groups are out of date then."""
    if row is None or not isinstance(row.body, Category):
        return Category(key, name, view.config.abouts.get(name, ""), count, view.now_ms, view.now_ms)
    count = min(row.body.member_count + count, I64_MAX)
    return structs.replace(
        row.body, member_count=count, summary_dirty=True, evolved_digest="", updated_ms=view.now_ms
    )


def unlink_members(memberships: Iterable[Row], categories: Iterable[Row], view: View) -> tuple[Write, ...]:
    """Return the writes of these categories without these members; other deletions are up to the caller."""
    # Relations touch a fact as well; they are in no category.
    lost, before = bodies_of(memberships, Membership), bodies_of(categories, Category)
    after = [shrink_category(it, lost, view) for it in before]
    emptied = [new for old, new in zip(before, after, strict=True) if old.summary != new.summary]
    return (
        *(put(view.scope, "category", it.id, it) for it in after),
        *(put(view.scope, "vector", it.id, None) for it in emptied),  # it was that of the summary
    )


def shrink_category(category: Category, lost: Iterable[Membership], view: View) -> Category:
    """Return the category without these members, and without its summary if that names one of them.

    The count may be lower than the number of members lost if rows were changed behind the memory's back.
    """
    removed = [it.entity_id for it in lost if it.category_id == category.id]
    # Rows may have been changed from outside: a count of 1 that loses 2 is 0, not less.
    left_count = max(0, category.member_count - len(removed))
    after = structs.replace(category, member_count=left_count, evolved_digest="", updated_ms=view.now_ms)
    if left_count and not any(key in removed for key, _ in category.summary_sources):
        return after
    return structs.replace(after, summary="", summary_sources=(), summary_dirty=left_count > 0)
