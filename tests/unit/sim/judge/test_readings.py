"""Goal: a parser that raises, or does not see what stands in a reply, is noticed whatever it replied."""

import json
from typing import Any

import attrs
import pytest

from tests.histories import broken
from umi_core.config import Config
from umi_core.language import extraction, replies
from umi_core.language.evolution import Evolution
from umi_core.limits import JSON_DEPTH_MAX, JSON_NUMBER_CHARS_MAX
from umi_sim.judge.oracle import readings
from umi_sim.judge.oracle.readings import READERS, check_elements, check_reading, payload_of

TWO = json.dumps(
    {"entities": [{"name": name, "type": "person", "content": "naps"} for name in ("Bob", "Eve")]}
)
ROWS = {
    "extract": TWO,
    "route": "[{}]",
    "evolve": "[{}]",
    "expand": '["a", 5]',
    "rewrite": "What did Bob say?",
}
WRAPPED = (
    "{}",
    "```json\n{}\n```",
    "Use {{}} so: {} ok?",
    "{}\n{}",
    "",
    "no",
    "[" * 5_000,
    '{"entities": NaN}',
    f"[{'9' * (JSON_NUMBER_CHARS_MAX + 1)}] {{}}",
    f'{{"entities": [], "n": {"9" * (JSON_NUMBER_CHARS_MAX + 1)}}} {{}}',
)


@pytest.mark.parametrize("task", READERS)
@pytest.mark.parametrize("wrap", WRAPPED)
def test_the_parsers_of_the_memory_see_what_a_plain_reader_sees(task: str, wrap: str) -> None:
    check_reading(task, wrap.replace("{}", ROWS[task]).replace("{{}}", "{}"), Config())


@pytest.mark.parametrize(("depth", "is_read"), [(JSON_DEPTH_MAX, True), (JSON_DEPTH_MAX + 1, False)])
@pytest.mark.parametrize("task", ["route", "evolve"])
def test_a_reply_as_deep_as_allowed_is_read_and_no_deeper_one(task: str, depth: int, is_read: bool) -> None:
    reply = '[{"x": ' + "[" * (depth - 2) + "]" * (depth - 2) + "}]"
    assert (payload_of(reply, task) == json.loads(reply)) == is_read
    check_reading(task, reply, Config())


def test_every_pair_counts_as_asked_about_so_every_row_is_read() -> None:
    row = {"new": "a", "old": "b", "type": "update", "confidence": 0.9, "reason": "x"}
    read = READERS["evolve"](json.dumps([row]), Config())
    assert isinstance(read, Evolution)
    assert [pair for pair, _ in read.verdicts] == [("a", "b")]


@pytest.mark.parametrize("task", READERS)
def test_a_parser_that_raises_is_not_total(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(readings.READERS, task, lambda reply, config: reply.index("\ue000"))
    with broken("parser-total"):
        check_reading(task, ROWS[task], Config())


@pytest.mark.parametrize("task", ["extract", "route", "evolve", "expand"])
def test_a_payload_that_is_not_seen_or_not_there_is_noticed(
    task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = READERS[task](ROWS[task], Config())
    monkeypatch.setitem(readings.READERS, task, lambda reply, config: found)
    with broken("parser-keeps-the-good"):
        check_reading(task, "no", Config())
    lost = replies.Unusable("no_json")
    monkeypatch.setitem(readings.READERS, task, lambda reply, config: lost)
    with broken("parser-keeps-the-good"):
        check_reading(task, f"so: {ROWS[task]}", Config())


@pytest.mark.parametrize("lost", ["an element", "all of them"])
def test_an_element_that_is_neither_kept_nor_dropped_is_noticed(
    lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = extraction.Extraction((extraction.fallback_note("text"),), (), ((0, "no_name"),), True)
    none = extraction.Extraction((), (), (), False)
    read = note if lost == "an element" else none
    monkeypatch.setitem(readings.READERS, "extract", lambda reply, config: read)
    with broken("parser-total"):
        check_reading("extract", TWO, Config())


MENTION = extraction.fallback_note("text")
NAMED = attrs.evolve(MENTION, name="Bob", named=True)


@pytest.mark.parametrize(
    ("kept", "elements"),
    [
        ((NAMED, attrs.evolve(NAMED, name="Eve")), [{"name": "Bob"}]),  # more than there were
        ((NAMED,), [{"name": "Bob"}, "Eve"]),  # one that is no object, and not dropped
    ],
)
def test_of_what_is_kept_there_are_no_more_than_were_told_and_the_rest_is_dropped(
    kept: tuple[extraction.Mention, ...], elements: list[Any]
) -> None:
    check_elements(extraction.Extraction((NAMED,), (), (), False), [{"name": "Bob"}])
    with broken("parser-total"):
        check_elements(extraction.Extraction(kept, (), (), False), elements)
