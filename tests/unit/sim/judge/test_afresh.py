"""Goal: requests are repeated concurrently and singly; a difference is found."""

import pytest
from msgspec import structs

from tests.unit.sim.judge.test_equivalences import RecordedPair
from umi_core.config import Config
from umi_core.messages.requests import CreateEntity, Memorize, Remember, Request, SetBlock
from umi_core.rows import Category
from umi_sim.judge.equivalences import afresh
from umi_sim.judge.equivalences.afresh import compare_batches, list_requests
from umi_sim.judge.equivalences.lives import RecordedLife
from umi_sim.record.broken import Broken

CONFIG = Config(auto_rebalance=False, cluster_size_min=2, cluster_ppm=100_000, segment_line_count_min=2)
TALK = "Alice likes tea.\nBob lives in Ghent.\nWhere does Alice live?"
TOLD = (
    Memorize(1, TALK, "conversation", uri="chat/1"), Memorize(2, "Alice likes tea. Bob snores.", "text"),
    CreateEntity(3, "is allergic to nuts", "profile"), CreateEntity(4, "is allergic to eggs", "profile"),
    Remember(5, "Carol likes jazz"), SetBlock(6, "human", "calls herself Ann"),
)  # fmt: skip


def life(*requests: Request) -> RecordedLife:
    pair = RecordedPair(config=CONFIG)
    pair.run()
    for request in requests:
        pair.step(request)
        pair.run()
    return pair.life()


def test_concurrent_statements_say_the_same_as_one() -> None:
    assert compare_batches(life(*TOLD)) == 4


def test_a_run_with_too_few_requests_is_not_compared() -> None:
    assert (compare_batches(life(TOLD[0])), compare_batches(life(*TOLD[4:]))) == (0, 0)


def test_each_thing_is_reported_once_and_the_first_of_them_alone() -> None:
    again = [structs.replace(TOLD[0], op_id=f"again {number}") for number in range(3)]
    many = [CreateEntity(number, f"likes number {number}", "profile") for number in range(10)]
    requests = list_requests(life(*again, *many), afresh.BATCHED)
    assert [request.op_id for request in requests] == [f"told:{at}" for at in range(afresh.STORED_COUNT_MAX)]
    assert requests[0] == structs.replace(TOLD[0], op_id="told:0")


def test_an_archive_that_says_something_else_is_named_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(afresh.SHOWN, Category, lambda it: object())  # no two are the same
    with pytest.raises(Broken, match="2 requests at once, against one by one") as broken:
        compare_batches(life(*TOLD))
    assert ("'category'" in broken.value.expected, "'entity'" in broken.value.expected) == (True, False)
