"""Extraction: the reply to `extract`, read as entities and links between them.

Law 1. Total: every element is kept, merged into an equal one, or dropped with a reason.
Law 2. A reply that names nothing still keeps the text, as one note. Law 3. Its note is never filtered.
"""

from collections.abc import Callable
from typing import Final, TypeVar

import attrs

from umi_core.config import Config
from umi_core.language.replies import Json, ObjectWith, Unusable, confidence_ppm, find_json
from umi_core.language.words import auto_name, clean_name, words
from umi_core.limits import (
    ENTITY_NAME_BYTES_MAX,
    EXTRACT_CONTENT_BYTES_MAX,
    EXTRACT_ENTITY_COUNT_MAX,
    EXTRACT_LINK_COUNT_MAX,
)
from umi_core.values import ENTITY_TYPES, LINK_KINDS, cut, norm

CONFIDENCE_PPM: Final = 500_000  # of what comes without one
SELF_CONFIDENCE_MIN_PPM: Final = 800_000
TEXT_SHOWN_BYTES_MAX: Final = 200
ALIASES: Final = {"org": "organization", "place": "location", "meeting": "event"}
PRONOUNS: Final = frozenset(
    """he him his himself she her hers herself it its itself they them their theirs themselves
    i me my you your we us our""".split()
)
MALFORMED: Final = ("not_object", "no_name", "too_many")  # as reasons to drop an entity these degrade

Dropped = tuple[tuple[int, str], ...]


@attrs.frozen
class Mention:
    """What a text says about one name. Without `named` its id comes from the content."""

    type: str
    name: str
    content: str
    confidence_ppm: int
    named: bool = True


@attrs.frozen
class Link:
    """A directed link between two mentions, by the names they are kept under."""

    source_name: str
    target_name: str
    kind: str
    confidence_ppm: int


@attrs.frozen
class Extraction:
    """What was read; `dropped` and `dropped_links` count from 0 in the lists of the reply."""

    entities: tuple[Mention, ...]
    links: tuple[Link, ...]
    dropped: Dropped
    partial: bool
    dropped_links: Dropped = ()


def parse_extraction(reply: str, text: str, config: Config) -> Extraction | Unusable:
    """The entities and links of a reply; one note with the whole text if it has no entity to keep."""
    payload = find_json(reply, ObjectWith("entities"))
    if isinstance(payload, Unusable):
        return payload
    floor_ppm = config.extract_confidence_min_ppm
    found, dropped = sift(
        payload["entities"], EXTRACT_ENTITY_COUNT_MAX, lambda element: read_mention(element, text, floor_ppm)
    )
    mentions = merge(found)
    links, dropped_links = read_links(payload.get("relations"), mentions)
    partial = any(reason in MALFORMED for _, reason in dropped)
    return Extraction(mentions or (fallback_note(text),), links, dropped, partial, dropped_links)


def fallback_note(text: str) -> Mention:
    """The whole text as a note that has no name of its own."""
    return Mention("note", auto_name(text), text, CONFIDENCE_PPM, named=False)


Read = TypeVar("Read", Mention, Link)


def sift(elements: Json, count_max: int, read: Callable[[Json], Read | str]) -> tuple[list[Read], Dropped]:
    """What `read` makes of the elements of a list, and why it dropped the others."""
    found: list[Read] = []
    dropped: list[tuple[int, str]] = []
    for index, element in enumerate(elements if isinstance(elements, list) else ()):
        result = read(element) if index < count_max else "too_many"
        if isinstance(result, str):
            dropped.append((index, result))
        else:
            found.append(result)
    return found, tuple(dropped)


# Entities.


def read_mention(element: Json, text: str, floor_ppm: int) -> Mention | str:
    if not isinstance(element, dict):
        return "not_object"
    name = read_name(element.get("name"))
    if not name:
        return "no_name"
    if is_pronoun(name):
        return "pronoun"
    confidence = read_confidence(element)
    if confidence < floor_ppm:
        return "low_confidence"
    content = read_content(element.get("content"), text)
    return Mention(read_type(element.get("type"), confidence), name, content, confidence)


def read_name(value: Json) -> str:
    return cut(clean_name(value), ENTITY_NAME_BYTES_MAX).rstrip() if isinstance(value, str) else ""


def is_pronoun(name: str) -> bool:
    """Whether a name is nothing but pronouns; one without any word is none."""
    return bool(words(name)) and all(word in PRONOUNS for word in words(name))


def read_confidence(element: dict[str, Json]) -> int:
    confidence = confidence_ppm(element.get("confidence"))
    return CONFIDENCE_PPM if confidence is None else confidence


def read_type(value: Json, confidence: int) -> str:
    key = norm(value) if isinstance(value, str) else ""
    entity_type = ALIASES.get(key, key)
    if entity_type == "self" and confidence < SELF_CONFIDENCE_MIN_PPM:
        return "note"
    return entity_type if entity_type in ENTITY_TYPES else "note"


def read_content(value: Json, text: str) -> str:
    if isinstance(value, str) and value.strip():
        return cut(value, EXTRACT_CONTENT_BYTES_MAX)
    return cut(text, TEXT_SHOWN_BYTES_MAX)


def merge(mentions: list[Mention]) -> tuple[Mention, ...]:
    """One mention per id, which type and name make, in order of the first."""
    same: dict[tuple[str, str], list[Mention]] = {}
    for mention in mentions:
        same.setdefault((mention.type, norm(mention.name)), []).append(mention)
    return tuple(merged(group) for group in same.values())


def merged(group: list[Mention]) -> Mention:
    """The first name, every different content, the highest confidence."""
    contents = "\n".join(dict.fromkeys(mention.content for mention in group))
    confidence = max(mention.confidence_ppm for mention in group)
    return Mention(group[0].type, group[0].name, cut(contents, EXTRACT_CONTENT_BYTES_MAX), confidence)


# Links.


def read_links(elements: Json, mentions: tuple[Mention, ...]) -> tuple[tuple[Link, ...], Dropped]:
    names = {norm(mention.name): mention.name for mention in reversed(mentions)}  # of equal names the first
    found, dropped = sift(elements, EXTRACT_LINK_COUNT_MAX, lambda element: read_link(element, names))
    once: dict[tuple[str, str, str], Link] = {}
    for link in found:
        once.setdefault((link.source_name, link.target_name, link.kind), link)
    return tuple(once.values()), dropped


def read_link(element: Json, names: dict[str, str]) -> Link | str:
    link = element if isinstance(element, dict) else {}
    source, target = (names.get(norm(read_name(link.get(end)))) for end in ("source", "target"))
    if source is None or target is None:
        return "unknown_endpoint"
    if source == target:
        return "self_link"
    return Link(source, target, read_kind(link.get("type")), read_confidence(link))


def read_kind(value: Json) -> str:
    kind = norm(value) if isinstance(value, str) else ""
    return kind if kind in LINK_KINDS else "relates_to"
