"""Goal: what a hook may do with an effect and its answer, and nothing else (EN6.11)."""

from typing import Any

import pytest
from msgspec import structs

from tests.worlds import conditions
from umi_core.conditions import Condition
from umi_core.engine.middleware import Pass, Refuse, Rewrite, Substitute, may_after, may_before
from umi_core.messages.answers import Answer, Committed, EffectFailed, Embedded, ModelReplied, ReadDone
from umi_core.messages.effects import (
    Asked,
    AskModel,
    ByFilter,
    ByIds,
    ByVector,
    ByWords,
    Commit,
    CountRows,
    Embed,
    Read,
)
from umi_core.rows import Address, Entity, Row
from umi_core.values import Scope

ASK = AskModel("extract", "p", request_id=7, timeout_ms=100)
FAILURE = EffectFailed(7, "unavailable")
E_ANSWER = ModelReplied(7, "E")

SCOPE = Scope("u1", "a1")
COMMIT = Commit((), (), "k", request_id=7)
EMBED = Embed(("x", "y"), request_id=7, timeout_ms=100)
BY_IDS = ByIds((Address(SCOPE, "entity", "e"),))
FILTER = ByFilter(SCOPE, ("entity",), conditions(types=("person",)), 1_000)
ALL = structs.replace(FILTER, limit=None)
COUNT = CountRows(SCOPE, ("entity",))
WORDS = ByWords(SCOPE, "tea", (), 20, 1)
VECTOR = ByVector(SCOPE, (1, 2), (), 20, 1)


def read(query: Any) -> Read:
    return Read(query, request_id=7, timeout_ms=100)


def changed(request: Any, **fields: Any) -> Any:
    """Whatever a hook may make of it."""
    return structs.replace(request, **fields)


def narrower(query: Any, **changes: Any) -> tuple[Read, Read]:
    return read(query), read(structs.replace(query, **changes))


MAY_REWRITE: dict[str, tuple[Asked, Any]] = {
    "prompt": (ASK, structs.replace(ASK, prompt="q")),
    "timeout down": (ASK, structs.replace(ASK, timeout_ms=1)),
    "texts, as many": (EMBED, structs.replace(EMBED, texts=("a", "b"))),
    "limit down": narrower(WORDS, limit=1),
    "a further condition": narrower(VECTOR, where=conditions(start_ms=5)),
    "both": narrower(FILTER, limit=10, where=conditions(types=("person",), end_ms=9)),
    "a condition of all rows": narrower(ALL, where=conditions(types=("person",), end_ms=9)),
    "a condition of a count": narrower(COUNT, where=conditions(types=("task",))),
    "the same ids": (read(BY_IDS), read(BY_IDS)),
}
MAY_NOT: dict[str, tuple[Asked, Any]] = {
    "task": (ASK, structs.replace(ASK, task="route")),
    "profile": (ASK, structs.replace(ASK, profile="fast")),
    "request_id": (ASK, structs.replace(ASK, request_id=8)),
    "timeout up": (ASK, structs.replace(ASK, timeout_ms=101)),
    "timeout zero": (ASK, structs.replace(ASK, timeout_ms=0)),
    "prompt that is no text": (ASK, changed(ASK, prompt=5)),
    "prompt with a lone surrogate": (ASK, structs.replace(ASK, prompt="\ud800")),
    "another effect": (ASK, EMBED),
    "nothing": (ASK, None),
    "fewer texts": (EMBED, structs.replace(EMBED, texts=("a",))),
    "a blank text": (EMBED, structs.replace(EMBED, texts=("a", " "))),
    "a text that is none": (EMBED, changed(EMBED, texts=("a", b"b"))),
    "timeout of an embed": (EMBED, structs.replace(EMBED, timeout_ms=5)),
    "a commit": (COMMIT, structs.replace(COMMIT, key="")),
    "limit up": narrower(WORDS, limit=21),
    "limit zero": narrower(WORDS, limit=0),
    "no limit": narrower(FILTER, limit=None),
    "a limit of all rows": narrower(ALL, limit=5),
    "fewer conditions": narrower(FILTER, where=()),
    "another condition": narrower(FILTER, where=conditions(types=("task",))),
    "other kinds": narrower(FILTER, kinds=("vector",)),
    "another text": narrower(WORDS, text="coffee"),
    "other ids": (read(BY_IDS), read(ByIds(()))),
    "another kind of query": (read(WORDS), read(VECTOR)),
    "store": (read(WORDS), structs.replace(read(WORDS), store="legacy")),
    "scope of a count": narrower(COUNT, scope=Scope("u2", "a1")),
    "half a millisecond": (ASK, changed(ASK, timeout_ms=1.5)),
    "a timeout that is a bool": (ASK, changed(ASK, timeout_ms=True)),
    "texts in a list": (EMBED, changed(EMBED, texts=["a", "b"])),
    "a limit that is a bool": narrower(WORDS, limit=True),
    "a condition in another place": narrower(FILTER, where=(*conditions(start_ms=5), *FILTER.where)),
    "a value that is a list": narrower(COUNT, where=(Condition("type", "in", ["person"]),)),  # type: ignore[arg-type]
    "a field that is no text": narrower(COUNT, where=(Condition(5, "in", ("person",)),)),  # type: ignore[arg-type]
    "more than may be": narrower(COUNT, where=21 * conditions(start_ms=5)),
    "conditions that are none": narrower(COUNT, where="person"),
}


@pytest.mark.parametrize(("before", "after"), MAY_REWRITE.values(), ids=MAY_REWRITE)
def test_what_may_be_rewritten(before: Asked, after: Any) -> None:
    assert may_before(before, Rewrite(after))


@pytest.mark.parametrize(("before", "after"), MAY_NOT.values(), ids=MAY_NOT)
def test_what_may_not_be_rewritten(before: Asked, after: Any) -> None:
    assert not may_before(before, Rewrite(after))


ENTITY = Entity("e", "person", "Eve", "x", 1, 0, 0, "human", 0, 0)
ROW = Row(Address(SCOPE, "entity", "e"), 1, ENTITY, 500_000)


@pytest.mark.parametrize(
    ("request_", "answer", "allowed"),
    [
        (ASK, ModelReplied(0, ""), True),
        (ASK, ModelReplied(0, 5), False),  # type: ignore[arg-type]  # a hook may say anything
        (ASK, Embedded(0, ()), False),
        (ASK, FAILURE, False),
        (EMBED, Embedded(0, ((1,), (2,))), True),
        (EMBED, Embedded(0, ((1,),)), False),
        (read(WORDS), ReadDone(0, (ROW,)), True),
        (read(FILTER), ReadDone(0, (ROW,), cursor="more"), False),
        (read(WORDS), ReadDone(0, ("row",)), False),  # type: ignore[arg-type]  # a hook may say anything
        (read(WORDS), changed(ReadDone(0), rows=iter(())), False),
        (read(WORDS), changed(ReadDone(0), rows=[ROW]), False),
        (read(WORDS), ReadDone(0, (structs.replace(ROW, score_ppm=None),)), False),
        (read(BY_IDS), ReadDone(0, (changed(ROW, version="1"),)), False),
        (read(BY_IDS), ReadDone(0, (changed(ROW, body="text"),)), False),
        (read(BY_IDS), ReadDone(0, (structs.replace(ROW, body=structs.replace(ENTITY, id="f")),)), False),
        (read(BY_IDS), ReadDone(0, (structs.replace(ROW, address=Address(SCOPE, "entity", "f")),)), False),
        (read(COUNT), changed(ReadDone(0), count=2.0), False),
        (read(COUNT), ReadDone(0, count=2), True),
        (EMBED, changed(Embedded(0, ()), vectors=[(1,), (2,)]), False),
        (EMBED, changed(Embedded(0, ()), vectors=((1,), [2])), False),
        (COMMIT, Committed(0), False),
    ],
)
def test_a_substitute_has_the_type_of_the_answer(request_: Asked, answer: Answer, allowed: bool) -> None:
    assert may_before(request_, Substitute(answer)) == allowed
    assert may_after(request_, FAILURE, Substitute(answer)) == allowed


@pytest.mark.parametrize(
    ("verdict", "before", "after_an_answer", "after_a_commit", "after_a_failure"),
    [
        (Pass(), True, True, True, True),
        (Refuse("no"), True, True, False, False),
        (Rewrite(ASK), True, False, False, False),
        ("yes", False, False, False, False),
    ],
)
def test_which_verdict_has_a_place_where(
    verdict: Any, before: bool, after_an_answer: bool, after_a_commit: bool, after_a_failure: bool
) -> None:
    answers = (E_ANSWER, Committed(7), FAILURE)
    assert may_before(ASK, verdict) == before
    found = [may_after(ASK, answer, verdict) for answer in answers]
    assert found == [after_an_answer, after_a_commit, after_a_failure]
