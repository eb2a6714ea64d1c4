"""Goal: a fact with another content ends the one before and takes its place, with its categories (H2.25)."""

from typing import Any

import pytest
from msgspec import structs

from tests.unit.core.test_create_entity import categories_of, created, entity, world
from tests.unit.core.test_memorize import memorized
from tests.worlds import ALICE, QUIET, SCOPE, Pair, id_of_fact, id_of_note, saying, verdict
from umi_core.errors import BadId, BadType, EmptyText, Error, TextTooLong
from umi_core.ids import category_id, fact_id, membership_id, resource_id
from umi_core.kelpie.errors import NotFound
from umi_core.limits import I64_MAX, SOURCE_COUNT_MAX
from umi_core.memory import Memory
from umi_core.messages.effects import AskModel, Commit, Done, Embed, Failed, Refused
from umi_core.messages.requests import (
    CreateEntity,
    EvolveCategory,
    Forget,
    InCore,
    Memorize,
    Rebalance,
    Remember,
    Request,
    Summarise,
    UpdateEntity,
)
from umi_core.messages.results import Stored
from umi_core.rows import Category, Ended, Entity, Membership
from umi_core.workflows.entities import add_sources

TEA, COFFEE = (id_of_note(f"Likes {it}") for it in ("tea", "coffee"))
OF_ALICE = id_of_fact("Alice", "likes tea")
FACTS = category_id(SCOPE, "facts")


def updated(pair: Pair, request: UpdateEntity, *absent: type[AskModel | Embed]) -> Stored:
    outcome = pair.ask(request, *absent)
    assert isinstance(outcome, Done), outcome
    assert isinstance(outcome.value, Stored)
    return outcome.value


def body(pair: Pair, kind: str, key: str) -> Any:
    row = pair.row(kind, key)
    return row.body if row is not None else None


def member(pair: Pair, key: str, name: str) -> Any:
    return body(pair, "membership", membership_id(SCOPE, key, category_id(SCOPE, name)))


def likes_tea(*categories: str) -> Pair:
    pair = world()
    created(pair, CreateEntity(1, "Likes tea", "profile", categories or None))
    return pair


def test_with_another_content_it_is_another_fact_about_the_same_name() -> None:
    pair = Pair().run()
    pair.ask(Remember(1, "Alice likes tea"))
    before = entity(pair, OF_ALICE)
    coffee, pair.now_ms = id_of_fact("Alice", "likes coffee"), 5
    value = updated(pair, UpdateEntity(2, OF_ALICE, "likes coffee", ("rules",)), AskModel)
    assert value == Stored(coffee, 1, "created")
    it = entity(pair, coffee)
    assert (it.name, it.about, it.is_direct, it.vector_missing) == ("Alice", (ALICE,), True, False)
    assert (it.type, it.block, it.confidence_ppm) == (before.type, before.block, before.confidence_ppm)
    assert body(pair, "ended", OF_ALICE) == Ended(OF_ALICE, before, coffee, "update", 5)
    assert pair.rows("relation") == []
    assert member(pair, coffee, "rules").entity_version == 1
    assert [row.address.id for row in pair.rows("vector") if row.address.id.startswith("fct")] == [coffee]


def test_its_memberships_follow_to_the_new_fact() -> None:
    pair = Pair().run()
    pair.ask(Remember(1, "Alice likes tea"))
    updated(pair, UpdateEntity(2, OF_ALICE, None, ("rules",)))
    pair.now_ms = 5
    coffee = updated(pair, UpdateEntity(3, OF_ALICE, "likes coffee")).id
    assert member(pair, OF_ALICE, "rules") is None
    assert (member(pair, coffee, "rules").assigned_by, member(pair, coffee, "rules").created_ms) == (
        "user",
        5,
    )
    home = body(pair, "category", category_id(SCOPE, "rules"))
    assert (home.member_count, home.summary_dirty, home.updated_ms) == (1, True, 5)


def test_the_new_fact_has_all_that_is_known_of_the_old_one() -> None:
    pair = world()
    memorized(pair, Memorize(1, "She likes tea.", memory_types=("profile",), happened_ms=7))
    pair.now_ms = 5
    assert updated(pair, UpdateEntity(2, TEA, "Likes coffee"), AskModel) == Stored(COFFEE, 1, "created")
    assert (body(pair, "entity", TEA), body(pair, "vector", TEA)) == (None, None)
    assert body(pair, "ended", TEA).by == COFFEE
    it = entity(pair, COFFEE)
    assert (it.name, it.type, it.memory_type, it.block) == ("Likes coffee", "person", "profile", "human")
    assert (it.sources, it.reinforced_count) == ((resource_id(SCOPE, None, "She likes tea."),), 1)
    assert (it.event_time_ms, it.created_ms, it.is_direct) == (7, 5, True)
    assert categories_of(pair) == [("preferences", "model")]
    assert list(pair.memory.state.tiers.access.records) == [COFFEE]


def test_what_a_remember_stated_about_it_moves_too() -> None:
    pair, tea = Pair().run(), id_of_note("likes tea")
    pair.ask(Remember(1, "likes tea", extract=False, importance_ppm=9, metadata=(("a", "b"),), source="s"))
    value = updated(pair, UpdateEntity(2, tea, "likes coffee"))
    it = entity(pair, value.id)
    assert value.id == id_of_note("likes coffee")
    assert (it.type, it.importance_ppm, it.metadata, it.source) == ("note", 9, (("a", "b"),), "s")


def test_changed_back_it_continues_its_numbers() -> None:
    pair = likes_tea()
    updated(pair, UpdateEntity(2, TEA, "Likes coffee"))
    assert updated(pair, UpdateEntity(3, COFFEE, "likes TEA")) == Stored(TEA, 2, "created")
    assert [row.address.id for row in pair.rows("ended")] == [COFFEE]


@pytest.mark.parametrize("content", [None, "Likes tea", "likes  TEA"])
def test_what_says_the_same_is_unchanged(content: str | None) -> None:
    pair = likes_tea("rules")
    before = member(pair, TEA, "rules")
    assert updated(pair, UpdateEntity(2, TEA, content), Embed) == Stored(TEA, 1, "unchanged")
    assert (entity(pair).content, pair.rows("ended")) == ("Likes tea", [])
    assert member(pair, TEA, "rules") == before


def test_a_fact_of_a_text_that_a_caller_confirms_stays_without_the_text() -> None:
    pair = world()
    memorized(pair, Memorize(1, "She likes tea.", memory_types=("profile",)))
    assert not entity(pair).is_direct
    updated(pair, UpdateEntity(2, TEA, None, ("rules",)))
    assert not entity(pair).is_direct
    assert updated(pair, UpdateEntity(3, TEA, "likes TEA")) == Stored(TEA, 1, "unchanged")
    assert (entity(pair).is_direct, entity(pair).content) == (True, "Likes tea")


@pytest.mark.parametrize(
    ("categories", "expected"),
    [
        (None, [("facts", "user"), ("rules", "user")]), ((), []),
        (("rules", "skills", "skills"), [("rules", "user"), ("skills", "user")]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("content", [None, "Likes coffee"])
def test_categories_are_kept_or_cleared_or_replaced(content: Any, categories: Any, expected: Any) -> None:
    pair = likes_tea("facts", "rules")
    updated(pair, UpdateEntity(2, TEA, content, categories))
    assert categories_of(pair) == expected
    counts = {
        it.name: it.member_count for row in pair.rows("category") if isinstance(it := row.body, Category)
    }
    assert {name: count for name, count in counts.items() if count} == {name: 1 for name, _ in expected}


def test_links_that_were_there_and_are_wanted_stay_as_they_are() -> None:
    pair = likes_tea()
    before, home = member(pair, TEA, "facts"), pair.row("category", FACTS)
    pair.now_ms = 9
    updated(pair, UpdateEntity(2, TEA, None, ("facts", "rules")))
    assert member(pair, TEA, "facts") == before
    assert before.assigned_by == "default"
    assert pair.row("category", FACTS) == home


def test_a_fact_that_another_says_already_ends_and_leaves_it_its_sources() -> None:
    pair = world()
    memorized(pair, Memorize(1, "She likes tea.", memory_types=("profile",)))
    created(pair, CreateEntity(2, "Likes coffee", "profile", ("rules",)))
    pair.now_ms = 4
    assert updated(pair, UpdateEntity(3, TEA, "likes coffee")) == Stored(COFFEE, 1, "unchanged")
    it = entity(pair, COFFEE)
    assert (it.content, it.sources) == ("Likes coffee", (resource_id(SCOPE, None, "She likes tea."),))
    assert (it.reinforced_count, it.last_reinforced_ms) == (2, 4)
    assert categories_of(pair) == [("preferences", "model"), ("rules", "user")]
    assert [row.address.id for row in pair.rows("entity")] == [COFFEE]
    assert body(pair, "ended", TEA).by == COFFEE


def test_two_facts_in_one_category_are_counted_once() -> None:
    pair = likes_tea("facts", "rules")
    created(pair, CreateEntity(2, "Likes coffee", "profile", ("facts", "skills")))
    updated(pair, UpdateEntity(3, TEA, "Likes coffee", ("facts",)))
    assert categories_of(pair) == [("facts", "user")]
    assert [row.address.id for row in pair.rows("membership")] == [member(pair, COFFEE, "facts").id]


def test_sources_are_added_while_there_is_room() -> None:
    old = Entity(TEA, "person", "x", "x", 1, 0, 0, "human", 0, 0, sources=("b", "d"))
    it = add_sources(old, ("a", "b", "c"), 7)
    assert (it.sources, it.reinforced_count, it.last_reinforced_ms) == (("a", "b", "c", "d"), 3, 7)
    full = structs.replace(old, sources=tuple(f"s{n:03}" for n in range(SOURCE_COUNT_MAX)))
    assert add_sources(full, ("a",), 7) is full


def test_a_count_at_its_limit_stays_there() -> None:
    old = Entity(TEA, "person", "x", "x", 1, 0, 0, "human", 0, 0, sources=("b",), reinforced_count=I64_MAX)
    it = add_sources(old, ("a", "c"), 7)
    assert (it.reinforced_count, it.is_sound) == (I64_MAX, True)


def test_the_relations_of_a_fact_that_ends_stay() -> None:
    pair = Pair(model=saying(evolve=verdict("derive"))).run()
    pair.ask(Remember(1, "likes tea", extract=False))
    pair.ask(Remember(2, "likes tea a lot", extract=False))
    tea, lot = id_of_note("likes tea"), id_of_note("likes tea a lot")
    assert updated(pair, UpdateEntity(3, tea, "likes tea a lot")) == Stored(lot, 1, "unchanged")
    assert (entity(pair, lot).relation_count, body(pair, "ended", tea).fact.relation_count) == (1, 1)
    assert len(pair.rows("relation")) == 1


def test_an_ended_fact_is_not_found() -> None:
    pair = likes_tea()
    updated(pair, UpdateEntity(2, TEA, "Likes coffee"))
    assert pair.ask(UpdateEntity(3, TEA, "Likes milk")) == Refused(NotFound("entity", TEA))


def test_a_summary_that_names_what_ended_is_empty() -> None:
    pair = likes_tea()
    pair.model = saying(summarise_category="Likes tea.")
    pair.ask(Summarise(2, "facts"))
    assert body(pair, "category", FACTS).summary == "Likes tea."
    updated(pair, UpdateEntity(3, TEA, "Likes coffee"))
    home = body(pair, "category", FACTS)
    assert (home.summary, home.summary_sources, home.summary_dirty, home.member_count) == ("", (), True, 1)
    assert body(pair, "vector", FACTS) is None


@pytest.mark.parametrize(
    "key", ["fct_unknown", ALICE, fact_id(structs.replace(SCOPE, agent="a2"), (), "Likes tea")]
)
def test_what_is_not_there_is_not_found(key: str) -> None:
    pair = likes_tea()
    before = pair.storage.digest()
    assert pair.ask(UpdateEntity(2, key, "Likes coffee")) == Refused(NotFound("entity", key))
    assert pair.storage.digest() == before


# Core.


def in_core(content: str, core_bytes_max: int = QUIET.core_bytes_max) -> Pair:
    pair = world(structs.replace(QUIET, promote_score_min_ppm=0, core_bytes_max=core_bytes_max))
    created(pair, CreateEntity(1, content, "profile"))
    pair.ask(Rebalance(2))
    return pair


def test_in_core_it_says_it_where_it_was() -> None:
    pair = in_core("Likes tea")
    updated(pair, UpdateEntity(3, TEA, "Likes coffee"))
    ((block, entry),) = pair.memory.state.tiers.core.entries()
    assert (block.kind, entry.entity_id, entry.text, entry.version) == ("human", COFFEE, "Likes coffee", 1)
    assert entry.promoted_ms == 0


def test_a_longer_content_leaves_core_if_there_is_no_room() -> None:
    pair = in_core("Likes tea", core_bytes_max=4_096)
    pair.step(UpdateEntity(3, TEA, "x" * 1_000))
    pair.run()
    assert pair.ask(InCore(4, id_of_note("x" * 1_000))) == Done(True)
    small = in_core("Likes tea", core_bytes_max=4_096)
    small.ask(Remember(5, "Alice " + "y" * 900))
    for number in range(3):
        created(small, CreateEntity(10 + number, f"{number}" * 900, "profile"))
    small.ask(Rebalance(20))
    full = small.memory.state.tiers.core.entry_count
    updated(small, UpdateEntity(21, TEA, "z" * 1_000))
    assert small.memory.state.tiers.core.entry_count == full - 1


def test_what_core_shows_already_is_shown_once() -> None:
    pair = in_core("Likes tea")
    created(pair, CreateEntity(3, "Likes coffee", "profile"))
    pair.ask(Rebalance(4))
    updated(pair, UpdateEntity(5, TEA, "Likes coffee"))
    ((_, entry),) = pair.memory.state.tiers.core.entries()
    assert (entry.entity_id, entry.text) == (COFFEE, "Likes coffee")


# What goes wrong.


def test_without_an_embedder_it_is_stored_without_a_vector_and_says_so() -> None:
    pair = likes_tea()
    outcome = pair.ask(UpdateEntity(2, TEA, "Likes coffee", ("rules",)), Embed)
    assert isinstance(outcome, Done)
    assert [it.name for it in outcome.degraded] == ["embed:no_vectors", "embed_captions:no_vectors"]
    assert entity(pair, COFFEE).vector_missing


def test_nothing_changes_if_storage_is_away() -> None:
    pair = likes_tea()
    assert isinstance(pair.ask(UpdateEntity(2, TEA, "Likes coffee"), Commit), Failed)
    assert [row.address.id for row in pair.rows("entity")] == [TEA]


def test_what_changes_meanwhile_is_read_again() -> None:
    """A remember of the same name waits for nothing that an update has claimed in another memory."""
    pair = likes_tea()
    pair.step(UpdateEntity(2, TEA, "Likes coffee"))
    pair.hold(Commit)
    pair.ask(EvolveCategory(3, "facts", force=True))
    pair.release()
    assert pair.replies[2].outcome == Done(Stored(COFFEE, 1, "created"))
    assert body(pair, "category", FACTS).member_count == 1


def lands_late(pair: Pair, late: Commit, request: Request) -> None:
    """When all has been read that this request wants to know."""
    pair.step(request)
    pair.hold(Commit)
    pair.land(late)
    assert isinstance(pair.release().replies[request.op_id].outcome, Done)


@pytest.mark.parametrize("request_", [Forget(3, TEA), UpdateEntity(3, TEA, "Likes coffee")])
def test_a_membership_that_lands_late_goes_with_its_entity(request_: Request) -> None:
    pair = likes_tea("facts")
    lands_late(pair, pair.leave_unanswered(UpdateEntity(2, TEA, None, ("facts", "rules"))), request_)
    there = [row.address.id for row in pair.rows("entity")]
    members = [row.body for row in pair.rows("membership")]
    assert [it.entity_id for it in members if isinstance(it, Membership)] == [*there, *there]
    assert body(pair, "category", FACTS).member_count == len(there)


@pytest.mark.parametrize(("late", "last"), [(("facts", "rules"), ("context",)), ((), ("facts", "rules"))])
def test_its_categories_are_those_of_the_last_statement(late: tuple[str, ...], last: tuple[str, ...]) -> None:
    pair = likes_tea("facts")
    lands_late(
        pair, pair.leave_unanswered(UpdateEntity(2, TEA, None, late)), UpdateEntity(3, TEA, None, last)
    )
    there = {row.address.id for row in pair.rows("membership")}
    assert there == {member(pair, TEA, name).id for name in last}


def in_doubt(pair: Pair, *, landed: bool) -> Pair:
    pair.step(UpdateEntity(2, TEA, "Likes coffee"))
    return pair.doubt(landed=landed)


def test_an_earlier_plan_that_ended_it_is_believed() -> None:
    pair = in_doubt(likes_tea(), landed=True).run()
    assert pair.replies[2].outcome == Done(Stored(COFFEE, 1, "created"))
    assert [row.address.id for row in pair.rows("entity")] == [COFFEE]


def test_in_doubt_it_is_not_found_if_another_request_has_forgotten_it() -> None:
    pair = likes_tea()
    pair = in_doubt(pair, landed=False)
    row = pair.row("entity", TEA)
    assert row is not None
    del pair.storage.rows[row.address]
    pair.run()
    assert pair.replies[2].outcome == Refused(NotFound("entity", TEA))


@pytest.mark.parametrize("answered", range(6))
def test_saved_at_any_question_it_goes_on(answered: int) -> None:
    pair = likes_tea()
    pair.ask(Remember(9, "Alice likes tea. Likes tea", evolve=False))
    pair.step(UpdateEntity(2, TEA, "Likes coffee", ("facts", "rules")))
    for _ in range(answered):
        pair.answer()
    pair.memory = Memory.restore(pair.memory.snapshot(), life=0)
    pair.run()
    assert pair.replies[2].outcome == Done(Stored(COFFEE, 1, "created"))


def test_the_new_fact_finds_the_group_that_is_about_it() -> None:
    config = structs.replace(QUIET, cluster_ppm=300_000, assign_ppm=300_000, cluster_size_min=2)
    pair = world(config)
    for number, content in enumerate(("drinks green tea", "drinks black tea", "sleeps late")):
        created(pair, CreateEntity(number, content, "profile"))
    pair.ask(EvolveCategory(7, "facts"))
    updated(pair, UpdateEntity(8, id_of_note("sleeps late"), "drinks white tea"))
    bodies = [row.body for row in pair.rows("membership")]
    assert len({it.subcategory_id for it in bodies if isinstance(it, Membership)}) == 1
    assert all(isinstance(it, Membership) and it.subcategory_id for it in bodies)


@pytest.mark.parametrize(
    ("key", "content", "categories", "error"),
    [
        ("", "tea", None, BadId), (TEA, " \n", None, EmptyText), (TEA, "x" * 1_001, None, TextTooLong),
        (TEA, None, ("moods",), BadType), (TEA, None, "facts", BadType),
    ],
)  # fmt: skip
def test_what_is_no_fact_is_refused(key: Any, content: Any, categories: Any, error: type[Error]) -> None:
    pair = likes_tea()
    outcome = pair.ask(UpdateEntity(2, key, content, categories))
    assert isinstance(outcome, Refused)
    assert type(outcome.error) is error
