"""Goal: an error says in one sentence what was wrong, with the number that offended and the limit."""

import pytest

from tests.spec_tables import Row, read_cell, rows
from umi_core import errors


@pytest.mark.parametrize("row", rows("memory", "sentences"), ids=lambda row: row["sentence"])
def test_the_sentence_of_an_error_is_that_of_the_table(row: Row) -> None:
    error = getattr(errors, row["error"])(**read_cell(row["fields"]))
    assert str(error) == read_cell(row["sentence"])
