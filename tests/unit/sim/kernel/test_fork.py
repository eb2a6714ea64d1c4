"""Goal: what is done to a fork is not seen in what it was forked from, whatever that is made of."""

from collections import Counter, defaultdict, deque
from functools import partial
from typing import Any

import pytest

from umi_core.data import Data, Owner, list_fields
from umi_core.memory import Memory
from umi_core.messages.answers import EffectFailed
from umi_core.messages.effects import Read
from umi_core.messages.requests import Set
from umi_core.values import Scope
from umi_sim.judge.equivalences.lives import twin
from umi_sim.kernel.fork import fork_graph


class Note(Data):
    text: str


class Box(Owner):
    notes: list[Note]
    table: dict[str, list[int]]
    queue: deque[list[int]]
    counts: Counter[str]
    lists: defaultdict[str, list[int]]
    pair: tuple[Note, list[int]]
    add: Any = None

    def __post_init__(self) -> None:
        self.add = partial(self.keep, times=2)

    def keep(self, text: str, times: int) -> None:
        self.notes += [Note(text)] * times


def box() -> Box:
    lists = defaultdict[str, list[int]](list, {"a": [1]})
    return Box([Note("x")], {"k": [1]}, deque([[1]], 3), Counter("aab"), lists, (Note("y"), [1]))


@pytest.mark.parametrize(
    "change",
    [
        lambda it: it.notes.clear(), lambda it: it.table["k"].append(2), lambda it: it.table.clear(),
        lambda it: it.queue[0].append(2), lambda it: it.queue.append([]), lambda it: it.counts.update("c"),
        lambda it: it.lists["a"].append(2), lambda it: it.lists["new"].append(2),
        lambda it: it.pair[1].append(2), lambda it: it.add("z"),
    ],
)  # fmt: skip
def test_a_change_of_a_fork_is_its_own(change: Any) -> None:
    first = box()
    other = fork_graph(first)
    assert describe_box(other) == describe_box(box())
    change(other)
    assert describe_box(other) != describe_box(box())
    assert describe_box(first) == describe_box(box())


def describe_box(it: Box) -> str:
    return repr([getattr(it, field.name) for field in list_fields(Box)[:-1]])


def test_values_are_shared_and_what_two_hold_is_still_one() -> None:
    first = box()
    held: list[Any] = [first, first.table, first]
    others = fork_graph(held)
    assert others[0] is others[2] is not first
    assert others[1] is others[0].table
    assert others[0].notes[0] is first.notes[0]
    assert others[0].queue.maxlen == first.queue.maxlen


def test_a_twin_of_a_memory_has_the_same_future_and_one_of_its_own() -> None:
    memory = Memory(Scope("u", "a"))
    recovery = memory.step(0, Set("o1", "k", b"1"))
    other, digest = twin(memory), memory.digest()
    failed = EffectFailed(next(it.request_id for it in recovery if isinstance(it, Read)), "unavailable")
    after = other.step(5_000, Set("o2", "k", b"2")), other.step(5_001, failed)
    assert memory.digest() == digest != other.digest()
    assert (memory.step(5_000, Set("o2", "k", b"2")), memory.step(5_001, failed)) == after
    assert memory.digest() == other.digest()
