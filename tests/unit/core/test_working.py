"""Goal: the working tier does what M4 says, row by row, and raises at no caller."""

from copy import deepcopy
from typing import Any

import pytest

from tests.spec_tables import maybe, plain, read_cell, rows, whole
from tests.unit.core.sound import check_working
from umi_core import limits
from umi_core.config import Config
from umi_core.errors import BadDelta, BadOption, BadText, BadTtl
from umi_core.messages import requests
from umi_core.messages.effects import Done, Outcome, Refused
from umi_core.messages.requests import (
    WORKING,
    Append,
    Bytes,
    Clear,
    Delete,
    Exists,
    Get,
    Incr,
    Len,
    Set,
    Sweep,
    Touch,
    WorkingRequest,
)
from umi_core.tiers.session import SessionInfo
from umi_core.tiers.working import ANSWERS, WorkingTier, answer, drop_expired

SMALL = Config(working_ttl_ms_default=1_000, working_bytes_max=64, working_entry_count_max=3)
INFO = SessionInfo()
WEEK_MS = limits.TTL_MS_MAX
I64_MAX = limits.I64_MAX


def ask(tier: WorkingTier, request: WorkingRequest, now_ms: int = 0, config: Config = SMALL) -> Outcome:
    outcome = answer(tier, request, now_ms, config, INFO)
    check_working(tier, now_ms, config)
    return outcome


def result(outcome: Outcome) -> object:
    """The value if it is done, the name of the error if it is refused."""
    assert isinstance(outcome, Done | Refused)
    return outcome.value if isinstance(outcome, Done) else type(outcome.error).__name__


def message(outcome: Outcome) -> str:
    assert isinstance(outcome, Refused)
    return str(outcome.error)


def as_bytes(value: Any) -> bytes:
    """Bytes as the tables write them: text, or hex digits of what is no UTF-8."""
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) else str(value).encode()


def requested(name: str, *args: Any) -> WorkingRequest:
    if name in ("set", "append"):
        key, value, *rest = args
        args = (key, as_bytes(value), *rest)
    request = requests.REQUESTS[name](0, *args)
    assert isinstance(request, WorkingRequest)
    return request


def write_result(outcome: Outcome) -> object:
    """A result as the table writes it."""
    assert isinstance(outcome, Done | Refused)
    if isinstance(outcome, Refused):
        return {"refused": type(outcome.error).__name__}
    return outcome.value.decode() if isinstance(outcome.value, bytes) else outcome.value


def test_the_worked_life_holds_row_by_row() -> None:
    tier, seen_ms = WorkingTier(), 0
    for row in rows("memory", "working_trace"):
        seen_ms = max(seen_ms, whole(row["now"]))  # as the memory does
        asked = [requested(*request) for request in read_cell(row["requests"])]
        assert [write_result(ask(tier, request, seen_ms)) for request in asked] == read_cell(
            row["results"]
        ), row
        key, expires_ms = plain(row["key"]), maybe(row["expires"])
        assert expires_ms is None or tier.entries[key][1] == expires_ms, row
        sizes = result(ask(tier, Bytes(0), seen_ms)), result(ask(tier, Len(0), seen_ms))
        assert sizes == (whole(row["bytes"]), whole(row["entries"])), row


def test_every_request_has_its_row() -> None:
    assert set(ANSWERS) == set(WORKING)


# Time to live.


def test_set_gives_exactly_the_time_asked_for() -> None:
    tier = WorkingTier()
    for ttl_ms, expires_ms in [(WEEK_MS, 5 + WEEK_MS), (1, 6), (None, 1_005), (1_000, 1_005)]:
        ask(tier, Set(0, "k", b"v", ttl_ms), 5)
        assert tier.entries["k"] == (b"v", expires_ms)


RENEWALS: list[WorkingRequest] = [Incr(0, "k"), Append(0, "k", b"0"), Append(0, "k", b""), Touch(0, "k")]


@pytest.mark.parametrize("renewal", RENEWALS, ids=str)
@pytest.mark.parametrize(
    ("ttl_ms", "expires_ms"), [(50, 1_007), (1_000, 1_007), (1_002, 1_007), (1_003, 1_008)]
)
def test_a_renewal_gives_the_default_and_never_shortens(
    renewal: WorkingRequest, ttl_ms: int, expires_ms: int
) -> None:
    tier = WorkingTier()
    ask(tier, Set(0, "k", b"1", ttl_ms), 5)
    ask(tier, renewal, 7)
    assert tier.entries["k"][1] == expires_ms


@pytest.mark.parametrize(
    "request_", [Get(0, "k"), Exists(0, "k"), Len(0), Incr(0, "k"), Append(0, "k", b"x" * 64)], ids=str
)
def test_reads_and_refusals_move_no_deadline(request_: WorkingRequest) -> None:
    tier = WorkingTier()
    ask(tier, Set(0, "k", b"v", 50), 5)
    ask(tier, request_, 7)
    assert tier.entries == {"k": (b"v", 55)}


def test_an_entry_lives_until_the_millisecond_before_its_deadline() -> None:
    tier = WorkingTier()
    ask(tier, Set(0, "k", b"v", 10), 5)
    assert ask(tier, Get(0, "k"), 14) == Done(b"v")
    assert ask(tier, Get(0, "k"), 15) == Done(None)


def test_the_expired_never_stand_in_the_way() -> None:
    tier = WorkingTier()
    for key in "abc":
        ask(tier, Set(0, key, b"x" * 20, 1))
    assert result(ask(tier, Set(0, "d", b""))) == "TooManyEntries"
    assert result(ask(tier, Set(0, "a", b"x" * 22))) == "WorkingFull"
    assert ask(tier, Set(0, "d", b"x" * 63), 1) == Done()


def test_sweep_counts_what_any_request_dropped_and_clear_leaves_the_count() -> None:
    tier = WorkingTier()
    for key in "abc":
        ask(tier, Set(0, key, b"", 1 + ord(key) - ord("a")))
    assert ask(tier, Len(0), 1) == Done(2)
    assert ask(tier, Get(0, "x"), 2) == Done(None)
    assert ask(tier, Clear(0), 2) == Done(1)
    assert ask(tier, Sweep(0), 9) == Done(2)
    assert ask(tier, Sweep(0), 9) == Done(0)


def test_the_expiry_pass_looks_at_no_entry_before_one_can_be_due() -> None:
    tier = WorkingTier()
    for key, ttl_ms in [("a", 30), ("b", 10), ("c", 20)]:
        ask(tier, Set(0, key, b"", ttl_ms))
        assert tier.due_ms == min(expires_ms for _, expires_ms in tier.entries.values())
    drop_expired(tier, 10)
    assert (list(tier.entries), tier.due_ms) == (["a", "c"], 20)


def test_a_tier_that_knows_no_due_time_drops_as_one_that_does() -> None:
    tier = WorkingTier({"a": (b"1", 10), "b": (b"2", 11)}, used_bytes=4)
    assert ask(tier, Len(0), 10) == Done(1)
    assert tier == WorkingTier({"b": (b"2", 11)}, used_bytes=2, expired_count=1)


@pytest.mark.parametrize("renewal", [Incr(0, "k"), Append(0, "k", b"0")], ids=str)
def test_times_before_zero_are_times_too(renewal: WorkingRequest) -> None:
    tier = WorkingTier()
    ask(tier, renewal, -1_500)
    assert tier.entries["k"][1] == -500
    assert ask(WorkingTier(tier.entries, tier.used_bytes), Len(0), -500) == Done(0)


# Space.


def test_room_is_counted_in_utf8_bytes_of_key_and_value() -> None:
    tier = WorkingTier()
    assert ask(tier, Set(0, "日本", b"x" * 58)) == Done()
    assert ask(tier, Bytes(0)) == Done(64)
    assert message(ask(tier, Append(0, "日本", b"x"))) == "working memory full: 64/64 bytes, need 65"
    assert ask(tier, Delete(0, "日本")) == Done(True)
    assert ask(tier, Bytes(0)) == Done(0)


def test_overwriting_needs_no_slot_and_gives_back_the_old_bytes() -> None:
    tier = WorkingTier()
    for key in "abc":
        ask(tier, Set(0, key, b"x" * 20))
    assert ask(tier, Set(0, "a", b"y" * 21)) == Done()
    assert ask(tier, Bytes(0)) == Done(64)
    assert result(ask(tier, Incr(0, "n"))) == "WorkingFull"  # before TooManyEntries


def test_the_empty_key_and_the_empty_value_are_legal() -> None:
    tier = WorkingTier()
    assert ask(tier, Set(0, "", b"")) == Done()
    assert ask(tier, Get(0, "")) == Done(b"")
    assert (ask(tier, Bytes(0)), ask(tier, Len(0))) == (Done(0), Done(1))


def test_a_key_of_256_bytes_and_a_value_of_65536_bytes_are_legal() -> None:
    tier = WorkingTier()
    assert ask(tier, Set(0, "é" * 128, b"x" * 65_536), config=Config()) == Done()
    assert message(ask(tier, Append(0, "é" * 128, b"x"), config=Config())).startswith(
        "entry too large: 65537"
    )


# Counters.


COUNTERS = {as_bytes(read_cell(row["value"])): maybe(row["after incr"]) for row in rows("memory", "counters")}


@pytest.mark.parametrize(("value", "total"), COUNTERS.items())
def test_a_counter_is_read_by_its_grammar_and_stored_canonically(value: bytes, total: int | None) -> None:
    tier = WorkingTier()
    ask(tier, Set(0, "n", value))
    assert result(ask(tier, Incr(0, "n"))) == ("TypeMismatch" if total is None else total)
    assert ask(tier, Get(0, "n")) == Done(value if total is None else str(total).encode())


@pytest.mark.parametrize("delta", [limits.I64_MIN, -1, 0, I64_MAX])
def test_an_absent_counter_is_zero(delta: int) -> None:
    tier = WorkingTier()
    assert ask(tier, Incr(0, "n", delta)) == Done(delta)
    assert ask(tier, Get(0, "n")) == Done(str(delta).encode())


# Errors: the words, and who comes first.

LONG, SURROGATE = "k" * 257, "k\ud800"
STORED = {"a": b"1", "s": b"1x", "b": b"\xff", "w": b"9" * 40}


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (Set(0, LONG, b""), "key too long: 257 bytes exceeds max 256"),
        (Get(0, "é" * 129), "key too long: 258 bytes exceeds max 256"),
        (Set(0, "k", b"x" * 65_537), "entry too large: 65537 bytes exceeds max 65536"),
        (Set(0, "k", b"x" * 71), "working memory full: 48/64 bytes, need 72"),
        (Set(0, "k", b""), "too many entries: 4 exceeds max 4"),
        (Touch(0, "k"), "key not found: k"),
        (Set(0, "__x", b""), "reserved key: __x"),
        (Delete(0, "__session_id"), "reserved key: __session_id"),
        (Incr(0, "s"), "type mismatch: expected i64, got string: 1x"),
        (Incr(0, "b"), "type mismatch: expected i64, got non-UTF8 bytes"),
        (Incr(0, "a", I64_MAX), "overflow: 1 + 9223372036854775807 would overflow"),
        (Set(0, "k", b"", 0), "ttl out of range: 0 ms, allowed 1 to 604800000"),
        (Set(0, "k", b"", True), "ttl out of range: True ms, allowed 1 to 604800000"),
        (
            Incr(0, "a", I64_MAX + 1),
            "delta: 9223372036854775808 is not allowed, "
            "expected a whole number from -9223372036854775808 to 9223372036854775807",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_refusal_says_what_was_wrong_and_what_is_allowed(request_: WorkingRequest, words: str) -> None:
    tier, config = WorkingTier(), Config(working_bytes_max=64, working_entry_count_max=4)
    for key, value in STORED.items():
        ask(tier, Set(0, key, value), config=config)
    before = deepcopy(tier)
    assert message(ask(tier, request_, config=config)) == words
    assert tier == before


def test_a_long_value_is_cut_between_code_points_where_a_message_shows_it() -> None:
    tier = WorkingTier()
    ask(tier, Set(0, "n", "日".encode() * 300), config=Config())
    outcome = ask(tier, Incr(0, "n"), config=Config())
    assert isinstance(outcome, Refused)
    assert outcome.error.got == "string: " + "日" * 21  # type: ignore[attr-defined]  # a TypeMismatch


def wrong(value: object) -> Any:  # what a caller's types should have forbidden
    return value


ORDER: list[tuple[WorkingRequest, str]] = [
    (Set(0, "__\ud800" + LONG, wrong("v"), 0), "BadText"),
    (Set(0, "__" + LONG, wrong("v"), 0), "ReservedKey"),
    (Set(0, LONG, wrong("v"), 0), "KeyTooLong"),
    (Set(0, "k", wrong("v"), 0), "BadOption"),
    (Set(0, "k", b"x" * 65_537, 0), "BadTtl"),
    (Set(0, "k", b"x" * 65_537), "EntryTooLarge"),
    (Set(0, "k", b"x" * 65), "WorkingFull"),
    (Set(0, "k", b""), "TooManyEntries"),
    (Get(0, SURROGATE + LONG), "BadText"),
    (Exists(0, "__" + LONG), "KeyTooLong"),
    (Incr(0, LONG, wrong("1")), "KeyTooLong"),
    (Incr(0, "s", wrong(True)), "BadDelta"),
    (Incr(0, "s", I64_MAX), "TypeMismatch"),
    (Incr(0, "a", I64_MAX), "Overflow"),
    (Append(0, "__x", wrong(None)), "ReservedKey"),
    (Append(0, "s", wrong("v")), "BadOption"),
    (Append(0, "s", b"x" * 65_536), "EntryTooLarge"),
    (Append(0, "s", b"x" * 60), "WorkingFull"),
    (Append(0, "k", b""), "TooManyEntries"),
    (Touch(0, "__x"), "ReservedKey"),
    (Touch(0, LONG), "KeyTooLong"),
]


@pytest.mark.parametrize(
    ("request_", "error"), ORDER, ids=lambda value: value if isinstance(value, str) else ""
)
def test_errors_come_in_the_promised_order(request_: WorkingRequest, error: str) -> None:
    tier = WorkingTier()
    for key in "abs":
        ask(tier, Set(0, key, STORED[key]))
    assert result(ask(tier, request_)) == error


@pytest.mark.parametrize("key", [None, 1, b"k", SURROGATE, ("k",), ["k"], {}])
def test_what_is_no_text_is_refused_as_a_key_by_all(key: object) -> None:
    for request in (
        Set(0, wrong(key), b""),
        *(kind(0, wrong(key)) for kind in (Get, Exists, Delete, Incr, Touch)),
    ):
        outcome = ask(WorkingTier(), request)
        assert isinstance(outcome, Refused)
        assert isinstance(outcome.error, BadText)


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        *((Set(0, "k", wrong(value)), BadOption) for value in ("v", bytearray(b"v"), None, 1)),
        *(
            (Set(0, "k", b"", wrong(ttl)), BadTtl)
            for ttl in (0, -1, WEEK_MS + 1, True, "5", 1.5, b"", 10**4000)
        ),
        *(
            (Incr(0, "k", wrong(delta)), BadDelta)
            for delta in (True, "1", None, 1.0, I64_MAX + 1, -I64_MAX - 2)
        ),
    ],
    ids=repr,
)
def test_values_of_the_wrong_type_are_refused_and_not_raised(request_: WorkingRequest, error: type) -> None:
    tier = WorkingTier()
    outcome = ask(tier, request_)
    assert isinstance(outcome, Refused)
    assert type(outcome.error) is error
    assert str(outcome.error)
    assert tier == WorkingTier()


# Reserved keys.


def test_reserved_keys_are_read_only_and_use_neither_bytes_nor_slots() -> None:
    tier, info = WorkingTier(), SessionInfo("ses_1", 1_000, 2)
    reads: list[tuple[WorkingRequest, object]] = [
        (Get(0, "__interaction_count"), b"2"),
        (Exists(0, "__session_id"), True),
        (Exists(0, "__last_query"), False),
        (Get(0, "__unknown"), None),
        (Get(0, "__"), None),
        (Clear(0), 0),
        (Len(0), 0),
        (Bytes(0), 0),
        (Get(0, "__session_start_ms"), b"1000"),
    ]
    assert [result(answer(tier, request, 0, SMALL, info)) for request, _ in reads] == [it for _, it in reads]
    silent = Config(auto_populate=False)
    assert answer(tier, Get(0, "__session_id"), 0, silent, info) == Done(None)
    assert answer(tier, Exists(0, "__session_id"), 0, silent, info) == Done(False)


def test_one_underscore_is_no_reserved_key() -> None:
    assert ask(WorkingTier(), Set(0, "_x_", b"")) == Done()
