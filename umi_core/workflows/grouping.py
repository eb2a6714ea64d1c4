"""Grouping: the subcategories of a category as rows, and where a new member belongs among them.

Law 1. A subcategory is a row and, under its id, the vector that its members are compared with. Its members
are the memberships that name it, so nothing is counted twice. Law 2. Whatever makes, changes or takes away a
membership also writes its category, so a plan that read the category knows all groups that there are.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import structs

from umi_core.data import Data
from umi_core.domains import Components, EntityId, Importance, Texts
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import Learned, Step, asks, nothing, retry
from umi_core.language.keywords import key_words
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByIds, Read
from umi_core.policies.clustering import nearest_known
from umi_core.rows import Address, Category, Membership, Row, Subcategory, Vector
from umi_core.values import Scope
from umi_core.workflows.commits import address

SHELF: Final = Fact("shelf", tuple[Row, ...])  # categories, memberships, resources, given lines


class GroupPlace(Data):
    """Where a member is put: a subcategory, how near it is, and which keywords of it its content has."""

    subcategory_id: EntityId | None = None
    confidence_ppm: Importance | None = None
    keywords_matched: Texts = ()


NOWHERE: Final = GroupPlace()


class Home(Data):
    """A subcategory as a place to be put: its category, its centroid and its keywords."""

    id: EntityId
    category_id: EntityId
    centroid: Components
    keywords: Texts


HOMES: Final = Fact("homes", tuple[Home, ...])


def group_addresses(category: Category, scope: Scope) -> Iterator[Address]:
    for key in category.subcategory_ids:
        yield address(scope, "subcategory", key)
        yield address(scope, "vector", key)


def homes_of(rows: Iterable[Row]) -> tuple[Home, ...]:
    """Return the subcategories among these rows whose centroid is among them, too."""
    bodies = [row.body for row in rows]
    # A group whose vector is lost takes no new members until it is divided anew.
    centroids = {it.entity_id: it.components for it in bodies if isinstance(it, Vector)}
    groups = [it for it in bodies if isinstance(it, Subcategory)]
    return tuple(
        Home(it.id, it.category_id, centroids[it.id], it.keywords) for it in groups if it.id in centroids
    )


def place_of(vector: Components | None, content: str, homes: Iterable[Home], floor_ppm: int) -> GroupPlace:
    """Return the nearest subcategory, or NOWHERE if none is as near as `floor_ppm`."""
    by_id = {home.id: home for home in homes}
    centroids = [(key, home.centroid) for key, home in by_id.items()]
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


# homes: the subcategories of the categories that get members.


def ask_homes(facts: Facts, view: View) -> Read | None:
    bodies = [row.body for row in facts[SHELF]]
    # A category that has just got its first member has no groups, so there may be nothing to read.
    wanted = [where for it in bodies if isinstance(it, Category) for where in group_addresses(it, view.scope)]
    return Read(ByIds(tuple(wanted))) if wanted else None


def take_homes(facts: Facts, answer: ReadDone | None, view: View) -> Learned:
    return Learned(HOMES(homes_of(answer.rows if answer is not None else ())))


READ_HOMES: Final = Step(
    "homes", requires=(SHELF,), produces=(HOMES,), otherwise=nothing(HOMES),
    **asks(Read, ask_homes, take_homes, retry(3)),
)  # fmt: skip
