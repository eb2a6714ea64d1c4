"""A saved session as M5 (docs/spec/memory.md) says it: who may read which bytes, and what then lives."""

import json
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Final

import attrs
import msgpack

from umi_core import errors
from umi_core.config import Config
from umi_core.data import Data
from umi_core.invariants import limits
from umi_sim.judge.plain.text import byte_count, is_text

SNAPSHOT_BYTES_MAX: Final = 2_097_152
TEXT_BYTES_MAX: Final = 200
NAMES_BYTES_MAX: Final = 4_096


@attrs.frozen
class Snapshot(Data):
    """What a load brings: entries with their ends, fields of the session, how many have ended at rest."""

    entries: tuple[tuple[str, bytes, int], ...]
    info: tuple[Any, ...]
    expired_count: int


def sealed(body: bytes) -> bytes:
    digest = blake2b(msgpack.packb(["umi.session", 1, body]), digest_size=16).digest()
    data: bytes = msgpack.packb(["umi.session", 1, body, digest])
    return data


def read_snapshot(data: bytes, now_ms: int, config: Config) -> Snapshot | errors.Error:
    """What is read, or what a load is refused with, without its reason."""
    if len(data) > SNAPSHOT_BYTES_MAX:
        return errors.SnapshotTooBig(len(data), SNAPSHOT_BYTES_MAX)
    outer = unpacked(data)
    if not (fits(outer, str, int, bytes, bytes) and outer[0] == "umi.session"):
        return errors.SnapshotDamaged("")
    if outer[1] != 1:
        return errors.SnapshotVersion(outer[1])
    body = unpacked(outer[2])
    if data != sealed(outer[2]) or not is_body(body) or msgpack.packb(body) != outer[2]:
        return errors.SnapshotDamaged("")
    saved_ms, rows, info = body
    rest_ms = max(0, now_ms - saved_ms)
    lasting = [(key, value, now_ms + left_ms - rest_ms) for key, value, left_ms in rows if left_ms > rest_ms]
    alive = tuple(lasting)
    used_bytes = sum(byte_count(key) + len(value) for key, value, _ in alive)
    if used_bytes > config.working_bytes_max or len(alive) > config.working_entry_count_max:
        return errors.SnapshotDoesNotFit(len(alive), used_bytes)
    return Snapshot(alive, (*info[:5], tuple(info[5])), len(rows) - len(alive))


def unpacked(data: bytes) -> Any:
    """None for what is no value, or holds tables, which no session does."""
    try:
        return msgpack.unpackb(data, max_map_len=0, max_ext_len=0)
    except ValueError:
        return None


def fits(value: Any, *types: type) -> bool:
    return type(value) is list and [type(part) for part in value] == list(types)


def is_body(body: Any) -> bool:
    if not fits(body, int, list, list) or len(body[2]) != 6 or not all(map(is_entry, body[1])):
        return False
    keys = [row[0] for row in body[1]]
    return keys == sorted({*keys}) and is_info(*body[2])


def is_entry(row: Any) -> bool:
    return (
        fits(row, str, bytes, int)
        and is_text(row[0])
        and byte_count(row[0]) <= limits.WORKING_KEY_BYTES_MAX
        and not row[0].startswith("__")
        and len(row[1]) <= limits.WORKING_VALUE_BYTES_MAX
        and 1 <= row[2] <= limits.TTL_MS_MAX
    )


def is_info(own_id: Any, started_ms: Any, count: Any, text: Any, query: Any, names: Any) -> bool:
    is_own = own_id is None or (
        is_text(own_id) and own_id.isascii() and 0 < len(own_id) <= limits.SCOPE_PART_BYTES_MAX
    )
    is_counted = type(count) is int and 0 <= count <= limits.I64_MAX
    is_timed = started_ms is None or type(started_ms) is int
    return is_own and is_timed and is_counted and is_said(text) and is_said(query) and are_names(names)


def is_said(text: Any) -> bool:
    return text is None or (is_text(text) and byte_count(text) <= TEXT_BYTES_MAX)


def are_names(names: Any) -> bool:
    if type(names) is not list or not all(map(is_text, names)):
        return False
    shown: Sequence[str] = names
    told = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
    return not names or byte_count(told) <= NAMES_BYTES_MAX
