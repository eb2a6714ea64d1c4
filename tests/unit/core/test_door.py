"""Goal: what a host gets wrong is refused at the door; what a service gets wrong is a failure of it."""

from typing import Any

import pytest
from msgspec import structs

import umi_core
from tests.worlds import SCOPE, Pair, recovered
from umi_core import limits
from umi_core.answer_checks import is_receipt_of
from umi_core.errors import Rejected, StorageFailed
from umi_core.memory import Memory
from umi_core.messages.answers import Committed, EffectFailed, Embedded, ModelReplied, ReadDone, Wake
from umi_core.messages.effects import ByFilter, Commit, Done, Failed, Read, Unknown
from umi_core.messages.requests import Forget, GetEntity, Remember
from umi_core.messages.results import Forgotten
from umi_core.rows import Address, Receipt, Relation, Row

ANYTHING: Any = object()
SEVEN: Any = 7
LIST: Any = []
NO_ANSWERS: tuple[Any, ...] = (
    ReadDone(0, ANYTHING), ReadDone(0, (ANYTHING,)), ReadDone(0, (), SEVEN), ReadDone(0, LIST, None),
    ReadDone(0, (Row(Address(ANYTHING, "core", "core"), 1, None),)), ReadDone(0, (), None, ANYTHING),
    Embedded(0, ((1,),)), ModelReplied(0, "{}"), Committed(0), EffectFailed(0, ANYTHING),
    EffectFailed(0, "rate_limited", ANYTHING), EffectFailed(0, "unavailable", -1),
    EffectFailed(0, "conflict", 0, ANYTHING),
)  # fmt: skip


@pytest.mark.parametrize(
    ("now_ms", "value", "message"),
    [
        (1.5, Wake(), "now_ms: 1.5 is not allowed, expected a whole number of milliseconds"),
        (True, Wake(), "now_ms: True is not allowed, expected a whole number of milliseconds"),
        (None, Wake(), "now_ms: None is not allowed"),
        (0, None, "value: None is not allowed, expected a request, an answer or Wake"),
        (0, "remember", "value: remember is not allowed"),
        (0, Wake, "is not allowed, expected a request, an answer or Wake"),
    ],
)
def test_a_step_with_no_time_or_no_value_is_refused_and_changes_nothing(
    now_ms: Any, value: Any, message: str
) -> None:
    memory = recovered(Pair()).memory
    before = memory.digest()
    with pytest.raises(Rejected) as refused:
        memory.step(now_ms, value)
    assert message in str(refused.value)
    assert memory.digest() == before


@pytest.mark.parametrize("no_answer", NO_ANSWERS)
def test_what_is_no_answer_to_a_read_is_a_failure_of_storage(no_answer: Any) -> None:
    pair = recovered(Pair())
    pair.step(GetEntity(1, "ent_0"))
    while pair.pending:
        asked = pair.pending.pop()
        pair.step(structs.replace(no_answer, request_id=asked.request_id))
        pair.wake()
    assert pair.replies[1].outcome == Failed(StorageFailed("read", "unavailable", 3))


@pytest.mark.parametrize("no_answer", NO_ANSWERS)
def test_what_is_no_answer_to_a_commit_leaves_open_how_it_ended(no_answer: Any) -> None:
    if isinstance(no_answer, EffectFailed) and no_answer.kind == "unavailable":
        no_answer = structs.replace(no_answer, kind="full")
    pair = recovered(Pair())
    pair.step(Remember(1, "Alice likes tea"))
    while 1 not in pair.replies:
        asked = pair.until(Commit) if pair.pending else None
        if asked is None:
            pair.wake()
            continue
        pair.pending.remove(asked)
        pair.step(structs.replace(no_answer, request_id=asked.request_id))
    assert pair.replies[1].outcome == Unknown()


def test_a_receipt_of_the_same_request_with_another_kind_of_reply_is_none_of_this_key() -> None:
    pair = recovered(Pair())
    pair.step(Remember(1, "Alice likes tea", request_key="k"))
    asked = pair.until(Commit)
    (receipt,) = [write.body for write in asked.writes if isinstance(write.body, Receipt)]
    answer = Committed(0, (), structs.replace(receipt, value=Forgotten(True)))
    assert not is_receipt_of(asked, answer)
    assert is_receipt_of(asked, structs.replace(answer, receipt=receipt, versions=versions_of(asked)))


def versions_of(asked: Commit) -> tuple[tuple[Address, int], ...]:
    return tuple((write.address, 1) for write in asked.writes)


def test_a_receipt_that_holds_no_reply_is_not_replied() -> None:
    """Storage gives back, under a known key, a receipt with something else in it."""
    pair = recovered(Pair())
    assert isinstance(pair.ask(Remember(1, "Alice likes tea", request_key="k")), Done)
    row = next(row for row in pair.rows("receipt") if isinstance(row.body, Receipt) and row.body.value)
    assert isinstance(row.body, Receipt)
    pair.storage.rows[row.address] = structs.replace(row, body=structs.replace(row.body, value=None))
    outcome = pair.ask(Remember(2, "Alice likes tea", request_key="k"))
    assert outcome == Failed(StorageFailed("seen", "unusable", 1))


@pytest.mark.parametrize("request_id", [None, "1", [], -1, 10**30, 1.0])
def test_an_answer_that_names_no_question_is_not_delivered(request_id: Any) -> None:
    pair = recovered(Pair())
    pair.step(GetEntity(1, "ent_0"))
    before = pair.memory.digest()
    pair.step(ReadDone(request_id))
    assert pair.memory.digest() == before
    pair.run()
    assert pair.replies[1].outcome == Done(None)


def test_a_question_is_not_answered_in_the_step_that_asks_it() -> None:
    """The time of the first attempt is over: the step asks once more, and then looks at the answer."""
    pair = recovered(Pair())
    pair.step(GetEntity(1, "ent_0"))
    asked = pair.pending.pop()
    pair.now_ms += pair.config.store_timeout_ms
    pair.wake(pair.now_ms)
    pair.now_ms = pair.memory.deadline_ms() or 0
    (again,) = pair.step(ReadDone(asked.request_id + 1))
    assert again.request_id == asked.request_id + 1
    assert 1 not in pair.replies
    pair.run()
    assert pair.replies[1].outcome == Done(None)


@pytest.mark.uncounted
def test_a_store_that_invents_one_row_a_page_is_not_followed_for_ever() -> None:
    pair = recovered(Pair())
    pair.ask(Remember(1, "Alice likes tea"))
    (entity,) = pair.rows("entity")
    pair.step(Forget(2, entity.address.id))
    page_count = 0
    while 2 not in pair.replies:
        asked = pair.pending.pop(0) if pair.pending else None
        if asked is None:
            Memory.restore(pair.memory.snapshot(), life=7)  # saved now, it can be
            pair.wake()
        elif isinstance(asked, Read) and isinstance(asked.query, ByFilter):
            page_count += 1
            key = f"rel_{page_count}"
            ends = (entity.address.id, 1), ("fct_0", 1)
            body = Relation(key, "derive", *ends, 500_000, "", "table", 0)
            invented = Row(Address(SCOPE, "relation", key), 1, body)
            pair.step(ReadDone(asked.request_id, (invented,), f"page {page_count}"))
        else:
            pair.step(pair.world(asked))
    assert page_count == limits.READ_PAGE_COUNT_MAX + 3
    assert pair.replies[2].outcome == Failed(StorageFailed("touching", "unavailable", 3))


def test_a_package_exports_four_names_and_no_other() -> None:
    package: Any = umi_core
    assert {name: getattr(package, name).__name__ for name in package.__all__} == {
        "Config": "Config", "Memory": "Memory", "Rejected": "Rejected", "Scope": "Scope",
    }  # fmt: skip
    with pytest.raises(AttributeError, match="module 'umi_core' has no attribute 'Memroy'"):
        _ = package.Memroy
