"""Goal: what a life was asked is asked again of a world that has what it names."""

from typing import Any

import pytest

from tests.unit.sim.judge.test_afresh import TOLD, life
from umi_core.config import Config
from umi_core.kelpie.requests import (
    AddArchival,
    AppendToBlock,
    BlockHistory,
    CreateBlock,
    DeleteAgent,
    DeleteArchival,
    DeleteBlock,
)
from umi_core.messages.effects import Done
from umi_core.messages.requests import Forget, ForgetResource, GetEntity, Memorize, RemoveBlock, Retrieve
from umi_core.values import LEVELS, Scope
from umi_sim.judge.equivalences.stories import (
    OF_ONE_KIND,
    choose_requests,
    name_existing,
    order_of,
    widen_request,
)
from umi_sim.judge.small_world import SmallWorld
from umi_sim.kernel.prng import Stream

OTHERS = "ent_0123456789abcdef01234567"


def world() -> SmallWorld:
    made = SmallWorld(Scope("u", "a"), Config(), 1_700_000_000_000)
    for request in (
        *TOLD,
        AddArchival("added", "Ann likes tea."),
        CreateBlock("set", "persona", "I am kind."),
    ):
        made.ask(request)
    return made


@pytest.mark.parametrize(
    "request_",
    [
        Forget(1, OTHERS), GetEntity(1, OTHERS), ForgetResource(1, OTHERS), DeleteArchival(1, "arc_9"),
        DeleteBlock(1, "nowhere"), AppendToBlock(1, "blk_000000000000000000000000", "x"),
        BlockHistory(1, "nowhere"), RemoveBlock(1, "scratch", "nowhere"),
    ],
    ids=lambda it: type(it).__name__,
)  # fmt: skip
def test_what_is_not_here_is_replaced_by_what_is(request_: Any) -> None:
    found = name_existing(world(), request_)
    assert found != request_
    assert isinstance(world().ask(found), Done)
    assert name_existing(world(), found) == found


def test_without_anything_of_its_kind_a_request_stays_as_it_is() -> None:
    empty = SmallWorld(Scope("u", "a"), Config(), 1_700_000_000_000)
    for request in (Forget(1, OTHERS), DeleteBlock(1, "nowhere"), RemoveBlock(1, "scratch", "nowhere")):
        assert name_existing(empty, request) == request


def test_a_story_has_no_request_that_says_something_wrong_and_few_of_each_kind() -> None:
    wrong: Any = Forget(80, "")
    incarnation = life(*TOLD, wrong, *(GetEntity(90 + n, f"ent_{n:024}") for n in range(OF_ONE_KIND + 2)))
    story = choose_requests(incarnation, ["s"])
    assert not any(isinstance(it, Forget) for it in story)
    assert sum(isinstance(it, GetEntity) for it in story) == OF_ONE_KIND


def test_what_stores_comes_before_what_asks_what_takes_away_and_what_ends() -> None:
    ended, gone, asked, kept = DeleteAgent(1), Forget(1, OTHERS), GetEntity(1, OTHERS), AddArchival(1, "x")
    assert sorted([ended, gone, asked, kept], key=order_of) == [kept, asked, gone, ended]


def test_two_sessions_take_turns_in_the_places_of_those_of_a_life() -> None:
    incarnation = life(
        *(Memorize(at, f"tea {at}", "text", session_id=name) for at, name in enumerate("xyzx"))
    )
    assert [it.session_id for it in choose_requests(incarnation, ["s", "t"])] == ["s", "t", "s", "s"]


def test_half_of_the_retrieves_ask_for_all_and_half_of_these_for_one_of_each_level() -> None:
    request = Retrieve(1, "tea", levels=("entities",))
    asked = [widen_request(request, Stream(seed, "wide")) for seed in range(200)]
    wide = [it for it in asked if it != request]
    assert all(it.rank == "model" and len(it.levels) == len(LEVELS) for it in wide)
    assert 80 < len(wide) < 120
    assert 35 < sum(it.limit_per_level == 1 for it in wide) < 65
