"""Answers of a storage that gives more than was asked for: scores that nobody wanted, rows of others.

Law 1. A row counts if it was asked for and is whole. A search goes on without the others, other reads fail.
"""

from typing import Final

from umi_core.answer_checks import in_order, judged_rows
from umi_core.conditions import Condition, Where
from umi_core.config import Config
from umi_core.invariants.broken import demand
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByFilter, ByIds, ByVector, ByWords, Read
from umi_core.rows import Address, Body, Category, Entity, Row
from umi_core.values import Scope
from umi_sim.judge.plain import answers
from umi_sim.kernel.prng import Stream
from umi_sim.record import rules

READS: Final = 12  # of each trial
MINE: Final = Scope("u", "a")
SCOPES: Final = (*(MINE,) * 9, Scope("u", "b"))
KINDS: Final = ("entity", "entity", "entity", "category")
IDS: Final = ("e1", "e2", "e3", "e4")
SCORES: Final = (None, 0, 1, 500_000, 1_000_000)
STRANGE_SCORES: Final = (-1, 1_000_001)
CONDITIONS: Final = (
    Condition("type", "eq", "person"), Condition("created_ms", "gte", 5), Condition("created_ms", "lt", 5),
    Condition("name", "in", ("Ann", "facts")), Condition("name", "not_in", ("Bob",)),
    Condition("id", "ne", "e1"),
    Condition("event_time_ms", "eq", None), Condition("metadata", "has_key", "k"),
    Condition("sources", "contains", "res_1"),
)  # fmt: skip


def body(draw: Stream, kind: str, key: str) -> Body | None:
    if draw.chance(1, 12):
        return None
    key = key if draw.chance(15, 16) else "e9"
    if kind == "category":
        return Category(key, draw.pick(("facts", "rules")), "", 0, draw.pick((4, 5)), 5)
    made_ms = draw.pick((4, 5))
    return Entity(
        key, draw.pick(("person", "note")), draw.pick(("Ann", "Bob")), "tea", 1, 0, 0, "human", made_ms, 5,
        event_time_ms=draw.pick((None, 7)), metadata=draw.pick(((), (("k", "v"),))),
        sources=draw.pick(((), ("res_1",))),
    )  # fmt: skip


def is_right(row: Row) -> bool:
    """Whether this is a body of its address: all that `body` makes is in range."""
    cls = {"entity": Entity, "category": Category}[row.address.kind]
    return row.body is not None and isinstance(row.body, cls) and row.body.own_id() == row.address.id


def row(draw: Stream) -> Row:
    address = Address(draw.pick(SCOPES), draw.pick(KINDS), draw.pick(IDS))
    score_ppm = draw.pick(SCORES if draw.chance(15, 16) else STRANGE_SCORES)
    there = body(draw, address.kind if draw.chance(31, 32) else draw.pick(KINDS), address.id)
    return Row(address, draw.below(4), there, score_ppm)


def query(draw: Stream) -> answers.Reads:
    where: Where = tuple(draw.subset(CONDITIONS, 1, 9))
    least_ppm = draw.pick((0, 1, 500_000))
    asked: tuple[answers.Reads, ...] = (
        ByIds(tuple(Address(MINE, "entity", key) for key in draw.shuffle(IDS))),
        ByFilter(MINE, draw.pick((("entity",), ("entity", "category"))), where),
        ByVector(MINE, (1, 2), where, 10, least_ppm),
        ByWords(MINE, "tea", where, 10, least_ppm, draw.pick(("entity", "category"))),
    )
    return draw.pick(asked)


def try_answers(draw: Stream, config: Config) -> None:
    for _ in range(READS):
        asked = query(draw)
        check_counted(asked, tuple(row(draw) for _ in range(draw.below(5))), draw.pick(((), ("entity",))))


def check_counted(asked: answers.Reads, rows: tuple[Row, ...], spares: tuple[str, ...]) -> None:
    read = Read(asked)
    told = judged_rows(read, ReadDone(1, rows), spares)
    got = answers.Counted(told.rows, told.left_out, told.failure)
    wanted = answers.counted(asked, rows, spares, is_right)
    demand(wanted == got, rules.READ_SCOPE, f"of {rows} to {asked} count", wanted, got)
    order, ordered = answers.in_order(asked, wanted.rows), list(in_order(read, wanted.rows))
    demand(order == ordered, rules.HITS_ORDERED, f"{wanted.rows} to {asked} in order", order, ordered)
