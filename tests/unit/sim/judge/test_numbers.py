"""Goal: a bound of the memory that is another one, or that nobody states, is seen."""

import pytest

from umi_core import limits
from umi_core.declared import Incomplete
from umi_core.invariants.broken import Broken
from umi_sim.judge.invariants.numbers import NAMES, check_numbers, must_state


def test_the_bounds_are_as_they_are_stated() -> None:
    check_numbers()
    assert len(NAMES) > 100


@pytest.mark.parametrize("name", NAMES)
def test_a_bound_that_is_another_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, name, getattr(limits, name) + 1)
    with pytest.raises(Broken, match=name) as broken:
        check_numbers()
    assert broken.value.rule == "reference-agrees"


def test_a_bound_that_is_none_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CAPTION_BYTES_MAX", None)
    with pytest.raises(Broken, match="CAPTION_BYTES_MAX"):
        check_numbers()


def test_all_that_is_no_bound_of_this_file_is_left_out() -> None:
    assert all(type(getattr(limits, name)) is int for name in NAMES)


def test_a_bound_that_nobody_states_is_named() -> None:
    with pytest.raises(Incomplete, match=r"LETTERS_MAX of umi_core/limits\.py are unknown"):
        must_state((*NAMES, "LETTERS_MAX"))
