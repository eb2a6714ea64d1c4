"""Answers of a storage that gives more than was asked for: scores that nobody wanted, rows of others.

Law 1. A row counts if it was asked for and is whole. A search goes on without the others, other reads fail.
"""

from typing import Any, Final

import attrs

from umi_core.answer_checks import in_order, judged_rows
from umi_core.conditions import Condition, Where
from umi_core.config import Config
from umi_core.engine.engine import Engine, collect_page
from umi_core.engine.workflow import Learned, Step
from umi_core.invariants.broken import demand
from umi_core.memory import Memory
from umi_core.messages.answers import EffectFailed, ReadDone, Wake
from umi_core.messages.effects import ByFilter, ByIds, ByVector, ByWords, Read
from umi_core.rows import Address, Body, Category, Entity, Row
from umi_core.state import Operation, State
from umi_core.values import Scope
from umi_core.workflows import BUILT_IN
from umi_sim.judge.plain import answers
from umi_sim.kernel.prng import Stream
from umi_sim.record import rules

READS: Final = 12  # of each trial
NOW_MS: Final = 5
FAILURES: Final = ("timeout", "unavailable", "refused")
STRANGE_NUMBERS: Final = (None, "1", b"1", (1,), -1, 0, 2, 2**70)
PAGES: Final = 6  # of one of them
STEP: Final = Step("rows", take=lambda facts, answer, view: Learned({}))
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
    check_pages(draw)
    check_strangers(draw)
    for _ in range(READS):
        asked = query(draw)
        check_counted(asked, tuple(row(draw) for _ in range(draw.below(5))), draw.pick(((), ("entity",))))


def check_strangers(draw: Stream) -> None:
    """Answers to no question that was asked; a new memory asks its first one, number 1, in that very step."""
    kind, asking = draw.pick(FAILURES), Memory(MINE)
    first = asking.step(NOW_MS, Wake())
    due = (), asking.digest()
    for number in STRANGE_NUMBERS:
        answer: Any = EffectFailed(number, kind)  # type: ignore[arg-type]
        got = asking.step(NOW_MS, answer), asking.digest()
        demand(due == got, rules.LATE_IS_INERT, f"{answer} where 1 was asked", due, got)
    for number in (*STRANGE_NUMBERS, 1):
        answer = EffectFailed(number, kind)  # type: ignore[arg-type]
        effects = Memory(MINE).step(NOW_MS, answer)
        demand(first == effects, rules.LATE_IS_INERT, f"{answer} before 1 was asked", first, effects)


def check_counted(asked: answers.Reads, rows: tuple[Row, ...], spares: tuple[str, ...]) -> None:
    read = Read(asked)
    told = judged_rows(read, ReadDone(1, rows), spares)
    got = answers.Counted(told.rows, told.left_out, told.failure)
    wanted = answers.counted(asked, rows, spares, is_right)
    demand(wanted == got, rules.READ_SCOPE, f"of {rows} to {asked} count", wanted, got)
    order, ordered = answers.in_order(asked, wanted.rows), list(in_order(read, wanted.rows))
    demand(order == ordered, rules.HITS_ORDERED, f"{wanted.rows} to {asked} in order", order, ordered)


def check_pages(draw: Stream) -> None:
    """A read of all rows, which may have seen nearly as many pages as any may."""
    query = ByFilter(MINE, ("entity", "category"), (), None)
    count = draw.pick((0, 1, answers.PAGES - draw.below(4)))
    operation = Operation(1, None, "forget", 1, 1, {}, page_count=count)
    asked = Read(query)
    engine, plain = Engine(State(MINE, Config()), BUILT_IN), answers.Reading([], count)
    for number in range(PAGES):
        rows, is_last = tuple(row(draw) for _ in range(draw.pick((0, 1, 1, 2)))), draw.chance(1, PAGES)
        page = ReadDone(number, rows, None if is_last else f"c{number}", draw.pick((None, 7)))
        wanted = plain.turn(query, answers.counted(query, rows, (), is_right), is_last=is_last)
        operation.attempt = 2
        came, asked = collect_page(engine, operation, STEP, asked, page)
        got = None if came is None else came.kind if isinstance(came, EffectFailed) else "done"
        told = f"page {count + number + 1} of a read, which has {rows}"
        demand(wanted == got, rules.READ_SCOPE, told, wanted, got)
        demand(plain.rows == list(operation.pages), rules.READ_SCOPE, told, plain.rows, operation.pages)
        is_counted = operation.page_count == plain.page_count
        demand(is_counted, rules.TABLES_BOUNDED, told, plain.page_count, operation.page_count)
        if came is None:
            check_onward(operation, asked, page, told)
        elif isinstance(came, ReadDone):
            whole = attrs.evolve(page, rows=tuple(plain.rows))
            demand(whole == came, rules.READ_SCOPE, told, whole, came)
            break


def check_onward(operation: Operation, asked: Read, page: ReadDone, told: str) -> None:
    """The next page is asked for from the end of this one, with attempts of its own."""
    cursor = getattr(getattr(asked, "query", None), "cursor", None)
    demand(cursor == page.cursor, rules.READ_SCOPE, f"{told}: the next one", page.cursor, cursor)
    demand(operation.attempt == 0, rules.BACKOFF, f"{told}: attempts of the next", 0, operation.attempt)
