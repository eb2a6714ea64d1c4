"""Goal: a text that is forgotten takes what only it told, and leaves all that others told (H2.26, K8.4)."""

import json
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from tests.unit.core.test_memorize import ANN, count_of, entity, memorized, xml
from tests.worlds import QUIET, SCOPE, Pair, input_of, saying, verdict
from umi_core.config import Config
from umi_core.errors import Rejected
from umi_core.ids import category_id, given_id, note_id, reflection_id, resource_id
from umi_core.limits import ENTITY_FACTS_BYTES_MAX, ENTITY_VERSION_COUNT_MAX, SOURCE_COUNT_MAX
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
    Summarise,
    UpdateEntity,
)
from umi_core.messages.results import ResourceForgotten, SessionCreated, Stored
from umi_core.policies.similarity import vector_relevance_ppm
from umi_core.rows import Address, Category, Core, Entity, Given, Reflection, Vector, Version
from umi_core.values import Block, Entry

A, B = (resource_id(SCOPE, uri, "") for uri in "ab")
MADE = {"summarise_category": "<summary>a cat</summary>", "reflect": "<summary>so</summary>"}


def says(prompt: str) -> str:
    """Of each sentence of a text what it says of Ann; a sentence without her is a fact of its own."""
    told = [it.strip() for it in input_of(prompt, "text").split(".") if it.strip()]
    if input_of(prompt, "memory_type") != "profile":
        return "<item></item>"
    named = [it.removeprefix("Ann ") for it in told if it.startswith("Ann ")]
    notes = [xml(it, "preferences") for it in told if not it.startswith("Ann ")]
    return "".join([*(xml(it, "facts", name="Ann") for it in named), *notes])


class World:
    """A memory that is told texts of Ann."""

    def __init__(self, config: Config = QUIET) -> None:
        self.pair = Pair(config=config)
        self.answers()
        self.pair.run()
        self.count = 0

    def answers(self, **told: Any) -> None:
        plain: dict[str, Any] = {
            "memories": says,
            "segment": "none",
            "summarise_category": "<summary>a cat</summary>",
        }
        self.pair.model = saying(**(plain | MADE | told))

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
        """What somebody says of Ann."""
        ann = {"name": "Ann", "type": "person", "content": content}
        self.answers(extract=json.dumps({"entities": [ann], "relations": []}), evolve=evolve)
        self.ask(lambda n: Remember(n, f"Ann {content}."))

    def forget(self, key: str, *absent: type[Embed | Commit | Read]) -> ResourceForgotten:
        value = self.ask(lambda n: ForgetResource(n, key), *absent)
        assert isinstance(value, ResourceForgotten)
        return value

    def summarise(self, category: str) -> None:
        self.ask(lambda n: Summarise(n, category))

    def ann(self) -> Entity:
        return entity(self.pair, ANN)

    def versions(self, key: str = ANN) -> list[tuple[int, str, str, bool]]:
        bodies = [row.body for row in self.pair.rows("version")]
        own = [it for it in bodies if isinstance(it, Version) and it.entity_id == key]
        return sorted((it.version, it.mention, it.content, it.is_given) for it in own)

    def given(self) -> dict[tuple[str, str], str]:
        bodies = [row.body for row in self.pair.rows("given")]
        return {(it.source, it.entity_id): it.content for it in bodies if isinstance(it, Given)}

    def put(self, body: Any, kind: str, row_id: str) -> None:
        self.pair.land(Commit((Write(Address(SCOPE, kind, row_id), body),), ()))

    def session(self) -> str:
        value = self.ask(CreateSession)
        assert isinstance(value, SessionCreated)
        return value.session_id


def test_what_it_told_is_restored_only_if_it_is_entities() -> None:
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


def test_what_a_text_told_is_written_with_it() -> None:
    world = World()
    world.tell("a", "Ann likes tea. Ann has a cat")
    assert world.given() == {(A, ANN): "likes tea\nhas a cat"}
    assert world.pair.row("given", given_id(SCOPE, A, ANN)) is not None
    assert world.ann().given == ("likes tea", "has a cat")
    assert world.versions() == [(1, "likes tea\nhas a cat", "likes tea\nhas a cat", True)]
    world.tell("b", "Ann has a CAT. Ann sings")
    assert world.given()[B, ANN] == "has a CAT\nsings"
    assert world.ann().given == ("likes tea", "has a cat", "sings")


def test_lines_that_another_text_told_stay_and_the_rest_leaves_every_version() -> None:
    world = World()
    world.tell("a", "Ann likes tea. Ann has a cat")
    world.tell("b", "Ann has a CAT. Ann sings")
    assert world.forget(A) == ResourceForgotten(True, (Stored(ANN, 3, "updated"),))
    ann = world.ann()
    assert (ann.content, ann.sources, ann.given) == ("has a cat\nsings", (B,), ("has a cat", "sings"))
    assert (ann.reinforced_count, ann.last_reinforced_ms, ann.vector_missing) == (1, None, False)
    assert world.versions() == [
        (1, "has a cat", "has a cat", True),
        (2, "has a CAT\nsings", "has a cat\nsings", True),
        (3, "has a cat\nsings", "has a cat\nsings", True),
    ]
    assert world.given() == {(B, ANN): "has a CAT\nsings"}
    assert [row.address.id for row in world.pair.rows("resource")] == [B]
    vector = world.pair.row("vector", ANN)
    assert vector is not None
    assert isinstance(vector.body, Vector)
    assert vector.body.version == 3
    assert vector_relevance_ppm(vector.body.components, vector.body.components) > 0
    assert world.pair.row("vector", A) is None


def test_an_entity_of_which_nothing_is_left_is_forgotten() -> None:
    world = World()
    world.tell("a", "Ann likes tea. Ann has a cat")
    assert world.forget(A) == ResourceForgotten(True, (Stored(ANN, 1, "forgotten"),))
    for kind in ("entity", "version", "given", "membership", "relation", "resource", "access"):
        assert not world.pair.rows(kind), kind
    assert world.pair.row("tombstone", ANN) is not None
    assert count_of(world.pair, "facts") == 0
    world.tell("b", "Ann sings")
    assert world.versions() == [(2, "sings", "sings", True)]


def test_a_membership_that_lands_late_goes_with_its_entity() -> None:
    world = World()
    world.tell("a", "Ann likes tea")
    late = world.pair.unheard(UpdateEntity(90, ANN, None, ("facts", "rules")))
    world.pair.step(ForgetResource(91, A))
    world.pair.hold(Commit)
    world.pair.land(late)
    assert isinstance(world.pair.release().replies[91].outcome, Done)
    assert not world.pair.rows("membership")


@pytest.mark.parametrize(
    ("tellings", "left"),
    [
        (("remember likes tea", "a Ann likes tea"), "likes tea"),
        (("a Ann likes tea", "remember Likes  TEA"), "likes tea"),
        (("a Ann likes tea. Ann sings", "remember sings"), "sings"),
        (("remember sings", "a Ann likes tea"), "sings"),
        (("a Ann likes tea", "remember likes tea\nsings"), "likes tea\nsings"),
        (("a Ann likes tea", "b Ann likes tea", "a Ann sings"), "likes tea"),
        (("a Ann likes tea", "a Ann sings", "remember swims"), "swims"),
    ],
)  # fmt: skip
def test_what_somebody_told_otherwise_stays(tellings: tuple[str, ...], left: str) -> None:
    world = World()
    for telling in tellings:
        who, _, text = telling.partition(" ")
        (world.remember(text) if who == "remember" else world.tell(who, text))
    world.forget(A)
    assert world.ann().content == left
    assert A not in world.ann().sources


def test_what_took_the_place_of_all_is_kept_with_what_was_added_to_it() -> None:
    world = World()
    world.tell("a", "Ann works at Acme")
    world.remember("works at Beta", verdict("update"))
    assert world.ann().given == ()
    world.tell("a", "Ann sings")
    world.tell("b", "Ann swims")
    assert world.ann().given == ("sings", "swims")
    world.forget(A)
    assert world.versions() == [
        (1, "", "", True), (2, "works at Beta", "works at Beta", False),
        (3, "", "works at Beta", True), (4, "swims", "works at Beta\nswims", True),
        (5, "works at Beta\nswims", "works at Beta\nswims", True),
    ]  # fmt: skip


def test_a_line_that_was_replaced_before_a_text_told_it_stays_where_it_was() -> None:
    world = World()
    world.remember("sings")
    world.remember("swims", verdict("update"))
    world.tell("a", "Ann sings")
    world.forget(A)
    assert [content for _, _, content, _ in world.versions()] == ["sings", "swims", "swims", "swims"]


def test_a_fact_that_somebody_created_as_well_stays() -> None:
    world, tea = World(), note_id(SCOPE, "Likes tea", "profile")
    world.tell("a", "Likes tea")
    world.ask(lambda n: CreateEntity(n, "Likes tea", "profile"))
    assert world.forget(A, Embed) == ResourceForgotten(True, (Stored(tea, 1, "unchanged"),))
    fact = entity(world.pair, tea)
    assert (fact.sources, fact.given, fact.version) == ((), (), 1)
    assert world.given() == {}


def test_a_text_that_is_not_there_is_said_to_be_so() -> None:
    world = World()
    world.tell("a", "Ann sings")
    assert world.forget(B) == ResourceForgotten(False)
    assert world.forget(A).existed
    assert world.forget(A) == ResourceForgotten(False)
    outcome = world.pair.ask(ForgetResource(99, ""))
    assert isinstance(outcome, Refused)


def test_segments_leave_with_their_text_and_are_no_texts_of_their_own() -> None:
    world = World(attrs.evolve(QUIET, segment_line_count_min=2))
    world.answers(segment="[[0, 0], [1, 1]]")
    text = '[{"role":"user","content":"Ann sings"},{"role":"user","content":"Ann swims"}]'
    world.tell("a", text, modality="conversation")
    parts = [row.address.id for row in world.pair.rows("resource") if row.address.id != A]
    for part in parts:
        assert world.forget(part) == ResourceForgotten(False)
    world.forget(A)
    assert not world.pair.rows("resource")
    assert not [row for row in world.pair.rows("vector") if row.address.id in (A, *parts)]


def test_lines_beyond_the_limit_of_sources_belong_to_nobody() -> None:
    world = World()
    world.tell("a", "Ann sings")
    full = tuple(f"res_{n:024}" for n in range(SOURCE_COUNT_MAX))
    world.put(attrs.evolve(world.ann(), sources=full), "entity", ANN)
    world.tell("b", "Ann swims")
    assert (world.ann().given, world.versions()[-1][3]) == (("sings",), False)
    assert (B, ANN) not in world.given()
    assert world.forget(B) == ResourceForgotten(True)
    assert world.ann().content == "sings\nswims"


def test_rows_of_an_older_version_have_given_nothing() -> None:
    world = World()
    world.tell("a", "Ann sings")
    world.put(attrs.evolve(world.ann(), given=()), "entity", ANN)
    world.put(None, "given", given_id(SCOPE, A, ANN))
    assert world.forget(A).entities == (Stored(ANN, 1, "unchanged"),)
    assert (world.ann().content, world.ann().sources) == ("sings", ())


def test_what_a_text_told_first_is_taken_from_what_is_kept_of_it() -> None:
    world = World()
    world.tell("a", "Ann sings")
    world.remember("swims")
    (first, _, _, _), _ = world.versions()
    world.put(None, "version", f"{ANN}@{first}")
    world.put(attrs.evolve(world.ann(), version=2), "entity", ANN)
    world.forget(A)
    assert world.versions() == [(2, "swims", "swims", False), (3, "swims", "swims", True)]


def test_the_newest_version_takes_the_oldest_with_it() -> None:
    world = World()
    world.tell("a", "Ann sings")
    for n in range(2, ENTITY_VERSION_COUNT_MAX + 1):
        world.remember(f"l{n}")
    world.forget(A)
    numbers = [number for number, *_ in world.versions()]
    assert (numbers[0], len(numbers)) == (2, ENTITY_VERSION_COUNT_MAX)


def test_of_what_a_text_told_again_and_again_the_newest_lines_are_known() -> None:
    world = World()
    for n in range(6):
        world.tell("a", f"Ann {'x' * 900}{n}")
    assert len(world.given()[A, ANN]) <= ENTITY_FACTS_BYTES_MAX
    assert world.given()[A, ANN].split("\n")[-1].endswith("5")


def test_forgetting_an_entity_takes_what_is_known_of_who_told_it() -> None:
    world = World()
    world.tell("a", "Ann sings")
    world.ask(lambda n: Forget(n, ANN))
    assert world.given() == {}
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


def bob_who_knows_ann() -> tuple[World, Entity]:
    """And what is told of Ann is told by a text alone."""
    world = World()
    world.tell("a", "Ann sings")
    both = {
        "entities": [
            {"name": "Bob", "type": "person", "content": "met Ann"},
            {"name": "Ann", "type": "person", "content": "sings"},
        ],
        "relations": [{"source": "Bob", "target": "Ann", "type": "knows"}],
    }
    world.answers(extract=json.dumps(both))
    world.ask(lambda n: Remember(n, "Bob met Ann, who sings."))
    bob = next(row.body for row in world.pair.rows("entity") if row.address.id != ANN)
    assert isinstance(bob, Entity)
    assert bob.relation_count == 1
    world.put(attrs.evolve(world.ann(), given=("sings",)), "entity", ANN)
    return world, bob


def test_relations_of_what_leaves_leave_and_the_other_ends_know() -> None:
    world, bob = bob_who_knows_ann()
    assert world.forget(A).entities == (Stored(ANN, 1, "forgotten"),)
    assert entity(world.pair, bob.id).relation_count == 0
    assert not world.pair.rows("relation")


def test_an_end_that_storage_has_as_it_was_before_it_was_joined_is_not_written() -> None:
    world, bob = bob_who_knows_ann()
    world.put(attrs.evolve(bob, relation_count=0), "entity", bob.id)
    before = world.pair.row("entity", bob.id)
    world.forget(A)
    assert world.pair.row("entity", bob.id) == before


@pytest.mark.parametrize("kind", ["human", "scratch"])
def test_core_shows_what_is_left_where_it_was_and_nothing_of_what_is_gone(kind: str) -> None:
    world = World()
    world.tell("a", "Ann sings. Tea is hot")
    world.tell("b", "Ann swims")
    tea = note_id(SCOPE, "Tea is hot", "profile")
    entries = tuple(
        Entry(key, entity(world.pair, key).version, "Ann", "sings", 0) for key in sorted((ANN, tea))
    )
    world.put(Core((Block(kind, entries=entries),)), "core", "core")
    world.forget(A)
    core = world.pair.row("core", "core")
    assert core is not None
    assert isinstance(core.body, Core)
    shown = [(each.kind, it.entity_id, it.text) for each in core.body.blocks for it in each.entries]
    assert shown == [(kind, ANN, "swims")]
    assert world.pair.memory.state.tiers.core.blocks == core.body.blocks


def test_what_is_left_may_lack_a_vector() -> None:
    world = World()
    world.tell("a", "Ann sings. Ann swims")
    world.tell("b", "Ann swims")
    world.forget(A, Embed)
    assert world.degraded == ["embed:no_vectors"]
    assert world.ann().vector_missing
    assert world.pair.row("vector", ANN) is None
