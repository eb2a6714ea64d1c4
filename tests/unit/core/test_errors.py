"""Goal: an error says in one sentence what was wrong, with the number that offended and the limit."""

from collections.abc import Iterator

import pytest

from tests.spec_tables import Row, read_cell, rows
from umi_core import errors
from umi_core.data import list_fields
from umi_core.kelpie import errors as kelpie_errors
from umi_core.migration.requests import NotReady


@pytest.mark.parametrize("row", rows("memory", "sentences"), ids=lambda row: row["sentence"])
def test_the_sentence_of_an_error_is_that_of_the_table(row: Row) -> None:
    error = getattr(errors, row["error"])(**read_cell(row["fields"]))
    assert str(error) == read_cell(row["sentence"])


def list_errors(cls: type[errors.Error] = errors.Error) -> Iterator[type[errors.Error]]:
    """Yield the errors of the memory; tests declare others."""
    for each in cls.__subclasses__():
        if each.__module__ in (errors.__name__, kelpie_errors.__name__, NotReady.__module__):
            yield each
            yield from list_errors(each)


def test_the_sentence_of_an_error_holds_each_of_its_values() -> None:
    found = [cls for cls in list_errors() if cls.sentence]
    assert len(found) > 40
    for cls in found:
        names = [field.name for field in list_fields(cls)]
        error = cls(**{name: f"value {at}" for at, name in enumerate(names)})
        assert [name for name in names if getattr(error, name) not in str(error)] == [], cls.__name__
