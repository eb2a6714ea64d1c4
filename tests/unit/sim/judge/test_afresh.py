"""Goal: requests are repeated concurrently, singly, and after all was forgotten; a difference is found."""

from typing import Any

import pytest
from msgspec import structs

from tests.unit.sim.judge.test_equivalences import RecordedPair
from tests.worlds import SCOPE
from umi_core.config import Config
from umi_core.messages.requests import CreateEntity, Get, Memorize, Remember, Request, SetBlock
from umi_core.rows import Address, Category, Vector
from umi_sim.judge.equivalences import afresh
from umi_sim.judge.equivalences.afresh import (
    compare_batches,
    compare_cleared,
    describe_archive,
    forget_all,
    list_requests,
    new_world,
)
from umi_sim.judge.equivalences.lives import RecordedLife
from umi_sim.judge.small_world import SmallWorld
from umi_sim.mutants.registry import MUTANTS
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


def test_concurrent_statements_and_cleared_ones_say_the_same_as_one() -> None:
    assert (compare_batches(life(*TOLD)), compare_cleared(life(*TOLD))) == (4, 1)


def test_a_run_with_too_few_requests_is_not_compared() -> None:
    assert (compare_batches(life(TOLD[0])), compare_batches(life(*TOLD[4:]))) == (0, 0)
    assert compare_cleared(life(TOLD[5], Get(7, "k"))) == 0


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


def nothing_forgotten(world: SmallWorld, *, stops: bool = False) -> None:
    """As a walk that ends before it begins."""


def reflection_kept(world: SmallWorld, *, stops: bool = False) -> None:
    """As if rows made from a session were never emptied."""
    kept = [(where, row) for where, row in world.storage.rows.items() if where.kind == "reflection"]
    forget_all(world, stops=stops)
    world.storage.put_back(dict(kept), 0)


def core_lost(world: SmallWorld, *, stops: bool = False) -> None:
    forget_all(world, stops=stops)
    if not stops:
        world.storage.put_back({Address(SCOPE, "core", "core"): None}, 0)


def memory_lost(world: SmallWorld, *, stops: bool = False) -> None:
    forget_all(world, stops=stops)
    if not stops:
        world.memory.state.phase = "deposed"


@pytest.mark.parametrize(
    ("walk", "message"),
    [
        (nothing_forgotten, "left of a cleared archive"),
        (core_lost, "other rows after"),
        (memory_lost, "stored again"),
    ],
)
def test_clearing_too_little_or_too_much_or_for_ever_is_found(
    walk: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(afresh, "forget_all", walk)
    with pytest.raises(Broken, match=message):
        compare_cleared(life(*TOLD))


@pytest.mark.parametrize(
    ("bug", "compare"),
    [("emptied-category-keeps-its-groups", compare_cleared)],
)  # fmt: skip
def test_each_planted_bug_is_seen_by_its_comparison(bug: str, compare: Any) -> None:
    incarnation = life(*TOLD)
    registry = incarnation.steps[0].registry
    with MUTANTS[bug].plant(registry) as changed:
        incarnation = structs.replace(
            incarnation, steps=tuple(step._replace(registry=changed) for step in incarnation.steps)
        )
        with pytest.raises(Broken) as broken:
            compare(incarnation)
    assert broken.value.rule in MUTANTS[bug].rules


def test_a_walk_over_more_rows_than_a_page_meets_each_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(afresh, "RECALL_LIMIT_MAX", 1)
    world = new_world(life(*TOLD))
    afresh.ask_singly(world, TOLD)
    ids = [where.id for where, _ in world.rows() if where.kind == "entity"]
    assert sorted(afresh.list_ids(world, "entity")) == sorted(ids)
    assert len(ids) > 1
    assert describe_archive(world)


def test_a_category_whose_last_fact_has_ended_is_still_found_by_what_describes_it() -> None:
    """No forget meets it, for it has no member; a vector of anything else would say something."""
    world = new_world(life(TOLD[0]))
    requests = (
        Memorize(1, "Zoë works at Acme.", memory_types=("profile",)),
        Remember(2, "Zoë does not work at Acme."),
    )
    afresh.ask_singly(world, requests)
    forget_all(world)
    where, *_ = (where for where, _ in world.rows() if where.kind == "vector")
    assert afresh.find_remains(world) == {}
    row = world.storage.rows[where]
    assert isinstance(row.body, Vector)
    other = structs.replace(row.body, components=row.body.components[::-1])
    world.storage.put_back({where: structs.replace(row, body=other)}, 0)
    assert afresh.find_remains(world) == {("vector", where.id): other}
