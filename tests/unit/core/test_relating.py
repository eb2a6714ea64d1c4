"""Goal: relations are stored with the facts they join, and counted at both ends (M2, M14)."""

import pytest
from msgspec import structs

from tests.worlds import SCOPE, Pair, id_of_fact, id_of_note, plain, saying, verdict
from umi_core.engine.middleware import Interceptor, Substitute
from umi_core.ids import relation_id
from umi_core.language.evolution import StatementVerdict
from umi_core.limits import RELATION_COUNT_MAX
from umi_core.messages.effects import Commit, Done, Outcome
from umi_core.messages.requests import Forget, Recall, Remember
from umi_core.messages.results import Recalled, Remembered, Stored
from umi_core.rows import Entity, Relation, Row, fact_of
from umi_core.workflows import BUILT_IN

ALICE, BOB, CAROL = (id_of_fact(name, "snores") for name in ("Alice", "Bob", "Carol"))


def remembered(outcome: Outcome) -> Remembered:
    assert isinstance(outcome, Done), outcome
    assert isinstance(outcome.value, Remembered)
    return outcome.value


def row(pair: Pair, key: str) -> Row:
    """The row of a fact, which is current or has ended."""
    found = pair.row("entity", key) or pair.row("ended", key)
    assert found is not None
    return found


def entity(pair: Pair, key: str) -> Entity:
    fact = fact_of(row(pair, key).body)
    assert fact is not None
    return fact


def counts(pair: Pair, *keys: str) -> list[int]:
    return [entity(pair, key).relation_count for key in keys]


def against(pair: Pair, *keys: str) -> list[tuple[str, ...]]:
    return [entity(pair, key).contradicts for key in keys]


def stored(pair: Pair) -> list[tuple[str, tuple[str, int], tuple[str, int]]]:
    bodies = [it.body for it in pair.rows("relation")]
    return sorted((it.kind, it.source, it.target) for it in bodies if isinstance(it, Relation))


def carol_snores(kind: str, confidence: float = 0.9) -> Pair:
    """Carol snores, which is known; that another person snores stands so to it."""
    pair = Pair(model=saying(evolve=verdict(kind, confidence, "both snore"))).run()
    pair.ask(Remember(100, "Carol snores"))
    return pair


# Verdicts on candidates.


@pytest.mark.parametrize("kind", ["update", "extend", "derive", "contradict"])
def test_a_verdict_on_a_candidate_becomes_a_relation_stored_with_the_fact(kind: str) -> None:
    pair = carol_snores(kind)
    pair.now_ms = 7
    relation = Relation(
        relation_id(SCOPE, (CAROL, 1), (BOB, 1), kind), kind, (CAROL, 1), (BOB, 1), 900_000, "both snore",
        "model", 7,
    )  # fmt: skip
    assert remembered(pair.ask(Remember(1, "Bob snores"))).relations == (relation,)
    assert [it.body for it in pair.rows("relation")] == [relation]


def test_it_is_counted_at_both_ends_in_the_same_commit() -> None:
    pair = carol_snores("derive")
    before = row(pair, CAROL).version
    pair.step(Remember(1, "Bob snores"))
    commit = pair.until(Commit)
    written = {write.address.id: write.body for write in commit.writes if write.address.kind == "entity"}
    assert sorted(written) == sorted((BOB, CAROL))
    assert [getattr(body, "relation_count", None) for body in written.values()] == [1, 1]
    assert [it.version for it in commit.expects if it.address.id == CAROL] == [before]
    pair.run()
    assert counts(pair, BOB, CAROL) == [1, 1]


def test_a_candidate_without_a_verdict_is_left_alone() -> None:
    pair = carol_snores("none")
    before = row(pair, CAROL)
    pair.ask(Remember(1, "Bob snores"))
    assert (stored(pair), row(pair, CAROL)) == ([], before)


def test_an_end_that_changes_meanwhile_makes_the_plan_anew() -> None:
    pair = carol_snores("derive")
    pair.step(Remember(1, "Bob snores"))
    pair.hold(Commit)
    pair.model = plain
    pair.ask(Remember(2, "Carol snores", importance_ppm=9))
    pair.model = saying(evolve=verdict("derive"))
    pair.release()
    assert remembered(pair.replies[1].outcome).relations[0].source == (CAROL, 1)
    assert (counts(pair, BOB, CAROL), entity(pair, CAROL).importance_ppm) == ([1, 1], 9)


def test_an_end_that_is_forgotten_meanwhile_leaves_no_relation_behind() -> None:
    pair = carol_snores("derive")
    pair.step(Remember(1, "Bob snores"))
    pair.hold(Commit)
    pair.ask(Forget(2, CAROL))
    pair.release()
    assert (remembered(pair.replies[1].outcome).relations, stored(pair), counts(pair, BOB)) == ((), [], [0])


def test_of_one_text_two_verdicts_on_one_candidate_count_twice_there() -> None:
    pair = carol_snores("derive")
    pair.ask(Remember(1, "Alice snores. Bob snores"))
    assert counts(pair, ALICE, BOB, CAROL) == [2, 2, 2]  # and one to each other


def test_a_verdict_that_a_hook_gives_on_no_candidate_is_passed_over() -> None:
    given = (
        ((f"{BOB}@1", f"{CAROL}@7"), StatementVerdict("update", 900_000)),
        ((f"{BOB}@1", "x@1"), StatementVerdict("derive", 1)),
    )
    hook = Interceptor("h", "step", lambda *_: Substitute({"verdicts": given}), steps=("evolve",))
    before = carol_snores("none")
    pair = Pair(before.storage, registry=BUILT_IN.with_interceptor(hook)).run()
    value = remembered(pair.ask(Remember(1, "Bob snores")))
    assert (value.relations, value.ended, stored(pair)) == ((), (), [])
    assert [len(pair.rows(kind)) for kind in ("entity", "ended")] == [2, 0]


# The limit.


def crowded(pair: Pair, key: str, count: int) -> None:
    """Let a fact have so many relations already."""
    found, body = row(pair, key), structs.replace(entity(pair, key), relation_count=count)
    pair.storage.rows[found.address] = structs.replace(found, body=body)


@pytest.mark.parametrize(
    ("count", "kept", "dropped_count"), [(RELATION_COUNT_MAX - 1, 1, 0), (RELATION_COUNT_MAX, 0, 1)]
)
def test_a_fact_takes_a_hundred_relations_and_the_number_left_out_is_reported(
    count: int, kept: int, dropped_count: int
) -> None:
    pair = carol_snores("contradict")
    crowded(pair, CAROL, count)
    value = remembered(pair.ask(Remember(1, "Bob snores")))
    assert (len(value.relations), value.relation_dropped_count) == (kept, dropped_count)
    assert counts(pair, CAROL, BOB) == [100, kept]
    assert [len(it) for it in against(pair, CAROL, BOB)] == [kept, kept]


def test_within_one_text_the_last_place_is_given_once() -> None:
    pair = carol_snores("derive")
    crowded(pair, CAROL, RELATION_COUNT_MAX - 1)
    value = remembered(pair.ask(Remember(1, "Alice snores. Bob snores")))
    assert [(it.source[0], it.target[0]) for it in value.relations] == [(CAROL, ALICE), (ALICE, BOB)]
    assert (value.relation_dropped_count, counts(pair, ALICE, BOB, CAROL)) == (1, [2, 1, 100])


def test_a_full_fact_may_still_end() -> None:
    pair = carol_snores("update")
    crowded(pair, CAROL, RELATION_COUNT_MAX)
    value = remembered(pair.ask(Remember(1, "Bob snores")))
    assert (value.relations, value.relation_dropped_count, value.ended) == ((), 1, (CAROL,))


# Contradictions.


def test_of_two_facts_that_contradict_both_say_so_and_the_older_one_ends() -> None:
    pair = carol_snores("contradict")
    value = remembered(pair.ask(Remember(1, "Bob snores")))
    assert against(pair, BOB, CAROL) == [(f"{CAROL}@1",), (f"{BOB}@1",)]
    assert (value.needs_resolution, value.ended) == (True, (CAROL,))
    outcome = pair.ask(Recall(2, "Bob Carol"))
    assert isinstance(outcome, Done)
    assert isinstance(outcome.value, Recalled)
    assert {hit.id: hit.contradicts for hit in outcome.value.hits} == {BOB: (f"{CAROL}@1",)}


def test_an_ended_fact_that_is_remembered_again_keeps_what_it_contradicts() -> None:
    pair = carol_snores("contradict")
    pair.ask(Remember(1, "Bob snores"))
    pair.model = plain
    assert remembered(pair.ask(Remember(2, "Carol snores"))).entities == (Stored(CAROL, 2, "created"),)
    assert against(pair, BOB, CAROL) == [(f"{CAROL}@1",), (f"{BOB}@1",)]
    assert counts(pair, BOB, CAROL) == [1, 1]


@pytest.mark.parametrize(
    ("kind", "confidence", "needed"),
    [("contradict", 0.8, True), ("contradict", 0.799999, False), ("update", 1.0, False)],
)
def test_a_sure_contradiction_needs_resolution(kind: str, confidence: float, needed: bool) -> None:
    value = remembered(carol_snores(kind, confidence).ask(Remember(1, "Bob snores")))
    assert (value.needs_resolution, len(value.relations)) == (needed, 1)


def test_a_note_may_end_a_note() -> None:
    pair = Pair(model=saying(evolve=verdict("update"))).run()
    pair.ask(Remember(1, "the door code is 1234", extract=False))
    value = remembered(pair.ask(Remember(2, "the door code is 5678", extract=False)))
    assert value.ended == (id_of_note("the door code is 1234"),)
