"""Goal: reasoning never reaches a parser, and no text of a value is taken for it (M10.23 to M10.25)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.replies_reference import answer_in
from tests.spec_tables import Row, read_cell, rows
from tests.worlds import Model, Pair, plain, saying
from umi_core.language.reasoning import strip_reasoning
from umi_core.messages.effects import Done
from umi_core.messages.requests import Memorize, Recall, Remember, Retrieve, Summarise

PAIRS = [
    ("<think>", "</think>"), ("<THINKING a='1'>", "</Thinking>"), ("<reasoning>", "</reasoning >"),
    ("<antThinking>", "</antThinking>"), ("<seed:think>", "</seed:think>"), ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"), ("<|begin_of_thought|>", "<|end_of_thought|>"),
]  # fmt: skip
DRAFT = '{"entities": [{"name": "Ann", "content": "Ann lives in Paris."}]}'
ANSWERS = [
    '{"entities": [{"name": "Ann", "content": "She typed <think> and </think> here."}]}',
    '[{"entity_id": "e", "reason": "<reasoning>"}]',
    "<memory><content>Ann typed </think></content></memory>",
    "<summary>Ann likes [THINK] and <think>tea</think>.</summary>",
    "Ann moved to Rome.",
]
PIECES = [
    *(tag for pair in PAIRS for tag in pair), "<think/>", "<|end|>", "<|return|>", '{"a":"', '"}', "[", '"]',
    "<|channel|>analysis<|message|>", "<|start|>assistant<|channel|>final<|message|>", "<answer>",
    "</answer>", "word",
    " ", "\n", ".", '"', "`", "<memory>", "</memory>", "<content a>", "</content>", "{", "}",
    "<", ">", "/", "“", "<reasoning\t>", "<summary/>", "<summary>", "</summary>", "< think>", "<thinker>",
]  # fmt: skip


@pytest.mark.parametrize("row", rows("memory", "reasoning"), ids=lambda row: row["reply"])
def test_the_answer_is_that_of_the_table(row: Row) -> None:
    assert strip_reasoning(read_cell(row["reply"])) == read_cell(row["answer"])


@pytest.mark.parametrize("title", ["Reasoning", "My thought process", "Thinking (5 s)"])
def test_details_with_a_title_of_reasoning_go(title: str) -> None:
    assert strip_reasoning(f"<details>\n<summary>{title}</summary>{DRAFT}</details>Ann") == "Ann"
    other = f"<details><summary>Ann</summary>{DRAFT}</details>"
    assert DRAFT in strip_reasoning(other)


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize(("begin", "end"), PAIRS)
def test_every_form_of_reasoning_goes_and_the_answer_stays(begin: str, end: str, answer: str) -> None:
    inner = f"{DRAFT} {begin}or not{end} "
    forms = [
        f"{begin}{DRAFT}{end}{answer}", f"{begin}\n{inner}\n{end}\n{answer}", f"{DRAFT} no.\n{end}\n{answer}",
        f"{answer}\n{begin}{DRAFT}{end}", f"{answer}\n{begin}{DRAFT}", f"{begin}{end}{answer}",
    ]  # fmt: skip
    assert [strip_reasoning(it).strip() for it in forms] == [answer] * len(forms)


@pytest.mark.parametrize(("begin", "end"), PAIRS)
def test_a_reply_of_reasoning_alone_is_blank(begin: str, end: str) -> None:
    assert [strip_reasoning(it) for it in (begin + DRAFT, f"{begin}{DRAFT}{end}", DRAFT + end)] == [
        "",
        "",
        "",
    ]


@given(st.recursive(st.sampled_from(PIECES), lambda inner: st.lists(inner, max_size=3), max_leaves=6))
def test_no_value_loses_a_text(value: object) -> None:
    reply = json.dumps({"content": value}, ensure_ascii=False)
    assert strip_reasoning(reply) == reply
    assert strip_reasoning(f"<think>{DRAFT}</think>{reply}") == reply


@pytest.mark.uncounted
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_the_judge_takes_out_the_same(reply: str) -> None:
    assert answer_in(reply) == strip_reasoning(reply)


@pytest.mark.uncounted
@pytest.mark.parametrize("piece", ["<think>", "a <think> b ", "{<think>", "</think>x", "<memory><think>"])
def test_a_long_reply_takes_no_long_time(piece: str) -> None:
    """Were it quadratic this would take minutes."""
    assert isinstance(strip_reasoning(piece * 20_000 + "</think>"), str)


REQUESTS = (
    Remember(1, "Alice likes tea. Bob snores"), Remember(2, "Alice hates tea"),
    Memorize(3, "Alice lives in Rome. She likes jazz."), Summarise(4, "facts"), Recall(5, "Alice tea"),
    Retrieve(6, "What does Alice like?"),
)  # fmt: skip
DRAFTS = ("{} []", '{"entities": []} []', "<decision>NO_RETRIEVE</decision> <summary>Draft.</summary>")


def stored(pair: Pair) -> list[str]:
    return sorted(str((row.address, row.body)) for row in pair.storage.live_rows(pair.scope))


def thinking(model: Model, draft: str) -> Model:
    """The same model, which thinks aloud before each answer."""
    return lambda task, prompt: f"<think>\n{draft}</think>\n{model(task, prompt)}"


@pytest.mark.parametrize("draft", DRAFTS)
def test_a_model_that_thinks_aloud_is_a_model(draft: str) -> None:
    """Each step that reads a reply of a model reads the same."""
    quiet, aloud = Pair(model=plain).run(), Pair(model=thinking(plain, draft)).run()
    for request in REQUESTS:
        assert quiet.ask(request) == aloud.ask(request)
    assert stored(quiet) == stored(aloud)
    assert aloud.memory.state.counters["reasoning stripped"] > 4
    assert "reasoning stripped" not in quiet.memory.state.counters


def test_a_reply_of_reasoning_alone_is_unusable_and_the_text_is_kept() -> None:
    pair = Pair(model=saying(extract=f"<think>{DRAFT}</think>")).run()
    outcome = pair.ask(Remember(1, "Ann moved to Rome."))
    assert isinstance(outcome, Done)
    assert [(it.name, it.reason) for it in outcome.degraded] == [("extract:notes", "empty")]
    assert "Ann moved to Rome." in str(pair.rows("entity"))
    assert "Paris" not in str(stored(pair))


def test_a_reply_that_was_written_into_a_page_is_read_as_before() -> None:
    assert strip_reasoning("&lt;think&gt;No.&lt;/think&gt;Ann moved.") == "Ann moved."
    assert strip_reasoning("{&quot;name&quot;: 1}") == '{"name": 1}'
