"""Goal: a parser that raises, sees too little, or reads what does not stand there is noticed by its reply."""

import json
from collections.abc import Mapping

import attrs
import pytest

from tests.histories import broken
from umi_core.config import Config
from umi_core.language import extraction, replies
from umi_core.language.prompts import Statement, ask_evolve, ask_expand, ask_extract, ask_rewrite, ask_route
from umi_core.limits import JSON_DEPTH_MAX, JSON_NUMBER_CHARS_MAX
from umi_core.messages.effects import AskModel
from umi_core.values import Turn
from umi_sim.judge.invariants import readings
from umi_sim.judge.invariants.readings import BY_MEMORY, PromptSubject, check_reading, entity_of, subject_of
from umi_sim.judge.plain.replies import array_of, payload_of
from umi_sim.services.model.prompts import inputs

NEW, OLD = Statement("a@2", "Ann", "sings", 2), Statement("a@1", "Ann", "naps", 1)
SAID = (Turn("user", "Ann naps"),)
PROMPTS = {
    "extract": ask_extract("Bob naps."),
    "route": ask_route((entity_of("ent_a", "person"),), "Bob naps."),
    "evolve": ask_evolve((NEW,), (OLD,), ((NEW.ref, OLD.ref),)),
    "expand": ask_expand("Who naps?"),
    "rewrite": ask_rewrite("Does she nap?", SAID),
}
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
TASKS = pytest.mark.parametrize("task", PROMPTS)


def asked(task: str) -> AskModel:
    return AskModel(task, PROMPTS[task])


@TASKS
def test_what_was_asked_is_read_from_the_prompt(task: str) -> None:
    assert subject_of(inputs(PROMPTS[task])) == QUESTIONS[task]


def test_a_prompt_that_somebody_else_wrote_asks_about_nothing() -> None:
    assert subject_of(inputs('INPUT turns = 7\nINPUT query = x\nINPUT pairs = ["a"]')) == PromptSubject()


@TASKS
@pytest.mark.parametrize("wrap", WRAPPED)
def test_the_parsers_of_the_memory_read_what_a_plain_reader_reads(task: str, wrap: str) -> None:
    check_reading(asked(task), wrap.replace("{}", GOOD[task]).replace("{{}}", "{}"), Config())


@pytest.mark.parametrize("depth", [JSON_DEPTH_MAX, JSON_DEPTH_MAX + 1])
@pytest.mark.parametrize("task", ["route", "evolve"])
def test_a_reply_as_deep_as_allowed_is_read_and_no_deeper_one(task: str, depth: int) -> None:
    reply = '[{"x": ' + "[" * (depth - 2) + "]" * (depth - 2) + "}]"
    is_whole = payload_of(reply, "[", array_of(dict)) == json.loads(reply)  # else it is the innermost array
    assert is_whole == (depth == JSON_DEPTH_MAX)
    check_reading(asked(task), reply, Config())


@TASKS
def test_a_parser_that_raises_is_not_total(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(readings.BY_MEMORY, task, lambda reply, asked, config: reply.index("\ue000"))
    with broken("parser-total"):
        check_reading(asked(task), GOOD[task], Config())


@pytest.mark.parametrize("task", ["extract", "route", "evolve", "expand"])
def test_a_payload_that_is_not_seen_or_not_there_is_noticed(
    task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = BY_MEMORY[task](GOOD[task], QUESTIONS[task], Config())
    monkeypatch.setitem(readings.BY_MEMORY, task, lambda reply, asked, config: found)
    with broken("parser-keeps-the-good"):
        check_reading(asked(task), "no", Config())
    lost = replies.UnusableReply("no_json")
    monkeypatch.setitem(readings.BY_MEMORY, task, lambda reply, asked, config: lost)
    with broken("parser-keeps-the-good"):
        check_reading(asked(task), f"so: {GOOD[task]}", Config())


def test_why_a_reply_cannot_be_used_is_compared_too(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = replies.UnusableReply("too_long")
    monkeypatch.setitem(readings.BY_MEMORY, "expand", lambda reply, asked, config: lost)
    with broken("parser-total"):
        check_reading(asked("expand"), "no", Config())


OTHERS = {
    "extract": '{"entities": []}',
    "route": GOOD["route"].replace("goals", "facts"),
    "evolve": GOOD["evolve"].replace("0.9", "0.90001"),
    "expand": '["Who is Asleep?"]',
    "rewrite": "Does Bob nap?",
}


@TASKS
def test_whatever_is_read_otherwise_is_noticed(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read = BY_MEMORY[task]
    monkeypatch.setitem(
        readings.BY_MEMORY, task, lambda reply, asked, config: read(OTHERS[task], asked, config)
    )
    with broken("parser-total"):
        check_reading(asked(task), GOOD[task], Config())


NAMED = extraction.Mention("person", "Bob", "naps", 500_000)
EDITS: Mapping[str, Mapping[str, object]] = {
    "an element that is lost": {"entities": (NAMED,)},
    "one that nobody told": {"entities": (NAMED, NAMED, NAMED)},
    "a name that nobody told": {"entities": (attrs.evolve(NAMED, others=("Eve",)),)},
    "a reason that does not hold": {"dropped": ((1, "pronoun"),)},
    "a fault that is none": {"partial": True},
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=list(EDITS))
def test_every_part_of_an_extraction_is_compared(
    edit: Mapping[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = BY_MEMORY["extract"](GOOD["extract"], QUESTIONS["extract"], Config())
    assert isinstance(read, extraction.Extraction)
    other = attrs.evolve(read, **edit)  # type: ignore[arg-type]  # a field and a value of it
    monkeypatch.setitem(readings.BY_MEMORY, "extract", lambda reply, asked, config: other)
    with broken("parser-total"):
        check_reading(asked("extract"), GOOD["extract"], Config())
