"""Goal: what a limit drops of an entity is named in the reply (M2.16 and M2.19)."""

from typing import Any

import attrs
import pytest

from tests.unit.core.test_forget_resource import A, World
from tests.unit.core.test_memorize import ANN, xml
from tests.worlds import ALICE, SCOPE, Pair, saying, verdict
from umi_core.ids import given_id, note_id
from umi_core.kelpie.requests import AddArchival
from umi_core.limits import ENTITY_FACTS_BYTES_MAX, ENTITY_VERSION_COUNT_MAX
from umi_core.messages.effects import Degraded, Done, Read
from umi_core.messages.requests import CreateEntity, Memorize, Remember, UpdateEntity
from umi_core.rows import Address, Entity, Given, Row, Version
from umi_core.workflows.giving import left_without, shortened
from umi_core.workflows.history import losses_of

LONG = "x" * 990


def lines(*names: str) -> str:
    """One line for each name, four of which fill an entity."""
    return "\n".join(f"{name}{LONG}" for name in names)


def lost(name: str, count: int, key: str = ALICE) -> Degraded:
    return Degraded(name, key, count)


def degraded(pair: Pair, request: Any, *absent: type[Any]) -> tuple[Degraded, ...]:
    outcome = pair.ask(request, *absent)
    assert isinstance(outcome, Done), outcome
    return outcome.degraded


def told(*mentions: str, kind: str = "extend") -> Pair:
    """Alice, of whom these are remembered, one after the other."""
    pair = Pair(model=saying(evolve=verdict(kind))).run()
    for n, mention in enumerate(mentions):
        assert degraded(pair, Remember(n, f"Alice {mention}")) == ()
    return pair


def full(**options: Any) -> Pair:
    return told(*(f"{name}{LONG}" for name in "abcd"), **options)


def old(count: int = ENTITY_VERSION_COUNT_MAX) -> Pair:
    """Alice in so many versions, each in place of the one before: only the first says `peanuts`."""
    return told("peanuts", *(f"is {n}" for n in range(2, count + 1)), kind="update")


# The row that is searched.


def test_a_remember_names_the_lines_for_which_there_is_no_room() -> None:
    pair = full()
    assert degraded(pair, Remember(10, f"Alice e{LONG}")) == (lost("commit:dropped_lines", 1),)
    assert degraded(pair, Remember(11, f"Alice e{LONG}")) == ()  # known: nothing is written


def test_all_lines_are_counted() -> None:
    pair = told(*(f"{name}{'x' * 480}" for name in "abcdefgh"))
    assert degraded(pair, Remember(10, f"Alice i{LONG}")) == (lost("commit:dropped_lines", 2),)
    assert pair.memory.state.counters["degraded commit:dropped_lines"] == 2


def test_what_a_verdict_replaces_is_no_loss() -> None:
    pair = full()
    pair.model = saying(evolve=verdict("update"))
    assert degraded(pair, Remember(10, f"Alice e{LONG}")) == ()


def test_the_name_of_a_loss_is_that_of_the_entity_that_has_it() -> None:
    pair = full()
    outcome = degraded(pair, Remember(10, f"Alice e{LONG}. Bob f{LONG}"))
    assert outcome == (lost("commit:dropped_lines", 1),)


def test_a_memorize_an_archival_record_and_a_create_name_it_too() -> None:
    world = World()
    for name in "abcd":
        world.remember(f"{name}{LONG}")
    world.answers()
    assert degraded(world.pair, Memorize(50, f"Ann e{LONG}")) == (lost("commit:dropped_lines", 1, ANN),)
    pair = full()
    record = AddArchival(50, f"Alice e{LONG}", extract=True)
    assert degraded(pair, record) == (lost("commit:dropped_lines", 1),)


def test_a_create_entity_that_divides_its_lines_anew_names_it() -> None:
    """Its id goes by what it says, not by its lines: so a fact can be told in other lines."""
    words = [f"{n}{'x' * 95}" for n in range(10)]
    pair = Pair().run()
    key = note_id(SCOPE, " ".join(words), "knowledge")
    joins = ("   ".join(words), *("\n".join((" ".join(words[:n]), " ".join(words[n:]))) for n in range(1, 6)))
    found = [degraded(pair, CreateEntity(n, text, "knowledge")) for n, text in enumerate(joins)]
    assert found[:4] == [()] * 4
    assert found[4:] == [(lost("commit:dropped_lines", 1, key),), (lost("commit:dropped_lines", 2, key),)]


def test_a_replay_that_has_no_room_for_a_line_names_it() -> None:
    """Without the text that put itself in the place of all, what was before it is there again.

    told        with the text   without it
    a b c       a b c           a b c
    x (text)    x               a b c
    d a         x d a           a b c d
    e           x d a e         b c d e       no room for a
    """
    mentions = (lines("a", "b", "c"), "x", lines("d", "a"), lines("e"))
    kinds, contents = (None, "update", "extend", "extend"), (mentions[0], "x", f"x\n{mentions[2]}", "")
    content = f"{contents[2]}\n{mentions[3]}"
    versions = [
        Version(ANN, n + 1, mention, kinds[n], contents[n] or content, None, (), None, 0, is_given=n == 1)
        for n, mention in enumerate(mentions)
    ]
    given = Given(given_id(SCOPE, A, ANN), A, ANN, "x")
    bodies = [*versions, given]
    rows = [Row(Address(SCOPE, it.row_kind, str(it.own_id())), 1, it) for it in bodies]
    entity = Entity(
        ANN, "person", "Ann", content, 4, 0, 0, "human", 0, 0, sources=(A,), reinforced_count=2, given=("x",)
    )
    left = left_without(A, entity, rows)
    assert left.entity is not None
    assert (left.entity.content, left.dropped_count) == (lines("b", "c", "d", "e"), 1)
    row = Row(Address(SCOPE, "entity", ANN), 1, entity)
    assert losses_of(shortened(row, left, 0), left.versions) == [("dropped_lines", ANN, 1)]


def test_what_is_forgotten_on_request_is_no_loss() -> None:
    world = World()
    world.tell("a", "Ann sings")
    world.remember("swims")
    world.forget(A)
    assert world.degraded == []


# History.


def test_peanuts() -> None:
    pair = old()
    assert degraded(pair, Remember(200, "Alice is 101")) == (lost("commit:dropped_history", 1),)
    assert "peanuts" not in repr([row.body for row in pair.rows("version")])
    assert degraded(pair, Remember(201, "Alice is 102")) == (lost("commit:dropped_history", 1),)


def test_a_version_leaves_without_a_loss_if_another_one_says_the_same() -> None:
    pair = told("peanuts", "Peanuts\nis 2", *(f"is {n}" for n in range(3, 101)), kind="update")
    assert degraded(pair, Remember(200, "Alice is 101")) == ()
    assert degraded(pair, Remember(201, "Alice is 102")) == (lost("commit:dropped_history", 2),)


def test_a_version_leaves_without_a_loss_if_the_new_one_says_the_same() -> None:
    assert degraded(old(), Remember(200, "Alice PEANUTS")) == ()


def test_an_update_names_it_too() -> None:
    assert degraded(old(), UpdateEntity(200, ALICE, content="is 101")) == (lost("commit:dropped_history", 1),)


def test_history_is_read_only_where_a_version_leaves() -> None:
    pair = old(ENTITY_VERSION_COUNT_MAX - 1)
    pair.step(Remember(200, "Alice is 100"))
    marks = list(pair.memory.marks)
    pair.run()
    assert not any("history: ok" in mark for mark in marks)


def test_of_a_history_that_cannot_be_read_that_is_named() -> None:
    pair = old()
    pair.step(Remember(200, "Alice is 101"))
    while not is_history(pair.until(Read)):
        pair.answer()
    pair.fail("refused")
    pair.run()
    outcome = pair.replies[200].outcome
    assert outcome == Done(getattr(outcome, "value", None), (Degraded("history:unread", "refused"),))


def is_history(read: Read) -> bool:
    return "version" in repr(read.query)


@pytest.mark.parametrize(
    ("number", "expected"),
    [(1, ()), (2, (lost("commit:dropped_history", 1),))],
    ids=["the version that leaves", "another version"],
)
def test_a_damaged_version_stops_nobody(number: int, expected: tuple[Degraded, ...]) -> None:
    """Of a version that leaves and cannot be read nobody can say what it said."""
    pair = old()
    pair.storage.rot(Address(SCOPE, "version", f"{ALICE}@{number}"))
    found = degraded(pair, Remember(200, "Alice is 101"))
    assert found == (Degraded("read:damaged_rows", "damaged"), *expected)


# Which batch it was.


def test_the_same_request_again_is_told_the_same_loss() -> None:
    pair = full()
    request = Remember(10, f"Alice e{LONG}", request_key="k")
    assert degraded(pair, request) == (lost("commit:dropped_lines", 1),)
    again = attrs.evolve(request, op_id=11)
    assert degraded(pair, again) == (lost("seen:dropped_lines", 1),)


@pytest.mark.parametrize("landed", [True, False])
def test_of_two_plans_the_loss_is_that_of_the_one_that_was_stored(landed: bool) -> None:
    """The first plan drops one line. If it is not stored, somebody says less of her before the second one."""
    pair = full()
    pair.step(Remember(10, f"Alice e{LONG}"))
    pair.doubt(landed=landed)
    if not landed:
        row = pair.row("entity", ALICE)
        assert row is not None
        assert isinstance(row.body, Entity)
        body = attrs.evolve(row.body, content=lines("d"))
        pair.storage.put_back({row.address: attrs.evolve(row, body=body)}, 0)
    pair.run()
    outcome = pair.replies[10].outcome
    assert isinstance(outcome, Done)
    assert outcome.degraded == ((lost("commit:dropped_lines", 1),) if landed else ())


# memorize: what one text tells.


def test_lines_that_one_text_tells_of_a_name_beyond_the_room_for_them_are_named() -> None:
    world = World()
    text = ". ".join(f"Ann {n}{'x' * 400}" for n in range(4))
    found = degraded(world.pair, Memorize(50, text))
    assert found == (lost("gather:dropped_lines", 2, ANN),)


def test_facts_beyond_those_of_one_answer_are_named() -> None:
    pair = Pair(model=saying(memories="".join(xml(f"fact {n}", "facts") for n in range(53)))).run()
    request = Memorize(50, "many facts", memory_types=("profile",))
    assert degraded(pair, request) == (Degraded("extract:partial", "too_many", 3),)


def test_the_limits_are_those_of_these_tests() -> None:
    assert 4 * len(lines("a")) + 3 <= ENTITY_FACTS_BYTES_MAX < 5 * len(lines("a")) + 4
