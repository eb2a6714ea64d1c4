"""Goal: the table of remember is what we meant: a generator tells it as a story, and both ask the same."""

import json
from collections.abc import Generator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import structs

from tests.twins.talk import (
    METS,
    Met,
    Sleeps,
    Story,
    Wants,
    attempts,
    ended,
    not_committed,
    reason_of,
    settled,
    together,
)
from tests.worlds import QUIET, Pair, input_of, saying, verdict
from umi_core.data import Data
from umi_core.errors import StorageFailed
from umi_core.messages.effects import Degraded, Done, Failed, Outcome
from umi_core.messages.requests import Remember
from umi_core.messages.results import Remembered
from umi_core.rows import Entity

# The story.


class Before(Data):
    """What is known and set before the text comes, all of it or nothing: that Alice works at Acme; that Carol
    likes tea too, which has to do with it; that the model chooses blocks."""

    alice: bool = False
    carol: bool = False
    is_routed: bool = False


def remember(request: Remember, before: Before) -> Story:
    """`Alice likes tea`: one person, who is not for core. It ends with what is stored of her, or of
    the note."""
    degraded: list[Degraded] = []
    met_faults: list[Met] = []  # by commits
    is_note = not request.extract
    if request.request_key is not None:
        kind, count = yield from attempts("read receipt", 3)
        if kind != "good":
            return Failed(StorageFailed("seen", kind, count))
    if request.extract:
        kind, _ = yield from attempts("model extract", 2)
        if kind != "good":  # the text itself is the note
            is_note = True
            degraded.append(Degraded("extract:notes", reason_of(kind)))
    won: list[Degraded] | None = None  # what the plan lacked of which an unconfirmed attempt has landed
    for _ in range(3):  # plans
        less = list(degraded)  # what this plan lacks
        is_there = won is not None
        kind, count = yield from attempts("read entity ended core", 3)
        if kind != "good":
            return ended(StorageFailed("lookup", kind, count), met_faults)
        if not is_there:
            for _ in range((yield from ended_count(request, before, less))):
                kind, count = yield from attempts("read", 3)  # in which categories it is
                if kind != "good":
                    return ended(StorageFailed("memberships", kind, count), met_faults)
            if request.embed:
                kind, _ = yield from attempts("embed", 2)
                if kind != "good":
                    less.append(Degraded("embed:no_vectors", reason_of(kind, "wrong number of vectors")))
            if before.is_routed:
                kind, _ = yield from attempts("model route", 2)
                if kind != "good":
                    less.append(Degraded("route:table", reason_of(kind)))
        kind, count = yield from attempts("commit", 3, met_faults)
        if kind == "good":
            if won is not None:
                less = won
                yield from settled(less)
            return Done("Alice likes tea" if is_note else "likes tea", tuple(less))
        if kind != "conflict":
            break
        won = less if won is None and any(met.lands for met in met_faults) else won
    return not_committed(kind, count, met_faults)


def ended_count(
    request: Remember, before: Before, less: list[Degraded]
) -> Generator[Wants | Sleeps, Met, int]:
    """How many facts end: the model says that the new one takes the place of each that the words find."""
    known = before.alice + before.carol
    if not request.evolve:
        return 0
    kind, _ = yield from attempts("read by words", 2)
    if kind != "good":
        less.append(Degraded("candidates:none", kind))
        return 0
    if known:
        kind, _ = yield from attempts("model evolve", 2)
        if kind == "good":
            return known
        less.append(Degraded("evolve:none", reason_of(kind)))
    return 0


def check_twins(request: Remember, before: Before, script: list[Met]) -> Outcome:
    pair = Pair(config=structs.replace(QUIET, semantic_routing=before.is_routed), model=MODEL).run()
    for text in ["Alice works at Acme"] * before.alice + ["Carol likes tea"] * before.carol:
        pair.ask(Remember(0, text, evolve=False))
        pair.replies.clear()
    pair.step(request)
    outcome = together(pair, 1, remember(request, before), list(script))
    got = pair.replies[1].outcome
    assert (
        structs.replace(got, value=stored(pair, got)) == outcome if isinstance(got, Done) else got == outcome
    )
    return outcome


def stored(pair: Pair, outcome: Done) -> str:
    """What is stored of the one entity that the reply names."""
    assert isinstance(outcome.value, Remembered)
    (one,) = outcome.value.entities
    row = pair.row("entity", one.id)
    assert row is not None
    assert isinstance(row.body, Entity)
    return row.body.content


def to_human(prompt: str) -> str:
    return json.dumps(
        [
            {"entity_id": one["entity_id"], "block": "human", "confidence": 1}
            for one in input_of(prompt, "entities")
        ]
    )


MODEL = saying(route=to_human, evolve=verdict("update"))
REQUESTS = st.builds(
    Remember,
    st.just(1),
    st.just("Alice likes tea"),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    request_key=st.sampled_from([None, "k"]),
)
PLAIN = Remember(1, "Alice likes tea")
LOST = Met("silence", lands=True)


@pytest.mark.slow
@settings(max_examples=100)
@given(REQUESTS, st.builds(Before, st.booleans(), st.booleans(), st.booleans()), st.lists(METS, max_size=18))
@example(PLAIN, Before(), [])
@example(PLAIN, Before(alice=True, carol=True), [])
@example(PLAIN, Before(carol=True), [Met(), Met(), Met("refused")])
@example(PLAIN, Before(alice=True), [*[Met()] * 3, Met("unusable"), *[Met()] * 2])
@example(PLAIN, Before(), [*[Met()] * 4, LOST, Met("conflict"), Met(), Met(), Met("refused")])
@example(PLAIN, Before(), [*[Met()] * 4, LOST, Met("conflict"), Met(), Met("conflict"), Met("refused")])
@example(PLAIN, Before(), [*[Met()] * 4, *[Met("conflict"), *[Met()] * 3] * 3])
@example(PLAIN, Before(), [*[Met()] * 3, Met("refused"), LOST, Met("conflict")])
def test_the_table_of_remember_is_the_story_of_remember(
    request: Remember, before: Before, script: list[Met]
) -> None:
    check_twins(request, before, script)
