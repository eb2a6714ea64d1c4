"""Admission: what is wrong with a request before anything is asked, and the workflow that serves it.

Law 1. Pure: a request in, an error value or None out. Law 2. Errors in the order of the rules.
Law 3. A bool is never a number, a number never a bool, and a text has no lone surrogates.
"""

from collections.abc import Callable
from typing import Any, Final

from umi_core import errors, limits
from umi_core.errors import Error, shown
from umi_core.messages.requests import (
    Count,
    CreateSession,
    Forget,
    GetEntity,
    LoadSession,
    Rebalance,
    Recall,
    Remember,
    RemoveBlock,
    SaveSession,
    SetBlock,
    SetImportance,
)
from umi_core.text import has_control, is_text, size
from umi_core.tiers import core
from umi_core.values import ENTITY_TYPES, Scope, Turn

ROLES: Final = ("user", "assistant", "system", "tool")
Check = Callable[[Any], Error | None]


def is_int(value: object, low: int = limits.I64_MIN, high: int = limits.I64_MAX) -> bool:
    return type(value) is int and low <= value <= high  # so no bool, and nothing that has no bytes


def bad_op_id(value: object) -> Error | None:
    size_max = limits.OP_ID_BYTES_MAX
    if is_int(value) or (isinstance(value, str) and is_text(value) and size(value) <= size_max):
        return None
    return errors.BadOption("op_id", shown(value), f"a whole number, or text of at most {size_max} bytes")


def bad_flag(name: str, value: object) -> Error | None:
    return None if isinstance(value, bool) else errors.BadOption(name, shown(value), "true or false")


def bad_scope_part(name: str, value: object) -> Error | None:
    good = is_text(value) and isinstance(value, str) and not has_control(value)
    if good and 0 < size(str(value)) <= limits.SCOPE_PART_BYTES_MAX:
        return None
    return errors.BadScope(
        name, shown(value), f"1 to {limits.SCOPE_PART_BYTES_MAX} bytes without control characters"
    )


def bad_scope(scope: Scope) -> Error | None:
    return bad_scope_part("user", scope.user) or bad_scope_part("agent", scope.agent)


def bad_id(value: object) -> Error | None:
    good = isinstance(value, str) and is_text(value) and 0 < len(value) <= limits.SCOPE_PART_BYTES_MAX
    wanted = f"text of 1 to {limits.SCOPE_PART_BYTES_MAX} characters"
    return None if good else errors.BadId("id", shown(value), wanted)


def bad_request_key(value: object) -> Error | None:
    good = value is None or (isinstance(value, str) and is_text(value))
    if good and (value is None or 1 <= size(str(value)) <= limits.REQUEST_KEY_BYTES_MAX):
        return None
    return errors.BadKey("request_key", shown(value), f"1 to {limits.REQUEST_KEY_BYTES_MAX} bytes of text")


def bad_importance(value: object) -> Error | None:
    return None if value is None or is_int(value, 0, limits.PPM) else errors.BadImportance(shown(value))


def bad_time(value: object, name: str = "event_time_ms") -> Error | None:
    good = value is None or is_int(value, 0)
    return None if good else errors.BadTime(name, shown(value), "a whole number from 0 or none")


def bad_metadata(pairs: object) -> Error | None:
    count, size_bytes = limits.METADATA_COUNT_MAX, limits.METADATA_BYTES_MAX
    if isinstance(pairs, tuple) and all(map(is_pair, pairs)) and len(dict(pairs)) == len(pairs) <= count:
        return None
    wanted = f"at most {count} pairs of texts of at most {size_bytes} bytes, keys unique"
    return errors.BadMetadata("metadata", shown(pairs), wanted)


def is_pair(pair: object) -> bool:
    if not isinstance(pair, tuple) or len(pair) != 2:
        return False
    return all(is_text(part) and size(part) <= limits.METADATA_BYTES_MAX for part in pair)


def bad_types(types: object) -> Error | None:
    if types is None:
        return None
    if isinstance(types, tuple) and types and all(kind in ENTITY_TYPES for kind in types):
        return None
    return errors.BadType("types", shown(types), "none, or entity types: " + " ".join(ENTITY_TYPES))


def bad_range(time_range: object) -> Error | None:
    if time_range is None:
        return None
    if not isinstance(time_range, tuple) or len(time_range) != 2:
        return errors.BadTime("time_range", shown(time_range), "a pair (start_ms, end_ms)")
    start_ms, end_ms = time_range
    if error := bad_time(start_ms, "start_ms") or bad_time(end_ms, "end_ms"):
        return error
    is_reversed = start_ms is not None and end_ms is not None and start_ms > end_ms
    return errors.BadTimeRange(start_ms, end_ms) if is_reversed else None


def bad_turns(turns: object) -> Error | None:
    good = isinstance(turns, tuple) and all(
        isinstance(turn, Turn) and turn.role in ROLES and is_text(turn.text) for turn in turns
    )
    wanted = f"turns with role {', '.join(ROLES)} and text"
    return None if good else errors.BadTurn("turns", shown(turns), wanted)


# Requests.


def check_remember(request: Remember) -> Error | None:
    return (
        bad_body(request.text, "text", errors.EmptyText(), limits.TEXT_BYTES_MAX, errors.TextTooLong)
        or bad_flag("extract", request.extract)
        or bad_flag("evolve", request.evolve)
        or bad_flag("embed", request.embed)
        or bad_importance(request.importance_ppm)
        or bad_time(request.event_time_ms)
        or bad_metadata(request.metadata)
        or (bad_id(request.source) if request.source is not None else None)
        or bad_request_key(request.request_key)
    )


def bad_body(
    text: object, name: str, empty: Error, limit_bytes: int, too_long: Callable[[int, int], Error]
) -> Error | None:
    if not isinstance(text, str) or not is_text(text):
        return errors.BadText(name, shown(text), "text without lone surrogates")
    if not text.strip():
        return empty
    return too_long(size(text), limit_bytes) if size(text) > limit_bytes else None


def check_recall(request: Recall) -> Error | None:
    score, limit = request.min_score_ppm, request.limit
    good_limit = limit is None or is_int(limit, 1, limits.RECALL_LIMIT_MAX)
    good_score = score is None or is_int(score, 0, limits.PPM)
    return (
        bad_body(request.query, "query", errors.EmptyQuery(), limits.QUERY_BYTES_MAX, errors.QueryTooLong)
        or (None if good_limit else errors.BadLimit(shown(limit)))
        or (bad_flag("deep", request.deep) if request.deep is not None else None)
        or bad_range(request.time_range)
        or bad_types(request.types)
        or bad_turns(request.turns)
        or bad_flag("resolve", request.resolve)
        or (None if good_score else errors.BadScore("min_score_ppm", shown(score), f"0 to {limits.PPM}"))
    )


def check_forget(request: Forget) -> Error | None:
    return bad_id(request.entity_id) or bad_request_key(request.request_key)


def check_get_entity(request: GetEntity) -> Error | None:
    version = request.version
    good = version is None or is_int(version, 1)
    return bad_id(request.entity_id) or (
        None if good else errors.BadVersion("version", shown(version), "a whole number from 1, or none")
    )


def check_count(request: Count) -> Error | None:
    return bad_types(request.types)


def check_members(members: object) -> Error | None:
    if not isinstance(members, tuple):
        return errors.BadScope("members", shown(members), "a tuple of agents")
    return next((error for member in members if (error := bad_scope_part("member", member))), None)


def check_load_session(request: LoadSession) -> Error | None:
    return bad_id(request.session_id)


def check_set_block(request: SetBlock) -> Error | None:
    asked = core.authored(request.kind, request.text, request.label, request.importance_ppm)
    return asked if isinstance(asked, Error) else None


def check_set_importance(request: SetImportance) -> Error | None:
    return (
        core.bad_kind(request.kind)
        or core.bad_label(request.label)
        or core.bad_importance(request.importance_ppm)
    )


def check_remove_block(request: RemoveBlock) -> Error | None:
    return core.bad_kind(request.kind) or core.bad_label(request.label)


def nothing_wrong(request: Rebalance) -> Error | None:
    return None


SERVED_BY: Final[dict[type, tuple[str, Check]]] = {
    Remember: ("remember", check_remember),
    Recall: ("recall", check_recall),
    Forget: ("forget", check_forget),
    GetEntity: ("get_entity", check_get_entity),
    Count: ("count", check_count),
    Rebalance: ("rebalance", nothing_wrong),
    CreateSession: ("create_session", lambda request: check_members(request.members)),
    SaveSession: ("save_session", lambda request: check_members(request.hand_to)),
    LoadSession: ("load_session", check_load_session),
    SetBlock: ("write_block", check_set_block),
    SetImportance: ("write_block", check_set_importance),
    RemoveBlock: ("write_block", check_remove_block),
}
