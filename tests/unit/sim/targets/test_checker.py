"""Goal: a state is followed once, and two states are one only if all their values have the same types."""

import pytest

from umi_sim.targets.checker import COMPARED_MAX, distinct
from umi_sim.targets.kv import KvEntry, KvState

VALUES = (1, True, 1.0, [1], [True], {"a": 1, "b": 2}, {"a": True, "b": 2}, None, "1")


def state(value: object) -> KvState:
    return KvState({("", "a"): KvEntry(value)}, {})


@pytest.mark.parametrize("count", [1, COMPARED_MAX])
def test_states_with_equal_values_of_two_types_are_two(count: int) -> None:
    """`count`: of each state; many states are told apart in another way than few."""
    given = [state(value) for value in VALUES] * count
    assert (len(given) > COMPARED_MAX) == (count > 1)
    assert list(map(repr, distinct(given))) == [repr(state(value)) for value in VALUES]


@pytest.mark.parametrize("count", [1, COMPARED_MAX])
def test_states_with_the_same_values_are_one(count: int) -> None:
    given = [state({"a": 1, "b": 2}), state({"b": 2, "a": 1}), state([1]), state([1])] * count
    assert (len(given) > COMPARED_MAX) == (count > 1)
    assert distinct(given) == [state({"a": 1, "b": 2}), state([1])]
