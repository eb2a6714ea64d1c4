"""Goal: a fact is stored once, as its caller says it, in the categories that he names (H2.24)."""

from typing import Any

import pytest
from msgspec import structs

from tests.unit.core.test_memorize import answer_by_type, memorized, xml
from tests.worlds import QUIET, SCOPE, Pair, id_of_note, saying
from umi_core.config import Config
from umi_core.domains import CategoryNames
from umi_core.errors import BadOption, BadType, EmptyText, Error, Rejected, TextTooLong
from umi_core.ids import category_id, resource_id
from umi_core.language.words import auto_name
from umi_core.memory import Memory
from umi_core.messages.effects import AskModel, Commit, Done, Embed, Failed, Refused
from umi_core.messages.requests import CreateEntity, EvolveCategory, Forget, ForgetResource, Memorize
from umi_core.messages.results import Stored
from umi_core.rows import Category, Entity, Membership

TEA = id_of_note("Likes tea")


def world(config: Config = QUIET) -> Pair:
    memories = answer_by_type(profile=xml("Likes tea", "preferences"))
    return Pair(model=saying(memories=memories, segment="none"), config=config).run()


def created(pair: Pair, request: CreateEntity, *absent: type[AskModel | Embed]) -> Stored:
    outcome = pair.ask(request, *absent)
    assert isinstance(outcome, Done), outcome
    assert isinstance(outcome.value, Stored)
    return outcome.value


def entity(pair: Pair, key: str = TEA) -> Entity:
    row = pair.row("entity", key)
    assert row is not None
    assert isinstance(row.body, Entity)
    return row.body


def categories_of(pair: Pair) -> list[tuple[str, str]]:
    """The categories, with who put the fact there, by name."""
    bodies = [row.body for row in pair.rows("membership")]
    members = {it.category_id: it.assigned_by for it in bodies if isinstance(it, Membership)}
    categories = [row.body for row in pair.rows("category")]
    names = [it.name for it in categories if isinstance(it, Category) and it.member_count == 1]
    return sorted((name, members[category_id(SCOPE, name)]) for name in names)


@pytest.mark.parametrize(
    ("categories", "expected"),
    [
        (None, [("facts", "default")]),
        (("skills", "rules", "skills"), [("rules", "user"), ("skills", "user")]),
        (("facts", "preferences", "skills", "rules"),
         [("facts", "user"), ("preferences", "user"), ("rules", "user"), ("skills", "user")]),
    ],
)  # fmt: skip
def test_a_fact_is_in_the_categories_that_are_named(
    categories: CategoryNames | None, expected: list[tuple[str, str]]
) -> None:
    pair = world()
    value = created(pair, CreateEntity(1, "Likes tea", "profile", categories), AskModel)
    assert value == Stored(TEA, 1, "created")
    assert categories_of(pair) == expected
    it = entity(pair)
    assert (it.type, it.name, it.content, it.memory_type) == ("person", "Likes tea", "Likes tea", "profile")
    assert (it.about, it.sources, it.is_direct, it.reinforced_count) == ((), (), True, 1)
    assert not it.vector_missing
    assert pair.row("vector", TEA) is not None


def test_a_fact_remembered_again_is_the_same_and_comes_into_the_categories_that_are_new() -> None:
    pair = world()
    created(pair, CreateEntity(1, "Likes tea", "profile"))
    assert created(pair, CreateEntity(2, "likes  TEA", "profile", ("rules",))) == Stored(TEA, 1, "unchanged")
    assert categories_of(pair) == [("facts", "default"), ("rules", "user")]
    assert entity(pair).content == "Likes tea"


def test_as_another_memory_type_it_is_the_same_fact_and_stays_what_it_is() -> None:
    pair = world()
    created(pair, CreateEntity(1, "Likes tea", "profile"))
    assert created(pair, CreateEntity(2, "Likes tea", "behavior")) == Stored(TEA, 1, "unchanged")
    it = entity(pair)
    assert (it.type, it.memory_type, it.block) == ("person", "profile", "human")
    assert categories_of(pair) == [("facts", "default"), ("preferences", "default")]


def test_a_fact_of_a_text_alone_becomes_direct() -> None:
    pair = world()
    memorized(pair, Memorize(1, "She likes tea.", uri="a", memory_types=("profile",)))
    assert not entity(pair).is_direct
    assert created(pair, CreateEntity(2, "Likes tea", "profile")) == Stored(TEA, 1, "unchanged")
    assert entity(pair).is_direct
    pair.ask(ForgetResource(3, resource_id(SCOPE, "a", "")))
    assert entity(pair).sources == ()


def test_a_text_that_repeats_it_finds_the_same_fact() -> None:
    pair = world()
    created(pair, CreateEntity(1, "Likes tea", "profile"))
    memorized(pair, Memorize(2, "She likes tea.", memory_types=("profile",)))
    assert len(list(pair.rows("entity"))) == 1
    assert categories_of(pair) == [("facts", "default"), ("preferences", "model")]
    assert entity(pair).reinforced_count == 2


def test_a_fact_that_was_forgotten_is_new() -> None:
    pair = world()
    created(pair, CreateEntity(1, "Likes tea", "profile"))
    pair.ask(Forget(2, TEA))
    assert created(pair, CreateEntity(3, "Likes tea", "profile")) == Stored(TEA, 1, "created")


def test_other_lines_of_the_same_words_are_the_same_fact() -> None:
    pair = world()
    created(pair, CreateEntity(1, "Likes tea", "profile"))
    assert created(pair, CreateEntity(2, "Likes\ntea", "profile")) == Stored(TEA, 1, "unchanged")
    assert entity(pair).content == "Likes tea"


def test_a_membership_that_storage_has_put_back_is_that_of_the_fact_remembered_again() -> None:
    pair = world()
    created(pair, CreateEntity(1, "Likes tea", "profile"))
    (before,) = pair.rows("membership")
    pair.ask(Forget(2, TEA))
    pair.storage.put_back({before.address: before}, pair.now_ms)
    pair.now_ms = 7
    assert created(pair, CreateEntity(3, "Likes tea", "profile")) == Stored(TEA, 1, "created")
    assert [row.body for row in pair.rows("membership")] == [before.body]


def test_without_an_embedder_it_is_stored_without_a_vector_and_says_so() -> None:
    pair = world()
    outcome = pair.ask(CreateEntity(1, "Likes tea", "profile"), Embed)
    assert isinstance(outcome, Done)
    assert [it.name for it in outcome.degraded] == ["embed:no_vectors", "embed_captions:no_vectors"]
    assert entity(pair).vector_missing


def test_nothing_is_stored_if_storage_is_away() -> None:
    pair = world()
    assert isinstance(pair.ask(CreateEntity(1, "Likes tea", "profile"), Commit), Failed)
    assert list(pair.rows("entity")) == []


def test_a_new_fact_finds_the_group_that_is_about_it() -> None:
    config = structs.replace(QUIET, cluster_ppm=300_000, assign_ppm=300_000, cluster_size_min=2)
    pair = world(config)
    for number, content in enumerate(("drinks green tea", "drinks black tea")):
        created(pair, CreateEntity(number, content, "profile"))
    pair.ask(EvolveCategory(7, "facts"))
    created(pair, CreateEntity(8, "drinks white tea", "profile"))
    bodies = [row.body for row in pair.rows("membership")]
    assert len({it.subcategory_id for it in bodies if isinstance(it, Membership)}) == 1
    assert all(isinstance(it, Membership) and it.subcategory_id for it in bodies)


@pytest.mark.parametrize(
    ("content", "kind", "categories", "error"),
    [
        (" \n", "profile", None, EmptyText), ("x" * 1_001, "profile", None, TextTooLong),
        ("tea", "mood", None, BadOption), ("tea", None, None, BadOption), ("tea", "profile", (), BadType),
        ("tea", "profile", ("moods",), BadType), ("tea", "profile", "facts", BadType),
    ],
)  # fmt: skip
def test_what_is_no_fact_is_refused(content: Any, kind: Any, categories: Any, error: type[Error]) -> None:
    pair = world()
    outcome = pair.ask(CreateEntity(1, content, kind, categories))
    assert isinstance(outcome, Refused)
    assert type(outcome.error) is error
    assert list(pair.rows("entity")) == []


def test_a_long_fact_has_a_short_name() -> None:
    pair, content = world(), "likes green tea and black tea and white tea, all of them with sugar"
    value = created(pair, CreateEntity(1, content, "profile"))
    assert entity(pair, value.id).name == auto_name(content)


def test_a_fact_in_flight_is_restored_only_as_it_was_extracted() -> None:
    pair = world()
    pair.step(CreateEntity(1, "Likes tea", "profile"))
    pair.hold(Commit)
    assert Memory.restore(pair.memory.snapshot(), life=0).digest() == pair.memory.digest()
    facts: dict[str, Any] = next(iter(pair.memory.state.operations.values())).facts
    one = facts["statements"][0]
    facts["statements"] = (
        structs.replace(one, mention=structs.replace(one.mention, content="Likes coffee")),
    )
    with pytest.raises(Rejected):
        Memory.restore(pair.memory.snapshot(), life=0)
