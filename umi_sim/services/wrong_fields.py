"""Invalid rows: one field has a wrong type, is out of range, far too long or unknown.

Law 1. Pure and total: any body of a known kind and any number give a body of the same kind and id that no
memory may accept; a body of another kind is returned unchanged.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import structs

from umi_core.rows import Body
from umi_core.values import Block, Entry

LONG: Final = "x" * 10_000
HUGE: Final = "x" * 100_001
HALF: Final = "\ud800"  # half of a surrogate pair
ENDLESS: Final = 2**70
BILLION: Final = 10**9

Change = Callable[[Any], Body]


def put(name: str, *values: object) -> tuple[Change, ...]:
    """Return one change for each value, which replaces the field `name` by it."""
    return tuple(lambda body, value=value: structs.replace(body, **{name: value}) for value in values)


def blocks(*made: tuple[Block, ...]) -> tuple[Change, ...]:
    return put("blocks", *made)


ENTRY: Final = Entry("ent_of_nobody", 1, "Ann", "likes tea", 0)


def entry(**fields: Any) -> tuple[Block, ...]:
    """Return a block with one entry that has these fields."""
    return (Block("human", entries=(structs.replace(ENTRY, **fields),)),)


def make_block(**fields: Any) -> tuple[Block, ...]:
    """Return an authored block with these fields."""
    return (structs.replace(Block("human", text="x"), **fields),)


WRONG: Final[Mapping[str, tuple[Change, ...]]] = {
    "entity": (
        *put("type", "alien", None), *put("name", LONG, HALF, 7), *put("content", HUGE, b"tea"),
        *put("version", 0, ENDLESS, "1"), *put("importance_ppm", BILLION, -1), *put("confidence_ppm", True),
        *put("block", "system", "attic"), *put("created_ms", None), *put("updated_ms", -1),
        *put("event_time_ms", "noon"), *put("metadata", (("k", "v"), ("k", "w")), {}), *put("source", ""),
        *put("vector_missing", 1), *put("relation_count", ENDLESS), *put("contradicts", (HALF,), "x"),
    ),
    "resource": (
        *put("modality", "smell", None), *put("text", HUGE, 7), *put("text_hash", None),
        *put("caption", HALF), *put("first_line", -1), *put("last_line", ENDLESS), *put("created_ms", "0"),
        *put("uri", ""), *put("parent_id", LONG), *put("extracted_types", (7,)), *put("pending", "x"),
        *put("description", HALF, None),
    ),
    "reflection": (
        *put("session_id", "", None), *put("text", HUGE, HALF), *put("sources", (("", 1),), ("x",)),
        *put("started_ms", -1, None), *put("ended_ms", ENDLESS), *put("degraded", 1), *put("pending", "x"),
    ),
    "category": (
        *put("name", LONG, None), *put("description", 7), *put("member_count", -1, ENDLESS, "1"),
        *put("updated_ms", -1), *put("summary", HALF, None), *put("summary_sources", (("", 1),), ("x",)),
        *put("summary_dirty", 1), *put("subcategory_ids", (7,), "x"), *put("evolved_digest", None),
        *put("evolved_ms", -1),
    ),
    "membership": (
        *put("entity_id", "", None), *put("entity_version", 0), *put("category_id", LONG),
        *put("assigned_by", "chance"), *put("created_ms", None), *put("confidence_ppm", BILLION, -1),
        *put("subcategory_id", 7), *put("keywords_matched", "x"),
    ),
    "subcategory": (
        *put("category_id", LONG), *put("founder_id", "", None), *put("name", LONG, None),
        *put("named_by", "chance"), *put("keywords", (7,), None), *put("created_ms", -1),
        *put("updated_ms", "0"),
    ),
    "ended": (
        *put("fact", None, "tea"), *put("by", "", None), *put("how", "extend", 7), *put("at_ms", -1, "0"),
    ),
    "relation": (
        *put("kind", "friend", None), *put("source", ("x",), ("", 1)), *put("target", ("x", -1), None),
        *put("confidence_ppm", BILLION), *put("reason", LONG), *put("by", 7), *put("at_ms", -1),
    ),
    "vector": (*put("components", (128,), ("1",), None), *put("version", 0, ENDLESS)),
    "access": (
        *put("type", "alien"), *put("importance_ppm", BILLION), *put("count", -1, ENDLESS),
        *put("first_ms", None), *put("last_ms", "1"),
    ),
    "epoch": put("claimed_ms", None, -1, ENDLESS),
    "head": put("cursor", 7, HALF, HUGE),
    "core": (
        *blocks((Block("attic", text="x"),), (Block("human", label="a\x00b", text="x"),)),
        *blocks((Block("human", text="x", importance_ppm=BILLION),), (Block("human", text=HALF),)),
        *blocks((Block("human", text=HUGE),), (Block("human", label=LONG, text="x"),), (Block("human"),)),
        *blocks((Block("human", text="x"), Block("human", text="y")), (Block("human", text=7),)),  # type: ignore[arg-type]  # not a text
        *blocks(entry(name=LONG), entry(version=ENDLESS), entry(text=HALF), entry(promoted_ms=-1)),
        *blocks(entry(entity_id=""), (Block("system", entries=(ENTRY,)),)),
        *blocks(*(make_block(**{name: None}) for name in ("kind", "label", "importance_ppm", "entries"))),
        *blocks(*(entry(**{name: None}) for name in ("entity_id", "version", "name", "text", "promoted_ms"))),
        *put("blocks", None, (None,)),
    ),
    "receipt": (
        *put("request_digest", "text"), *put("plan_digest", None), *put("at_ms", -1),
        *put("by", (1,), (-1, 0)),
    ),
    "grant": put("readers", None, ("",), "b"),
    "session": (
        *put("user", 7), *put("creator", HALF), *put("members", ("",), None), *put("saved_ms", ENDLESS),
        *put("saved_by", None), *put("snapshot", "text"),
    ),
    "sheet": (
        *put("version", 0, ENDLESS), *put("description", HUGE, None), *put("limit_bytes", -1, "8"),
        *put("read_only", 1), *put("text_hash", None), *put("created_ms", -1),
    ),
    "change": (
        *put("change", "rumour", None), *put("author", "nobody"), *put("at_ms", "0"), *put("text", HUGE, 7),
        *put("size_bytes", -1), *put("is_erased", None),
    ),
    "message": (
        *put("seq", 0, ENDLESS), *put("role", "nobody", None), *put("content", HUGE, HALF, 7),
        *put("details", (("role", "user"),), None), *put("at_ms", -1),
    ),
    "archival": (
        *put("seq", 0), *put("content", HUGE, None), *put("tags", ("x", "x"), "x"), *put("metadata", {}),
        *put("at_ms", ENDLESS),
    ),
    "log": put("next_seq", 0, ENDLESS, "1", None),
    "moved": (*put("content", HUGE, HALF, 7), *put("kind", "rows", None)),
    "moved_key": (*put("content", HALF, 7), *put("kind", "rows", None)),
    "moved_begun": (*put("before", HUGE, 7), *put("content", HALF, 7), *put("row_id", None)),
    "outbox": put("kind", "rows", None, 7),
    "phase": put("phase", "limbo", None, 7),
}  # fmt: skip


def can_have_wrong_field(body: Body | None) -> bool:
    return body is not None and body.row_kind in WRONG


def set_wrong_field(body: Body | None, choice: int) -> Body | None:
    """Return the body with one wrong field: the `choice`-th variant for its kind."""
    options = () if body is None else WRONG.get(body.row_kind, ())
    return options[choice % len(options)](body) if options else body
