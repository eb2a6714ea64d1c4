"""Many items as one text: JSON, zlib, base64. Unpacking is bounded; the result is read like other items."""

from binascii import a2b_base64, b2a_base64
from collections.abc import Sequence
from typing import Final
from zlib import compress, decompressobj
from zlib import error as zlib_error

from umi_sim.formats.schema import Json, Schema, Wrong, fail, wrong
from umi_sim.formats.strict_json import VALUE_COUNT_MAX, compact, parse_json, value_count
from umi_sim.record.items import Item
from umi_sim.seedfile.item_json import UNPACKED_CHARS_MAX, all_from_json, to_json


def pack_items(items: Sequence[Item]) -> str:
    """Return the items as one text, for `unpack_items`."""
    return b2a_base64(compress(compact([to_json(item) for item in items]).encode()), newline=False).decode()


def can_pack(items: Sequence[Item]) -> bool:
    """Return whether the items are within the limits of a reader that unpacks them."""
    document = compact([to_json(item) for item in items]).encode()
    return len(document) <= UNPACKED_CHARS_MAX and value_count(document) <= VALUE_COUNT_MAX


def unpack_items(value: Json) -> tuple[Item, ...]:
    """Return the items in a text of `pack_items`. Raises Wrong."""
    given, unpacking = value if isinstance(value, str) else fail("text", value), decompressobj()
    try:
        # Stops one byte beyond the limit, because a few kilobytes of zlib may unpack to gigabytes.
        data = unpacking.decompress(a2b_base64(given, strict_mode=True), UNPACKED_CHARS_MAX + 1)
    except (ValueError, zlib_error):
        wrong("expected items packed with zlib, then base64, got text that is not")
    if len(data) > UNPACKED_CHARS_MAX:
        wrong(f"more than {UNPACKED_CHARS_MAX} bytes when unpacked")
    if not unpacking.eof or unpacking.unused_data:
        wrong("the packed items are cut off, or something follows them")
    try:
        document = parse_json(data, UNPACKED_CHARS_MAX)
    except Wrong as error:
        wrong(f"unpacked: {error}")
    return all_from_json(document)


PACKED: Final = Schema(unpack_items, lambda: {"type": "string", "contentEncoding": "base64"}, pack_items)
