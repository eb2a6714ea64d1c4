"""Goal: a text is divided without gaps and overlaps, whatever a model says; conversations become lines."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.spec_tables import Row, read_cell, rows
from umi_core.conversations import conversation, document, find_unreadable, first_sentence
from umi_core.errors import EmptyText, UnreadableMessages
from umi_core.language.segments import Partition, Useless, parse_segments, partition, segments_of, windows
from umi_core.language.sentences import sentences
from umi_core.limits import SEGMENT_BYTES_MAX, SEGMENT_SENTENCE_COUNT_MAX
from umi_core.messages.requests import Memorize, bad_request
from umi_core.text import size

PAIRS = st.lists(st.tuples(st.integers(-3, 14), st.integers(-3, 14)), max_size=6)
PARTS = ("", "a", "bc " * 40, "é" * 5_000, "日" * 9_000, "Tea! " * 25, "日。 " * 45)
LINES = st.lists(st.sampled_from(PARTS), min_size=1, max_size=12)


@pytest.mark.parametrize("row", rows("hierarchy", "partitions"), ids=lambda row: row["partition"])
def test_pairs_become_the_partition_of_the_table(row: Row) -> None:
    pairs = [{"start": start, "end": end} for start, end in read_cell(row["segments of 10 lines"])]
    read = parse_segments(str({"segments": pairs}).replace("'", '"'), 10)
    assert (spans(read) if isinstance(read, Partition) else None) == read_cell(row["partition"])


def spans(read: Partition) -> list[list[int]]:
    return [list(span) for span in read.spans]


@pytest.mark.parametrize("row", rows("hierarchy", "segment_replies"), ids=lambda row: row["case"])
def test_replies_are_read_as_the_table_says(row: Row) -> None:
    read = parse_segments(read_cell(row["reply, with 10 lines"]), 10)
    if isinstance(read, Useless):
        assert read_cell(row["segments"]) is None
    else:
        assert (spans(read), list(read.repairs)) == (
            read_cell(row["segments"]),
            read_cell(row["diagnostics"]),
        )


@given(PAIRS, st.integers(1, 12))
def test_every_line_is_in_one_span(pairs: list[tuple[int, int]], line_count: int) -> None:
    found = partition(pairs, line_count, [])
    if found is not None:
        assert [at for start, end in found for at in range(start, end + 1)] == list(range(line_count))


@pytest.mark.uncounted
@given(LINES, st.integers(1, 5))
def test_segments_are_the_text_and_none_is_too_long(lines: list[str], window: int) -> None:
    found = segments_of(lines, windows(len(lines), window))
    assert all(size(it.text) <= SEGMENT_BYTES_MAX for it in found)
    assert all(len(sentences(it.text)) <= SEGMENT_SENTENCE_COUNT_MAX for it in found)
    text, last = found[0].text, found[0].last_line
    for it in found[1:]:
        text, last = text + ("\n" if it.first_line > last else "") + it.text, it.last_line
    assert text == "\n".join(lines)


@pytest.mark.parametrize("row", rows("hierarchy", "conversations"), ids=lambda row: row["lines"])
def test_messages_become_the_lines_of_the_table(row: Row) -> None:
    assert conversation(read_cell(row["input"])) == read_cell(row["lines"])


@pytest.mark.parametrize("row", rows("hierarchy", "unreadable"), ids=lambda row: row["messages"])
def test_messages_without_a_text_are_named_by_their_places(row: Row) -> None:
    positions, total = find_unreadable(read_cell(row["messages"]))
    assert (list(positions), total) == (json.loads(row["positions"].strip("`")), int(row["of"]))


KEYS = ["role", "content", "text", "messages", "parts", "type", "created_at", "tool_calls", "speaker"]
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab \n\t", max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.uncounted
@given(JSON_VALUES, st.sampled_from(["{}", '{{"messages":{}}}', '{{"content":{}}}']))
def test_any_messages_are_refused_or_every_stored_line_has_a_text(value: object, form: str) -> None:
    text = form.format(json.dumps(value))
    error = bad_request(Memorize(1, text, "conversation"))
    if isinstance(error, UnreadableMessages):
        assert 0 < error.count <= error.total
        assert error.positions
    elif error is None and conversation(text) != text:
        for line in conversation(text).split("\n"):
            match = re.fullmatch(r"\[[0-9]+\] .*?\[[^\]]*\]: (.*)", line)
            assert match
            assert match[1].strip()


def test_a_refusal_names_ten_places_at_most() -> None:
    error = bad_request(Memorize(1, json.dumps([{"role": "user"}] * 12), "conversation"))
    assert error == UnreadableMessages(12, 12, "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...")


@pytest.mark.parametrize("text", ["[]", '{"messages": []}'])
def test_a_conversation_without_messages_is_empty(text: str) -> None:
    assert bad_request(Memorize(1, text, "conversation")) == EmptyText()


@pytest.mark.parametrize("modality", ["text", "message", "document"])
def test_only_a_conversation_has_messages(modality: str) -> None:
    assert bad_request(Memorize(1, "[null]", modality)) is None


@given(st.text(max_size=60))
def test_any_text_is_some_conversation(text: str) -> None:
    assert isinstance(conversation(text), str)


def test_a_part_may_be_a_pair_or_a_range() -> None:
    assert parse_segments('{"segments": [[0, 4], "5-9"]}', 10) == Partition(((0, 4), (5, 9)), ())


def test_all_ends_of_lines_are_one() -> None:
    assert document("a\r\nb\rc\fd\ne") == "a\nb\nc\nd\ne"


def test_a_caption_is_the_first_sentence() -> None:
    assert first_sentence("\n \n Ann naps. Bob snores.\n", 200) == "Ann naps"
    assert first_sentence("...", 200) == "..."
    assert first_sentence("é" * 10, 5) == "éé"
