"""Linking: the memberships of facts in categories, with the groups and the vectors of categories.

Law 1. A membership and the member count of its category change in one commit. Law 2. A category gets its row
with its first member, and keeps it. Law 3. A subcategory (group) is a row, and a vector under the same id,
its centroid. Its members are the memberships that name it; they are not counted in a second place.
Law 4. Every change to a membership also writes its category row, so a plan that read the category conflicts
with it. Law 5. The vector of a resource is that of its caption. The vector of a category is that of its
summary, or of its name and description while it has no summary. A vector changes or is deleted in the commit
that changes or deletes its text. Law 6. A resource whose caption has no vector has `embed` pending, and gets
the vector when it is memorized again.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from msgspec import structs

from umi_core.config import Config
from umi_core.data import Data
from umi_core.domains import Components, EntityId, Importance, Texts
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import Degrade, Law, Learned, Step, TakeResult, asks, learn_vectors, retry
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

# Grouping: the subcategories of a category as rows, and the choice of one for a new member.


# The stored rows of categories, memberships and resources.
CATEGORY_ROWS: Final = Fact("category_rows", tuple[Row, ...])


class GroupMatch(Data):
    """The subcategory of a member, how near it is, and those of its keywords that occur in the content."""

    subcategory_id: EntityId | None = None
    confidence_ppm: Importance | None = None
    keywords_matched: Texts = ()


NO_GROUP: Final = GroupMatch()


class GroupCentroid(Data):
    """A subcategory that new members can join: its category, its centroid and its keywords."""

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
    """Return the subcategories among these rows whose centroids are also among them."""
    # A group whose vector is lost gets no new members until the next division of its category.
    centroids = {it.entity_id: it.components for it in bodies_of(rows, Vector)}
    groups = [it for it in bodies_of(rows, Subcategory) if it.id in centroids]
    return tuple(GroupCentroid(it.id, it.category_id, centroids[it.id], it.keywords) for it in groups)


def match_group(
    vector: Components | None, content: str, groups: Iterable[GroupCentroid], floor_ppm: int
) -> GroupMatch:
    """Return the nearest subcategory, or NO_GROUP if none is as near as `floor_ppm`."""
    by_id = {group.id: group for group in groups}
    centroids = [(key, group.centroid) for key, group in by_id.items()]
    nearest = nearest_known(vector, centroids, floor_ppm) if vector else None
    if nearest is None:
        return NO_GROUP
    return GroupMatch(*nearest, match_keywords(content, by_id[nearest[0]].keywords))


def match_keywords(content: str, keywords: Iterable[str]) -> tuple[str, ...]:
    """Return the keywords that occur in the content."""
    words = key_words(content)
    return tuple(word for word in keywords if word in words)


def with_group(membership: Membership, place: GroupMatch) -> Membership:
    return structs.replace(
        membership, subcategory_id=place.subcategory_id, confidence_ppm=place.confidence_ppm,
        keywords_matched=place.keywords_matched,
    )  # fmt: skip


# subcategories: read the subcategories of the categories that get members.


def ask_subcategories(facts: Facts, view: View) -> Read | None:
    # Nothing to read if no category has groups yet.
    categories = bodies_of(facts[CATEGORY_ROWS], Category)
    wanted = [where for it in categories for where in group_addresses(it, view.scope)]
    return Read(ByIds(tuple(wanted))) if wanted else None


def take_subcategories(facts: Facts, answer: ReadDone, view: View) -> Learned:
    return Learned(SUBCATEGORIES(group_centroids(answer.rows)))


READ_SUBCATEGORIES: Final = Step(
    "subcategories", requires=(CATEGORY_ROWS,), produces=(SUBCATEGORIES,),
    **asks(Read, ask_subcategories, take_subcategories, retry(3)),
)  # fmt: skip


# Vectors of resources and categories, by which the levels of the archive are searched.


VECTOR: Final = Fact("text_vector", tuple[int, ...] | None)  # of the one text by which a row is found
TO_EMBED: Final = Fact("to_embed", tuple[tuple[str, str], ...])  # ids of rows, each with its text
CAPTION_VECTORS: Final = Fact("caption_vectors", tuple[tuple[int, ...] | None, ...])  # one for each TO_EMBED

EMBED: Final = "embed"  # in `pending` of a resource or a segment without a vector
VERSION: Final = 1  # in the vectors of rows that have no version field


def list_unembedded(
    captions: Iterable[tuple[str, str]], names: Iterable[str], rows_before: Mapping[Address, Row], view: View
) -> tuple[tuple[str, str], ...]:
    """Return the ids and texts that need a vector: captions that are new or have none, and new categories."""
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
    """Return the text whose vector finds the category."""
    return summary or f"{name}: {description}"


def take_vector(facts: Facts, answer: Embedded | None, view: View) -> TakeResult:
    """Learn the vector of the one text by which a row is found."""
    return learn_vectors(answer, 1, "no_vectors", lambda found: VECTOR(found[0]), view)


def ask_caption_vectors(facts: Facts, view: View) -> Embed | None:
    texts = tuple(text for _, text in facts[TO_EMBED])
    return Embed(texts) if texts else None


def take_caption_vectors(facts: Facts, answer: Embedded | None, view: View) -> TakeResult:
    return learn_vectors(answer, len(facts[TO_EMBED]), "no_vectors", CAPTION_VECTORS, view)


def no_caption_vectors(facts: Facts, reason: str = "") -> Mapping[str, object]:
    return CAPTION_VECTORS((None,) * len(facts[TO_EMBED]))


def write_vectors(
    facts: Facts, rows_before: Mapping[Address, Row], rows: Collection[Write], scope: Scope
) -> Iterator[Write]:
    """Yield the writes of new vectors, and deletions of vectors without a text; `rows`: the other writes.

    A new category may get no row, because all facts that named it are stored as already ended. It gets no
    vector then.
    """
    texts, vectors = facts[TO_EMBED], facts[CAPTION_VECTORS]
    there = {it.id for it in rows_before} | {it.address.id for it in rows}
    for (row_id, text), components in zip(texts, vectors, strict=True):
        # If there is no new vector but the caption has not changed, the old vector is still right and stays.
        is_old = not components and caption_of(rows_before.get(address(scope, "resource", row_id))) == text
        if row_id in there and not is_old:
            yield vector_row(row_id, components, scope)
    removed = (it for it in rows if it.address.kind == "resource" and not is_found(it.body))
    yield from (vector_row(it.address.id, None, scope) for it in removed)


def list_unfound(facts: Facts) -> tuple[str, ...]:
    """Return the ids of the rows in TO_EMBED for which the embedder gave no vector."""
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


DEFAULT_CATEGORIES: Final = {
    "profile": "facts", "event": "context", "knowledge": "facts", "behavior": "preferences",
    "skill": "skills",
}  # fmt: skip
"""The default category of each memory type, used if neither model nor caller names a listed one."""


class CategoryChoice(Data):
    """The listed categories that a model named; if there are none, the default of the memory type."""

    names: tuple[str, ...]
    by: str
    unknown_count: int = 0


def choose_categories(proposed: Iterable[str], memory_type: str, config: Config) -> CategoryChoice:
    """Return the first few listed categories of those that a model named, or the default if it named none."""
    called = [config.category_called(name) for name in proposed]
    known = tuple(dict.fromkeys(name for name in called if name is not None))
    unknown_count = called.count(None)
    if known:
        return CategoryChoice(known[:CATEGORY_LINK_COUNT_MAX], "model", unknown_count)
    return CategoryChoice((default_of(memory_type, config),), "default", unknown_count)


def default_of(memory_type: str, config: Config) -> str:
    """Return the default category of this memory type, or the first listed one if that is not listed."""
    return config.category_called(DEFAULT_CATEGORIES[memory_type]) or config.categories[0][0]


def bad_names(request: Request, tiers: Tiers, scope: Scope, config: Config) -> Error | None:
    """Return the error if a caller names an unknown category. A fact needs a category of the settings; a
    retired category, which is stored but no longer listed, can still be summarised and divided."""
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
    """Return the ids of categories that are stored but not listed; their rows may be damaged."""
    listed = {category_id(view.scope, name) for name in view.config.abouts}
    stored = sorted(row.address.id for row in rows if row.address.kind == "category")
    return tuple(key for key in stored if key not in listed)


def category_ids(view: View) -> tuple[str, ...]:
    """Return the ids of all categories that a fact may be in: those of the settings, and retired ones."""
    return (*(category_id(view.scope, name) for name in view.config.abouts), *view.tiers.retired)


class Link(Data):
    """One membership to make: a fact in one version, a category by name, who chose it, and the group."""

    entity_id: str
    entity_version: int
    category: str
    by: str
    place: GroupMatch = NO_GROUP


def addresses(entity_id: str, names: Iterable[str], scope: Scope) -> Iterator[Address]:
    """Yield the addresses of these categories and of the fact's memberships in them."""
    for name in names:
        yield address(scope, "category", category_id(scope, name))
        yield address(scope, "membership", link_id(scope, entity_id, name))


def all_addresses(entity_id: str, view: View) -> Iterator[Address]:
    """Yield the addresses of every category that a fact may be in, and of its membership there."""
    for key in category_ids(view):
        yield address(view.scope, "category", key)
        yield address(view.scope, "membership", membership_id(view.scope, entity_id, key))


def memberships_of(entity_id: str, view: View) -> Iterator[Address]:
    return (where for where in all_addresses(entity_id, view) if where.kind == "membership")


def link_id(scope: Scope, entity_id: str, name: str) -> str:
    return membership_id(scope, entity_id, category_id(scope, name))


def expect_memberships(entity_id: str, rows: Iterable[Row], view: View) -> tuple[Expect, ...]:
    """Expect each membership of the fact to be as it was read, and all others to be absent.

    A new membership does not write the row of the fact. Without these expectations, an operation that
    deletes or moves the fact would miss a membership that was added since the read.
    """
    versions = {row.address: row.version for row in rows}
    return tuple(Expect(where, versions.get(where, 0)) for where in memberships_of(entity_id, view))


def link_facts(links: Iterable[Link], rows: Mapping[Address, Row], view: View) -> tuple[Write, ...]:
    """Return the writes of memberships that do not exist yet, and of their categories with new counts."""
    scope = view.scope
    # By address, so that two links of a fact to the same category make one membership.
    wanted = {address(scope, "membership", link_id(scope, it.entity_id, it.category)): it for it in links}
    news = {where: it for where, it in wanted.items() if body_as(rows.get(where), Membership) is None}
    writes = [Write(where, membership(where.id, link, view)) for where, link in news.items()]
    touched = {category_id(scope, link.category): link.category for link in news.values()}
    # A damaged membership is written again, but not counted again.
    counts = Counter(link.category for where, link in news.items() if where not in rows)
    for key, name in touched.items():
        row = rows.get(address(scope, "category", key))
        writes.append(put(scope, "category", key, grow_category(row, key, name, counts[name], view)))
    return tuple(writes)


def membership(key: str, link: Link, view: View) -> Membership:
    parent = category_id(view.scope, link.category)
    new = Membership(key, link.entity_id, link.entity_version, parent, link.by, view.now_ms)
    return with_group(new, link.place)


def grow_category(row: Row | None, key: str, name: str, count: int, view: View) -> Category:
    """Return the category with `count` more members, and its summary and groups marked as out of date."""
    if row is None or not isinstance(row.body, Category):
        return Category(key, name, view.config.abouts.get(name, ""), count, view.now_ms, view.now_ms)
    count = min(row.body.member_count + count, I64_MAX)
    return structs.replace(
        row.body, member_count=count, summary_dirty=True, evolved_digest="", updated_ms=view.now_ms
    )


def unlink_members(memberships: Iterable[Row], categories: Iterable[Row], view: View) -> tuple[Write, ...]:
    """Return the writes of these categories without these members; the caller deletes the memberships.

    `memberships` may contain other rows that touch a fact, such as relations; they are ignored.
    """
    lost, before = bodies_of(memberships, Membership), bodies_of(categories, Category)
    after = [shrink_category(it, lost, view) for it in before]
    emptied = [new for old, new in zip(before, after, strict=True) if old.summary != new.summary]
    return (
        *(put(view.scope, "category", it.id, it) for it in after),
        *(put(view.scope, "vector", it.id, None) for it in emptied),  # the vector was that of the summary
    )


def shrink_category(category: Category, lost: Iterable[Membership], view: View) -> Category:
    """Return the category without these members, and without its summary if that names one of them."""
    removed = [it.entity_id for it in lost if it.category_id == category.id]
    # The count may be too low, if rows were changed from outside: a count of 1 that loses 2 members is 0.
    left_count = max(0, category.member_count - len(removed))
    after = structs.replace(category, member_count=left_count, evolved_digest="", updated_ms=view.now_ms)
    if left_count and not any(key in removed for key, _ in category.summary_sources):
        return after
    return structs.replace(after, summary="", summary_sources=(), summary_dirty=left_count > 0)
