"""Goal: a verdict ends the fact that it names, everywhere and with its history, and no other (M14)."""

import json
from collections.abc import Callable
from typing import Any, Final

import pytest
from msgspec import structs

from tests.unit.core.test_memorize import count_of, memorized, xml
from tests.worlds import QUIET, SCOPE, Pair, id_of_fact, input_of, saying, verdict
from umi_core.conditions import Condition
from umi_core.errors import Rejected, StorageFailed
from umi_core.ids import category_id
from umi_core.limits import EXTRACT_CONTENT_BYTES_MAX, PERIOD_COUNT_MAX, RELATION_COUNT_MAX
from umi_core.memory import Memory
from umi_core.messages.effects import AskModel, ByFilter, ByIds, Commit, Done, Embed, Failed, Read
from umi_core.messages.requests import (
    Count,
    Forget,
    GetEntity,
    InCore,
    List,
    Memorize,
    Rebalance,
    Recall,
    Remember,
    SetBlock,
    Summarise,
    UpdateEntity,
)
from umi_core.messages.results import Forgotten, Listed, Memorized, Recalled, Remembered, Stored
from umi_core.rows import Category, Ended, Entity, Relation, Row
from umi_core.values import Period
from umi_sim.judge.state import check_memory
from umi_sim.machines.limits import lower_limits

PARIS, BERLIN, ROME = (id_of_fact("Alice", f"lives in {city}") for city in ("Paris", "Berlin", "Rome"))
NUTS, TEA = (id_of_fact("Alice", content) for content in ("is allergic to nuts", "likes tea"))
HELPS, SLEEPS = (id_of_fact("Umi", content) for content in ("helps in Oslo", "sleeps in Oslo"))
FACTS = category_id(SCOPE, "facts")

Judge = Callable[[str], str]


def on(kind: str, *olds: str) -> Judge:
    """Return a model that gives this verdict on pairs with these old facts, and none on others."""

    def judge(prompt: str) -> str:
        pairs = [it for it in input_of(prompt, "pairs") if it["old"].partition("@")[0] in olds]
        return json.dumps([{**it, "type": kind, "confidence": 0.9, "reason": "so"} for it in pairs])

    return judge


def remember_all(*texts: str, **more: Any) -> Pair:
    pair = Pair(**more).run()
    for n, text in enumerate(texts):
        pair.ask(Remember(100 + n, text))
    return pair


def fill_core(*texts: str) -> Pair:
    """Return a memory with these facts in a core that has no byte left."""
    pair = remember_all(*texts, config=structs.replace(QUIET, promote_score_min_ppm=0, core_bytes_max=4_096))
    pair.ask(Rebalance(90))
    used_bytes = pair.memory.state.tiers.core.used_bytes
    pair.ask(SetBlock(91, "facts", "x" * (4_096 - used_bytes)))
    return pair


def remembered(pair: Pair, request: Remember) -> Remembered:
    outcome = pair.ask(request)
    assert isinstance(outcome, Done), outcome
    assert isinstance(outcome.value, Remembered)
    return outcome.value


def moves(pair: Pair, judge: Judge | None = None, city: str = "Berlin") -> Remembered:
    """Alice lives there now: the model says that this updates that she lives in Paris, if `judge` is none."""
    pair.model = saying(evolve=judge or on("update", PARIS))
    return remembered(pair, Remember(1, f"Alice lives in {city}"))


def moved(**more: Any) -> Pair:
    pair = remember_all("Alice lives in Paris", **more)
    moves(pair)
    return pair


def fact(pair: Pair, key: str) -> Entity:
    row = pair.row("entity", key)
    assert row is not None
    assert isinstance(row.body, Entity)
    return row.body


def ended(pair: Pair, key: str = PARIS) -> Ended:
    row = pair.row("ended", key)
    assert row is not None
    assert isinstance(row.body, Ended)
    return row.body


def kinds_under(pair: Pair, key: str) -> list[str]:
    return [row.address.kind for row in pair.storage.live_rows(SCOPE) if row.address.id == key]


# What a verdict does.


@pytest.mark.parametrize("kind", ["update", "contradict"])
def test_a_verdict_ends_the_fact_that_it_names(kind: str) -> None:
    pair = remember_all("Alice lives in Paris")
    before = fact(pair, PARIS)
    pair.now_ms = 7
    value = moves(pair, on(kind, PARIS))
    assert (value.entities, value.ended) == ((Stored(BERLIN, 1, "created"),), (PARIS,))
    assert kinds_under(pair, PARIS) == ["ended"]
    refs = (f"{BERLIN}@1",) if kind == "contradict" else ()
    after = structs.replace(before, relation_count=1, contradicts=refs)
    assert ended(pair) == Ended(PARIS, after, BERLIN, kind, 7)
    (relation,) = value.relations
    assert (relation.kind, relation.source, relation.target) == (kind, (PARIS, 1), (BERLIN, 1))
    assert [row.body for row in pair.rows("relation")] == [relation]


@pytest.mark.parametrize("kind", ["extend", "derive"])
def test_a_verdict_of_another_kind_makes_a_relation_and_ends_nothing(kind: str) -> None:
    pair = remember_all("Alice lives in Paris")
    value = moves(pair, on(kind, PARIS))
    assert (value.ended, [it.kind for it in value.relations]) == ((), [kind])
    assert kinds_under(pair, PARIS) == ["access", "entity", "vector"]
    assert fact(pair, PARIS).relation_count == 1
    assert pair.rows("ended") == []


def test_other_facts_about_the_same_name_stay() -> None:
    pair = remember_all("Alice is allergic to nuts. Alice lives in Paris")
    before = pair.row("entity", NUTS), pair.row("vector", NUTS)
    assert moves(pair).ended == (PARIS,)
    assert (pair.row("entity", NUTS), pair.row("vector", NUTS)) == before
    found = pair.ask(Recall(9, "nuts"))
    assert isinstance(found, Done)
    assert isinstance(found.value, Recalled)
    assert [hit.id for hit in found.value.hits] == [NUTS]


def test_a_verdict_that_is_not_sure_enough_ends_nothing() -> None:
    pair = remember_all("Alice lives in Paris")
    assert moves(pair, verdict("update", 0.1)).ended == ()
    assert kinds_under(pair, PARIS) == ["access", "entity", "vector"]


@pytest.mark.parametrize("more", [0, 1])
def test_a_text_longer_than_the_model_is_shown_does_not_end(more: int) -> None:
    """A verdict on a fact that the model saw only in part ends nothing and leaves a relation."""
    text = f"Alice lives in Paris {'x' * (EXTRACT_CONTENT_BYTES_MAX - 21 + more)}"
    pair = remember_all(text, model=saying(extract="none"))
    (note,) = [row.address.id for row in pair.rows("entity")]
    value = moves(pair, on("update", note))
    assert value.ended == (() if more else (note,))
    assert [(it.kind, it.source) for it in value.relations] == [("update", (note, 1))]
    assert bool(pair.row("entity", note)) == bool(more)


def test_of_two_verdicts_on_one_fact_the_first_names_its_successor() -> None:
    pair = remember_all("Alice lives in Paris")
    pair.model = saying(evolve=on("update", PARIS))
    value = remembered(pair, Remember(1, "Alice lives in Berlin. Alice lives in Rome"))
    assert value.ended == (PARIS,)
    assert {(it.source, it.target) for it in value.relations} == {
        ((PARIS, 1), (BERLIN, 1)), ((PARIS, 1), (ROME, 1)),
    }  # fmt: skip
    first = value.relations[0].target[0]
    assert (ended(pair).by, ended(pair).fact.relation_count) == (first, 2)
    assert [fact(pair, key).relation_count for key in (BERLIN, ROME)] == [1, 1]


def test_how_it_ended_is_what_the_first_verdict_says_though_another_one_only_derives() -> None:
    def judge(prompt: str) -> str:
        kinds = {BERLIN: "derive", ROME: "contradict"}
        pairs = [it for it in input_of(prompt, "pairs") if it["old"] == f"{PARIS}@1"]
        return json.dumps(
            [{**it, "type": kinds[it["new"].partition("@")[0]], "confidence": 1} for it in pairs]
        )

    pair = remember_all("Alice lives in Paris")
    pair.model = saying(evolve=judge)
    remembered(pair, Remember(1, "Alice lives in Berlin. Alice lives in Rome"))
    assert (ended(pair).by, ended(pair).how) == (ROME, "contradict")


def test_one_fact_may_end_several() -> None:
    pair = remember_all("Alice lives in Paris. Alice lives in Rome")
    value = moves(pair, on("update", PARIS, ROME))
    assert sorted(value.ended) == sorted((PARIS, ROME))
    assert [ended(pair, key).by for key in (PARIS, ROME)] == [BERLIN, BERLIN]
    assert fact(pair, BERLIN).relation_count == 2


def test_a_fact_that_has_ended_is_no_candidate_any_more() -> None:
    pair = moved()
    asked: list[str] = []

    def judge(prompt: str) -> str:
        asked.extend(it["old"] for it in input_of(prompt, "pairs"))
        return verdict("update")(prompt)

    pair.model = saying(evolve=judge)
    assert remembered(pair, Remember(2, "Alice lives in Rome")).ended == (BERLIN,)
    assert asked == [f"{BERLIN}@1"]
    assert [ended(pair, key).by for key in (PARIS, BERLIN)] == [BERLIN, ROME]


def test_a_fact_ends_as_it_is_though_there_is_no_room_for_the_relation() -> None:
    pair = remember_all("Alice lives in Paris")
    row = pair.row("entity", PARIS)
    assert row is not None
    full = structs.replace(fact(pair, PARIS), relation_count=RELATION_COUNT_MAX)
    pair.storage.put_back({row.address: structs.replace(row, body=full)}, pair.now_ms)
    value = moves(pair, on("contradict", PARIS))
    assert (value.ended, value.relations, value.relation_dropped_count) == ((PARIS,), (), 1)
    assert ended(pair).fact == full
    assert pair.rows("relation") == []


# How it is shown, and what shows it no more.


def test_an_ended_fact_is_found_by_its_id_and_in_the_list_and_by_nothing_else() -> None:
    pair = moved()
    assert pair.ask(GetEntity(2, PARIS)) == Done(ended(pair))
    listed = pair.ask(List(3, "ended"))
    assert isinstance(listed, Done)
    assert isinstance(listed.value, Listed)
    assert listed.value.rows == (ended(pair),)
    assert pair.ask(Count(4)) == Done(1)
    found = pair.ask(Recall(5, "Alice lives in Paris", min_score_ppm=0))
    assert isinstance(found, Done)
    assert isinstance(found.value, Recalled)
    assert [hit.id for hit in found.value.hits] == [BERLIN]


def test_a_fact_takes_the_place_in_core_of_what_it_ends_in_the_same_commit() -> None:
    pair = remember_all("Alice lives in Paris", config=structs.replace(QUIET, promote_score_min_ppm=0))
    pair.ask(Rebalance(90))
    assert pair.ask(InCore(91, PARIS)) == Done(True)
    pair.model = saying(evolve=on("update", PARIS))
    pair.step(Remember(1, "Alice lives in Berlin"))
    commit = pair.until(Commit)
    assert "core" in [write.address.kind for write in commit.writes]
    pair.run()
    (block,) = pair.memory.state.tiers.core.blocks
    assert [(it.entity_id, it.text) for it in block.entries] == [(BERLIN, "lives in Berlin")]
    (core,) = pair.rows("core")
    assert PARIS not in str(core.body)
    outcome = pair.replies[1].outcome
    assert isinstance(outcome, Done)
    value = outcome.value
    assert isinstance(value, Remembered)
    assert (value.evicted, value.promoted) == ((), (BERLIN,))  # nothing made room for anything
    assert [it.outcome for it in value.routing] == ["promoted"]


def test_a_fact_that_ends_two_in_core_is_shown_once_where_the_first_was() -> None:
    config = structs.replace(QUIET, promote_score_min_ppm=0)
    pair = remember_all("Alice lives in Paris", "Alice likes tea", config=config)
    pair.ask(Rebalance(90))
    first, _ = pair.memory.state.tiers.core.blocks[0].entries
    pair.now_ms += 5_000
    pair.model = saying(evolve=on("update", PARIS, TEA))
    assert sorted(remembered(pair, Remember(1, "Alice lives in Berlin")).ended) == sorted((PARIS, TEA))
    ((entry,),) = [block.entries for block in pair.memory.state.tiers.core.blocks]
    assert (entry.entity_id, entry.promoted_ms) == (BERLIN, first.promoted_ms)


def test_no_entry_leaves_core_for_a_fact_that_ends_another() -> None:
    pair = fill_core("Alice lives in Paris", "Alice likes tea")
    pair.model = saying(evolve=on("update", PARIS))
    value = remembered(pair, Remember(1, "Alice lives in Berlin"))
    assert (value.promoted, value.routing[0].outcome) == ((), "not_asked")
    entries = [entry for _, entry in pair.memory.state.tiers.core.entries()]
    assert [it.entity_id for it in entries] == [TEA]


def test_what_the_assistant_says_of_itself_takes_the_place_of_what_it_ends() -> None:
    pair = remember_all("Umi helps in Oslo")
    pair.model = saying(evolve=on("update", HELPS))
    value = remembered(pair, Remember(1, "Umi sleeps in Oslo"))
    assert (value.ended, value.promoted) == ((HELPS,), (SLEEPS,))
    (block,) = pair.memory.state.tiers.core.blocks
    assert [entry.entity_id for entry in block.entries] == [SLEEPS]


def test_no_entry_leaves_core_for_a_longer_fact_about_the_assistant() -> None:
    pair = fill_core("Umi helps in Oslo", "Alice likes tea")
    entries = [entry.entity_id for _, entry in pair.memory.state.tiers.core.entries()]
    assert sorted(entries) == sorted((HELPS, TEA))
    assert isinstance(pair.ask(UpdateEntity(92, HELPS, "helps in Oslo too")), Done)
    assert [entry.entity_id for _, entry in pair.memory.state.tiers.core.entries()] == [TEA]


def test_its_access_record_goes_and_no_late_answer_brings_it_back() -> None:
    pair = remember_all("Alice lives in Paris")
    pair.step(Recall(2, "Alice Paris"))
    pair.answer()
    pair.answer()
    by_words = pair.hold(Read)
    late = pair.world(by_words)
    moves(pair)
    pair.held.clear()
    pair.step(late)
    pair.run()
    assert isinstance(pair.replies[2].outcome, Done)
    assert list(pair.memory.state.tiers.access.records) == [BERLIN]
    pair.ask(Rebalance(3))
    assert [row.address.id for row in pair.rows("access")] == [BERLIN]


def replaced(pair: Pair, query: str = "Where does Alice live?", **options: Any) -> list[tuple[str, str]]:
    outcome = pair.ask(Recall(90 + len(pair.replies), query, **options))
    assert isinstance(outcome, Done)
    assert isinstance(outcome.value, Recalled)
    return [it for hit in outcome.value.hits for it in hit.replaced]


def test_a_hit_shows_what_it_replaced() -> None:
    pair = remember_all("Alice lives in Paris")
    assert replaced(pair) == []
    moves(pair)
    assert replaced(pair) == [(PARIS, "lives in Paris")]
    moves_on = saying(evolve=on("update", BERLIN, NUTS))
    pair.ask(Remember(2, "Alice is allergic to nuts"))
    pair.model = moves_on
    remembered(pair, Remember(3, "Alice lives in Rome and eats nuts, to which she is not allergic"))
    assert sorted(replaced(pair)) == sorted([(BERLIN, "lives in Berlin"), (NUTS, "is allergic to nuts")])


def test_what_a_hit_replaced_is_shown_only_if_the_filter_leaves_it() -> None:
    pair = Pair().run()
    pair.ask(Remember(100, "Alice lives in Paris", metadata=(("room", "a"),)))
    pair.model = saying(evolve=on("update", PARIS))
    pair.ask(Remember(101, "Alice lives in Berlin", metadata=(("floor", "b"),)))
    assert replaced(pair, where=(("metadata", "has_key", "floor"),)) == []
    assert replaced(pair) == [(PARIS, "lives in Paris")]


def test_without_what_it_replaced_a_hit_is_shown_all_the_same() -> None:
    pair = moved()
    pair.step(Recall(9, "Where does Alice live?"))
    while getattr(getattr(pair.pending[0], "query", None), "kinds", ()) != ("ended",):
        pair.answer()
    pair.fail("refused")
    outcome = pair.run().replies[9].outcome
    assert isinstance(outcome, Done)
    assert isinstance(outcome.value, Recalled)
    assert [(hit.id, hit.replaced) for hit in outcome.value.hits] == [(BERLIN, ())]
    assert [it.name for it in outcome.degraded] == ["replaced:none"]


def at(happened_ms: int | None, text: str) -> Remember:
    return Remember(1, text, event_time_ms=happened_ms)


@pytest.mark.parametrize(
    ("old_ms", "new_ms", "is_past"),
    [
        (9, 8, True),
        (9, 9, False),
        (9, 10, False),
        (None, 20, False),
        (None, 19, True),
        (9, None, False),
        (9, 0, True),
    ],
)  # fmt: skip
def test_of_two_facts_the_one_that_happened_first_ends(
    old_ms: int | None, new_ms: int | None, is_past: bool
) -> None:
    """The known one was stated at the time 20."""
    pair = Pair().run()
    pair.now_ms = 20
    pair.ask(at(old_ms, "Alice lives in Paris"))
    pair.model = saying(evolve=on("update", PARIS))
    value = remembered(pair, structs.replace(at(new_ms, "Alice lives in Berlin"), op_id=2))
    first, last = (BERLIN, PARIS) if is_past else (PARIS, BERLIN)
    assert (value.entities, value.ended) == ((Stored(BERLIN, 1, "created"),), (first,))
    assert [it.entity_id for it in value.routing] == [] if is_past else [BERLIN]
    assert [(it.kind, it.source, it.target) for it in value.relations] == [("update", (first, 1), (last, 1))]
    assert [kinds_under(pair, key) for key in (first, last)] == [["ended"], ["access", "entity", "vector"]]
    assert (ended(pair, first).by, ended(pair, first).fact.relation_count) == (last, 1)
    assert list(pair.memory.state.tiers.access.records) == [last]


def test_a_long_fact_of_the_past_arrives_current() -> None:
    pair = Pair().run()
    pair.ask(at(9, "Alice lives in Paris"))
    pair.model = saying(evolve=on("update", PARIS))
    request = structs.replace(at(8, f"Alice lives in Berlin {'x' * 1_000}"), op_id=2, extract=False)
    value = remembered(pair, request)
    assert value.relations[0].kind == "update"
    assert (value.ended, pair.rows("ended")) == ((), [])


def test_an_old_conversation_arrives_as_the_past() -> None:
    pair = Pair().run()
    pair.ask(at(9, "Alice lives in Paris"))
    value = moves_by_text(pair, on("update", PARIS), 5, happened_ms=8)
    assert (value.ended, [it.kind for it in value.relations]) == ((BERLIN,), ["update"])
    assert [row.body.by for row in pair.rows("ended") if isinstance(row.body, Ended)] == [PARIS]
    assert not pair.rows("membership")
    assert not pair.rows("category")
    assert len(pair.rows("vector")) == 2  # of Paris and of the conversation, but of no category
    assert list(pair.memory.state.tiers.access.records) == [PARIS]


def test_a_fact_that_ends_as_it_comes_is_not_shown_for_the_one_that_it_ends() -> None:
    """Rome (3) is in core, Paris (9) is known too; Berlin (6) ends Rome, and Paris has ended it already."""
    pair = Pair(config=structs.replace(QUIET, promote_score_min_ppm=0)).run()
    pair.ask(at(3, "Alice lives in Rome"))
    pair.ask(Rebalance(2))
    assert pair.memory.state.tiers.core.locate(ROME) is not None
    pair.ask(structs.replace(at(9, "Alice lives in Paris"), op_id=3, evolve=False))
    pair.model = saying(evolve=on("update", ROME, PARIS))
    value = remembered(pair, structs.replace(at(6, "Alice lives in Berlin"), op_id=4))
    assert value.ended == (BERLIN, ROME)
    assert {row.body.id: row.body.by for row in pair.rows("ended") if isinstance(row.body, Ended)} == {
        BERLIN: PARIS, ROME: BERLIN,
    }  # fmt: skip
    assert [pair.memory.state.tiers.core.locate(key) for key in (ROME, BERLIN)] == [None, None]


# Memberships and categories.


def shelved() -> Pair:
    """Two facts of one text, in a category with a summary of both."""
    names = "".join(xml(text, "facts", name="Alice") for text in ("lives in Paris", "is allergic to nuts"))

    def memories(prompt: str) -> str:
        return names if input_of(prompt, "memory_type") == "profile" else "<item></item>"

    pair = Pair(model=saying(memories=memories, summarise_category="<summary>Paris, nuts</summary>")).run()
    memorized(pair, Memorize(90, "Alice lives in Paris and eats no nuts.", uri="a"))
    pair.ask(Summarise(91, "facts"))
    assert (count_of(pair, "facts"), summary(pair).summary) == (2, "Paris, nuts")
    return pair


def summary(pair: Pair) -> Category:
    row = pair.row("category", FACTS)
    assert row is not None
    assert isinstance(row.body, Category)
    return row.body


def test_its_memberships_go_and_the_summary_that_names_it_is_emptied() -> None:
    pair = shelved()
    assert pair.row("vector", FACTS) is not None
    assert moves(pair).ended == (PARIS,)
    assert [getattr(row.body, "entity_id", "") for row in pair.rows("membership")] == [NUTS]
    it = summary(pair)
    assert (it.member_count, it.summary, it.summary_sources, it.summary_dirty) == (1, "", (), True)
    assert pair.row("vector", FACTS) is None
    assert (ended(pair).fact.sources, ended(pair).fact.is_direct) == (fact(pair, NUTS).sources, False)


def moves_by_text(pair: Pair, judge: Judge, op_id: int = 1, happened_ms: int | None = None) -> Memorized:
    """A text says that she lives there now, in the category where the old fact was."""
    pair.model = saying(memories=of_profile("lives in Berlin"), evolve=judge)
    request = Memorize(op_id, "Alice moved to Berlin.", uri="b", happened_ms=happened_ms)
    return memorized(pair, request)


def test_a_text_that_is_memorized_ends_facts_as_a_remember_does() -> None:
    pair = shelved()
    value = moves_by_text(pair, on("contradict", PARIS))
    assert (value.ended, value.entities) == ((PARIS,), (Stored(BERLIN, 1, "created"),))
    assert ([it.kind for it in value.relations], value.needs_resolution) == (["contradict"], True)
    assert (kinds_under(pair, PARIS), ended(pair).by) == (["ended"], BERLIN)
    members = sorted(str(getattr(row.body, "entity_id", "")) for row in pair.rows("membership"))
    assert members == sorted((NUTS, BERLIN))
    it = summary(pair)
    assert (it.member_count, it.summary, it.summary_sources, it.summary_dirty) == (2, "", (), True)
    check_memory(pair.memory.state)


def test_a_text_that_is_memorized_is_shown_in_core_in_the_place_of_what_it_ends() -> None:
    pair = remember_all("Alice lives in Paris", config=structs.replace(QUIET, promote_score_min_ppm=0))
    pair.ask(Rebalance(90))
    assert pair.ask(InCore(91, PARIS)) == Done(True)
    pair.ask(Recall(93, "Alice Paris"))  # an access that is not stored yet
    assert moves_by_text(pair, on("update", PARIS)).ended == (PARIS,)
    assert [entry.entity_id for _, entry in pair.memory.state.tiers.core.entries()] == [BERLIN]
    assert [row.address.id for row in pair.rows("access")] == [BERLIN]


def test_a_text_that_is_memorized_again_ends_nothing_more() -> None:
    pair = shelved()
    moves_by_text(pair, on("update", PARIS))
    before = pair.storage.digest()
    assert moves_by_text(pair, on("update", NUTS), 2).change == "unchanged"
    assert pair.storage.digest() == before


def test_new_facts_beyond_the_limit_are_not_compared_and_counted() -> None:
    pair = remember_all("Alice lives in Paris")
    pair.model = saying(evolve=on("update", PARIS))
    with lower_limits({"evolve_fact_count_max": 1}):
        outcome = pair.ask(Remember(1, "Bob sings. Alice lives in Berlin"))
    assert isinstance(outcome, Done)
    assert isinstance(outcome.value, Remembered)
    assert [(it.name, it.reason, it.count) for it in outcome.degraded] == [("compare:partial", "too_many", 1)]
    assert (len(outcome.value.entities), outcome.value.ended) == (2, ())


def test_two_that_end_at_once_leave_their_category_together() -> None:
    pair = shelved()
    pair.model = saying(evolve=on("update", PARIS, NUTS))
    value = remembered(pair, Remember(1, "Alice is allergic to Berlin and lives in it"))
    assert sorted(value.ended) == sorted((PARIS, NUTS))
    it = summary(pair)
    assert (it.member_count, it.summary, it.summary_dirty) == (0, "", False)
    assert pair.rows("membership") == []


def test_a_category_that_storage_has_lost_does_not_stop_it() -> None:
    pair = shelved()
    pair.storage.put_back({row.address: None for row in pair.rows("category")}, pair.now_ms)
    assert moves(pair).ended == (PARIS,)
    assert pair.rows("category") == []


def test_without_an_end_neither_memberships_nor_categories_are_read() -> None:
    assert queries(shelved(), on("derive", PARIS)) == []
    of_one = (Condition("touches", "contains", PARIS),)
    (first, second) = queries(shelved(), on("update", PARIS))
    assert isinstance(first, ByFilter)
    assert (first.kinds, first.where) == (("membership",), of_one)
    assert isinstance(second, ByIds)
    assert [it.id for it in second.addresses] == [FACTS]
    (only,) = queries(remember_all("Alice lives in Paris"), on("update", PARIS))
    assert only == first


def until_verdicts(pair: Pair) -> None:
    """Answer until the model is asked what the new fact does to the old one."""
    while not (isinstance(pair.pending[0], AskModel) and pair.pending[0].task == "evolve"):
        pair.answer()


def queries(pair: Pair, judge: Judge) -> list[object]:
    """Return what is read between the verdicts and the embedding."""
    pair.model = saying(evolve=judge)
    pair.step(Remember(1, "Alice lives in Berlin"))
    until_verdicts(pair)
    found: list[object] = []
    pair.answer()
    while isinstance(read := pair.pending[0], Read):
        found.append(read.query)
        pair.answer()
    assert isinstance(read, Embed)
    return found


@pytest.mark.parametrize(("row", "answered"), [("memberships", 0), ("left_categories", 1)])
def test_if_it_cannot_be_read_what_belongs_to_it_nothing_changes(row: str, answered: int) -> None:
    pair = shelved()
    before = pair.storage.digest()
    pair.model = saying(evolve=on("update", PARIS))
    pair.step(Remember(1, "Alice lives in Berlin"))
    until_verdicts(pair)
    pair.answer()
    for _ in range(answered):
        pair.answer()
    assert pair.run(Read).replies[1].outcome == Failed(StorageFailed(row, "unavailable", 3))
    assert pair.storage.digest() == before


# Stated again.


def test_an_ended_fact_that_is_remembered_again_is_current_again() -> None:
    pair = remember_all("Alice lives in Paris")
    pair.ask(Remember(90, "Alice lives in Paris", importance_ppm=900_000, metadata=(("k", "v"),)))
    pair.now_ms = 7
    moves(pair, on("contradict", PARIS))
    before = ended(pair).fact
    pair.now_ms = 9
    value = remembered(pair, Remember(2, "Alice lives in Paris", evolve=False))
    assert value.entities == (Stored(PARIS, 2, "created"),)
    first = Period(0, 7, BERLIN, "contradict")
    assert fact(pair, PARIS) == structs.replace(before, version=2, updated_ms=9, periods=(first,))
    assert (before.importance_ppm, before.metadata, before.relation_count) == (900_000, (("k", "v"),), 1)
    assert kinds_under(pair, PARIS) == ["access", "entity", "vector"]
    assert fact(pair, BERLIN).version == 1


def test_each_return_adds_a_period_and_of_too_many_the_latest_stay() -> None:
    pair = remember_all("Alice lives in Paris")
    for count in range(1, 4):
        pair.now_ms = 10 * count
        pair.model = saying(evolve=verdict("update"))
        remembered(pair, Remember(2 * count, "Alice lives in Berlin"))
        remembered(pair, Remember(2 * count + 1, "Alice lives in Paris"))
    assert [(it.since_ms, it.until_ms) for it in fact(pair, PARIS).periods] == [(0, 10), (10, 20), (20, 30)]
    remembered(pair, Remember(90, "Alice lives in Berlin"))
    last = ended(pair)
    many = (Period(0, 1, ROME, "update"), *[Period(1, 2, BERLIN, "update")] * (PERIOD_COUNT_MAX - 1))
    full = structs.replace(last, fact=structs.replace(last.fact, periods=many))
    assert full.periods == (*many[1:], Period(30, 30, BERLIN, "update"))


def test_back_again_it_ends_what_had_ended_it() -> None:
    pair = moved()
    pair.model = saying(evolve=verdict("update"))
    value = remembered(pair, Remember(2, "Alice lives in Paris"))
    assert (value.ended, [row.address.id for row in pair.rows("ended")]) == ((BERLIN,), [BERLIN])
    assert (ended(pair, BERLIN).by, fact(pair, PARIS).version) == (PARIS, 2)
    assert sorted((it.source, it.target) for it in relations(pair)) == sorted(
        [((PARIS, 1), (BERLIN, 1)), ((BERLIN, 1), (PARIS, 2))]
    )
    assert fact(pair, PARIS).relation_count == ended(pair, BERLIN).fact.relation_count == 2
    value = remembered(pair, Remember(3, "Alice lives in Berlin"))
    assert (value.entities, value.ended) == ((Stored(BERLIN, 2, "created"),), (PARIS,))


def relations(pair: Pair) -> list[Relation]:
    bodies = [row.body for row in pair.rows("relation")]
    return [it for it in bodies if isinstance(it, Relation)]


def test_a_text_that_repeats_it_makes_it_current_with_the_sources_that_it_had() -> None:
    pair = shelved()
    (source,) = fact(pair, PARIS).sources
    memories = pair.model
    moves(pair)
    pair.model = memories
    memorized(pair, Memorize(95, "Alice lives in Paris and eats no nuts, really.", uri="b"))
    it = fact(pair, PARIS)
    assert (it.version, it.is_direct, len(it.sources), it.reinforced_count) == (2, False, 2, 2)
    assert source in it.sources
    assert (pair.row("ended", PARIS), count_of(pair, "facts")) == (None, 2)


# Forgotten.


def test_an_ended_fact_can_be_forgotten_and_leaves_nothing() -> None:
    pair = moved()
    assert pair.ask(Forget(2, PARIS)) == Done(Forgotten(True))
    assert kinds_under(pair, PARIS) == []
    assert (relations(pair), fact(pair, BERLIN).relation_count) == ([], 0)
    assert pair.ask(GetEntity(3, PARIS)) == Done(None)
    assert pair.ask(Forget(4, PARIS)) == Done(Forgotten(False))
    value = remembered(pair, Remember(5, "Alice lives in Paris", evolve=False))
    assert value.entities == (Stored(PARIS, 1, "created"),)
    assert kinds_under(pair, PARIS) == ["access", "entity", "vector"]


def under(pair: Pair, key: str) -> list[Row]:
    return [row for row in pair.storage.live_rows(SCOPE) if row.address.id == key]


def test_a_forgotten_successor_leaves_the_ended_fact_ended() -> None:
    pair = moved()
    pair.ask(Forget(2, BERLIN))
    assert (ended(pair).by, ended(pair).fact.relation_count, relations(pair)) == (BERLIN, 0, [])
    assert kinds_under(pair, PARIS) == ["ended"]


# What happens meanwhile.


def meanwhile(*requests: Any, pair: Pair | None = None) -> tuple[Pair, Remembered]:
    """The fact changes while its end waits for storage."""
    pair = remember_all("Alice lives in Paris") if pair is None else pair
    pair.model = saying(evolve=on("update", PARIS))
    pair.step(Remember(1, "Alice lives in Berlin"))
    pair.hold(Commit)
    for request in requests:
        assert isinstance(pair.ask(request), Done)
    pair.release()
    outcome = pair.replies[1].outcome
    assert isinstance(outcome, Done)
    assert isinstance(outcome.value, Remembered)
    return pair, outcome.value


def test_a_fact_that_changes_meanwhile_ends_as_it_is_now() -> None:
    pair = remember_all("Alice lives in Paris")
    pair.model = saying(evolve=on("update", PARIS))
    pair.step(Remember(1, "Alice lives in Berlin"))
    pair.hold(Commit)
    row = pair.row("entity", PARIS)
    assert row is not None
    body: Any = structs.replace(fact(pair, PARIS), importance_ppm=9, version=2)
    pair.storage.rows[row.address] = structs.replace(row, body=body, version=row.version + 1)
    pair.release()
    assert ended(pair).fact.importance_ppm == 9


def test_a_fact_that_is_forgotten_meanwhile_stays_forgotten() -> None:
    pair, value = meanwhile(Forget(2, PARIS))
    assert (value.ended, value.relations, pair.rows("ended")) == ((), (), [])
    assert kinds_under(pair, PARIS) == []


def test_a_fact_that_another_one_ends_meanwhile_ends_once() -> None:
    pair, value = meanwhile(UpdateEntity(2, PARIS, "lives in Rome"))
    assert (value.ended, value.relations) == ((), ())
    assert (ended(pair).by, ended(pair).fact.relation_count) == (ROME, 0)


def test_a_fact_that_comes_into_core_meanwhile_leaves_it_too() -> None:
    pair = remember_all("Alice lives in Paris", config=structs.replace(QUIET, promote_score_min_ppm=0))
    pair, value = meanwhile(Rebalance(2), pair=pair)
    assert (value.ended, pair.ask(InCore(3, PARIS))) == ((PARIS,), Done(False))


def test_a_membership_that_lands_late_goes_with_the_fact() -> None:
    pair = remember_all("Alice lives in Paris")
    late = pair.leave_unanswered(UpdateEntity(90, PARIS, None, ("facts", "rules")))
    pair.model = saying(evolve=on("update", PARIS))
    pair.step(Remember(1, "Alice lives in Berlin"))
    pair.hold(Commit)
    pair.land(late)
    assert isinstance(pair.release().replies[1].outcome, Done)
    assert (pair.rows("membership"), count_of(pair, "facts"), count_of(pair, "rules")) == ([], 0, 0)


def of_profile(content: str) -> Callable[[str], str]:
    """Return a model that finds this fact about Alice in a text."""
    new = xml(content, "facts", name="Alice")
    return lambda prompt: new if input_of(prompt, "memory_type") == "profile" else "<item></item>"


MOVES: Final = (Remember(1, "Alice lives in Berlin"), Memorize(1, "Alice moved to Berlin."))


@pytest.mark.parametrize("request_", MOVES, ids=["remember", "memorize"])
def test_what_an_earlier_plan_has_ended_is_accessed_no_more(request_: Remember | Memorize) -> None:
    pair = remember_all("Alice lives in Paris", config=structs.replace(QUIET, auto_rebalance=False))
    pair.model = saying(memories=of_profile("lives in Berlin"), evolve=on("update", PARIS))
    pair.step(request_)
    first = pair.until(Commit)
    pair.fail("unknown")
    pair.wake()
    pair.land(first)  # late, so that the next plan finds nothing left to end
    pair.fail("conflict")
    pair.run()
    outcome = pair.replies[1].outcome
    assert isinstance(outcome, Done)
    assert isinstance(outcome.value, Remembered | Memorized)
    assert outcome.value.ended == (PARIS,)
    assert list(pair.memory.state.tiers.access.records) == [BERLIN]


@pytest.mark.parametrize("landed", [True, False])
@pytest.mark.parametrize("request_", MOVES, ids=["remember", "memorize"])
def test_in_doubt_it_ends_once_and_the_reply_is_that_of_the_plan_that_won(
    request_: Remember | Memorize, landed: bool
) -> None:
    pair = remember_all("Alice lives in Paris")
    pair.model = saying(memories=of_profile("lives in Berlin"), evolve=on("update", PARIS))
    pair.step(request_)
    pair.doubt(landed=landed).run()
    outcome = pair.replies[1].outcome
    assert isinstance(outcome, Done)
    assert isinstance(outcome.value, Remembered | Memorized)
    assert (outcome.value.entities, outcome.value.ended) == ((Stored(BERLIN, 1, "created"),), (PARIS,))
    assert kinds_under(pair, PARIS) == ["ended"]
    pair.ask(Rebalance(2))  # a scan drops the records of facts that are not there
    assert list(pair.memory.state.tiers.access.records) == [BERLIN]


# Restarts.


def test_a_memory_that_starts_again_knows_what_has_ended() -> None:
    before = moved()
    pair = Pair(storage=before.storage).run()
    check_memory(pair.memory.state)
    assert list(pair.memory.state.tiers.access.records) == [BERLIN]
    assert pair.ask(GetEntity(2, PARIS)) == Done(ended(before))
    assert remembered(pair, Remember(3, "Alice lives in Paris")).entities == (Stored(PARIS, 2, "created"),)


def test_an_end_on_its_way_is_restored_only_as_that_of_a_fact() -> None:
    pair = shelved()
    pair.model = saying(evolve=on("update", PARIS))
    pair.step(Remember(1, "Alice lives in Berlin"))
    pair.hold(Commit)
    assert Memory.restore(pair.memory.snapshot(), life=0).digest() == pair.memory.digest()
    facts: Any = next(iter(pair.memory.state.operations.values())).facts
    facts["ending"] = tuple(row.body for row in pair.rows("membership")[:1])
    with pytest.raises(Rejected, match=r"facts\[ending\]\[0\]: Membership"):
        Memory.restore(pair.memory.snapshot(), life=0)
