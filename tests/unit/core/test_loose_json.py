"""Goal: a value is read as it was meant, however it was written down, and no text raises or takes long."""

import json
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from umi_core.json_text import Json, JsonNumber, write_json
from umi_core.limits import REPLY_BYTES_MAX
from umi_core.loose_json import loose_at

WORDS = st.text("abcdeé 中'\\n", min_size=1, max_size=6).map(lambda it: f"x{it}x")
VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers(0, 99).map(lambda it: JsonNumber(str(it))) | WORDS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b_c", "d"]), inner, max_size=3)
    ),
    max_leaves=6,
)
STYLES: dict[str, Callable[[str], str]] = {
    "strict": lambda text: text,
    "typographic": lambda text: text.replace('"', "”"),
    "full width": lambda text: text.translate(str.maketrans("{}[],:", "｛｝［］，：")),
    "bare keys": lambda text: text.replace('"a":', "a:").replace('"b_c":', "b_c :").replace('"d":', "d="),
    "python": lambda text: text.replace("null", "None").replace("true", "True").replace("false", "FALSE"),
    "commented": lambda text: text.replace(",", ", // so\n").replace("[", "[/* these */").replace("]", ",]"),
    "quoted": lambda text: text.replace(",", ",\n> ").replace("{", "{\n> "),
    "spaced": lambda text: text.replace(":", "\u00a0:\u3000").replace(",", " ,\u200b"),
    "dots": lambda text: text.replace("]", ", ...]"),
}


@pytest.mark.uncounted
@pytest.mark.parametrize("style", STYLES)
@given(VALUES)
def test_a_value_is_read_in_whatever_style_it_was_written(style: str, value: Json) -> None:
    written = f"[{STYLES[style](write_json({'a': value}))}] and so on"
    found = loose_at(written, 0)
    assert found is not None
    assert found == ([{"a": value}], written.index(" and so on"))


@given(VALUES, st.integers(0, 60))
def test_a_value_without_its_end_is_none(value: Json, size: int) -> None:
    written = write_json([{"a": value}, {"a": "last"}])
    found = loose_at(written[:size], 0)
    assert (found is None) is (size < len(written))


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (
            """{'a': 'it's so', "b": "said "no", "no" and left"}""",
            {"a": "it's so", "b": 'said "no", "no" and left'},
        ),
        ('{"a": "x"\n "b": ["y"\n "z"]}', {"a": "x", "b": ["y", "z"]}),
        (
            '{"a": [{"b": 1} {"b": 2}, "c": 3}',
            {"a": [{"b": JsonNumber("1")}, {"b": JsonNumber("2")}], "c": JsonNumber("3")},
        ),
        ('[{"a": 1, {"b": 2]', None),
        (
            '{"a": .5, "b": +01.50, "c": 90%, "d": 1.}',
            {"a": JsonNumber("0.5"), "b": JsonNumber("1.50"), "c": "90%", "d": JsonNumber("1")},
        ),
        ('{"a": person, "b": NaN, "c": undefined}', {"a": "person", "b": None, "c": None}),
        ('{"a": TEXT}', None),
        ("[so it is]", None),
        ("{about moving}", None),
        ('{"a": """x "y" z""", \'b\' => `c`}', {"a": 'x "y" z', "b": "c"}),
        ('{"a": "C\\\\d \\q\\u00e9"}', {"a": "C\\d qé"}),
        ('{"a": ["x"], "a": []}', {"a": ["x"]}),
    ],
)
def test_what_people_and_models_write_is_read(written: str, value: Json) -> None:
    found = loose_at(written, 0)
    assert (None if found is None else found[0]) == value


@given(st.text() | st.lists(st.sampled_from([*"{}[]:,'\"`“”/*#\\n\\.a1", "...", "//"])).map("".join))
def test_no_text_raises(text: str) -> None:
    found = loose_at(text, 0)
    assert found is None or 0 < found[1] <= len(text)


@pytest.mark.parametrize(
    "part", ["[", "{", '["', '{"a":', "{a:", "'", "[1/*,", '"a",', "[//\n", '["\\\\', "{a:'b ", "[\n> "]
)
def test_hostile_texts_take_no_long_time(part: str) -> None:
    begun = time.process_time()
    loose_at("[" + part * (REPLY_BYTES_MAX // len(part)), 0)
    assert time.process_time() - begun < 5


def test_json_stays_what_it_is() -> None:
    value = {"a": ['é\n\t"\\\\', "\U0001f600"], "b": {"c": None}}
    assert loose_at(json.dumps(value), 0) == (value, len(json.dumps(value)))


def test_a_bracket_of_a_list_ends_an_open_object_too() -> None:
    assert loose_at("[{a: 1], 2", 0) == ([{"a": JsonNumber("1")}], 7)
