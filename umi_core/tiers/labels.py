"""Blocks by label, as the API of an agent server names them, and the rendering that has labels for tags.

Law 1. No two blocks are shown under one label, in whatever spelling. Law 2. Pure: a core tier in, names out.
"""

import re
from typing import Final

from umi_core.ids import block_id
from umi_core.text import norm
from umi_core.tiers.core import CoreTier, slot_name
from umi_core.tiers.rendering import escape, escape_text, xml_entry
from umi_core.values import BLOCK_KINDS, Block, Scope

Slot = tuple[str, str]  # kind and label

KIND_DEFAULT: Final = "facts"


def slot_of(label: str, kind: str | None) -> Slot:
    """Where a new block of this label goes: that of a kind's name, in any spelling, has no label."""
    return (norm(label), "") if norm(label) in BLOCK_KINDS else (kind or KIND_DEFAULT, label)


def names_of(core: CoreTier) -> dict[str, Block]:
    """Each block under its label; under kind and label, if one before it is called so."""
    shown: dict[str, Block] = {}
    taken: dict[str, None] = {}
    for block in core.blocks:
        label = block.label or block.kind
        label = label if norm(label) not in taken else slot_name(block.kind, block.label)
        taken[norm(label)] = None
        shown[label] = block
    return shown


def authored(core: CoreTier) -> dict[str, Block]:
    """Those that somebody wrote."""
    return {label: block for label, block in names_of(core).items() if block.text is not None}


def named(core: CoreTier, wanted: str, scope: Scope) -> tuple[str, Block] | None:
    """The authored block of this id, or else of this label in any spelling."""
    blocks = authored(core)
    by_id = {block_id(scope, block.kind, block.label): label for label, block in blocks.items()}
    by_norm = {norm(label): label for label in blocks}
    label = by_id.get(wanted) or by_norm.get(norm(wanted))
    return None if label is None else (label, blocks[label])


# The rendering that has labels for tags.

XML_NAME: Final = re.compile("[A-Za-z_][A-Za-z0-9_.-]*")


def render_tagged(core: CoreTier) -> str:
    blocks = (tagged(label, block) for label, block in names_of(core).items())
    return "<memory>\n" + "".join(blocks) + "</memory>"


def tagged(label: str, block: Block) -> str:
    is_name = XML_NAME.fullmatch(label) is not None
    head, tail = (label, label) if is_name else (f'block label="{escape(label)}"', "block")
    text = "" if block.text is None else escape_text(block.text) + "\n"
    return f"<{head}>\n{text}{''.join(map(xml_entry, block.entries))}</{tail}>\n"
