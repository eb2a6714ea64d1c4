"""Goal: what leaves a memory and is not whole is seen: a row that is committed, and a reply (STO-10)."""

from contextlib import nullcontext
from typing import Any

import pytest
from msgspec import structs

from tests.histories import ALICE, entity
from umi_core.declared import Incomplete
from umi_core.errors import SessionNotFound
from umi_core.messages.effects import Done, Failed, Refused, Write
from umi_core.messages.requests import (
    Blocks,
    Count,
    CreateEntity,
    Get,
    GetEntity,
    Request,
    Retrieve,
    SetBlock,
)
from umi_core.messages.results import BlockSet, LevelHit, Retrieved, Stored
from umi_core.rows import Address, Receipt
from umi_core.values import Scope
from umi_sim.judge.invariants.written import check_row
from umi_sim.judge.oracle.judge import check_reply
from umi_sim.judge.plain.requests import check_requests, describe_misfit
from umi_sim.record.broken import Broken

FACT = entity(ALICE, "likes tea")
SCOPE = Scope("u", "a")
AT = Address(SCOPE, "entity", FACT.id)
SAID = Stored(FACT.id, 1, "created")
HIT = LevelHit("entities", FACT.id, 1, 1, 1, "", "")


def receipt(value: Any) -> Write:
    return Write(Address(SCOPE, "receipt", "idm_1"), Receipt("k", b"", b"", value, 0, (1, 1)))


def odd(it: Any, **changed: Any) -> Any:
    return structs.replace(it, **changed) if changed else it


@pytest.mark.parametrize(
    "write", [Write(AT, FACT), Write(AT, None), receipt(None), receipt(SAID), receipt((SAID, SAID))]
)
def test_whole_rows_pass(write: Write) -> None:
    check_row(write)


@pytest.mark.parametrize(
    ("write", "got"),
    [
        (
            Write(AT, odd(FACT, version=0)),
            ".version: value: 0 is not allowed, expected a whole number from 1, or none",
        ),
        (
            Write(AT, odd(FACT, source="")),
            ".source: value:  is not allowed, expected text of 1 to 128 characters",
        ),
        (Write(odd(AT, kind="note"), FACT), "entity"),
        (
            receipt(odd(SAID, version=2**70)),
            f".value.version: value: {2**70} is not allowed, expected a whole number from 1, or none",
        ),
    ],
)
def test_an_implausible_row_is_detected(write: Write, got: str) -> None:
    with pytest.raises(Broken) as broken:
        check_row(write)
    assert (broken.value.rule, broken.value.got) == ("whole-values", got)


@pytest.mark.parametrize(
    ("request_", "value", "rule"),
    [
        (Count(""), 2, ""), (Count(""), True, "whole-values"), (Count(""), None, "whole-values"),
        (GetEntity("", FACT.id), FACT, ""), (GetEntity("", FACT.id), None, ""),
        (GetEntity("", FACT.id), SAID, "whole-values"), (SetBlock("", "human", "x"), BlockSet(), ""),
        (SetBlock("", "human", "x"), None, "whole-values"), (Blocks(""), (SAID,), "whole-values"),
        (Blocks(""), (), ""), (Get("", "k"), b"x", ""), (Get("", "k"), SAID, ""),
        (GetEntity("", FACT.id), odd(FACT, version="1"), "whole-values"),
        (SetBlock("", "human", "x"), BlockSet(odd(())), ""), (Count(""), 2**64, "whole-values"),
    ],
)  # fmt: skip
def test_a_reply_is_what_its_request_replies_with(request_: Request, value: Any, rule: str) -> None:
    """A request of the working tier has a twin that says it to the byte."""
    with pytest.raises(Broken) if rule else nullcontext() as broken:
        check_reply("o1", request_, Done(value))
    assert broken is None or broken.value.rule == rule


def test_a_request_without_a_declared_result_is_incomplete() -> None:
    with pytest.raises(Incomplete, match="what Unheard replies with"):
        check_requests([type("Unheard", (Request,), {})])


@pytest.mark.parametrize(
    ("outcome", "start"),
    [
        (Done(odd(SAID, version=True)), ".version: value: True"), (Done(odd(SAID, change="lost")), ".change"),
        (Done(odd(SAID, id=None)), ".id: None is not a text"), (Done(odd(SAID, change="forgotten")), ""),
        (Done(odd(SAID, version=0)), ".version: value: 0"), (Done((SAID, 2.5)), ": (Stored("),
        (Refused(odd(SessionNotFound("s"), session_id=7)), ".error.session_id: 7 is not a text"),
        (Refused(odd(SessionNotFound("s"))), ""), (Refused(odd(SAID)), ".error"),
        (Failed(odd(SessionNotFound("s"))), ""),
    ],
)  # fmt: skip
def test_an_outcome_holds_what_its_classes_declare(outcome: Any, start: str) -> None:
    got = describe_misfit(CreateEntity("", "x", "profile"), outcome)
    assert got.startswith(start) if start else got == ""


@pytest.mark.parametrize(
    ("value", "start"),
    [
        ((HIT,), ""), ((odd(HIT, vector_ppm=None),), ""),
        ((odd(HIT, score_ppm=1_000_001),), ".hits[0].score_ppm: value: 1000001"),
        ((odd(HIT, vector_ppm=-1),), ".hits[0].vector_ppm"), ((odd(HIT, level="attic"),), ".hits[0].level"),
    ],
)  # fmt: skip
def test_hits_hold_what_their_class_declares(value: Any, start: str) -> None:
    retrieved = Retrieved("q", None, value, (), (), "enough", "vector", "")
    got = describe_misfit(Retrieve("", "q"), Done(retrieved))
    assert got.startswith(start) if start else got == ""


def test_a_reason_to_stop_is_one_of_those_that_are_declared() -> None:
    retrieved = Retrieved("q", None, (), (), (), odd("done"), "vector", "")
    assert describe_misfit(Retrieve("", "q"), Done(retrieved)).startswith(".stop_reason: done is not")
