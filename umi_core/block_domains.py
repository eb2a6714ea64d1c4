"""The blocks of core as a domain: each is sound, none is there twice, and no entity is in two of them."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any, Final

from umi_core import errors, limits
from umi_core.domains import (
    Checks,
    Domain,
    bad_block_kind,
    bad_block_label,
    bad_count,
    bad_fields,
    bad_importance,
    bad_row_id,
    bad_version,
    text_of,
)
from umi_core.errors import Error
from umi_core.text import shown
from umi_core.values import Block, Entry


def bad_blocks(name: str, value: object) -> Error | None:
    good = type(value) is tuple and all(
        isinstance(it, Block) and not bad_fields(it, BLOCK) and is_filled(it) for it in value
    )
    return None if good and is_one_tier(value) else errors.BadOption(name, shown(value), "blocks of core")


def is_filled(block: Block) -> bool:
    """True if there is something in it, and entries only where they may be: in order, under no label."""
    times = [(entry.promoted_ms, entry.entity_id) for entry in block.entries]
    may_have = not times or (block.kind != "system" and not block.label)
    return may_have and bool(times or block.text is not None) and is_ascending(times)


def is_one_tier(blocks: Any) -> bool:
    """True if no two blocks are in one slot, and no entity is in two of them."""
    ids = [entry.entity_id for block in blocks for entry in block.entries]
    return is_ascending([block.order for block in blocks]) and len(dict.fromkeys(ids)) == len(ids)


def is_ascending(keys: Sequence[tuple[int, Any]]) -> bool:
    return all(one < other for one, other in pairwise(keys))


def bad_entries(name: str, value: object) -> Error | None:
    good = type(value) is tuple and all(isinstance(it, Entry) and not bad_fields(it, ENTRY) for it in value)
    return None if good else errors.BadOption(name, shown(value), "entries of core")


Blocks = Annotated[tuple[Block, ...], Domain("blocks", bad_blocks)]

BLOCK: Final[Checks] = (
    ("kind", False, bad_block_kind),
    ("label", False, bad_block_label),
    ("text", True, text_of(limits.BLOCK_BYTES_MAX)),
    ("importance_ppm", False, bad_importance),
    ("entries", False, bad_entries),
)
ENTRY: Final[Checks] = (
    ("entity_id", False, bad_row_id),
    ("version", False, bad_version),
    ("name", False, text_of(limits.ENTITY_NAME_BYTES_MAX)),
    ("text", False, text_of(limits.ENTRY_TEXT_BYTES_MAX)),
    ("promoted_ms", False, bad_count),
)
