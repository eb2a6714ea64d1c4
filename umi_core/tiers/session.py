"""Session: the reserved keys of a session, and the snapshot as which it is saved.

Law 1. Loading is pure: it makes a new tier, which the caller installs as a whole or not at all.
Law 2. Equal live states give equal bytes. Law 3. Decoding any bytes gives a valid state or a typed error.
Law 4. Time to live continues to run in a snapshot; if the loading clock is behind the saving clock, no time
has passed. Law 5. Reserved keys are derived from SessionInfo alone, which only remember, recall,
create_session and load_session change.
"""

import json
from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import Any, Final

import msgpack
from msgspec import structs

from umi_core import domains, errors, limits
from umi_core.config import Config
from umi_core.data import Data
from umi_core.domains import Count, Members, Texts, bad_stored_key
from umi_core.errors import Error, SnapshotDamaged
from umi_core.ids import pack
from umi_core.text import cut, is_text, size
from umi_core.tiers.working import WorkingTier

FORMAT: Final = "umi.session"
VERSION: Final = 1


class SessionInfo(Data):
    """State of the session. A snapshot lacks `creator`, `members` and the fields explained here.

    `version`: the row version that was loaded or saved last. `load_count`: how often this process installed a
    session, so that the answer to a save can be matched to the current one. `last_fact`: the last fact stored
    in this session. `fact_ids`: ids of its latest facts. `left_out_count`: how many facts came before these.
    """

    tag = 88
    session_id: str | None = None
    started_ms: int | None = None
    interaction_count: int = 0
    last_input: str | None = None
    last_query: str | None = None
    names: tuple[str, ...] = ()  # names of the entities that the last remember stored
    version: Count = 0
    creator: str = ""
    members: Members = ()
    load_count: Count = 0
    last_fact: str | None = None
    fact_ids: Texts = ()
    left_out_count: Count = 0

    def read_reserved(self, key: str) -> bytes | None:
        """Return the value of a reserved key; None if there is no such key or it has no value yet."""
        show = RESERVED.get(key)
        value = None if show is None else show(self)
        return None if value is None else str(value).encode()


RESERVED: Final[dict[str, Callable[[SessionInfo], str | int | None]]] = {
    "__session_id": lambda info: info.session_id,
    "__session_start_ms": lambda info: info.started_ms,
    "__interaction_count": lambda info: info.interaction_count,
    "__last_input": lambda info: info.last_input,
    "__last_entities": lambda info: None if info.last_input is None else json_array(info.names),
    "__last_query": lambda info: info.last_query,
}


def record_remember(
    info: SessionInfo, text: str, names: Sequence[str], last_fact: str | None, fact_ids: Sequence[str] = ()
) -> SessionInfo:
    """Return the info after a committed remember; `names` and `fact_ids` are in order."""
    count, text = min(info.interaction_count + 1, limits.I64_MAX), cut(text, limits.SESSION_TEXT_BYTES_MAX)
    info = structs.replace(
        info, interaction_count=count, last_input=text, names=fitting(names), last_fact=last_fact
    )
    # A fact that is stored again moves to the end; beyond the limit the oldest facts are dropped.
    every = (*(key for key in info.fact_ids if key not in fact_ids), *dict.fromkeys(fact_ids))
    left_count = max(0, len(every) - limits.SESSION_FACT_COUNT_MAX)
    return structs.replace(
        info,
        fact_ids=every[left_count:],
        left_out_count=min(info.left_out_count + left_count, limits.I64_MAX),
    )


def record_recall(info: SessionInfo, query: str) -> SessionInfo:
    """Return the info after a recall; `query` is the query before references were resolved."""
    return structs.replace(info, last_query=cut(query, limits.SESSION_TEXT_BYTES_MAX))


def fitting(names: Sequence[str]) -> tuple[str, ...]:
    """Return the longest prefix of the names whose JSON array has at most SESSION_NAMES_BYTES_MAX bytes."""
    used_bytes = 1  # the opening bracket; each name adds a comma or the closing bracket
    for count, name in enumerate(names):
        # ["a","b"] has 9 bytes: the opening bracket, and 4 for each name with the character after it.
        used_bytes += size(json_array([name])) - 1
        if used_bytes > limits.SESSION_NAMES_BYTES_MAX:
            return tuple(names[:count])
    return tuple(names)


def json_array(names: Sequence[str]) -> str:
    return json.dumps(names, ensure_ascii=False, separators=(",", ":"))


# Snapshots: pack([FORMAT, VERSION, body, digest]).


def encode(tier: WorkingTier, info: SessionInfo, now_ms: int) -> bytes:
    """Return the canonical snapshot of the entries that are alive."""
    # `decode` checks the same fields, so every snapshot that is saved can be loaded.
    assert bad_field(info) is None, bad_field(info)
    live = [[key, value, ms - now_ms] for key, (value, ms) in sorted(tier.entries.items()) if now_ms < ms]
    data = seal_body(pack([now_ms, live, fields(info)]))
    assert len(data) <= limits.SNAPSHOT_BYTES_MAX
    return data


def fields(info: SessionInfo) -> list[object]:
    """Return the fields of the info that a snapshot holds."""
    texts = info.last_input, info.last_query
    return [info.session_id, info.started_ms, info.interaction_count, *texts, list(info.names)]


def seal_body(body: bytes) -> bytes:
    digest = blake2b(pack([FORMAT, VERSION, body]), digest_size=16).digest()
    return pack([FORMAT, VERSION, body, digest])


class Loaded(Data):
    """A decoded snapshot without expired entries. Its tier has no expiry count, its info no row version."""

    tier: WorkingTier
    info: SessionInfo
    expired_at_rest: int


def decode(data: bytes, now_ms: int, config: Config) -> Loaded | Error:
    """Decode a snapshot: check everything, in the order of M5.4, and only then make a tier."""
    if len(data) > limits.SNAPSHOT_BYTES_MAX:
        return errors.SnapshotTooBig(len(data), limits.SNAPSHOT_BYTES_MAX)
    match unpack_value(data):
        case [name, version, bytes(body), bytes()] if name == FORMAT and is_int(version):
            pass
        case _:
            return SnapshotDamaged("not a session snapshot")
    if version != VERSION:
        return errors.SnapshotVersion(version)
    # Sealing the body again and comparing checks both the checksum and the canonical form of the outer bytes.
    return open_body(body, now_ms, config) if data == seal_body(body) else SnapshotDamaged("checksum differs")


def open_body(body: bytes, now_ms: int, config: Config) -> Loaded | Error:
    match unpack_value(body):
        case [saved_ms, list(rows), [own_id, start, count, text, query, list(names)]] if is_int(saved_ms):
            info = SessionInfo(own_id, start, count, text, query, tuple(names))
        case _:
            return SnapshotDamaged("wrong shape of the body")
    if (reason := bad_rows(rows) or bad_field(info)) is not None:
        return SnapshotDamaged(reason)
    # Law 2: other bytes that decode to the same values are refused.
    if body != pack([saved_ms, rows, fields(info)]):
        return SnapshotDamaged("not in canonical form")
    # The loading agent may have another clock; if that is behind, no time has passed (law 4).
    return fit_rows(rows, info, max(0, now_ms - saved_ms), now_ms, config)


def fit_rows(rows: list[Any], info: SessionInfo, rest_ms: int, now_ms: int, config: Config) -> Loaded | Error:
    """Return the entries that are alive after `rest_ms` in the snapshot, or an error if they do not fit."""
    # An entry saved with 60 s left and loaded 20 s later has 40 s left.
    live = {key: (value, now_ms + left_ms - rest_ms) for key, value, left_ms in rows if left_ms > rest_ms}
    used_bytes = sum(size(key) + len(value) for key, (value, _) in live.items())
    if used_bytes > config.working_bytes_max or len(live) > config.working_entry_count_max:
        return errors.SnapshotDoesNotFit(len(live), used_bytes)
    return Loaded(WorkingTier(live, used_bytes), info, len(rows) - len(live))


# Checks of bytes from outside. Anyone can compute the checksum, so no check relies on it.

STRICT: Final = {
    "max_array_len": limits.WORKING_ENTRY_COUNT_MAX,
    "max_str_len": limits.SESSION_NAMES_BYTES_MAX,
    "max_map_len": 0,
    "max_ext_len": 0,
}


def unpack_value(data: bytes) -> Any:  # the single value in the bytes; None if they break STRICT
    try:
        return msgpack.unpackb(data, **STRICT)
    except ValueError:
        return None


def bad_rows(rows: list[Any]) -> str | None:
    """Return the first error in the entries of a snapshot; None if there is none."""
    reason = next((reason for row in rows if (reason := bad_row(row)) is not None), None)
    if reason is None and any(one[0] >= other[0] for one, other in pairwise(rows)):
        return "keys out of order"
    return reason


def bad_row(row: object) -> str | None:
    match row:
        case [str(key), bytes(value), int(left_ms)] if is_int(left_ms):
            if (error := bad_stored_key("key", key)) is not None:
                return str(error)
            if len(value) > limits.WORKING_VALUE_BYTES_MAX:
                return f"value of {len(value)} bytes"
            return None if 1 <= left_ms <= limits.TTL_MS_MAX else f"{left_ms} ms left"
    return "wrong shape of an entry"


def bad_field(info: SessionInfo) -> str | None:
    """Return the name of the first field that breaks its limits; None if there is none."""
    own_id = info.session_id
    is_id = is_text(own_id) and own_id.isascii() and 0 < len(own_id) <= limits.SCOPE_PART_BYTES_MAX
    good = {
        "session_id": own_id is None or is_id,
        "started_ms": info.started_ms is None or domains.is_int(info.started_ms),
        "interaction_count": is_int(info.interaction_count) and 0 <= info.interaction_count <= limits.I64_MAX,
        "last_input": info.last_input is None or is_short(info.last_input),
        "last_query": info.last_query is None or is_short(info.last_query),
        "fact_ids": len(info.fact_ids) <= limits.SESSION_FACT_COUNT_MAX,
        "names": all(map(is_text, info.names)) and fitting(info.names) == info.names,
    }
    return next((name for name in good if not good[name]), None)


def is_int(value: object) -> bool:
    return type(value) is int  # excludes bool


def is_short(value: str) -> bool:
    return is_text(value) and size(value) <= limits.SESSION_TEXT_BYTES_MAX
