"""The working tier as a dict and a deadline per key: simpler than the machine, and told nothing by it.

A twin answers from the rules alone: after `Set("k", b"1", ttl_ms=10)` at 100 a `Get("k")` answers `b"1"` up
to 109, and nothing from 110 on.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

import attrs

from umi_core.config import Config
from umi_core.declared import complete
from umi_core.invariants.limits import (
    I64_MAX,
    I64_MIN,
    TTL_MS_MAX,
    WORKING_KEY_BYTES_MAX,
    WORKING_VALUE_BYTES_MAX,
)
from umi_core.messages import requests

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

    def loaded_from(self, saved: object, version: int) -> "Twin":
        """This tier, if the version that was loaded is that save."""
        return attrs.evolve(self, version=version, origins=(saved,))

    def put_in_place_of(self, old: "Twin") -> "Twin":
        """This session, opened where another one was; what has expired there stays counted."""
        return attrs.evolve(self.copy(), expired=old.expired, place=old.place + 1)

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
            return "EntryTooLarge", (len(value), WORKING_VALUE_BYTES_MAX)
        old = self.entries.get(key)
        more = len(value) - len(old[0]) if old else len(value) + len(key.encode())
        used, most = self.bytes_used(), self.config.working_bytes_max
        if used + more > most:
            return "WorkingFull", (used, most, len(key.encode()) + len(value))
        if old is None and len(self.entries) >= self.config.working_entry_count_max:
            return "TooManyEntries", (len(self.entries), self.config.working_entry_count_max)
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
    if type(request.value) is not bytes:
        return "BadOption", None
    ttl_ms = twin.config.working_ttl_ms_default if request.ttl_ms is None else request.ttl_ms
    if not is_whole(ttl_ms, 1, TTL_MS_MAX):
        return "BadTtl", None
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
        return "Overflow", (int(text), request.delta)
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


RULES: Final[Mapping[type, Callable[..., Answered]]] = complete("answer of the twin", requests.WORKING, {
    requests.Set: on_set, requests.Get: on_get, requests.Exists: on_exists, requests.Delete: on_delete,
    requests.Incr: on_incr, requests.Append: on_append,
    requests.Touch: on_touch, requests.Sweep: on_sweep, requests.Clear: on_clear,
    requests.Len: on_len, requests.Bytes: on_bytes,
}, "umi_sim/judge/oracle/twin.py")  # fmt: skip
