"""Values that nobody gives in a run of moderate length: on each limit, one beyond, and of every wrong type.

Law 1. Each value is tried in the place of each argument, so also where it is absurd: a domain is right if it
refuses exactly what the plain one refuses, with the same error.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import chain, islice, product
from typing import Any, Final

import attrs

from umi_core.config import Config
from umi_core.domains import domain_of
from umi_core.errors import Error
from umi_core.invariants import limits
from umi_core.invariants.broken import Broken
from umi_core.messages.requests import ALL
from umi_core.values import BLOCK_KINDS, CATEGORIES, ENTITY_TYPES, LEVELS, MEMORY_TYPES, MODALITIES, Turn
from umi_sim.judge.plain.filters import HOLDS, KINDS_OF, OF_SCOPE
from umi_sim.judge.plain.requests import WRONG, is_same
from umi_sim.kernel.prng import Stream
from umi_sim.record import rules

TURNS: Final = 48
LONG_TURNS: Final = 128
SHOWN: Final = 200
WIDE: Final = "é"  # of two bytes
SIZES: Final = (
    limits.BLOCK_LABEL_BYTES_MAX, limits.SCOPE_PART_BYTES_MAX, limits.METADATA_BYTES_MAX,
    limits.EXTRACT_CONTENT_BYTES_MAX, limits.CURSOR_BYTES_MAX, 4_096,
)  # fmt: skip
LONG: Final = (limits.QUERY_BYTES_MAX, limits.TEXT_BYTES_MAX)
NUMBERS: Final = (
    0, 1, 4, limits.RECALL_LIMIT_MAX, 1_000, limits.TTL_MS_MAX, limits.PPM, limits.I64_MAX, limits.I64_MIN,
)  # fmt: skip
WORDS: Final[tuple[tuple[str, ...], ...]] = (
    BLOCK_KINDS, ENTITY_TYPES, MEMORY_TYPES, MODALITIES, tuple(CATEGORIES), tuple(LEVELS),
    ("user", "assistant", "system", "tool"), ("user", "model"), ("xml", "markdown", "tagged"),
    ("entity", "resource", "category", "membership", "subcategory", "reflection"),
    ("score", "model", "score_then_model", "never"), ("vector", "model"), ("blocks", "messages", "archival"),
    ("legacy", "dual_write", "dual_read", "umi_primary", "cleanup", "done", "rolling_back"),
)  # fmt: skip
COMPARED: Final[tuple[object, ...]] = (
    1, True, "x", None, limits.I64_MAX, limits.I64_MAX + 1, ("x", 1, None), (), ("x",) * 100, ("x",) * 101,
    ((),), ["x"], "\ud800", "x" * limits.QUERY_BYTES_MAX, WIDE * (limits.QUERY_BYTES_MAX // 2 + 1),
)  # fmt: skip
SAID: Final = (("role", "user"), ("content", "x"))
OTHERS: Final[tuple[object, ...]] = (
    None, True, False, b"", "", " \t", "x", "__x", "a/b", "blk_1", "\ud800", "a\nb", "a\x00b", "\ufffe",
    "arc_000000000001", "arc_0000000000001", "arc_00000000000a", "arc_00000000001", (), ("x",), ("x", "x"),
    ("x", 1), (("x", "y"),), (("x", "y"), ("x", "z")), (("x", "y", "z"),), (("x", 1),), ["x"], {"x": "y"},
    (None, None), (1, 0), (0, 0), (0, 1, 2), (None, True), (-1, None), (None,
    limits.I64_MAX + 1), ("\ud800",),
    SAID, (SAID,), (SAID,) * 100, (SAID,) * 101, (SAID[::-1],), ((*SAID, SAID[0]),),
    ((SAID[0],),), (SAID, "x"),
    ((*SAID, ("status", "ok")),), ((*SAID, ("status", "ok"), ("tool_name", "x")),), ((("role",
    "x"), SAID[1]),),
    (Turn("user", "x"),), (Turn("nobody", "x"),), [Turn("user", "x")], (Turn("user", "\ud800"),),
)  # fmt: skip

CHANGING: Final[tuple[object, ...]] = (["x"], [Turn("user", "x")])


def around(number: int) -> tuple[int, ...]:
    return number - 1, number, number + 1


def of_size(size_bytes: int) -> Iterator[str]:
    """Texts of so many bytes, of one byte more, and of as many characters with more bytes."""
    yield from ("x" * size_bytes, "x" * (size_bytes + 1), WIDE * (size_bytes // 2))
    yield from (WIDE * (size_bytes // 2) + "x", WIDE * size_bytes)


@cache
def values() -> tuple[object, ...]:
    """What is tried in every place."""
    numbers = (each for number in NUMBERS for each in around(number))
    words = [word for some in WORDS for word in some]
    return (*OTHERS, *numbers, *words, *WORDS, *((it,) for it in words))


@cache
def filters() -> tuple[object, ...]:
    """Filters of one condition, some of which nobody can decide, and some that are none."""
    fields, ways = (*KINDS_OF, *OF_SCOPE, "scope", 7), (*HOLDS, "like", None)
    given = [((field, how, it),) for field in fields for how in ways for it in COMPARED]
    return (*given, (("id", "ne", ""),) * 20, (("id", "ne", ""),) * 21, (("id", "eq"),), [("id", "ne", "")])


@cache
def long_values() -> tuple[object, ...]:
    """The same; to say what is wrong with one takes longer."""
    texts = [text for size_bytes in SIZES for text in of_size(size_bytes)]
    long = (text for size_bytes in LONG for text in ("x" * size_bytes, "x" * (size_bytes + 1)))
    return (*texts, *((it,) for it in texts), *long)


@cache
def places() -> dict[str, Callable[[str, Any], Error | None]]:
    """By domain: how the memory judges a value of it."""
    found = [domain_of(field.type) for cls in ALL for field in attrs.fields(cls)[1:]]
    return {domain.name: domain.wrong for domain in found}


@cache
def sound_values(domain: str) -> Sequence[object]:
    """What the plain reader allows there."""
    return [it for it in values() if WRONG[domain]("it", it) is None]


def try_values(draw: Stream, config: Config) -> None:
    """Some of them, others in each run; and what its giver may still change, each time."""
    for domain, value in product(places(), CHANGING):
        check_value(domain, value)
    pairs = chain(product(places(), values()), product(("filter", "row_filter"), filters()))
    longer = product(places(), long_values())
    for tried, turns in ((pairs, TURNS), (longer, LONG_TURNS)):
        for domain, value in islice(tried, draw.below(turns), None, turns):
            check_value(domain, value)


def check_value(domain: str, value: object) -> None:
    wanted, got = WRONG[domain]("it", value), places()[domain]("it", value)
    if not is_same(wanted, got):
        told = f"{repr(value)[:SHOWN]} as {domain}"
        raise Broken(rules.REFERENCE_AGREES, told, str(wanted), str(got))
