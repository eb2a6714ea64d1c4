"""Values on each limit, one beyond it, and of every wrong type; and objects that are built of them.

A class says by its annotations which values its fields take: `built` draws an object of any class.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from functools import cache
from typing import Any, Final, get_args, get_origin

from msgspec import structs

from tests.properties.laws import Draw, around
from tests.properties.requests_reference import WRONG
from tests.properties.rows_reference import FIELDS
from umi_core import limits
from umi_core.data import is_struct, list_fields
from umi_core.rows import BODIES, Body, Entity
from umi_core.values import (
    BLOCK_KINDS,
    CATEGORIES,
    ENTITY_TYPES,
    LEVELS,
    MEMORY_TYPES,
    MODALITIES,
    Block,
    Entry,
    Turn,
)
from umi_sim.judge.plain.requests import HOLDS, KINDS_OF, OF_SCOPE

WIDE: Final = "é"  # of two bytes
SIZES: Final = (
    limits.BLOCK_LABEL_BYTES_MAX, limits.SCOPE_PART_BYTES_MAX, limits.METADATA_BYTES_MAX,
    limits.EXTRACT_CONTENT_BYTES_MAX, limits.CURSOR_BYTES_MAX, 4_096,
)  # fmt: skip
LONG_SIZES: Final = (limits.QUERY_BYTES_MAX, limits.TEXT_BYTES_MAX)
NUMBERS: Final = (
    0, 1, 4, limits.RECALL_LIMIT_MAX, 1_000, limits.TTL_MS_MAX, limits.PPM, limits.I64_MAX,
    limits.I64_MIN,
)  # fmt: skip
WORDS: Final[tuple[tuple[str, ...], ...]] = (
    BLOCK_KINDS, ENTITY_TYPES, MEMORY_TYPES, MODALITIES, tuple(CATEGORIES), tuple(LEVELS),
    ("user", "assistant", "system", "tool"), ("user", "model"), ("xml", "markdown", "tagged"),
    ("entity", "ended", "resource", "category", "membership", "subcategory", "reflection"),
    ("score", "model", "score_then_model", "never"), ("vector", "model"),
    ("blocks", "messages", "archival"),
    ("legacy", "dual_write", "dual_read", "umi_primary", "cleanup", "done", "rolling_back"),
)  # fmt: skip
SAID: Final = (("role", "user"), ("content", "x"))
OTHERS: Final[tuple[object, ...]] = (
    None, True, False, b"", "", " \t", "x", "__x", "a/b", "blk_1", "\ud800", "a\nb", "a\x00b", "\ufffe",
    "arc_000000000001", "arc_0000000000001", "arc_00000000000a", "arc_00000000001", (), ("x",),
    ("x", "x"), ("x", 1), (("x", "y"),), (("x", "y"), ("x", "z")), (("x", "y", "z"),), (("x", 1),),
    ["x"], {"x": "y"}, (None, None), (1, 0), (0, 0), (0, 1, 2), (None, True), (-1, None),
    (None, limits.I64_MAX + 1), ("\ud800",),
    SAID, (SAID,), (SAID,) * 100, (SAID,) * 101, (SAID[::-1],), ((*SAID, SAID[0]),), ((SAID[0],),),
    (SAID, "x"), ((*SAID, ("status", "ok")),), ((*SAID, ("status", "ok"), ("tool_name", "x")),),
    ((("role", "x"), SAID[1]),),
    (Turn("user", "x"),), (Turn("nobody", "x"),), [Turn("user", "x")], (Turn("user", "\ud800"),),
)  # fmt: skip


def of_size(size_bytes: int) -> Iterator[str]:
    """Yield texts of so many bytes, of one byte more, and of as many characters with more bytes."""
    yield from ("x" * size_bytes, "x" * (size_bytes + 1), WIDE * (size_bytes // 2))
    yield from (WIDE * (size_bytes // 2) + "x", WIDE * size_bytes)


SHORT: Final[tuple[object, ...]] = (
    *OTHERS, *(it for number in NUMBERS for it in around(number)),
    *(word for words in WORDS for word in words), *WORDS, *((word,) for words in WORDS for word in words),
)  # fmt: skip
TEXTS: Final = tuple(text for size_bytes in SIZES for text in of_size(size_bytes))
LONG: Final[tuple[object, ...]] = (
    *TEXTS, *((it,) for it in TEXTS), *("x" * n for size in LONG_SIZES for n in (size, size + 1)),
)  # fmt: skip
VALUES: Final = (*SHORT, *LONG)
COMPARED: Final[tuple[object, ...]] = (
    1, True, "x", None, limits.I64_MAX, limits.I64_MAX + 1, ("x", 1, None), (), ("x",) * 100,
    ("x",) * 101, ((),), ["x"], "\ud800", "x" * limits.QUERY_BYTES_MAX,
    WIDE * (limits.QUERY_BYTES_MAX // 2 + 1),
)  # fmt: skip
FILTERS: Final[tuple[object, ...]] = (
    *(
        ((field, how, it),)
        for field in (*KINDS_OF, *OF_SCOPE, "scope", 7)
        for how in (*HOLDS, "like", None)
        for it in COMPARED
    ),
    (("id", "ne", ""),) * 20, (("id", "ne", ""),) * 21, (("id", "eq"),), [("id", "ne", "")],
)  # fmt: skip
"""Filters of one condition, some of which cannot be decided, and some values that are no filters."""


@cache
def allowed(domain: str) -> Sequence[object]:
    """Return the short values that a request may hold in a field of this domain."""
    return [it for it in SHORT if WRONG[domain]("it", it) is None]


# Rows.


def odd(it: Any, **changes: Any) -> Any:
    """Return a copy with fields that the class does not allow; what it cannot convert stays as it is."""
    try:
        return structs.replace(it, **changes)
    except (TypeError, ValueError, AttributeError):  # of `__post_init__`
        made = copy(it)
        for name, value in changes.items():
            structs.force_setattr(made, name, value)
        return made


ENTRY: Final = Entry("e1", 1, "Ann", "tea", 5)
LATER: Final = Entry("e2", 1, "", "rope", 5)
TEXT: Final = Block("human", text="tea")
LABELLED: Final = Block("human", "diet", "tea")
PROMOTED: Final = Block("human", entries=(ENTRY, LATER))
IN_ROWS: Final[tuple[object, ...]] = (
    *around(127), b"x", ("x", 0), ("x", -1), ("x", None), (("x", 1), ("y", 0)), (("x", -1),), (("", 1),),
    (1, 2), (1, 127), (-127,), (-128,), (128,), (1, True), (b"x",), [1], (0, 1), (-1, 0), (1, 0, 1),
    "created", "set", "deleted", "unchanged", "update", "contradict", "works_at", "located_in", "none",
    "keywords", "default", "model", "message", "archival", "x" * 256, "x" * 257, "é" * 256, "é" * 257,
    (("status", "ok"),), (("tool_name", "x"), ("status", "ok")), (("status", "ok"), ("tool_name", "x")),
    (("content", "x"),), (Turn("user", "x"), "x"), ("x", "\ud800"), ("é" * 128,), ("é" * 129,), ("x\n",),
)  # fmt: skip
CORES: Final[tuple[object, ...]] = (
    (TEXT,), (TEXT, LABELLED), (LABELLED, TEXT), (TEXT, TEXT), (PROMOTED,), (PROMOTED, LABELLED),
    (Block("persona", text="I"), TEXT), (TEXT, Block("persona", text="I")),
    (PROMOTED, odd(PROMOTED, kind="facts", entries=(odd(LATER, entity_id="e3"),))),
    (odd(PROMOTED, kind="facts"), odd(PROMOTED, kind="scratch")), (odd(PROMOTED, entries=("x",)),),
    *((Block(kind, text=text),) for kind, text in (
        ("human", None), ("human", ""), ("attic", "x"), ("system", "x"),
    )),
    *((odd(TEXT, **{name: value}),) for name, value in (
        ("label", None), ("label", " Diet "), ("label", "a\nb"), ("importance_ppm", -1),
        ("importance_ppm", 1_000_001), ("importance_ppm", 1_000_000), ("importance_ppm", True),
        ("text", "\ud800"), ("text", b"x"), ("entries", None), ("kind", None),
    )),
    *((odd(PROMOTED, **{name: value}),) for name, value in (
        ("entries", (LATER, ENTRY)), ("entries", (ENTRY, ENTRY)), ("label", "diet"), ("kind", "system"),
        ("entries", (odd(LATER, promoted_ms=4), ENTRY)),
    )),
    *((odd(PROMOTED, entries=(odd(ENTRY, **{name: value}),)),) for name, value in (
        ("version", 0), ("promoted_ms", -1), ("promoted_ms", None), ("entity_id", ""),
        ("name", "x" * 257), ("text", None),
    )),
)  # fmt: skip
FACT: Final = Entity(
    "fct_1", "person", "Ann", "likes tea", 1, 5, 5, "human", 1, 2, about=("ent_1",), is_direct=True
)
FACTS: Final[tuple[object, ...]] = (
    FACT, odd(FACT, sources=("res_1",), vector_missing=True), None, "x", ENTRY, (FACT,),
    *(odd(FACT, **{name: value}) for name, value in (
        ("id", ""), ("type", "alien"), ("name", "x" * 257), ("content", None), ("version", 0),
        ("importance_ppm", -1), ("confidence_ppm", 1_000_001), ("block", ""), ("created_ms", -1),
        ("updated_ms", None), ("event_time_ms", -1), ("metadata", ("x",)), ("source", ""),
        ("vector_missing", 0), ("relation_count", -1), ("contradicts", (1,)), ("memory_type", "x"),
        ("sources", None), ("reinforced_count", -1), ("last_reinforced_ms", True), ("about", ("\ud800",)),
        ("is_direct", 1),
    )),
)  # fmt: skip
OF_FIELDS: Final = (*VALUES, *IN_ROWS)


def tried(field: str) -> tuple[object, ...]:
    """Return what is put into a field of a row: what may stand there, and what may not."""
    return {"blocks": CORES, "fact": FACTS}.get(field, OF_FIELDS)


@cache
def fitting(kind: str, field: str) -> Sequence[object]:
    return [it for it in tried(field) if FIELDS[kind][field](it)]


def sound(draw: Draw, kind: str) -> Body:
    """Draw a body of this kind whose fields hold what they may; a receipt repeats no reply."""
    given: Any = {name: draw.pick(fitting(kind, name)) for name in FIELDS[kind]}
    return BODIES[kind](**given, **({"value": None} if kind == "receipt" else {}))


def first_sound(kind: str) -> Body:
    """Return the body whose fields hold the first value that each may hold."""
    given: Any = {name: fitting(kind, name)[0] for name in FIELDS[kind]}
    return BODIES[kind](**given, **({"value": None} if kind == "receipt" else {}))


# Any class.

SHOWN: Final = ("", "tea", "日本", 'a "b" \\ \n', "x/y", "\x00", "é" * 20)


def built(draw: Draw, cls: Any, known: Mapping[str, Sequence[object]] = {}) -> Any:
    """Draw an object of a class; `known` has the values of some fields, by name."""
    return cls(
        **{
            it.name: draw.pick(known[it.name]) if it.name in known else of_type(draw, it.type, known)
            for it in list_fields(cls)
        }
    )


def of_type(draw: Draw, kind: Any, known: Mapping[str, Sequence[object]] = {}) -> Any:
    """Draw a value of an annotation; of several types the first one, or None where that is allowed."""
    if type(None) in get_args(kind) and draw.chance(1, 3):
        return None
    while get_args(kind) and get_origin(kind) is not tuple:
        kind = get_args(kind)[0]
    if get_origin(kind) is tuple:
        each, *rest = get_args(kind)
        kinds = [each] * draw.between(1, 3) if rest == [...] else [each, *rest]
        return tuple(of_type(draw, it, known) for it in kinds)
    if is_struct(kind):
        return built(draw, kind, known)
    return draw.chance(1, 2) if kind is bool else draw.pick((0, 1, 7, 10**12) if kind is int else SHOWN)
