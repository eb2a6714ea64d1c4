"""Parsers of renderings of core, which return the blocks that a text shows.

Law 1. Parsing a rendering gives `as_rendered(core)`: the blocks with importance in hundredths.
Law 2. The parsers accept any text and skip everything that is no block.
"""

import re
from collections.abc import Iterable
from typing import Final

from umi_core.tiers.core import CoreTier
from umi_core.tiers.rendering import HUNDREDTH_PPM, importance_text
from umi_core.values import BLOCK_KINDS, Block, Entry

EntryParts = tuple[str, str, str]  # id, name and text of an entry


def as_rendered(core: CoreTier) -> tuple[Block, ...]:
    """Return the blocks as a rendering shows them: rounded importance, entries by position, no versions."""
    return tuple(map(block_as_rendered, core.blocks))


def block_as_rendered(block: Block) -> Block:
    entries = [(entry.entity_id, entry.name, entry.text) for entry in block.entries]
    return block_of(block.kind, block.label, importance_text(block.importance_ppm), block.text, entries)


def block_of(kind: str, label: str, importance: str, text: str | None, shown: Iterable[EntryParts]) -> Block:
    entries = (Entry(entity_id, 0, name, text, at) for at, (entity_id, name, text) in enumerate(shown))
    # "0.75" is 75 hundredths: 750,000 ppm.
    return Block(kind, label, text, int(importance.replace(".", "")) * HUNDREDTH_PPM, tuple(entries))


# XML.


def unescape(text: str) -> str:
    # The ampersand comes last, since "&amp;lt;" is the text "&lt;" and not "<".
    return text.replace("&quot;", '"').replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&")


KIND: Final = "|".join(BLOCK_KINDS)
XML_ENTRY: Final = re.compile('<entry id="([^"]*)" name="([^"]*)">([^<]*)</entry>\n')
XML_BLOCK: Final = re.compile(
    f'<block type="({KIND})"(?: label="([^"]*)")? importance="([01][.][0-9][0-9])">\n([^<]*)'
    "((?:<entry [^<]*</entry>\n)*)</block>\n"
)


def parse_xml(text: str) -> tuple[Block, ...]:
    return tuple(parse_xml_block(*match) for match in XML_BLOCK.findall(text))


def parse_xml_block(kind: str, label: str, importance: str, body: str, entries: str) -> Block:
    text = unescape(body.removesuffix("\n")) if body else None
    return block_of(kind, unescape(label), importance, text, map(parse_xml_entry, XML_ENTRY.findall(entries)))


def parse_xml_entry(match: EntryParts) -> EntryParts:
    entity_id, name, text = map(unescape, match)
    return entity_id, name, text


# Markdown.

ESCAPED: Final = re.compile(r"^([ \t]*)\\", re.MULTILINE)


def unescape_lines(text: str) -> str:
    whole = text.removesuffix("\n")
    return ESCAPED.sub(r"\1", whole) if "\\" in whole else whole


MARKDOWN_KIND: Final = "|".join(kind.capitalize() for kind in BLOCK_KINDS)
MARKDOWN_ENTRY: Final = re.compile(r"^### ([^\n]*) \{([^\n {}]*)\}\n", re.MULTILINE)
MARKDOWN_BLOCK: Final = re.compile(
    rf"^## ({MARKDOWN_KIND})(?: - ([^\n]*))? \(importance: ([01]\.[0-9][0-9])\)\n", re.MULTILINE
)


def parse_markdown(text: str) -> tuple[Block, ...]:
    """Return the blocks of a rendering: a heading and the text up to the next one."""
    # Splitting gives four parts per block: kind, label, importance, and the text up to the next heading.
    parts = MARKDOWN_BLOCK.split(text)[1:]
    return tuple(map(parse_markdown_block, parts[0::4], parts[1::4], parts[2::4], parts[3::4]))


def parse_markdown_block(kind: str, label: str | None, importance: str, body: str) -> Block:
    head, *parts = MARKDOWN_ENTRY.split(body.removesuffix("\n"))
    text = unescape_lines(head) if head else None
    parsed = zip(parts[1::3], parts[0::3], map(unescape_lines, parts[2::3]), strict=True)
    return block_of(kind.lower(), label or "", importance, text, parsed)
