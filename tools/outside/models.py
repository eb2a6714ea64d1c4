"""Check a history by models of what stores promise: search all orders for one that explains each answer.

It shares no code with the judges of umi_sim, and reads exported histories alone. `porcupine.go` says the same
to Porcupine.
"""

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from umi_core.data import Data

Json = Any
State = Any  # of JSON alone; never changed in place
Outcome = tuple[Json, State]
ANY: Final = object()  # an answer that says nothing
REFUSED: Final = object()
FOR_EVER: Final = 2**60
WEEK_MS: Final = 7 * 24 * 3_600_000
VALUE_BYTES_MAX: Final = 65_536
REFUSALS: Final = (
    "ValueError", "Stale", "TypeMismatch", "KeyNotFound", "BadTtl", "Overflow", "TooManyEntries",
    "WorkingFull", "EntryTooLarge",
)  # fmt: skip


class Operation(Data):
    """One operation of a history. `how`: ok, info or refused.

    `call`, `end`: places in the order of events. `times_ms`: the times of both; the store may have read its
    clock at either.
    """

    f: str
    args: Mapping[str, Json]
    how: str
    value: Json
    call: int
    end: int
    times_ms: tuple[int, ...]


class Law(Data):
    """Say how strictly a history is checked.

    `is_prompt`: an interrupted call happens before its `info`, or never.
    `are_refusals_answers`: a refusal must have had a reason; else it is left out, as a failure.
    """

    is_prompt: bool = False
    are_refusals_answers: bool = False


def operations(events: Sequence[Mapping[str, Json]], law: Law) -> list[Operation]:
    """Pair the events of an exported history. What failed did not happen, and is left out."""
    begun: dict[object, Mapping[str, Json]] = {}
    found = []
    for event in events:
        if event["type"] == "invoke":
            begun[event["process"]] = event
        elif event["process"] in begun:
            found.append((begun.pop(event["process"]), event))
        elif event["f"] == "crash" and "agent" in event:
            found.append((event, {**event, "type": "ok"}))  # which empties a working tier
    made = [make_operation(*pair, law) for pair in found]
    made += [open_operation(invoke) for invoke in begun.values()]
    return sorted((each for each in made if each is not None), key=lambda each: each.call)


def make_operation(invoke: Mapping[str, Json], end: Mapping[str, Json], law: Law) -> Operation | None:
    how, until = end["type"], end["index"]
    if how == "fail":
        if not law.are_refusals_answers or end["error"].split(":")[0] not in REFUSALS:
            return None
        how = "refused"
    elif how == "info" and not law.is_prompt:
        until = FOR_EVER
    times_ms = tuple(dict.fromkeys((invoke["time_ms"], end["time_ms"])))
    return Operation(invoke["f"], invoke["value"] or {}, how, end["value"], invoke["index"], until, times_ms)


def open_operation(invoke: Mapping[str, Json]) -> Operation:
    args = invoke["f"], invoke["value"], "info", None, invoke["index"]
    return Operation(*args, FOR_EVER, (invoke["time_ms"],))


# Models: the answers of an operation in a state, each with the state after it.


def entries_alive(state: Mapping[str, Json], now_ms: int) -> dict[str, Json]:
    return {key: entry for key, entry in state.items() if entry[1] is None or now_ms < entry[1]}


def deadline(now_ms: int, ttl_ms: int | None) -> int | None:
    return None if ttl_ms is None else now_ms + ttl_ms


def kv(
    state: State, f: str, args: Mapping[str, Json], now_ms: int, _: Mapping[str, Json]
) -> Iterator[Outcome]:
    """Yield the outcomes of the contract `kv`. State: by key a value and its deadline, or null."""
    rows, key = entries_alive(state, now_ms), args.get("key", "")
    found = rows.get(key)
    value = found[0] if found else None
    new = [args.get("value"), deadline(now_ms, args.get("ttl"))]
    match f:
        case "put":
            yield ANY, {**rows, key: new}
        case "put_many":
            end_ms = deadline(now_ms, args.get("ttl"))
            yield ANY, {**rows, **{each: [it, end_ms] for each, it in args["pairs"].items()}}
        case "add":
            yield not found, rows if found else {**rows, key: new}
        case "get":
            yield value, rows
        case "get_many":
            yield {each: rows[each][0] for each in args["keys"] if each in rows}, rows
        case "has":
            yield bool(found), rows
        case "keys":
            yield sorted(rows), rows
        case "count":
            yield len(rows), rows
        case "delete" | "pop":
            yield bool(found) if f == "delete" else value, {each: rows[each] for each in rows if each != key}
        case "clear":
            yield ANY, {}
        case "touch":
            yield bool(found), {**rows, key: [value, new[1]]} if found else rows
        case "incr" if found and type(value) is not int:
            yield REFUSED, rows
        case "incr":
            number = (value or 0) + args.get("by", 1)
            yield number, {**rows, key: [number, found[1] if found else None]}


def sessions(
    state: State, f: str, args: Mapping[str, Json], now_ms: int, _: Mapping[str, Json]
) -> Iterator[Outcome]:
    """Yield the outcomes of the contract `sessions`. State: messages, changes and versions by session."""
    name = args.get("session")
    own = state.get("messages", {}).get(name, [])
    version = [name, own, state.get("changes", {}).get(name, 0)]

    def change(messages: Sequence[Json]) -> State:
        changes = {**state.get("changes", {}), name: version[2] + 1}
        return {**state, "messages": {**state.get("messages", {}), name: messages}, "changes": changes}

    match f:
        case "add":
            yield ANY, change([*own, *args["items"]])
        case "replace":
            yield ANY, change(args["items"])
        case "clear":
            yield ANY, change([]) if name in state.get("messages", {}) else state
        case "delete":
            after = change([])
            yield (
                ANY,
                {**after, "messages": {each: it for each, it in after["messages"].items() if each != name}},
            )
        case "get":
            limit = args.get("limit", len(own))
            yield own[max(0, len(own) - limit) :] if limit > 0 else [], state
        case "pop":
            yield (own[-1], change(own[:-1])) if own else (None, state)
        case "count":
            yield len(own), state
        case "version":
            yield ANY, {**state, "seen": {**state.get("seen", {}), args["version"]: version}}
        case "append":
            seen = state.get("seen", {}).get(args["version"])
            if seen is None or seen[0] != name or seen[1] == own:
                yield ANY, change([*own, *args["items"]])
            if seen != version:
                yield REFUSED, state


def working(
    state: State, f: str, args: Mapping[str, Json], now_ms: int, flags: Mapping[str, Json]
) -> Iterator[Outcome]:
    """Yield the outcomes of the working tier. State: as of `kv`, and what expired since the last sweep."""
    before, key, default_ms = state.get("rows", {}), args.get("key", ""), flags["default_ttl_ms"]
    rows = entries_alive(before, now_ms)
    expired = state.get("expired", 0) + len(before) - len(rows)
    found = rows.get(key)
    data = b64decode(found[0]["bytes"]) if found else b""
    size_of_others = sum(size(*each) for each in rows.items() if each[0] != key)
    renewed = max([now_ms + default_ms, *([found[1]] if found else [])])

    def after(new: Mapping[str, Json], expired: int = expired) -> State:
        return {"rows": new, "expired": expired}

    def put(value: Json, end_ms: int, answer: Json = None) -> Outcome:
        entry = [value, end_ms]
        is_full = size_of_others + size(key, entry) > flags["bytes_max"]
        if is_full or len({*rows, key}) > flags["entry_count_max"] or size("", entry) > VALUE_BYTES_MAX:
            return REFUSED, after(rows)
        return answer, after({**rows, key: entry})

    match f:
        case "set":
            ttl_ms = default_ms if args["ttl_ms"] is None else args["ttl_ms"]
            yield put(args["value"], now_ms + ttl_ms) if 0 < ttl_ms <= WEEK_MS else (REFUSED, after(rows))
        case "get":
            yield found[0] if found else None, after(rows)
        case "exists":
            yield bool(found), after(rows)
        case "delete":
            yield bool(found), after({each: rows[each] for each in rows if each != key})
        case "incr" if found and not is_number(data):
            yield REFUSED, after(rows)
        case "incr":
            number = int(data or b"0") + args["delta"]
            text = str(number).encode()
            yield put(as_bytes(text), renewed, number) if is_number(text) else (REFUSED, after(rows))
        case "append":
            yield put(as_bytes(data + b64decode(args["value"]["bytes"])), renewed)
        case "touch":
            yield (None, after({**rows, key: [found[0], renewed]})) if found else (REFUSED, after(rows))
        case "len":
            yield len(rows), after(rows)
        case "bytes":
            yield sum(size(*each) for each in rows.items()), after(rows)
        case "sweep":
            yield expired, after(rows, 0)
        case "clear":
            yield len(rows), after({})
        case "crash":
            yield ANY, {}


def size(key: str, entry: Json) -> int:
    return len(key.encode()) + len(b64decode(entry[0]["bytes"]))


def is_number(data: bytes) -> bool:
    return (
        re.fullmatch(rb"[+-]?[0-9]+", data) is not None and len(data) <= 20 and -(2**63) <= int(data) < 2**63
    )


def as_bytes(data: bytes) -> Json:
    return {"bytes": b64encode(data).decode()}


Model = Callable[[State, str, Mapping[str, Json], int, Mapping[str, Json]], Iterator[Outcome]]
MODELS: Final[Mapping[str, Model]] = {"kv": kv, "sessions": sessions, "working": working}


# All orders.


def is_linearizable(model: str, ops: Sequence[Operation], flags: Mapping[str, Json]) -> bool:
    """Return whether some order of the operations explains all answers, by trying every order.

    In an order, none comes before another that had ended when it began.
    """

    def search(remaining: Sequence[Operation], state: State) -> bool:
        if all(op.end == FOR_EVER for op in remaining):
            return True  # none of them has an answer, and none needs to have happened
        first_end = min(op.end for op in remaining)
        return any(
            search([other for other in remaining if other is not op], after)
            for op in remaining
            if op.call <= first_end  # a crash begins and ends at one place
            for after in states_after(MODELS[model], state, op, flags)
        )

    return search(ops, {})


def states_after(model: Model, state: State, op: Operation, flags: Mapping[str, Json]) -> Iterable[State]:
    outcomes = [each for now_ms in op.times_ms for each in model(state, op.f, op.args, now_ms, flags)]
    if op.how == "info":
        return [state, *(after for _, after in outcomes)]
    if op.how == "refused":
        return [after for answer, after in outcomes if answer is REFUSED]
    return [after for answer, after in outcomes if is_same(answer, op.value)]


def is_same(answer: Json, expected: Json) -> bool:
    """As JSON, since to Python True equals 1."""
    if answer is ANY or answer is REFUSED:
        return answer is ANY
    return json.dumps(answer, sort_keys=True) == json.dumps(expected, sort_keys=True)
