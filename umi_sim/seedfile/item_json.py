"""Items as JSON and back: operations, faults, schedule deviations and clock moves, each checked by its kind.

Law 1. An unknown kind, field or name is refused, with its path. Law 2. What unpacks is bounded before it is.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import attrs

from umi_core.limits import DAY_MS
from umi_core.messages.requests import REQUESTS
from umi_sim.faults.content import KINDS as CONTENT_KINDS
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
from umi_sim.formats.values import WORDS, args_to_json, of_type, op_args, types_of
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


def fault_args(kind: str, args: Json, path: str) -> Args:
    """The arguments of a fault; what strikes without drawing has none."""
    given: dict[str, Json] = fault_table(kind)(args, path)
    readers = FAULT_ARGS.get(kind, {})
    plain = {name: value for name, value in PLAIN_ARGS.items() if name in readers}
    return given | {name: value for name, value in plain.items() if name not in given}


@cache
def fault_table(kind: str) -> Reader:
    if kind in CONTENT_KINDS:
        return table(CONTENT_ARGS)
    readers = FAULT_ARGS.get(kind, {})
    return table(readers, *(key for key in readers if key not in PLAIN_ARGS))


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

COUNT: Final = whole(0, 2**53 - 1)
DAY: Final = whole(0, DAY_MS)  # the world goes on while a link holds something, so it must end
AFTER: Final = {"after_ms": COUNT}
FOR: Final = {"for_ms": COUNT}
TOLD: Final = {"told": one_of(("nothing", "unknown", "timeout"), "value")}
PLAIN_ARGS: Final = {"told": "nothing", "latent": False, "masked": False}  # what a file need not say
VECTOR: Final = {"index": COUNT, "choice": COUNT}
ROW: Final = {"index": COUNT, "other": COUNT}
DOWN: Final = {"down_ms": COUNT}
FAULT_ARGS: Final[dict[str, dict[str, Reader]]] = {
    "model_timeout": AFTER, "embed_timeout": AFTER, "model_slow": AFTER, "storage_slow": AFTER,
    "model_rate_limited": {"retry_after_ms": COUNT}, "embed_rate_limited": {"retry_after_ms": COUNT},
    "model_misdirected": {"text": of_type(str)},
    "model_unavailable": FOR, "embed_unavailable": FOR, "storage_unavailable": FOR, "storage_crash": FOR,
    "storage_torn": {"count": COUNT, **FOR}, "storage_lost": TOLD, "storage_reply_lost": TOLD,
    "embed_zero": VECTOR, "embed_wrong_dims": VECTOR, "embed_short": VECTOR, "embed_not_finite": VECTOR,
    "embed_out_of_range": VECTOR, "embed_collision": ROW, "embed_permuted": {"turn": COUNT},
    "storage_full": {"spare_bytes": COUNT, **FOR}, "storage_index_lag": {"lag_ms": COUNT, **FOR},
    "storage_damaged": {"index": COUNT, "latent": flag}, "storage_ack_early": FOR, "storage_wiped": FOR,
    "storage_misdirected": {**ROW, "masked": flag}, "storage_repeat_row": ROW,
    "storage_bit_flip": {"byte": COUNT, "bit": COUNT, "latent": flag},
    "storage_short_page": {"count": COUNT},
    "storage_shuffled": {"turn": COUNT}, "agent_crash": DOWN, "agent_crash_again": DOWN,
    "agent_lower_limit": {"core_entry_count_max": COUNT, **DOWN},
    "link_delay": {"delay_ms": DAY}, "link_reorder": {"wait_ms": DAY}, "link_duplicate": {"after_ms": DAY},
    "link_clog": {"for_ms": DAY}, "link_partition": {"for_ms": DAY},
    "agent_pause": {"clock": one_of(("runs", "stands"), "value"), "for_ms": DAY},
}  # fmt: skip
CONTENT_ARGS: Final[dict[str, Reader]] = {
    **dict.fromkeys(("text", "before", "after", "json", "key", "members", "path", "other"), of_type(str)),
    **dict.fromkeys(("keep", "at", "times"), COUNT),
}


def items_schema() -> Schema:
    from umi_sim.seedfile.item_schema import of_items

    return {"type": "array", "items": of_items(), "maxItems": ITEM_COUNT_MAX}


ITEMS: Final = listed(from_json, ITEM_COUNT_MAX)
RECORD: Final = Described(all_from_json, items_schema)
