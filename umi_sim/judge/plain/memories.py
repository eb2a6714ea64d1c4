"""What a reply to `memories` tells, as H4.2 to H4.10 (docs/spec/hierarchy.md) say.

The reply becomes a string in which each piece of markup is one character that no text can hold: half of a
surrogate pair. So the rules are patterns over that string:

    <memory><content>a < b</content></memory>      Mca < bCm
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import attrs

from umi_core.data import Data
from umi_core.invariants.limits import (
    ENTITY_NAME_BYTES_MAX,
    EXTRACT_CONTENT_BYTES_MAX,
    EXTRACT_ENTITY_COUNT_MAX,
    REPLY_BYTES_MAX,
)
from umi_sim.judge.plain.text import byte_count, cut, folded, made_whole, tidy, without_controls

KEPT: Final = 512
EXAMPLE: Final = "one fact, as a sentence"
USUAL: Final = tuple(
    "memory memories item items profile profiles behavior behaviors event events knowledge skill skills tool "
    "tools".split()
)
ENTITIES: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


@attrs.frozen
class Told(Data):
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
def read_memories(reply: str) -> tuple[Told, ...] | None:
    """What is told, each thing once; None if the reply is no answer."""
    text = re.sub("[\x00-\x08\x0b-\x1f\x7f-\x9f]", "", made_whole(reply).replace("\r\n", "\n"))
    if not text.strip() or byte_count(text) > REPLY_BYTES_MAX:
        return None
    marked = Marked(text)
    found = marked.memories()
    return once(found)[0] if any(name in USUAL for name in marked.names) else None


def count_beyond(reply: str) -> int:
    """Return how many facts a reply tells that has more than one reply may tell."""
    text = re.sub("[\x00-\x08\x0b-\x1f\x7f-\x9f]", "", made_whole(reply).replace("\r\n", "\n"))
    return once(Marked(text).memories())[1]


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
            rest = self.replaced(rest) if less else ""

    def replaced(self, rest: str) -> str:
        """What follows a `<`, without the markup that begins there."""
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
        """A piece of markup: its own character if it has one, and its number behind it."""
        table = {"open": OPEN, "close": CLOSE}.get(kind, {})
        number = "".join(chr(0xDE00 + int(digit)) for digit in str(len(self.pieces)))
        self.text += table.get(name, OTHER) + number + "\udeff"
        self.pieces.append((kind, name, text))

    # Blocks.

    def memories(self) -> list[Told]:
        """Each block from its begin to its end, or to the next one."""
        found, rest = list[Told](), self.text
        while M in rest:
            rest = rest[rest.index(M) + 1 :]
            told, rest = self.block(rest)
            found += [told] if told and told.content else []
        return found

    def block(self, rest: str) -> tuple[Told | None, str]:
        """The block that begins here, and what follows it."""
        name, content, listed, tagged = "", None, "", list[str]()
        has_tags = False
        while part := re.search(f"[{M}{m}{C}{S}{Y}{N}]", rest):
            if part[0] == M:
                break
            rest = rest[part.end() :]
            if part[0] == m:
                break
            if part[0] == C:
                inside, rest = self.content_of(rest)
                if inside is None:
                    return None, rest
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
        return Told(called, content, each_once(texts)), rest

    def content_of(self, rest: str) -> tuple[str | None, str]:
        """The content that begins here, None if it is lost; and what follows."""
        upto = rest.partition(C)[0]
        if c in upto:
            at = upto.index(c)
            return rest[:at], rest[at + 1 :]
        edge = re.search(f"[{m}{S}{Y}]", upto)
        return (rest[: edge.start()], rest[edge.start() :]) if edge else (None, rest)

    # Texts.

    def plain(self, marked: str) -> str:
        """A stretch of the reply as it is meant: without its pairs of tags, references resolved."""
        parts = re.split(
            "[\ud800-\udd00]([\ude00-\ude09]+)\udeff", re.sub("^[\ude00-\ude09]+\udeff", "", marked)
        )
        numbers = [int("".join(str(ord(digit) - 0xDE00) for digit in part)) for part in parts[1::2]]
        gone = self.pairs(numbers)
        said = [resolved(parts[0])]
        for number, after in zip(numbers, parts[2::2], strict=True):
            kind, name, text = self.pieces[number]
            keeps = kind == "literal" or (name and number not in gone and kind != "alone")
            said += [text if keeps else " " if kind == "alone" else "", resolved(after)]
        return "".join(said).strip()

    def pairs(self, numbers: list[int]) -> dict[int, None]:
        """The tags that are opened and closed among these."""
        waiting: dict[str, list[int]] = {}
        found: dict[int, None] = {}
        for number in numbers:
            kind, name, _ = self.pieces[number]
            if kind == "open":
                waiting.setdefault(name, []).append(number)
            elif kind == "close" and waiting.get(name):
                found |= {waiting[name].pop(): None, number: None}
        return found


def resolved(text: str) -> str:
    return re.sub("&(amp|lt|gt|quot|apos|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});", character, text)


def character(match: re.Match[str]) -> str:
    said = match[1]
    if said in ENTITIES:
        return ENTITIES[said]
    code = int(said[2:], 16) if said[1] in "xX" else int(said[1:])
    is_control = code < 0x20 and code not in (9, 10)
    is_strange = is_control or 0x7F <= code <= 0x9F or 0xD800 <= code <= 0xDFFF or code > 0x10FFFF
    return match[0] if is_strange else chr(code)


def each_once(texts: Iterable[str]) -> tuple[str, ...]:
    named = [text.strip() for text in texts if text.strip()]
    return tuple(it for at, it in enumerate(named) if folded(it) not in map(folded, named[:at]))


def once(found: list[Told]) -> tuple[tuple[Told, ...], int]:
    """Return the facts, equal ones once and without the example of the prompt, and how many are too many."""
    kept: dict[tuple[str, str], Told] = {}
    beyond_count = 0
    for told in found:
        content = cut(told.content, EXTRACT_CONTENT_BYTES_MAX)
        key = folded(told.name), folded(content)
        if folded(told.content) == EXAMPLE:
            continue
        if key in kept:
            united = each_once((*kept[key].categories, *told.categories))
            kept[key] = attrs.evolve(kept[key], categories=united)
        elif len(kept) < EXTRACT_ENTITY_COUNT_MAX:
            kept[key] = Told(told.name, content, told.categories)
        else:
            beyond_count += 1
    return tuple(kept.values()), beyond_count
