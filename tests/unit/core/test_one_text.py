"""Goal: facts of one text end each other, as if remembered one after the other (M2.27, M14.1)."""

import json
from typing import Any, Final

import pytest
from msgspec import structs

from tests.unit.core.test_ending import (
    BERLIN,
    PARIS,
    ROME,
    ended,
    fill_core,
    kinds_under,
    on,
    remember_all,
    remembered,
)
from tests.unit.core.test_handoff import hand_over, loaded, opened
from tests.unit.core.test_memorize import count_of, memorized, xml
from tests.worlds import SCOPE, Pair, id_of_fact, input_of, saying, verdict
from umi_core.ids import resource_id
from umi_core.kelpie.requests import AddArchival
from umi_core.messages.effects import AskModel, Degraded, Done
from umi_core.messages.requests import (
    ForgetResource,
    GetEntity,
    Memorize,
    Remember,
)
from umi_core.messages.results import Remembered, Stored
from umi_core.rows import Ended
from umi_core.workflows.commits import entity_ids

MOVES: Final = "Alice lives in Paris. Alice lives in Berlin"
MOVES_TWICE: Final = f"{MOVES}. Alice lives in Rome"
UPDATE: Final = saying(evolve=verdict("update"))
MOVED_XML: Final = xml("lives in Paris", "facts", name="Alice") + xml(
    "lives in Berlin", "facts", name="Alice"
)
FIRST, SECOND = (resource_id(SCOPE, f"chat/{n}", "") for n in (1, 2))


def moves(text: str = MOVES, *before: str, **more: Any) -> tuple[Pair, Remembered]:
    """Return a memory that remembered one text, with a model by which each fact ends what was before it."""
    pair = remember_all(*before)
    pair.model = UPDATE
    return pair, remembered(pair, Remember(1, text, **more))


def by(pair: Pair) -> dict[str, str]:
    """Return what has ended, and by what."""
    return {it.id: it.by for row in pair.rows("ended") if isinstance(it := row.body, Ended)}


def current(pair: Pair) -> list[str]:
    return [row.address.id for row in pair.rows("entity")]


def is_asked(pair: Pair) -> bool:
    effect = pair.pending[0]
    return isinstance(effect, AskModel) and effect.task == "evolve"


def test_a_fact_that_the_text_takes_back_is_stored_as_an_ended_one() -> None:
    pair, value = moves()
    assert value.entities == (Stored(PARIS, 1, "created"), Stored(BERLIN, 1, "created"))
    assert (value.ended, [it.entity_id for it in value.routing]) == ((PARIS,), [BERLIN])
    assert (kinds_under(pair, PARIS), current(pair)) == (["ended"], [BERLIN])
    assert (ended(pair).by, ended(pair).how, ended(pair).fact.content) == (BERLIN, "update", "lives in Paris")
    (relation,) = value.relations
    assert (relation.source, relation.target) == ((PARIS, 1), (BERLIN, 1))
    assert pair.ask(GetEntity(9, PARIS)) == Done(ended(pair))


def test_no_fact_ends_where_nothing_is_compared_or_the_model_fails() -> None:
    pair, value = moves(evolve=False)
    assert (value.ended, current(pair)) == ((), sorted((PARIS, BERLIN)))
    pair = remember_all()
    pair.step(Remember(1, MOVES))
    while not is_asked(pair):
        pair.answer()
    while is_asked(pair):
        pair.fail("refused")
    outcome = pair.run().replies[1].outcome
    assert isinstance(outcome, Done)
    assert (outcome.degraded, len(current(pair))) == ((Degraded("evolve:none", "refused", 1),), 2)


def test_the_order_is_that_of_the_text_and_not_of_the_reply() -> None:
    def backwards(prompt: str) -> str:
        names = [(it.partition(" ")[0], it) for it in reversed(input_of(prompt, "text").split(". "))]
        return json.dumps({"entities": [
            {"name": name, "type": "person", "content": it, "confidence": 0.9} for name, it in names
        ]})  # fmt: skip

    pair = remember_all()
    pair.model = saying(extract=backwards, evolve=verdict("update"))
    paris, berlin = (id_of_fact("Alice", f"Alice lives in {city}") for city in ("Paris", "Berlin"))
    value = remembered(pair, Remember(1, MOVES))
    assert ([it.id for it in value.entities], by(pair)) == ([berlin, paris], {paris: berlin})


def test_each_fact_of_three_ends_by_the_next_and_what_was_known_by_the_first() -> None:
    pair, value = moves("Alice lives in Berlin. Alice lives in Rome", "Alice lives in Paris")
    assert (by(pair), current(pair)) == ({PARIS: BERLIN, BERLIN: ROME}, [ROME])
    assert value.ended == (BERLIN, PARIS)
    pair, value = moves(MOVES_TWICE)
    assert (by(pair), value.ended) == ({PARIS: BERLIN, BERLIN: ROME}, (PARIS, BERLIN))


def test_the_last_one_takes_the_place_of_a_known_one_in_core() -> None:
    pair = fill_core("Alice lives in Paris")
    assert PARIS in entity_ids(pair.memory.state.tiers.core)
    pair.model = UPDATE
    remembered(pair, Remember(1, "Alice lives in Berlin. Alice lives in Rome"))
    assert entity_ids(pair.memory.state.tiers.core) == (ROME,)


@pytest.mark.parametrize("text", [MOVES, "Alice lives in Berlin. Alice lives in Paris"])
def test_a_known_fact_of_the_text_ends_a_new_one_or_is_ended_by_it(text: str) -> None:
    """Alice is known to live in Berlin, wherever the text says it again."""
    pair, value = moves(text, "Alice lives in Berlin")
    is_last = text == MOVES
    assert by(pair) == ({PARIS: BERLIN} if is_last else {BERLIN: PARIS})
    assert value.ended == ((PARIS,) if is_last else (BERLIN,))
    assert {it.id: it.change for it in value.entities} == {PARIS: "created", BERLIN: "unchanged"}
    assert (len(pair.rows("vector")), len(pair.rows("access"))) == (1, 1)
    assert kinds_under(pair, value.ended[0]) == ["ended"]


def test_the_same_text_remembered_again_changes_nothing() -> None:
    pair, _ = moves(MOVES_TWICE)
    kinds = ("entity", "ended", "vector", "relation")
    before = [pair.rows(kind) for kind in kinds]
    value = remembered(pair, Remember(2, MOVES_TWICE))
    assert [(it.version, it.change) for it in value.entities] == [(1, "unchanged")] * 3
    assert (value.ended, value.relations, [it.entity_id for it in value.routing]) == ((), (), [ROME])
    assert [pair.rows(kind) for kind in kinds] == before


def test_what_is_given_explicitly_reaches_a_fact_that_stays_ended() -> None:
    pair, _ = moves()
    before = ended(pair)
    remembered(pair, Remember(2, MOVES, importance_ppm=7))
    after = structs.replace(before.fact, importance_ppm=7)
    assert ended(pair) == structs.replace(before, fact=after)


def test_a_fact_that_stays_ended_keeps_its_time_and_its_earlier_periods() -> None:
    """Twice in Paris, twice in Berlin: the whole story, told once more without a date, changes nothing."""
    pair, _ = moves(event_time_ms=5)
    for op_id, text, happened_ms in ((2, "Alice lives in Paris", 6), (3, MOVES, 7), (4, MOVES, 8)):
        remembered(pair, Remember(op_id, text, event_time_ms=happened_ms))
    before = ended(pair)
    assert (before.fact.version, before.fact.event_time_ms) == (2, 8)
    assert [(it.since_ms, it.by) for it in before.periods] == [(5, BERLIN), (8, BERLIN)]
    remembered(pair, Remember(5, MOVES))
    assert ended(pair) == before


def test_in_another_order_the_fact_is_current_again() -> None:
    pair, _ = moves()
    value = remembered(pair, Remember(2, "Alice lives in Berlin. Alice lives in Paris"))
    assert {it.id: (it.version, it.change) for it in value.entities} == {
        BERLIN: (1, "unchanged"), PARIS: (2, "created"),
    }  # fmt: skip
    assert (by(pair), current(pair)) == ({BERLIN: PARIS}, [PARIS])


def test_alone_the_fact_is_current_again_and_ends_what_has_ended_it() -> None:
    pair, _ = moves()
    remembered(pair, Remember(2, "Alice lives in Paris"))
    assert (by(pair), current(pair)) == ({BERLIN: PARIS}, [PARIS])


def test_facts_never_end_each_other_in_a_circle() -> None:
    """Rome is of an early day, but is stated after Berlin, which is stated after Paris, which is of today."""
    pair = remember_all()
    pair.now_ms = 30
    remembered(pair, Remember(1, "Alice lives in Berlin"))
    remembered(pair, Remember(2, "Alice lives in Rome", event_time_ms=40, evolve=False))
    pair.now_ms, pair.model = 50, saying(evolve=on("update", ROME))
    remembered(pair, Remember(3, "Alice moves"))
    assert current(pair) == sorted((BERLIN, id_of_fact("Alice", "moves")))
    pair.now_ms, pair.model = 100, UPDATE
    remembered(pair, Remember(4, MOVES_TWICE))
    assert len({PARIS, BERLIN, ROME}.intersection(current(pair))) == 1


# Texts that are memorized.


def memorizing(*texts: str) -> Pair:
    """Return a memory with these chats; each says the same."""
    pair = Pair(model=saying(memories=moved_xml, evolve=verdict("update"))).run()
    for n, text in enumerate(texts, 1):
        memorized(pair, Memorize(n, text, uri=f"chat/{n}"))
    return pair


def moved_xml(prompt: str) -> str:
    return f"<item>{MOVED_XML if input_of(prompt, 'memory_type') == 'profile' else ''}</item>"


def test_a_chat_that_takes_something_back_has_one_current_member() -> None:
    pair = memorizing("We talk")
    assert (by(pair), current(pair), count_of(pair, "facts")) == ({PARIS: BERLIN}, [BERLIN], 1)


def test_a_known_member_that_a_chat_takes_back_leaves_its_category() -> None:
    pair = Pair(model=saying(memories=f"<item>{xml('lives in Paris', 'facts', name='Alice')}</item>")).run()
    memorized(pair, Memorize(1, "I live in Paris", uri="chat/1"))
    assert count_of(pair, "facts") == 1
    pair.model = saying(memories=moved_xml, evolve=verdict("update"))
    value = memorized(pair, Memorize(2, "We talk", uri="chat/2"))
    assert (value.ended, by(pair), count_of(pair, "facts")) == ((PARIS,), {PARIS: BERLIN}, 1)
    assert ended(pair).fact.sources == tuple(sorted((FIRST, SECOND)))


def test_a_second_chat_that_says_the_same_is_a_source_of_what_has_ended_too() -> None:
    pair = memorizing("We talk", "We talk again")
    assert ended(pair).fact.sources == tuple(sorted((FIRST, SECOND)))
    assert (ended(pair).fact.reinforced_count, ended(pair).fact.version, current(pair)) == (2, 1, [BERLIN])
    for n, key in enumerate((FIRST, SECOND)):
        pair.ask(ForgetResource(10 + n, key))
        assert [len(pair.rows(kind)) for kind in ("ended", "entity", "relation")] == [1 - n] * 3


def test_a_record_takes_itself_back() -> None:
    pair = Pair(model=UPDATE).run()
    for n in (1, 2):
        pair.ask(AddArchival(n, MOVES, extract=True))
    assert (by(pair), current(pair)) == ({PARIS: BERLIN}, [BERLIN])
    assert (len(ended(pair).fact.sources), ended(pair).fact.version) == (2, 1)


def test_carried_facts_end_each_other_by_their_times() -> None:
    """They were stated in two texts, and not compared when they were remembered."""
    a, b = opened()
    a.now_ms, b.now_ms, b.model = 10, 30, UPDATE
    a.ask(Remember("r1", "Alice lives in Berlin"))
    a.ask(Remember("r2", "Alice lives in Paris", event_time_ms=5, evolve=False))
    value = loaded(b, "l1", hand_over(a, "facts"))
    assert value.facts is not None
    berlin, paris = (it.id for it in value.facts.entities)
    assert (by(b), value.facts.ended, current(b)) == ({paris: berlin}, (paris,), [berlin])
