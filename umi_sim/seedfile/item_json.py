"""Items as JSON and back: operations, faults, schedule deviations and clock moves, each with its schema.

Law 1. An unknown kind, field or name is refused, with its path. Law 2. Sizes are checked before unpacking.
"""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Final

from umi_core.messages.requests import REQUESTS
from umi_sim.faults.arguments import REQUIRED
from umi_sim.faults.kinds import KINDS
from umi_sim.formats.schema import (
    FLAG,
    TEXT,
    Json,
    Rule,
    Schema,
    as_object,
    at,
    fail,
    fields_of,
    list_of,
    one_of,
    table,
    then,
    whole,
    wrong,
)
from umi_sim.formats.values import args_to_json, request_table, types_of
from umi_sim.kernel.clock import RATE_FACTOR_MAX
from umi_sim.kernel.prng import DENOMINATOR_MAX
from umi_sim.record.items import ITEM_KINDS, MOVES, TIME_MS_MAX, Item, Op

ITEM_COUNT_MAX: Final = 100_000
UNPACKED_CHARS_MAX: Final = 16 * 1024 * 1024

KIND_OF: Final = {cls: kind for kind, cls in ITEM_KINDS.items()}


def to_json(item: Item) -> Json:
    """Write one item as an object: id, kind, then its own fields."""
    fields = {name: getattr(item, name) for name in FIELDS[KIND_OF[type(item)]]}
    if "args" in fields:
        fields["args"] = args_to_json(types_of(item.name) if isinstance(item, Op) else {}, fields["args"])
    return {"id": fields.pop("id"), "kind": KIND_OF[type(item)], **fields}


def from_json(value: Json) -> Item:
    """Read the item in an object. Raises Wrong."""
    kind = at("kind", KIND.read, as_object(value).get("kind"))
    fields = TABLES[kind].read(value)
    del fields["kind"]
    if kind in ARGS_OF:
        name, schema_of = ARGS_OF[kind]
        fields["args"] = at("args", schema_of(fields[name]).read, fields["args"])
    item: Item = ITEM_KINDS[kind](**fields)
    return item


def all_from_json(value: Json) -> tuple[Item, ...]:
    """Read the items of a record. Their ids must differ, and their unpacked size is bounded."""
    # Each text has a bound, but a hundred thousand items could each unpack to that bound.
    if unpacked_chars(value) > UNPACKED_CHARS_MAX:
        wrong(f"more than {UNPACKED_CHARS_MAX} characters when unpacked")
    items: tuple[Item, ...] = ITEMS.read(value)
    places: dict[str, int] = {}
    for place, item in enumerate(items):
        # setdefault returns the place of the first item with this id; another place means a duplicate.
        if places.setdefault(item.id, place) != place:
            at(f"[{place}].id", wrong, f"{item.id} is the id of entry {places[item.id]} too")
    return items


def unpacked_chars(value: Json) -> int:
    """Count the characters of all runs of characters in this value, when unpacked."""
    match value:
        # [text, count] is a run. Another list of that form just makes the count too high.
        case [str() as piece, int() as count]:
            return len(piece) * max(0, count)
        case list():
            return sum(map(unpacked_chars, value))
        case dict():
            return sum(map(unpacked_chars, value.values()))
    return 0


# The schema of each kind of item, fault and move.


@cache
def fault_table(name: str) -> Schema:
    """Return the schema of the arguments of a fault; optional ones have the default of its class."""
    kind = KINDS[name]
    needs = [key for key, argument in kind.arguments.items() if argument.default is REQUIRED]
    given = table({key: argument.schema for key, argument in kind.arguments.items()}, *needs)
    return then(given, kind.whole_args)


def check_rate(rate: dict[str, int]) -> dict[str, int]:
    num, den = rate["num"], rate["den"]
    is_near = num <= RATE_FACTOR_MAX * den and den <= RATE_FACTOR_MAX * num
    return rate if is_near else fail("a rate between 1/2 and 2/1", f"{num}/{den}")


PART: Final = whole(1, DENOMINATOR_MAX)
MOVE_TABLES: Final[dict[str, Schema]] = {
    "jump": table({"by_ms": whole(-TIME_MS_MAX, TIME_MS_MAX)}, "by_ms"),
    "drift": then(table({"num": PART, "den": PART}, "num", "den"), check_rate),
    "freeze": table({}),
    "thaw": table({"catch_up": FLAG}, "catch_up"),
    "land": table({"to_ms": whole(0, TIME_MS_MAX)}, "to_ms"),
}
assert tuple(MOVE_TABLES) == MOVES

FIELDS: Final = {kind: fields_of(cls) for kind, cls in ITEM_KINDS.items()}
FIELDS["fault"]["fault"] = one_of(KINDS, "fault")
KIND: Final = one_of(ITEM_KINDS, "kind")
TABLES: Final = {kind: table({"kind": TEXT, **fields}, *fields) for kind, fields in FIELDS.items()}
ARGS_OF: Final[dict[str, tuple[str, Callable[[str], Schema]]]] = {
    "op": ("name", request_table), "fault": ("fault", fault_table), "clock": ("move", MOVE_TABLES.__getitem__)
}  # fmt: skip


# As JSON Schema.


def item_rule() -> Rule:
    """Return the rule of an item: fields by its kind, arguments by its request, fault or move."""
    return {"oneOf": [kind_rule(kind) for kind in TABLES]}


def kind_rule(kind: str) -> Rule:
    rule = TABLES[kind].rule()
    rule["properties"]["kind"] = {"const": kind}
    rule["required"].append("kind")
    if kind in ARGS_OF:
        field, schema_of = ARGS_OF[kind]
        names: dict[str, Iterable[str]] = {"op": REQUESTS, "fault": KINDS, "clock": MOVES}
        rule["allOf"] = [args_if(field, name, schema_of(name).rule()) for name in names[kind]]
    return rule


def args_if(field: str, name: str, args: Rule) -> Rule:
    return {"if": {"properties": {field: {"const": name}}}, "then": {"properties": {"args": args}}}


ITEMS: Final = list_of(Schema(from_json, item_rule, to_json), ITEM_COUNT_MAX)
RECORD: Final = Schema(all_from_json, ITEMS.rule, ITEMS.write)
