"""Goal: the categories of a memory are those of its settings, and what others hold stays (H2.11, H2.12)."""

from typing import Any

import pytest
from msgspec import structs

from tests.unit.core.test_create_entity import categories_of, created, entity
from tests.unit.core.test_memorize import answer_by_type, memorized, xml
from tests.worlds import QUIET, SCOPE, Pair, id_of_note, input_of, saying
from umi_core.config import Config
from umi_core.errors import BadConfig, BadOption, BadType, Rejected
from umi_core.ids import category_id
from umi_core.limits import CATEGORY_ABOUT_BYTES_MAX, CATEGORY_COUNT_MAX, CATEGORY_NAME_BYTES_MAX
from umi_core.memory import Memory
from umi_core.messages.effects import AskModel, Done, Refused
from umi_core.messages.requests import (
    CreateEntity,
    EvolveCategory,
    Forget,
    List,
    Memorize,
    Request,
    Summarise,
    UpdateEntity,
)
from umi_core.messages.results import Evolved, Listed, Summarised
from umi_core.rows import Address, Category
from umi_core.values import CATEGORIES
from umi_sim.judge.state.prompts import expect_inputs
from umi_sim.services.storage import SimStorage

HOME: Any = structs.replace(QUIET, categories=(("Family", "Who lives here."), ("Preferences", "Likes.")))
WORK: Any = structs.replace(QUIET, categories=(("projects", "What is made."), ("facts", "What is true.")))
TEA, CAKE = id_of_note("Likes tea"), id_of_note("Likes cake")


def begun(config: Config, before: Pair | None = None, category: str = "PREFERENCES") -> Pair:
    """A memory with these settings, on the storage of the one before."""
    memories = answer_by_type(profile=xml("Likes tea", category), skill=xml("Likes tea", "none of them"))
    model = saying(memories=memories, segment="none", summarise_category="<summary>Tea.</summary>")
    storage = SimStorage() if before is None else before.storage
    return Pair(storage, model=model, config=config).run()


def category(pair: Pair, name: str) -> Category:
    row = pair.row("category", category_id(SCOPE, name))
    assert row is not None
    assert isinstance(row.body, Category)
    return row.body


def refused(pair: Pair, request: Request) -> object:
    outcome = pair.ask(request)
    assert isinstance(outcome, Refused), outcome
    return outcome.error


@pytest.mark.parametrize(
    ("categories", "value", "allowed"),
    [
        ((), "0", "1 to 32 of them"),
        ((("a", ""),) * (CATEGORY_COUNT_MAX + 1), "33", "1 to 32 of them"),
        ([("a", "")], "[('a', '')]", "pairs"),
        ((("a",),), "(('a',),)", "pairs"),
        ((("", ""),), "", "1 to 64 bytes"),
        ((("x" * (CATEGORY_NAME_BYTES_MAX + 1), ""),), "x" * 65, "1 to 64 bytes"),
        (((7, ""),), "7", "1 to 64 bytes"),
        ((("a/b", ""),), "a/b", "without , ; / < > &"),
        ((("a\nb", ""),), "a\\nb", "in one line"),
        ((("a\x7fb", ""),), "a\\x7fb", "in one line"),
        ((("a\uffffb", ""),), "a\\uffffb", "in one line"),
        (((" a", ""),), " a", "in one line"),
        ((("a", "y" * (CATEGORY_ABOUT_BYTES_MAX + 1)),), "y" * 72 + "...", "at most 500 bytes"),
        ((("a", None),), "None", "at most 500 bytes"),
        ((("Caf\u00e9", ""), ("b", ""), ("CAF\u00c9", "")), "CAF\u00c9", "and Caf\u00e9 is one"),
    ],
)
def test_a_list_that_cannot_be_is_refused_with_value_and_limit(
    categories: Any, value: str, allowed: str
) -> None:
    with pytest.raises(Rejected) as caught:
        Config(categories=categories)
    (error,) = caught.value.errors
    assert isinstance(error, BadConfig)
    assert (error.option, error.value) == ("categories", value)
    assert allowed in error.allowed


def test_what_is_just_allowed_is() -> None:
    names = [f"{n:02}" + "x" * (CATEGORY_NAME_BYTES_MAX - 2) for n in range(CATEGORY_COUNT_MAX)]
    listed = tuple((name, "y" * CATEGORY_ABOUT_BYTES_MAX) for name in names)
    pair = begun(Config(categories=listed))
    assert categories_of(pair) == []
    created(pair, CreateEntity(1, "Likes tea", "skill", tuple(names)))
    assert [name for name, _ in categories_of(pair)] == names


def test_a_model_is_shown_the_list_and_chooses_of_it() -> None:
    pair = begun(HOME)
    pair.step(Memorize(1, "She likes tea.", memory_types=("profile", "skill")))
    prompt = pair.until(AskModel).prompt
    shown = [{"name": name, "about": about} for name, about in HOME.categories]
    assert input_of(prompt, "categories") == shown
    facts = {"request": Memorize(1, "She likes tea.")}
    assert expect_inputs("memories", facts, HOME)["categories"] == shown
    pair.run()
    assert categories_of(pair) == [("Family", "model"), ("Preferences", "model")]
    assert category(pair, "preferences").description == "Likes."


@pytest.mark.parametrize(
    ("memory_type", "home"), [("behavior", "Preferences"), ("profile", "Family"), ("skill", "Family")]
)
def test_the_default_of_a_type_is_its_own_or_the_first(memory_type: str, home: str) -> None:
    pair = begun(HOME)
    created(pair, CreateEntity(1, "Likes tea", memory_type))
    assert categories_of(pair) == [(home, "default")]


@pytest.mark.parametrize("name", ["facts", "family", "", "x" * 65])
def test_a_fact_is_put_into_no_category_that_is_not_listed(name: str) -> None:
    pair = begun(HOME)
    created(pair, CreateEntity(1, "Likes tea", "profile"))
    assert isinstance(refused(pair, CreateEntity(2, "Likes cake", "profile", ("Family", name))), BadType)
    assert isinstance(refused(pair, UpdateEntity(3, TEA, None, (name,))), BadType)
    assert isinstance(refused(pair, Summarise(4, name)), BadOption)
    assert isinstance(refused(pair, EvolveCategory(5, name)), BadOption)
    assert categories_of(pair) == [("Family", "default")]
    assert pair.ask(Summarise(6, "Preferences")) == Done(Summarised("", (), False))


def test_the_error_says_which_there_are() -> None:
    error = refused(begun(HOME), Summarise(1, "facts"))
    assert error == BadOption("category", "facts", "Family, Preferences")


def test_a_category_that_is_listed_no_more_stays_and_gets_no_members() -> None:
    before = begun(HOME)
    created(before, CreateEntity(1, "Likes tea", "behavior"))
    pair = begun(WORK, before)
    assert pair.memory.state.tiers.retired == (category_id(SCOPE, "preferences"),)
    created(pair, CreateEntity(2, "Likes cake", "behavior"))
    memorized(pair, Memorize(3, "She likes tea.", memory_types=("profile",)))
    assert categories_of(pair) == [("Preferences", "default"), ("facts", "default"), ("projects", "default")]
    assert isinstance(refused(pair, CreateEntity(4, "Naps", "profile", ("Preferences",))), BadType)
    assert pair.ask(Summarise(5, "Preferences")) == Done(Summarised("Tea.", ((TEA, 1),), False))
    assert pair.ask(EvolveCategory(6, "Preferences")) == Done(Evolved("updated", (), 1))
    listed = pair.ask(List(7, "category"))
    assert isinstance(listed, Done)
    assert isinstance(listed.value, Listed)
    names = [it.name for it in listed.value.rows if isinstance(it, Category)]
    assert sorted(names) == ["Preferences", "facts", "projects"]


def test_a_fact_leaves_a_category_that_is_listed_no_more() -> None:
    before = begun(HOME)
    created(before, CreateEntity(1, "Likes tea", "behavior"))
    created(before, CreateEntity(2, "Likes cake", "behavior"))
    pair = begun(WORK, before)
    pair.ask(Forget(3, TEA))
    assert category(pair, "preferences").member_count == 1
    pair.ask(UpdateEntity(4, CAKE, None, ("facts",)))
    assert category(pair, "preferences").member_count == 0
    assert categories_of(pair) == [("facts", "user")]


def test_a_fact_that_is_changed_takes_its_place_there_along() -> None:
    before = begun(HOME)
    created(before, CreateEntity(1, "Likes cake", "behavior"))
    pair = begun(WORK, before)
    pair.ask(UpdateEntity(2, CAKE, "Likes tea"))
    assert categories_of(pair) == [("Preferences", "default")]
    assert entity(pair).content == "Likes tea"
    assert len(pair.rows("membership")) == 1


def test_a_category_that_cannot_be_read_is_listed_no_more_all_the_same() -> None:
    before = begun(HOME)
    created(before, CreateEntity(1, "Likes tea", "behavior"))
    where = Address(SCOPE, "category", category_id(SCOPE, "preferences"))
    before.storage.rows[where] = structs.replace(before.storage.rows[where], body=None)
    pair = begun(WORK, before)
    assert pair.memory.state.tiers.retired == (where.id,)
    saved = pair.memory.snapshot()
    assert Memory.restore(saved, pair.registry, life=2).state.tiers.retired == (where.id,)


def test_listed_again_it_is_as_it_was() -> None:
    before = begun(HOME)
    created(before, CreateEntity(1, "Likes tea", "behavior"))
    again = begun(structs.replace(HOME, categories=(("preferences", "Other words."),)), begun(WORK, before))
    assert again.memory.state.tiers.retired == ()
    created(again, CreateEntity(2, "Likes cake", "skill"))
    home = category(again, "preferences")
    assert (home.name, home.description, home.member_count) == ("Preferences", "Likes.", 2)


def test_a_memory_that_is_given_none_has_the_usual_ones() -> None:
    assert Config().categories == tuple(CATEGORIES.items())


def test_the_default_list_is_one_that_may_be_given() -> None:
    """A configuration checks its list only if it is another object than the default."""
    assert Config(categories=tuple(CATEGORIES.items())) == Config()
