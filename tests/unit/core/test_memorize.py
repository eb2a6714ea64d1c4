"""Goal: a text is memorized whole, once, and with what it says; nothing that fails loses it (H3)."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

from tests.worlds import QUIET, SCOPE, Pair, id_of_fact, id_of_note, input_of, saying
from umi_core.config import Config
from umi_core.errors import BadType, EmptyText, UnsupportedModality
from umi_core.ids import category_id, entity_id, membership_id, resource_id, segment_id
from umi_core.memory import Memory
from umi_core.messages.answers import Embedded
from umi_core.messages.effects import AskModel, Commit, Done, Embed, Read, Refused
from umi_core.messages.requests import Forget, ForgetResource, GetEntity, List, Memorize, Search
from umi_core.messages.results import Listed, Memorized, Retrieved, Stored
from umi_core.rows import Category, Entity, Membership, Resource
from umi_core.values import DESCRIBED_BY

TEA = id_of_note("Likes tea")
CHAT = resource_id(SCOPE, "chat/1", "")
NOTHING = "<item></item>"
PARTED = structs.replace(QUIET, segment_line_count_min=2)


def xml(content: str, *categories: str, name: str = "") -> str:
    named = f"<name>{name}</name>" if name else ""
    listed = "".join(f"<category>{it}</category>" for it in categories)
    return f"<memory>{named}<content>{content}</content><categories>{listed}</categories></memory>"


def answer_by_type(**by_type: str) -> Callable[[str], str]:
    """What is found for each memory type, whatever the text says."""
    return lambda prompt: by_type.get(input_of(prompt, "memory_type"), NOTHING)


def pair_of(memories: str | Callable[[str], str], segment: str = "none", config: Config = QUIET) -> Pair:
    return Pair(model=saying(memories=memories, segment=segment), config=config).run()


def likes_tea() -> Pair:
    return pair_of(answer_by_type(profile=xml("Likes tea", "preferences")))


def memorized(pair: Pair, request: Memorize, *absent: type[AskModel | Embed | Read | Commit]) -> Memorized:
    outcome = pair.ask(request, *absent)
    assert isinstance(outcome, Done)
    assert isinstance(outcome.value, Memorized)
    return outcome.value


def entity(pair: Pair, key: str) -> Entity:
    row = pair.row("entity", key)
    assert row is not None
    assert isinstance(row.body, Entity)
    return row.body


def count_of(pair: Pair, name: str) -> int:
    row = pair.row("category", category_id(SCOPE, name))
    return row.body.member_count if row is not None and isinstance(row.body, Category) else -1


def test_a_text_is_stored_with_what_it_says_in_one_commit() -> None:
    pair = likes_tea()
    value = memorized(pair, Memorize(1, "I like tea", uri="chat/1", happened_ms=7))
    assert value == Memorized(CHAT, "created", 1, (Stored(TEA, 1, "created"),))
    row = pair.row("resource", CHAT)
    assert row is not None
    assert isinstance(row.body, Resource)
    assert (row.body.text, row.body.extracted_types, row.body.pending) == (
        "I like tea",
        ("profile", "event"),
        (),
    )
    fact = entity(pair, TEA)
    assert (fact.type, fact.name, fact.memory_type, fact.sources) == (
        "person",
        "Likes tea",
        "profile",
        (CHAT,),
    )
    assert (fact.reinforced_count, fact.event_time_ms, fact.vector_missing) == (1, 7, False)
    home = category_id(SCOPE, "preferences")
    link = pair.row("membership", membership_id(SCOPE, TEA, home))
    assert link is not None
    assert link.body == Membership(link.address.id, TEA, 1, home, "model", pair.now_ms)
    assert count_of(pair, "preferences") == 1


def test_a_wrong_number_of_vectors_costs_the_vectors_alone() -> None:
    pair = likes_tea()
    pair.step(Memorize(1, "I like tea"))
    embed = pair.until(Embed)
    pair.pending.clear()
    pair.step(Embedded(embed.request_id, ()))
    outcome = pair.run().replies[1].outcome
    assert isinstance(outcome, Done)
    assert [(it.name, it.reason) for it in outcome.degraded] == [
        ("embed:no_vectors", "wrong number of vectors")
    ]
    assert entity(pair, TEA).vector_missing


def test_the_questions_are_those_of_the_example() -> None:
    pair = likes_tea()
    pair.step(Memorize(1, "I like tea"))
    kinds = []
    while pair.pending:
        kinds.append(type(pair.pending[0]))
        pair.answer()
    assert kinds == [Read, AskModel, AskModel, Read, Read, Embed, Embed, Commit]


def test_memorized_again_nothing_is_asked_and_nothing_changes() -> None:
    pair = likes_tea()
    memorized(pair, Memorize(1, "I like tea", uri="chat/1"))
    before = pair.storage.digest()
    pair.step(Memorize(2, "I like tea", uri="chat/1"))
    assert [type(it) for it in pair.pending] == [Read]
    pair.run()
    assert pair.replies[2].outcome == Done(Memorized(CHAT, "unchanged"))
    assert pair.storage.digest() == before


def test_a_memory_is_saved_while_it_memorizes() -> None:
    pair = likes_tea()
    pair.step(Memorize(1, "I like tea", uri="chat/1"))
    pair.until(Commit)
    saved = Memory.restore(pair.memory.snapshot(), life=1)
    assert saved.in_flight.keys() == pair.memory.in_flight.keys()


def test_another_resource_with_the_same_fact_reinforces_it() -> None:
    pair = likes_tea()
    memorized(pair, Memorize(1, "I like tea", uri="chat/1"))
    value = memorized(pair, Memorize(2, "I like tea", uri="chat/2"))
    assert (value.change, value.entities) == ("created", (Stored(TEA, 1, "unchanged"),))
    fact = entity(pair, TEA)
    assert (len(fact.sources), fact.reinforced_count) == (2, 2)
    assert count_of(pair, "preferences") == 1


def test_a_unit_that_fails_costs_only_that_unit_and_is_asked_for_again() -> None:
    answers = {"profile": xml("Likes tea", "preferences"), "event": "sorry"}
    pair = pair_of(lambda prompt: answers[input_of(prompt, "memory_type")])
    outcome = pair.ask(Memorize(1, "I like tea", uri="chat/1"))
    assert isinstance(outcome, Done)
    assert [it.name for it in outcome.degraded] == ["extract:unit_missing"]
    assert outcome.value == Memorized(CHAT, "created", 1, (Stored(TEA, 1, "created"),), ("event",))
    answers["event"] = xml("Tea at noon", "context")
    value = memorized(pair, Memorize(2, "I like tea", uri="chat/1"))
    noon = id_of_note("Tea at noon")
    assert value == Memorized(CHAT, "updated", 1, (Stored(noon, 1, "created"),))
    assert entity(pair, TEA).reinforced_count == 1


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("I like tea. Ann plays chess.", 0),  # two memory types together
        ("I like tea. Bob naps at noon. Ann plays chess. My rent is due on Mondays.", 2),
        ("I weigh 68 kg. I like tea. Ann plays chess.", 1),
        ("I don't like tea. Ann plays chess.", 1),  # a denial that no fact has
        ("Thanks! I like tea. 42. Ann plays chess.", 0),  # what says nothing
        ("Bob naps at noon.", 1),
    ],
)
def test_sentences_that_are_in_no_fact_are_counted(text: str, count: int) -> None:
    pair = pair_of(answer_by_type(profile=xml("Likes tea"), event=xml("Plays chess", name="Ann")))
    assert memorized(pair, Memorize(1, text, uri="chat/1")).uncovered_count == count


def test_each_part_of_a_text_counts_by_itself_and_equal_ones_once() -> None:
    pair = pair_of(answer_by_type(profile=xml("Likes tea")))
    value = memorized(pair, Memorize(1, "\n".join(["Bob naps."] * 100), uri="chat/1"))
    # 40, 40 and 20 lines
    assert (value.segment_count, value.uncovered_count) == (3, 2)


def test_a_line_is_covered_whatever_its_number_time_and_role() -> None:
    pair = pair_of(answer_by_type(profile=xml("Likes tea"), event=xml("Ann sings at 7")))
    said = [("user", "I like tea."), ("Ann", "I sing at 7."), ("user", "Bob naps at noon.")]
    said.append(("assistant", "Porto is lovely."))  # no statement of a person
    when = "2026-11-28T10:30:00Z"
    text = json.dumps([{"role": role, "created_at": when, "content": it} for role, it in said])
    assert memorized(pair, Memorize(1, text, "conversation", uri="chat/1")).uncovered_count == 1


def test_a_part_that_could_not_be_read_is_pending_and_not_counted() -> None:
    answers = {"profile": xml("Likes tea"), "event": "sorry"}
    pair = pair_of(lambda prompt: answers[input_of(prompt, "memory_type")])
    value = memorized(pair, Memorize(1, "I like tea. Bob naps.", uri="chat/1"))
    assert (value.pending, value.uncovered_count) == (("event",), 0)
    answers["event"] = xml("Sings", name="Ann")
    assert memorized(pair, Memorize(2, "I like tea. Bob naps.", uri="chat/1")).uncovered_count == 2


def test_without_model_and_embedder_the_text_is_kept() -> None:
    pair = likes_tea()
    value = memorized(pair, Memorize(1, "I like tea", uri="chat/1"), AskModel, Embed)
    assert value == Memorized(CHAT, "created", 1, (), ("profile", "event", "embed"))


def test_a_vector_that_could_not_be_made_is_made_when_the_text_comes_again() -> None:
    pair = likes_tea()
    assert memorized(pair, Memorize(1, "I like tea", uri="chat/1"), Embed).pending == ("embed",)
    assert pair.row("vector", CHAT) is None
    assert memorized(pair, Memorize(2, "I like tea", uri="chat/1"), Embed).pending == ("embed",)
    pair.step(Memorize(3, "I like tea", uri="chat/1"))
    assert pair.until(Embed).texts == ("I like tea",)
    pair.run(AskModel)
    assert pair.row("vector", CHAT) is not None
    assert memorized(pair, Memorize(4, "I like tea", uri="chat/1")).change == "unchanged"


def test_a_part_without_a_vector_is_pending_and_a_vector_that_is_there_stays() -> None:
    pair = pair_of(NOTHING, '{"segments":[{"start":0,"end":0},{"start":1,"end":1}]}', PARTED)
    pair.step(Memorize(1, "walks\nsings", "conversation", uri="chat/1"))
    embed = pair.until(Embed)
    whole, first, last = pair.world(embed).vectors  # type: ignore[union-attr]  # what a sound embedder answers
    pair.pending.clear()
    pair.step(Embedded(embed.request_id, (whole, (0,) * len(first), last)))
    pair.run()
    parts = [segment_id(SCOPE, CHAT, text, 0) for text in ("walks", "sings")]
    assert [pending(pair, key) for key in (CHAT, *parts)] == [("embed",), ("embed",), ()]
    again = Memorize(2, "walks\nsings", "conversation", uri="chat/1")
    assert memorized(pair, again, Embed).pending == ("embed",)
    assert [pair.row("vector", key) is not None for key in (CHAT, *parts)] == [True, False, True]
    assert memorized(pair, structs.replace(again, op_id=3)).pending == ()
    assert [pending(pair, key) for key in (CHAT, *parts)] == [(), (), ()]


def pending(pair: Pair, key: str) -> tuple[str, ...]:
    row = pair.row("resource", key)
    assert row is not None
    assert isinstance(row.body, Resource)
    return row.body.pending


def test_another_text_under_the_same_uri_takes_its_place() -> None:
    pair = likes_tea()
    memorized(pair, Memorize(1, "I like tea", uri="chat/1"))
    value = memorized(pair, Memorize(2, "I like tea a lot", uri="chat/1"))
    assert (value.change, value.entities) == ("updated", (Stored(TEA, 1, "unchanged"),))
    assert entity(pair, TEA).reinforced_count == 1
    assert [row.body.text for row in pair.rows("resource") if isinstance(row.body, Resource)] == [
        "I like tea a lot"
    ]


def test_facts_about_one_name_stay_rows_of_their_own() -> None:
    pair = pair_of(
        answer_by_type(profile=xml("Ann snores", "facts", name="Ann") + xml("Ann naps", name="ann"))
    )
    snores, naps, hums = (id_of_fact("Ann", f"Ann {it}") for it in ("snores", "naps", "hums"))
    value = memorized(pair, Memorize(1, "about Ann"))
    assert value.entities == (Stored(snores, 1, "created"), Stored(naps, 1, "created"))
    assert entity(pair, snores).about == (entity_id(SCOPE, "Ann"),)
    pair.model = saying(
        memories=answer_by_type(profile=xml("Ann hums", name="Ann") + xml("ann  NAPS", name="Ann"))
    )
    value = memorized(pair, Memorize(2, "more about Ann"))
    assert value.entities == (Stored(hums, 1, "created"), Stored(naps, 1, "unchanged"))
    assert [entity(pair, key).reinforced_count for key in (snores, naps, hums)] == [1, 2, 1]
    assert pair.rows("relation") == []


def test_a_fact_found_for_two_memory_types_is_one_row_in_the_categories_of_both() -> None:
    both = {"profile": xml("Likes tea", "preferences"), "event": xml("likes TEA", "context")}
    pair = pair_of(answer_by_type(**both))
    assert memorized(pair, Memorize(1, "I like tea")).entities == (Stored(TEA, 1, "created"),)
    assert (entity(pair, TEA).memory_type, entity(pair, TEA).reinforced_count) == ("profile", 1)
    assert (count_of(pair, "preferences"), count_of(pair, "context")) == (1, 1)


def test_what_is_forgotten_leaves_its_categories() -> None:
    pair = likes_tea()
    memorized(pair, Memorize(1, "I like tea"))
    pair.ask(Forget(2, TEA))
    assert (count_of(pair, "preferences"), pair.rows("membership")) == (0, [])
    memorized(pair, Memorize(3, "Tea is what I like"))
    assert count_of(pair, "preferences") == 1


def test_an_unknown_category_leaves_the_default() -> None:
    pair = pair_of(answer_by_type(profile=xml("Likes tea", "Drinks", "facts "), event=xml("Tea at noon")))
    memorized(pair, Memorize(1, "I like tea at noon"))
    assert (count_of(pair, "facts"), count_of(pair, "context")) == (1, 1)


TALK = json.dumps([{"role": "user", "content": f"{n} cups"} for n in range(4)])


def test_a_conversation_is_read_in_the_parts_that_a_model_gives() -> None:
    config = Config(auto_rebalance=False, segment_line_count_min=4)
    cut = '{"segments":[{"start":0,"end":0},{"start":2,"end":2}]}'
    asked: list[str] = []

    def find_nothing(prompt: str) -> str:
        asked.append(input_of(prompt, "text"))
        return NOTHING

    pair = pair_of(find_nothing, cut, config)
    request = Memorize(1, TALK, "conversation", "chat/1", memory_types=("profile",))
    assert memorized(pair, request).segment_count == 2
    assert asked == ["[0] [user]: 0 cups\n[1] [user]: 1 cups", "[2] [user]: 2 cups\n[3] [user]: 3 cups"]
    ids = [segment_id(SCOPE, CHAT, text, 0) for text in asked]
    parts = [row.body for row in pair.rows("resource") if row.address.id in ids]
    assert sorted((it.position, it.first_line, it.last_line) for it in parts if isinstance(it, Resource)) == [
        (0, 0, 1), (1, 2, 3)
    ]  # fmt: skip
    again = memorized(
        pair, Memorize(2, TALK.replace("3 cups", "9 cups"), "conversation", "chat/1", ("profile",))
    )
    assert (again.change, asked[2:]) == ("updated", ["[2] [user]: 2 cups\n[3] [user]: 9 cups"])
    assert len(pair.rows("resource")) == 3


def test_a_long_text_is_read_in_parts() -> None:
    pair = likes_tea()
    value = memorized(pair, Memorize(1, "tea " * 5_000, memory_types=("profile",)))
    assert value.segment_count == 3


def test_a_conflict_plans_again_and_asks_no_model() -> None:
    pair = likes_tea()
    pair.step(Memorize(1, "I like tea", uri="chat/1"))
    pair.hold(Commit)
    assert isinstance(pair.ask(Memorize(2, "Tea I like", uri="chat/2")), Done)
    pair.release()
    outcome = pair.replies[1].outcome
    assert isinstance(outcome, Done)
    assert (count_of(pair, "preferences"), entity(pair, TEA).reinforced_count) == (1, 2)


def test_read_for_more_a_text_keeps_when_it_happened() -> None:
    pair = likes_tea()
    memorized(pair, Memorize(1, "I like tea", uri="chat/1", happened_ms=7))
    memorized(pair, Memorize(2, "I like tea", uri="chat/1", memory_types=("skill",)))
    assert resource(pair, CHAT).happened_ms == 7
    memorized(pair, Memorize(3, "I like it", uri="chat/1"))
    assert resource(pair, CHAT).happened_ms is None


def lands_meanwhile(pair: Pair, late: Commit, request: Memorize) -> None:
    """That commit is there only when this request has read what was there before."""
    pair.step(request)
    pair.until(AskModel)
    pair.land(late)
    assert isinstance(pair.run().replies[request.op_id].outcome, Done)


def test_segments_of_a_text_that_lands_late_go_with_it() -> None:
    pair = pair_of(NOTHING, '{"segments":[{"start":0,"end":0},{"start":2,"end":2}]}', PARTED)
    late = pair.leave_unanswered(Memorize(1, TALK, "conversation", "chat/1", session_id="s1"))
    lands_meanwhile(pair, late, Memorize(2, "I like tea", uri="chat/1"))
    assert [row.address.id for row in pair.rows("resource")] == [CHAT]
    assert resource(pair, CHAT).session_id == "s1"


def test_a_text_that_was_forgotten_meanwhile_is_read_for_what_was_asked_now() -> None:
    pair = likes_tea()
    memorized(pair, Memorize(1, "I like tea", uri="chat/1"))
    late = pair.leave_unanswered(ForgetResource(2, CHAT))
    lands_meanwhile(pair, late, Memorize(3, "I like tea", uri="chat/1", memory_types=("profile", "skill")))
    assert resource(pair, CHAT).extracted_types == ("skill",)
    assert resource(pair, CHAT).pending == ("profile",)
    memorized(pair, Memorize(4, "I like tea", uri="chat/1"))
    assert entity(pair, TEA).content == "Likes tea"


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (Memorize(1, " "), EmptyText()),
        (Memorize(1, "x", "smell"), UnsupportedModality),
        (Memorize(1, "x", memory_types=("mood",)), BadType),
    ],
)
def test_what_cannot_be_memorized_is_refused(request_: Memorize, error: object) -> None:
    outcome = likes_tea().ask(request_)
    assert isinstance(outcome, Refused)
    assert outcome.error == error or type(outcome.error) is error


@pytest.mark.parametrize(
    ("kind", "where", "count"),
    [
        ("entity", (), 2), ("entity", (("name", "eq", "fact 0"),), 1), ("entity", (("user", "eq", "u2"),), 0),
        ("entity", (("uri", "eq", None),), 0), ("resource", (("uri", "eq", None),), 1),
        ("membership", (("assigned_by", "eq", "model"),), 2), ("membership", (("updated_ms", "gt", 0),), 0),
        ("membership", (("category_id", "eq", category_id(SCOPE, "facts")),), 0),
        ("category", (("member_count", "gte", 2), ("agent", "eq", SCOPE.agent)), 1),
        ("subcategory", (("category_id", "ne", ""),), 0),
    ],
)  # fmt: skip
def test_a_list_shows_the_rows_that_its_filter_leaves(kind: str, where: Any, count: int) -> None:
    """H2.28, H9.13: without such rows nothing is asked."""
    pair = pair_of(answer_by_type(profile="".join(xml(f"fact {n}", "preferences") for n in range(2))))
    memorized(pair, Memorize(1, "two facts", memory_types=("profile",)))
    outcome = pair.ask(List(2, kind, where=where))
    assert isinstance(outcome, Done)
    assert isinstance(outcome.value, Listed)
    assert (len(outcome.value.rows), outcome.value.cursor) == (count, None)


def test_lists_go_from_page_to_page() -> None:
    pair = pair_of(answer_by_type(profile="".join(xml(f"fact {n}") for n in range(5))))
    memorized(pair, Memorize(1, "many facts"))
    seen: list[str] = []
    cursor = None
    for number in range(3):
        outcome = pair.ask(List(2 + number, "entity", 2, cursor))
        assert isinstance(outcome, Done)
        assert isinstance(outcome.value, Listed)
        seen += [row.id for row in outcome.value.rows]
        cursor = outcome.value.cursor
    assert (cursor, seen) == (None, sorted(row.address.id for row in pair.rows("entity")))
    assert isinstance(pair.ask(GetEntity(9, seen[0])), Done)


# Images, audios and videos: H3.3.

CAT = "https://example.org/cat.png"
SEEN = "<content>Ann likes tea.\nBob naps.</content><caption>Two at home</caption>"


def seeing(*replies: str, finds: str = NOTHING) -> Pair:
    """A model that describes what it is shown, with these replies; "" is of no use, and is replied twice."""
    descriptions = iter([it for it in replies for _ in range(1 if it else 2)])
    describe = dict.fromkeys(DESCRIBED_BY.values(), lambda _: next(descriptions))
    return Pair(model=saying(memories=answer_by_type(profile=finds), **describe), config=QUIET).run()


def resource(pair: Pair, key: str) -> Resource:
    row = pair.row("resource", key)
    assert row is not None
    assert isinstance(row.body, Resource)
    return row.body


@pytest.mark.parametrize(("modality", "task"), DESCRIBED_BY.items())
def test_what_a_payload_holds_is_asked_and_read_as_its_text(modality: str, task: str) -> None:
    pair = seeing(SEEN, finds=xml("Likes tea", name="Ann"))
    pair.step(Memorize(1, CAT, modality, uri="chat/1"))
    asked = pair.until(AskModel)
    assert (asked.task, input_of(asked.prompt, "payload")) == (task, CAT)
    pair.answer()
    asked = pair.until(AskModel)
    assert (asked.task, input_of(asked.prompt, "text")) == ("memories", "Ann likes tea.\nBob naps.")
    outcome = pair.run().replies[1].outcome
    stored = Stored(id_of_fact("Ann", "Likes tea"), 1, "created")
    assert outcome == Done(Memorized(CHAT, "created", 1, (stored,), uncovered_count=1))
    body = resource(pair, CHAT)
    assert (body.text, body.description, body.caption, body.last_line) == (
        CAT,
        "Ann likes tea.\nBob naps.",
        "Two at home",
        1,
    )
    assert (body.extracted_types, body.pending) == (("profile", "event"), ())
    assert pair.row("vector", CHAT) is not None


def test_a_picture_without_a_description_is_kept_and_asked_for_again() -> None:
    pair = seeing("", SEEN)
    outcome = pair.ask(Memorize(1, CAT, "image", uri="chat/1"))
    assert isinstance(outcome, Done)
    assert outcome.value == Memorized(CHAT, "created", 1, (), ("describe", "profile", "event"))
    assert [(it.name, it.reason) for it in outcome.degraded] == [("preprocess:none", "empty")]
    body = resource(pair, CHAT)
    assert (body.text, body.description, body.caption, body.extracted_types) == (CAT, "", "", ())
    assert pair.row("vector", CHAT) is None
    value = memorized(pair, Memorize(2, CAT, "image", uri="chat/1"))
    assert (value.change, value.pending, resource(pair, CHAT).caption) == ("updated", (), "Two at home")


def test_a_payload_is_described_once() -> None:
    pair = seeing(SEEN)
    memorized(pair, Memorize(1, CAT, "image", uri="chat/1"))
    value = memorized(pair, Memorize(2, CAT, "image", uri="chat/1", memory_types=("skill",)))
    assert (value.change, value.pending) == ("updated", ())
    assert resource(pair, CHAT).description == "Ann likes tea.\nBob naps."
    assert memorized(pair, Memorize(3, CAT, "image", uri="chat/1")).change == "unchanged"


def test_what_takes_the_place_of_a_text_and_is_not_described_is_found_by_nothing_of_it() -> None:
    pair = seeing("")
    memorized(pair, Memorize(1, "Ann naps", uri="chat/1"))
    assert pair.row("vector", CHAT) is not None
    memorized(pair, Memorize(2, CAT, "audio", uri="chat/1"))
    assert pair.row("vector", CHAT) is None


def test_a_long_description_is_read_in_parts() -> None:
    lines = "\n".join(f"Line {n} " + "x" * 80 for n in range(200))
    pair = seeing(f"<content>{lines}</content>")
    assert memorized(pair, Memorize(1, CAT, "video", uri="chat/1")).segment_count == 5
    parts = [it.body for it in pair.rows("resource") if isinstance(it.body, Resource) and it.body.parent_id]
    assert "\n".join(it.text for it in sorted(parts, key=lambda it: it.position)) == lines
    assert [it.description for it in parts] == [""] * 5


def test_a_search_shows_what_a_payload_holds() -> None:
    pair = seeing(SEEN)
    memorized(pair, Memorize(1, CAT, "image", uri="chat/1"))
    outcome = pair.ask(Search(2, "who naps", levels=("resources",), min_score_ppm=1))
    assert isinstance(outcome, Done)
    assert isinstance(outcome.value, Retrieved)
    assert [it.text for it in outcome.value.hits] == ["Ann likes tea.\nBob naps."]
