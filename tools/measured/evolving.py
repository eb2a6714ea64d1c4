"""How the categories of the labelled archive are divided, and whether what comes later is put in its place.

Most facts of each topic are stated and the categories evolve; then the rest, and facts without a topic.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from tools.measured.archive import Archive
from tools.measured.lab import SCOPE
from tools.measured.labelled import Fact
from tools.measured.table import Count, Row
from umi_core.messages.requests import EvolveCategory
from umi_core.messages.results import Evolved
from umi_core.rows import Entity, Membership
from umi_core.values import CATEGORIES

FIRST_COUNT: Final = 5  # of each topic: as many as a subcategory needs by default
FEWEST, MOST, RIGHT_PERCENT_MIN = 3, 10, 75


def evolution_rows(archive: Archive, by: str, is_aim: bool) -> Iterator[Row]:
    """`is_aim`: whether the targets are about these vectors."""
    first, later = split(archive.facts)
    archive.tell(first)
    counts = [group_count(archive, category) for category in CATEGORIES]
    homes = homes_of(first, placed(archive))
    archive.tell(later)
    places = placed(archive)
    right = Count.of((it.text, is_home(it, places[it.text], homes)) for it in later)
    measured, target = " ".join(map(str, counts)), f"{FEWEST} to {MOST}"
    if is_aim:
        met = all(FEWEST <= count <= MOST for count in counts)
        yield Row("**subcategories of each category**", by, measured, target, met)
        yield Row.share("**new facts assigned rightly**", by, right, RIGHT_PERCENT_MIN)
    else:
        yield Row("subcategories of each category", by, measured)
        yield Row.share("new facts assigned rightly", by, right)


def split(facts: list[Fact]) -> tuple[list[Fact], list[Fact]]:
    """The first facts of each topic; then the others, and what belongs to none."""
    seen, first, later = Counter[tuple[str, str]](), list[Fact](), list[Fact]()
    for it in facts:
        if it.is_detail:
            continue
        seen[it.category, it.topic] += 1
        is_first = not it.is_noise and seen[it.category, it.topic] <= FIRST_COUNT
        (first if is_first else later).append(it)
    return first, later


def group_count(archive: Archive, category: str) -> int:
    value = archive.lab.ask(EvolveCategory(archive.number(), category))
    assert isinstance(value, Evolved)
    return len(value.groups)


def placed(archive: Archive) -> dict[str, str | None]:
    """Of each fact the subcategory that it is in."""
    rows = [row.body for row in archive.lab.storage.live_rows(SCOPE)]
    texts = {it.id: it.content for it in rows if isinstance(it, Entity)}
    return {texts[it.entity_id]: it.subcategory_id for it in rows if isinstance(it, Membership)}


def homes_of(facts: list[Fact], places: dict[str, str | None]) -> dict[str, tuple[str, str]]:
    """Of each subcategory the topic of most of its facts."""
    topics: dict[str, Counter[tuple[str, str]]] = {}
    for it in facts:
        if (place := places[it.text]) is not None:
            topics.setdefault(place, Counter())[it.category, it.topic] += 1
    return {place: count.most_common(1)[0][0] for place, count in topics.items()}


def is_home(fact: Fact, place: str | None, homes: dict[str, tuple[str, str]]) -> bool:
    """Whether a fact is with its like; one that has none is in no subcategory."""
    if fact.is_noise or place is None:
        return fact.is_noise and place is None
    return homes[place] == (fact.category, fact.topic)
