"""Read what a model extracted from a text: mentions, facts and memories."""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Final, TypeVar

from msgspec import structs

from tests.properties.queries_reference import person_of
from tests.properties.replies_reference import confidence_ppm, payload_of, rows_of
from tests.properties.text_reference import (
    byte_count,
    cut,
    fold_name,
    list_uncovered,
    replace_surrogates,
    sentences,
    tidy,
    without_controls,
    words,
)
from umi_core.data import Data
from umi_core.language.replies import ArrayOf, ArrayWith, ObjectWith
from umi_core.language.tables import FACT_TAGS, NAME_PRONOUNS, TYPE_ALIASES
from umi_core.language.tagged import restore_characters
from umi_core.limits import (
    ENTITY_NAME_BYTES_MAX,
    EXTRACT_CONTENT_BYTES_MAX,
    EXTRACT_ENTITY_COUNT_MAX,
    EXTRACT_LINK_COUNT_MAX,
    LINK_TYPE_BYTES_MAX,
    REPLY_BYTES_MAX,
)
from umi_core.text import resolve_references
from umi_core.values import ENTITY_TYPES

# Replies to `extract`, element by element, as M10.7 to M10.16 say.


UNSAID_PPM: Final = 500_000  # how sure a model is that does not say so
SELF_MIN_PPM: Final = 800_000
TEXT_SHOWN_BYTES: Final = 200  # of a text whose element says nothing about its name
NOTE_NAME_BYTES: Final = 50
SENTENCES_MAX: Final = 16  # a content of more sentences is one text
T = TypeVar("T", "ExpectedMention", "list[ExpectedMention]")
FAULTS: Final = ("not_object", "no_name", "too_many")  # what a model does wrong; the others are choices


class ExpectedMention(Data):
    """One statement of a text, about a name and `others`; a note has no name of its own."""

    name: str
    type: str
    content: str
    confidence_ppm: int
    named: bool = True
    others: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Return all names that it is about."""
        return (self.name, *self.others) if self.named else ()


class Extracted(Data):
    """The mentions of a reply. `dropped`: (index of the element, reason) of the others.

    `partial`: a mention that should not be there. `uncovered_count`: how many sentences are notes because no
    mention tells of them; `told_count`: how many mentions the reply tells, before these notes.
    """

    mentions: tuple[ExpectedMention, ...]
    dropped: tuple[tuple[int, str], ...]
    partial: bool
    uncovered_count: int = 0
    told_count: int = 0
    uncompared = ("told_count",)


def read_extraction(reply: str, text: str, confidence_min_ppm: int) -> Extracted | None:
    """Return what the reply tells; None if there is no payload: then notes of the text are all."""
    payload = payload_of(reply, ObjectWith("entities"))
    if payload is None:
        listed = rows_of(reply, ArrayWith(("name", "content")), ("name", "content"))
        if listed is None:
            return None
        payload = {"entities": listed}
    read, dropped = read_elements(
        payload["entities"],
        EXTRACT_ENTITY_COUNT_MAX,
        lambda element: mention_of(element, text, confidence_min_ppm),
    )
    stated = [it for mention in read for it in statements(mention)]
    known = merge_mentions(stated)
    links, _ = read_elements(
        payload.get("relations"), EXTRACT_LINK_COUNT_MAX, lambda element: link_of(element, known)
    )
    mentions = merge_mentions([*stated, *(it for pair in links for it in pair)])
    is_partial = any(reason in FAULTS for _, reason in dropped)
    rest, mention_count = list_uncovered(text, list_stated_texts(mentions)) if mentions else [], len(mentions)
    mentions += notes_of(rest) if mentions else whole_notes(text)
    return Extracted(tuple(mentions), tuple(dropped), is_partial, len(rest), mention_count)


def read_elements(
    elements: Any, count_max: int, read: Callable[[Any], T | str]
) -> tuple[list[T], list[tuple[int, str]]]:
    """Return what `read` makes of the elements, and index and reason of the dropped ones."""
    found: list[T] = []
    dropped: list[tuple[int, str]] = []
    for index, element in enumerate(elements if isinstance(elements, list) else []):
        result = read(element) if index < count_max else "too_many"
        if isinstance(result, str):
            dropped.append((index, result))
        else:
            found.append(result)
    return found, dropped


def is_pronoun(name: str) -> bool:
    """Return whether a name consists of pronouns only, such as "him" or "she herself"."""
    parts = words(name)
    return bool(parts) and all(word in NAME_PRONOUNS for word in parts)


def mention_of(element: Any, text: str, confidence_min_ppm: int) -> ExpectedMention | str:
    """Return the mention of an element, or why it is dropped."""
    if not isinstance(element, dict):
        return "not_object"
    name = name_of(element.get("name"))
    if name in ("", "TEXT", "NAME"):
        return nameless(element) or "no_name"
    if is_pronoun(name):
        return "pronoun"
    sure_ppm = confidence_ppm(element.get("confidence"))
    sure_ppm = UNSAID_PPM if sure_ppm is None else sure_ppm
    if sure_ppm < confidence_min_ppm:
        return "low_confidence"
    content = content_of(element.get("content"), text)
    return ExpectedMention(name, type_of(element.get("type"), sure_ppm), content, sure_ppm)


def nameless(element: dict[str, Any]) -> ExpectedMention | None:
    """Return the note that an element without a name is; None if it is none."""
    content, kind = element.get("content"), element.get("type")
    if (
        not isinstance(content, str)
        or content.strip() == ""
        or not isinstance(kind, str)
        or fold_name(kind) != "note"
    ):
        return None
    sure_ppm = confidence_ppm(element.get("confidence"))
    note = whole_note(cut(content, EXTRACT_CONTENT_BYTES_MAX))
    return note if sure_ppm is None else structs.replace(note, confidence_ppm=sure_ppm)


def name_of(value: Any) -> str:
    """Return a name as names are stored; empty if there is none."""
    tidied = without_controls(tidy(value)) if isinstance(value, str) else ""
    return cut(tidied, ENTITY_NAME_BYTES_MAX).strip()


def content_of(value: Any, text: str) -> str:
    """Return the content of a mention; without one, the beginning of the text."""
    value = value.get("content") if isinstance(value, dict) else value
    if isinstance(value, list) and value and all(isinstance(it, str) for it in value):
        value = "\n".join(value)
    if isinstance(value, str) and value.strip() != "":
        return cut(restore_characters(value, text), EXTRACT_CONTENT_BYTES_MAX)
    return cut(text, TEXT_SHOWN_BYTES)


def type_of(value: Any, sure_ppm: int) -> str:
    key = fold_name(value) if isinstance(value, str) else ""
    known = TYPE_ALIASES.get(key, key)
    is_known = known in ENTITY_TYPES and (known != "self" or sure_ppm >= SELF_MIN_PPM)
    return known if is_known else "note"


def statements(mention: ExpectedMention) -> list[ExpectedMention]:
    """Return a mention for each sentence; of more than sixteen the mention itself."""
    found = sentences(mention.content)
    if len(found) > SENTENCES_MAX:
        return [mention]
    names = [mention.name if mention.named else name_of_note(it) for it in found]
    return [structs.replace(mention, name=name, content=it) for name, it in zip(names, found, strict=True)]


def merge_mentions(mentions: list[ExpectedMention]) -> list[ExpectedMention]:
    """Return one mention for each statement, as M10.27 says."""
    # "Ann works at Acme" under Ann and under Acme: the content has both, so it is one fact about both
    # "loves dogs" under Ann and under Bob: it has neither, so these are two facts
    groups: dict[str, list[ExpectedMention]] = {}
    for mention in mentions:
        groups.setdefault(fold_name(mention.content), []).append(mention)
    return [it for group in groups.values() for it in about_all(group)]


def about_all(group: list[ExpectedMention]) -> list[ExpectedMention]:
    """Return the statements that equal contents are; what the content names belongs to each of them."""
    named = [it for kind in ENTITY_TYPES for it in group if it.named and it.type == kind]
    if not named:
        return [unite_mentions(group)]
    inside = [it for it in named if has_its_name(it)]
    outside = {fold_name(it.name): None for it in named if it not in inside}
    notes = [it for it in group if not it.named]
    if not outside:
        return [unite_mentions([*inside, *notes])]
    return [
        unite_mentions([*(it for it in named if fold_name(it.name) == key), *inside, *notes])
        for key in outside
    ]


def has_its_name(mention: ExpectedMention) -> bool:
    """Return whether the content has all words of the name, of which there are some."""
    parts, content_words = words(mention.name), words(mention.content)
    return len(parts) > 0 and all(part in content_words for part in parts)


def unite_mentions(group: list[ExpectedMention]) -> ExpectedMention:
    """Return the first one with all names and the highest confidence."""
    named = [it for it in group if it.named]
    # Reversed, so that the first spelling of a name stays: "Acme", then "ACME" -> "Acme".
    others = {fold_name(it.name): it.name for it in reversed(named)}
    order = dict.fromkeys(fold_name(it.name) for it in named)
    return structs.replace(
        group[0],
        confidence_ppm=max(it.confidence_ppm for it in named or group),
        others=tuple(others[key] for key in order)[1:],
    )


def notes_of(sentences: list[str]) -> list[ExpectedMention]:
    """Return a note of each sentence; from the fiftieth on they share notes of up to 1,000 bytes."""
    # 60 sentences: 49 notes, and one with the other eleven.
    single, rest = sentences[: EXTRACT_ENTITY_COUNT_MAX - 1], sentences[EXTRACT_ENTITY_COUNT_MAX - 1 :]
    shared = list[str]()
    while rest:
        fitting = [n for n in range(1, len(rest) + 1) if len("\n".join(rest[:n]).encode()) <= 1_000]
        count = fitting[-1] if fitting else 1
        shared, rest = [*shared, "\n".join(rest[:count])], rest[count:]
    return [whole_note(it) for it in (*single, *shared)]


def link_of(element: Any, mentions: list[ExpectedMention]) -> list[ExpectedMention] | str:
    """Return what an element states of both its ends, or why it is dropped."""
    ends = element if isinstance(element, dict) else {}
    source, target = (end_of(ends.get(side), mentions) for side in ("source", "target"))
    if source is None or target is None:
        return "unknown_endpoint"
    if fold_name(source.name) == fold_name(target.name):
        return "self_link"
    if any(has_both(it, source.name, target.name) for it in mentions):
        return "told"
    kind, sure_ppm = ends.get("type"), confidence_ppm(ends.get("confidence"))
    # works_at from Ann to Acme -> "Ann works at Acme", once under each name; merging makes one fact of it.
    words_of = without_controls(tidy(kind.replace("_", " "))) if isinstance(kind, str) else ""
    content = f"{source.name} {cut(words_of, LINK_TYPE_BYTES_MAX).strip() or 'relates to'} {target.name}"
    sure_ppm = UNSAID_PPM if sure_ppm is None else sure_ppm
    return [ExpectedMention(it.name, it.type, content, sure_ppm) for it in (source, target)]


def has_both(mention: ExpectedMention, source: str, target: str) -> bool:
    """Return whether a statement has all words of both names, in its own names or in what it says."""
    own_words = words(" ".join((*mention.names, mention.content)))
    return all(word in own_words for word in (*words(source), *words(target)))


def end_of(name: Any, mentions: list[ExpectedMention]) -> ExpectedMention | None:
    """Return the first mention of this name, under the spelling that it has there."""
    wanted = fold_name(name_of(name))
    found = ((each, it) for it in mentions for each in it.names if fold_name(each) == wanted)
    return next((structs.replace(it, name=each) for each, it in found), None)


def list_stated_texts(mentions: list[ExpectedMention]) -> list[str]:
    return [text for it in mentions for text in (*it.names, it.content)]


# The notes that keep a text from which nothing was extracted.


def whole_notes(text: str) -> list[ExpectedMention]:
    return merge_mentions(statements(whole_note(text)))


def whole_note(text: str) -> ExpectedMention:
    return ExpectedMention(name_of_note(text), "note", text, UNSAID_PPM, named=False)


def name_of_note(text: str) -> str:
    """Return the first line that is not blank, cut between two words."""
    lines = (without_controls(tidy(line)) for line in text.split("\n"))
    line = next((line for line in lines if line), "")
    if len(line.encode()) <= NOTE_NAME_BYTES:
        return line
    start = cut(line, NOTE_NAME_BYTES)
    return (start.rpartition(" ")[0] or start) + "..."


# Replies to `memories`, as H4.2 to H4.10 (docs/spec/hierarchy.md) say.
#
# The reply becomes a string in which each piece of markup is one character that no text can hold: half of a
# surrogate pair. So the rules are patterns over that string:
#
#     <memory><content>a < b</content></memory>      Mca < bCm


KEPT: Final = 512
EXAMPLE: Final = "one fact, as a sentence"


class ExpectedFact(Data):
    """A fact; `name` is empty if it is about no name."""

    name: str
    content: str
    categories: tuple[str, ...]


# One character for each tag that has a meaning, and one that stands before the number of any other.
NAMES: Final = ("memory", "content", "categories", "category", "name")
OPEN: Final = {name: chr(0xD800 + at) for at, name in enumerate(NAMES)}
CLOSE: Final = {name: chr(0xDC00 + at) for at, name in enumerate(NAMES)}
OTHER: Final = "\udd00"
M, C, S, Y, N = OPEN.values()
m, c, s, y, n = CLOSE.values()
PARTS: Final = M + m + C + c + S + s + Y + y


@lru_cache(maxsize=KEPT)
def read_memories(reply: str) -> tuple[ExpectedFact, ...] | None:
    """Return the facts of a reply, each once; None if the reply is no answer."""
    text = re.sub("[\x00-\x08\x0b-\x1f\x7f-\x9f]", "", replace_surrogates(reply).replace("\r\n", "\n"))
    if not text.strip() or byte_count(text) > REPLY_BYTES_MAX:
        return None
    text = last_part(text)
    marked = Marked(text)
    found = marked.memories() or in_rows(text)
    # A reply without any of these tags is no answer; with
    # some, and no fact in them, it says that there is none.
    if any(name in FACT_TAGS for name in marked.names):
        return once(found)[0]
    return once(found)[0] or None


def last_part(text: str) -> str:
    """Return what follows the last root that words stand before, if it has a content."""
    for root in ("item", "items", "memories"):
        before, _, behind = text.rpartition(f"<{root}>")
        left = before.rpartition(f"</{root}>")
        between = left[2]
        has_words = re.search("[a-z]{3}", between, re.I) and "<" not in between and ">" not in between
        if left[1] and has_words and "<content" in behind.lower():
            return f"{between}<{root}>{behind}"
    return text


def in_rows(text: str) -> list[ExpectedFact]:
    """Return the facts of a reply that has them in JSON."""
    rows = rows_of(text, ArrayWith(("content",)), ("content",))
    rows = payload_of(text, ArrayOf(str)) if rows is None else rows
    row_dicts = [row if isinstance(row, dict) else {"content": row} for row in rows or ()]
    return [
        ExpectedFact(name_of(row.get("name")), row["content"].strip(), categories_of(row.get("categories")))
        for row in row_dicts
        if isinstance(row.get("content"), str) and " " in row["content"].strip()
    ]


def categories_of(value: Any) -> tuple[str, ...]:
    value = value.get("category") if isinstance(value, dict) else value
    return tuple(it for it in (value if isinstance(value, list) else [value]) if isinstance(it, str))


def count_beyond(reply: str) -> int:
    """Return how many facts a reply tells that has more than one reply may tell."""
    text = re.sub("[\x00-\x08\x0b-\x1f\x7f-\x9f]", "", replace_surrogates(reply).replace("\r\n", "\n"))
    text = last_part(text)
    return once(Marked(text).memories() or in_rows(text))[1]


class Marked:
    """A reply with its markup replaced; `pieces` are what stood there, by number."""

    def __init__(self, text: str) -> None:
        self.pieces: list[tuple[str, str, str]] = []  # kind, name of the tag, text
        self.names: list[str] = []
        self.text = ""
        rest = text
        while rest:
            before, less, rest = rest.partition("<")
            self.text += before
            rest = self.replace_markup(rest) if less else ""

    def replace_markup(self, rest: str) -> str:
        """Return what follows a `<`, without the markup that begins there."""
        for begin, end, kind in (("!--", "-->", "gone"), ("![CDATA[", "]]>", "literal")):
            if rest.startswith(begin) and end in rest[len(begin) :]:
                inside, _, after = rest[len(begin) :].partition(end)
                self.note(kind, "", inside)
                return after
        declared = re.match(r"![A-Za-z][^<>\[]*(\[[^\]]{0,1000}\])?[^<>\[]*>", rest)
        if declared:
            self.note("gone", "", "")
            return rest[declared.end() :]
        tag = re.match(r"(/?)([A-Za-z][A-Za-z0-9_-]*)(\s[^<>]*?)?(/?)>", rest)
        if tag is None:
            self.text += "<"
            return rest
        name = tag[2].lower()
        self.names.append(name)
        kind = "close" if tag[1] else "alone" if tag[4] else "open"
        self.note(kind, name, f"<{tag[0]}")
        return rest[tag.end() :]

    def note(self, kind: str, name: str, text: str) -> None:
        """Add a piece of markup to the text: its own character if it has one, and its number behind it."""
        table = {"open": OPEN, "close": CLOSE}.get(kind, {})
        # Number 12 is "\ude01\ude02\udeff": its digits, and a
        # mark behind the last. `plain` looks the piece up by it.
        number = "".join(chr(0xDE00 + int(digit)) for digit in str(len(self.pieces)))
        self.text += table.get(name, OTHER) + number + "\udeff"
        self.pieces.append((kind, name, text))

    # Blocks.

    def memories(self) -> list[ExpectedFact]:
        """Return the facts of all blocks: each from its begin to its end, or to the next one."""
        found, rest = list[ExpectedFact](), self.text
        while M in rest:
            rest = rest[rest.index(M) + 1 :]
            fact, rest = self.block(rest)
            found += [fact] if fact and fact.content else []
        return found

    def block(self, rest: str) -> tuple[ExpectedFact | None, str]:
        """Return the fact of the block that begins here, and what follows the block."""
        name, content, listed, tagged = "", None, "", list[str]()
        has_tags, whole = False, rest
        while part := re.search(f"[{M}{m}{C}{S}{Y}{N}]", rest):
            # Capital letters are opening tags, small ones
            # closing: a new block ends one that was never closed.
            if part[0] == M:
                break
            rest = rest[part.end() :]
            if part[0] == m:
                if content is None and not name and not has_tags:
                    content = self.plain(whole[: len(whole) - len(rest) - 1])
                break
            if part[0] == C:
                inside, rest = self.content_of(rest)
                if inside is None:
                    return None, rest
                # The first content counts; a second one in the same block is passed over.
                content = content if content is not None else self.plain(inside)
            elif part[0] == N and not name:
                closed = re.match(f"([^{PARTS}{N}{n}]*){n}", rest)
                name, rest = (self.plain(closed[1]), rest[closed.end() :]) if closed else ("", rest)
            elif part[0] == S:
                closed = re.match(f"([^{M}{m}{C}{c}{S}{s}]*){s}", rest)
                listed = self.plain(closed[1]) if closed else ""
            elif part[0] == Y:
                has_tags = True
                closed = re.match(f"([^{PARTS}]*){y}", rest)
                if closed:
                    tagged.append(self.plain(closed[1]))
                    rest = rest[closed.end() :]
        if content is None:
            return None, rest
        texts = tagged if has_tags else re.split("[,;\n]", listed)
        called = cut(without_controls(tidy(name)), ENTITY_NAME_BYTES_MAX).rstrip()
        return ExpectedFact(called, content, distinct_texts(texts)), rest

    def content_of(self, rest: str) -> tuple[str | None, str]:
        """Return the content that begins here, None if it is lost; and what follows."""
        upto = rest.partition(C)[0]
        if c in upto:
            at = upto.index(c)
            return rest[:at], rest[at + 1 :]
        edge = re.search(f"[{m}{S}{Y}]", upto)
        return (rest[: edge.start()], rest[edge.start() :]) if edge else (None, rest)

    # Texts.

    def plain(self, marked: str) -> str:
        """Return a stretch of the reply without its pairs of tags, references resolved."""
        # The first replacement drops the number that is left of the tag before this stretch.
        parts = re.split(
            "[\ud800-\udd00]([\ude00-\ude09]+)\udeff", re.sub("^[\ude00-\ude09]+\udeff", "", marked)
        )
        numbers = [int("".join(str(ord(digit) - 0xDE00) for digit in part)) for part in parts[1::2]]
        gone = self.pairs(numbers)
        pieces = [resolve_references(parts[0])]
        for number, after in zip(numbers, parts[2::2], strict=True):
            kind, name, text = self.pieces[number]
            keeps = kind == "literal" or (name and number not in gone and kind != "alone")
            pieces += [text if keeps else " " if kind == "alone" else "", resolve_references(after)]
        return "".join(pieces).strip()

    def pairs(self, numbers: list[int]) -> dict[int, None]:
        """Return the numbers of tags that are opened and closed among these."""
        waiting: dict[str, list[int]] = {}
        found: dict[int, None] = {}
        for number in numbers:
            kind, name, _ = self.pieces[number]
            if kind == "open":
                waiting.setdefault(name, []).append(number)
            elif kind == "close" and waiting.get(name):
                found |= {waiting[name].pop(): None, number: None}
        return found


def distinct_texts(texts: Iterable[str]) -> tuple[str, ...]:
    named = [text.strip() for text in texts if text.strip()]
    return tuple(it for at, it in enumerate(named) if fold_name(it) not in map(fold_name, named[:at]))


def once(found: list[ExpectedFact]) -> tuple[tuple[ExpectedFact, ...], int]:
    """Return the facts, equal ones once and without the example of the prompt, and how many are too many."""
    kept: dict[tuple[str, str], ExpectedFact] = {}
    beyond_count = 0
    for mention in found:
        content = cut(mention.content, EXTRACT_CONTENT_BYTES_MAX)
        key = fold_name(mention.name), fold_name(content)
        if fold_name(mention.content) == EXAMPLE:
            continue
        if key in kept:
            united = distinct_texts((*kept[key].categories, *mention.categories))
            kept[key] = structs.replace(kept[key], categories=united)
        elif len(kept) < EXTRACT_ENTITY_COUNT_MAX:
            kept[key] = ExpectedFact(mention.name, content, mention.categories)
        else:
            beyond_count += 1
    return tuple(kept.values()), beyond_count


# Sentences that speakers say of themselves, under their own name, as M10.20 says.


FIRST_PERSONS: Final = ("i", "me", "my", "we", "us", "our")
NOT_ALONE: Final = "je j m moi mon ma mes nous notre nos".split()  # French, and words or names of others


def with_speaker(found: Extracted | None, text: str, speaker: str | None) -> Extracted | None:
    """Return the mentions, and statements of the speaker about themselves that are in no mention."""
    if found is None or speaker is None:
        return found
    # Without the notes, which were made of the very sentences that may be the speaker's.
    mentions = list(found.mentions[: found.told_count])
    lost = list_uncovered(text, list_stated_texts(mentions))
    own = [
        it
        for it in lost
        if any(person_of(word) in FIRST_PERSONS and word not in NOT_ALONE for word in words(it))
    ]
    own = own[:EXTRACT_ENTITY_COUNT_MAX]
    if not own:
        return found
    known = end_of(speaker, mentions)
    name = tidy(speaker) if known is None else known.name
    all_mentions = [*mentions, *(ExpectedMention(name, "person", it, UNSAID_PPM) for it in own)]
    notes = notes_of([it for it in lost if it not in own])
    return structs.replace(found, mentions=(*all_mentions, *notes), uncovered_count=len(lost))
