"""Goal: the right pairs are asked, and without a verdict nothing that is known changes (M11, M14)."""

import json
from typing import Any

import pytest
from msgspec import structs

from tests.worlds import QUIET, SCOPE, Pair, conditions, id_of_fact, input_of, saying, verdict
from umi_core.messages.answers import EffectFailed, ModelReplied, ReadDone
from umi_core.messages.effects import AskModel, ByWords, Commit, Degraded, Done, Embed, Outcome, Read
from umi_core.messages.requests import Remember
from umi_core.messages.results import Remembered
from umi_core.rows import Address, Entity, Row

TEA, ACME = id_of_fact("Alice", "likes tea"), id_of_fact("Alice", "works at Acme")
BOB, CAROL = id_of_fact("Bob", "snores"), id_of_fact("Carol", "snores")


def person(name: str, content: str) -> Entity:
    key = id_of_fact(name, content)
    return Entity(key, "person", name, content, 1, 500_000, 900_000, "human", 0, 0)


def found(*entities: Entity, score_ppm: int = 500_000) -> tuple[Row, ...]:
    return tuple(Row(Address(SCOPE, "entity", it.id), 1, it, score_ppm) for it in entities)


def remember_all(*texts: str) -> Pair:
    pair = Pair().run()
    for n, text in enumerate(texts):
        pair.ask(Remember(100 + n, text))
    return pair


def remembered(outcome: Outcome) -> Remembered:
    assert isinstance(outcome, Done), outcome
    assert isinstance(outcome.value, Remembered)
    return outcome.value


def relations(outcome: Outcome) -> list[tuple[str, tuple[str, int], tuple[str, int], int, str]]:
    return [(it.kind, it.source, it.target, it.confidence_ppm, it.by) for it in remembered(outcome).relations]


def until_candidates(pair: Pair, request: Remember) -> Read:
    """The search for what may have to do with the first new statement."""
    pair.step(request)
    while not (isinstance(pair.pending[0], Read) and isinstance(pair.pending[0].query, ByWords)):
        pair.answer()
    return pair.pending[0]


def until_evolve(pair: Pair, request: Remember) -> AskModel:
    pair.step(request)
    while not (isinstance(pair.pending[0], AskModel) and pair.pending[0].task == "evolve"):
        pair.answer()
    return pair.pending[0]


# Candidates.


def test_candidates_are_searched_by_name_and_statement_without_those_of_the_text() -> None:
    search = until_candidates(remember_all("Alice works at Acme"), Remember(1, "Alice likes tea. Bob snores"))
    assert search.query == ByWords(SCOPE, "Alice\nlikes tea", conditions(without=(TEA, BOB)), 5, 200_000)


def test_a_change_is_also_searched_by_the_words_of_what_it_changes() -> None:
    search = until_candidates(remember_all("Alice works at Acme"), Remember(1, "Alice left Acme"))
    assert isinstance(search.query, ByWords)
    assert search.query.text == "Alice\nleft Acme\nwork works working job company employer"


def test_what_a_change_ends_is_found_among_much_else() -> None:
    others = [
        f"Alice {verb} {thing}" for verb in ("likes", "sells") for thing in ("tea", "rice", "wool", "salt")
    ]
    asked = until_evolve(remember_all("Alice works at Acme", *others), Remember(1, "Alice joined Globex"))
    assert f"{ACME}@1" in [pair["old"] for pair in input_of(asked.prompt, "pairs")]


def test_other_facts_about_the_same_name_are_candidates() -> None:
    asked = until_evolve(remember_all("Alice works at Acme"), Remember(1, "Alice left Acme"))
    new = id_of_fact("Alice", "left Acme")
    assert input_of(asked.prompt, "pairs") == [{"new": f"{new}@1", "old": f"{ACME}@1"}]


def test_each_new_fact_has_a_search_of_its_own_and_an_unchanged_one_has_none() -> None:
    pair = remember_all("Alice likes tea")
    pair.step(Remember(1, "Alice likes tea. Bob snores. Carol sings"))
    texts = []
    while not isinstance(pair.pending[0], Embed):
        effect = pair.pending[0]
        if isinstance(effect, Read) and isinstance(effect.query, ByWords):
            texts.append(effect.query.text)
        pair.answer()
    assert texts == ["Bob\nsnores", "Carol\nsings"]


def test_a_search_that_fails_costs_its_own_candidates_only() -> None:
    pair = remember_all("Carol snores")
    until_candidates(pair, Remember(1, "Alice likes tea. Bob snores"))
    pair.fail("refused")
    pair.model = saying(evolve=verdict("derive"))
    outcome = pair.run().replies[1].outcome
    assert getattr(outcome, "degraded", None) == (Degraded("candidates:none", "refused"),)
    assert [it.target[0] for it in remembered(outcome).relations] == [BOB]


def test_a_search_is_tried_twice() -> None:
    outcome = remember_all("Alice works at Acme").ask(Remember(1, "Bob snores"))
    pair = remember_all("Alice works at Acme")
    until_candidates(pair, Remember(1, "Bob snores"))
    pair.fail("unavailable")
    assert (pair.memory.deadline_ms(), pair.pending) == (100, [])
    assert remembered(pair.run().replies[1].outcome) == remembered(outcome)


# Pairs.


def test_the_pairs_of_a_fact_are_its_candidates_by_rank() -> None:
    pair = remember_all("Alice works at Acme")
    search = until_candidates(pair, Remember(1, "Alice likes tea"))
    pair.pending.clear()
    carol, bob = person("Carol", "c"), person("Bob", "b")
    rows = (*found(carol, score_ppm=400_000), *found(bob, score_ppm=900_000))
    (asked,) = pair.step(ReadDone(search.request_id, rows))
    assert isinstance(asked, AskModel)
    new = f"{TEA}@1"
    assert input_of(asked.prompt, "pairs") == [
        {"new": new, "old": f"{bob.id}@1"},
        {"new": new, "old": f"{carol.id}@1"},
    ]
    statement = {"ref": new, "name": "Alice", "content": "likes tea", "told": "1970-01-01T00:00Z"}
    assert input_of(asked.prompt, "new") == [statement]
    assert [it["content"] for it in input_of(asked.prompt, "old")] == ["b", "c"]


def test_a_statement_is_shown_once_however_many_pairs_name_it() -> None:
    """The fact about Alice stands on both sides: new beside what is known, old beside what follows it."""
    pair, alice = remember_all("Carol snores"), f"{id_of_fact('Alice', 'snores')}@1"
    asked = until_evolve(pair, Remember(1, "Alice snores. Bob snores"))
    pairs = [(it["new"], it["old"]) for it in input_of(asked.prompt, "pairs")]
    assert pairs == [(alice, f"{CAROL}@1"), (f"{BOB}@1", f"{CAROL}@1"), (f"{BOB}@1", alice)]
    assert [it["ref"] for it in input_of(asked.prompt, "new")] == [alice, f"{BOB}@1"]
    assert [it["ref"] for it in input_of(asked.prompt, "old")] == [f"{CAROL}@1", alice]


def test_one_question_has_at_most_twenty_pairs_and_another_one_the_rest() -> None:
    texts = ". ".join(f"P{n} snores loudly tonight" for n in range(5))
    pair = remember_all(texts)
    pair.model = saying(evolve=verdict("update"))
    asked = until_evolve(pair, Remember(1, ". ".join(f"Q{n} snores loudly tonight" for n in range(5))))
    assert len(input_of(asked.prompt, "pairs")) == 20
    value = remembered(pair.run().replies[1].outcome)
    assert len(value.relations) == 25


def test_no_model_is_asked_without_pairs() -> None:
    pair = remember_all("Alice works at Acme")
    pair.step(Remember(1, "Bob snores"))
    tasks = []
    while pair.pending:
        effect = pair.pending[0]
        tasks.append(effect.task if isinstance(effect, AskModel) else type(effect).__name__)
        pair.answer()
    assert tasks == ["extract", "Read", "Read", "Embed", "Commit"]


def test_with_evolve_switched_off_nothing_is_searched_or_asked_and_nothing_is_degraded() -> None:
    pair = remember_all("Alice works at Acme", "Carol likes tea")
    pair.step(Remember(1, "Alice likes tea", evolve=False))
    kinds = []
    while pair.pending:
        kinds.append(type(pair.pending[0]).__name__)
        pair.answer()
    outcome = pair.replies[1].outcome
    assert kinds == ["AskModel", "Read", "Embed", "Commit"]
    assert relations(outcome) == []
    assert getattr(outcome, "degraded", None) == ()


# Answers.


def test_a_verdict_is_a_relation_from_the_old_statement_to_the_new_one() -> None:
    pair = remember_all("Alice works at Acme")
    pair.model = saying(evolve=verdict("update", 0.7, "she left"))
    outcome = pair.ask(Remember(1, "Alice left Acme"))
    left_acme = id_of_fact("Alice", "left Acme")
    assert relations(outcome) == [("update", (ACME, 1), (left_acme, 1), 700_000, "model")]
    assert remembered(outcome).relations[0].reason == "she left"


@pytest.mark.parametrize(
    ("reply", "degraded"),
    [
        ("[]", ()),
        ("well...", (Degraded("evolve:none", "no_json"),)),
        ("", (Degraded("evolve:none", "empty"),)),
        ("[{}]", (Degraded("evolve:partial", "unknown_pair"),)),
        ("[{}, {}]", (Degraded("evolve:partial", "unknown_pair", 2),)),
        ("[{}, 7]", (Degraded("evolve:partial", "unknown_pair"), Degraded("evolve:partial", "not_object"))),
    ],
)
def test_without_a_verdict_nothing_known_changes_and_what_was_dropped_is_reported(
    reply: str, degraded: tuple[Degraded, ...]
) -> None:
    pair = remember_all("Alice works at Acme")
    pair.model = saying(evolve=reply)
    before = pair.rows("entity")
    outcome = pair.ask(Remember(1, "Alice left Acme"))
    assert (relations(outcome), getattr(outcome, "degraded", None)) == ([], degraded)
    assert remembered(outcome).ended == ()
    assert all(row in pair.rows("entity") for row in before)


def test_a_model_that_is_away_is_asked_twice_and_costs_the_verdicts_only() -> None:
    pair = remember_all("Alice works at Acme")
    asked = until_evolve(pair, Remember(1, "Alice left Acme"))
    pair.fail("timeout")
    (again,) = pair.wake()
    assert isinstance(again, AskModel)
    assert (again.task, again.prompt) == ("evolve", asked.prompt)
    pair.fail("timeout")
    outcome = pair.run().replies[1].outcome
    assert (relations(outcome), getattr(outcome, "degraded", None)) == (
        [],
        (Degraded("evolve:none", "timeout"),),
    )


@pytest.mark.parametrize(("floor_ppm", "kinds"), [(300_000, []), (250_000, ["update"]), (0, ["update"])])
def test_the_setting_says_how_sure_a_verdict_must_be(floor_ppm: int, kinds: list[str]) -> None:
    config = structs.replace(QUIET, evolve_confidence_min_ppm=floor_ppm)
    pair = Pair(config=config, model=saying(evolve=verdict("update", 0.25))).run()
    pair.ask(Remember(1, "Alice works at Acme"))
    outcome = pair.ask(Remember(2, "Alice left Acme"))
    assert [it[0] for it in relations(outcome)] == kinds
    assert getattr(outcome, "degraded", None) == ()


def test_a_plan_made_again_asks_again_and_forgets_what_the_first_one_went_without() -> None:
    pair = remember_all("Alice works at Acme")
    pair.model = saying(evolve="?")
    pair.step(Remember(1, "Alice left Acme"))
    while not pair.pending or not isinstance(pair.pending[0], Commit):
        pair.wake() if not pair.pending else pair.answer()  # the model is asked once more
    pair.model = saying(evolve=verdict("update"))
    pair.fail("conflict")
    outcome = pair.run().replies[1].outcome
    assert [it[0] for it in relations(outcome)] == ["update"]
    assert getattr(outcome, "degraded", None) == ()


def test_a_late_verdict_is_not_taken() -> None:
    pair = remember_all("Alice works at Acme")
    asked = until_evolve(pair, Remember(1, "Alice left Acme"))
    pair.pending.clear()
    pair.wake()
    reply = verdict("update")(asked.prompt)
    assert pair.step(ModelReplied(asked.request_id, reply)) == []
    assert relations(pair.run().replies[1].outcome) == []


def test_a_verdict_on_one_pair_says_nothing_of_the_others() -> None:
    def last_only(prompt: str) -> str:
        pair: dict[str, Any] = input_of(prompt, "pairs")[-1]
        return json.dumps([{**pair, "type": "derive", "confidence": 1, "reason": ""}])

    pair = remember_all("Alice likes milk", "Carol likes tea")
    pair.model = saying(evolve=last_only)
    asked = until_evolve(pair, Remember(1, "Alice likes tea"))
    pairs = input_of(asked.prompt, "pairs")
    assert len(pairs) == 2
    source = (pairs[-1]["old"].partition("@")[0], 1)
    assert relations(pair.run().replies[1].outcome) == [("derive", source, (TEA, 1), 1_000_000, "model")]


def test_a_row_that_was_not_asked_for_is_no_candidate() -> None:
    pair = remember_all("Alice works at Acme")
    search = until_candidates(pair, Remember(1, "Bob snores"))
    pair.pending.clear()
    of_the_text = found(person("Bob", "snores"))
    (asked,) = pair.step(ReadDone(search.request_id, of_the_text))
    assert isinstance(asked, Embed)
    pair.step(EffectFailed(asked.request_id, "refused"))
    outcome = pair.run().replies[1].outcome
    assert [it.name for it in getattr(outcome, "degraded", ())] == ["read:foreign_rows", "embed:no_vectors"]
