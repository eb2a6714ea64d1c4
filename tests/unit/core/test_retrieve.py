"""Goal: a retrieve goes down the levels, stops when it is enough, and says what it went without (H6, H7)."""

import sys
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

from tests.unit.core.test_memorize import TEA, memorized, xml
from tests.worlds import QUIET, SCOPE, Pair, input_of, saying
from umi_core.conditions import filter_of
from umi_core.errors import BadFilterValue, BadOption, Rejected, StorageFailed, UnknownField, UnknownOperator
from umi_core.ids import category_id
from umi_core.memory import Memory
from umi_core.messages.answers import Embedded
from umi_core.messages.effects import Asked, AskModel, ByWords, Done, Embed, Failed, Read, Refused
from umi_core.messages.requests import Descent, Memorize, Request, Retrieve, Search, Summarise
from umi_core.messages.results import LevelTried, Retrieved
from umi_core.policies.ranking import united_ppm
from umi_core.rows import Head, Vector
from umi_core.values import LEVELS, Turn
from umi_sim.services.embedder import embed

YES, NO = "<decision>RETRIEVE</decision>", "<decision>NO_RETRIEVE</decision>"
FACTS = category_id(SCOPE, "preferences")


class World:
    """Two facts in one category with a summary; a model with scripted decisions, in turn."""

    def __init__(self, *decisions: str, **replies: str) -> None:
        self.decisions, self.found = list(decisions), list[list[str]]()
        self.finds, self.says = "Likes tea", "<summary>tea and cake</summary>"
        self.pair = Pair(
            model=saying(
                memories=lambda _: xml(self.finds, "preferences"), decide_need=lambda _: self.decision(),
                decide_enough=self.verdict, summarise_category=lambda _: self.says, **replies
            ),
            config=QUIET,
        ).run()  # fmt: skip
        memorized(self.pair, Memorize(1, "tea is liked\nmuch", uri="chat/1", memory_types=("profile",)))
        self.pair.ask(Summarise(2, "preferences"))
        self.asked: list[Asked] = []

    def decision(self) -> str:
        return self.decisions.pop(0) if self.decisions else YES

    def verdict(self, prompt: str) -> str:
        self.times = input_of(prompt, "found")
        self.found.append([it.pop("text") for it in self.times])
        return self.decision()

    def retrieve(self, request: Descent, *absent: type[Asked]) -> Retrieved:
        outcome = self.outcome(request, *absent)
        assert isinstance(outcome, Done), outcome
        assert isinstance(outcome.value, Retrieved)
        self.degraded = [it.name for it in outcome.degraded]
        return outcome.value

    def outcome(self, request: Descent, *absent: type[Asked]) -> Any:
        """Return the outcome where services of these questions never answer."""
        return self.ask_failing(request, sys.maxsize, lambda effect: isinstance(effect, absent))

    def ask_failing(self, request: Descent, count: int, fails: Callable[[Asked], bool]) -> Any:
        """Return the outcome where the first `count` of these questions fail; notes what is asked."""
        self.pair.step(request)
        failed = 0
        for _ in range(200):
            if not self.pair.pending:
                if request.op_id in self.pair.replies:
                    break
                self.pair.wake()
                continue
            effect = self.pair.pending[0]
            self.asked.append(effect)
            is_hit = fails(effect) and failed < count
            failed += is_hit
            _ = self.pair.fail("unavailable") if is_hit else self.pair.answer()
        return self.pair.replies[request.op_id].outcome

    def kinds(self) -> list[str]:
        return [it.query.kind for it in self.asked if isinstance(it, Read) and isinstance(it.query, ByWords)]


ASK = Retrieve(9, "tea and cake", min_score_ppm=1)


def test_enough_at_the_categories_is_the_end() -> None:
    world = World(YES, NO)
    value = world.retrieve(ASK)
    assert [(hit.level, hit.id, hit.text) for hit in value.hits] == [("categories", FACTS, "tea and cake")]
    assert (value.stop_reason, value.stopped_early, value.query) == ("enough", True, "tea and cake")
    assert [type(it).__name__ for it in world.asked] == ["AskModel", "Embed", "Read", "Read", "AskModel"]
    assert world.found == [["preferences: tea and cake"]]
    hit = f'<hit id="{FACTS}" score="1000000" name="preferences">tea and cake</hit>'
    assert value.context == f"<categories>\n{hit}\n</categories>\n"


def test_a_category_that_needs_nothing_is_reported_and_nothing_is_read() -> None:
    world = World(NO)
    value = world.retrieve(ASK)
    assert (value.hits, value.tried, value.resolution, value.stop_reason) == ((), (), None, "not_needed")
    assert [type(it) for it in world.asked] == [AskModel]


def test_all_levels_come_in_their_order_whatever_order_was_asked_for() -> None:
    world = World()
    value = world.retrieve(structs.replace(ASK, levels=("resources", "entities", "categories")))
    assert world.kinds() == ["category", "entity", "resource"]
    assert {hit.level: hit.id for hit in value.hits}["entities"] == TEA
    assert [it.found_count for it in value.tried] == [1, 1, 1]
    assert (value.stop_reason, value.stopped_early) == ("exhausted", False)
    order = [(-hit.score_ppm, hit.id) for hit in value.hits]
    assert order == sorted(order)


@pytest.mark.parametrize("options", [{"levels": ()}, {"limit_per_level": 0}, {"total_limit": 0}])
def test_where_nothing_is_asked_nothing_is_done(options: Any) -> None:
    world = World()
    assert world.retrieve(structs.replace(ASK, **options)).stop_reason == "nothing_asked"
    assert world.asked == []


@pytest.mark.parametrize(
    ("options", "stop", "levels"),
    [
        ({"min_results": 1, "min_avg_ppm": 1}, "enough", 1),
        ({"min_results": 2, "min_avg_ppm": 1}, "enough", 2),
        ({"total_limit": 1, "min_avg_ppm": 1_000_000, "enough": "never"}, "limit", 1),
        ({"levels_max": 2, "enough": "never"}, "levels_max", 2), ({"enough": "never"}, "exhausted", 4),
        ({"levels": ("entities",), "min_results": 1, "min_avg_ppm": 1}, "exhausted", 1),
    ],
)  # fmt: skip
def test_a_search_stops_by_scores_for_one_of_these_reasons(options: Any, stop: str, levels: int) -> None:
    world = World()
    value = world.retrieve(structs.replace(Search(9, "tea and cake", min_score_ppm=1), **options))
    assert (value.stop_reason, len(value.tried)) == (stop, levels)
    assert not [it for it in world.asked if isinstance(it, AskModel)]


def test_scores_first_and_then_the_model() -> None:
    world = World(NO)
    value = world.retrieve(Search(9, "tea and cake", enough="score_then_model", min_score_ppm=1))
    assert (value.stop_reason, len(world.found)) == ("enough", 1)


def test_other_words_that_pass_the_gate_are_searched_from_there_on() -> None:
    reply = f"{YES}<rewritten_query>tea and cake preferences</rewritten_query>"
    world = World(YES, reply, f"{YES}<rewritten_query>something else</rewritten_query>")
    value = world.retrieve(ASK)
    texts = [it.texts for it in world.asked if isinstance(it, Embed)]
    assert texts == [("tea and cake",), ("tea and cake preferences",)]
    assert [it.query for it in value.tried] == ["tea and cake", *["tea and cake preferences"] * 3]
    assert value.query == "tea and cake preferences"


def test_the_decision_that_something_is_needed_may_bring_the_words() -> None:
    reply = f"{YES}<rewritten_query>Does Ann like tea and cake</rewritten_query>"
    world = World(reply, NO)
    value = world.retrieve(
        structs.replace(ASK, query="Does she like tea and cake", turns=(Turn("user", "Ann"),))
    )
    assert value.resolution is not None
    assert (value.resolution.outcome, value.tried[0].query) == ("resolved", "Does Ann like tea and cake")
    assert "rewrite" not in [it.task for it in world.asked if isinstance(it, AskModel)]


def test_a_rewrite_with_words_of_no_turn_is_not_taken() -> None:
    world = World(f"{YES}<rewritten_query>tea and cake in Oslo</rewritten_query>", NO)
    assert world.retrieve(structs.replace(ASK, turns=(Turn("user", "Ann"),))).query == "tea and cake"
    assert world.retrieve(structs.replace(ASK, op_id=10)).query == "tea and cake"  # without turns


def test_a_model_orders_what_was_found_and_may_leave_out() -> None:
    world = World(rank='{"ids": ["c1"]}')
    value = world.retrieve(structs.replace(ASK, rank="model", enough="never"))
    assert [hit.level for hit in value.hits] == ["categories", "entities", "resources"]
    assert value.ordered_by == "model"
    assert World(rank="[]").retrieve(structs.replace(ASK, rank="model", enough="never")).hits == ()


@pytest.mark.parametrize("order", [("res_1",), (FACTS, FACTS), (FACTS, "res_1")])
def test_an_order_on_its_way_is_restored_only_if_it_is_of_what_was_found(order: tuple[str, ...]) -> None:
    pair = World(rank='{"ids": ["c1"]}').pair
    pair.step(structs.replace(ASK, rank="model", enough="never"))
    (operation,) = pair.memory.state.operations.values()
    while operation.facts.get("categories_order") is None:
        pair.answer()
    assert Memory.restore(pair.memory.snapshot(), life=0).digest() == pair.memory.digest()
    facts: Any = operation.facts
    facts["categories_order"] = order
    with pytest.raises(Rejected, match="an order of categories that were found"):
        Memory.restore(pair.memory.snapshot(), life=0)


def test_an_order_that_cannot_be_read_is_that_of_the_scores() -> None:
    world = World(rank="none")
    value = world.retrieve(structs.replace(ASK, rank="model", enough="never"))
    assert len(value.hits) == 3
    assert world.degraded == ["rank_categories:by_score", "rank_entities:by_score", "rank_resources:by_score"]


def test_without_a_model_everything_is_looked_up() -> None:
    world = World()
    assert world.retrieve(ASK, AskModel).stop_reason == "exhausted"
    assert world.degraded == ["route:retrieve", "enough_categories:go_on", "enough_entities:go_on"]


def test_a_level_that_gives_nothing_is_not_judged() -> None:
    world = World(YES, YES, YES)
    world.retrieve(ASK)
    assert len(world.found) == 2  # there are no reflections, so they are not searched


def test_without_an_embedder_words_alone_find_and_never_suffice() -> None:
    world = World()
    value = world.retrieve(Search(9, "tea and cake", min_results=1, min_avg_ppm=0), Embed)
    assert value.stop_reason == "exhausted"
    assert {hit.vector_ppm for hit in value.hits} == {None}
    assert world.degraded == ["embed_categories:words_only"]


@pytest.mark.parametrize(("vectors", "why"), [(((0,) * 64,), "zero"), ((), "wrong number of vectors")])
def test_the_reason_for_a_missing_vector_is_reported(vectors: tuple[tuple[int, ...], ...], why: str) -> None:
    world = World()
    world.pair.step(Search(9, "tea"))
    effect = world.pair.until(Embed)
    world.pair.pending.pop(0)
    world.pair.step(Embedded(effect.request_id, vectors))
    world.pair.run()
    outcome = world.pair.replies[9].outcome
    assert isinstance(outcome, Done)
    assert [(it.name, it.reason) for it in outcome.degraded] == [("embed_categories:words_only", why)]


def test_where_nothing_was_found_a_failed_level_is_no_empty_answer() -> None:
    world = World()
    outcome = world.outcome(Search(9, "zebra", min_score_ppm=999_999), Read)
    assert isinstance(outcome, Failed)
    assert outcome.error == StorageFailed("again", "unavailable", 3)


def test_a_level_that_fails_is_asked_once_more_if_nothing_was_found() -> None:
    world = World()
    request = Search(9, "tea is liked much", levels=("resources",), min_score_ppm=1)
    outcome = world.ask_failing(request, 5, lambda it: isinstance(it, Read))
    assert isinstance(outcome, Done)
    assert isinstance(outcome.value, Retrieved)
    assert [hit.name for hit in outcome.value.hits] == ["chat/1"]
    assert outcome.value.tried == (LevelTried("resources", "tea is liked much", 1),)


def test_what_does_not_fit_is_left_out_and_counted() -> None:
    world = World()
    for number in range(3):
        memorized(world.pair, Memorize(20 + number, f"tea {number} " + "x" * 7_000, uri=f"long/{number}"))
    value = world.retrieve(Search(9, "tea", levels=("resources",), min_score_ppm=1))
    count = value.context.count("<hit")
    assert 0 < count < len(value.hits)
    assert value.left_out_count == len(value.hits) - count


@pytest.mark.parametrize(
    "request_", [Retrieve(9, "tea", levels=("entities",) * 2), Search(9, "tea", enough="always"),
                 Search(9, "tea", min_results=0)],
)  # fmt: skip
def test_options_that_cannot_be_are_refused(request_: Descent) -> None:
    outcome = World().outcome(request_)
    assert isinstance(outcome, Refused)
    assert isinstance(outcome.error, BadOption)


def vector_of(pair: Pair, row_id: str) -> tuple[int, ...] | None:
    row = pair.row("vector", row_id)
    assert row is None or isinstance(row.body, Vector)
    return row.body.components if row is not None and isinstance(row.body, Vector) else None


def test_texts_and_categories_have_the_vectors_of_what_they_say() -> None:
    world = World()
    [resource] = world.pair.rows("resource")
    assert vector_of(world.pair, resource.address.id) == embed("tea is liked", 64)
    assert vector_of(world.pair, FACTS) == embed("tea and cake", 64)


def test_without_an_embedder_they_have_none() -> None:
    world = World()
    outcome = world.pair.ask(Memorize(30, "other text", uri="chat/1", memory_types=("profile",)), Embed)
    assert isinstance(outcome, Done)
    assert "embed_captions:no_vectors" in [it.name for it in outcome.degraded]
    [resource] = world.pair.rows("resource")
    assert vector_of(world.pair, resource.address.id) is None


@pytest.mark.parametrize("request_", [Memorize(30, "another text"), Summarise(30, "preferences")])
def test_a_wrong_number_of_vectors_of_a_level_is_none(request_: Request) -> None:
    world = World()
    world.finds = "Likes cake"
    memorized(world.pair, Memorize(20, "cake", memory_types=("behavior",)))  # the summary is dirty now
    world.says = "<summary>tea, cake</summary>"
    world.pair.step(request_)
    while request_.op_id not in world.pair.replies:
        effect = world.pair.pending[0]
        if isinstance(effect, Embed) and "Likes" not in effect.texts[0]:
            world.pair.pending.pop(0)
            world.pair.step(Embedded(effect.request_id, ()))
        else:
            world.pair.answer()
    outcome = world.pair.replies[request_.op_id].outcome
    assert isinstance(outcome, Done)
    assert [(it.name.partition(":")[2], it.reason) for it in outcome.degraded] == [
        ("no_vectors", "wrong number of vectors")
    ]


def test_what_has_its_vector_is_not_embedded_again() -> None:
    world = World()
    world.pair.step(Memorize(30, "tea is liked\nmuch", uri="chat/1", memory_types=("profile", "event")))
    texts: list[str] = []
    while 30 not in world.pair.replies:
        effect = world.pair.pending[0]
        texts += effect.texts if isinstance(effect, Embed) else ()
        world.pair.answer()
    assert "tea is liked" not in texts


def test_a_row_of_another_kind_is_found_by_no_word() -> None:
    assert Head("").name_and_text() == ("", "")


# Dates.

SATURDAY_MS = 20_785 * 86_400_000  # 2026-11-28


class DatedWorld(World):
    """Facts of Saturday that say `today`; questions come on Sunday."""

    def __init__(self, **replies: str) -> None:
        super().__init__(**replies)
        self.finds = "Ann naps today"
        request = Memorize(
            20, "Ann naps today", uri="chat/2", memory_types=("event",), happened_ms=SATURDAY_MS
        )
        memorized(self.pair, request)
        self.pair.now_ms = SATURDAY_MS + 86_400_000

    def texts(self) -> list[str]:
        return [it.query.text for it in self.asked if isinstance(it, Read) and isinstance(it.query, ByWords)]


def test_words_of_a_question_are_searched_with_their_dates_too() -> None:
    world = DatedWorld()
    value = world.retrieve(Search(9, "did who yesterday", levels=("entities",), min_score_ppm=600_000))
    assert [hit.text for hit in value.hits] == ["Ann naps today (2026-11-28)"]
    assert world.texts() == ["did who yesterday", "did who yesterday (2026-11-28)"]
    assert [it.texts for it in world.asked if isinstance(it, Embed)] == [("did who yesterday",)]
    assert (value.query, value.tried) == (
        "did who yesterday", (LevelTried("entities", "did who yesterday", 1, is_failed=False),)
    )  # fmt: skip


def test_what_a_question_finds_without_its_date_stays_with_the_least_score() -> None:
    plain, dated = Search(9, "tea", enough="never"), Search(10, "tea yesterday", enough="never")
    without = DatedWorld().retrieve(structs.replace(plain, levels=("entities",), min_score_ppm=600_000))
    assert [(hit.id, hit.score_ppm > 600_000) for hit in without.hits] == [(TEA, True)]
    world = DatedWorld()
    value = world.retrieve(structs.replace(dated, levels=("entities",), min_score_ppm=600_000), Embed)
    by_words = {hit.id: hit.score_ppm for hit in value.hits}
    assert united_ppm(0, 600_000) <= by_words[TEA] < united_ppm(0, 640_000)
    assert len(by_words) == 2


def test_a_level_with_a_failed_list_by_words_is_reported_and_asked_once_more_as_a_whole() -> None:
    world = DatedWorld()
    request = Search(9, "did who yesterday", levels=("entities",), min_score_ppm=600_000)
    outcome = world.ask_failing(
        request, 3, lambda it: isinstance(it, Read) and isinstance(it.query, ByWords) and "(" in it.query.text
    )
    assert isinstance(outcome, Done)
    assert isinstance(outcome.value, Retrieved)
    assert [it.name for it in outcome.degraded] == ["entities_by_words:failed"]
    assert [hit.text for hit in outcome.value.hits] == ["Ann naps today (2026-11-28)"]
    assert [it.is_failed for it in outcome.value.tried] == [False]
    plain, dated = "did who yesterday", "did who yesterday (2026-11-28)"
    assert world.texts() == [plain, dated, dated, dated, plain, dated]


def test_the_texts_of_a_level_are_restored_only_with_their_dates() -> None:
    pair = DatedWorld().pair
    pair.step(Search(9, "did who yesterday", min_score_ppm=999_999))
    (operation,) = pair.memory.state.operations.values()
    while not operation.facts.get("entities_texts"):
        pair.answer()
    assert Memory.restore(pair.memory.snapshot(), life=0).digest() == pair.memory.digest()
    facts: Any = operation.facts
    facts["entities_texts"] = ("did who yesterday", "did who yesterday (2026-11-27)")
    with pytest.raises(Rejected, match="the query of entities with its dates"):
        Memory.restore(pair.memory.snapshot(), life=0)


def test_a_prompt_says_when_a_hit_was_remembered_and_when_it_happened() -> None:
    world = DatedWorld(rank='{"ids": ["c1", "c2"]}')
    ask = Retrieve(9, "Ann naps", min_score_ppm=1, levels=("entities", "resources"), rank="model")
    world.retrieve(ask)
    asked = [it for it in world.asked if isinstance(it, AskModel) and it.task == "rank"]
    facts, texts = (input_of(it.prompt, "candidates") for it in asked)
    now, then = "1970-01-01T00:00Z", "2026-11-28T00:00Z"
    assert {(it["told"], it.get("happened")) for it in texts} == {(now, None), (now, then)}
    assert {(it["told"], it.get("happened")) for it in facts} == {(now, None), (now, then)}
    assert {"told": now, "happened": then} in world.times


# Filters.


def ids_of(world: World, *where: Any, **options: Any) -> dict[str, list[str]]:
    value = world.retrieve(Search(9, "tea and cake", enough="never", min_score_ppm=1, where=where, **options))
    return {level: [hit.id for hit in value.hits if hit.level == level] for level in value.asked}


@pytest.mark.parametrize(
    ("where", "asked", "count"),
    [
        ((), [*LEVELS], 3),
        ((("created_ms", "gte", 0), ("id", "ne", "x")), [*LEVELS], 3),
        ((("type", "in", ("person",)),), ["entities"], 1),
        ((("type", "in", ("note", None)),), ["entities"], 0),
        ((("event_time_ms", "eq", None),), ["entities"], 1),
        ((("name", "eq", "preferences"),), ["categories", "entities"], 1),
        ((("uri", "eq", "chat/1"),), ["resources"], 1), ((("uri", "eq", None),), ["resources"], 0),
        ((("uri", "eq", "chat/1"), ("type", "eq", "person")), [], 0),
        ((("user", "eq", "u1"), ("agent", "in", ("a1",))), [*LEVELS], 3),
        ((("user", "eq", "u2"),), [], 0), ((("agent", "ne", "a1"),), [], 0),
    ],
)  # fmt: skip
def test_a_filter_narrows_what_is_searched(where: Any, asked: list[str], count: int) -> None:
    found = ids_of(World(), *where)
    assert list(found) == asked
    assert sum(map(len, found.values())) == count


def test_levels_without_a_row_that_passes_the_filter_are_reported() -> None:
    world = World()
    value = world.retrieve(Search(9, "tea", where=(("user", "eq", "u2"),)))
    assert (value.asked, value.stop_reason) == ((), "nothing_asked")
    assert value.skipped == tuple(LEVELS)
    assert world.asked == []


def test_conditions_by_name_are_split_at_the_last_two_underscores() -> None:
    assert filter_of({"type__in": ("person",), "user": "ann", "a__b__lt": 1}) == (
        ("type", "in", ("person",)), ("user", "eq", "ann"), ("a__b", "lt", 1),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("where", "error"),
    [
        ((("colour", "eq", "red"),), UnknownField), ((("vector", "eq", 1),), UnknownField),
        (((7, "eq", 7),), UnknownField), ((("type", "like", "p"),), UnknownOperator),
        ((("type", None, "p"),), UnknownOperator), ((("type", "in", "person"),), BadFilterValue),
        ((("type", "in", ((),)),), BadFilterValue), ((("created_ms", "gt", "7"),), BadFilterValue),
        ((("created_ms", "gt", True),), BadFilterValue), ((("sources", "contains", None),), BadFilterValue),
        ((("type", "eq", ("person",)),), BadFilterValue), ((("type", "eq", 2**63),), BadFilterValue),
        ((("type", "eq", "x" * 10_001),), BadFilterValue), ((("id", "ne", ""),) * 21, BadFilterValue),
        ((("type", "eq"),), BadFilterValue), ("type", BadFilterValue),
        ((("type", "in", ("x",) * 101),), BadFilterValue),
        ((("metadata", "contains", ("a", "b", "c")),), BadFilterValue),
        ((("metadata", "contains", ("a", 7)),), BadFilterValue),
    ],
)  # fmt: skip
def test_an_undecidable_filter_is_refused(where: Any, error: type[BadOption]) -> None:
    outcome = World().outcome(Search(9, "tea", where=where))
    assert isinstance(outcome, Refused)
    assert type(outcome.error) is error


# Resolution and context, as the settings have it.


def test_a_model_is_asked_by_force_though_nothing_refers() -> None:
    replies = {"rewrite": "Does Ann like green tea and cake"}
    turns = (Turn("user", "Ann drinks green tea"), Turn("user", "and cake"))
    plain, forced = (Search(9, "Does Ann like tea and cake", turns, force=force) for force in (False, True))
    clear, resolved = (
        World(**replies).retrieve(plain).resolution,
        World(**replies).retrieve(forced).resolution,
    )
    assert clear is not None
    assert resolved is not None
    assert (clear.outcome, clear.turn_count, clear.certainty_ppm) == ("clear", 0, 1_000_000)
    assert (resolved.query, resolved.turn_count) == ("Does Ann like green tea and cake", 2)
    assert World(**replies).retrieve(structs.replace(forced, turns=())).resolution == clear.__class__(
        "clear", "Does Ann like tea and cake"
    )


@pytest.mark.parametrize(
    ("reply", "outcome", "certainty_ppm"),
    [
        ("Where does Ann live", "resolved", 1_000_000), ("Where does she live", "unchanged", 0),
        ("Somewhere", "rejected", 0), (None, "failed", 500_000),
    ],
)  # fmt: skip
def test_its_confidence_is_replied_with_and_without_a_model(
    reply: str | None, outcome: str, certainty_ppm: int
) -> None:
    world = World(rewrite=reply or "")
    request = Search(9, "Where does she live", (Turn("user", "Ann moved"),))
    value = world.retrieve(request, *([AskModel] if reply is None else []))
    assert value.resolution is not None
    got = value.resolution
    assert (got.outcome, got.certainty_ppm, got.turn_count) == (outcome, certainty_ppm, 1)


def test_what_was_not_stated_is_half_as_sure() -> None:
    value = World().retrieve(Search(9, "Where does she live"))
    assert value.resolution is not None
    assert (value.resolution.outcome, value.resolution.certainty_ppm) == ("no_context", 500_000)


def test_the_settings_say_whether_queries_are_resolved_and_how_long_a_context_is() -> None:
    world = World()
    settings = structs.replace(QUIET, resolve_queries=False, context_bytes_max=100)
    world.pair.memory.state.config = settings
    memorized(world.pair, Memorize(20, "tea " * 100, uri="long"))
    value = world.retrieve(Search(9, "that tea", (Turn("user", "green"),), min_score_ppm=1, enough="never"))
    assert value.resolution is not None
    assert value.resolution.outcome == "disabled"
    assert len(value.context) < 400
    assert value.left_out_count > 0


def test_a_model_that_says_whether_it_is_enough_sees_more_than_the_beginning_of_a_summary() -> None:
    world = World(YES, NO)
    world.finds, world.says = "Likes cake", f"<summary>{'tea and cake ' * 100}</summary>"
    memorized(world.pair, Memorize(20, "cake", memory_types=("behavior",)))  # the summary is dirty now
    world.pair.ask(Summarise(21, "preferences"))
    world.retrieve(ASK)
    assert 1_200 < len(world.found[0][0]) < 1_500


@pytest.mark.parametrize("levels", [("attic",), ("entities", "categories"), ("categories",)])
def test_what_failed_is_restored_only_if_it_is_a_level_that_failed(levels: tuple[str, ...]) -> None:
    pair = World().pair
    pair.step(Search(9, "zebra", min_score_ppm=999_999))
    (operation,) = pair.memory.state.operations.values()
    while not operation.facts.get("missed"):
        fail_or_answer(pair)
    assert Memory.restore(pair.memory.snapshot(), life=0).digest() == pair.memory.digest()
    facts: Any = operation.facts
    facts["missed"] = tuple((level, "zebra") for level in levels)
    with pytest.raises(Rejected, match="lists that failed"):
        Memory.restore(pair.memory.snapshot(), life=0)


def fail_or_answer(pair: Pair) -> None:
    """No read is answered."""
    if not pair.pending:
        pair.wake()
    elif isinstance(pair.pending[0], Read):
        pair.fail("unavailable")
    else:
        pair.answer()
