"""Items as JSON and back: operations, faults, schedule deviations and clock moves, each checked by its kind.

Law 1. An unknown kind, field or name is refused, with its path. Law 2. What unpacks is bounded before it is.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import attrs

from umi_core.messages.requests import REQUESTS
from umi_sim.faults.arguments import REQUIRED
from umi_sim.faults.kinds import KINDS
from umi_sim.formats.strict_json import (
    BadValue,
    Described,
    Reader,
    Schema,
    as_object,
    fail,
    flag,
    listed,
    object_schema,
    one_of,
    schema_of,
    table,
    text,
    whole,
)
from umi_sim.formats.values import WORDS, args_to_json, op_args, types_of
from umi_sim.kernel.clock import RATE_FACTOR_MAX
from umi_sim.kernel.prng import DENOMINATOR_MAX
from umi_sim.record.items import ITEM_KINDS, Args, ClockMove, Fault, Item, Op

Json = Any

AT_MS_MAX: Final = 2**53 - 1
EVENT_CHARS_MAX: Final = 256
ITEM_COUNT_MAX: Final = 100_000
UNPACKED_CHARS_MAX: Final = 16 * 1024 * 1024

KIND_OF: Final = {cls: kind for kind, cls in ITEM_KINDS.items()}


def to_json(item: Item) -> Json:
    """One item as an object: id, kind, then its own fields."""
    fields = {field.name: getattr(item, field.name) for field in attrs.fields(type(item))}
    if isinstance(item, Op):
        fields["args"] = args_to_json(types_of(item.name), item.args)
    elif isinstance(item, Fault | ClockMove):
        fields["args"] = args_to_json({}, item.args)
    return {"id": fields.pop("id"), "kind": KIND_OF[type(item)], **fields}


def from_json(value: Json, path: str) -> Item:
    """The item in an object. Raises BadValue with the path below `path`."""
    kind = one_of(tuple(ITEM_KINDS), "kind")(as_object(value, path).get("kind"), f"{path}.kind")
    fields = READERS[kind](value, path)
    del fields["kind"]
    if kind in ARGS_OF:
        fields["args"] = ARGS_OF[kind](fields, f"{path}.args")
    item: Item = ITEM_KINDS[kind](**fields)
    return item


def all_from_json(value: Json, path: str) -> tuple[Item, ...]:
    """The items of a record, ids unique; what they unpack to is bounded before it is unpacked."""
    if unpacked_chars(value) > UNPACKED_CHARS_MAX:
        raise BadValue(f"{path}: more than {UNPACKED_CHARS_MAX} characters when unpacked")
    items: tuple[Item, ...] = ITEMS(value, path)
    places: dict[str, int] = {}
    for at, item in enumerate(items):
        if places.setdefault(item.id, at) != at:
            raise BadValue(f"{path}[{at}].id: {item.id} is the id of {path}[{places[item.id]}] too")
    return items


def unpacked_chars(value: Json) -> int:
    """How many characters all runs below this value come to."""
    match value:
        case [str() as piece, int() as count]:
            return len(piece) * max(0, count)
        case list():
            return sum(map(unpacked_chars, value))
        case dict():
            return sum(map(unpacked_chars, value.values()))
    return 0


# Reading.


def fault_args(name: str, args: Json, path: str) -> Args:
    """The arguments of a fault; those that a file does not say are as its class says."""
    given: Args = fault_table(name)(args, path)
    return KINDS[name].whole_args(given)


@cache
def fault_table(name: str) -> Reader:
    kind = KINDS[name]
    needs = [name for name, argument in kind.arguments.items() if argument.default is REQUIRED]
    return table({name: argument.read for name, argument in kind.arguments.items()}, *needs)


# What each kind of item, fault and move has.

ID: Final = text("[a-z][0-9]{1,6}", "a letter and at most 6 digits")
AT_MS: Final = whole(0, AT_MS_MAX)
EVENT: Final = text(rf"(?s).{{1,{EVENT_CHARS_MAX}}}", f"1 to {EVENT_CHARS_MAX} characters")
ARGS: Final = Described(as_object, object_schema)
AGENT: Final = text("[a-z][a-z0-9_]{0,15}", "the name of an agent")


RATE: Final = table(dict.fromkeys(("num", "den"), whole(1, DENOMINATOR_MAX)), "num", "den")


def drift_args(value: Json, path: str) -> Json:
    args = RATE(value, path)
    is_near = args["num"] <= RATE_FACTOR_MAX * args["den"] and args["den"] <= RATE_FACTOR_MAX * args["num"]
    return args if is_near else fail(path, "a rate between 1/2 and 2/1", f"{args['num']}/{args['den']}")


MOVES: Final[dict[str, Reader]] = {
    "jump": table({"by_ms": whole(-AT_MS_MAX, AT_MS_MAX)}, "by_ms"),
    "drift": Described(drift_args, lambda: schema_of(RATE)),
    "freeze": table({}),
    "thaw": table({"catch_up": flag}, "catch_up"),
    "land": table({"to_ms": AT_MS}, "to_ms"),
}
FIELDS: Final[dict[str, dict[str, Reader]]] = {
    "op": {"at_ms": AT_MS, "agent": AGENT, "name": one_of(tuple(REQUESTS), "request"), "args": ARGS},
    "fault": {"fault": one_of(tuple(KINDS), "fault"), "at": EVENT, "args": ARGS},
    "schedule": {"take": EVENT, "over": EVENT},
    "clock": {"at_ms": AT_MS, "agent": AGENT, "move": one_of(tuple(MOVES), "move"), "args": ARGS},
}
READERS: Final[dict[str, Reader]] = {
    kind: table({"id": ID, "kind": WORDS, **fields}, "id", *fields) for kind, fields in FIELDS.items()
}
ARGS_OF: Final[dict[str, Callable[[dict[str, Json], str], Args]]] = {
    "op": lambda fields, path: op_args(fields["name"], fields["args"], path),
    "fault": lambda fields, path: fault_args(fields["fault"], fields["args"], path),
    "clock": lambda fields, path: MOVES[fields["move"]](fields["args"], path),
}


def items_schema() -> Schema:
    from umi_sim.seedfile.item_schema import of_items

    return {"type": "array", "items": of_items(), "maxItems": ITEM_COUNT_MAX}


ITEMS: Final = listed(from_json, ITEM_COUNT_MAX)
RECORD: Final = Described(all_from_json, items_schema)
