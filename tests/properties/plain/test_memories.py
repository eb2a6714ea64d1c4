"""Goal: the plain readers of memories, segments and lines say what the memory's own parsers say."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties import hierarchy_reference as hierarchy
from tests.properties.extraction_reference import read_memories
from tests.properties.replies_reference import read_summary
from tests.spec_tables import Row, rows, told
from tests.unit.core.test_memories import SOUP, TEA
from umi_core.conversations import NORMALISERS
from umi_core.language.memories import Memories, parse_memories
from umi_core.language.segments import Partition, parse_segments, segments_of, windows
from umi_core.language.summaries import parse_summary

LEAVES = st.sampled_from(
    ("a", "b\nc", "", "\r\n\r x", " u ", "5", " 5.0", "5.5", None, True, 17, -2, 3, 1.5, "\ud800")
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ("role", "content", "created_at", "text", "messages", "segments", "start", "end", "x")
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
REPLIES = VALUES.map(json.dumps) | VALUES.map(lambda it: f"so: {json.dumps(it)[:-1]}") | st.text(max_size=20)


@pytest.mark.parametrize("row", rows("hierarchy", "memories"), ids=lambda row: row["case"])
def test_the_plain_reader_reads_the_table(row: Row) -> None:
    read = read_memories(told(row["reply"]))
    assert [[it.content, list(it.categories)] for it in read or ()] == told(
        row["memories, each with its categories"]
    )
    assert (read is not None) == (row["usable"] == "yes")


@settings(max_examples=120)
@given(SOUP | SOUP.map(lambda soup: f"<memory><content>{soup}") | SOUP.map(lambda soup: TEA + soup))
def test_both_read_the_same_memories(reply: str) -> None:
    mine, plain = parse_memories(reply), read_memories(reply)
    found = mine.memories if isinstance(mine, Memories) else None
    assert (found is None) == (plain is None)
    told_by = [(it.name, it.content, it.categories) for it in found or ()]
    assert told_by == [(it.name, it.content, it.categories) for it in plain or ()]


@settings(max_examples=100)
@given(REPLIES, st.integers(1, 12))
def test_both_divide_alike(reply: str, line_count: int) -> None:
    mine = parse_segments(reply, line_count)
    starts = [start for start, _ in mine.spans] if isinstance(mine, Partition) else None
    assert starts == hierarchy.read_starts(reply, line_count)


@settings(max_examples=100)
@given(REPLIES, st.sampled_from(sorted(NORMALISERS)))
def test_both_see_the_same_lines(text: str, modality: str) -> None:
    assert NORMALISERS[modality](text).split("\n") == hierarchy.lines_of(text, modality)


FENCED = st.lists(
    st.sampled_from(
        ("```", "```md", "\n", "a", " ", "<summary>", "</summary>", "</SUMMARY>", "`", "x" * 900)
    ),
    max_size=9,
).map("".join)


@settings(max_examples=120)
@given(FENCED | st.text(max_size=20))
def test_both_read_the_same_summary(reply: str) -> None:
    mine = parse_summary(reply)
    assert (mine if isinstance(mine, str) else None) == read_summary(reply)


@given(st.lists(st.sampled_from(("", "a", "é" * 5_000, "日" * 9_000)), min_size=1, max_size=9))
def test_both_cut_what_is_too_long_alike(lines: list[str]) -> None:
    mine = segments_of(lines, windows(len(lines), 3))
    assert [it.text for it in mine] == hierarchy.parts_of(lines, [*range(0, len(lines), 3)])
