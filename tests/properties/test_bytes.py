"""Goal: bytes that were saved are read as they were written, and any other bytes are refused by their reason.

Saved sessions and saved memories, which a stranger may have made, and recordings.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any, Final

import msgpack
import pytest

from tests.properties.laws import Draw, around, law
from tests.properties.requests_reference import stored_key
from tests.properties.rows_reference import STATE_FIELDS
from tests.properties.test_values import LIFE, SCOPE, saved_state
from tests.properties.text_reference import byte_count
from umi_core import errors, limits
from umi_core.codec import encode
from umi_core.config import Config
from umi_core.errors import BadVersion, Rejected, SnapshotDamaged, SnapshotVersion, StateDamaged
from umi_core.limits import SNAPSHOT_BYTES_MAX
from umi_core.memory import Memory
from umi_core.messages.answers import EffectFailed, ReadDone, Value, Wake
from umi_core.messages.effects import Reply, Unknown
from umi_core.messages.requests import Get, Len
from umi_core.recordings import RecordedStep, RecordingHead, digest_of, read_recording
from umi_core.tiers import session
from umi_core.workflows import BUILT_IN

# Saved sessions (M5): packed [format, version, body, digest]; a body is [time, entries, session].

SAVED_MS: Final = 1_000
KEYS: Final = ("", "_", "a", "b", "b", "x" * 256, "x" * 257, "é" * 128, "é" * 129, "__a", "日本", "\x00")
VALUES: Final = (b"", b"v", b"v" * 60, "v", None, [b"v"], b"v" * 65_536, b"v" * 65_537)
LEFT: Final = (1, 2, 5_000, *around(limits.TTL_MS_MAX), 0, -1, True, "1", 2**63)
NUMBERS: Final = (0, 1, 5, 2**63 - 1, 2**63, -1, True, None, "1", b"1")
IDS: Final = (None, "ses_1", "", "é", "x" * 128, "x" * 129, 7, b"x")
SAID: Final = (None, "", "tea", "é" * 100, "é" * 101, "x" * 201, 7, ["tea"])
NAMES: Final[tuple[object, ...]] = (
    [], ["Ann"], ["Ann", "日本"], ["x" * 4_092], ["x" * 4_093], ["x" * 2_044, "x" * 2_045],
    ["x" * 2_045, "x" * 2_045], ['"' * 2_046], [7], "Ann", None,
)  # fmt: skip
PARTS: Final = "session_id", "started_ms", "interaction_count", "last_input", "last_query", "names"


def pack(value: object) -> bytes:
    data: bytes = msgpack.packb(value)
    return data


def unpack(data: bytes) -> Any:
    """Return the value, or None for what is none, or holds tables, which no session does."""
    try:
        return msgpack.unpackb(data, max_map_len=0, max_ext_len=0)
    except ValueError:
        return None


def sealed(body: bytes) -> bytes:
    digest = blake2b(pack(["umi.session", 1, body]), digest_size=16).digest()
    return pack(["umi.session", 1, body, digest])


def with_part(data: bytes, at: int, part: object) -> bytes:
    parts = unpack(data)
    parts[at] = part
    return pack(parts)


OUTSIDE: Final[tuple[Callable[[bytes], bytes], ...]] = (
    lambda data: data[:-1], lambda data: data + b"\xc0", lambda data: data[:-1] + bytes((data[-1] ^ 1,)),
    lambda data: b"", lambda data: pack(7), lambda data: pack(["umi.session", 1]),
    lambda data: pack([*unpack(data), 1]), lambda data: with_part(data, 0, "umi.sessions"),
    lambda data: with_part(data, 1, 2), lambda data: with_part(data, 1, 0),
    lambda data: with_part(data, 1, True), lambda data: with_part(data, 2, "body"),
    lambda data: with_part(data, 3, b"x" * 16), lambda data: with_part(data, 3, None),
    lambda data: with_part(with_part(data, 0, "umi"), 1, 2),
    lambda data: data + b"x" * (SNAPSHOT_BYTES_MAX + 1 - len(data)),
)  # fmt: skip


def with_rows(change: Callable[[list[Any]], object]) -> Callable[[list[Any]], object]:
    return lambda body: [body[0], change(body[1]), body[2]]


INSIDE: Final[tuple[Callable[[list[Any]], object], ...]] = (
    lambda body: body[:2], lambda body: [*body, 1], lambda body: [True, *body[1:]],
    lambda body: [None, *body[1:]], lambda body: {}, lambda body: 7,
    with_rows(lambda rows: rows[::-1]), with_rows(lambda rows: rows * 2), with_rows(lambda rows: {}),
    with_rows(lambda rows: [*rows, ["z"]]), with_rows(lambda rows: [*rows, ["z", b"", 1, 1]]),
    lambda body: [body[0], body[1], body[2][:5]], lambda body: [body[0], body[1], [*body[2], 1]],
)  # fmt: skip


def spoiled_sessions() -> Iterator[bytes]:
    """Yield saved sessions with one odd field, or spoiled inside or outside."""
    entry, fields = ["a", b"v", 5_000], [None, 5, 1, "tea", None, ["Ann"]]
    sound = [SAVED_MS, [entry, ["b", b"", 1]], fields]
    for at, values in enumerate((KEYS, VALUES, LEFT)):
        yield from (sealed(pack([SAVED_MS, [with_item(entry, at, it)], fields])) for it in values)
    for at, values in enumerate((IDS, NUMBERS, NUMBERS, SAID, SAID, NAMES)):
        yield from (sealed(pack([*sound[:2], with_item(fields, at, it)])) for it in values)
    yield from (sealed(pack(change(sound))) for change in INSIDE)
    yield from (change(sealed(pack(sound))) for change in OUTSIDE)
    yield sealed(b"\x93\xce" + SAVED_MS.to_bytes(4, "big") + pack(sound)[4:])  # a time of more bytes


def with_item(items: list[Any], at: int, item: object) -> list[Any]:
    return [*items[:at], item, *items[at + 1 :]]


def sessions(draw: Draw) -> tuple[bytes, int, Config]:
    """Draw a sound session, how long it rests, and how much room there is."""
    keys = sorted({draw.pick(KEYS[:5]) for _ in range(draw.below(4))})
    rows = [[key, draw.pick(VALUES[:3]), draw.pick(LEFT[:5])] for key in keys]
    fields = [
        draw.pick(values) for values in (IDS[:2], (None, 5), NUMBERS[:4], SAID[:4], SAID[:4], NAMES[:4])
    ]
    now_ms = SAVED_MS + draw.pick((-5, 0, 1, 2, 4_999, 5_000))
    small = Config(working_bytes_max=64, working_entry_count_max=2)
    return sealed(pack([SAVED_MS, rows, fields])), now_ms, draw.pick((Config(), small))


def is_body(body: Any) -> bool:
    """Return whether these are a time, entries in their order, and a session, each in its range."""
    if not (type(body) is list and [type(it) for it in body] == [int, list, list]):
        return False
    _, rows, fields = body
    if not all(map(is_entry, rows)) or len(fields) != len(PARTS) or type(fields[5]) is not list:
        return False
    values = zip(PARTS, (*fields[:5], tuple(fields[5])), strict=True)
    are_sorted = [row[0] for row in rows] == sorted({row[0] for row in rows})
    return are_sorted and all(STATE_FIELDS[f"tiers.session.{name}"](it) for name, it in values)


def is_entry(row: Any) -> bool:
    if not (type(row) is list and [type(it) for it in row] == [str, bytes, int]):
        return False
    is_short = len(row[1]) <= limits.WORKING_VALUE_BYTES_MAX and 1 <= row[2] <= limits.TTL_MS_MAX
    return is_short and stored_key("key", row[0]) is None


def read(data: bytes, now_ms: int, config: Config) -> object:
    """Return the entries, the session and how many ended at rest, or the error without its reason."""
    if len(data) > SNAPSHOT_BYTES_MAX:
        return errors.SnapshotTooBig(len(data), SNAPSHOT_BYTES_MAX)
    outer = unpack(data)
    is_one = type(outer) is list and [type(it) for it in outer] == [str, int, bytes, bytes]
    if not is_one or outer[0] != "umi.session":
        return SnapshotDamaged("")
    if outer[1] != 1:
        return SnapshotVersion(outer[1])
    body = unpack(outer[2])
    if data != sealed(outer[2]) or not is_body(body) or pack(body) != outer[2]:
        return SnapshotDamaged("")
    rest_ms = max(0, now_ms - body[0])
    live = [(key, value, now_ms + left_ms - rest_ms) for key, value, left_ms in body[1] if left_ms > rest_ms]
    used_bytes = sum(byte_count(key) + len(value) for key, value, _ in live)
    if used_bytes > config.working_bytes_max or len(live) > config.working_entry_count_max:
        return errors.SnapshotDoesNotFit(len(live), used_bytes)
    return live, body[2], len(body[1]) - len(live), used_bytes


def test_a_spoiled_session_is_refused_by_its_reason_unless_it_is_sound() -> None:
    for data in spoiled_sessions():
        for now_ms in (SAVED_MS, SAVED_MS + 1):
            check_loaded(data, now_ms, Config())


def check_loaded(data: bytes, now_ms: int, config: Config) -> None:
    wanted, got = read(data, now_ms, config), session.decode(data, now_ms, config)
    if isinstance(got, SnapshotDamaged):
        assert got.reason not in ("", str(None))
        got = SnapshotDamaged("")
    if not isinstance(got, session.Loaded):
        assert wanted == got
        return
    live = [(key, *entry) for key, entry in sorted(got.tier.entries.items())]
    assert wanted == (live, session.fields(got.info), got.expired_at_rest, got.tier.used_bytes)
    if now_ms == SAVED_MS:
        assert session.encode(got.tier, got.info, now_ms) == data


test_a_saved_session_is_loaded_as_it_was = law(sessions)(check_loaded)


# Saved memories.


def test_a_saved_memory_of_which_a_byte_is_another_is_refused() -> None:
    data = Memory.standing_at(saved_state(), BUILT_IN).snapshot()
    name, version, *rest = parts = unpack(data)
    other_versions = [[name, version + 1, *rest], [name, version - 1, *rest]]
    other_parts = [
        [f"{name}s", version, *rest], parts[:-1], [*parts, None], [*parts[:-1], None], 7,
        [*parts[:-2], parts[3] + b"x", parts[4]], [name, str(version), *rest],
    ]  # fmt: skip
    for spoiled, error in (
        *((pack(it), SnapshotVersion) for it in other_versions),
        *((pack(it), StateDamaged) for it in other_parts),
        *((data[:at], StateDamaged) for at in range(len(data))),
        *((data[:-1] + bytes((data[-1] ^ bit,)), StateDamaged) for bit in (1, 128)),
        (data + b"x", StateDamaged),
    ):
        with pytest.raises(Rejected) as refused:
            Memory.restore(spoiled, life=LIFE)
        assert type(refused.value.errors[0]) is error


# Recordings.

GIVEN: Final[tuple[Value, ...]] = (
    Wake(), Len(1), Get("o1", "tea"), Get("o2", "日本\n"), ReadDone(7, ()), EffectFailed(8, "conflict", 5),
)  # fmt: skip
SPOILED: Final = (
    "[", "[1]", '[1, "x"]', '[true, "x"]', "[1, 2]", "{}", "7", "null", '[1, "x", 2]', '[1, "!kUo="]',
)  # fmt: skip
HEADS: Final = ("", "7", "[]", "{}", '{"umi": "recording"}', '{"umi": "seed", "version": 1}')
CONFIG: Final = Config(core_entry_count_max=3)
FIRST: Final = {
    "config": b64encode(encode(CONFIG)).decode(), "scope": ["u", "a"], "umi": "recording", "version": 1,
}  # fmt: skip
OF_HEAD: Final = (
    ("version", 2, BadVersion), ("scope", ["", "a"], StateDamaged), ("scope", ["u"], StateDamaged),
    ("config", "x", StateDamaged), ("config", b64encode(encode(7)).decode(), StateDamaged),
)  # fmt: skip


def recorded(draw: Draw) -> tuple[list[RecordedStep], list[str]]:
    """Draw steps and their lines, with blank ones between them."""

    def step(draw: Draw) -> RecordedStep:
        at_ms = draw.pick((0, 1, 2**53, 1_700_000_000_000))
        return RecordedStep(at_ms, draw.pick(GIVEN), draw.pick(("", "9a3f", "0" * 16)))

    steps, lines = draw.many(step, 0, 4), list[str]()
    for it in steps:
        lines += [line_of(it), *draw.pick(((), ("",))), *((json.dumps(it.digest),) if it.digest else ())]
    return steps, lines


def line_of(step: RecordedStep) -> str:
    return json.dumps([step.now_ms, b64encode(encode(step.value)).decode()])


def read_lines(*lines: str) -> object:
    try:
        return read_recording("\n".join(lines))
    except Rejected as refused:
        return type(refused.errors[0])


@law(recorded, examples=60)
def test_a_recording_is_read_as_it_was_written_or_refused(
    steps: list[RecordedStep], lines: list[str]
) -> None:
    head, first = RecordingHead(SCOPE, CONFIG), json.dumps(FIRST)
    assert head.line() == first
    assert [it.line() for it in steps] == [line_of(it) for it in steps]
    assert read_lines(first, *lines) == (head, tuple(steps))
    for spoiled in SPOILED:  # a last line without its end was cut off by a crash
        assert read_lines(first, *lines, spoiled) == (head, tuple(steps))
        assert read_lines(first, *lines, spoiled, "") is StateDamaged
    assert all(read_lines(it, *lines) is StateDamaged for it in HEADS)
    for name, value, error in OF_HEAD:
        assert read_lines(json.dumps({**FIRST, name: value}), *lines) is error


def test_a_digest_is_of_all_effects() -> None:
    for count in range(3):
        effects = (Reply(1, Unknown()),) * count
        assert digest_of(effects) == blake2b(encode(effects), digest_size=8).hexdigest()
