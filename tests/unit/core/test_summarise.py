"""Goal: a summary is made of the members of its category, says of which, and forgets with them (H5)."""

import pytest
from msgspec import structs

from tests.unit.core.test_memorize import TEA, memorized, xml
from tests.worlds import QUIET, SCOPE, Pair, id_of_note, input_of, saying
from umi_core.ids import category_id
from umi_core.language.summaries import Unwritten, parse_summary
from umi_core.limits import SUMMARY_BYTES_MAX
from umi_core.messages.effects import AskModel, Done, Embed
from umi_core.messages.requests import Forget, Memorize, Summarise
from umi_core.messages.results import Summarised
from umi_core.rows import Category

COFFEE = id_of_note("Likes coffee")
PROFILE = ("profile",)


class World:
    """A memory whose model has scripted finds, and notes its prompts."""

    def __init__(self) -> None:
        self.finds, self.says = "", "<summary>so it is</summary>"
        self.shown: list[tuple[str | None, list[str]]] = []
        self.pair = Pair(
            model=saying(memories=lambda _: self.finds, summarise_category=self.answer), config=QUIET
        ).run()
        self.count = 0

    def answer(self, prompt: str) -> str:
        old = input_of(prompt, "summary") if "INPUT summary" in prompt else None
        self.shown.append((old, [fact["content"] for fact in input_of(prompt, "facts")]))
        return self.says

    def memorize(self, *contents: str) -> None:
        self.count += 1
        self.finds = "".join(xml(content, "preferences") for content in contents)
        memorized(self.pair, Memorize(self.count, f"text {self.count}", memory_types=PROFILE))

    def summarise(self, *absent: type[AskModel]) -> Summarised:
        self.count += 1
        outcome = self.pair.ask(Summarise(self.count, "preferences"), *absent)
        assert isinstance(outcome, Done)
        assert isinstance(outcome.value, Summarised)
        return outcome.value

    def stored(self) -> Category:
        row = self.pair.row("category", category_id(SCOPE, "preferences"))
        assert row is not None
        assert isinstance(row.body, Category)
        return row.body


def test_a_summary_names_what_it_was_made_of_and_is_asked_for_once() -> None:
    world = World()
    world.memorize("Likes tea")
    assert world.stored().summary_dirty
    assert world.summarise() == Summarised("so it is", ((TEA, 1),))
    assert world.summarise() == Summarised("so it is", ((TEA, 1),))
    assert world.shown == [(None, ["Likes tea"])]


def test_what_is_added_is_shown_beside_the_old_summary() -> None:
    world = World()
    world.memorize("Likes tea")
    world.summarise()
    world.memorize("Likes coffee")
    assert world.summarise().sources == tuple(sorted([(TEA, 1), (COFFEE, 1)]))
    assert world.shown[1:] == [("so it is", ["Likes coffee"])]


def test_a_forgotten_entity_leaves_no_summary() -> None:
    world = World()
    world.memorize("Likes tea", "Likes coffee")
    world.summarise()
    world.pair.ask(Forget(90, TEA))
    assert (world.stored().summary, world.stored().summary_dirty) == ("", True)
    world.summarise()
    assert world.shown[1:] == [(None, ["Likes coffee"])]
    world.pair.ask(Forget(91, COFFEE))
    assert world.summarise() == Summarised("", (), False)


def test_a_fact_that_leaves_a_category_without_summary_leaves_the_others() -> None:
    world = World()
    world.memorize("Likes tea", "Likes coffee")
    world.pair.ask(Forget(90, TEA))
    assert (world.stored().member_count, world.stored().summary_dirty) == (1, True)


def test_without_an_answer_the_old_summary_stays_and_stays_dirty() -> None:
    world = World()
    world.memorize("Likes tea")
    world.summarise()
    world.memorize("Likes coffee")
    assert world.summarise(AskModel) == Summarised("so it is", ((TEA, 1),), True)
    world.says = "<summary> </summary>"
    assert world.summarise().is_dirty
    assert world.stored().summary == "so it is"


def test_an_old_summary_is_called_dirty_where_its_row_says_clean() -> None:
    """As it does if an older commit puts its row back."""
    world = World()
    world.memorize("Likes tea")
    world.summarise()
    world.memorize("Likes coffee")
    where, row = next(
        (where, row) for where, row in world.pair.storage.rows.items() if where.kind == "category"
    )
    clean = structs.replace(world.stored(), summary_dirty=False)
    world.pair.storage.rows[where] = structs.replace(row, body=clean)
    assert world.summarise(AskModel).is_dirty


def test_a_category_that_was_renamed_is_found_by_its_own_words_when_its_summary_goes() -> None:
    world = World()
    world.memorize("Likes tea")
    world.summarise()
    pair, renamed = world.pair, structs.replace(world.stored(), name="ours", description="all")
    (of_category,), (of_member,) = pair.rows("category"), pair.rows("membership")
    changed = {of_category.address: structs.replace(of_category, body=renamed), of_member.address: None}
    pair.storage.put_back(changed, 1)
    pair.step(Summarise(90, "preferences"))
    assert pair.until(Embed).texts == ("ours: all",)


def test_a_category_without_a_row_has_no_summary() -> None:
    assert World().summarise() == Summarised("", (), False)


LONG = "line\n" * 1_000


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("plain", "plain"), (" <summary> a </SUMMARY> b", "a"), ("<summary>a", "a"),
        ("a</summary>", "a"), ('{"summary": "a"}', "a"), ("**Summary:** a\nb", "a\nb"),
        ("<summary>a</summary> No: <summary>b</summary> <summary> </summary>", "b"),
        ("Ann is sorry that she cannot help.", "Ann is sorry that she cannot help."),
        ("```\na\n```", "a"), ("```md\na\n```b```", "```md\na\n```b```"),
        ("a\n```x\ny\n```", "a\n```x\ny\n```"),
        (LONG, ("line\n" * (SUMMARY_BYTES_MAX // 5))[:-1]), ("é" * 2_000, "é" * 1_000),
        ("\ud800", "\ufffd"),
    ],
)  # fmt: skip
def test_a_reply_is_its_summary(reply: str, text: str) -> None:
    assert parse_summary(reply) == text


@pytest.mark.parametrize(
    ("reply", "due"),
    [
        (" \n", Unwritten("empty")), ("```\n\n```", Unwritten("empty")),
        ("x" * 60_000, Unwritten("too_long")),
        ("<summary>I cannot assist with that request.</summary>", Unwritten("empty")),
    ],
)  # fmt: skip
def test_a_reply_without_a_summary_is_none(reply: str, due: Unwritten) -> None:
    assert parse_summary(reply) == due
