"""Goal: what goes in and out of a memory has the fields, and the defaults, that the tables promise."""

import msgspec
import pytest

from tests.spec_tables import NOTHING, Row, read_cell, rows
from umi_core.data import list_fields
from umi_core.messages import answers, effects
from umi_core.messages.requests import REQUESTS

OPTIONS = rows("memory", "options")


def write_default(default: object) -> object:
    """As the table writes it: an empty tuple is an empty list."""
    return list(default) if isinstance(default, tuple) else default


@pytest.mark.parametrize("request_", dict.fromkeys(row["request"] for row in OPTIONS))
def test_the_options_of_a_request_are_those_of_the_table(request_: str) -> None:
    fields = {field.name: field for field in list_fields(REQUESTS[request_]) if field.name != "op_id"}
    promised = [row for row in OPTIONS if row["request"] == request_]
    assert [row["option"] for row in promised] == list(fields)
    for row in promised:
        default = msgspec.NODEFAULT if row["default"] == NOTHING else read_cell(row["default"])
        assert write_default(fields[row["option"]].default) == default, row


def fields_of(module: object, name: str) -> list[str]:
    return [] if name == NOTHING else list(getattr(module, name).__struct_fields__)


@pytest.mark.parametrize("row", rows("engine", "effects"), ids=lambda row: row["effect"])
def test_effects_and_answers_have_the_fields_of_the_table(row: Row) -> None:
    assert fields_of(effects, row["effect"]) == read_cell(row["fields"])
    assert fields_of(answers, row["answer"]) == read_cell(row["fields of the answer"])


def test_the_set_of_effects_is_that_of_the_table() -> None:
    names = [row["effect"] for row in rows("engine", "effects")]
    assert names == [*(kind.__name__ for kind in effects.EFFECT_NAMES), "Reply"]
