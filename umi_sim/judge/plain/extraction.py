"""What a reply to `extract` tells of a text, element by element, as M10.7 to M10.16 say."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import attrs

from umi_core.data import Data
from umi_core.invariants.limits import (
    ENTITY_NAME_BYTES_MAX,
    EXTRACT_CONTENT_BYTES_MAX,
    EXTRACT_ENTITY_COUNT_MAX,
    EXTRACT_LINK_COUNT_MAX,
)
from umi_core.values import ENTITY_TYPES, LINK_KINDS
from umi_sim.judge.plain.replies import confidence_ppm, has_list, payload_of
from umi_sim.judge.plain.sentences import passed_over
from umi_sim.judge.plain.text import PRONOUNS, cut, folded, said_once, tidy, without_controls, words

UNSAID_PPM: Final = 500_000  # how sure a model is that does not say so
SELF_MIN_PPM: Final = 800_000
TEXT_SHOWN_BYTES: Final = 200  # of a text whose element says nothing about its name
NOTE_NAME_BYTES: Final = 50
ALIASES: Final = {"org": "organization", "place": "location", "meeting": "event"}
T = TypeVar("T", "Mention", "Link")
FAULTS: Final = ("not_object", "no_name", "too_many")  # what a model does wrong; the others are choices


@attrs.frozen
class Mention(Data):
    """What a text says of one name; a note that stands for the whole text has no name of its own.

    Of what was memorized: as what, and in which categories it belongs.
    """

    name: str
    type: str
    content: str
    confidence_ppm: int
    named: bool = True
    memory_type: str = "knowledge"
    categories: tuple[str, ...] = ()


@attrs.frozen
class Link(Data):
    """From one mention to another, by the names they are kept under."""

    source: str
    target: str
    kind: str
    confidence_ppm: int


@attrs.frozen
class Extracted(Data):
    """What was dropped are (index of the element, reason); `partial`: a mention that should not be there.

    `uncovered_count`: how many sentences the last mention keeps because no other one tells of them.
    """

    mentions: tuple[Mention, ...]
    links: tuple[Link, ...]
    dropped: tuple[tuple[int, str], ...]
    dropped_links: tuple[tuple[int, str], ...]
    partial: bool
    uncovered_count: int = 0


def read_extraction(reply: str, text: str, confidence_min_ppm: int) -> Extracted | None:
    """None if there is no payload: then the one note is all."""
    payload = payload_of(reply, "{", has_list("entities"))
    if payload is None:
        return None
    told, dropped = sift(
        payload["entities"],
        EXTRACT_ENTITY_COUNT_MAX,
        lambda element: mention_of(element, text, confidence_min_ppm),
    )
    mentions = merged(told)
    links, dropped_links = sift(
        payload.get("relations"), EXTRACT_LINK_COUNT_MAX, lambda element: link_of(element, mentions)
    )
    is_partial = any(reason in FAULTS for _, reason in dropped)
    rest = passed_over(text, told_by(mentions)) if mentions else []
    if rest or not mentions:
        mentions = [*mentions, whole_note("\n".join(rest) or text)]
    links = each_once(links)
    return Extracted(
        tuple(mentions), tuple(links), tuple(dropped), tuple(dropped_links), is_partial, len(rest)
    )


def sift(
    elements: Any, count_max: int, read: Callable[[Any], T | str]
) -> tuple[list[T], list[tuple[int, str]]]:
    """What `read` makes of the elements, and the numbers of those of which it makes none, with the reason."""
    found: list[T] = []
    dropped: list[tuple[int, str]] = []
    for index, element in enumerate(elements if isinstance(elements, list) else []):
        result = read(element) if index < count_max else "too_many"
        if isinstance(result, str):
            dropped.append((index, result))
        else:
            found.append(result)
    return found, dropped


def mention_of(element: Any, text: str, confidence_min_ppm: int) -> Mention | str:
    """What an element tells, or why it is dropped."""
    if not isinstance(element, dict):
        return "not_object"
    name = name_of(element.get("name"))
    if name == "":
        return "no_name"
    if (said := words(name)) and all(word in PRONOUNS for word in said):
        return "pronoun"
    sure_ppm = confidence_ppm(element.get("confidence"))
    sure_ppm = UNSAID_PPM if sure_ppm is None else sure_ppm
    if sure_ppm < confidence_min_ppm:
        return "low_confidence"
    content = content_of(element.get("content"), text)
    return Mention(name, type_of(element.get("type"), sure_ppm), content, sure_ppm)


def name_of(value: Any) -> str:
    """As names are kept; empty if there is none."""
    tidied = without_controls(tidy(value)) if isinstance(value, str) else ""
    return cut(tidied, ENTITY_NAME_BYTES_MAX).strip()


def content_of(value: Any, text: str) -> str:
    """What is said of the name; of one of which nothing is said, how the text begins."""
    if isinstance(value, str) and value.strip() != "":
        return cut(value, EXTRACT_CONTENT_BYTES_MAX)
    return cut(text, TEXT_SHOWN_BYTES)


def type_of(value: Any, sure_ppm: int) -> str:
    key = folded(value) if isinstance(value, str) else ""
    known = ALIASES.get(key, key)
    is_known = known in ENTITY_TYPES and (known != "self" or sure_ppm >= SELF_MIN_PPM)
    return known if is_known else "note"


def merged(mentions: list[Mention]) -> list[Mention]:
    """One for each id: the first name, what is said once each, the highest confidence."""
    groups: dict[tuple[str, str], list[Mention]] = {}
    for mention in mentions:
        groups.setdefault((mention.type, folded(mention.name)), []).append(mention)
    return [merged_one(group) for group in groups.values()]


def merged_one(group: list[Mention]) -> Mention:
    contents = "\n".join(said_once([it.content for it in group]))
    surest_ppm = max(it.confidence_ppm for it in group)
    return Mention(group[0].name, group[0].type, cut(contents, EXTRACT_CONTENT_BYTES_MAX), surest_ppm)


def link_of(element: Any, mentions: list[Mention]) -> Link | str:
    """What an element links, or why it is dropped."""
    ends = element if isinstance(element, dict) else {}
    source, target = (end_of(ends.get(side), mentions) for side in ("source", "target"))
    if source is None or target is None:
        return "unknown_endpoint"
    if source == target:
        return "self_link"
    kind, sure_ppm = ends.get("type"), confidence_ppm(ends.get("confidence"))
    key = folded(kind) if isinstance(kind, str) else ""
    known = key if key in LINK_KINDS else "relates_to"
    return Link(source, target, known, UNSAID_PPM if sure_ppm is None else sure_ppm)


def end_of(name: Any, mentions: list[Mention]) -> str | None:
    """The name of the first mention that this means."""
    wanted = folded(name_of(name))
    return next((it.name for it in mentions if folded(it.name) == wanted), None)


def each_once(links: list[Link]) -> list[Link]:
    """Of equal ones the first."""
    once: dict[tuple[str, str, str], Link] = {}
    for link in links:
        once.setdefault((link.source, link.target, link.kind), link)
    return list(once.values())


def told_by(mentions: list[Mention]) -> list[str]:
    return [text for it in mentions for text in (it.name, it.content)]


# The note that keeps a text from which nothing was extracted.


def whole_note(text: str) -> Mention:
    return Mention(name_of_note(text), "note", text, UNSAID_PPM, named=False)


def name_of_note(text: str) -> str:
    """The first line with something in it, cut between two words."""
    lines = (name_of_line(line) for line in text.split("\n"))
    line = next((line for line in lines if line), "")
    if len(line.encode()) <= NOTE_NAME_BYTES:
        return line
    start = cut(line, NOTE_NAME_BYTES)
    return (start.rpartition(" ")[0] or start) + "..."


def name_of_line(line: str) -> str:
    return without_controls(tidy(line))
