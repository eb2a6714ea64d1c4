"""Goal: a record owns its facts about people and things, and takes just those with it (K7.1, K7.2, K8.4)."""

import json
from typing import Any

import pytest
from msgspec import structs

from tests.unit.core.test_memorize import entity, memorized
from tests.unit.core.test_memorize import xml as memory_of
from tests.worlds import QUIET, SCOPE, Pair, id_of_fact, id_of_note, saying, verdict
from umi_core.errors import KeyReused
from umi_core.ids import resource_id
from umi_core.kelpie import requests as api
from umi_core.kelpie.errors import NotFound
from umi_core.kelpie.results import Appended, RecordsShown
from umi_core.limits import SOURCE_COUNT_MAX
from umi_core.messages.effects import AskModel, Commit, Done, Embed, Read, Refused, Unknown
from umi_core.messages.requests import GetEntity, InCore, Memorize, Remember
from umi_core.messages.results import RecordAdded, RecordForgotten, Stored
from umi_core.rows import Address, Ended, Entity

FIRST, SECOND = "arc_000000000001", "arc_000000000002"
TEA, SINGS, RUNS = (id_of_fact("Alice", content) for content in ("likes tea", "sings", "runs"))


class World:
    """A memory with records about Alice."""

    def __init__(self, **replies: Any) -> None:
        self.pair = Pair(config=QUIET)
        self.pair.model = saying(**({"evolve": "none", "memories": "<item></item>"} | replies))
        self.pair.run()
        self.count = 0

    def ask(self, request: Any, *absent: type[AskModel | Embed | Commit | Read]) -> Any:
        self.count += 1
        outcome = self.pair.ask(structs.replace(request, op_id=self.count), *absent)
        assert isinstance(outcome, Done), outcome
        self.degraded = [it.name for it in outcome.degraded]
        return outcome.value

    def says(self, *facts: tuple[str, str], kind: str = "person", **more: Any) -> None:
        """What a model finds in the next text."""
        found = [{"name": name, "type": kind, "content": content} for name, content in facts]
        extract = json.dumps({"entities": found, "relations": []})
        replies = {"evolve": "none", "memories": "<item></item>", "extract": extract}
        self.pair.model = saying(**(replies | more))

    def add(self, *contents: str, **options: Any) -> RecordAdded:
        """A record that says this of Alice."""
        self.says(*(("Alice", content) for content in contents))
        text = " ".join(f"Alice {content}." for content in contents)
        value = self.ask(api.AddArchival(0, text, extract=True, **options))
        assert isinstance(value, RecordAdded)
        return value

    def delete(self, key: str, **options: Any) -> RecordForgotten:
        value = self.ask(api.DeleteArchival(0, key, **options))
        assert isinstance(value, RecordForgotten)
        return value

    def facts(self) -> dict[str, Entity]:
        """By what they say the facts that are current."""
        bodies = [row.body for row in self.pair.rows("entity")]
        return {it.content: it for it in bodies if isinstance(it, Entity)}


def test_a_record_alone_asks_no_model_and_states_nothing() -> None:
    world = World(extract="nobody is asked")
    assert world.ask(api.AddArchival(0, "Alice likes tea."), AskModel, Embed) == Appended("archival", 1, 1, 0)
    assert world.facts() == {}
    assert world.delete(FIRST) == RecordForgotten(FIRST)


def test_the_reply_names_the_record_and_its_facts() -> None:
    world = World()
    added = world.add("likes tea", tags=("x",), metadata=(("from", "chat"),))
    assert added.ids == (FIRST,)
    assert added.facts.entities == (Stored(TEA, 1, "created"),)
    shown = world.ask(api.GetArchival(0, added.ids[0]))
    assert isinstance(shown, RecordsShown)
    assert (shown.records[0].content, shown.records[0].tags) == ("Alice likes tea.", ("x",))
    it = world.facts()["likes tea"]
    assert (it.sources, it.is_direct, it.metadata, it.source) == ((FIRST,), False, (), None)


def test_facts_of_another_record_stay_and_the_rest_leaves() -> None:
    world = World()
    world.add("likes tea", "sings")
    second = world.add("likes tea", "runs")
    assert second.ids == (SECOND,)
    assert second.facts.entities == (Stored(TEA, 1, "unchanged"), Stored(RUNS, 1, "created"))
    tea = world.facts()["likes tea"]
    assert (tea.sources, tea.reinforced_count) == ((FIRST, SECOND), 2)
    gone = world.delete(FIRST)
    assert set(gone.entities) == {Stored(TEA, 1, "unchanged"), Stored(SINGS, 1, "forgotten")}
    assert {content: it.sources for content, it in world.facts().items()} == {
        "likes tea": (SECOND,), "runs": (SECOND,),
    }  # fmt: skip
    assert world.facts()["likes tea"].reinforced_count == 1
    gone = world.delete(SECOND)
    assert set(gone.entities) == {Stored(TEA, 1, "forgotten"), Stored(RUNS, 1, "forgotten")}
    assert world.facts() == {}


def test_facts_with_another_source_stay() -> None:
    world = World()
    world.add("likes tea", "sings", "runs")
    world.says(("Alice", "likes tea"))
    world.ask(Remember(0, "Alice likes tea."))
    world.says(memories=memory_of("sings", "facts", name="Alice"))
    memorized(world.pair, Memorize(99, "Alice sings.", uri="a", memory_types=("profile",)))
    assert set(world.delete(FIRST).entities) == {
        Stored(TEA, 1, "unchanged"), Stored(SINGS, 1, "unchanged"), Stored(RUNS, 1, "forgotten"),
    }  # fmt: skip
    facts = world.facts()
    assert {content: (it.sources, it.is_direct) for content, it in facts.items()} == {
        "likes tea": ((), True), "sings": ((resource_id(SCOPE, "a", ""),), False),
    }  # fmt: skip


def test_what_a_model_calls_outdated_ends_as_by_a_remember() -> None:
    world = World()
    world.add("lives in Oslo")
    world.says(("Alice", "lives in Rome"), evolve=verdict("update"))
    added = world.ask(api.AddArchival(0, "Alice lives in Rome.", extract=True))
    oslo, rome = (id_of_fact("Alice", f"lives in {city}") for city in ("Oslo", "Rome"))
    assert added.facts.ended == (oslo,)
    assert list(world.facts()) == ["lives in Rome"]
    ended = world.ask(GetEntity(0, oslo))
    assert isinstance(ended, Ended)
    assert (ended.by, ended.how, ended.fact.sources) == (rome, "update", (FIRST,))
    assert world.delete(SECOND).entities == (Stored(rome, 1, "forgotten"),)
    assert world.delete(FIRST).entities == (Stored(oslo, 1, "forgotten"),)
    assert world.ask(GetEntity(0, oslo)) is None


def test_without_a_model_the_text_is_notes_and_goes_with_its_record() -> None:
    world = World(extract="nonsense")
    note = id_of_note("Alice likes tea.")
    added = world.ask(api.AddArchival(0, "Alice likes tea.", extract=True))
    assert (added.facts.entities, world.degraded) == ((Stored(note, 1, "created"),), ["extract:notes"])
    assert entity(world.pair, note).sources == (FIRST,)
    world.delete(FIRST)
    assert world.ask(GetEntity(0, note)) is None


def test_a_key_that_is_known_is_answered_from_its_receipt() -> None:
    world = World()
    added = world.add("likes tea", request_key="k")
    assert world.add("likes tea", request_key="k") == structs.replace(added, repeated=True)
    other = api.AddArchival("other", "Alice likes tea.", ("y",), request_key="k", extract=True)
    assert world.pair.ask(other) == Refused(KeyReused("k"))
    gone = world.delete(FIRST, request_key="d")
    assert world.delete(FIRST, request_key="d") == structs.replace(gone, repeated=True)
    assert world.pair.ask(api.DeleteArchival("again", FIRST)) == Refused(NotFound("archival", FIRST))


def in_doubt(*, landed: bool) -> Pair:
    world = World()
    world.add("likes tea")
    world.pair.step(api.DeleteArchival("gone", FIRST, "d"))
    return world.pair.doubt(landed=landed)


def test_an_earlier_plan_that_took_it_away_is_believed() -> None:
    forgotten = RecordForgotten(FIRST, entities=(Stored(TEA, 1, "forgotten"),))
    assert in_doubt(landed=True).run().replies["gone"].outcome == Done(forgotten)


def test_where_another_process_has_removed_it_the_outcome_is_unknown_and_its_key_says_nothing() -> None:
    """A receipt of what was not done would tell a repeat of this request that it was."""
    pair = in_doubt(landed=False)
    del pair.storage.rows[Address(SCOPE, "archival", FIRST)]
    assert pair.run().replies["gone"].outcome == Unknown()
    again = pair.ask(api.DeleteArchival("again", FIRST, "d"))
    assert again == Refused(NotFound("archival", FIRST))


def test_numbers_stay_dense_while_one_waits_for_its_model() -> None:
    """Its turn begins when it looks up (K4.17)."""
    pair = Pair(config=QUIET)
    pair.model = saying(
        extract=json.dumps({"entities": [{"name": "Alice", "type": "person", "content": "likes tea"}]})
    )
    pair.run()
    pair.step(api.AddArchival(1, "Alice likes tea.", extract=True))
    pair.step(api.AddArchival(2, "plain"))
    pair.run()
    values = [pair.replies[op_id].outcome for op_id in (1, 2)]
    seqs = [it.value.first_seq for it in values if isinstance(it, Done) and isinstance(it.value, Appended)]
    assert sorted(seqs) == [1, 2]


def test_a_subject_of_only_this_record_leaves_core_with_it() -> None:
    pair = Pair(config=QUIET).run()
    outcome = pair.ask(api.AddArchival(1, "Umi helps", extract=True))
    assert isinstance(outcome, Done)
    assert isinstance(outcome.value, RecordAdded)
    (self_id,) = outcome.value.facts.promoted
    assert pair.ask(InCore(2, self_id)) == Done(True)
    gone = pair.ask(api.DeleteArchival(3, FIRST))
    assert isinstance(gone, Done)
    assert pair.ask(InCore(4, self_id)) == Done(False)


def test_a_search_finds_a_record_by_the_names_of_its_facts() -> None:
    """Facts of another record about her do not find this one (K7.3)."""
    world = World()
    world.says(("Alice", "moved to Lisbon"))
    world.ask(api.AddArchival(0, "She moved to Lisbon.", extract=True))
    world.says(("Alice", "sings"))
    world.ask(api.AddArchival(0, "Ask Alice to sing.", extract=True))
    world.ask(api.AddArchival(0, "Lisbon is hot."))
    found = world.ask(api.SearchArchival(0, "Alice Lisbon"))
    assert isinstance(found, RecordsShown)
    assert [(it.seq, ppm) for it, ppm in zip(found.records, found.scores_ppm, strict=True)] == [
        (1, 816_496), (2, 577_349), (3, 577_349),
    ]  # fmt: skip
    lost = dict.fromkeys(row.address for row in world.pair.rows("entity"))
    world.pair.storage.put_back(lost, world.pair.now_ms)
    found = world.ask(api.SearchArchival(0, "Alice Lisbon"))
    assert [it.seq for it in found.records] == [1, 2, 3]
    assert found.scores_ppm == (577_349, 577_349, 577_349)


@pytest.mark.slow
@pytest.mark.uncounted
def test_beyond_the_limit_of_sources_no_record_is_named() -> None:
    world = World()
    for _ in range(SOURCE_COUNT_MAX + 1):
        last = world.add("likes tea")
    it = world.facts()["likes tea"]
    assert (len(it.sources), it.is_direct) == (SOURCE_COUNT_MAX, True)
    assert last.ids[0] not in it.sources
    assert world.delete(last.ids[0]).entities == ()
