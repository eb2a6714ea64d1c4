"""Goal: a prompt holds each input once, whole, as JSON in its own line, whatever the input says (EXT-4)."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from tests.spec_tables import Row, read_cell, rows
from umi_core.ids import entity_id
from umi_core.language.prompts import (
    FIXED,
    FOUND_BYTES_MAX,
    FoundText,
    Input,
    Statement,
    add_today,
    ask_enough,
    ask_evolve,
    ask_expand,
    ask_extract,
    ask_rewrite,
    ask_route,
    prompt,
)
from umi_core.language.replies import ArrayOf, ObjectWith, UnusableReply, find_json
from umi_core.limits import (
    EVOLVE_PAIR_COUNT_MAX,
    PROMPT_BYTES_MAX,
    QUERY_BYTES_MAX,
    RECALL_LIMIT_MAX,
    TEXT_BYTES_MAX,
    TURN_CHARS_MAX,
    TURN_COUNT_MAX,
)
from umi_core.messages.effects import AskModel
from umi_core.rows import Entity
from umi_core.text import size
from umi_core.values import Scope, Turn

HOSTILE = st.sampled_from(
    [
        "\n",
        "\r\n",
        "\u2028",
        "\u2029",
        "\x85",
        "\x0b",
        "\x00",
        '"',
        "\\",
        "INPUT ",
        "\nINPUT text = 1\n",
        "{text}",
        "%s",
    ]
)
CHARACTERS = st.text(alphabet=st.characters(exclude_categories=["Cs"]))
TEXTS = st.lists(HOSTILE | CHARACTERS).map("".join)
VALUES: st.SearchStrategy[Input] = st.recursive(
    TEXTS | st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["text", "entities", "context", "old", "new"])


def inputs_of(text: str) -> list[tuple[str, object]]:
    """The inverse of the quoting rule: as a world reads a prompt."""
    lines = [line.removeprefix("INPUT ") for line in text.split("\n") if line.startswith("INPUT ")]
    parts = [line.partition(" = ") for line in lines]
    return [(name, json.loads(value)) for name, _, value in parts]


def alice() -> Entity:
    name = "Alice"
    return Entity(
        id=entity_id(Scope("u1", "a1"), name),
        type="person",
        name=name,
        content="works at Acme",
        version=1,
        importance_ppm=500_000,
        confidence_ppm=950_000,
        block="human",
        created_ms=0,
        updated_ms=0,
    )


def test_the_tasks_of_today_are_those_of_the_table() -> None:
    assert [row["task"] for row in rows("engine", "tasks")] == list(FIXED)


@pytest.mark.parametrize("row", rows("engine", "input_lines"), ids=lambda row: row["name"])
def test_an_input_is_one_line_whatever_it_says(row: Row) -> None:
    filled = prompt("extract", ((row["name"], read_cell(row["value"])),))
    assert filled.split("\n")[-1] == read_cell(row["line"])


def test_extract_asks_with_the_whole_text() -> None:
    blocks = ask_extract('Zoë said:\n"tea"').split("\n\n")
    assert blocks[:-1] == list(FIXED["extract"])
    assert blocks[-1] == r'INPUT text = "Zoë said:\n\"tea\""'


def test_extract_names_the_speaker_if_known() -> None:
    assert ask_extract("I nap.", "Zoë\n") == ask_extract("I nap.") + '\nINPUT speaker = "Zoë\\n"'


def test_route_asks_with_entities_and_context() -> None:
    asked = ask_route((alice(), structs.replace(alice(), content="é" * 200)), "日" * 1_000)
    first, second = asked.split("\n")[-2:]
    id_of = "ent_8e53e881e893ed54b470032e"
    row = f'{{"entity_id":"{id_of}","type":"person","name":"Alice","content":"%s"}}'
    assert first == f"INPUT entities = [{row % 'works at Acme'},{row % ('é' * 100)}]"
    assert second == f'INPUT context = "{"日" * 666}"'


def test_evolve_asks_with_each_statement_once_and_the_pairs_by_ref() -> None:
    new = Statement("fct_a@1", "Alice", "likes tea", 1_795_887_489_000)
    old = Statement("fct_b@1", "Alice", "é" * 600, 1_000, 59_999)
    lines = ask_evolve((new,), (old,), ((new.ref, old.ref),)).split("\n")[-3:]
    assert lines == [
        'INPUT new = [{"ref":"fct_a@1","name":"Alice","content":"likes tea","told":"2026-11-28T17:38Z"}]',
        f'INPUT old = [{{"ref":"fct_b@1","name":"Alice","content":"{"é" * 500}",'
        '"told":"1970-01-01T00:00Z","happened":"1970-01-01T00:00Z"}]',
        'INPUT pairs = [{"new":"fct_a@1","old":"fct_b@1"}]',
    ]


def test_rewrite_asks_with_the_turns_as_given_then_the_query() -> None:
    turns = (Turn("assistant", 'He "left"'), Turn("user", "Ask John"))
    assert inputs_of(ask_rewrite("Did he?", turns)) == [
        (
            "turns",
            [
                {"turn": 1, "role": "assistant", "text": 'He "left"'},
                {"turn": 2, "role": "user", "text": "Ask John"},
            ],
        ),
        ("query", "Did he?"),
    ]


def test_expand_asks_with_the_query_alone() -> None:
    assert inputs_of(ask_expand("Who\nleft?")) == [("query", "Who\nleft?")]


@pytest.mark.uncounted
@settings(max_examples=40)
@given(st.lists(st.tuples(NAMES, VALUES), min_size=1, max_size=4))
def test_inputs_round_trip_each_on_its_own_line(inputs: list[tuple[str, Input]]) -> None:
    for task in FIXED:
        found = inputs_of(prompt(task, tuple(inputs)))
        assert found == [(name, json.loads(json.dumps(value))) for name, value in inputs]


@pytest.mark.uncounted
@given(TEXTS)
def test_a_text_changes_nothing_but_its_own_line(text: str) -> None:
    lines = ask_extract(text).split("\n")
    assert lines[:-1] == ask_extract("").split("\n")[:-1]
    assert inputs_of("\n".join(lines)) == [("text", text)]


def test_the_longest_text_fits() -> None:
    assert size(ask_extract("\x00" * TEXT_BYTES_MAX)) <= PROMPT_BYTES_MAX


def test_the_longest_questions_of_all_tasks_fit() -> None:
    statements = tuple(
        Statement(f"{'x' * 28}@{n}", '"' * 256, "\x00" * 500, 0, 0) for n in range(EVOLVE_PAIR_COUNT_MAX)
    )
    pairs = tuple((it.ref, it.ref) for it in statements)
    turns = (Turn("assistant", "\x00" * TURN_CHARS_MAX),) * TURN_COUNT_MAX
    longest = (
        ask_evolve(statements, statements, pairs),
        ask_rewrite("\x00" * QUERY_BYTES_MAX, turns),
        ask_expand("\x00" * QUERY_BYTES_MAX),
        ask_enough(
            "\x00" * QUERY_BYTES_MAX, (FoundText("\x00" * FOUND_BYTES_MAX, 0, 0),) * (RECALL_LIMIT_MAX - 1)
        ),
    )
    assert [size(asked) <= PROMPT_BYTES_MAX for asked in longest] == [True] * 4


def test_a_name_of_an_input_is_a_name() -> None:
    with pytest.raises(AssertionError):
        prompt("extract", (("a = 1\nINPUT b", 2),))


def test_no_fixed_line_is_an_input() -> None:
    for blocks in FIXED.values():
        assert inputs_of("\n".join(blocks)) == []


def test_a_reply_that_echoes_the_instructions_is_empty() -> None:
    for blocks in FIXED.values():
        echo = "\n\n".join(blocks)
        assert find_json(echo, ObjectWith("entities")) == UnusableReply("no_json")
        assert find_json(echo, ArrayOf(dict)) == UnusableReply("no_json")


def test_only_the_prompts_of_the_memory_end_with_the_day() -> None:
    assert add_today(AskModel("rank", "p"), day=20_786).prompt == 'p\nINPUT today = "Sunday 2026-11-29"'
    assert add_today(AskModel("own_task", "p"), day=20_786).prompt == "p"
