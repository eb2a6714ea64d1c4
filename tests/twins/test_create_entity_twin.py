"""Goal: the table of create_entity is what we meant: a generator tells it as a story; both ask the same."""

from typing import Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import structs

from tests.twins.talk import METS, Met, Story, attempts, ended, not_committed, reason_of, settled, together
from tests.worlds import QUIET, Pair
from umi_core.data import Data
from umi_core.errors import StorageFailed
from umi_core.messages.effects import Degraded, Done
from umi_core.messages.requests import CreateEntity, Forget, UpdateEntity
from umi_core.messages.results import Stored
from umi_core.rows import Category, Membership

FACT: Final = "is allergic to nuts"
DEFAULT: Final = "facts"  # where a profile is put by default
CATEGORIES: Final = (None, ("rules",), ("rules", "facts", "rules"))

# The story.


class Before(Data):
    """What is known before: the fact in its default category, or that there was one and it was forgotten, or
    another one has ended it; another fact in rules."""

    fact: str = "never"  # never, known, forgotten, ended
    rules: bool = False


def create(request: CreateEntity, before: Before) -> Story:
    """A known fact is stated again: only missing memberships are added. What a lost commit has stored
    is known, too."""
    named = dict.fromkeys(request.categories or (DEFAULT,))
    known = {DEFAULT} if before.fact != "never" else set()
    known |= {"rules"} if before.rules else set()
    met_faults: list[Met] = []  # by commits
    for _ in range(3):  # plans
        less: list[Degraded] = []
        is_there = any(met.lands for met in met_faults)
        kind, count = yield from attempts("read entity ended core category membership", 3)
        if kind != "good":
            return ended(StorageFailed("lookup", kind, count), met_faults)
        if before.fact != "known" and not is_there:
            kind, _ = yield from attempts("embed", 2)
            if kind != "good":
                less.append(Degraded("embed:no_vectors", reason_of(kind, "wrong number of vectors")))
        if not known.issuperset(named) and not is_there:
            kind, _ = yield from attempts("embed", 2)
            if kind != "good":
                less.append(Degraded("embed_captions:no_vectors", reason_of(kind, "wrong number of vectors")))
        kind, count = yield from attempts("commit", 3, met_faults)
        if kind == "good":
            if is_there:
                yield from settled(less)
            return Done("unchanged" if before.fact == "known" else "created", tuple(less))
        if kind != "conflict":
            break
    return not_committed(kind, count, met_faults)


def check_twins(request: CreateEntity, before: Before, script: list[Met]) -> None:
    pair = Pair(config=QUIET).run()
    if before.fact != "never":
        first = pair.ask(CreateEntity("fact", FACT, "profile"))
        assert isinstance(first, Done)
        assert isinstance(first.value, Stored)
        if before.fact == "forgotten":
            pair.ask(Forget("forget", first.value.id))
        elif before.fact == "ended":
            pair.ask(UpdateEntity("update", first.value.id, "is allergic to eggs"))
    if before.rules:
        pair.ask(CreateEntity("rule", "asks before cooking", "behavior", ("rules",)))
    pair.step(request)
    outcome = together(pair, 1, create(request, before), list(script))
    got = pair.replies[1].outcome
    if not isinstance(got, Done):
        assert got == outcome
        return
    assert isinstance(got.value, Stored)
    assert structs.replace(got, value=got.value.change) == outcome
    assert homes(pair, got.value.id) == due_homes(request, before)


def homes(pair: Pair, key: str) -> dict[str, str]:
    """The categories that the fact is in, with who says so."""
    bodies = [row.body for row in pair.rows("category")]
    names = {it.id: it.name for it in bodies if isinstance(it, Category)}
    bodies = [row.body for row in pair.rows("membership")]
    links = [it for it in bodies if isinstance(it, Membership) and it.entity_id == key]
    return {names[it.category_id]: it.assigned_by for it in links}


def due_homes(request: CreateEntity, before: Before) -> dict[str, str]:
    own = {DEFAULT: "default"} if before.fact == "known" else {}
    rows = dict.fromkeys(request.categories, "user") if request.categories else {DEFAULT: "default"}
    return rows | own


LOST: Final = Met("silence", lands=True)
PLAIN: Final = CreateEntity(1, FACT, "profile")
REQUESTS: Final = st.builds(
    CreateEntity, st.just(1), st.just(FACT), st.just("profile"), st.sampled_from(CATEGORIES)
)
BEFORE: Final = st.builds(Before, st.sampled_from(("never", "known", "forgotten", "ended")), st.booleans())


@pytest.mark.slow
@settings(max_examples=100)
@given(REQUESTS, BEFORE, st.lists(METS, max_size=14))
@example(PLAIN, Before(), [])
@example(PLAIN, Before("known"), [])
@example(PLAIN, Before("forgotten", rules=True), [])
@example(PLAIN, Before("ended"), [])
@example(CreateEntity(1, FACT, "profile", ("rules",)), Before("known", rules=True), [])
@example(PLAIN, Before(), [Met(), Met("unusable"), Met(), Met("refused")])
@example(PLAIN, Before(), [*[Met()] * 3, LOST, Met("conflict"), Met(), Met("conflict"), Met("refused")])
@example(PLAIN, Before(), [*[Met()] * 3, *[Met("conflict"), *[Met()] * 3] * 3])
def test_the_table_of_create_entity_is_the_story_of_it(
    request: CreateEntity, before: Before, script: list[Met]
) -> None:
    check_twins(request, before, script)
