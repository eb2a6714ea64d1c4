"""Goal: a state is followed once, and two states are one only if all their values have the same types."""

from typing import Any

import pytest

from umi_sim.targets.checker import STATE_COUNT_MAX, TooMany, distinct
from umi_sim.targets.kv import KvEntry, KvState

VALUES = (1, True, 1.0, [1], [True], {"a": 1, "b": 2}, {"a": True, "b": 2}, None, "1")


def state(value: object) -> KvState:
    return KvState({("", "a"): KvEntry(value)}, {})


def test_states_with_equal_values_of_two_types_are_two() -> None:
    given = [state(value) for value in VALUES] * 2
    assert list(map(repr, distinct(given))) == [repr(state(value)) for value in VALUES]


def test_states_with_the_same_values_are_one() -> None:
    given = [state({"a": 1, "b": 2}), state({"b": 2, "a": 1}), state([1]), state([1])]
    assert distinct(given) == [state({"a": 1, "b": 2}), state([1])]


def test_only_so_many_states_are_followed() -> None:
    given = [state(value) for value in range(STATE_COUNT_MAX + 1)]
    assert distinct(given[1:] * 2) == given[1:]
    with pytest.raises(TooMany):
        distinct(given)


class Part(dict[str, object]):
    """A part of a value that counts how often all of it is read."""

    read_count = 0

    def items(self) -> Any:
        type(self).read_count += 1
        return super().items()


def test_what_states_share_is_not_read_again_for_each() -> None:
    """A session of 128 messages in 200 states, which differ only in their last: this took 20 s of a run."""
    shared = Part(role="user", content="hello")
    given = [state([shared, value]) for value in range(200)]
    assert distinct(given) == given
    assert Part.read_count == 0
