"""Goal: JSON is found in whatever a model said, as M10.2 to M10.6 say, and the memory finds the same."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import given, settings

from tests.properties.plain.drawn import HALF_TEXT, NUMBERS, ODD, framed
from tests.properties.replies_reference import (
    Form,
    WrittenNumber,
    array_of,
    confidence_ppm,
    has_list,
    payload_of,
    why_unusable,
)
from tests.spec_tables import Row, maybe, plain, rows, told
from umi_core import json_text
from umi_core.language import replies as memory
from umi_core.limits import JSON_DEPTH_MAX, JSON_NUMBER_CHARS_MAX, JSON_START_COUNT_MAX, REPLY_BYTES_MAX

ENTITIES = has_list("entities")
WANTED: Mapping[str, tuple[str, Form]] = {
    "object with entities": ("{", ENTITIES),
    "array of texts": ("[", array_of(str)),
    "array of objects": ("[", array_of(dict)),
}


@pytest.mark.parametrize("row", rows("memory", "find_json"), ids=lambda row: row["reply"])
def test_a_payload_is_found_where_the_table_finds_it(row: Row) -> None:
    reply = told(row["reply"])
    found = payload_of(reply, *WANTED[row["wanted"]])
    if row["payload"].startswith("`"):
        assert found == told(row["payload"])
    else:
        assert (found, why_unusable(reply)) == (None, row["payload"])


@pytest.mark.parametrize(
    "reply",
    [
        "{" * JSON_START_COUNT_MAX + '{"entities": []}',
        '{"entities": [], "n": ' + "9" * (JSON_NUMBER_CHARS_MAX + 1) + "}",
        '{"entities": [], "n": ' + "[" * JSON_DEPTH_MAX + "]" * JSON_DEPTH_MAX + ', "n": 1}',
        '{"entities": []}' + " " * REPLY_BYTES_MAX,
    ],
)
def test_beyond_its_limits_json_is_no_payload(reply: str) -> None:
    assert payload_of(reply, "{", ENTITIES) is None


def test_half_a_pair_of_surrogates_is_read_as_a_strange_character() -> None:
    assert payload_of('["a\ud800", "\\udfff"]', "[", array_of(str)) == ["a\ufffd", "\ufffd"]


def test_a_reply_of_too_many_bytes_is_not_looked_at() -> None:
    assert why_unusable("é" * (REPLY_BYTES_MAX // 2)) == "no_json"
    assert why_unusable("é" * (REPLY_BYTES_MAX // 2) + "x") == "too_long"


@pytest.mark.parametrize("row", rows("memory", "confidence"), ids=lambda row: row["value"])
def test_a_confidence_is_that_of_the_table(row: Row) -> None:
    (value,) = payload_of(f"[{plain(row['value'])}]", "[", lambda value: isinstance(value, list))
    assert confidence_ppm(value) == maybe(row["ppm"])


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


@pytest.mark.slow
@settings(max_examples=120)
@given(framed(ODD) | HALF_TEXT)
def test_the_memory_finds_the_same(reply: str) -> None:
    for wanted, opening, form in (
        (memory.ObjectWith("a"), "{", has_list("a")),
        (memory.ArrayOf(str), "[", array_of(str)),
        (memory.ArrayOf(dict), "[", array_of(dict)),
    ):
        found = memory.find_json(reply, wanted)
        payload = payload_of(reply, opening, form)
        if isinstance(found, memory.UnusableReply):
            assert (payload, why_unusable(reply)) == (None, found.reason)
        else:
            assert as_plain(found) == payload


def as_plain(value: json_text.Json) -> object:
    match value:
        case json_text.JsonNumber(text):
            return WrittenNumber(text)
        case list():
            return [as_plain(it) for it in value]
        case dict():
            return {key: as_plain(it) for key, it in value.items()}
    return value
