"""Readers of renderings of the core tier (M3.18 to M3.23) in all forms.

A rendering shows the importance in hundredths, and the id, name and text of entries, but no other fields.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Final

from umi_core.data import Data
from umi_core.values import Block

KEPT: Final = 16  # cached, since renderings are read far more often than blocks change


class ShownEntry(Data):
    entity_id: str
    name: str
    text: str


class ShownBlock(Data):
    kind: str
    label: str
    importance: str
    text: str | None
    entries: tuple[ShownEntry, ...]


def byte_count(text: str) -> int:
    """Return the size of a text in bytes; one in a malformed request may contain a lone surrogate."""
    return len(text.encode(errors="surrogatepass"))


def expect_block(block: Block) -> ShownBlock:
    """Return the contents that every rendering of this block must show."""
    # Half a hundredth is rounded up: 655,000 ppm -> 66 hundredths, 654,999 -> 65.
    hundredths = (block.importance_ppm + 5_000) // 10_000
    entries = tuple(ShownEntry(it.entity_id, it.name, it.text) for it in block.entries)
    importance = f"{hundredths // 100}.{hundredths % 100:02}"
    return ShownBlock(block.kind, block.label, importance, block.text, entries)


# XML.

# A block without a text (None) has nothing between its tags, a block with an empty text ("") a line end.
XML_BLOCK: Final = (
    r'<block type="(\w+)"(?: label="([^"<>]*)")? importance="(\d\.\d\d)">\n((?:[^<>]*\n)?)'
    r"((?:<entry [^<>]*>[^<>]*</entry>\n)*)</block>\n"
)
XML_ENTRY: Final = r'<entry id="([^"<>]*)" name="([^"<>]*)">([^<>]*)</entry>\n'
MARKUP: Final = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&amp;": "&"}


XML_HEAD: Final = "<core_memory>\n"
XML_END: Final = "</core_memory>"


def between(head: str, text: str, end: str) -> str:
    """Return the text between `head` and `end`. Raises ValueError if one of them is missing."""
    if not (text.startswith(head) and text.endswith(end)):
        raise ValueError(f"no rendering: {text[:80]!r}")
    return text[len(head) : len(text) - len(end)]


@lru_cache(maxsize=KEPT)
def read_xml(text: str) -> tuple[ShownBlock, ...]:
    """Return the blocks of a rendering as XML. Raises ValueError if it is malformed."""
    inside = between(XML_HEAD, text, XML_END)
    return tuple(xml_block(match) for match in every(XML_BLOCK, inside))


def xml_block(match: re.Match[str]) -> ShownBlock:
    kind, label, importance, text, entries = match.groups(default="")
    authored = unescape(text.removesuffix("\n")) if text else None
    shown = (ShownEntry(*map(unescape, it.groups())) for it in every(XML_ENTRY, entries))
    return ShownBlock(kind, unescape(label), importance, authored, tuple(shown))


def every(pattern: str, text: str) -> Iterator[re.Match[str]]:
    """Yield adjacent matches that cover the whole text. Raises ValueError for anything else."""
    at = 0
    while at < len(text):
        match = re.compile(pattern).match(text, at)
        if match is None:
            raise ValueError(f"no rendering from here on: {text[at : at + 80]!r}")
        yield match
        at = match.end()


def unescape(text: str) -> str:
    return re.sub("&(?:lt|gt|quot|amp);", lambda match: MARKUP[match[0]], text) if "&" in text else text


# Markdown.

MD_HEAD: Final = "# Core Memory\n\n"
MD_BLOCK: Final = r"## ([A-Z][a-z]+)(?: - (.*))? \(importance: (\d\.\d\d)\)"
# An id has 28 characters: "ent_" or "fct_" and 24 hex digits.
# Without the length, braces in a name could match as an id.
MD_ENTRY: Final = r"### (.*) \{(.{28})\}"


@lru_cache(maxsize=KEPT)
def read_markdown(text: str) -> tuple[ShownBlock, ...]:
    """Return the blocks of a rendering as Markdown. Raises ValueError if it is malformed."""
    *lines, end = between(MD_HEAD, text, "").split("\n")
    before, *blocks = split_at_mark(lines, "## ")
    if before or end:
        raise ValueError(f"no rendering: {before or end}")
    return tuple(markdown_block(block) for block in blocks)


def split_at_mark(lines: list[str], mark: str) -> list[list[str]]:
    """Split lines before each line that begins with the mark."""
    found: list[list[str]] = [[]]
    for line in lines:
        if line.startswith(mark):
            found.append([])
        found[-1].append(line)
    return found


def markdown_block(lines: list[str]) -> ShownBlock:
    head = re.fullmatch(MD_BLOCK, lines[0])
    if head is None or lines[-1] != "":
        raise ValueError(f"no block of a rendering: {lines}")
    authored, *entries = split_at_mark(lines[1:-1], "### ")
    kind, label, importance = head.groups(default="")
    text = unescape_lines(authored) if authored else None
    return ShownBlock(kind.lower(), label, importance, text, tuple(map(markdown_entry, entries)))


def markdown_entry(lines: list[str]) -> ShownEntry:
    head = re.fullmatch(MD_ENTRY, lines[0])
    if head is None:
        raise ValueError(f"no entry of a rendering: {lines}")
    return ShownEntry(head[2], head[1], unescape_lines(lines[1:]))


STRUCTURE: Final = re.compile(r"^[ \t]*(#|```|~~~|<|=[= \t]*$|-[- \t]*$)", re.MULTILINE)


def unescape_lines(lines: list[str]) -> str:
    """Join lines and remove escaping backslashes. Raises ValueError for an unescaped mark."""
    text = "\n".join(lines)
    if found := STRUCTURE.search(text):
        raise ValueError(f"Markdown takes this line of a text for structure: {found[0]!r}")
    return re.sub(r"(?m)^([ \t]*)\\", r"\1", text) if "\\" in text else text


# Labels as tags, the form of an agent server; a label that cannot be the name of a tag is in an attribute.

TAGGED_HEAD: Final = r'<(?:block label="([^"<>]*)"|([\w.-]+))>\n'
TAGGED_BLOCK: Final = TAGGED_HEAD + r"((?:[^<>]*\n)?)((?:<entry [^<>]*>[^<>]*</entry>\n)*)</[\w.-]+>\n"


@lru_cache(maxsize=KEPT)
def read_tagged(text: str) -> tuple[ShownBlock, ...]:
    """Return the blocks of a rendering with labels as tags, which has no importance and no kinds.

    Raises ValueError if it is malformed.
    """
    inside = between("<memory>\n", text, "</memory>")
    return tuple(tagged_block(match) for match in every(TAGGED_BLOCK, inside))


def tagged_block(match: re.Match[str]) -> ShownBlock:
    quoted, tag, text, entries = match.groups(default="")
    authored = unescape(text.removesuffix("\n")) if text else None
    shown = (ShownEntry(*map(unescape, it.groups())) for it in every(XML_ENTRY, entries))
    return ShownBlock("", unescape(quoted) or tag, "", authored, tuple(shown))


READERS: Final[Mapping[str, Callable[[str], tuple[ShownBlock, ...]]]] = {
    "xml": read_xml,
    "markdown": read_markdown,
    "tagged": read_tagged,
}
