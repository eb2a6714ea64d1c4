"""Goal: a forgotten text takes facts that only it stated, and leaves those of others (H2.26, K8.4)."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

from tests.unit.core.test_memorize import count_of, entity, memorized, xml
from tests.worlds import QUIET, SCOPE, Pair, id_of_fact, id_of_note, input_of, saying, verdict
from umi_core.config import Config
from umi_core.errors import Rejected
from umi_core.ids import category_id, reflection_id, resource_id
from umi_core.limits import SOURCE_COUNT_MAX
from umi_core.memory import Memory
from umi_core.messages.effects import Commit, Done, Embed, Read, Refused, Write
from umi_core.messages.requests import (
    CreateEntity,
    CreateSession,
    EndSession,
    Forget,
    ForgetResource,
    Memorize,
    Remember,
    SetBlock,
    Summarise,
    UpdateEntity,
)
from umi_core.messages.results import ResourceForgotten, SessionCreated, Stored
from umi_core.rows import Address, Category, Core, Ended, Entity, Reflection
from umi_core.values import Block, Entry

A, B = (resource_id(SCOPE, uri, "") for uri in "ab")
TEA, SINGS, SWIMS = (id_of_fact("Ann", content) for content in ("likes tea", "sings", "swims"))
MADE = {"summarise_category": "<summary>a cat</summary>", "reflect": "<summary>so</summary>"}


def says(prompt: str) -> str:
    """Of each sentence of a text what it says of Ann; a sentence without her is a fact of its own."""
    sentences = [it.strip() for it in input_of(prompt, "text").split(".") if it.strip()]
    if input_of(prompt, "memory_type") != "profile":
        return "<item></item>"
    named = [it.removeprefix("Ann ") for it in sentences if it.startswith("Ann ")]
    notes = [xml(it, "preferences") for it in sentences if not it.startswith("Ann ")]
    return "".join([*(xml(it, "facts", name="Ann") for it in named), *notes])


class World:
    """A memory with texts about Ann."""

    def __init__(self, config: Config = QUIET) -> None:
        self.pair = Pair(config=config)
        self.answers()
        self.pair.run()
        self.count = 0

    def answers(self, **replies: Any) -> None:
        plain: dict[str, Any] = {
            "memories": says,
            "segment": "none",
            "summarise_category": "<summary>a cat</summary>",
        }
        self.pair.model = saying(**(plain | MADE | replies))

    def ask(self, make: Callable[[int], Any], *absent: type[Embed | Commit | Read]) -> Any:
        self.count += 1
        outcome = self.pair.ask(make(self.count), *absent)
        assert isinstance(outcome, Done), outcome
        self.degraded = [it.name for it in outcome.degraded]
        return outcome.value

    def tell(self, uri: str, text: str, **options: Any) -> None:
        self.count += 1
        memorized(self.pair, Memorize(self.count, text, uri=uri, **options))

    def remember(self, content: str, evolve: Any = "none") -> None:
        """Statements about Ann."""
        ann = {"name": "Ann", "type": "person", "content": content}
        self.answers(extract=json.dumps({"entities": [ann], "relations": []}), evolve=evolve)
        self.ask(lambda n: Remember(n, f"Ann {content}."))

    def forget(self, key: str, *absent: type[Embed | Commit | Read]) -> ResourceForgotten:
        value = self.ask(lambda n: ForgetResource(n, key), *absent)
        assert isinstance(value, ResourceForgotten)
        return value

    def summarise(self, category: str) -> None:
        self.ask(lambda n: Summarise(n, category))

    def facts(self) -> dict[str, Entity]:
        """By what they say the facts that are current."""
        bodies = [row.body for row in self.pair.rows("entity")]
        return {it.content: it for it in bodies if isinstance(it, Entity)}

    def put(self, body: Any, kind: str, row_id: str) -> None:
        self.pair.land(Commit((Write(Address(SCOPE, kind, row_id), body),), ()))

    def session(self) -> str:
        value = self.ask(CreateSession)
        assert isinstance(value, SessionCreated)
        return value.session_id


def test_its_facts_are_restored_only_if_they_are_facts() -> None:
    world = World()
    world.tell("a", "Ann likes tea")
    pair = world.pair
    pair.step(ForgetResource(9, A))
    (operation,) = pair.memory.state.operations.values()
    while not operation.facts.get("known"):
        pair.answer()
    assert Memory.restore(pair.memory.snapshot(), life=0).digest() == pair.memory.digest()
    facts: Any = operation.facts
    facts["known"] = tuple(pair.rows("membership")[:1])
    with pytest.raises(Rejected, match=r"facts\[known\]: a row of membership"):
        Memory.restore(pair.memory.snapshot(), life=0)


def test_a_fact_names_its_source_texts() -> None:
    world = World()
    world.tell("a", "Ann likes tea. Ann has a cat")
    world.pair.now_ms = 7
    world.tell("b", "Ann has a CAT. Ann sings")
    facts = world.facts()
    assert {content: it.sources for content, it in facts.items()} == {
        "likes tea": (A,), "has a cat": tuple(sorted((A, B))), "sings": (B,),
    }  # fmt: skip
    cat = facts["has a cat"]
    assert (cat.reinforced_count, cat.last_reinforced_ms, cat.is_direct, cat.version) == (2, 7, False, 1)
    world.tell("b", "Ann has a cat. Ann naps")
    assert world.facts()["has a cat"] == cat


def test_facts_of_another_text_stay_and_the_rest_leaves() -> None:
    world = World()
    world.tell("a", "Ann likes tea. Ann has a cat")
    world.tell("b", "Ann has a CAT. Ann sings")
    before = {row.address.id: row for row in world.pair.rows("vector")}
    cat = id_of_fact("Ann", "has a cat")
    value = world.forget(A)
    assert value.existed
    assert set(value.entities) == {Stored(TEA, 1, "forgotten"), Stored(cat, 1, "unchanged")}
    facts = world.facts()
    assert {content: it.sources for content, it in facts.items()} == {"has a cat": (B,), "sings": (B,)}
    it = facts["has a cat"]
    assert (it.reinforced_count, it.last_reinforced_ms, it.version) == (1, None, 1)
    assert [row.address.id for row in world.pair.rows("resource")] == [B]
    assert world.pair.row("vector", cat) == before[cat]
    assert (world.pair.row("vector", TEA), world.pair.row("vector", A)) == (None, None)


def test_a_fact_with_only_this_source_leaves_nothing() -> None:
    world = World()
    world.tell("a", "Ann likes tea")
    assert world.forget(A) == ResourceForgotten(True, (Stored(TEA, 1, "forgotten"),))
    for kind in ("entity", "membership", "relation", "resource", "access"):
        assert not world.pair.rows(kind), kind
    assert count_of(world.pair, "facts") == 0
    world.tell("b", "Ann likes tea")
    assert (world.facts()["likes tea"].version, world.facts()["likes tea"].sources) == (1, (B,))


def test_neither_a_model_nor_an_embedder_is_asked() -> None:
    world = World()
    world.tell("a", "Ann likes tea. Ann sings")
    world.tell("b", "Ann sings")
    pair = world.pair
    pair.step(ForgetResource(9, A))
    kinds = set()
    while pair.pending:
        kinds.add(type(pair.pending[0]))
        pair.answer()
    assert kinds == {Read, Commit}
    assert isinstance(pair.replies[9].outcome, Done)


def test_a_membership_that_lands_late_goes_with_its_fact() -> None:
    world = World()
    world.tell("a", "Ann likes tea")
    late = world.pair.leave_unanswered(UpdateEntity(90, TEA, None, ("facts", "rules")))
    world.pair.step(ForgetResource(91, A))
    world.pair.hold(Commit)
    world.pair.land(late)
    assert isinstance(world.pair.release().replies[91].outcome, Done)
    assert not world.pair.rows("membership")


@pytest.mark.parametrize(
    ("tellings", "remaining"),
    [
        (("remember likes tea", "a Ann likes tea"), ["likes tea"]),
        (("a Ann likes tea", "remember Likes  TEA"), ["likes tea"]),
        (("a Ann likes tea. Ann sings", "remember sings"), ["sings"]),
        (("remember sings", "a Ann likes tea"), ["sings"]),
        (("a Ann likes tea", "remember likes tea\nsings"), ["likes tea", "sings"]),
        (("a Ann likes tea", "b Ann likes tea", "a Ann sings"), ["likes tea"]),
        (("a Ann likes tea", "a Ann sings", "remember swims"), ["swims"]),
        (("a Ann likes tea", "a Ann likes tea"), []),
    ],
)  # fmt: skip
def test_a_fact_stated_in_another_text_stays(tellings: tuple[str, ...], remaining: list[str]) -> None:
    world = World()
    for telling in tellings:
        source, _, text = telling.partition(" ")
        (world.remember(text) if source == "remember" else world.tell(source, text))
    world.forget(A)
    assert sorted(world.facts()) == remaining
    assert all(A not in it.sources for it in world.facts().values())


def test_a_fact_that_was_created_as_well_stays() -> None:
    world, tea = World(), id_of_note("Likes tea")
    world.tell("a", "Likes tea")
    world.ask(lambda n: CreateEntity(n, "Likes tea", "profile"))
    assert world.forget(A) == ResourceForgotten(True, (Stored(tea, 1, "unchanged"),))
    fact = entity(world.pair, tea)
    assert (fact.sources, fact.is_direct, fact.version) == ((), True, 1)


# Facts that have ended.


def test_an_ended_fact_with_only_this_source_is_forgotten_too() -> None:
    world = World()
    world.tell("a", "Ann lives in Oslo")
    world.remember("lives in Rome", verdict("update"))
    oslo, rome = (id_of_fact("Ann", f"lives in {city}") for city in ("Oslo", "Rome"))
    assert [row.address.id for row in world.pair.rows("ended")] == [oslo]
    assert world.forget(A) == ResourceForgotten(True, (Stored(oslo, 1, "forgotten"),))
    assert world.pair.rows("ended") == world.pair.rows("relation") == []
    assert (sorted(world.facts()), entity(world.pair, rome).relation_count) == (["lives in Rome"], 0)


def test_an_ended_fact_of_another_text_stays_without_this_one() -> None:
    world = World()
    world.tell("a", "Ann lives in Oslo")
    world.tell("b", "Ann lives in Oslo")
    world.remember("lives in Rome", verdict("update"))
    oslo = id_of_fact("Ann", "lives in Oslo")
    assert world.forget(A) == ResourceForgotten(True, (Stored(oslo, 1, "unchanged"),))
    row = world.pair.row("ended", oslo)
    assert row is not None
    assert isinstance(row.body, Ended)
    assert (row.body.fact.sources, row.body.fact.relation_count) == ((B,), 1)
    assert world.pair.row("entity", oslo) is None


def test_the_ended_fact_loses_its_relation_to_a_successor_that_leaves() -> None:
    world = World()
    world.remember("lives in Oslo")
    world.remember("lives in Rome", verdict("contradict"))
    oslo, rome = (id_of_fact("Ann", f"lives in {city}") for city in ("Oslo", "Rome"))
    only_a = structs.replace(entity(world.pair, rome), sources=(A,), is_direct=False)
    world.tell("a", "Tea is hot")
    world.put(only_a, "entity", rome)
    assert Stored(rome, 1, "forgotten") in world.forget(A).entities
    row = world.pair.row("ended", oslo)
    assert row is not None
    assert isinstance(row.body, Ended)
    assert (row.body.fact.relation_count, row.body.fact.contradicts, row.body.by) == (0, (), rome)


def test_a_missing_text_is_reported_as_missing() -> None:
    world = World()
    world.tell("a", "Ann sings")
    assert world.forget(B) == ResourceForgotten(False)
    assert world.forget(A).existed
    assert world.forget(A) == ResourceForgotten(False)
    outcome = world.pair.ask(ForgetResource(99, ""))
    assert isinstance(outcome, Refused)


def test_segments_leave_with_their_text_and_are_no_texts_of_their_own() -> None:
    world = World(structs.replace(QUIET, segment_line_count_min=2))
    world.answers(segment="[[0, 0], [1, 1]]")
    text = '[{"role":"user","content":"Ann sings"},{"role":"user","content":"Ann swims"}]'
    world.tell("a", text, modality="conversation")
    parts = [row.address.id for row in world.pair.rows("resource") if row.address.id != A]
    for part in parts:
        assert world.forget(part) == ResourceForgotten(False)
    world.forget(A)
    assert not world.pair.rows("resource")
    assert not [row for row in world.pair.rows("vector") if row.address.id in (A, *parts)]


def test_a_fact_with_as_many_sources_as_there_may_be_stays_for_good() -> None:
    world = World()
    world.tell("a", "Ann sings")
    full = tuple(f"res_{n:024}" for n in range(SOURCE_COUNT_MAX))
    world.put(structs.replace(entity(world.pair, SINGS), sources=full), "entity", SINGS)
    world.tell("b", "Ann sings")
    it = entity(world.pair, SINGS)
    assert (it.sources, it.is_direct, it.reinforced_count) == (full, True, 1)
    assert world.forget(B) == ResourceForgotten(True)
    assert entity(world.pair, SINGS) == it


def test_a_fact_that_is_forgotten_first_is_none_of_the_text_any_more() -> None:
    world = World()
    world.tell("a", "Ann sings")
    world.ask(lambda n: Forget(n, SINGS))
    assert world.forget(A) == ResourceForgotten(True)


# What was made of it.


def test_a_summary_that_may_say_it_is_emptied() -> None:
    world = World()
    world.tell("a", "Ann sings. Tea is hot")
    world.tell("b", "Ann swims")
    for name in ("facts", "preferences"):
        world.summarise(name)
    world.forget(A)
    for name, count in (("facts", 1), ("preferences", 0)):
        row = world.pair.row("category", category_id(SCOPE, name))
        assert row is not None
        assert isinstance(row.body, Category)
        it = row.body
        assert (it.summary, it.summary_sources, it.summary_dirty, it.member_count) == (
            "",
            (),
            count > 0,
            count,
        )
        assert world.pair.row("vector", it.id) is None


def test_a_summary_of_others_stays() -> None:
    world = World()
    world.tell("a", "Ann sings")
    world.tell("b", "Ann sings. Ann swims")
    world.summarise("facts")
    world.forget(A)
    row = world.pair.row("category", category_id(SCOPE, "facts"))
    assert row is not None
    assert isinstance(row.body, Category)
    assert row.body.summary == "a cat"


def test_a_reflection_of_it_says_nothing_until_it_is_made_anew() -> None:
    world = World()
    session = world.session()
    world.tell("a", "Ann sings", session_id=session)
    world.tell("b", "Ann swims", session_id=session)
    world.ask(lambda n: EndSession(n, session))
    world.forget(A)
    row = world.pair.row("reflection", reflection_id(SCOPE, session))
    assert row is not None
    assert isinstance(row.body, Reflection)
    assert (row.body.text, row.body.sources, row.body.pending) == ("", (), True)
    assert world.pair.row("vector", row.address.id) is None
    assert world.ask(lambda n: EndSession(n, session)).change == "updated"


def test_a_session_that_ends_meanwhile_does_not_keep_it() -> None:
    world = World()
    session = world.session()
    world.tell("a", "Ann sings", session_id=session)
    world.pair.step(ForgetResource(90, A))
    commit = world.pair.hold(Commit)
    assert isinstance(commit, Commit)
    world.ask(lambda n: EndSession(n, session))
    world.pair.release().run()
    assert world.pair.row("resource", A) is None
    bodies = [row.body for row in world.pair.rows("reflection")]
    assert [it.sources for it in bodies if isinstance(it, Reflection)] == [()]


# Relations, core, vectors.


def bob_who_sings_as_ann_does() -> tuple[World, Entity]:
    """Return also the fact about Bob; that about Ann has a text as its only source."""
    world = World()
    world.tell("a", "Ann sings")
    world.answers(evolve=verdict("derive"))
    world.ask(lambda n: Remember(n, "Bob sings"))
    bob = entity(world.pair, id_of_fact("Bob", "sings"))
    assert bob.relation_count == 1
    return world, bob


def test_relations_of_what_leaves_leave_and_the_other_ends_know() -> None:
    world, bob = bob_who_sings_as_ann_does()
    assert world.forget(A).entities == (Stored(SINGS, 1, "forgotten"),)
    assert entity(world.pair, bob.id).relation_count == 0
    assert not world.pair.rows("relation")


def test_an_end_that_storage_has_as_it_was_before_it_was_joined_is_not_written() -> None:
    world, bob = bob_who_sings_as_ann_does()
    world.put(structs.replace(bob, relation_count=0), "entity", bob.id)
    before = world.pair.row("entity", bob.id)
    world.forget(A)
    assert world.pair.row("entity", bob.id) == before


@pytest.mark.parametrize("kind", ["human", "scratch"])
def test_core_shows_what_stays_where_it_was_and_nothing_of_what_is_gone(kind: str) -> None:
    world = World()
    world.tell("a", "Ann sings. Tea is hot")
    world.tell("b", "Ann sings")
    entries = tuple(Entry(key, 1, "Ann", "sings", 0) for key in sorted((SINGS, id_of_note("Tea is hot"))))
    world.put(Core((Block(kind, entries=entries),)), "core", "core")
    world.forget(A)
    core = world.pair.row("core", "core")
    assert core is not None
    assert isinstance(core.body, Core)
    shown = [(each.kind, it.entity_id, it.text) for each in core.body.blocks for it in each.entries]
    assert shown == [(kind, SINGS, "sings")]
    assert world.pair.memory.state.tiers.core.blocks == core.body.blocks


def test_where_all_of_core_stays_core_is_not_written() -> None:
    world = World()
    world.tell("a", "Ann sings")
    world.ask(lambda n: SetBlock(n, "human", "x"))
    before = world.pair.row("core", "core")
    world.forget(A)
    assert world.pair.row("core", "core") == before
