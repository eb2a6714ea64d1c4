"""Goal: rows are held to the question, and all pages are one answer (EN4, EN5.12)."""

from typing import Any

import pytest

from tests.unit.core.engine.trial import ALL, READ, SEARCH, Trial, asking, found, trial
from tests.worlds import SCOPE
from umi_core.engine.workflow import (
    OUTCOME,
    Learned,
    OnFailure,
    forever,
    retry,
)
from umi_core.errors import (
    StorageFailed,
)
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import (
    ByFilter,
    ByIds,
    Degraded,
    Done,
    Failed,
    Read,
)
from umi_core.rows import Address, Core, Row
from umi_core.values import Scope


def list_row_texts(facts: Any, answer: Any, view: Any) -> Learned:
    return Learned({"outcome": Done(tuple(row.address.id for row in answer.rows))})


# Reads.

HERE, THERE = Address(SCOPE, "entity", "e"), Address(Scope("u2", "a1"), "entity", "e")


def reading(read: Read, attempts: int = 2) -> Trial:
    return trial(asking("a", read, retry(attempts), take=list_row_texts, produces=(OUTCOME,)))


def test_all_pages_of_a_filter_are_one_answer_in_order_each_row_once() -> None:
    run = reading(ALL)
    assert isinstance(run.sent[0], Read)
    assert run.sent[0].query == ByFilter(SCOPE, ("entity",), limit=1_000)
    run.answer(ReadDone(0, (found("c"), found("a")), cursor="1"))
    run.answer(ReadDone(0, (found("a"),), cursor="2"))  # nothing new: not at once
    run.at(100)
    run.answer(ReadDone(0, (found("b"), found("c"))))
    assert [read.query.cursor for read in run.sent if isinstance(read, Read)] == [None, "1", "2"]  # type: ignore[union-attr]
    assert run.outcome == Done(("a", "b", "c"))


def test_pages_that_bring_nothing_new_come_to_an_end() -> None:
    run = reading(ALL)
    run.answer(ReadDone(0, (found("a"),), cursor="1"))
    run.answer(ReadDone(0, (found("a"),), cursor="1"))
    run.at(100)
    run.answer(ReadDone(0, (), cursor="1"))
    assert run.outcome == Failed(StorageFailed("a", "unavailable", 2))


def test_each_page_has_attempts_of_its_own() -> None:
    run = reading(ALL)
    run.fail("unavailable")
    run.at(100)
    run.answer(ReadDone(0, (found("a"),), cursor="1"))
    run.fail("unavailable")
    assert run.due_ms == 200
    run.at(200)
    run.answer(ReadDone(0, (found("b"),)))
    assert run.outcome == Done(("a", "b"))


def test_a_filter_with_a_limit_is_one_page() -> None:
    run = reading(Read(ByFilter(SCOPE, ("entity",), limit=2)))
    run.answer(ReadDone(0, (found("a"),), cursor="1"))
    assert run.outcome == Done(("a",))


def test_rows_of_a_search_come_by_score_then_id_and_of_ids_as_asked() -> None:
    search, by_ids = reading(SEARCH), reading(Read(ByIds((found("b").address, found("a").address))))
    search.answer(ReadDone(0, (found("b", 5), found("a", 5), found("c", 9), found("b", 5))))
    by_ids.answer(ReadDone(0, (found("a"), found("b"))))
    assert (search.outcome, by_ids.outcome) == (Done(("c", "a", "b")), Done(("b", "a")))


BAD_ROWS = {
    "another scope": Row(THERE, 1, found("e").body, 3),
    "another kind": found("e", 3, "vector"),
    "damaged": Row(HERE, 1, None, 3),
    "the body of another": Row(HERE, 1, found("a").body, 3),
    "the body of another kind": Row(HERE, 1, Core(()), 3),
}


@pytest.mark.parametrize("bad", BAD_ROWS.values(), ids=BAD_ROWS)
def test_a_search_goes_on_without_bad_rows_and_says_so(bad: Row) -> None:
    run = reading(SEARCH)
    run.answer(ReadDone(0, (found("a", 3), bad)))
    name, reason = (
        ("read:damaged_rows", "damaged") if bad.address == HERE else ("read:foreign_rows", "foreign")
    )
    assert run.outcome == Done(("a",), (Degraded(name, reason),))


@pytest.mark.parametrize("score_ppm", [None, 0, -1, 1_000_001])
def test_a_hit_without_a_score_that_was_asked_for_is_foreign(score_ppm: int | None) -> None:
    run = reading(SEARCH)
    run.answer(ReadDone(0, (found("a", 3), found("b", score_ppm))))
    assert run.outcome == Done(("a",), (Degraded("read:foreign_rows", "foreign"),))


SPARED = Row(HERE, 1, None)


@pytest.mark.parametrize(("policy", "attempts"), [(retry(1), 1), (retry(3), 3), (forever(), 3)])
def test_a_damaged_row_is_spared_only_at_the_last_attempt(policy: OnFailure, attempts: int) -> None:
    """Damage in one answer alone left a fact out of a loaded session, and the next save made that last."""
    run = trial(asking("a", ALL, policy, take=list_row_texts, produces=(OUTCOME,), spares=("entity",)))
    for _ in range(attempts - 1):
        run.answer(ReadDone(0, (found("a"), SPARED)))
        assert not run.replies
        run.at(run.due_ms or 0)
    run.answer(ReadDone(0, (found("a"), SPARED)))
    assert run.outcome == Done(("a", "e"), (Degraded("read:damaged_rows", "damaged"),))


def test_what_reads_well_the_second_time_is_complete() -> None:
    run = trial(asking("a", ALL, retry(2), take=list_row_texts, produces=(OUTCOME,), spares=("entity",)))
    run.answer(ReadDone(0, (found("a"), SPARED)))
    run.at(100)
    run.answer(ReadDone(0, (found("a"), found("e"))))
    assert run.outcome == Done(("a", "e"))


@pytest.mark.parametrize("read", [READ, ALL], ids=["by ids", "by filter"])
@pytest.mark.parametrize("bad", BAD_ROWS.values(), ids=BAD_ROWS)
def test_any_other_read_with_a_bad_row_has_failed(read: Read, bad: Row) -> None:
    run = reading(read)
    run.answer(ReadDone(0, (bad,)))
    run.at(100)
    run.answer(ReadDone(0, (bad,)))
    kind = "damaged" if bad.address == HERE else "unavailable"
    assert run.outcome == Failed(StorageFailed("a", kind, 2))
