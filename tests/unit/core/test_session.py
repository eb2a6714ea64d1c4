"""Goal: a session shows what happened in it, and its snapshot comes back whole or is refused (M5)."""

import json
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tests.spec_tables import maybe, rows, whole, words
from tests.unit.core.sound import check_working
from umi_core.config import Config
from umi_core.errors import Error, SnapshotDamaged, SnapshotDoesNotFit, SnapshotTooBig, SnapshotVersion
from umi_core.limits import I64_MAX, SNAPSHOT_BYTES_MAX, TTL_MS_MAX
from umi_core.messages.requests import Set
from umi_core.tiers.session import (
    Loaded,
    SessionInfo,
    decode,
    encode,
    record_recall,
    record_remember,
    seal_body,
)
from umi_core.tiers.working import WorkingTier, answer

read_reserved = SessionInfo.read_reserved

NOTHING = SessionInfo()
CONFIG = Config()
GOLDEN = bytes.fromhex("".join(words("memory", "snapshot")))
TALK = SessionInfo(
    session_id="ses_d3363bafb44a607274f98c29",
    started_ms=1_000,
    interaction_count=2,
    last_input="Alice works at Acme",
    last_query="where does Alice work?",
    names=("Alice", "Zoë"),
    version=7,
)
TALK_GOLDEN = bytes.fromhex(  # written byte by byte, not by msgpack
    "94ab756d692e73657373696f6e01c47293ce000f42409293a161c401310193a2c3a9c40200ffcd138896bc7365735f643333363362"
    "616662343461363037323734663938633239cd03e802b3416c69636520776f726b732061742041636d65b6776865726520646f6573"
    "20416c69636520776f726b3f92a5416c696365a45a6fc3abc4107accee3d5fa57181fb7c3ba5a5da6238"
)


def tier_of(entries: dict[str, tuple[bytes, int]]) -> WorkingTier:
    return WorkingTier(entries, sum(len(key.encode()) + len(value) for key, (value, _) in entries.items()))


def loaded(data: bytes, now_ms: int, config: Config = CONFIG) -> Loaded:
    outcome = decode(data, now_ms, config)
    assert isinstance(outcome, Loaded), str(outcome)
    check_working(outcome.tier, now_ms, config)
    return outcome


def refused(data: bytes, now_ms: int = 1_000, config: Config = CONFIG) -> Error:
    outcome = decode(data, now_ms, config)
    assert isinstance(outcome, Error), outcome
    assert str(outcome)
    return outcome


# Bytes.


def test_the_golden_snapshot_has_these_62_bytes() -> None:
    tier = tier_of({"b": (b"2", 6_000), "a": (b"1", 1_100)})
    assert encode(tier, NOTHING, 1_000) == GOLDEN
    assert len(GOLDEN) == 62
    assert loaded(GOLDEN, 1_000) == Loaded(tier, NOTHING, 0)


def test_the_dead_the_expiry_count_and_the_row_version_are_not_saved() -> None:
    alive = {"é": (b"\x00\xff", 1_005_000), "a": (b"1", 1_000_001)}
    tier = tier_of(alive | {"dead": (b"x", 1_000_000)})
    tier.expired_count = 3
    assert encode(tier, TALK, 1_000_000) == TALK_GOLDEN
    got = loaded(TALK_GOLDEN, 1_000_000)
    assert got.tier == tier_of(alive)
    assert got.info.version == 0
    assert (got.info.names, got.info.last_query) == (TALK.names, TALK.last_query)


def test_a_session_handed_over_reads_the_same_and_saves_the_same() -> None:
    first = loaded(TALK_GOLDEN, 1_000_000)
    second = loaded(encode(first.tier, first.info, 1_000_000), 1_000_000)
    assert second == first
    later = record_remember(second.info, "Alice left Acme", ("Alice",), "fct_1")
    third = loaded(encode(second.tier, later, 1_002_000), 5)
    assert (third.info, third.expired_at_rest) == (structs.replace(later, last_fact=None), 0)
    assert third.tier.entries == {"é": (b"\x00\xff", 5 + 3_000)}


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
KEYS = TEXTS.filter(lambda key: not key.startswith("__"))
TTLS = st.sampled_from([1, 2, 127, 128, 255, 256, 65_536, TTL_MS_MAX]) | st.integers(1, TTL_MS_MAX)
ENTRIES = st.dictionaries(KEYS, st.tuples(st.binary(max_size=300), TTLS), max_size=8)
TIMES = st.sampled_from([0, 1, 127, 128, 10**6, 2**32, I64_MAX]) | st.integers(0, 2**41)
INFOS = st.builds(
    SessionInfo,
    session_id=st.none() | st.just(TALK.session_id),
    started_ms=st.none() | TIMES,
    interaction_count=st.integers(0, 10**6),
    last_input=st.none() | TEXTS,
    last_query=st.none() | TEXTS,
    names=st.lists(TEXTS, max_size=5).map(tuple),
)


def tier_at(entries: dict[str, tuple[bytes, int]], now_ms: int) -> WorkingTier:
    return tier_of({key: (value, now_ms + ttl_ms) for key, (value, ttl_ms) in entries.items()})


@pytest.mark.slow
@pytest.mark.uncounted
@given(ENTRIES, INFOS, TIMES)
def test_what_was_saved_comes_back_at_the_same_instant(entries: Any, info: SessionInfo, now_ms: int) -> None:
    tier = tier_at(entries, now_ms)
    data = encode(tier, info, now_ms)
    assert loaded(data, now_ms) == Loaded(tier, info, 0)
    assert encode(tier, info, now_ms) == data


@pytest.mark.slow
@pytest.mark.uncounted
@given(ENTRIES, INFOS, st.randoms(use_true_random=False))
def test_the_order_of_arrival_leaves_no_trace(entries: Any, info: SessionInfo, random: Any) -> None:
    shuffled = list(entries.items())
    random.shuffle(shuffled)
    assert encode(tier_at(dict(shuffled), 5), info, 5) == encode(tier_at(entries, 5), info, 5)


# At rest.


@pytest.mark.parametrize(
    ("now_ms", "expires_ms"),
    [(whole(row["now at load"]), maybe(row["expires"])) for row in rows("memory", "at_rest")],
)
def test_time_to_live_runs_on_at_rest(now_ms: int, expires_ms: int | None) -> None:
    data = encode(tier_of({"k": (b"v", 1_005_000)}), NOTHING, 1_000_000)
    got = loaded(data, now_ms)
    assert got.tier.entries == ({} if expires_ms is None else {"k": (b"v", expires_ms)})
    assert got.expired_at_rest == (expires_ms is None)


@pytest.mark.slow
@pytest.mark.uncounted
@given(ENTRIES, TIMES, TIMES | st.integers(-3, 3))
def test_rest_costs_the_same_for_every_pair_of_clocks(entries: Any, saved_ms: int, now_ms: int) -> None:
    got = loaded(encode(tier_at(entries, saved_ms), NOTHING, saved_ms), now_ms)
    rest_ms = max(0, now_ms - saved_ms)
    remaining = {key: ttl_ms - rest_ms for key, (_, ttl_ms) in entries.items() if ttl_ms - rest_ms > 0}
    assert {key: expires_ms - now_ms for key, (_, expires_ms) in got.tier.entries.items()} == remaining
    assert got.expired_at_rest == len(entries) - len(remaining)


def test_a_loaded_tier_goes_on_like_any_other() -> None:
    tier = loaded(GOLDEN, 1_050).tier
    answer(tier, Set(0, "c", b"3", 10), 1_099, CONFIG, NOTHING)
    assert list(tier.entries) == ["a", "b", "c"]
    answer(tier, Set(0, "d", b"4"), 1_109, CONFIG, NOTHING)
    assert list(tier.entries) == ["b", "d"]
    assert tier.expired_count == 2


# Hostile bytes.


@pytest.mark.parametrize("data", [GOLDEN, TALK_GOLDEN], ids=["golden", "talk"])
def test_every_one_bit_change_is_refused(data: bytes) -> None:
    for bit in range(8 * len(data)):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        refused(bytes(changed))


def test_every_cut_and_every_addition_is_refused() -> None:
    for length in range(len(GOLDEN)):
        assert type(refused(GOLDEN[:length])) is SnapshotDamaged
    for byte in range(256):
        assert type(refused(GOLDEN + bytes([byte]))) is SnapshotDamaged


@given(st.binary(max_size=200) | st.binary(max_size=100).map(seal_body))
def test_any_bytes_give_a_typed_error(data: bytes) -> None:
    refused(data)


SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.binary(max_size=4) | TEXTS
)
TREES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=6) | st.dictionaries(TEXTS, inner, max_size=1)
)


@pytest.mark.slow
@pytest.mark.uncounted
@given(st.tuples(st.just(1), st.lists(st.lists(TREES, min_size=3, max_size=3)), st.lists(TREES)) | TREES)
def test_any_sealed_body_gives_a_typed_error_or_a_valid_state(body: Any) -> None:
    data = seal_body(msgpack.packb(body))
    outcome = decode(data, 1_000, CONFIG)
    if isinstance(outcome, Loaded):
        check_working(outcome.tier, 1_000, CONFIG)
        assert decode(encode(outcome.tier, outcome.info, 1_000), 1_000, CONFIG) == outcome


BLANK: list[object] = [None, None, 0, None, None, []]


def body_of(*entries: object, saved_ms: object = 1_000, info: object = BLANK) -> bytes:
    packed = msgpack.packb([saved_ms, list(entries), info], unicode_errors="surrogatepass")
    assert isinstance(packed, bytes)
    return packed


def with_field(index: int, value: object) -> bytes:
    return body_of(info=[*BLANK[:index], value, *BLANK[index + 1 :]])


SHAPE, ENTRY = "wrong shape of the body", "wrong shape of an entry"
FORBIDDEN: list[tuple[str, bytes, str]] = [
    ("no array", msgpack.packb(1), SHAPE),
    ("no info", msgpack.packb([1_000, []]), SHAPE),
    ("a field too many", body_of(info=[*BLANK, None]), SHAPE),
    ("a bool for a time", body_of(saved_ms=True), SHAPE),
    ("a float for a time", body_of(saved_ms=1_000.0), SHAPE),
    ("a map", body_of(info={}), SHAPE),
    ("a map of entries", msgpack.packb([1_000, {"a": 1}, BLANK]), SHAPE),
    ("an extension", body_of(msgpack.ExtType(5, b"abc")), SHAPE),
    ("an empty extension", body_of(msgpack.ExtType(5, b"")), ENTRY),
    ("a timestamp", body_of(saved_ms=msgpack.Timestamp(1)), SHAPE),
    ("a trailing byte", body_of() + b"\xc0", SHAPE),
    ("no UTF-8", body_of(["\ud800", b"", 1]), SHAPE),
    ("10 001 entries", body_of(*[["a", b"", 1]] * 10_001), SHAPE),
    ("a short entry", body_of(["a", b""]), ENTRY),
    ("a text for a value", body_of(["a", "", 1]), ENTRY),
    ("bytes for a key", body_of([b"a", b"", 1]), ENTRY),
    ("a bool for the rest", body_of(["a", b"", True]), ENTRY),
    ("nothing left", body_of(["a", b"", 0]), "0 ms left"),
    ("too much left", body_of(["a", b"", TTL_MS_MAX + 1]), "604800001 ms left"),
    ("a long key", body_of(["k" * 257, b"", 1]), "key too long: 257 bytes exceeds max 256"),
    ("a reserved key", body_of(["__x", b"", 1]), "reserved key: __x"),
    ("a large value", body_of(["a", b"x" * 65_537, 1]), "value of 65537 bytes"),
    ("a key twice", body_of(["a", b"", 1], ["a", b"", 1]), "keys out of order"),
    ("keys in disorder", body_of(["b", b"", 1], ["a", b"", 1]), "keys out of order"),
    ("a number for an id", with_field(0, 1), "session_id"),
    ("an empty id", with_field(0, ""), "session_id"),
    ("a foreign id", with_field(0, "sés"), "session_id"),
    ("a long id", with_field(0, "s" * 129), "session_id"),
    ("a bool for the start", with_field(1, False), "started_ms"),
    ("a bool for a count", with_field(2, True), "interaction_count"),
    ("no count", with_field(2, None), "interaction_count"),
    ("a negative count", with_field(2, -1), "interaction_count"),
    ("a long input", with_field(3, "é" * 101), "last_input"),
    ("bytes for an input", with_field(3, b""), "last_input"),
    ("a long query", with_field(4, "x" * 201), "last_query"),
    ("a number for a query", with_field(4, 0), "last_query"),
    ("a number for a name", with_field(5, [1]), "names"),
    ("a list for a name", with_field(5, [[]]), "names"),
    ("long names", with_field(5, ["x" * 4_093]), "names"),
    ("a long form", body_of().replace(b"\xcd\x03\xe8", b"\xce\x00\x00\x03\xe8"), "not in canonical form"),
    ("a long array", b"\xdc\x00\x03" + body_of()[1:], "not in canonical form"),
]


@pytest.mark.parametrize(
    ("body", "reason"), [row[1:] for row in FORBIDDEN], ids=[row[0] for row in FORBIDDEN]
)
def test_a_forbidden_body_is_refused_however_well_it_is_sealed(body: bytes, reason: str) -> None:
    assert refused(seal_body(body)) == SnapshotDamaged(reason)


def test_what_is_only_just_allowed_is_loaded() -> None:
    info = ["s" * 128, -1, 0, "é" * 100, "x" * 200, ["x" * 4_092]]
    got = loaded(seal_body(body_of(["k" * 256, b"x" * 65_536, TTL_MS_MAX], info=info)), 1_000)
    assert got.tier.entries["k" * 256][1] == 1_000 + TTL_MS_MAX
    assert loaded(seal_body(with_field(0, "s")), 1_000).info.session_id == "s"


@pytest.mark.parametrize(
    "outer",
    [
        ["umi.session", 1, body_of()],
        ["umi.session", 1, body_of(), b"", b""],
        ["umi.memory", 1, body_of(), b""],
        [b"umi.session", 1, body_of(), b""],
        ["umi.session", True, body_of(), b""],
        ["umi.session", 1.0, body_of(), b""],
        ["umi.session", "1", body_of(), b""],
        ["umi.session", 1, "body", b""],
        ["umi.session", 1, body_of(), None],
        {"umi.session": 1},
        None,
    ],
    ids=repr,
)
def test_another_shape_is_no_session_snapshot(outer: object) -> None:
    assert refused(msgpack.packb(outer)) == SnapshotDamaged("not a session snapshot")


@pytest.mark.parametrize("version", [0, 2, -1, 2**64 - 1])
def test_another_version_is_named_before_its_checksum_is_read(version: int) -> None:
    assert refused(msgpack.packb(["umi.session", version, b"", b""])) == SnapshotVersion(version)


def test_a_long_form_around_the_body_is_refused() -> None:
    assert refused(b"\xdc\x00\x04" + GOLDEN[1:]) == SnapshotDamaged("checksum differs")


def test_deep_and_bottomless_arrays_are_refused() -> None:
    for bomb in (b"\x91", b"\xdd\x00\x1f\xff\xff", b"\xdc\x27\x10", b"\xdf\xff\xff\xff\xff", b"\x81"):
        data = bomb * 20_000
        refused(data)
        refused(seal_body(data))


def test_size_is_checked_before_anything_else() -> None:
    assert refused(bytes(SNAPSHOT_BYTES_MAX + 1)) == SnapshotTooBig(
        SNAPSHOT_BYTES_MAX + 1, SNAPSHOT_BYTES_MAX
    )
    assert type(refused(bytes(SNAPSHOT_BYTES_MAX))) is SnapshotDamaged


@pytest.mark.uncounted
def test_the_fullest_tier_makes_a_snapshot_that_can_be_loaded() -> None:
    wide = {f"{number:03}": (b"x" * 65_533, TTL_MS_MAX) for number in range(16)}
    many = {f"{number:05}": (b"x" * 99, TTL_MS_MAX) for number in range(10_000)}
    for entries in (wide, many):
        assert loaded(encode(tier_of(entries), TALK, 0), 0).tier.entries == entries


@pytest.mark.parametrize(
    ("config", "now_ms", "error"),
    [
        (Config(working_bytes_max=4), 1_000, None),
        (Config(working_bytes_max=3), 1_000, SnapshotDoesNotFit(2, 4)),
        (Config(working_entry_count_max=2), 1_000, None),
        (Config(working_entry_count_max=1), 1_000, SnapshotDoesNotFit(2, 4)),
        (Config(working_entry_count_max=1, working_bytes_max=2), 1_100, None),
    ],
)
def test_only_what_is_alive_must_fit(config: Config, now_ms: int, error: Error | None) -> None:
    outcome = decode(GOLDEN, now_ms, config)
    assert outcome == error if error else isinstance(outcome, Loaded)


# Reserved keys.


def test_reserved_keys_show_what_is_known() -> None:
    shown = {
        "__session_id": b"ses_d3363bafb44a607274f98c29",
        "__session_start_ms": b"1000",
        "__interaction_count": b"2",
        "__last_input": b"Alice works at Acme",
        "__last_entities": '["Alice","Zoë"]'.encode(),
        "__last_query": b"where does Alice work?",
        "__version": None,
        "session_id": None,
    }
    assert {key: read_reserved(TALK, key) for key in shown} == shown
    known = {key: read_reserved(NOTHING, key) for key in shown if read_reserved(NOTHING, key) is not None}
    assert known == {"__interaction_count": b"0"}


def test_two_remembers_give_one_digit() -> None:
    info = record_remember(record_remember(TALK, "one", ("A",), "fct_1"), "two", (), "fct_2")
    assert read_reserved(info, "__interaction_count") == b"4"
    assert (
        read_reserved(
            record_remember(record_remember(NOTHING, "", (), "fct_1"), "", (), "fct_2"), "__interaction_count"
        )
        == b"2"
    )
    assert read_reserved(info, "__last_input") == b"two"
    assert read_reserved(info, "__last_entities") == b"[]"
    assert (info.last_query, info.session_id, info.version) == (TALK.last_query, TALK.session_id, 7)


def test_texts_are_cut_between_code_points() -> None:
    assert record_remember(NOTHING, "日" * 70, (), "fct_1").last_input == "日" * 66
    info = record_recall(TALK, "x" * 199 + "é")
    assert info.last_query == "x" * 199
    assert (info.interaction_count, info.last_input, info.names) == (2, TALK.last_input, TALK.names)


@given(st.lists(st.sampled_from(["", "a" * 256, "日" * 85, 'b"\\' * 60, "c" * 1_021])))
def test_the_names_kept_are_the_longest_prefix_that_fits(names: list[str]) -> None:
    kept = record_remember(NOTHING, "text", names, "fct_1").names
    view = read_reserved(record_remember(NOTHING, "text", names, "fct_1"), "__last_entities")
    assert view is not None
    assert json.loads(view) == list(kept) == names[: len(kept)]
    one_more = json.dumps(names[: len(kept) + 1], ensure_ascii=False, separators=(",", ":"))
    assert len(view) <= 4_096
    assert len(kept) == len(names) or len(one_more.encode()) > 4_096


def test_names_that_fill_the_limit_exactly_are_kept() -> None:
    assert record_remember(NOTHING, "", ["c" * 1_021] * 4, "fct_1").names == ("c" * 1_021,) * 3
    exact = ["c" * 1_021] * 3 + ["c" * 1_020]
    assert record_remember(NOTHING, "", exact, "fct_1").names == tuple(exact)
    view = read_reserved(record_remember(NOTHING, "", exact, "fct_1"), "__last_entities")
    assert view is not None
    assert len(view) == 4_096
