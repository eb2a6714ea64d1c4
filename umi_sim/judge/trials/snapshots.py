"""Saved sessions that a stranger wrote: whole, odd in one place, cut, or sealed around what no session holds.

Law 1. Any bytes give what the plain reader gives, or are refused with the error that it names.
"""

from collections.abc import Callable
from typing import Any, Final

import attrs
import msgpack

from umi_core.config import Config
from umi_core.errors import SnapshotDamaged
from umi_core.invariants import limits
from umi_core.invariants.broken import demand
from umi_core.tiers import session
from umi_sim.judge.plain.snapshots import NAMES_BYTES_MAX, SNAPSHOT_BYTES_MAX, Snapshot, read_snapshot, sealed
from umi_sim.judge.trials.values import around
from umi_sim.kernel.prng import Stream
from umi_sim.record import rules

TRIED: Final = 60  # of each trial
SAVED_MS: Final = 1_000
KEYS: Final = ("", "_", "a", "b", "b", "x" * 256, "x" * 257, "é" * 128, "é" * 129, "__a", "日本", "\x00")
VALUES: Final = (b"", b"v", b"v" * 60, "v", None, [b"v"], b"v" * 65_536, b"v" * 65_537)
LEFT: Final = (1, 2, 5_000, *around(limits.TTL_MS_MAX), 0, -1, True, "1", 2**63)
NUMBERS: Final = (0, 1, 5, 2**63 - 1, 2**63, -1, True, None, "1", b"1")
IDS: Final = (None, "ses_1", "", "é", "x" * 128, "x" * 129, 7, b"x")
SAID: Final = (None, "", "tea", "é" * 100, "é" * 101, "x" * 201, 7, ["tea"])
NAMES: Final[tuple[object, ...]] = (
    [], ["Ann"], ["Ann", "日本"], ["x" * (NAMES_BYTES_MAX - 4)], ["x" * (NAMES_BYTES_MAX - 3)],
    ["x" * 2_044, "x" * 2_045], ["x" * 2_045, "x" * 2_045], ["\"" * 2_046], [7], "Ann", None,
)  # fmt: skip
OUTER: Final[tuple[Callable[[bytes], bytes], ...]] = (
    lambda data: data[:-1], lambda data: data + b"\xc0", lambda data: data[:-1] + bytes((data[-1] ^ 1,)),
    lambda data: b"", lambda data: msgpack.packb(7), lambda data: msgpack.packb(["umi.session", 1]),
    lambda data: msgpack.packb([*msgpack.unpackb(data), 1]), lambda data: with_part(data, 0, "umi.sessions"),
    lambda data: with_part(data, 1, 2), lambda data: with_part(data, 1, 0),
    lambda data: with_part(data, 1, True), lambda data: with_part(data, 2, "body"),
    lambda data: with_part(data, 3, b"x" * 16), lambda data: with_part(with_part(data, 0, "umi"), 1, 2),
    lambda data: with_part(data, 3, None), lambda data: data + b"x" * (SNAPSHOT_BYTES_MAX + 1 - len(data)),
)  # fmt: skip
INNER: Final[tuple[Callable[[list[Any]], object], ...]] = (
    lambda body: body[:2], lambda body: [*body, 1], lambda body: [True, *body[1:]],
    lambda body: [None, *body[1:]],
    lambda body: [body[0], body[1][::-1], body[2]], lambda body: [body[0], body[1] * 2, body[2]],
    lambda body: [body[0], {}, body[2]], lambda body: [body[0], body[1], body[2][:5]],
    lambda body: [body[0], body[1], [*body[2], 1]], lambda body: [body[0], [*body[1], ["z"]], body[2]],
    lambda body: [body[0], [*body[1], ["z", b"", 1, 1]], body[2]], lambda body: {}, lambda body: 7,
)  # fmt: skip


def with_part(data: bytes, at: int, part: object) -> bytes:
    parts = msgpack.unpackb(data)
    parts[at] = part
    packed: bytes = msgpack.packb(parts)
    return packed


def try_snapshots(draw: Stream, config: Config) -> None:
    small = attrs.evolve(config, working_bytes_max=64, working_entry_count_max=2)
    for _ in range(TRIED):
        now_ms = SAVED_MS + draw.pick((-5, 0, 1, 2, 4_999, 5_000))
        check_snapshot(snapshot(draw), now_ms, draw.pick((config, small)))


def snapshot(draw: Stream) -> bytes:
    """Mostly one that is sound, but for one thing."""
    body, luck = session_of(draw), draw.below(6)
    if luck == 0:
        inner: object = draw.pick(INNER)(body)
        return sealed(msgpack.packb(inner))
    if luck == 1:
        data: bytes = draw.pick(OUTER)(sealed(msgpack.packb(body)))
        return data
    if luck == 2:  # its time takes more bytes than it must
        return sealed(b"\x93\xce" + body[0].to_bytes(4, "big") + msgpack.packb(body)[4:])
    return sealed(msgpack.packb(body))


def session_of(draw: Stream) -> list[Any]:
    """Entries in their order, and an info; one field of all may be odd."""
    odd = draw.below(12)
    keys = sorted({draw.pick(KEYS if odd == 0 else KEYS[:5]) for _ in range(draw.below(4))})
    rows = [
        [key, draw.pick(VALUES if odd == 1 else VALUES[:3]), draw.pick(LEFT if odd == 2 else LEFT[:5])]
        for key in keys
    ]
    info = [
        draw.pick(IDS if odd == 3 else IDS[:2]), draw.pick(NUMBERS if odd == 4 else (None, 5)),
        draw.pick(NUMBERS if odd == 5 else NUMBERS[:4]), draw.pick(SAID if odd == 6 else SAID[:4]),
        draw.pick(SAID if odd == 7 else SAID[:4]), draw.pick(NAMES if odd == 8 else NAMES[:4]),
    ]  # fmt: skip
    return [SAVED_MS, rows, info]


def check_snapshot(data: bytes, now_ms: int, config: Config) -> None:
    wanted, got = read_snapshot(data, now_ms, config), session.decode(data, now_ms, config)
    told = f"a saved session of {len(data)} bytes, {data[:200]!r}, loaded at {now_ms} ms"
    if not isinstance(got, session.Loaded):
        if isinstance(got, SnapshotDamaged):
            demand(got.reason not in ("", str(None)), rules.ERROR_SAYS_IT, told, "what is wrong", got.reason)
            got = SnapshotDamaged("")
        demand(wanted == got, rules.SNAPSHOT_ROUNDTRIP, told, wanted, got)
        return
    entries = tuple((key, value, ends_ms) for key, (value, ends_ms) in sorted(got.tier.entries.items()))
    read = Snapshot(entries, tuple(fields_of(got.info)), got.expired_at_rest)
    demand(wanted == read, rules.SNAPSHOT_ROUNDTRIP, told, wanted, read)
    used_bytes = sum(len(key.encode()) + len(value) for key, value, _ in entries)
    demand(got.tier.used_bytes == used_bytes, rules.SNAPSHOT_ROUNDTRIP, told, used_bytes, got.tier.used_bytes)
    if now_ms == SAVED_MS:
        again = session.encode(got.tier, got.info, now_ms)
        demand(again == data, rules.SNAPSHOT_ROUNDTRIP, f"{told}, and saved again", data[:200], again[:200])


def fields_of(info: session.SessionInfo) -> list[object]:
    texts = info.last_input, info.last_query, info.names
    return [info.session_id, info.started_ms, info.interaction_count, *texts]
