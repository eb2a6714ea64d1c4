"""Goal: whatever field of a row a filter may name, the judge looks at."""

from typing import Any

import pytest

from tests.histories import ALICE, entity
from umi_core.rows import BODIES
from umi_sim.judge.plain.requests import KINDS_OF, fields_of, names_of


@pytest.mark.parametrize("cls", BODIES.values(), ids=lambda cls: cls.__name__)
def test_every_field_of_a_row_that_a_filter_may_name_is_looked_at(cls: Any) -> None:
    assert set(cls.__struct_fields__) & set(KINDS_OF) <= set(names_of(cls))


def test_what_has_not_been_remembered_yet_is_left_out() -> None:
    row = entity(ALICE, "likes tea")
    every, fewer = fields_of(row), fields_of(row, ("type",))
    assert every["type"] == row.type
    assert every.keys() - fewer.keys() == {"type"}
