"""Goal: the judge's own reading of which rows fit says what the memory's domains say, of any row."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.rows_reference import FIELDS, check_kinds, is_fit
from umi_core.declared import Incomplete
from umi_core.rows import BODIES, Body, Head
from umi_sim.services.wrong_fields import WRONG, can_have_wrong_field, set_wrong_field
from umi_sim.testing.random_rows import bodies_of

KINDS = tuple(BODIES)


def test_each_kind_of_row_is_read_and_can_have_a_wrong_field() -> None:
    assert sorted(FIELDS) == sorted(WRONG) == sorted(KINDS)


@given(st.sampled_from(KINDS).flatmap(bodies_of), st.integers(0, 2**32))
def test_a_row_that_a_memory_may_write_fits_and_an_unfit_one_does_not(body: Body, choice: int) -> None:
    assert is_fit(body)
    assert can_have_wrong_field(body)
    other = set_wrong_field(body, choice)
    assert other is not None
    assert not is_fit(other)
    assert not other.is_sound
    assert (other.row_kind, other.own_id()) == (body.row_kind, body.own_id())


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20)
@given(data=st.data())
def test_every_wrong_value_that_is_listed_is_one(kind: str, data: st.DataObject) -> None:
    body = data.draw(bodies_of(kind))
    assert not any(is_fit(change(body)) for change in WRONG[kind])


def test_what_is_not_there_has_no_field_to_spoil() -> None:
    assert set_wrong_field(None, 3) is None
    assert not can_have_wrong_field(None)


def test_a_kind_of_rows_that_the_judge_would_not_read_is_named_at_import() -> None:
    with pytest.raises(Incomplete, match="rows of kind heads are unknown"):
        check_kinds({**BODIES, "heads": Head})


def test_a_field_that_the_judge_would_not_read_is_named_at_import(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FIELDS, "epoch", {"claimed_ms": FIELDS["epoch"]["claimed_ms"]})
    with pytest.raises(Incomplete, match="rows of kind epoch are unknown to the judge in is_closed, held_by"):
        check_kinds(BODIES)
