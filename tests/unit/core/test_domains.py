"""Goal: what is wrong with a request is reported first, by value and range, in the order of M11."""

from typing import Any

import pytest
from msgspec import structs

from tests.worlds import SCOPE, Pair
from umi_core.config import Config
from umi_core.errors import BadScope, Rejected
from umi_core.limits import I64_MAX
from umi_core.memory import Memory
from umi_core.messages.effects import Refused, Reply
from umi_core.messages.requests import (
    Blocks,
    Count,
    CreateSession,
    Forget,
    GetBlock,
    GetEntity,
    LoadSession,
    Rebalance,
    Recall,
    Remember,
    RemoveBlock,
    Render,
    Request,
    SaveSession,
    SetBlock,
    SetImportance,
    bad_request,
)
from umi_core.values import Scope, Turn

LONG = "x" * 129
LONE = "\ud800"
TEXT_RANGE = "is not allowed, expected text without lone surrogates"
ID_RANGE = "is not allowed, expected text of 1 to 128 characters"
KEY_RANGE = "is not allowed, expected 1 to 256 bytes of text"
TIME_RANGE = "is not allowed, expected a whole number from 0 or none"
META_RANGE = "is not allowed, expected at most 100 pairs of texts of at most 256 bytes, keys unique"
SCOPE_RANGE = "is not allowed, expected 1 to 128 bytes without control characters"
FLAG_RANGE = "is not allowed, expected true or false"
IMPORTANCE = "importance out of range: {} ppm, allowed 0 to 1000000"
TYPES_RANGE = "is not allowed, expected none, or entity types: self person organization project"
TURNS_RANGE = "is not allowed, expected turns with role user, assistant, system, tool and text"
TUPLE_RANGE = "is not allowed, expected a tuple of agents"
PAIR_RANGE = "is not allowed, expected a pair (start_ms, end_ms)"
BLOCK_RANGE = "is not allowed, expected text without control characters"
LABEL_RANGE = "is not allowed, expected one line of text without control characters"
SCORE_RANGE = "is not allowed, expected 0 to 1000000"

WHOLE = Remember(
    1, "Alice likes tea", False, False, False, 1_000_000, 0, (("k", "v"), ("l", "v")), "res_1", "k" * 256
)  # fmt: skip
SEARCH = Recall(
    1, "tea", 100, True, (5, 5), ("person", "task"), (Turn("tool", ""), Turn("user", "hi")), False, 1_000_000
)  # fmt: skip


def describe_error(request: Request) -> str | None:
    error = bad_request(request)
    return None if error is None else f"{type(error).__name__}: {error}"


SOUND: list[Request] = [
    WHOLE, SEARCH, Remember(1, "x"), Recall(1, "x"), Rebalance(1),
    structs.replace(WHOLE, text="日" * 33_333), structs.replace(SEARCH, time_range=(None, None)),
    structs.replace(WHOLE, metadata=tuple((str(n), "v" * 256) for n in range(100))),
    Forget(1, "e"), Forget(1, "x" * 128, "k"), GetEntity(1, "e"),
    Count(1), Count(1, ("note",)),
    CreateSession(1), CreateSession(1, ("a" * 128,)), SaveSession(1, ("a", "b")), LoadSession(1, "s"),
    SetBlock(1, "human", ""), SetBlock(1, "human", "x" * 16_384, "", 0), SetImportance(1, "goals", 0),
    RemoveBlock(1, "goals", "x"),
]  # fmt: skip


@pytest.mark.parametrize("request_", SOUND, ids=lambda request: type(request).__name__)
def test_what_is_within_its_bounds_is_admitted(request_: Request) -> None:
    assert describe_error(request_) is None


def change(request: Request, **fields: Any) -> Request:
    return structs.replace(request, **fields)  # whatever a caller may send


REFUSED: list[tuple[Request, str]] = [
    (change(WHOLE, text=5), f"BadText: text: 5 {TEXT_RANGE}"),
    (change(WHOLE, text=LONE), f"BadText: text: \\ud800 {TEXT_RANGE}"),
    (change(WHOLE, text=" \n"), "EmptyText: text is empty"),
    (change(WHOLE, text="日" * 33_334), "TextTooLong: text too long: 100002 bytes exceeds max 100000"),
    (change(WHOLE, text="x" * 100_001), "TextTooLong: text too long: 100001 bytes exceeds max 100000"),
    (change(WHOLE, extract=1), f"BadOption: extract: 1 {FLAG_RANGE}"),
    (change(WHOLE, evolve=0), f"BadOption: evolve: 0 {FLAG_RANGE}"),
    (change(WHOLE, embed=None), f"BadOption: embed: None {FLAG_RANGE}"),
    (change(WHOLE, importance_ppm=1_000_001), f"BadImportance: {IMPORTANCE.format(1_000_001)}"),
    (change(WHOLE, importance_ppm=-1), f"BadImportance: {IMPORTANCE.format(-1)}"),
    (change(WHOLE, importance_ppm=True), f"BadImportance: {IMPORTANCE.format(True)}"),
    (change(WHOLE, event_time_ms=-1), f"BadTime: event_time_ms: -1 {TIME_RANGE}"),
    (change(WHOLE, event_time_ms=I64_MAX + 1), f"BadTime: event_time_ms: {I64_MAX + 1} {TIME_RANGE}"),
    (change(WHOLE, metadata=[]), f"BadMetadata: metadata: [] {META_RANGE}"),
    (change(WHOLE, metadata=(("k",),)), f"BadMetadata: metadata: (('k',),) {META_RANGE}"),
    (change(WHOLE, metadata=("kv",)), f"BadMetadata: metadata: ('kv',) {META_RANGE}"),
    (change(WHOLE, metadata=(("k", 1),)), f"BadMetadata: metadata: (('k', 1),) {META_RANGE}"),
    (
        change(WHOLE, metadata=(("k", "a"), ("k", "b"))),
        f"BadMetadata: metadata: (('k', 'a'), ('k', 'b')) {META_RANGE}",
    ),
    (change(WHOLE, source=""), f"BadId: source:  {ID_RANGE}"),
    (change(WHOLE, request_key=""), f"BadKey: request_key:  {KEY_RANGE}"),
    (change(WHOLE, request_key=5), f"BadKey: request_key: 5 {KEY_RANGE}"),
    (change(WHOLE, request_key="日" * 86), f"BadKey: request_key: {'日' * 72}... {KEY_RANGE}"),
    (change(SEARCH, query=None), f"BadText: query: None {TEXT_RANGE}"),
    (change(SEARCH, query=""), "EmptyQuery: query is empty"),
    (change(SEARCH, query="x" * 10_001), "QueryTooLong: query too long: 10001 bytes exceeds max 10000"),
    (change(SEARCH, limit=0), "BadLimit: limit out of range: 0, allowed 1 to 100"),
    (change(SEARCH, limit=101), "BadLimit: limit out of range: 101, allowed 1 to 100"),
    (change(SEARCH, limit=True), "BadLimit: limit out of range: True, allowed 1 to 100"),
    (change(SEARCH, deep=1), f"BadOption: deep: 1 {FLAG_RANGE}"),
    (change(SEARCH, time_range=5), f"BadTime: time_range: 5 {PAIR_RANGE}"),
    (change(SEARCH, time_range=(1,)), f"BadTime: time_range: (1,) {PAIR_RANGE}"),
    (change(SEARCH, time_range=("1", 2)), f"BadTime: start_ms: 1 {TIME_RANGE}"),
    (change(SEARCH, time_range=(1, -2)), f"BadTime: end_ms: -2 {TIME_RANGE}"),
    (change(SEARCH, time_range=(5, 3)), "BadTimeRange: time range: start 5 after end 3"),
    (change(SEARCH, types=()), f"BadType: types: () {TYPES_RANGE}"),
    (change(SEARCH, types=("person", "city")), f"BadType: types: ('person', 'city') {TYPES_RANGE}"),
    (change(SEARCH, types=["person"]), f"BadType: types: ['person'] {TYPES_RANGE}"),
    (change(SEARCH, turns=None), f"BadTurn: turns: None {TURNS_RANGE}"),
    (change(SEARCH, turns=("hi",)), f"BadTurn: turns: ('hi',) {TURNS_RANGE}"),
    (
        change(SEARCH, turns=(Turn("bot", "hi"),)),
        f"BadTurn: turns: (Turn(role='bot', text='hi'),) {TURNS_RANGE}",
    ),
    (
        change(SEARCH, turns=(Turn("user", LONE),)),
        f"BadTurn: turns: (Turn(role='user', text='\\ud800'),) {TURNS_RANGE}",
    ),
    (change(SEARCH, resolve=None), f"BadOption: resolve: None {FLAG_RANGE}"),
    (change(SEARCH, min_score_ppm=1_000_001), f"BadScore: min_score_ppm: 1000001 {SCORE_RANGE}"),
    (Forget(1, LONG), f"BadId: entity_id: {'x' * 72}... {ID_RANGE}"),
    (change(Forget(1, "e"), request_key=b"k"), f"BadKey: request_key: b'k' {KEY_RANGE}"),
    (change(GetEntity(1, "e"), entity_id=7), f"BadId: entity_id: 7 {ID_RANGE}"),
    (Count(1, ()), f"BadType: types: () {TYPES_RANGE}"),
    (change(CreateSession(1), members="a"), f"BadScope: members: a {TUPLE_RANGE}"),
    (CreateSession(1, ("a", "")), f"BadScope: member:  {SCOPE_RANGE}"),
    (SaveSession(1, ("a\n",)), f"BadScope: member: a\\n {SCOPE_RANGE}"),
    (LoadSession(1, ""), f"BadId: session_id:  {ID_RANGE}"),
    (SetBlock(1, "core", "x"), "BadKind: unknown block kind: core"),
    (SetBlock(1, "human", "\x00"), f"BadText: text: \\x00 {BLOCK_RANGE}"),
    (SetBlock(1, "human", "x", "y" * 65), "LabelTooLong: label too long: 65 bytes exceeds max 64"),
    (SetBlock(1, "human", "x" * 16_385), "BlockTooLarge: block too large: 16385 bytes exceeds max 16384"),
    (SetBlock(1, "human", "x", "", -1), f"BadImportance: {IMPORTANCE.format(-1)}"),
    (SetImportance(1, "core", 5), "BadKind: unknown block kind: core"),
    (SetImportance(1, "goals", 5, "\n\x01"), f"BadText: label: \\n\\x01 {LABEL_RANGE}"),
    (SetImportance(1, "goals", 1_000_001), f"BadImportance: {IMPORTANCE.format(1_000_001)}"),
    (RemoveBlock(1, "core"), "BadKind: unknown block kind: core"),
    (change(RemoveBlock(1, "goals"), label=5), f"BadText: label: 5 {LABEL_RANGE}"),
]  # fmt: skip


@pytest.mark.parametrize(("request_", "message"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_is_out_of_bounds_is_refused_with_value_and_range(request_: Request, message: str) -> None:
    full_message = describe_error(request_) or ""
    assert full_message[: len(message)] == message
    assert len(full_message) == len(message) or TYPES_RANGE in message  # a message shows so much and no more


ALL_WRONG: list[tuple[Request, dict[str, list[Any]], str]] = [
    (
        change(
            WHOLE, text=5, extract=5, evolve=5, embed=5, importance_ppm=-1, event_time_ms=-1, metadata=5,
            source=5, request_key=5, speaker=5,
        ),
        {
            "text": ["", "x" * 100_001, "x"], "extract": [True], "evolve": [True], "embed": [True],
            "importance_ppm": [None], "event_time_ms": [None], "metadata": [()], "source": [None],
            "request_key": [None], "speaker": ["", " \n", "A\0b", "x" * 257, " Ann "],
        },
        "BadText EmptyText TextTooLong BadOption BadOption BadOption BadImportance BadTime BadMetadata BadId "
        "BadKey BadOption BadOption BadOption BadOption BadOption",
    ),
    (
        change(SEARCH, query=5, limit="5", deep="5", time_range="5", types="5", turns="5", resolve="5",
               min_score_ppm="5"),
        {
            "query": ["", "x" * 10_001, "x"], "limit": [None], "deep": [None],
            "time_range": [(2, 1), None], "types": [None], "turns": [()], "resolve": [True],
            "min_score_ppm": [None],
        },
        "BadText EmptyQuery QueryTooLong BadLimit BadOption BadTime BadTimeRange BadType BadTurn BadOption "
        "BadScore",
    ),
    (Forget(1, "", ""), {"entity_id": ["e"], "request_key": [None]}, "BadId BadKey"),
    (SetImportance(1, "core", -1, "\x01"), {"kind": ["goals"], "importance_ppm": [5], "label": [""]},
     "BadKind BadImportance BadText"),
]  # fmt: skip


@pytest.mark.parametrize(("request_", "mends", "expected"), ALL_WRONG, ids=lambda value: type(value).__name__)
def test_the_first_of_several_errors_in_the_order_of_the_rules_is_reported(
    request_: Request, mends: dict[str, list[Any]], expected: str
) -> None:
    found = []
    for name, value in ((name, value) for name, values in mends.items() for value in values):
        found.append((describe_error(request_) or "sound").split(":")[0])
        request_ = change(request_, **{name: value})
    assert [error for error in found if error != "sound"] == expected.split()
    assert describe_error(request_) is None


# Through the door.


def first_reply(request: Request) -> Reply:
    """What a recovered memory answers in the step that brings the request."""
    pair = Pair().run()
    assert pair.step(request) == []
    return pair.replies[request.op_id]


def test_a_refusal_comes_in_the_step_that_asks_and_changes_nothing() -> None:
    pair = Pair().run()
    before = pair.memory.digest()
    for request, message in REFUSED:
        (reply,) = pair.memory.step(0, request)
        assert isinstance(reply, Reply)
        assert isinstance(reply.outcome, Refused)
        assert str(reply.outcome.error).startswith(message.partition(": ")[2])
    assert pair.memory.digest() == before


@pytest.mark.parametrize("op_id", [None, True, 1.5, LONE, "x" * 129, I64_MAX + 1])
def test_a_label_is_a_number_or_a_short_text(op_id: Any) -> None:
    (reply,) = Pair().run().memory.step(0, Count(op_id))
    assert isinstance(reply, Reply)
    assert "op_id" in str(reply.outcome)


def test_a_label_is_given_back_as_it_came_and_never_compared() -> None:
    pair = Pair().run()
    asked = [*pair.memory.step(0, Count("日" * 42)), *pair.memory.step(0, Count("日" * 42))]
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (GetBlock(1, "core"), "unknown block kind: core"),
        (Render(1, "html"), "form: html is not allowed, expected xml or markdown"),
    ],
)
def test_reads_of_core_refuse_at_once(request_: Request, message: str) -> None:
    outcome = first_reply(request_).outcome
    assert isinstance(outcome, Refused)
    assert str(outcome.error) == message
    waiting = Memory(SCOPE)
    assert waiting.step(0, request_)[-1] == Reply(1, outcome)
    assert waiting.step(0, Blocks(2)) == ()


@pytest.mark.parametrize(
    ("scope", "name"),
    [
        (Scope("", "a"), "user"),
        (Scope("u", LONG), "agent"),
        (Scope("u\x7f", "a"), "user"),
        (Scope("u", LONE), "agent"),
        (Scope(None, "a"), "user"),  # type: ignore[arg-type]  # None is no wildcard
        (Scope(5, "a"), "user"),  # type: ignore[arg-type]  # nor is a number a name
    ],
)
def test_a_memory_has_a_whole_scope_or_is_not_made(scope: Scope, name: str) -> None:
    with pytest.raises(Rejected) as caught:
        Memory(scope)
    (error,) = caught.value.errors
    assert isinstance(error, BadScope)
    assert error.option == name


def test_a_scope_is_compared_byte_for_byte() -> None:
    assert Memory(Scope("Zoe\u0308", "a"), Config()).state.scope != Memory(Scope("Zoë", "a")).state.scope
