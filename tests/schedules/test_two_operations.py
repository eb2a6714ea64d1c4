"""Goal: no order of two small operations, and no crash point of one, breaks a law."""

from collections.abc import Callable, Iterator
from functools import partial

import attrs
import pytest

from tests.worlds import ALICE, QUIET, SCOPE, Pair, check_step, saying, verdict
from umi_core.errors import SessionConflict
from umi_core.ids import entity_id
from umi_core.invariants import before_step, check_memory
from umi_core.messages.answers import Answer
from umi_core.messages.effects import Asked, AskModel, Commit, Done, Embed, Outcome, Refused
from umi_core.messages.requests import (
    CreateSession,
    Forget,
    Get,
    LoadSession,
    Rebalance,
    Recall,
    Remember,
    Request,
    SaveSession,
    Set,
    SetBlock,
)
from umi_core.messages.results import Forgotten, Remembered, SessionSaved, Stored
from umi_core.rows import AccessRecord, Core, Entity, Relation, Tombstone, Version
from umi_core.values import Scope
from umi_sim.judge.invariants.store import check_store

UMI = entity_id(SCOPE, "self", "Umi")


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


@attrs.define
class Stage:
    """Memories on one storage. An effect reaches it at one event, and is heard of at another."""

    pairs: list[Pair]
    answers: list[tuple[Pair, Answer]] = attrs.field(factory=list)
    told: list[str] = attrs.field(factory=list)  # every commit, in the order that it came: what storage holds

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
            self.told.append(repr(effect))
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
        heard = [repr(answer) for _, answer in self.answers]
        states = [(pair.memory.digest(), repr(pair.replies)) for pair in self.pairs]
        return repr((states, self.told, sorted(under_way), sorted(heard)))

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


def in_one_memory(told: tuple[str, ...], *requests: Request) -> Callable[[], Stage]:
    """A memory that was told this, with these requests just begun."""

    def begin() -> Stage:
        pair = Pair().run()
        for n, text in enumerate(told):
            pair.ask(Remember(100 + n, text))
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


def versions(pair: Pair) -> list[int]:
    return sorted(row.body.version for row in pair.rows("version") if isinstance(row.body, Version))


def stored(outcome: Outcome) -> Stored:
    assert isinstance(outcome, Done), outcome
    assert isinstance(outcome.value, Remembered)
    (one,) = outcome.value.entities
    return one


def related(outcome: Outcome) -> tuple[Relation, ...]:
    assert isinstance(outcome, Done), outcome
    assert isinstance(outcome.value, Remembered)
    return outcome.value.relations


# Two operations.


@pytest.mark.slow
@pytest.mark.parametrize("is_known", [False, True], ids=["new", "known"])
@pytest.mark.parametrize(("name", "key"), [("Alice", ALICE), ("Umi", UMI)], ids=["archive", "core"])
def test_two_remembers_keep_both_facts_and_core_shows_the_last(name: str, key: str, is_known: bool) -> None:
    told = (f"{name} helps",) if is_known else ()
    requests = Remember(1, f"{name} laughs", embed=False), Remember(2, f"{name} naps", embed=False)
    expected = sorted(["laughs", "naps"] + ["helps"] * is_known)
    for stage in every_schedule(in_one_memory(told, *requests)):
        (pair,) = stage.pairs
        content = entity(pair, key).content
        assert sorted(content.split("\n")) == expected
        assert versions(pair) == list(range(1, len(expected) + 1))
        assert len(pair.rows("relation")) == len(expected) - 1
        assert {stored(stage.outcome(n)).version for n in (1, 2)} == {len(expected) - 1, len(expected)}
        home = pair.memory.state.tiers.core.home_of(key)
        assert (home and (home[1].version, home[1].text)) == (
            (len(expected), content) if key == UMI else None
        )
        assert pair.memory.state.tiers.session.interaction_count == len(expected)


@pytest.mark.slow
@pytest.mark.parametrize("is_read", [True, False])
def test_of_remember_and_forget_the_last_to_know_its_entity_is_the_last(is_read: bool) -> None:
    """A text names its entity when a model has read it; what is in between is never seen."""

    def begin() -> Stage:
        pair = Pair().run()
        pair.ask(Remember(100, "Alice laughs"))
        pair.step(Remember(1, "Alice naps", embed=False))
        if is_read:
            pair.answer()
        pair.step(Forget(2, ALICE))
        return Stage([pair])

    ends = set()
    for stage in every_schedule(begin):
        (pair,) = stage.pairs
        assert stage.outcome(2) == Done(Forgotten(True))
        found = pair.row("entity", ALICE)
        if found is None:
            assert stored(stage.outcome(1)).version == 2
            assert [row.body for row in pair.rows("tombstone")] == [Tombstone(2)]
            assert (versions(pair), pair.rows("relation"), pair.rows("vector")) == ([], [], [])
        else:
            assert (entity(pair, ALICE).content, versions(pair)) == ("naps", [2])
            assert pair.rows("tombstone") == []
        ends.add(found is None)
    assert ends == {is_read}


@pytest.mark.slow
def test_no_relation_outlives_an_end_and_no_count_lies() -> None:
    """Bob comes to stand to Carol while Carol is forgotten."""
    carol, bob = (entity_id(SCOPE, "person", name) for name in ("Carol", "Bob"))

    def begin() -> Stage:
        pair = Pair(model=saying(evolve=verdict("contradict"))).run()
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
        found = entity(pair, bob)
        assert (found.relation_count, found.contradicts, pair.rows("relation")) == (0, (), [])
        assert (pair.row("entity", carol), versions(pair)) == (None, [1])
        ends.add(len(related(stage.outcome(1))))
    assert ends == {0, 1}  # forgotten before or behind


@pytest.mark.slow
def test_who_is_promoted_while_it_changes_is_shown_as_it_is() -> None:
    def begin() -> Stage:
        pair = Pair(config=attrs.evolve(QUIET, promote_score_min_ppm=0)).run()
        pair.ask(Remember(100, "Alice laughs"))
        pair.step(Remember(1, "Alice naps", embed=False))
        pair.step(Rebalance(2))
        return begun(pair)

    for stage in every_schedule(begin):
        (pair,) = stage.pairs
        home = pair.memory.state.tiers.core.home_of(ALICE)
        assert home is not None
        assert home[1].version == entity(pair, ALICE).version == 2


@pytest.mark.slow
def test_of_two_writes_of_one_block_the_last_one_stays() -> None:
    requests = SetBlock(1, "human", "one"), SetBlock(2, "human", "two", importance_ppm=7)
    ends = set()
    for stage in every_schedule(in_one_memory((), *requests)):
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


def test_who_loads_while_a_save_is_under_way_saves_over_nothing_it_has_not_seen() -> None:
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
        row = pair.row("access", ALICE)
        assert row is not None
        assert isinstance(row.body, AccessRecord)
        assert pair.memory.state.tiers.access.records[ALICE].count == 3
        assert row.body.count == 3 or ALICE in pair.memory.state.tiers.access.unsaved
        ends.add(row.body.count)
    assert ends == {2, 3}


# Crash points.

EARLIER = "Umi helps. Alice laughs"
REQUEST = Remember(1, "Umi naps. Alice naps. Bob snores", request_key="k")


def rows_of(pair: Pair) -> list[object]:
    """All that a remember writes."""
    return [row for row in pair.storage.live_rows(SCOPE) if row.address.kind != "epoch"]


def events_of_a_remember(crash_after: int) -> tuple[Stage, bool]:
    """A remember stopped after so many events, and whether it was over by then."""
    pair = Pair().run()
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
        later = Pair(storage=stage.pairs[0].storage).run()
        check_memory(later.memory.state)
        check_store(later.storage, later.memory.state)
        assert rows_of(later) in (old, new)
        found.append(rows_of(later) == new)
        outcome = later.ask(REQUEST)
        assert isinstance(outcome, Done)
        assert isinstance(outcome.value, Remembered)
        assert outcome.value.repeated == found[-1]
        assert [one.version for one in outcome.value.entities] == [2, 2, 1]
        check_store(later.storage, later.memory.state)
        crash_after += 1
    # seen, extract, lookup, candidates of three, evolve, embed, commit: rows change when the commit lands,
    # not when the memory hears of it
    assert found == [False] * 14 + [True] * 2
