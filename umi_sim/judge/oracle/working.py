"""The working tier as a dict and a deadline per key: simpler than the machine, and told nothing by it.

Law 1. A twin answers from the rules alone.
Law 2. Where a saved session may be one of several, there is a twin for each; a reply must agree with at least
       one, and the others are dropped.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

import attrs

from umi_core.config import Config
from umi_core.invariants.broken import demand
from umi_core.limits import I64_MAX, I64_MIN, TTL_MS_MAX, WORKING_KEY_BYTES_MAX, WORKING_VALUE_BYTES_MAX
from umi_core.messages import requests
from umi_core.messages.effects import Done, Outcome, Refused

Answered = tuple[str, object]
SURROGATE: Final = re.compile("[\ud800-\udfff]")
NUMBER: Final = re.compile(rb"[+-]?[0-9]{1,20}")
DONE: Final = "done"
ANY_TEXT: Final = object()


@attrs.define
class Twin:
    """One possible working tier. `dead` keeps the last deadline of expired keys, to name what went wrong.

    `version` is the one of the session that it comes from, or that was saved of it last; `place` counts how
    often a session was put in place. `origins` are the saves that it may come from.
    """

    config: Config
    entries: dict[str, tuple[bytes, int]] = attrs.field(factory=dict)
    expired: int = 0
    session_id: str | None = None
    started_ms: int | None = None
    interactions: int = 0
    last_input: str | None = None
    last_query: str | None = None
    version: int = 0
    place: int = 0
    dead: dict[str, int] = attrs.field(factory=dict)
    origins: tuple[object, ...] = attrs.field(default=(), eq=False, repr=False)

    def copy(self) -> "Twin":
        return attrs.evolve(self, entries=dict(self.entries), dead=dict(self.dead))

    def bytes_used(self) -> int:
        return sum([len(key.encode()) + len(value) for key, (value, _) in self.entries.items()])

    def expire(self, now_ms: int) -> None:
        for key in [key for key, (_, expires_ms) in self.entries.items() if expires_ms <= now_ms]:
            self.dead[key] = self.entries.pop(key)[1]
            self.expired += 1

    def answer(self, request: requests.WorkingRequest, now_ms: int) -> Answered:
        self.expire(now_ms)
        return RULES[type(request)](self, request, now_ms)

    def put(self, key: str, value: bytes, expires_ms: int, result: object = None) -> Answered:
        if len(value) > WORKING_VALUE_BYTES_MAX:
            return "EntryTooLarge", None
        old = self.entries.get(key)
        more = len(value) - len(old[0]) if old else len(value) + len(key.encode())
        if self.bytes_used() + more > self.config.working_bytes_max:
            return "WorkingFull", None
        if old is None and len(self.entries) >= self.config.working_entry_count_max:
            return "TooManyEntries", None
        self.entries[key] = (value, expires_ms)
        return DONE, result

    def renewed(self, key: str, now_ms: int) -> int:
        old_ms = self.entries[key][1] if key in self.entries else 0
        return max(old_ms, now_ms + self.config.working_ttl_ms_default)

    def look(self, key: str) -> object:
        if key in self.entries:
            return self.entries[key][0]
        return self.reserved(key) if self.config.auto_populate else None

    def reserved(self, key: str) -> object:
        shown: dict[str, object] = {
            "__session_id": self.session_id, "__session_start_ms": self.started_ms,
            "__interaction_count": self.interactions, "__last_input": self.last_input,
            "__last_query": self.last_query,
        }  # fmt: skip
        if key == "__last_entities":
            return ANY_TEXT if self.last_input is not None else None
        value = shown.get(key)
        return None if value is None else str(value).encode()


def bad_key(key: object, is_write: bool) -> str | None:
    if not isinstance(key, str) or SURROGATE.search(key):
        return "BadText"
    if is_write and key.startswith("__"):
        return "ReservedKey"
    return "KeyTooLong" if len(key.encode()) > WORKING_KEY_BYTES_MAX else None


def is_whole(value: object, low: int, high: int) -> bool:
    return type(value) is int and low <= value <= high


def on_set(twin: Twin, request: requests.Set, now_ms: int) -> Answered:
    if problem := bad_key(request.key, True):
        return problem, None
    ttl_ms = twin.config.working_ttl_ms_default if request.ttl_ms is None else request.ttl_ms
    if not is_whole(ttl_ms, 1, TTL_MS_MAX):
        return "BadTtl", None
    if type(request.value) is not bytes:
        return "BadOption", None
    return twin.put(request.key, request.value, now_ms + ttl_ms)


def on_get(twin: Twin, request: requests.Get, now_ms: int) -> Answered:
    problem = bad_key(request.key, False)
    return (problem, None) if problem else (DONE, twin.look(request.key))


def on_exists(twin: Twin, request: requests.Exists, now_ms: int) -> Answered:
    problem = bad_key(request.key, False)
    return (problem, None) if problem else (DONE, twin.look(request.key) is not None)


def on_delete(twin: Twin, request: requests.Delete, now_ms: int) -> Answered:
    problem = bad_key(request.key, True)
    return (problem, None) if problem else (DONE, twin.entries.pop(request.key, None) is not None)


def on_incr(twin: Twin, request: requests.Incr, now_ms: int) -> Answered:
    if problem := bad_key(request.key, True):
        return problem, None
    if not is_whole(request.delta, I64_MIN, I64_MAX):
        return "BadDelta", None
    text = twin.entries[request.key][0] if request.key in twin.entries else b"0"
    if not NUMBER.fullmatch(text) or len(text) > 20 or not I64_MIN <= int(text) <= I64_MAX:
        return "TypeMismatch", None
    number = int(text) + request.delta
    if not I64_MIN <= number <= I64_MAX:
        return "Overflow", None
    return twin.put(request.key, str(number).encode(), twin.renewed(request.key, now_ms), number)


def on_append(twin: Twin, request: requests.Append, now_ms: int) -> Answered:
    if problem := bad_key(request.key, True):
        return problem, None
    if type(request.value) is not bytes:
        return "BadOption", None
    old = twin.entries[request.key][0] if request.key in twin.entries else b""
    return twin.put(request.key, old + request.value, twin.renewed(request.key, now_ms))


def on_touch(twin: Twin, request: requests.Touch, now_ms: int) -> Answered:
    if problem := bad_key(request.key, True):
        return problem, None
    if request.key not in twin.entries:
        return "KeyNotFound", None
    twin.entries[request.key] = (twin.entries[request.key][0], twin.renewed(request.key, now_ms))
    return DONE, None


def on_sweep(twin: Twin, request: requests.Sweep, now_ms: int) -> Answered:
    expired, twin.expired = twin.expired, 0
    return DONE, expired


def on_clear(twin: Twin, request: requests.Clear, now_ms: int) -> Answered:
    count = len(twin.entries)
    twin.entries.clear()
    return DONE, count


def on_len(twin: Twin, request: requests.Len, now_ms: int) -> Answered:
    return DONE, len(twin.entries)


def on_bytes(twin: Twin, request: requests.Bytes, now_ms: int) -> Answered:
    return DONE, twin.bytes_used()


RULES: Final[Mapping[type, Callable[..., Answered]]] = {
    requests.Set: on_set, requests.Get: on_get, requests.Exists: on_exists, requests.Delete: on_delete,
    requests.Incr: on_incr, requests.Append: on_append,
    requests.Touch: on_touch, requests.Sweep: on_sweep, requests.Clear: on_clear,
    requests.Len: on_len, requests.Bytes: on_bytes,
}  # fmt: skip


# Judging.


def as_answered(outcome: Outcome) -> Answered:
    return (
        (type(outcome.error).__name__, None)
        if isinstance(outcome, Refused)
        else (type(outcome).__name__, None)
    )


def agrees(expected: Answered, got: Answered) -> bool:
    return expected == got or (
        (expected[1] is ANY_TEXT and isinstance(got[1], bytes)) and expected[0] == got[0]
    )


def judge(
    twins: list[Twin], request: requests.WorkingRequest, outcome: Outcome, now_ms: int, reading_ms: int
) -> list[Twin]:
    """The twins that explain the reply. Raises Broken, naming the rule that the reply most likely breaks."""
    got = (DONE, outcome.value) if isinstance(outcome, Done) else as_answered(outcome)
    expected = [twin.answer(request, now_ms) for twin in twins]
    if len(expected) == 1 and expected[0] == got:
        demand(True, rule_at_stake(twins[0], request, got, now_ms, reading_ms), "")
        return twins
    kept = [twin for twin, answer in zip(twins, expected, strict=True) if agrees(answer, got)]
    if kept:
        demand(True, rule_at_stake(kept[0], request, got, now_ms, reading_ms), "")
        return kept
    rule = broken_rule(twins[0], request, expected[0], got, now_ms, reading_ms)
    key = getattr(request, "key", None)
    what = type(request).__name__.lower() + ("" if key is None else f" {key!r}")
    wanted, given = f"{what}: {told(expected[0])}", f"{what}: {told(got)}"
    demand(False, rule, f"{what} answered {told(got)}", wanted, given)
    return []


def told(answer: Answered) -> str:
    return repr(answer[1]) if answer[0] == DONE else answer[0]


LOOKS: Final = requests.Get | requests.Exists | requests.Delete
PUTS: Final = requests.Set | requests.Incr | requests.Append


def rule_of_death(died_ms: int, now_ms: int, reading_ms: int) -> str:
    """The rule that is broken by whoever shows what died then."""
    if died_ms == now_ms:
        return "ttl-boundary"
    return "time-never-revives" if reading_ms < now_ms else "ttl-contract"


def rule_at_stake(
    twin: Twin, request: requests.WorkingRequest, got: Answered, now_ms: int, reading_ms: int
) -> str:
    """What another reply than this right one would have broken."""
    key = getattr(request, "key", "")
    if not isinstance(key, str):
        return "reference-agrees"
    if key.startswith("__"):
        return "session-keys-true"
    if got[0] == "BadTtl":
        return "ttl-range"
    if isinstance(request, PUTS) and got[0] == DONE:
        return "no-spurious-refusal"
    if isinstance(request, LOOKS) and key in twin.dead and key not in twin.entries:
        return rule_of_death(twin.dead[key], now_ms, reading_ms)
    return "ttl-contract" if isinstance(request, LOOKS) and key in twin.entries else "reference-agrees"


def broken_rule(
    twin: Twin,
    request: requests.WorkingRequest,
    expected: Answered,
    got: Answered,
    now_ms: int,
    reading_ms: int,
) -> str:
    key = getattr(request, "key", "")
    if isinstance(key, str) and key.startswith("__"):
        return "session-keys-true"
    if "BadTtl" in (expected[0], got[0]):
        return "ttl-range"
    if got[0] in ("WorkingFull", "TooManyEntries"):
        return "no-spurious-refusal"
    is_shown = got[0] == DONE and got[1] not in (None, False)
    if key in twin.dead and is_shown and isinstance(request, LOOKS):
        return rule_of_death(twin.dead[key], now_ms, reading_ms)
    if (
        expected[0] == DONE
        and isinstance(request, requests.Get | requests.Exists)
        and got[1] in (None, False)
    ):
        return "ttl-contract"
    return "reference-agrees"
