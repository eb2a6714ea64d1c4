"""Goal: no order of two small operations, and no crash point of one, breaks a law."""

import json
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from msgspec import structs

from tests.worlds import QUIET, SCOPE, Pair, check_step, id_of_fact, input_of, saying, verdict
from umi_core.data import Owner
from umi_core.errors import SessionConflict
from umi_core.messages.answers import Answer
from umi_core.messages.effects import Asked, AskModel, Commit, Done, Embed, Outcome, Refused
from umi_core.messages.requests import (
    CreateSession,
    Forget,
    Get,
    LoadSession,
    Memorize,
    Rebalance,
    Recall,
    Remember,
    Request,
    SaveSession,
    Set,
    SetBlock,
)
from umi_core.messages.results import Forgotten, Remembered, SessionSaved, Stored
from umi_core.rows import AccessRecord, Core, Ended, Entity
from umi_core.values import Scope
from umi_sim.judge.invariants.store import check_store
from umi_sim.judge.state import before_step, check_memory

LAUGHS, NAPS, SINGS = (id_of_fact("Alice", it) for it in ("laughs", "naps", "sings"))


class Choices:
    """Every sequence of picks, once each: `while choices.more(): ... choices.pick(count) ...`."""

    def __init__(self) -> None:
        self._path: list[tuple[int, int]] = []
        self._at = -1

    def more(self) -> bool:
        """Begin the first or the next sequence; False if all have been."""
        is_first, self._at = self._at < 0, 0
        while self._path and self._path[-1][0] + 1 == self._path[-1][1]:
            self._path.pop()
        if self._path:
            pick, count = self._path.pop()
            self._path.append((pick + 1, count))
        return is_first or bool(self._path)

    def is_again(self) -> bool:
        """Whether the next pick is one of those that were gone through before."""
        return self._at < len(self._path)

    def pick(self, count: int) -> int:
        if self._at == len(self._path):
            self._path.append((0, count))
        self._at += 1
        return self._path[self._at - 1][0]


def test_choices_are_all_sequences_once_each() -> None:
    choices, found = Choices(), list[tuple[int, ...]]()
    while choices.more():
        first = choices.pick(3)
        found.append((first, choices.pick(2)) if first else (first,))
    assert found == [(0,), (1, 0), (1, 1), (2, 0), (2, 1)]


class Stage(Owner):
    """Memories on one storage. An effect reaches it at one event, and is answered at another."""

    pairs: list[Pair]
    answers: list[tuple[Pair, Answer]] = []
    commits: list[str] = []  # every commit, in the order that it came: what storage holds

    def events(self) -> list[Callable[[], None]]:
        """What can happen next."""
        reach = [(pair, effect) for pair in self.pairs for effect in pair.pending]
        return [
            *(partial(self.reach, pair, effect) for pair, effect in reach),
            *(partial(self.hear, pair, answer) for pair, answer in self.answers),
        ]

    def reach(self, pair: Pair, effect: Asked) -> None:
        pair.pending.remove(effect)
        answer = pair.world(effect)
        if isinstance(effect, Commit):
            self.commits.append(repr(effect))
        if isinstance(effect, AskModel | Embed):
            pair.step(answer)  # they touch nothing, so it does not matter when they were reached
        else:
            self.answers.append((pair, answer))

    def hear(self, pair: Pair, answer: Answer) -> None:
        self.answers = [one for one in self.answers if one[1] is not answer]
        before = before_step(pair.memory.state)
        pair.step(answer)
        check_step(before, answer, pair.memory.state)

    def likeness(self) -> object:
        """Equal for two stages on which the same can happen, and the same has been replied."""
        under_way = [repr(effect) for pair in self.pairs for effect in pair.pending]
        answers = [repr(answer) for _, answer in self.answers]
        states = [(pair.memory.digest(), repr(pair.replies)) for pair in self.pairs]
        return repr((states, self.commits, sorted(under_way), sorted(answers)))

    def outcome(self, op_id: int) -> Outcome:
        return next(pair.replies[op_id].outcome for pair in self.pairs if op_id in pair.replies)


def every_schedule(begin: Callable[[], Stage]) -> Iterator[Stage]:
    """The stage after each order of its events; the rules over state and storage have held.

    What was reached before, by exchanging events that know nothing of each other, is not gone through again.
    """
    choices, seen = Choices(), dict[object, None]()
    while choices.more():
        stage = begin()
        while (is_new := choices.is_again() or stage.likeness() not in seen) and (events := stage.events()):
            if not choices.is_again():
                seen[stage.likeness()] = None
            events[choices.pick(len(events))]()
        if not is_new:
            continue
        for pair in stage.pairs:
            check_memory(pair.memory.state)
            check_store(pair.storage, pair.memory.state)
        yield stage


def in_one_memory(*requests: Request) -> Callable[[], Stage]:
    """A memory with these requests just begun."""

    def begin() -> Stage:
        pair = Pair().run()
        for request in requests:
            pair.step(request)
        return begun(pair)

    return begin


def begun(pair: Pair) -> Stage:
    """What the model says, and when, touches nothing: the schedules begin behind it."""
    while models := [effect for effect in pair.pending if isinstance(effect, AskModel)]:
        pair.pending.remove(models[0])
        pair.step(pair.world(models[0]))
    return Stage([pair])


def entity(pair: Pair, key: str) -> Entity:
    row = pair.row("entity", key)
    assert row is not None
    assert isinstance(row.body, Entity)
    return row.body


def keys(pair: Pair, kind: str) -> set[str]:
    return {row.address.id for row in pair.rows(kind)}


def remembered(outcome: Outcome) -> Remembered:
    assert isinstance(outcome, Done), outcome
    assert isinstance(outcome.value, Remembered)
    return outcome.value


def stored(outcome: Outcome) -> Stored:
    (one,) = remembered(outcome).entities
    return one


def laughs_no_more(prompt: str) -> str:
    """Answer `evolve`: each new statement updates the fact that Alice laughs."""
    pairs = [it for it in input_of(prompt, "pairs") if it["old"].startswith(LAUGHS)]
    return json.dumps([{**it, "type": "update", "confidence": 0.9, "reason": "so"} for it in pairs])


# Two operations.


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), [("Alice", "person"), ("Umi", "self")], ids=["archive", "core"])
def test_two_remembers_keep_both_facts_and_core_shows_both(name: str, kind: str) -> None:
    requests = Remember(1, f"{name} laughs", embed=False), Remember(2, f"{name} naps", embed=False)
    both = [id_of_fact(name, it) for it in ("laughs", "naps")]
    for stage in every_schedule(in_one_memory(*requests)):
        (pair,) = stage.pairs
        assert keys(pair, "entity") == set(both)
        assert [stored(stage.outcome(n)) for n in (1, 2)] == [Stored(key, 1, "created") for key in both]
        shown = {entry.entity_id for _, entry in pair.memory.state.tiers.core.entries()}
        assert shown == (set(both) if kind == "self" else set())
        assert pair.memory.state.tiers.session.interaction_count == 2


@pytest.mark.slow
def test_of_two_remembers_of_one_fact_one_creates_it() -> None:
    requests = Remember(1, "Alice laughs", embed=False), Remember(2, "alice LAUGHS", embed=False)
    for stage in every_schedule(in_one_memory(*requests)):
        (pair,) = stage.pairs
        assert sorted(stored(stage.outcome(n)).change for n in (1, 2)) == ["created", "unchanged"]
        assert (keys(pair, "entity"), entity(pair, LAUGHS).version) == ({LAUGHS}, 1)
        assert pair.memory.state.tiers.access.records[LAUGHS].count == 2


@pytest.mark.slow
def test_two_remembers_that_end_one_fact_end_it_once() -> None:
    def begin() -> Stage:
        pair = Pair(model=saying(evolve=laughs_no_more)).run()
        pair.ask(Remember(100, "Alice laughs"))
        pair.step(Remember(1, "Alice naps", embed=False))
        pair.step(Remember(2, "Alice sings", embed=False))
        return begun(pair)

    ends = set()
    for stage in every_schedule(begin):
        (pair,) = stage.pairs
        (row,) = pair.rows("ended")
        assert isinstance(row.body, Ended)
        replies = {key: remembered(stage.outcome(n)) for n, key in ((1, NAPS), (2, SINGS))}
        assert {key for key, value in replies.items() if value.ended == (LAUGHS,)} == {row.body.by}
        assert {value.ended for value in replies.values()} == {(LAUGHS,), ()}
        assert (keys(pair, "entity"), len(pair.rows("relation"))) == ({NAPS, SINGS}, 1)
        ends.add(row.body.by)
    assert ends == {NAPS}  # of the one that was read first; the other waits for it, and finds the fact ended


def memories(prompt: str) -> str:
    name, _, fact = input_of(prompt, "text").partition(" ")
    is_asked = input_of(prompt, "memory_type") == "profile"
    return f"<memory><name>{name}</name><content>{fact}</content></memory>" if is_asked else "<item></item>"


@pytest.mark.slow
@pytest.mark.parametrize("second", [Remember, Memorize])
@pytest.mark.parametrize("first", [Remember, Memorize])
def test_of_two_texts_about_one_entity_the_second_meets_the_first(
    first: type[Remember | Memorize], second: type[Remember | Memorize]
) -> None:
    def begin() -> Stage:
        pair = Pair(model=saying(evolve=verdict("update"), memories=memories)).run()
        pair.step(first(1, "Alice naps"))
        pair.step(second(2, "Alice sings"))
        return begun(pair)

    ends = set()
    for stage in every_schedule(begin):
        (pair,) = stage.pairs
        ends.add((*keys(pair, "entity"), *(row.address.id for row in pair.rows("ended"))))
    assert ends <= {(SINGS, NAPS), (NAPS, SINGS)}
    assert ends


@pytest.mark.slow
@pytest.mark.parametrize("is_read", [True, False])
def test_of_remember_and_forget_the_last_to_know_its_fact_is_the_last(is_read: bool) -> None:
    """A text names its facts when a model has read it; what is in between is never seen."""

    def begin() -> Stage:
        pair = Pair().run()
        pair.ask(Remember(100, "Alice laughs"))
        pair.step(Remember(1, "Alice laughs", embed=False))
        if is_read:
            pair.answer()
        pair.step(Forget(2, LAUGHS))
        return Stage([pair])

    ends = set()
    for stage in every_schedule(begin):
        (pair,) = stage.pairs
        assert stage.outcome(2) == Done(Forgotten(True))
        found = pair.row("entity", LAUGHS)
        if found is None:
            assert stored(stage.outcome(1)) == Stored(LAUGHS, 1, "unchanged")
            assert pair.rows("vector") == []
        else:
            assert stored(stage.outcome(1)) == Stored(LAUGHS, 1, "created")
        ends.add(found is None)
    assert ends == {is_read}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["derive", "contradict"])
def test_no_relation_outlives_an_end_and_no_count_lies(kind: str) -> None:
    """Bob comes to stand to Carol while what Carol does is forgotten: before it has ended, or afterwards."""
    carol, bob = (id_of_fact(name, "snores") for name in ("Carol", "Bob"))

    def begin() -> Stage:
        pair = Pair(model=saying(evolve=verdict(kind))).run()
        pair.ask(Remember(100, "Carol snores"))
        pair.step(Remember(1, "Bob snores", embed=False))
        pair.step(Forget(2, carol))
        for _ in range(3):  # the model, and each row itself is read
            pair.answer()
        return Stage([pair])

    ends = set()
    for stage in every_schedule(begin):
        (pair,) = stage.pairs
        assert stage.outcome(2) == Done(Forgotten(True))
        found, value = entity(pair, bob), remembered(stage.outcome(1))
        assert (found.relation_count, found.contradicts, pair.rows("relation")) == (0, (), [])
        assert (keys(pair, "entity"), keys(pair, "ended")) == ({bob}, set())
        assert value.ended == ((carol,) if value.relations and kind == "contradict" else ())
        ends.add(len(value.relations))
    assert ends == {0, 1}  # forgotten before or behind


@pytest.mark.slow
def test_a_fact_that_is_promoted_while_it_ends_is_in_core_no_more() -> None:
    def begin() -> Stage:
        config = structs.replace(QUIET, promote_score_min_ppm=0)
        pair = Pair(config=config, model=saying(evolve=laughs_no_more)).run()
        pair.ask(Remember(100, "Alice laughs"))
        pair.step(Remember(1, "Alice naps", embed=False))
        pair.step(Rebalance(2))
        return begun(pair)

    ends = set()
    for stage in every_schedule(begin):
        (pair,) = stage.pairs
        assert remembered(stage.outcome(1)).ended == (LAUGHS,)
        assert pair.memory.state.tiers.core.locate(LAUGHS) is None
        promoted = stage.outcome(2)
        assert isinstance(promoted, Done)
        ends.add(LAUGHS in getattr(promoted.value, "promoted", ()))
    assert ends == {True, False}


@pytest.mark.slow
def test_of_two_writes_of_one_block_the_last_one_stays() -> None:
    requests = SetBlock(1, "human", "one"), SetBlock(2, "human", "two", importance_ppm=7)
    ends = set()
    for stage in every_schedule(in_one_memory(*requests)):
        (pair,) = stage.pairs
        (row,) = pair.rows("core")
        assert isinstance(row.body, Core)
        assert (pair.memory.state.tiers.core.blocks, row.version) == (row.body.blocks, 2)
        (block,) = row.body.blocks
        ends.add((block.text, block.importance_ppm))
    assert ends == {("two", 7)}


def test_of_two_saves_from_one_version_one_succeeds() -> None:
    def begin() -> Stage:
        one = Pair().run()
        other = Pair(storage=one.storage, scope=Scope("u1", "a2")).run()
        one.ask(CreateSession(100, ("a2",)))
        other.ask(LoadSession(100, one.memory.state.tiers.session.session_id or ""))
        one.step(SaveSession(1))
        other.step(SaveSession(2))
        return Stage([one, other])

    winners = []
    for stage in every_schedule(begin):
        outcomes = [stage.outcome(n) for n in (1, 2)]
        (refused,) = [outcome for outcome in outcomes if outcome == Refused(SessionConflict(1, 2))]
        (done,) = [outcome for outcome in outcomes if isinstance(outcome, Done)]
        assert isinstance(done.value, SessionSaved)
        assert (done.value.version, refused in outcomes) == (2, True)
        winners.append(outcomes.index(done))
    assert set(winners) == {0, 1}


def test_an_agent_that_loads_during_a_save_overwrites_nothing_it_has_not_seen() -> None:
    def begin() -> Stage:
        pair = Pair().run()
        pair.ask(CreateSession(100))
        pair.ask(SaveSession(101))
        pair.ask(Set(102, "plan", b"tea"))
        pair.step(SaveSession(1))
        pair.step(LoadSession(2, pair.memory.state.tiers.session.session_id or ""))
        return Stage([pair])

    ends = set()
    for stage in every_schedule(begin):
        (pair,) = stage.pairs
        plan = pair.ask(Get(3, "plan"))
        last = pair.ask(SaveSession(4))
        is_saved = isinstance(last, Done)
        assert is_saved or last == Refused(SessionConflict(2, 3))
        assert plan == (Done(b"tea") if is_saved else Done(None))
        ends.add(is_saved)
    assert ends == {True, False}  # the new version was loaded, or the old one


def test_what_storage_holds_of_an_access_is_written_again_unless_it_is_the_last() -> None:
    """Two remembers carry the count of a third, which is recalled between their plans."""

    def begin() -> Stage:
        pair = Pair().run()
        pair.ask(Remember(100, "Alice laughs"))
        pair.ask(Recall(101, "Alice"))
        pair.step(Remember(1, "Bob naps"))
        pair.hold(Commit)
        pair.ask(Recall(102, "Alice"))
        pair.step(Remember(2, "Carol naps"))
        pair.hold(Commit)
        pair.pending = pair.held
        return Stage([pair])

    ends = set()
    for stage in every_schedule(begin):
        (pair,) = stage.pairs
        row = pair.row("access", LAUGHS)
        assert row is not None
        assert isinstance(row.body, AccessRecord)
        assert pair.memory.state.tiers.access.records[LAUGHS].count == 3
        assert row.body.count == 3 or LAUGHS in pair.memory.state.tiers.access.unsaved
        ends.add(row.body.count)
    assert ends == {2, 3}


# Crash points.

EARLIER = "Umi helps. Alice laughs"
ENDING = saying(evolve=laughs_no_more)
REQUEST = Remember(1, "Umi naps. Alice naps. Bob snores", request_key="k")


def rows_of(pair: Pair) -> list[object]:
    """All that a remember writes."""
    return [row for row in pair.storage.live_rows(SCOPE) if row.address.kind != "epoch"]


def events_of_a_remember(crash_after: int) -> tuple[Stage, bool]:
    """A remember stopped after so many events, and whether it was over by then."""
    pair = Pair(model=ENDING).run()
    pair.ask(Remember(0, EARLIER))
    pair.step(REQUEST)
    stage = Stage([pair])
    for _ in range(crash_after):
        (event,) = stage.events()
        event()
    return stage, not stage.events()


def test_a_crash_anywhere_leaves_old_rows_or_new_ones_and_repeating_the_request_happens_once() -> None:
    whole, _ = events_of_a_remember(0)
    old = rows_of(whole.pairs[0])
    whole.pairs[0].run()
    new = rows_of(whole.pairs[0])
    found, crash_after, is_over = [], 0, False
    while not is_over:
        stage, is_over = events_of_a_remember(crash_after)
        later = Pair(storage=stage.pairs[0].storage, model=ENDING).run()
        check_memory(later.memory.state)
        check_store(later.storage, later.memory.state)
        assert rows_of(later) in (old, new)
        found.append(rows_of(later) == new)
        outcome = later.ask(REQUEST)
        assert isinstance(outcome, Done)
        assert isinstance(outcome.value, Remembered)
        assert outcome.value.repeated == found[-1]
        assert [one.change for one in outcome.value.entities] == ["created"] * 3
        assert (outcome.value.ended, keys(later, "ended")) == ((LAUGHS,), {LAUGHS})
        check_store(later.storage, later.memory.state)
        crash_after += 1
    # seen, extract, lookup, candidates of three, evolve, memberships, embed, commit: rows change when the
    # commit lands, not when the memory hears of it
    assert found == [False] * 16 + [True] * 2
