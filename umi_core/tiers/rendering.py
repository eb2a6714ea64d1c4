"""Rendering: core as text for a model, in XML, in Markdown, and with labels as tags.

Law 1. Content cannot open or close a block or an entry, because such characters are escaped.
Law 2. Every format keeps the order of the tier.
"""

import re
from typing import Final

from umi_core.ids import block_id
from umi_core.limits import PPM
from umi_core.text import norm
from umi_core.tiers.core import CoreTier, slot_name
from umi_core.values import BLOCK_KINDS, Block, Entry, Scope

HUNDREDTH_PPM: Final = PPM // 100


def importance_text(importance_ppm: int) -> str:
    """Return the importance with two decimals, rounded half up: `0.85` for 850,000 ppm."""
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
    """Put a backslash before a line that Markdown could read as a heading, a fence, a rule or markup."""
    rest = line.lstrip(" \t")
    bare = "".join(line.split())
    # A line of only = or - would turn the line before it into a heading, or be a rule.
    is_rule = bare != "" and "" in (bare.strip("="), bare.strip("-"))
    return line[: len(line) - len(rest)] + "\\" + rest if is_rule or rest.startswith(MARKS) else line


# Blocks by label, as the API of an agent server names them, and the rendering with labels as tags.
#
# Law 1. No two blocks are shown under the same label, compared without regard to spelling.


Slot = tuple[str, str]  # kind and label

KIND_DEFAULT: Final = "facts"


def slot_of(label: str, kind: str | None) -> Slot:
    """Return the slot of a new block with this label; the name of a kind means its block without label."""
    # "Persona" means the block of that kind; "Travel plans" is a block of kind facts with this label.
    return (norm(label), "") if norm(label) in BLOCK_KINDS else (kind or KIND_DEFAULT, label)


def names_of(core: CoreTier) -> dict[str, Block]:
    """Return each block by its label, or by kind and label if an earlier block has the same label."""
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
    """Return the authored block with this id, or else with this label in any spelling; None if none has."""
    blocks = list_authored(core)
    # Ids are tried first; the API allows no label that begins like an id (`bad_api_label`).
    by_id = {block_id(scope, block.kind, block.label): label for label, block in blocks.items()}
    by_norm = {norm(label): label for label in blocks}
    label = by_id.get(wanted) or by_norm.get(norm(wanted))
    return None if label is None else (label, blocks[label])


# The rendering with labels as tags.

XML_NAME: Final = re.compile("[A-Za-z_][A-Za-z0-9_.-]*")


def render_tagged(core: CoreTier) -> str:
    blocks = (tag_block(label, block) for label, block in names_of(core).items())
    return "<memory>\n" + "".join(blocks) + "</memory>"


def tag_block(label: str, block: Block) -> str:
    is_name = XML_NAME.fullmatch(label) is not None
    head, tail = (label, label) if is_name else (f'block label="{escape(label)}"', "block")
    text = "" if block.text is None else escape_text(block.text) + "\n"
    return f"<{head}>\n{text}{''.join(map(xml_entry, block.entries))}</{tail}>\n"
