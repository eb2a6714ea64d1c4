"""Values go over a wire and come back as they were; malformed ones are reported in a sentence."""

import json
from typing import Any

import pytest

from umi_core.messages.answers import Embedded, ReadDone
from umi_core.messages.effects import AskModel, Effect
from umi_core.messages.requests import Set
from umi_core.values import Scope
from umi_sim.machines.wire import Other, Unreadable, classes, from_json, read_tree, to_json

ASK = AskModel("extract", "Wh\udc80t?", request_id=7, timeout_ms=3)


@pytest.mark.parametrize(
    "value",
    [
        ASK,
        Set("o1", "k", b"\x00\xff", 5),
        Embedded(3, ((1, -2), ())),
        (b"", "", None, True),
        {"b": 1, "a": ()},
    ],
)
def test_a_value_comes_back_as_it_was(value: object) -> None:
    assert read_tree(json.loads(json.dumps(to_json(value)))) == value


def test_a_value_is_its_tag_and_its_fields() -> None:
    assert to_json(ASK) == [28, "extract", "Wh\udc80t?", "default", 7, 3]
    assert to_json((b"\x00", ("a",))) == [0, {"bytes": "AA=="}, [0, "a"]]
    assert classes()["28"] == ["AskModel", "task", "prompt", "profile", "request_id", "timeout_ms"]


@pytest.mark.parametrize("rows", [float("inf"), [], (None, 0.5), {"entities": []}])
def test_what_no_value_holds_comes_as_something_else(rows: Any) -> None:
    answer = read_tree(json.loads(json.dumps(to_json(ReadDone(4, rows)))))
    assert isinstance(answer, ReadDone)
    assert answer.request_id == 4
    part: Any = answer.rows
    assert isinstance(part[-1] if isinstance(part, tuple) else part, Other)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([28], "TypeError: "), ([], "ValueError: "),
        ({"bytes": "?"}, "Error: "), ({"byte": ""}, "KeyError: "),
        (to_json(Scope("u", "a")), "Scope"), ([28, 1, "", "default", 7, 3], "AskModel.task: 1 is not a text"),
        ([[[0]]], "Error: "), ("text", "str: "), (1.5, "float: "),
    ],
)  # fmt: skip
def test_a_value_that_is_no_effect_is_reported(found: Any, message: str) -> None:
    with pytest.raises(Unreadable, match=message):
        from_json(found, Effect)


def test_an_effect_is_read() -> None:
    plain = AskModel("extract", "What?", request_id=7)
    assert from_json(to_json(plain), Effect) == plain
