"""Rendering: core as the text that a model reads, in two formats, and parsers for both.

Law 1. No content can open or close a block or an entry: what could is escaped.
Law 2. Parsing a rendering gives `as_rendered(core)`: the blocks with importance in hundredths.
Law 3. Both formats have the order of the tier. Law 4. The parsers take any text: what is no block is skipped.
"""

import re
from collections.abc import Iterable
from typing import Final

from umi_core.ids import block_id
from umi_core.limits import PPM
from umi_core.text import norm
from umi_core.tiers.core import CoreTier, slot_name
from umi_core.values import BLOCK_KINDS, Block, Entry, Scope

Told = tuple[str, str, str]  # id, name and text of an entry


def as_rendered(core: CoreTier) -> tuple[Block, ...]:
    """Return the blocks as a rendering shows them: rounded importance, entries by position, no versions."""
    return tuple(map(block_as_rendered, core.blocks))


def block_as_rendered(block: Block) -> Block:
    entries = [(entry.entity_id, entry.name, entry.text) for entry in block.entries]
    return block_of(block.kind, block.label, importance_text(block.importance_ppm), block.text, entries)


def block_of(kind: str, label: str, importance: str, text: str | None, shown: Iterable[Told]) -> Block:
    entries = (Entry(entity_id, 0, name, text, at) for at, (entity_id, name, text) in enumerate(shown))
    # "0.75" is 75 hundredths: 750,000 ppm.
    return Block(kind, label, text, int(importance.replace(".", "")) * HUNDREDTH_PPM, tuple(entries))


HUNDREDTH_PPM: Final = PPM // 100


def importance_text(importance_ppm: int) -> str:
    """Return hundredths, rounded half up."""
    assert 0 <= importance_ppm <= PPM
    hundredths = (importance_ppm + HUNDREDTH_PPM // 2) // HUNDREDTH_PPM
    return f"{hundredths // 100}.{hundredths % 100:02}"


# XML.


def render_xml(core: CoreTier) -> str:
    return "<core_memory>\n" + "".join(map(xml_block, core.blocks)) + "</core_memory>"


def xml_block(block: Block) -> str:
    label = f' label="{escape(block.label)}"' if block.label else ""
    text = "" if block.text is None else escape_text(block.text) + "\n"
    head = f'<block type="{block.kind}"{label} importance="{importance_text(block.importance_ppm)}">\n'
    return head + text + "".join(map(xml_entry, block.entries)) + "</block>\n"


def xml_entry(entry: Entry) -> str:
    head = f'<entry id="{escape(entry.entity_id)}" name="{escape(entry.name)}">'
    return head + escape_text(entry.text) + "</entry>\n"


def escape_text(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def escape(text: str) -> str:
    """Escape the text for an attribute."""
    return escape_text(text).replace('"', "&quot;")


def unescape(text: str) -> str:
    # & last: "&amp;lt;" is the text "&lt;" and not "<".
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


def parse_xml_entry(match: Told) -> Told:
    entity_id, name, text = map(unescape, match)
    return entity_id, name, text


# Markdown.


def render_markdown(core: CoreTier) -> str:
    return "# Core Memory\n\n" + "".join(map(markdown_block, core.blocks))


def markdown_block(block: Block) -> str:
    label = f" - {block.label}" if block.label else ""
    head = f"## {block.kind.capitalize()}{label} (importance: {importance_text(block.importance_ppm)})\n"
    text = "" if block.text is None else escape_lines(block.text)
    return head + text + "".join(map(markdown_entry, block.entries)) + "\n"


def markdown_entry(entry: Entry) -> str:
    return f"### {entry.name} {{{entry.entity_id}}}\n" + escape_lines(entry.text)


def escape_lines(text: str) -> str:
    if not any(char in text for char in SPECIAL):  # most texts are prose
        return text + "\n"
    return "".join([escape_line(line) + "\n" for line in text.split("\n")])


MARKS: Final = ("\\", "#", "```", "~~~", "<")
SPECIAL: Final = "\\#`~<=-"


def escape_line(line: str) -> str:
    """Put a backslash before what Markdown could read as a heading, a fence, a rule or markup."""
    rest = line.lstrip(" \t")
    bare = "".join(line.split())
    # A line of nothing but = or - would make a heading of the line before it, or be a rule.
    is_rule = bare != "" and "" in (bare.strip("="), bare.strip("-"))
    return line[: len(line) - len(rest)] + "\\" + rest if is_rule or rest.startswith(MARKS) else line


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
    # Split with four groups: kind, label, importance and the text up to the next heading, again and again.
    parts = MARKDOWN_BLOCK.split(text)[1:]
    return tuple(map(parse_markdown_block, parts[0::4], parts[1::4], parts[2::4], parts[3::4]))


def parse_markdown_block(kind: str, label: str | None, importance: str, body: str) -> Block:
    head, *parts = MARKDOWN_ENTRY.split(body.removesuffix("\n"))
    text = unescape_lines(head) if head else None
    parsed = zip(parts[1::3], parts[0::3], map(unescape_lines, parts[2::3]), strict=True)
    return block_of(kind.lower(), label or "", importance, text, parsed)


# Blocks by label, as the API of an agent server names them, and the rendering that has labels for
# tags.
#
# Law 1. No two blocks are shown under one label, in whatever spelling. Law 2. Pure: a core tier
# in, names out.


Slot = tuple[str, str]  # kind and label

KIND_DEFAULT: Final = "facts"


def slot_of(label: str, kind: str | None) -> Slot:
    """Return the slot of a new block of this label; the name of a kind, in any spelling, has no label."""
    # "Persona" is the block of that kind; "Travel plans" is a block of kind facts with this label.
    return (norm(label), "") if norm(label) in BLOCK_KINDS else (kind or KIND_DEFAULT, label)


def names_of(core: CoreTier) -> dict[str, Block]:
    """Return each block by its label, or by kind and label if an earlier one has that label."""
    shown: dict[str, Block] = {}
    taken: dict[str, None] = {}
    for block in core.blocks:
        label = block.label or block.kind
        label = label if norm(label) not in taken else slot_name(block.kind, block.label)
        taken[norm(label)] = None
        shown[label] = block
    return shown


def list_authored(core: CoreTier) -> dict[str, Block]:
    """Return the blocks with authored text, by their labels."""
    return {label: block for label, block in names_of(core).items() if block.text is not None}


def find_authored(core: CoreTier, wanted: str, scope: Scope) -> tuple[str, Block] | None:
    """Return the authored block of this id, or else of this label in any spelling; None if there is none."""
    blocks = list_authored(core)
    # An id before a label: no label that the API gives begins as an id does (`bad_api_label`).
    by_id = {block_id(scope, block.kind, block.label): label for label, block in blocks.items()}
    by_norm = {norm(label): label for label in blocks}
    label = by_id.get(wanted) or by_norm.get(norm(wanted))
    return None if label is None else (label, blocks[label])


# The rendering that has labels for tags.

XML_NAME: Final = re.compile("[A-Za-z_][A-Za-z0-9_.-]*")


def render_tagged(core: CoreTier) -> str:
    blocks = (tag_block(label, block) for label, block in names_of(core).items())
    return "<memory>\n" + "".join(blocks) + "</memory>"


def tag_block(label: str, block: Block) -> str:
    is_name = XML_NAME.fullmatch(label) is not None
    head, tail = (label, label) if is_name else (f'block label="{escape(label)}"', "block")
    text = "" if block.text is None else escape_text(block.text) + "\n"
    return f"<{head}>\n{text}{''.join(map(xml_entry, block.entries))}</{tail}>\n"
