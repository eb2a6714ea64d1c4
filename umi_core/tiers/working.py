"""Working tier: keys and values with a time to live. Each request is answered in the step that brings it.

Law 1. An entry is alive if and only if now < expires_ms. Every request first drops expired entries, so they
       are never seen or counted, and never cause a refusal.
Law 2. `now_ms` never moves back: the memory passes the latest time it has seen.
Law 3. A refused request changes nothing; a value of the wrong type is refused and raises no exception.
Law 4. set gives exactly the time asked for; incr, append and touch extend to now + default and never shorten.
Law 5. used_bytes is the sum of the UTF-8 bytes of all keys and values, and stays within its limit.
Law 6. Keys that start with `__` show the session: readable, never stored.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from umi_core import errors, limits
from umi_core.config import Config
from umi_core.data import Mutable
from umi_core.declared import complete
from umi_core.messages import requests
from umi_core.messages.effects import Done, Outcome, Refused
from umi_core.text import cut, size

DONE: Final = Done()
LOOK_MS: Final = limits.I64_MIN  # an unknown due time, so that the next request computes it
TRUE: Final = Done(True)
FALSE: Final = Done(False)
SIGNS: Final = (b"+", b"-")
NUMBER_BYTES_MAX: Final = 20
SHOWN_VALUE_BYTES_MAX: Final = 64


class Info(Protocol):
    """The part of a `SessionInfo` that this tier needs; its file imports this one."""

    def read_reserved(self, key: str) -> bytes | None: ...


class WorkingTier(Mutable):
    """The only tier that is changed in place. `due_ms` is derived, so no digest includes it."""

    tag = 87
    entries: dict[str, tuple[bytes, int]] = {}  # key -> (value, expires_ms)
    used_bytes: int = 0
    expired_count: int = 0  # since the last sweep
    due_ms: int = LOOK_MS  # no entry expires before
    uncompared = ("due_ms",)


def answer(
    tier: WorkingTier, request: requests.WorkingRequest, now_ms: int, config: Config, info: Info
) -> Outcome:
    """Drop expired entries, then serve the request. O(1) unless an entry may have expired."""
    if tier.due_ms <= now_ms:
        drop_expired(tier, now_ms)
    if (error := requests.bad_request(request)) is not None:
        return Refused(error)
    return ANSWERS[request.__class__](tier, request, now_ms, config, info)


def drop_expired(tier: WorkingTier, now_ms: int) -> None:
    """Drop expired entries; set `due_ms` to the next expiry, or to the latest possible if none is left."""
    dead = [key for key, (_, expires_ms) in tier.entries.items() if expires_ms <= now_ms]
    for key in dead:
        drop(tier, key)
    tier.expired_count += len(dead)
    latest_ms = now_ms + limits.TTL_MS_MAX
    # An entry set now expires at `latest_ms` at the latest, so that bound is safe for an empty tier.
    tier.due_ms = min((expires_ms for _, expires_ms in tier.entries.values()), default=latest_ms)
    assert now_ms < tier.due_ms


# One function per request; the fields of the request have been checked.


def on_set(tier: WorkingTier, request: requests.Set, now_ms: int, config: Config, info: Info) -> Outcome:
    ttl_ms = config.working_ttl_ms_default if request.ttl_ms is None else request.ttl_ms
    return put(tier, request.key, request.value, now_ms + ttl_ms, config, DONE)


def on_get(tier: WorkingTier, request: requests.Get, now_ms: int, config: Config, info: Info) -> Outcome:
    value = look_up(tier, request.key, config, info)
    return DONE if value is None else Done(value)


def on_exists(
    tier: WorkingTier, request: requests.Exists, now_ms: int, config: Config, info: Info
) -> Outcome:
    return FALSE if look_up(tier, request.key, config, info) is None else TRUE


def on_delete(
    tier: WorkingTier, request: requests.Delete, now_ms: int, config: Config, info: Info
) -> Outcome:
    if request.key not in tier.entries:
        return FALSE
    drop(tier, request.key)
    return TRUE


def on_incr(tier: WorkingTier, request: requests.Incr, now_ms: int, config: Config, info: Info) -> Outcome:
    key, delta = request.key, request.delta
    # An absent key counts from 0, and gets the default time to live.
    value, expires_ms = tier.entries.get(key, (b"0", now_ms))
    # Any stored bytes that spell a number can be incremented, also those that `append` made.
    number = i64(value)
    if number is None:
        return Refused(errors.TypeMismatch(show_value(value)))
    total = number + delta
    if not limits.I64_MIN <= total <= limits.I64_MAX:
        return Refused(errors.Overflow(number, delta))
    return put(tier, key, b"%d" % total, extend_expiry(expires_ms, now_ms, config), config, Done(total))


def on_append(
    tier: WorkingTier, request: requests.Append, now_ms: int, config: Config, info: Info
) -> Outcome:
    value, expires_ms = tier.entries.get(request.key, (b"", now_ms))
    expires_ms = extend_expiry(expires_ms, now_ms, config)
    return put(tier, request.key, value + request.value, expires_ms, config, DONE)


def on_touch(tier: WorkingTier, request: requests.Touch, now_ms: int, config: Config, info: Info) -> Outcome:
    if (entry := tier.entries.get(request.key)) is None:
        return Refused(errors.KeyNotFound(request.key))
    tier.entries[request.key] = entry[0], extend_expiry(entry[1], now_ms, config)
    return DONE


def on_sweep(tier: WorkingTier, *_: object) -> Outcome:
    expired_count, tier.expired_count = tier.expired_count, 0
    return Done(expired_count)


def on_clear(tier: WorkingTier, *_: object) -> Outcome:
    cleared_count = len(tier.entries)
    tier.entries.clear()
    tier.used_bytes = 0
    return Done(cleared_count)


Answer = Callable[[WorkingTier, Any, int, Config, Info], Outcome]
ANSWERS: Final[Mapping[type, Answer]] = complete(
    "answer",
    requests.WORKING,
    {
        requests.Set: on_set,
        requests.Get: on_get,
        requests.Exists: on_exists,
        requests.Delete: on_delete,
        requests.Incr: on_incr,
        requests.Append: on_append,
        requests.Touch: on_touch,
        requests.Sweep: on_sweep,
        requests.Clear: on_clear,
        requests.Len: lambda tier, *_: Done(len(tier.entries)),
        requests.Bytes: lambda tier, *_: Done(tier.used_bytes),
    },
    "umi_core/tiers/working.py",
)


# Entries.


def put(tier: WorkingTier, key: str, value: bytes, expires_ms: int, config: Config, done: Done) -> Outcome:
    """Store the entry and return `done`, or Refused with the limit that it breaks."""
    if len(value) > limits.WORKING_VALUE_BYTES_MAX:
        return Refused(errors.EntryTooLarge(len(value), limits.WORKING_VALUE_BYTES_MAX))
    old = tier.entries.get(key)
    # The key's bytes count once: replacing b"12" by b"12345" adds 3 bytes, whatever the key.
    more_bytes = len(value) - len(old[0]) if old is not None else len(value) + size(key)
    if tier.used_bytes + more_bytes > config.working_bytes_max:
        return Refused(errors.WorkingFull(tier.used_bytes, config.working_bytes_max, size(key) + len(value)))
    if old is None and len(tier.entries) >= config.working_entry_count_max:
        return Refused(errors.TooManyEntries(len(tier.entries), config.working_entry_count_max))
    tier.entries[key] = value, expires_ms
    tier.used_bytes += more_bytes
    # `due_ms` only moves earlier here. After a delete it may be too early, which costs one needless search.
    if expires_ms < tier.due_ms:
        tier.due_ms = expires_ms
    return done


def drop(tier: WorkingTier, key: str) -> None:
    value, _ = tier.entries.pop(key)
    tier.used_bytes -= size(key) + len(value)
    assert tier.used_bytes >= 0


def look_up(tier: WorkingTier, key: str, config: Config, info: Info) -> bytes | None:
    entry = tier.entries.get(key)
    if entry is not None:
        return entry[0]
    # Law 6: no entry has a key that starts with `__`, so the lookup above found none.
    return info.read_reserved(key) if config.auto_populate and key.startswith("__") else None


def extend_expiry(expires_ms: int, now_ms: int, config: Config) -> int:
    # A write never shortens the time to live: an entry set to expire later keeps its expiry.
    fresh_ms = now_ms + config.working_ttl_ms_default
    return fresh_ms if fresh_ms > expires_ms else expires_ms


def i64(value: bytes) -> int | None:
    """Parse a whole value of the form `[+-]?[0-9]+`, of at most 20 bytes and 64 bits; None for any other."""
    digits = value[1:] if value[:1] in SIGNS else value
    if not digits.isdigit() or len(value) > NUMBER_BYTES_MAX:  # for bytes, isdigit accepts only 0-9
        return None
    number = int(value)
    return number if limits.I64_MIN <= number <= limits.I64_MAX else None


def show_value(value: bytes) -> str:
    """Describe a value that is no number, for a message."""
    try:
        return f"string: {cut(value.decode(), SHOWN_VALUE_BYTES_MAX)}"
    except UnicodeDecodeError:
        return "non-UTF8 bytes"
