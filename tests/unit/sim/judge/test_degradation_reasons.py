"""Goal: why something was lacking, and how often, is what the answers have (WF-1)."""

import json
from typing import Any

import pytest
from msgspec import structs

from tests.worlds import SCOPE
from umi_core.conditions import Condition
from umi_core.config import Config
from umi_core.language.prompts import ask_extract, ask_route
from umi_core.messages.answers import Answer, EffectFailed, Embedded, ModelReplied, ReadDone
from umi_core.messages.effects import (
    Asked,
    AskModel,
    ByIds,
    ByVector,
    Degraded,
    Done,
    Embed,
    Read,
)
from umi_core.messages.requests import Remember
from umi_core.messages.results import Forgotten
from umi_core.rows import Address, Entity, Row
from umi_sim.judge.invariants.degradation_reasons import DegradationReasons
from umi_sim.record.broken import Broken
from umi_sim.services.calls import Call

CONFIG = Config(embedding_dims=2)
BARE = Entity("ent_1", "person", "Ann", "Ann likes tea.", 1, 0, 0, "human", 0, 0)
EXTRACT = AskModel("extract", ask_extract("I like tea. Ann came.", "Bo"))
ROUTE = AskModel("route", ask_route((BARE,), "Ann likes tea."))
TEXTS = Embed(("a", "b", "c"))
SEARCH = Read(ByVector(SCOPE, (1, 2), (), 5, 0, kind="category"))


def row(kind: str, key: str, **changed: Any) -> Row:
    return structs.replace(Row(Address(SCOPE, kind, key), 1, None), **changed)


def look(
    name: str, reason: str, count: int, *calls: tuple[Asked, Answer], workflow: str = "remember"
) -> None:
    """A reply that names this, after these answers to its step."""
    degradations, step = DegradationReasons(CONFIG, is_sole=True), name.partition(":")[0]
    degradations.observe_request("a", "o1", Remember("o1", "I like tea. Ann came.", speaker="Bo"))
    for effect, answer in calls:
        degradations.observe_answer(Call("e1", "a", 1, "o1", workflow, step, effect, 0), answer, SCOPE)
    degradations.observe_reply("a", SCOPE, "o1", Done(None, (Degraded(name, reason, count),)))


def make_reply(value: object) -> ModelReplied:
    return ModelReplied(1, value if isinstance(value, str) else json.dumps(value))


FAILED, AWAY, TIRED = "unavailable", EffectFailed(1, "unavailable"), EffectFailed(1, "rate_limited")
UNSOUND = Embedded(1, ((1, 2), (0, 0), (0, 0)))
NOBODY = make_reply({"entities": [{"name": "Ann", "type": "person", "content": "Ann came."}, 5, 6]})
STRAY = make_reply([{"entity_id": "x"}, {"entity_id": "y"}, {"entity_id": "ent_1", "block": 7}])
HIT = row("category", "cat_1", score_ppm=7)
FOUND = ReadDone(1, (HIT, row("category", "cat_2", score_ppm=7), row("entity", "ent_1", score_ppm=7)))
MEMBERS = Read(ByIds(tuple(Address(SCOPE, "entity", f"ent_{n}") for n in range(202))))
ALL = ReadDone(1, tuple(row("entity", f"ent_{n}") for n in range(202)))  # all damaged


@pytest.mark.parametrize(
    ("name", "reason", "count", "calls"),
    [
        ("extract:notes", FAILED, 1, [(EXTRACT, AWAY)]),
        ("extract:notes", FAILED, 2, [(EXTRACT, AWAY), (EXTRACT, AWAY)]),
        ("extract:notes", "timeout", 1, []),
        ("extract:notes", "no_json", 1, [(EXTRACT, make_reply("Sure!"))]),
        ("extract:notes", "empty", 1, [(EXTRACT, TIRED), (EXTRACT, make_reply(" "))]),
        ("extract:partial", "malformed", 1, [(EXTRACT, NOBODY)]),
        ("extract:uncovered", "passed_over", 1, [(EXTRACT, NOBODY)]),
        ("route:partial", "unknown_id", 2, [(ROUTE, STRAY)]),
        ("route:partial", "bad_block", 1, [(ROUTE, STRAY)]),
        ("embed:no_vectors", "zero", 2, [(TEXTS, UNSOUND)]),
        ("embed:no_vectors", "wrong number of vectors", 1, [(TEXTS, Embedded(1, ((1, 2),)))]),
        ("read:damaged_rows", "damaged", 2, [(SEARCH, FOUND)]),
        ("read:foreign_rows", "foreign", 1, [(SEARCH, FOUND)]),
        (
            "settle:core_unread",
            "damaged",
            1,
            [(Read(ByIds((ALL.rows[0].address,))), structs.replace(ALL, rows=ALL.rows[:1]))],
        ),
    ],
)
def test_what_an_answer_has_passes_and_nothing_else(
    name: str, reason: str, count: int, calls: list[tuple[Asked, Answer]]
) -> None:
    look(name, reason, count, *calls)
    if reason == "timeout":
        return
    with pytest.raises(Broken, match=r"the count of .* in the reply to o1"):
        look(name, reason, count + 1, *calls)
    with pytest.raises(Broken, match=r"the count of .* in the reply to o1"):
        look(name, reason, 0, *calls)
    with pytest.raises(Broken, match=r"the reason for .* in the reply to o1"):
        look(name, "because", count, *calls)
    with pytest.raises(Broken, match=r"the reason for .* in the reply to o1"):
        look(name, reason, count)


OF_PEOPLE = Read(ByVector(SCOPE, (1, 2), (Condition("type", "eq", "person"),), 5, 8))
PERSON = row("entity", "ent_1", body=BARE, score_ppm=8)


@pytest.mark.parametrize(
    "stranger",
    [
        structs.replace(PERSON, body=structs.replace(BARE, type="location")),
        *(structs.replace(PERSON, score_ppm=score) for score in (None, 7, 1_000_001)),
    ],
)
def test_a_hit_that_the_search_leaves_out_is_foreign(stranger: Row) -> None:
    look("read:foreign_rows", "foreign", 1, (OF_PEOPLE, ReadDone(1, (PERSON, stranger, PERSON))))
    with pytest.raises(Broken, match=r"the reason for .* in the reply to o1"):
        look("read:foreign_rows", "foreign", 1, (OF_PEOPLE, ReadDone(1, (PERSON, PERSON))))


def test_a_summary_leaves_out_what_is_more_than_two_hundred() -> None:
    look("contents:partial", "too_many", 2, (MEMBERS, members_of(202)), workflow="summarise")
    with pytest.raises(Broken, match="the count of"):
        look("contents:partial", "too_many", 3, (MEMBERS, members_of(202)), workflow="summarise")
    for few in (members_of(200), ALL):
        with pytest.raises(Broken, match="the reason for"):
            look("contents:partial", "too_many", 1, (MEMBERS, few), workflow="summarise")


def members_of(count: int) -> ReadDone:
    bodies = (structs.replace(BARE, id=f"ent_{n}") for n in range(count))
    return ReadDone(1, tuple(row("entity", it.id, body=it) for it in bodies))


def test_of_a_session_at_most_what_was_read_is_left_out() -> None:
    look("texts:partial", "too_many", 1, (MEMBERS, members_of(3)), workflow="reflect")
    look("texts:partial", "too_many", 3, (MEMBERS, members_of(3)), workflow="reflect")
    with pytest.raises(Broken, match="the count of"):
        look("texts:partial", "too_many", 4, (MEMBERS, members_of(3)), workflow="reflect")


def test_what_a_division_lacks_is_judged_elsewhere() -> None:
    """A life of `categories` was a false alarm: no member could be read, so no more was asked."""
    degradations = DegradationReasons(CONFIG, is_sole=True)
    degradations.observe_answer(
        Call("e1", "a", 1, "o1", "evolve_category", "members", MEMBERS, 0), ALL, SCOPE
    )
    degradations.observe_reply("a", SCOPE, "o1", Done(None, (Degraded("contents:partial", "damaged", 3),)))


def test_custom_interceptors_and_steps_are_not_judged_and_a_repeated_reply_is_as_it_was() -> None:
    look("extract:hook:usher", "refused", 1)
    look("approve:by_table", "no_json", 7)
    look("extract:notes", "because", 7, (AskModel("approve", "?"), make_reply("no")))
    silent = DegradationReasons(CONFIG, is_sole=False)
    silent.observe_reply("a", SCOPE, "o1", Done(None, (Degraded("extract:notes", "empty"),)))
    again = DegradationReasons(CONFIG, is_sole=True)
    value = Forgotten(existed=False, repeated=True)
    again.observe_reply("a", SCOPE, "o1", Done(value, (Degraded("extract:notes", "empty"),)))
