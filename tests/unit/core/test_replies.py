"""Goal: the wanted JSON is found in any reply as if it stood alone, and no string raises (EXT-1, EXT-2)."""

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.spec_tables import Row, maybe, plain, read_cell, rows
from umi_core.config import Config
from umi_core.json_text import Json, JsonNumber, is_bounded, write_json
from umi_core.language.extraction import Extraction, parse_extraction
from umi_core.language.replies import (
    ArrayOf,
    ObjectWith,
    Unread,
    UnusableReply,
    confidence_ppm,
    find_json,
    find_objects,
)
from umi_core.limits import REPLY_BYTES_MAX

ENTITIES = ObjectWith("entities")
OBJECTS, STRINGS = ArrayOf(dict), ArrayOf(str)
ANY_WANTED = st.sampled_from([ENTITIES, OBJECTS, STRINGS])
FRAGMENTS = st.sampled_from(
    [
        "{",
        "}",
        "[",
        "]",
        '"',
        "\\",
        ":",
        ",",
        '"entities":',
        "[]",
        "null",
        "NaN",
        "1e9",
        "-0",
        "\n",
        "```json",
        "\ud800",
    ]
)
REPLIES = st.lists(FRAGMENTS | st.text(max_size=3)).map("".join)
PROSE = st.text(alphabet=st.characters(exclude_characters="{[", exclude_categories=["Cs"]), max_size=40)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
PAYLOADS = st.fixed_dictionaries({"entities": st.lists(JSON_VALUES, max_size=3)})

WANTED: dict[str, ObjectWith | ArrayOf] = {
    "object with entities": ENTITIES,
    "array of objects": OBJECTS,
    "array of texts": STRINGS,
}


def payload_of(cell: str) -> Json | UnusableReply:
    """What a cell of the table promises; its numbers are texts, as replies keep them."""
    if cell in get_args(Unread):
        return UnusableReply(cell)  # type: ignore[arg-type]  # it was looked up
    payload: Json = json.loads(plain(cell), parse_int=JsonNumber, parse_float=JsonNumber)
    return payload


@pytest.mark.parametrize("row", rows("memory", "find_json"), ids=lambda row: row["reply"])
def test_the_last_value_that_says_something_of_the_wanted_shape_is_the_payload(row: Row) -> None:
    assert find_json(read_cell(row["reply"]), WANTED[row["wanted"]]) == payload_of(row["payload"])


@pytest.mark.parametrize(
    ("reply", "wanted", "expected"),
    [
        ('[1, {"a": null}]', OBJECTS, [JsonNumber("1"), {"a": None}]),
        ('["a\nb"]', STRINGS, ["a\nb"]),
        ('["a", -Infinity]', STRINGS, ["a", None]),
        ('["a", １]', STRINGS, UnusableReply("no_json")),
        ('["a", 0.10, -1E+5]', STRINGS, ["a", JsonNumber("0.10"), JsonNumber("-1E+5")]),
        ('["\\ud83d\\ude00 \\ud83d", "\ud800"]', STRINGS, ["😀 \ufffd", "\ufffd"]),
        ('[{"\\udc00": ["\\ud800"]}]', OBJECTS, [{"\ufffd": ["\ufffd"]}]),
    ],
)
def test_what_no_table_can_show_is_read_too(
    reply: str, wanted: ObjectWith | ArrayOf, expected: Json | UnusableReply
) -> None:
    assert find_json(reply, wanted) == expected


def test_a_reply_may_have_50_000_bytes() -> None:
    assert find_json("[]" + "é" * 24_999, OBJECTS) == []
    assert find_json("[]x" + "é" * 24_999, OBJECTS) == UnusableReply("too_long")
    assert find_json("[]" + "\ud800" * 16_667, OBJECTS) == UnusableReply("too_long")  # U+FFFD has three bytes


def test_64_starts_are_tried() -> None:
    assert find_json("{" * 63 + '{"entities": []}', ENTITIES) == {"entities": []}
    assert find_json("{" * 64 + '{"entities": []}', ENTITIES) == UnusableReply("no_json")


def test_8_starts_are_tried_loosely() -> None:
    assert find_json("{" * 7 + "{'entities': []}", ENTITIES) == {"entities": []}
    assert find_json("{" * 8 + "{'entities': []}", ENTITIES) == UnusableReply("no_json")


STATEMENT = '{"name": "Ann", "content": "Ann naps.", "confidence": 0.9}'


@pytest.mark.parametrize(
    "reply",
    [
        f"[{STATEMENT}]",
        f"Here: {{'result': [{STATEMENT}]}}",
        json.dumps(f"[{STATEMENT}]"),
        json.dumps({"answer": json.dumps({"entities": [json.loads(STATEMENT)]})}),
        f'{{"entities": [{STATEMENT},], "relations": [],}}',
        f'{{"entities": [{STATEMENT}]}}'.replace('"', "'"),
        f'{{"entities": [{{"name": "Ann", "content": "Ann sings."}}]}}. No:\n{{"entities": [{STATEMENT}]}}',
        f'{{"entities": [{STATEMENT}]}}\nWithout a name: {{"entities": []}}',
        f"1. {STATEMENT}",
        f'{{"Entities": [{STATEMENT.replace("name", "entity_name").replace("content", "Description")}]}}',
        '{"entities": {"Ann": {"content": ["Ann naps."], "confidence": "90%"}}}',
        f'{{"entities": {STATEMENT}}}',
        json.dumps({"content": json.dumps({"arguments": json.dumps({"entities": [json.loads(STATEMENT)]})})}),
    ],
)
def test_statements_are_read_however_they_are_wrapped(reply: str) -> None:
    found = parse_extraction(reply, "Ann naps.", Config())
    assert isinstance(found, Extraction)
    assert [(it.name, it.content, it.confidence_ppm) for it in found.entities] == [
        ("Ann", "Ann naps.", 900_000)
    ]


def test_the_parts_of_an_answer_are_read_together_and_its_draft_is_not() -> None:
    parts = [{"entities": [{"name": name, "content": f"{name} naps."}]} for name in ("Ann", "Bob")]
    first, second = map(json.dumps, parts)
    for reply, names in (
        (f"{first}\n{second}", ["Ann", "Bob"]),
        (f"[{first}, {second}]", ["Ann", "Bob"]),
        (f"{first} No! {second}", ["Bob"]),
    ):
        found = parse_extraction(reply, "Ann naps. Bob naps.", Config())
        assert isinstance(found, Extraction)
        assert [it.name for it in found.entities if it.named] == names


def test_a_content_has_the_characters_that_its_references_stand_for() -> None:
    reply = json.dumps({"entities": [{"name": "Ann", "content": "Ann&#39;s B&amp;B in K\\u00f6ln: &lt;b>"}]})
    found = parse_extraction(reply, "Ann's B&B in Köln: &lt;b>", Config())
    assert isinstance(found, Extraction)
    assert found.entities[0].content == "Ann's B&B in Köln: &lt;b>"


def test_the_form_of_a_prompt_states_nothing() -> None:
    echo = '{"entities": [{"name": TEXT, "content": TEXT, "confidence": NUMBER}, ...], "relations": []}'
    assert parse_extraction(echo, "Ann naps.", Config()) == UnusableReply("no_json")
    found = parse_extraction(echo.replace("TEXT", '"TEXT"').replace("NUMBER", "1"), "Ann naps.", Config())
    assert isinstance(found, Extraction)
    assert [it.content for it in found.entities] == ["Ann naps."]


def test_what_is_no_list_of_statements_is_none() -> None:
    cut_off = f'{{"entities": [{STATEMENT}, {{"name": "Bob", "content": "Bob si'
    assert parse_extraction(cut_off, "Ann naps.", Config()) == UnusableReply("no_json")
    assert parse_extraction('[{"name": "Ann"}]', "Ann naps.", Config()) == UnusableReply("no_json")
    assert parse_extraction('["{", "\\u12"', "Ann naps.", Config()) == UnusableReply("no_json")


def test_objects_are_looked_for_at_64_starts() -> None:
    assert find_objects('{"a": {"a": 1}} {} {"a": 2', ("a",)) == [{"a": {"a": JsonNumber("1")}}]
    assert find_objects("{} " * 63 + '{"a": []}', ("a",)) == [{"a": []}]
    assert find_objects("{} " * 64 + '{"a": []}', ("a",)) == []


def test_a_value_is_written_as_json() -> None:
    assert write_json({"é": [JsonNumber("1.50"), None, "\n"], "b": {}}) == '{"é":[1.50,null,"\\n"],"b":{}}'


def test_values_nest_up_to_32_deep() -> None:
    deep = "[" * 31 + "]" * 31
    assert is_bounded(f'["[[[", {deep}]', 0)
    assert not is_bounded(f'["a", [{deep}]]', 0)
    assert find_json(f'["a", {deep}]', STRINGS) != []
    assert find_json(f'["a", [{deep}]]', STRINGS) == []  # the innermost array stands alone
    assert is_bounded(f'["a"] {deep} [{deep}]', 0)  # what comes behind the value does not count


def test_objects_behind_one_another_are_one_answer() -> None:
    reply = '{"a": [1], "b": 2}\n{"a": [3], "b": 4}'
    one, three, two = map(JsonNumber, "132")
    assert find_json(reply, ObjectWith("a")) == {"a": [one, three], "b": two}


def test_a_reply_that_is_too_long_has_no_objects() -> None:
    assert find_objects('{"a": 1}', ("a",)) == [{"a": JsonNumber("1")}]
    assert find_objects('{"a": 1}' + " " * REPLY_BYTES_MAX, ("a",)) == []


def test_numbers_have_up_to_40_characters() -> None:
    assert find_json(f'["a", {"9" * 40}]', STRINGS) == ["a", JsonNumber("9" * 40)]
    assert find_json(f'["a", {"9" * 41}]', STRINGS) == UnusableReply("no_json")
    assert find_json(f'["a", 0.{"9" * 39}]', STRINGS) == UnusableReply("no_json")
    assert find_json('["a", NaN]', STRINGS) == ["a", None]


@pytest.mark.uncounted
@pytest.mark.parametrize(
    "reply",
    [
        "[" * 50_000,
        "{" * 50_000,
        '["' * 25_000,
        '{"a":' * 10_000,
        "[" * 31 + "[]," * 6_000,
        "[" * 20 + "[]" * 20 + "[]," * 16_000,
        "[" * 30 + '"' + '\\"' * 24_900,
        "[" + "9" * 49_000 + "]",
        "[" * 31 + "1," * 24_900,
        '"' * 50_000,
        "[\\" * 25_000,
    ],
)
def test_a_hostile_reply_is_answered_without_recursion(reply: str) -> None:
    for wanted in (ENTITIES, STRINGS):
        find_json(reply, wanted)


@pytest.mark.uncounted
@given(st.text() | REPLIES, ANY_WANTED)
def test_no_reply_raises(reply: str, wanted: ObjectWith | ArrayOf) -> None:
    result = find_json(reply, wanted)
    assert isinstance(result, UnusableReply) or wanted.suits(result)


@pytest.mark.uncounted
@given(
    PAYLOADS,
    PROSE,
    PROSE,
    st.sampled_from(["%s", "```json\n%s\n```", "```\n%s", '{"result": %s}', "{} %s {"]),
)
def test_a_wrapped_payload_parses_as_the_payload(payload: Json, before: str, after: str, wrap: str) -> None:
    alone = json.dumps(payload)
    assert (
        find_json(before + wrap.replace("%s", alone) + after, ENTITIES)
        == find_json(alone, ENTITIES)
        == payload
    )


@pytest.mark.uncounted
@given(PAYLOADS, st.text(max_size=40))
def test_what_follows_a_payload_changes_nothing(payload: Json, after: str) -> None:
    assert find_json(json.dumps(payload, ensure_ascii=False) + after, ENTITIES) == payload


@pytest.mark.parametrize("row", rows("memory", "confidence"), ids=lambda row: row["value"])
def test_confidence_is_floored_in_exact_decimal(row: Row) -> None:
    value = json.loads(plain(row["value"]), parse_int=JsonNumber, parse_float=JsonNumber)
    assert confidence_ppm(value) == maybe(row["ppm"])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (JsonNumber("0e999999999999999999999999999999999"), 0),
        (JsonNumber("1e-99999999999999999999999999999999"), 0),
        (JsonNumber("0.0000095E5"), 950_000),
        (JsonNumber("1.00000000000000000000000000000000001"), None),
        (JsonNumber("-1e-99"), None),
        (JsonNumber("1e99999999999999999999999999999999"), None),
        ([JsonNumber("1")], None),
    ],
)
def test_no_confidence_is_too_long_to_be_read(value: Json, expected: int | None) -> None:
    assert confidence_ppm(value) == expected


@given(st.integers(0, 10**9))
def test_confidence_reads_billionths(billionths: int) -> None:
    text = f"{billionths // 10**9}.{billionths % 10**9:09}"
    assert confidence_ppm(JsonNumber(text)) == billionths // 1_000
