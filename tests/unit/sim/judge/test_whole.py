"""Goal: what leaves a memory and is not whole is seen: a row that is committed, and a reply (STO-10)."""

from contextlib import nullcontext
from typing import Any

import attrs
import pytest

from tests.histories import ALICE, entity
from umi_core.declared import Incomplete
from umi_core.errors import SessionNotFound
from umi_core.messages.effects import Done, Refused, Write
from umi_core.messages.requests import Blocks, Count, Get, GetEntity, Request, SetBlock
from umi_core.messages.results import BlockSet, LevelHit, Retrieved, Stored
from umi_core.rows import Address, Receipt
from umi_core.values import Scope
from umi_sim.judge.invariants.whole import check_row
from umi_sim.judge.oracle.judge import check_reply
from umi_sim.judge.plain.requests import check_requests, describe_misfit, is_whole
from umi_sim.record.broken import Broken

FACT = entity(ALICE, "likes tea")
SCOPE = Scope("u", "a")
AT = Address(SCOPE, "entity", FACT.id)
SAID = Stored(FACT.id, 1, "created")
HIT = LevelHit("entities", FACT.id, 1, 1, 1, "", "")


def receipt(value: Any) -> Write:
    return Write(Address(SCOPE, "receipt", "idm_1"), Receipt("k", b"", b"", value, 0, (1, 1)))


def odd(it: Any, **changed: Any) -> Any:
    return attrs.evolve(it, **changed) if changed else it


@pytest.mark.parametrize(
    "write", [Write(AT, FACT), Write(AT, None), receipt(None), receipt(SAID), receipt((SAID, SAID))]
)
def test_whole_rows_pass(write: Write) -> None:
    check_row(write)


@pytest.mark.parametrize(
    ("write", "told"),
    [
        (Write(AT, odd(FACT, version=0)), "{'version': 0}"),
        (Write(AT, odd(FACT, source="", type="thing")), "{'type': 'thing', 'source': ''}"),
        (Write(odd(AT, kind="note"), FACT), "entity"),
        (receipt(odd(SAID, version=2**70)), f"{{'value': 'Stored.version = {2**70}'}}"),
    ],
)
def test_a_row_that_nobody_may_believe_is_seen(write: Write, told: str) -> None:
    with pytest.raises(Broken) as broken:
        check_row(write)
    assert (broken.value.rule, broken.value.got) == ("whole-values", told)


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


def test_a_request_of_which_nobody_says_what_it_replies_with_is_incomplete() -> None:
    with pytest.raises(Incomplete, match="what Unheard replies with"):
        check_requests([type("Unheard", (Request,), {})])


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (odd(SAID, version=True), "Stored.version = True"), (odd(SAID, id=None), "Stored.id = None"),
        (odd(SAID, change="lost"), "Stored.change = 'lost'"), (odd(SAID, change="forgotten"), ""),
        (odd(SAID, version=-1), "Stored.version = -1"), (odd(SAID, version=0), "Stored.version = 0"),
        (HIT, ""), (odd(HIT, vector_ppm=None), ""),
        (odd(HIT, score_ppm=1_000_001), "LevelHit.score_ppm = 1000001"),
        (odd(HIT, vector_ppm=-1), "LevelHit.vector_ppm = -1"),
        (Retrieved("q", None, (HIT,), (), (), "enough", "vector", ""), ""),
        (Retrieved("q", None, (), (), (), odd("done"), "vector", ""), "Retrieved.stop_reason = 'done'"),
        ((SAID, odd(SAID, version=-(2**64))), f"Stored.version = {-(2**64)}"),
        (Refused(odd(SessionNotFound("s"), session_id=7)), "SessionNotFound.session_id = 7"),
        (Refused(odd(SessionNotFound("s"))), ""), (Refused(odd(SAID)), f"Refused.error = {SAID!r}"),
        (Done(None), ""), (Done(2**64), f"Done.value = {2**64}"), (b"x", ""), (2**64, f" = {2**64}"),
    ],
)  # fmt: skip
def test_a_value_holds_what_its_class_declares(value: Any, told: str) -> None:
    assert ("" if is_whole(value) else describe_misfit(value)) == told
