"""Goal: the facts that changed last come first, whatever storage keeps them by (K4.11)."""

from typing import Any

import pytest
from msgspec import structs

from tests.worlds import Pair, id_of_fact, id_of_note
from umi_core.errors import BadOption
from umi_core.kelpie.requests import RecentEntities
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import Done, Failed, Refused
from umi_core.messages.requests import Forget, List, Remember, UpdateEntity
from umi_core.messages.results import Listed

TEA, RUM = id_of_fact("Alice", "likes tea"), id_of_fact("Bob", "likes rum")
NOTE = id_of_note("buy milk")


def forget_and_remember_again() -> Pair:
    """A fact about Alice is stated before all others, then forgotten, and stated again as the last one."""
    pair = Pair().run()
    requests = (
        Remember(1, "Alice likes tea"), Remember(2, "Bob likes rum"), Remember(3, "buy milk", extract=False),
        Forget(4, TEA), Remember(5, "Alice likes tea"),
    )  # fmt: skip
    for now_ms, request in enumerate(requests, 1):
        pair.now_ms = now_ms
        pair.ask(request)
    return pair


def recent(pair: Pair, **options: object) -> list[str]:
    pair.replies.pop("recent", None)
    outcome = pair.ask(RecentEntities("recent", **options))  # type: ignore[arg-type]  # options of the class
    assert isinstance(outcome, Done), outcome
    assert isinstance(outcome.value, Listed)
    assert (outcome.value.cursor, outcome.value.damaged) == (None, ())
    return [row.id for row in outcome.value.rows]


def test_what_changed_last_comes_first() -> None:
    pair = forget_and_remember_again()
    assert recent(pair) == [TEA, NOTE, RUM]
    pair.ask(Remember("again", "Bob likes rum", importance_ppm=9))
    assert recent(pair) == [TEA, NOTE, RUM]


def test_of_what_changed_at_the_same_time_the_smaller_id_comes_first() -> None:
    pair = Pair().run()
    pair.ask(Remember(1, "Alice likes tea. Bob likes rum. Carol naps"))
    keys = recent(pair)
    assert keys == sorted(keys)


def test_pages_and_types_narrow_it() -> None:
    pair = forget_and_remember_again()
    assert recent(pair, limit=1) == [TEA]
    assert recent(pair, limit=1, skip=1) == [NOTE]
    assert recent(pair, skip=1_000) == []
    assert recent(pair, types=("person",)) == [TEA, RUM]
    refused = pair.ask(RecentEntities("wrong", skip=-1))
    assert refused == Refused(BadOption("skip", "-1", "0 to 1000"))


@pytest.mark.parametrize(
    ("where", "count"),
    [((), 1), ((("id", "eq", RUM),), 1), ((("id", "ne", RUM),), 0), ((("name", "eq", "Bob"),), 0)],
)
def test_facts_that_have_ended_have_a_list_of_their_own(where: Any, count: int) -> None:
    pair = forget_and_remember_again()
    pair.ask(UpdateEntity(6, RUM, "likes gin"))
    outcome = pair.ask(List(7, "ended", where=where))
    assert isinstance(outcome, Done)
    assert isinstance(outcome.value, Listed)
    assert [row.id for row in outcome.value.rows] == [RUM] * count
    assert RUM not in recent(pair)


def test_it_counts_as_no_access() -> None:
    pair = forget_and_remember_again()
    before = pair.memory.state.tiers.access
    recent(pair)
    assert pair.memory.state.tiers.access == before


def test_a_damaged_row_is_reported_and_a_failed_read_is_no_empty_page() -> None:
    pair = forget_and_remember_again()
    pair.step(RecentEntities("recent"))
    (asked,) = pair.pending
    pair.pending.clear()
    answer = pair.world(asked)
    assert isinstance(answer, ReadDone)
    first, *rest = answer.rows
    for _ in range(3):
        request_id = asked.request_id
        pair.step(ReadDone(request_id, (structs.replace(first, body=None), *rest)))
        asked = next(iter(pair.wake()), asked)
    outcome = pair.replies["recent"].outcome
    assert not isinstance(outcome, Failed)
    assert isinstance(outcome, Done)
    assert isinstance(outcome.value, Listed)
    assert outcome.value.damaged == (first.address.id,)
