"""Goal: replies are read alike, whatever stands around them; a parser that reads otherwise is noticed."""

import json
from collections.abc import Mapping

import pytest
from msgspec import structs

from tests.properties.readings import PARSERS, PromptSubject, check_read
from tests.properties.replies_reference import payload_of
from umi_core.config import Config
from umi_core.language import extraction, replies
from umi_core.language.replies import ArrayOf
from umi_core.limits import JSON_DEPTH_MAX, JSON_NUMBER_CHARS_MAX
from umi_core.values import Turn

SAID = (Turn("user", "Ann naps"),)
QUESTIONS = {
    "extract": PromptSubject(text="Bob naps."),
    "route": PromptSubject(entities=(("ent_a", "person"),)),
    "evolve": PromptSubject(pairs=(("a@2", "a@1"),)),
    "expand": PromptSubject(query="Who naps?"),
    "rewrite": PromptSubject(query="Does she nap?", turns=SAID),
}
GOOD = {
    "extract": json.dumps(
        {"entities": [{"name": "Bob", "type": "person", "content": "naps"}, {"name": "Eve"}]}
    ),
    "route": '[{"entity_id": "ent_a", "block": "goals", "promote": true, "confidence": 0.9, "reason": "x"}]',
    "evolve": '[{"new": "a@2", "old": "a@1", "type": "update", "confidence": 0.9, "reason": "x"}]',
    "expand": '["Who is asleep?", 5]',
    "rewrite": "Does Ann nap?",
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
TASKS = pytest.mark.parametrize("task", QUESTIONS)


@TASKS
@pytest.mark.parametrize("wrap", WRAPPED)
def test_the_parsers_of_the_memory_read_what_a_plain_reader_reads(task: str, wrap: str) -> None:
    reply = wrap.replace("{}", GOOD[task]).replace("{{}}", "{}")
    check_read(task, reply, QUESTIONS[task], Config())


@pytest.mark.parametrize("depth", [JSON_DEPTH_MAX, JSON_DEPTH_MAX + 1])
@pytest.mark.parametrize("task", ["route", "evolve"])
def test_a_reply_as_deep_as_allowed_is_read_and_no_deeper_one(task: str, depth: int) -> None:
    reply = '[{"x": ' + "[" * (depth - 2) + "]" * (depth - 2) + "}]"
    is_whole = payload_of(reply, ArrayOf(dict)) == json.loads(reply)  # else it is the innermost array
    assert is_whole == (depth == JSON_DEPTH_MAX)
    check_read(task, reply, QUESTIONS[task], Config())


# That a difference is noticed.

OTHERS = {
    "extract": '{"entities": []}',
    "route": GOOD["route"].replace("goals", "facts"),
    "evolve": GOOD["evolve"].replace("0.9", "0.90001"),
    "expand": '["Who is Asleep?"]',
    "rewrite": "Does Bob nap?",
}


def let_parse(monkeypatch: pytest.MonkeyPatch, task: str, found: object) -> None:
    monkeypatch.setitem(PARSERS, task, lambda reply, asked, config: found)


@TASKS
def test_whatever_is_read_otherwise_is_noticed(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    let_parse(monkeypatch, task, PARSERS[task](OTHERS[task], QUESTIONS[task], Config()))
    with pytest.raises(AssertionError):
        check_read(task, GOOD[task], QUESTIONS[task], Config())


@pytest.mark.parametrize("task", ["extract", "route", "evolve", "expand"])
def test_a_payload_that_is_not_seen_or_not_there_is_noticed(
    task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_parse(monkeypatch, task, PARSERS[task](GOOD[task], QUESTIONS[task], Config()))
    with pytest.raises(AssertionError):
        check_read(task, "no", QUESTIONS[task], Config())
    for reply, why in ((f"so: {GOOD[task]}", "no_json"), ("no", "too_long")):
        let_parse(monkeypatch, task, replies.UnusableReply(why))  # type: ignore[arg-type]  # one of them
        with pytest.raises(AssertionError):
            check_read(task, reply, QUESTIONS[task], Config())


NAMED = extraction.Mention("person", "Bob", "naps", 500_000)
EDITS: Mapping[str, Mapping[str, object]] = {
    "an element that is lost": {"entities": (NAMED,)},
    "one that is not in the reply": {"entities": (NAMED, NAMED, NAMED)},
    "a name that is not in the reply": {"entities": (structs.replace(NAMED, others=("Eve",)),)},
    "a reason that does not hold": {"dropped": ((1, "pronoun"),)},
    "a fault that is none": {"partial": True},
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=list(EDITS))
def test_every_part_of_an_extraction_is_compared(
    edit: Mapping[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = PARSERS["extract"](GOOD["extract"], QUESTIONS["extract"], Config())
    assert isinstance(read, extraction.Extraction)
    let_parse(monkeypatch, "extract", structs.replace(read, **edit))
    with pytest.raises(AssertionError):
        check_read("extract", GOOD["extract"], QUESTIONS["extract"], Config())
