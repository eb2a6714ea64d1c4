"""Goal: what answers is found, by vector and by words; a failed read is an error (M12)."""

import json
from typing import Any

import pytest
from msgspec import structs

from tests.spec_tables import rows
from tests.worlds import (
    QUIET,
    SCOPE,
    Model,
    Pair,
    conditions,
    id_of_fact,
    id_of_note,
    input_of,
    plain,
    saying,
)
from umi_core.config import Config
from umi_core.errors import Rejected, StorageFailed
from umi_core.ids import entity_id
from umi_core.language.persons import is_first_person
from umi_core.memory import Memory
from umi_core.messages.answers import Embedded, ReadDone
from umi_core.messages.effects import (
    AskModel,
    ByFilter,
    ByVector,
    ByWords,
    Degraded,
    Done,
    Embed,
    Failed,
    Outcome,
    Read,
)
from umi_core.messages.requests import Count, Forget, Get, GetEntity, Recall, Remember, UpdateEntity
from umi_core.messages.results import Hit, Recalled, Resolution
from umi_core.policies.ranking import united_ppm
from umi_core.policies.term_scores import score_rows
from umi_core.rows import Address, Ended, Entity, Row
from umi_core.values import Turn
from umi_core.workflows import recall

ACME, LIGHT = id_of_fact("Alice", "works at Acme"), id_of_fact("Bob", "likes light mode")


def recalled(outcome: Outcome) -> Recalled:
    assert isinstance(outcome, Done), outcome
    assert isinstance(outcome.value, Recalled)
    return outcome.value


def hits(outcome: Outcome) -> list[Hit]:
    return list(recalled(outcome).hits)


def remember_two_facts(model: Model = plain) -> Pair:
    """A fact about Alice, with the time of an event, and one about Bob."""
    pair = Pair(model=model).run()
    pair.ask(Remember(1, "Alice works at Acme", event_time_ms=500))
    pair.ask(Remember(2, "Bob likes light mode"))
    return pair


def test_a_hit_shows_the_current_row_and_how_well_it_answers() -> None:
    (hit,) = hits(remember_two_facts().ask(Recall(3, "Where does Alice work?")))
    found = Hit(ACME, 1, "person", "Alice", "works at Acme", 934_655, 934_655, 500)
    assert hit == structs.replace(found, next_id=LIGHT, next_content="likes light mode")


# The next statement.


def after(pair: Pair, query: str, **options: Any) -> list[tuple[str, str]]:
    """Return the text of each hit, and the statement after it."""
    found = hits(pair.ask(Recall(90 + len(pair.replies), query, **options)))
    return [(hit.content, hit.next_content) for hit in found]


def test_a_hit_shows_what_the_same_text_or_the_next_one_says_after_it() -> None:
    pair = Pair().run()
    pair.ask(Remember(1, "Alice naps. Alice sings", extract=False))
    pair.ask(Remember(2, "Bob rests", extract=False))
    assert after(pair, "naps") == [("Alice naps.", "Alice sings")]
    assert after(pair, "sings") == [("Alice sings", "Bob rests")]
    assert after(pair, "rests") == [("Bob rests", "")]


def test_the_next_fact_is_the_next_in_the_text_whatever_the_reply_lists_first() -> None:
    globex = {"name": "Globex", "type": "organization", "content": "She works at Globex.", "confidence": 0.9}
    pair = Pair(model=saying(extract=json.dumps({"entities": [globex]}))).run()
    pair.ask(Remember(1, "My sister lives in Lisbon. She works at Globex. It rains a lot."))
    pair.ask(Remember(2, "Tea is hot", extract=False))
    assert after(pair, "Lisbon") == [("My sister lives in Lisbon.", "She works at Globex.")]
    assert after(pair, "Globex") == [("She works at Globex.", "It rains a lot.")]
    assert after(pair, "rains") == [("It rains a lot.", "Tea is hot")]


def test_a_content_in_other_words_keeps_its_place_in_the_reply() -> None:
    statements = [("Ann", "is a nurse"), ("Bob", "Bob naps."), ("Eve", "moved far away")]
    listed = [{"name": name, "type": "person", "content": it, "confidence": 0.9} for name, it in statements]
    pair = Pair(model=saying(extract=json.dumps({"entities": listed}))).run()
    pair.ask(Remember(1, "Ann nurses the ill. Bob naps. Eve left."))
    assert after(pair, "nurse") == [("is a nurse", "Bob naps.")]
    assert after(pair, "naps") == [("Bob naps.", "moved far away")]


def test_what_is_a_hit_itself_is_not_shown_again() -> None:
    pair = Pair().run()
    pair.ask(Remember(1, "Alice naps. Alice sings. Bob rests", extract=False))
    assert after(pair, "Alice") == [("Alice sings.", "Bob rests"), ("Alice naps.", "")]


def test_the_next_fact_passes_the_filter_or_is_not_shown() -> None:
    pair = Pair().run()
    pair.ask(Remember(1, "It naps", extract=False, metadata=(("seen", "by all"),)))
    pair.ask(Remember(2, "It sings", extract=False))
    assert after(pair, "naps") == [("It naps", "It sings")]
    assert after(pair, "naps", where=(("metadata", "has_key", "seen"),)) == [("It naps", "")]
    assert after(pair, "naps", where=(("metadata", "contains", ("seen", "by all")),)) == [("It naps", "")]
    assert after(pair, "naps", where=(("metadata", "contains", ("seen", "by none")),)) == []


def test_the_first_of_several_facts_stated_after_one_is_shown() -> None:
    pair = Pair().run()
    for at_ms, text in enumerate(("It naps", "It sings", "It naps", "It rests")):
        pair.now_ms = at_ms
        pair.ask(Remember(at_ms, text, extract=False))
    assert after(pair, "naps") == [("It naps", "It sings")]
    pair.ask(Forget(9, id_of_note("It sings")))
    assert after(pair, "naps") == [("It naps", "It rests")]


def test_a_next_fact_that_cannot_be_read_is_left_out_and_reported() -> None:
    pair = remember_two_facts()
    pair.step(Recall(3, "Where does Alice work?"))
    while not isinstance(getattr(pair.pending[0], "query", None), ByFilter):
        pair.answer()
    pair.fail("refused")
    outcome = pair.run().replies[3].outcome
    assert [hit.next_id for hit in hits(outcome)] == [None]
    assert degraded(outcome) == [("context:none", "refused", 1)]


@pytest.mark.parametrize(
    ("where", "names"),
    [
        ((), ["Alice", "Bob"]), ((("name", "ne", "Alice"), ("type", "in", ("person", "note"))), ["Bob"]),
        ((("event_time_ms", "eq", None),), ["Bob"]), ((("event_time_ms", "lte", 500),), ["Alice"]),
        ((("user", "eq", SCOPE.user),), ["Alice", "Bob"]), ((("metadata", "has_key", "x"),), []),
    ],
)  # fmt: skip
def test_conditions_narrow_what_is_found(where: Any, names: list[str]) -> None:
    found = remember_two_facts().ask(Recall(3, "Alice and Bob", min_score_ppm=1, where=where))
    assert sorted(hit.name for hit in hits(found)) == names


@pytest.mark.parametrize("where", [(("user", "ne", SCOPE.user),), (("uri", "eq", None),)])
def test_a_filter_that_excludes_everything_reads_nothing(where: Any) -> None:
    """M12.1, M5.22: neither embedder nor storage is asked, and that was no question."""
    pair = remember_two_facts()
    pair.step(Recall(3, "Alice and Bob", where=where))
    assert pair.pending == []
    assert hits(pair.replies[3].outcome) == []
    assert pair.ask(Get(4, "__last_query")) == Done(None)


def test_each_list_is_asked_for_twice_the_limit_with_the_whole_filter() -> None:
    pair = remember_two_facts()
    pair.step(Recall(3, "Alice", limit=4, time_range=(1, 9), types=("person",), min_score_ppm=0))
    pair.answer()
    where = conditions(("person",), 1, 9)
    (by_vector,) = pair.pending
    (by_words,) = pair.answer()
    assert isinstance(by_vector, Read)
    assert isinstance(by_words, Read)
    assert isinstance(by_vector.query, ByVector)
    assert structs.replace(by_vector.query, vector=()) == ByVector(SCOPE, (), where, 8, 1)
    assert by_words.query == ByWords(SCOPE, "Alice", where, 8, 1)


def test_each_fact_about_a_name_is_a_hit_of_its_own_and_the_limit_counts_facts() -> None:
    pair = remember_two_facts()
    pair.ask(Remember(3, "Alice likes tea"))
    found = hits(pair.ask(Recall(4, "Does Alice like tea at Acme?", min_score_ppm=1)))
    assert sorted((it.name, it.content) for it in found if it.name == "Alice") == [
        ("Alice", "likes tea"), ("Alice", "works at Acme"),
    ]  # fmt: skip
    assert len(hits(pair.ask(Recall(5, "Does Alice like tea at Acme?", limit=1, min_score_ppm=1)))) == 1


def test_without_options_the_settings_say_how_many_and_how_well() -> None:
    pair = Pair(config=Config(auto_rebalance=False, recall_limit_default=3, recall_min_score_ppm=7)).run()
    pair.step(Recall(1, "tea"))
    (by_vector,) = pair.answer()
    assert isinstance(by_vector, Read)
    assert isinstance(by_vector.query, ByVector)
    assert (by_vector.query.limit, by_vector.query.min_score_ppm) == (6, 7)


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({}, [ACME, LIGHT]),
        ({"limit": 1}, [ACME]),
        ({"types": ("note",)}, []),
        ({"time_range": (500, 500)}, [ACME]),
        ({"time_range": (501, None)}, []),
        ({"time_range": (None, 0)}, [LIGHT]),
        ({"min_score_ppm": 1_000_000}, []),
    ],
)
def test_filters_hold_before_anything_is_cut(options: dict[str, Any], found: list[str]) -> None:
    wanted = Recall(3, "Alice Bob Acme", **{"min_score_ppm": 1, **options})
    assert [hit.id for hit in hits(remember_two_facts().ask(wanted))] == found


# The better of both lists, in a total order.


HALF_PPM = 500_000


def row(key: str, score_ppm: int | None) -> Row:
    body = Entity(key, "person", key, "x", 1, 500_000, 500_000, "human", 0, 0)
    return Row(Address(SCOPE, "entity", key), 1, body, score_ppm)


def test_a_row_counts_by_both_lists_and_ties_go_to_the_smaller_id() -> None:
    pair = Pair().run()
    pair.step(Recall(1, "tea", limit=3))
    pair.answer()
    for found in (
        (row("c", HALF_PPM), row("b", 300_003)),
        (row("b", 900_000), row("c", 400_000), row("a", 475_000), row("d", 475_000)),
    ):
        pair.step(ReadDone(pair.pending.pop(0).request_id, found))
    pair.run()
    assert [(hit.id, hit.score_ppm) for hit in hits(pair.replies[1].outcome)] == [
        ("b", united_ppm(300_003, 900_000)),
        ("a", united_ppm(0, 475_000)),
        ("c", united_ppm(HALF_PPM, 400_000)),
    ]


@pytest.mark.parametrize("score_ppm", [None, 299_999, 1_000_001])
def test_a_row_that_scores_otherwise_than_asked_for_is_no_hit(score_ppm: int | None) -> None:
    pair = Pair().run()
    pair.step(Recall(1, "tea"))
    pair.answer()
    for found in ((row("a", score_ppm),), ()):
        pair.step(ReadDone(pair.pending.pop(0).request_id, found))
    outcome = pair.replies[1].outcome
    assert hits(outcome) == []
    assert getattr(outcome, "degraded", None) == (Degraded("read:foreign_rows", "foreign"),)


# Questions in the first person.


def those_at_home(speaker: str | None, query: str, others: int = 1, limit: int | None = None) -> list[str]:
    """Return the contents of the hits of a memory in which Ann and others live somewhere."""
    names = ["Bob", *(f"Cy{number}" for number in range(1, others))]
    statements = [(name, "lives in Oslo") for name in names] + [("Ann", "I live in the old town of Rome")]
    elements = [{"name": name, "type": "person", "content": it, "confidence": 0.9} for name, it in statements]
    pair = Pair(model=saying(extract=json.dumps({"entities": elements}))).run()
    pair.ask(Remember(1, "Noted.", evolve=False))
    pair.ask(Remember(2, "Some people live on boats.", extract=False))
    found = hits(pair.ask(Recall(3, query, limit, deep=False, speaker=speaker), Embed))
    return [hit.name if hit.name in ("Ann", "Bob") else hit.content for hit in found]


def test_a_question_in_the_first_person_is_answered_by_what_its_speaker_is_known_for() -> None:
    note = "Some people live on boats."
    assert those_at_home(None, "Where do I live?") == ["Bob", note, "Ann"]
    assert those_at_home("Ann", "Where does anybody live?") == ["Bob", note, "Ann"]
    assert those_at_home(" ANN ", "Where do I live?") == [note, "Ann", "Bob"]  # a note is of no others


@pytest.mark.parametrize(
    ("name", "others", "query", "is_of_others"),
    [
        ("Bob", (), "Where do I live?", True),
        ("Ann", (), "Where do I live?", False),
        ("Bob", ("Ann",), "Where do I live?", False),
        ("Bob", (), "Does BOB live where I live?", False),  # whom the question names
        ("Cy", ("Bob",), "Does Bob live where I live?", False),
        ("Bob", (), "Do I have a bobcat?", True),
        ("", (), "Where do I live?", False),  # a note is about none
    ],
)
def test_a_fact_is_of_others_if_it_is_about_neither_the_speaker_nor_a_name_of_the_question(
    name: str, others: tuple[str, ...], query: str, is_of_others: bool
) -> None:
    about = tuple(entity_id(SCOPE, it) for it in (name, *others) if it)
    body = row("a", 1).body
    assert isinstance(body, Entity)
    fact = structs.replace(body, name=name or "A boat.", about=about, others=others)
    hit = Row(Address(SCOPE, "entity", "a"), 1, fact, 1)
    assert recall.is_of_others(hit, "Ann", query) is is_of_others


def test_the_fact_of_the_speaker_comes_from_behind_many_others() -> None:
    assert those_at_home("Ann", "Where do I live?", others=20, limit=3)[1] == "Ann"


@pytest.mark.parametrize("case", rows("memory", "first_person"), ids=str)
def test_whether_a_query_speaks_of_its_speaker(case: dict[str, str]) -> None:
    assert is_first_person(json.loads(case["query"].strip("`"))) is (case["first person"] == "yes")


# Without services.


def test_without_vectors_words_find_it_and_the_reply_says_so() -> None:
    outcome = remember_two_facts().ask(Recall(3, "Alice"), Embed)
    assert [hit.id for hit in hits(outcome)] == [ACME]
    assert getattr(outcome, "degraded", None) == (Degraded("embed:words_only", "unavailable"),)


@pytest.mark.parametrize(
    ("vectors", "reason"),
    [
        ((), "wrong number of vectors"),
        (((1,) * 64, (1,) * 64), "wrong number of vectors"),
        (((0,) * 64,), "zero"),
        (((128,) * 64,), "out_of_range"),
        (((1,) * 65,), "wrong_length"),
    ],
)
def test_an_unsound_vector_is_no_vector(vectors: tuple[tuple[int, ...], ...], reason: str) -> None:
    pair = remember_two_facts()
    (embed,) = pair.step(Recall(3, "Alice"))
    pair.pending.clear()
    (read,) = pair.step(Embedded(embed.request_id, vectors))
    assert isinstance(read, Read)
    assert isinstance(read.query, ByWords)
    outcome = pair.run().replies[3].outcome
    assert getattr(outcome, "degraded", None) == (Degraded("embed:words_only", reason),)


def test_an_unsound_vector_takes_none_from_the_other_variants() -> None:
    pair = remember_two_facts(model=saying(expand='["drinks", "beverages"]'))
    pair.step(Recall(3, "tea", deep=True))
    pair.answer()
    embed = pair.pending.pop()
    assert isinstance(embed, Embed)
    pair.step(Embedded(embed.request_id, ((1,) * 64, (0,) * 64, (2,) * 64)))
    vectors = list[object]()
    while isinstance(pair.pending[0], Read) and isinstance(pair.pending[0].query, ByVector):
        vectors.append(pair.pending[0].query.vector[0])
        pair.answer()
    assert vectors == [1, 2]
    degraded = getattr(pair.run().replies[3].outcome, "degraded", None)
    assert degraded == (Degraded("embed:words_only", "zero"),)


def test_a_failed_search_by_vector_leaves_the_words() -> None:
    pair = remember_two_facts()
    pair.step(Recall(3, "Alice"))
    pair.answer()
    pair.fail("refused")
    outcome = pair.run().replies[3].outcome
    assert [hit.id for hit in hits(outcome)] == [ACME]
    assert getattr(outcome, "degraded", None) == (Degraded("by_vector:words_only", "refused"),)


def test_a_failed_search_by_words_is_an_error_and_no_access() -> None:
    pair = remember_two_facts()
    before = pair.memory.state.tiers
    assert pair.ask(Recall(3, "Alice"), Read) == Failed(StorageFailed("by_words", "unavailable", 3))
    assert pair.memory.state.tiers == before


# What the query refers to.


TURNS = (
    Turn("user", "Ask John about the database migration"),
    Turn("assistant", "John mentioned the DB migration is late"),
)
QUERY = "What did he say about that?"
REWRITE = "What did John say about the database migration?"
HALF = "What did John say about that?"
TERMS = ("he", "that")
ASKED = Recall(1, QUERY, turns=TURNS, deep=False)


def tasks(pair: Pair, request: Recall) -> list[str]:
    """What the model is asked while this recall runs, in order."""
    pair.step(request)
    asked: list[str] = []
    while pair.pending:
        effect = pair.pending[0]
        asked += [effect.task] if isinstance(effect, AskModel) else []
        pair.answer()
    return asked


def degraded(outcome: Outcome) -> list[tuple[str, str, int]]:
    assert isinstance(outcome, Done), outcome
    return [structs.astuple(item) for item in outcome.degraded]


def rewriting(reply: str, **config: Any) -> Pair:
    """A memory with a model that rewrites so, and finds no other words."""
    return Pair(model=saying(rewrite=reply), config=structs.replace(QUIET, **config)).run()


@pytest.mark.parametrize(
    ("request_", "resolution"),
    [
        (Recall(1, QUERY, turns=TURNS, resolve=False), Resolution("disabled", QUERY)),
        (Recall(1, "Tell Alice", turns=TURNS), Resolution("clear", "Tell Alice")),
        (Recall(1, QUERY), Resolution("no_context", QUERY, TERMS)),
        (Recall(1, QUERY, turns=(Turn("user", " "),)), Resolution("no_context", QUERY, TERMS)),
    ],
    ids=lambda value: getattr(value, "outcome", ""),
)
def test_no_model_is_asked_what_needs_none(request_: Recall, resolution: Resolution) -> None:
    pair = rewriting("never asked")
    assert tasks(pair, structs.replace(request_, deep=False)) == []
    outcome = pair.replies[1].outcome
    assert (recalled(outcome).resolution, degraded(outcome)) == (resolution, [])


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("garbage unrelated", "dropped_words"),
        ("What did Theo say about the migration?", "foreign_word"),
        ("What did John say about it?", "new_reference"),
        ("say", "nothing_added"),
        ("", "empty_reply"),
    ],
)
def test_a_refused_rewrite_is_named_and_the_query_is_searched_as_it_was(reply: str, reason: str) -> None:
    outcome = rewriting(reply).ask(ASKED)
    resolution = Resolution("rejected", QUERY, TERMS, reason, turn_count=2)
    assert (recalled(outcome).resolution, recalled(outcome).variants) == (resolution, (QUERY,))
    assert degraded(outcome) == [("resolve:original", reason, 1)]


@pytest.mark.parametrize(
    ("reply", "resolution"),
    [
        (REWRITE, Resolution("resolved", REWRITE, TERMS, "", 1_000_000, 2)),
        (HALF, Resolution("resolved", HALF, TERMS, "", 500_000, 2)),
        (QUERY, Resolution("unchanged", QUERY, TERMS, turn_count=2)),
    ],
)
def test_an_adopted_rewrite_is_reported_and_nothing_is_degraded(reply: str, resolution: Resolution) -> None:
    outcome = rewriting(reply).ask(ASKED)
    assert (recalled(outcome).resolution, recalled(outcome).variants) == (resolution, (resolution.query,))
    assert degraded(outcome) == []


def test_a_rewrite_that_resolves_too_little_is_refused_and_nothing_is_missing() -> None:
    query = "What did he say about that and this?"
    outcome = rewriting("What did John say about that and this?").ask(Recall(1, query, turns=TURNS))
    resolution = Resolution("rejected", query, ("he", "that", "this"), "unresolved", turn_count=2)
    assert (recalled(outcome).resolution, degraded(outcome)) == (resolution, [])


@pytest.mark.parametrize(("floor_ppm", "outcome"), [(500_000, "resolved"), (500_001, "rejected")])
def test_the_setting_says_how_much_must_be_resolved(floor_ppm: int, outcome: str) -> None:
    pair = rewriting(HALF, resolve_confidence_min_ppm=floor_ppm)
    assert recalled(pair.ask(ASKED)).resolution.outcome == outcome


def test_what_is_resolved_is_what_is_searched() -> None:
    pair = rewriting(REWRITE)
    pair.step(ASKED)
    (embed,) = pair.answer()
    assert isinstance(embed, Embed)
    assert embed.texts == (REWRITE,)
    pair.answer()
    (by_words,) = pair.answer()
    assert isinstance(by_words, Read)
    assert isinstance(by_words.query, ByWords)
    assert by_words.query.text == REWRITE


def test_the_model_is_shown_the_query_and_the_turns_newest_first() -> None:
    (asked,) = rewriting("").step(ASKED)
    assert isinstance(asked, AskModel)
    assert (asked.task, input_of(asked.prompt, "query")) == ("rewrite", QUERY)
    assert [it["text"] for it in input_of(asked.prompt, "turns")] == [it.text for it in TURNS[::-1]]


def test_a_model_that_is_away_is_asked_twice_and_costs_the_rewrite() -> None:
    pair = rewriting("")
    outcome = pair.ask(ASKED, AskModel)
    assert recalled(outcome).resolution.outcome == "failed"
    assert (recalled(outcome).resolution.query, recalled(outcome).resolution.terms) == (QUERY, TERMS)
    assert degraded(outcome) == [("resolve:original", "unavailable", 1)]
    assert [call.operation for call in pair.replies[1].calls] == ["rewrite", "rewrite", "embed"]


def test_without_a_rewrite_the_query_still_finds_what_it_names() -> None:
    pair = remember_two_facts()
    query = "Did Alice like that?"
    outcome = pair.ask(Recall(3, query, turns=TURNS, deep=False, min_score_ppm=1), AskModel)
    assert ACME in [hit.id for hit in hits(outcome)]


# Asked again.


def again(pair: Pair, request: Recall = ASKED) -> list[str]:
    return tasks(pair, structs.replace(request, op_id=2))


def test_the_second_time_no_model_is_asked_and_the_reply_is_the_same() -> None:
    pair = rewriting(REWRITE)
    assert (tasks(pair, ASKED), again(pair)) == (["rewrite"], [])
    assert pair.replies[1].outcome == pair.replies[2].outcome


@pytest.mark.parametrize(
    "other",
    [
        structs.replace(ASKED, query=QUERY + "?"),
        structs.replace(ASKED, turns=TURNS[1:]),
        structs.replace(ASKED, turns=(*TURNS, Turn("user", "Well"))),
    ],
)
def test_another_query_or_other_turns_are_asked_anew(other: Recall) -> None:
    pair = rewriting(REWRITE)
    pair.ask(ASKED)
    assert again(pair, other) == ["rewrite"]


def test_turns_that_are_not_shown_make_no_difference() -> None:
    pair = rewriting(REWRITE)
    pair.ask(ASKED)
    assert again(pair, structs.replace(ASKED, turns=(*TURNS, Turn("user", " ")))) == []


@pytest.mark.parametrize(("now_ms", "asked"), [(299_999, []), (300_000, ["rewrite"])])
def test_what_was_resolved_is_known_for_five_minutes(now_ms: int, asked: list[str]) -> None:
    pair = rewriting(REWRITE)
    pair.ask(ASKED)
    pair.now_ms = now_ms
    assert again(pair) == asked


@pytest.mark.parametrize("reply", ["garbage unrelated", ""])
def test_a_refused_rewrite_is_not_kept(reply: str) -> None:
    pair = rewriting(reply)
    pair.ask(ASKED)
    pair.model = saying(rewrite=REWRITE)
    assert again(pair) == ["rewrite"]
    assert recalled(pair.replies[2].outcome).resolution.outcome == "resolved"


def test_with_the_cache_switched_off_every_question_is_asked() -> None:
    pair = rewriting(REWRITE, resolve_cache=False)
    assert (tasks(pair, ASKED), again(pair)) == (["rewrite"], ["rewrite"])
    assert pair.replies[1].outcome == pair.replies[2].outcome


def test_a_question_asked_again_is_the_last_to_be_forgotten() -> None:
    pair = rewriting("What did John say?")
    for n, query in enumerate(("What did he say?", "What did he himself say?", "What did he say?")):
        pair.ask(structs.replace(ASKED, op_id=n, query=query))
    terms = [it.resolution.terms for it in pair.memory.state.tiers.rewrites.rewrites]
    assert terms == [("he", "himself"), ("he",)]


def test_a_crash_forgets_what_was_resolved() -> None:
    pair = rewriting(REWRITE)
    pair.ask(ASKED)
    later = Pair(storage=pair.storage, model=pair.model).run()
    assert tasks(later, ASKED) == ["rewrite"]


# Other words.


EXPANDED = '["tea of Alice", "drinks of Alice"]'


@pytest.mark.parametrize(
    ("deep", "query", "asked"),
    [
        (True, "Alice tea", ["expand"]),
        (False, "what does Alice drink", []),
        (None, "what does Alice drink", ["expand"]),
        (None, "whatever Alice drinks", []),
        (None, "tea like Alice drinks", ["expand"]),
    ],
)
def test_variants_are_asked_for_when_wanted_or_when_a_word_tells(
    deep: bool | None, query: str, asked: list[str]
) -> None:
    pair = Pair(model=saying(expand=EXPANDED)).run()
    assert tasks(pair, Recall(1, query, deep=deep)) == asked
    value = recalled(pair.replies[1].outcome)
    assert value.variants == ((query, "tea of Alice", "drinks of Alice") if asked else (query,))
    assert value.deep_used == bool(asked)


def test_one_variant_is_enough_to_have_searched_deeper() -> None:
    pair = Pair(model=saying(expand='["tea of Alice"]')).run()
    value = recalled(pair.ask(Recall(1, "Alice tea", deep=True)))
    assert value.variants == ("Alice tea", "tea of Alice")
    assert value.deep_used


def test_a_trigger_is_looked_for_in_the_resolved_query() -> None:
    pair = Pair(model=saying(rewrite="tell last migration", expand=EXPANDED)).run()
    turns = (Turn("user", "the last migration"),)
    assert tasks(pair, Recall(1, "tell it", turns=turns)) == ["rewrite", "expand"]
    assert recalled(pair.replies[1].outcome).variants[0] == "tell last migration"


@pytest.mark.parametrize(
    ("reply", "more", "less"),
    [
        ('["A tea"]', ("A tea",), []),
        ('["one", "two", "three"]', ("one", "two"), []),
        ('[" TEA ", "tea", "", 7, "a  b"]', ("a b",), []),
        ("[]", (), []),
        ("no other words", (), [("expand:single", "no_json", 1)]),
    ],
)
def test_the_query_stands_first_and_each_variant_once(
    reply: str, more: tuple[str, ...], less: list[tuple[str, str, int]]
) -> None:
    outcome = Pair(model=saying(expand=reply)).run().ask(Recall(1, "tea", deep=True))
    assert (recalled(outcome).variants, degraded(outcome)) == (("tea", *more), less)


def test_a_model_that_is_away_costs_the_variants() -> None:
    outcome = remember_two_facts().ask(Recall(3, "Alice", deep=True), AskModel)
    assert recalled(outcome).variants == ("Alice",)
    assert degraded(outcome) == [("expand:single", "unavailable", 1)]
    assert [hit.id for hit in hits(outcome)] == [ACME]


# A list per variant.


def listed(lists: dict[str, tuple[Row, ...]], limit: int = 3) -> Pair:
    """A deep recall of `one` with the variant `two`; each search finds what is listed for it."""
    pair = Pair(model=saying(expand='["two"]')).run()
    pair.step(Recall(1, "one", limit=limit, deep=True, min_score_ppm=1))
    pair.answer()
    pair.answer()
    for name in ("vector 1", "vector 2", "one", "two"):
        (read,) = pair.pending
        assert isinstance(read, Read)
        assert getattr(read.query, "text", name) == name
        assert getattr(read.query, "limit", None) == 2 * limit
        pair.pending.clear()
        pair.step(ReadDone(read.request_id, lists.get(name, ())))
    return pair.run()


def test_lists_of_vectors_and_words_are_joined_by_variant_and_variants_are_fused() -> None:
    """The worked example."""
    pair = listed(
        {
            "vector 1": (row("a", 900_000), row("b", 800_000)),
            "vector 2": (row("b", 850_000), row("c", 700_000)),
        }
    )
    found = [(hit.id, hit.score_ppm, hit.relevance_ppm) for hit in hits(pair.replies[1].outcome)]
    assert found == [("b", 892_540, 850_000), ("a", 855_000, 900_000), ("c", 637_540, 700_000)]


def test_each_list_is_cut_to_twice_the_limit_before_it_is_fused() -> None:
    """The third of the first list is behind its cut; within, it would stand in two lists and win."""
    last = (row("c", 750_000),)  # a relevance of 908_560
    first = (row("a", 920_000), row("b", 910_000))
    pair = listed({"vector 1": first, "one": last, "two": last}, limit=1)
    (hit,) = hits(pair.replies[1].outcome)
    assert (hit.id, hit.relevance_ppm) == ("a", 920_000)


def test_what_is_behind_the_limit_of_one_list_may_win_by_another() -> None:
    first, second = (row("a", 900), row("b", 800)), (row("b", 900),)
    (hit,) = hits(listed({"vector 1": first, "two": second}, limit=1).replies[1].outcome)
    assert hit.id == "b"


def until(pair: Pair, query: type[ByVector | ByWords], times: int = 1) -> Pair:
    """Until the next search of this kind is pending, for the so manieth time."""
    while not (isinstance(pair.pending[0], Read) and isinstance(pair.pending[0].query, query)):
        pair.answer()
    return pair if times == 1 else until(answered(pair), query, times - 1)


def answered(pair: Pair) -> Pair:
    pair.answer()
    return pair


def two_variants() -> Pair:
    """A deep recall of Alice, with Bob as its variant."""
    pair = remember_two_facts()
    pair.model = saying(expand='["Bob"]')
    pair.step(Recall(3, "Alice", deep=True))
    return pair


@pytest.mark.parametrize("place", [1, 2])
def test_a_search_by_vector_that_fails_costs_its_variant_only(place: int) -> None:
    pair = until(two_variants(), ByVector, place)
    pair.fail("refused")
    outcome = pair.run().replies[3].outcome
    assert degraded(outcome) == [("by_vector:words_only", "refused", 1)]
    assert sorted(hit.id for hit in hits(outcome)) == sorted((ACME, LIGHT))


def test_each_search_by_vector_that_fails_is_counted() -> None:
    pair = until(two_variants(), ByVector)
    pair.fail("refused")
    pair.fail("refused")
    assert degraded(pair.run().replies[3].outcome) == [("by_vector:words_only", "refused", 2)]


@pytest.mark.parametrize("place", [1, 2])
def test_a_search_by_words_that_fails_for_any_variant_is_an_error(place: int) -> None:
    pair = until(two_variants(), ByWords, place)
    pair.fail("refused")
    assert pair.replies[3].outcome == Failed(StorageFailed("by_words", "refused", 1))


def test_a_floor_holds_for_relevance_and_never_for_the_fused_score() -> None:
    pair = remember_two_facts()
    pair.model = saying(expand='["Acme"]')
    (hit,) = hits(pair.ask(Recall(3, "zzz", deep=True, min_score_ppm=815_000)))
    assert (hit.id, hit.relevance_ppm, hit.score_ppm) == (ACME, 934_655, 804_258)


# What a recall leaves behind.


def test_each_hit_is_an_access_and_only_a_hit() -> None:
    pair = remember_two_facts()
    pair.now_ms = 70
    pair.ask(Recall(3, "Acme"))
    records = pair.memory.state.tiers.access.records
    assert [(records[key].count, records[key].last_ms) for key in (ACME, LIGHT)] == [(2, 70), (1, 0)]
    pair.ask(GetEntity(4, ACME))
    pair.ask(Count(5))
    assert pair.memory.state.tiers.access.records == records


def test_the_last_query_is_the_one_that_was_answered() -> None:
    pair = remember_two_facts()
    pair.ask(Recall(3, "Alice?"))
    pair.ask(Recall(4, "Bob?"), Read)
    assert pair.ask(Get(5, "__last_query")) == Done(b"Alice?")


# Single rows.


def test_get_gives_a_current_fact_or_an_ended_one_or_none() -> None:
    pair = remember_two_facts()
    assert getattr(pair.ask(GetEntity(3, ACME)), "value", None) == body(pair, "entity")
    pair.ask(UpdateEntity(4, ACME, "works at Globex"))
    ended = body(pair, "ended")
    assert isinstance(ended, Ended)
    assert pair.ask(GetEntity(5, ACME)) == Done(ended)
    pair.ask(Forget(6, ACME))
    assert pair.ask(GetEntity(7, ACME)) == Done(None)


def body(pair: Pair, kind: str) -> object:
    row = pair.row(kind, ACME)
    assert row is not None
    return row.body


def test_count_counts_current_facts_of_the_scope_and_types() -> None:
    pair = remember_two_facts()
    other = Pair(storage=pair.storage, scope=structs.replace(SCOPE, agent="a2")).run()
    other.ask(Remember(1, "Carol sings"))
    pair.ask(Remember(3, "Umi helps"))
    pair.ask(Forget(4, LIGHT))
    counts = [
        pair.ask(Count(5)),
        pair.ask(Count(6, ("self",))),
        pair.ask(Count(7, ("task",))),
        other.ask(Count(8)),
    ]
    assert counts == [Done(2), Done(1), Done(0), Done(1)]


def test_a_read_that_fails_is_an_error_and_not_nothing() -> None:
    failed = Failed(StorageFailed("read", "unavailable", 3))
    assert (
        remember_two_facts().ask(GetEntity(3, ACME), Read)
        == remember_two_facts().ask(Count(3), Read)
        == failed
    )


# Dates of a question.

SATURDAY_MS = 20_785 * 86_400_000  # 2026-11-28
NAPS = id_of_note("Alice naps today (2026-11-28)")


def remember_on_saturday(model: Model = plain, config: Config = QUIET) -> Pair:
    """A note of Saturday, and one without a date; it is Sunday now."""
    pair = Pair(model=model, config=config).run()
    pair.now_ms = SATURDAY_MS
    pair.ask(Remember(1, "Alice naps today", extract=False))
    pair.ask(Remember(2, "Bob likes light mode", extract=False))
    pair.now_ms += 86_400_000
    return pair


def asked_texts(pair: Pair, request: Recall) -> tuple[list[tuple[str, ...]], list[str]]:
    """Ask, and return the texts that were embedded, and those that were searched by words."""
    embedded, searched = list[tuple[str, ...]](), list[str]()
    pair.step(request)
    while pair.pending:
        effect = pair.pending[0]
        if isinstance(effect, Embed):
            embedded.append(effect.texts)
        elif isinstance(effect, Read) and isinstance(effect.query, ByWords):
            searched.append(effect.query.text)
        pair.answer()
    return embedded, searched


def test_a_fact_of_a_day_is_found_by_the_date_of_the_question() -> None:
    pair = remember_on_saturday()
    embedded, searched = asked_texts(pair, Recall(3, "who rested yesterday?", deep=False))
    assert embedded == [("who rested yesterday?",)]
    assert searched == ["who rested yesterday?", "who rested yesterday (2026-11-28)?"]
    value = recalled(pair.replies[3].outcome)
    assert [hit.id for hit in value.hits] == [NAPS]
    assert (value.variants, value.resolution.query) == (("who rested yesterday?",), "who rested yesterday?")
    assert hits(pair.ask(Recall(4, "who rested", deep=False))) == []


def test_each_variant_has_its_dates() -> None:
    pair = remember_on_saturday(saying(expand='["Alice last week", "a nap"]'))
    embedded, searched = asked_texts(pair, Recall(3, "who rested today?", deep=True))
    assert embedded == [("who rested today?", "Alice last week", "a nap")]
    days = [f"Alice last week (2026-11-{day})" for day in range(16, 23)]
    rested = ["who rested today?", "who rested today (2026-11-29)?"]
    assert searched == [*rested, "Alice last week", *days, "a nap"]
    assert [hit.id for hit in hits(pair.replies[3].outcome)] == [NAPS]


def test_a_question_that_says_when_finds_no_less() -> None:
    """Two of three terms are enough, two of six would not be."""
    pair = remember_on_saturday()
    request = Recall(3, "Bob light yesterday", deep=False, min_score_ppm=600_000)
    pair.step(request)
    pair.fail("refused")  # no vector has a part in it
    while pair.pending:
        pair.answer()
    (hit,) = hits(pair.replies[3].outcome)
    assert hit.content == "Bob likes light mode"
    assert united_ppm(0, 600_000) <= hit.relevance_ppm < united_ppm(0, 640_000)
    by_words = score_rows("Bob light yesterday (2026-11-28)", [("Bob likes light mode", "")] * 2)
    assert max(by_words) < 600_000


def test_the_day_is_that_of_the_request_however_long_its_questions_take() -> None:
    pair = remember_on_saturday(saying(expand="[]"), structs.replace(QUIET, utc_offset_minutes=60))
    pair.now_ms -= 3_600_000 + 1  # the last millisecond of Saturday, by the clocks of the users
    pair.step(Recall(3, "tonight", deep=True))
    pair.now_ms += 10
    pair.answer()
    searched = list[str]()
    while pair.pending:
        effect = pair.pending[0]
        searched += (
            [effect.query.text] if isinstance(effect, Read) and isinstance(effect.query, ByWords) else []
        )
        pair.answer()
    assert searched == ["tonight", "tonight (2026-11-28)"]


@pytest.mark.parametrize("texts", [((0, "tonight"),), ((0, "tonight"), (0, "tonight (2026-11-28)")), ()])
def test_the_texts_of_a_search_are_restored_only_with_their_dates(texts: tuple[tuple[int, str], ...]) -> None:
    pair = remember_on_saturday()
    pair.step(Recall(3, "tonight", deep=False))
    assert Memory.restore(pair.memory.snapshot(), life=0).digest() == pair.memory.digest()
    (operation,) = pair.memory.state.operations.values()
    facts: Any = operation.facts
    assert facts["texts"] == ((0, "tonight"), (0, "tonight (2026-11-29)"))
    facts["texts"] = texts
    with pytest.raises(Rejected, match="each variant with its dates"):
        Memory.restore(pair.memory.snapshot(), life=0)


def test_definites_of_the_turns_are_named_though_no_model_answers() -> None:
    asked = structs.replace(ASKED, query="What did the boss say?", turns=(Turn("user", "Ann has a boss."),))
    found = recalled(rewriting("").ask(asked, AskModel)).resolution
    assert (found.outcome, found.terms) == ("failed", ("the boss",))
