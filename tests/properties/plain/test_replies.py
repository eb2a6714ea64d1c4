"""Goal: JSON is found in every reply of a model, as in M10.2 to M10.6, and the memory finds the same."""

import json

import pytest
from hypothesis import given

from tests.properties.plain.drawn import NUMBERS
from tests.properties.replies_reference import (
    WrittenNumber,
    confidence_ppm,
    payload_of,
    why_unusable,
)
from tests.spec_tables import Row, maybe, plain, rows
from umi_core import json_text
from umi_core.language import replies as memory
from umi_core.language.replies import ArrayOf
from umi_core.limits import JSON_NUMBER_CHARS_MAX, REPLY_BYTES_MAX


def test_half_a_pair_of_surrogates_is_read_as_a_strange_character() -> None:
    assert payload_of('["a\ud800", "\\udfff"]', ArrayOf(str)) == ["a\ufffd", "\ufffd"]


def test_a_reply_of_too_many_bytes_is_not_looked_at() -> None:
    assert why_unusable("é" * (REPLY_BYTES_MAX // 2)) == "no_json"
    assert why_unusable("é" * (REPLY_BYTES_MAX // 2) + "x") == "too_long"


@pytest.mark.parametrize("row", rows("memory", "confidence"), ids=lambda row: row["value"])
def test_a_confidence_is_that_of_the_table(row: Row) -> None:
    (found,) = payload_of(f'[{{"value": {plain(row["value"])}}}]', ArrayOf(dict))
    assert confidence_ppm(found["value"]) == maybe(row["ppm"])


@pytest.mark.parametrize(
    ("written", "ppm"),
    [
        ("10e-1", 1_000_000),
        ("1e-999999999", 0),
        ("1.0000001", None),
        ("1e999999999", None),
        ("-1e-99999", None),
    ],
)
def test_a_confidence_may_be_written_in_any_way(written: str, ppm: int | None) -> None:
    assert confidence_ppm(WrittenNumber(written)) == ppm


# Against the memory.


@given(NUMBERS)
def test_the_memory_is_as_confident(written: str) -> None:
    number = json_text.number(json.dumps(written)[1:-1]) if len(written) <= JSON_NUMBER_CHARS_MAX else None
    assert memory.confidence_ppm(number) == confidence_ppm(number and WrittenNumber(written))
