"""Goal: of an answer counts what was asked for, and interceptors put in its place only what may be there.

A good question or answer is drawn, and then mostly one field of it becomes another.
"""

from itertools import permutations, product
from typing import Any, Final

import pytest
from msgspec import structs

from tests.properties import answers_reference as reference
from tests.properties.answers_reference import Reads
from tests.properties.laws import Draw, law
from tests.properties.values import odd
from umi_core import answer_checks
from umi_core.conditions import Condition
from umi_core.config import Config
from umi_core.engine import middleware
from umi_core.engine.engine import Engine, collect_page
from umi_core.engine.middleware import Interceptor, Pass, Refuse, Rewrite, Substitute
from umi_core.engine.workflow import Learned, Step
from umi_core.limits import READ_PAGE_COUNT_MAX
from umi_core.memory import Memory
from umi_core.messages.answers import (
    Committed,
    EffectFailed,
    Embedded,
    ModelReplied,
    ReadDone,
    Wake,
)
from umi_core.messages.effects import (
    AskModel,
    ByFilter,
    ByIds,
    ByVector,
    ByWords,
    Commit,
    CountRows,
    Embed,
    Expect,
    FailureKind,
    Read,
    Write,
)
from umi_core.rows import Address, Body, Category, Entity, Receipt, Row
from umi_core.state import Operation, State
from umi_core.values import Scope
from umi_core.workflows import BUILT_IN

SCOPE: Final = Scope("u", "a")
STEP: Final = Step("rows", take=lambda facts, answer, view: Learned({}))
KINDS: Final = ("entity", "entity", "entity", "category")
IDS: Final = ("e1", "e2", "e3", "e4")
CONDITIONS: Final = (
    Condition("type", "eq", "person"), Condition("created_ms", "gte", 5), Condition("created_ms", "lt", 5),
    Condition("name", "in", ("Ann", "facts")), Condition("name", "not_in", ("Bob",)),
    Condition("id", "ne", "e1"), Condition("event_time_ms", "eq", None),
    Condition("metadata", "has_key", "k"), Condition("sources", "contains", "res_1"),
)  # fmt: skip
Page = tuple[tuple[Row, ...], bool]  # its rows, and whether it is the last one


def body(draw: Draw, kind: str, key: str) -> Body | None:
    if draw.chance(1, 12):
        return None
    key = "e9" if draw.chance(1, 16) else key
    if kind == "category":
        return Category(key, draw.pick(("facts", "rules")), "", 0, draw.pick((4, 5)), 5)
    return Entity(
        key, draw.pick(("person", "note")), draw.pick(("Ann", "Bob")), "tea", 1, 0, 0, "human",
        draw.pick((4, 5)), 5, event_time_ms=draw.pick((None, 7)),
        metadata=draw.pick(((), (("k", "v"),))), sources=draw.pick(((), ("res_1",))),
    )  # fmt: skip


def row(draw: Draw) -> Row:
    scope = Scope("u", "b") if draw.chance(1, 10) else SCOPE
    address = Address(scope, draw.pick(KINDS), draw.pick(IDS))
    score_ppm = draw.pick((-1, 1_000_001) if draw.chance(1, 16) else (None, 0, 1, 500_000, 1_000_000))
    kind = draw.pick(KINDS) if draw.chance(1, 32) else address.kind
    return Row(address, draw.below(4), body(draw, kind, address.id), score_ppm)


def answered(draw: Draw) -> tuple[Reads, tuple[Row, ...], tuple[str, ...]]:
    """Draw a question, rows that are returned, and the kinds of which an unread row counts."""
    where, least_ppm = tuple(draw.subset(CONDITIONS, 1, 9)), draw.pick((0, 1, 500_000))
    kinds = draw.pick((("entity",), ("entity", "category")))
    queries: tuple[Reads, ...] = (
        ByIds(tuple(Address(SCOPE, "entity", key) for key in draw.shuffle(IDS))),
        ByFilter(SCOPE, kinds, where),
        ByVector(SCOPE, (1, 2), where, 10, least_ppm),
        ByWords(SCOPE, "tea", where, 10, least_ppm, kinds[-1]),
    )
    return draw.pick(queries), tuple(draw.many(row, 0, 4)), draw.pick(((), ("entity",)))


@pytest.mark.slow
@law(answered, examples=300)
def test_rows_count_that_were_asked_for_and_are_complete(
    query: Reads, rows: tuple[Row, ...], without_body: tuple[str, ...]
) -> None:
    read = Read(query)
    judged = answer_checks.judged_rows(read, ReadDone(1, rows), without_body)
    wanted = reference.counted(query, rows, without_body)
    assert wanted == reference.Counted(judged.rows, judged.left_out, judged.failure)
    assert reference.in_order(query, wanted.rows) == list(answer_checks.in_order(read, wanted.rows))


def pages(draw: Draw) -> tuple[int, list[Page]]:
    """Draw pages of a read that has seen so many, perhaps nearly as many as a read may have."""

    def page(draw: Draw) -> Page:
        return tuple(draw.many(row, 0, 2)), draw.chance(1, 6)

    return draw.pick((0, 1, READ_PAGE_COUNT_MAX - draw.below(4))), draw.many(page, 1, 6)


@pytest.mark.slow
@law(pages, examples=200)
def test_a_read_of_all_rows_ends_with_its_last_page_or_fails(count: int, pages: list[Page]) -> None:
    query = ByFilter(SCOPE, ("entity", "category"), (), None)
    operation, asked = Operation(1, None, "forget", 1, 1, {}, page_count=count), Read(query)
    engine, reading = Engine(State(SCOPE, Config()), BUILT_IN), reference.Reading(count)
    for number, (rows, is_last) in enumerate(pages):
        page = ReadDone(number, rows, None if is_last else f"c{number}", 7)
        wanted = reading.turn(query, reference.counted(query, rows), is_last=is_last)
        operation.attempt = 2
        end, asked = collect_page(engine, operation, STEP, asked, page)
        assert wanted == (end.kind if isinstance(end, EffectFailed) else end and "done")
        assert (reading.rows, reading.page_count) == (list(operation.pages), operation.page_count)
        if end is None:  # the next page is asked for from the end of this one, with new attempts
            assert (getattr(asked.query, "cursor", None), operation.attempt) == (page.cursor, 0)
        elif isinstance(end, ReadDone):
            assert end == structs.replace(page, rows=tuple(reading.rows))
            break


def test_an_answer_to_no_question_changes_nothing() -> None:
    """A new memory asks its first question, number 1, in its first step, whatever it is given then."""
    memory = Memory(SCOPE)
    first, digest = memory.step(5, Wake()), memory.digest()
    kinds: tuple[FailureKind, ...] = ("timeout", "unavailable", "refused")
    for kind in kinds:
        for number in (None, "1", b"1", (1,), -1, 0, 2, 2**70):
            answer = EffectFailed(number, kind)  # type: ignore[arg-type]
            assert (memory.step(5, answer), memory.digest()) == ((), digest)
            assert Memory(SCOPE).step(5, answer) == first
        assert Memory(SCOPE).step(5, EffectFailed(1, kind)) == first


# Interceptors.


def test_an_interceptor_goes_once_and_alone() -> None:
    for names in permutations(("one", "two", "three")):
        state = State(SCOPE, Config(), seen_ms=5, phase="ready", epoch=3)
        memory = Memory.standing_at(state, BUILT_IN)
        for name in names:
            memory.intercept(Interceptor(name))
        assert [memory.dispose("two"), memory.dispose("two")] == [True, False]
        assert sorted(memory.registry.generations[-1].named) == ["one", "three"]


ANN: Final = Address(SCOPE, "entity", "e1")
BOB: Final = Address(SCOPE, "entity", "e2")
OTHER: Final = Address(Scope("u", "b"), "entity", "e1")
TYPED: Final = CONDITIONS[0]
NAMED: Final = Condition("name", "in", ("Ann", None, 3, True))
RECEIPT: Final = Receipt("k", b"r", b"p", None, 5)


def entity(key: str, kind: str = "person") -> Entity:
    return Entity(key, kind, "Ann", "tea", 1, 0, 0, "human", 4, 5)


ASKED: Final[tuple[Any, ...]] = (
    AskModel("extract", "Read this", "default", 7, 500), Embed(("tea", "rope"), "default", 7, 500),
    *(Read(query, "main", 7, 500) for query in (
        ByIds((ANN, BOB)), ByFilter(SCOPE, ("entity",), (TYPED,), 10, "c"),
        ByFilter(SCOPE, ("entity", "category"), (), None), CountRows(SCOPE, ("entity",), (TYPED,)),
        ByVector(SCOPE, (1, 2), (TYPED,), 5, 300_000), ByWords(SCOPE, "tea", (), 5, 1),
    )),
    Commit((Write(ANN, entity("e1")), Write(BOB, None)), (Expect(ANN, 1),), "k", "main", 7, 500),
    Commit((Write(ANN, entity("e1")), Write(BOB, RECEIPT)), (), "k", "main", 7, 500),
)  # fmt: skip
ANSWERS: Final[tuple[Any, ...]] = (
    ModelReplied(7, "so"), Embedded(7, ((1, 2), (3, 4))), ReadDone(7, ()),
    ReadDone(7, (), "c"), ReadDone(7, (), None, 3),
    ReadDone(7, (Row(ANN, 1, entity("e1")), Row(BOB, 0, entity("e2")))),
    *(ReadDone(7, (it,)) for it in (
        Row(ANN, 1, entity("e1"), 400_000), Row(ANN, 1, entity("e1"), 1), Row(ANN, 1, None),
        Row(OTHER, 1, entity("e1")), Row(ANN, 1, entity("e1", "note")),
    )),
    *(EffectFailed(7, kind) for kind in ("timeout", "too_long", "unknown", "damaged")),
    EffectFailed(7, "full", 5), EffectFailed(7, "conflict", 0, ((ANN, 2),)),
    Committed(7, ((ANN, 2), (BOB, 3)), RECEIPT), Committed(7, ((ANN, 1),)), Committed(7, ((ANN, 0),)),
    *(Committed(7, versions, odd(RECEIPT, **changes)) for versions, changes in (
        ((), {}), ((), {"plan_digest": b"q"}), (((ANN, 1),), {"plan_digest": b"q"}),
        (((ANN, 1), (BOB, 1)), {"key": "l"}), (((ANN, 1), (BOB, 1)), {"value": entity("e1")}),
        ((), {"value": entity("e1"), "request_digest": b"s", "plan_digest": b"q"}),
    )),
)  # fmt: skip
ODD: Final[tuple[object, ...]] = (
    None, True, 0, 1, 7, -1, 5, 10, 11, 499, 500, 501, 2**63, "", " ", "x", "default", "main", "\ud800",
    b"x", (), ("x",), ("x", "y"), ("x", " "), ("x", "\ud800"), ["x", "y"], ("x", None), (TYPED,),
    (TYPED, NAMED), (NAMED, TYPED), (TYPED,) * 20, (TYPED,) * 21, (odd(TYPED, value=b"x"),),
    (TYPED, odd(NAMED, value=(("x",),))), (TYPED, odd(NAMED, field=None)), [TYPED], (TYPED, "x"),
    ((1, 2),), ((1,), (2,)), ((), None), ((ANN, 1),), ((ANN, True),), (("e1", 1),), ((ANN, 2**63),),
    (Row(ANN, -1, None),), (Row(ANN, 1, entity("e1")),), (odd(Row(ANN, 1, None), version=True),),
    (odd(Row(ANN, 1, None), score_ppm="x"),), ("entity",), ("category",), RECEIPT,
)  # fmt: skip


def variants(it: Any) -> list[Any]:
    """Return the object, and it with each odd value in each field of it and of its query."""
    found = [it]
    for name in it.__struct_fields__:
        values = [*ODD, *(variants(it.query)[1:] if name == "query" else ())]
        found += [odd(it, **{name: value}) for value in values]
    return found


ALL_ANSWERS: Final = [it for answer in ANSWERS for it in variants(answer)]


def test_a_question_is_replaced_by_a_narrower_one_only() -> None:
    for asked, given in product(ASKED, ASKED):
        for it in variants(given) if type(asked) is type(given) else [given]:
            assert reference.may_replace(asked, it) == middleware.may_before(asked, Rewrite(it)), it


def test_an_answer_is_one_to_its_question_or_counts_as_a_failure() -> None:
    for asked, answer in product(ASKED, ALL_ANSWERS):
        is_possible = reference.is_possible(asked, answer)
        failed = EffectFailed(answer.request_id, "unknown" if isinstance(asked, Commit) else "unavailable")
        assert is_possible == answer_checks.is_answer_of(asked, answer), (asked, answer)
        assert (answer if is_possible else failed) == answer_checks.check_answer(asked, answer), (
            asked,
            answer,
        )


def test_an_interceptor_gives_only_what_the_world_might_answer() -> None:
    asked_for_rows = [it for it in ASKED if not isinstance(getattr(it, "query", None), CountRows)]
    for asked, answer in product(asked_for_rows, ALL_ANSWERS):
        given = Substitute(answer)
        may_be = reference.may_stand_for(asked, answer)
        assert may_be == middleware.may_before(asked, given), (asked, answer)
        assert may_be == middleware.may_after(asked, ANSWERS[0], given), (asked, answer)
        can_be_refused = not isinstance(answer, EffectFailed | Committed)
        assert middleware.may_after(asked, answer, Pass())
        assert can_be_refused == middleware.may_after(asked, answer, Refuse("no"))
