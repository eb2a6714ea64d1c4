"""Goal: memories are read as their table says; lines and parts of texts are those of the memory.

That the memory reads what models reply as the plain readers do: tests/properties/test_replies.py.
"""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties import hierarchy_reference as hierarchy
from tests.properties.extraction_reference import read_memories
from tests.spec_tables import Row, read_cell, rows
from umi_core.conversations import NORMALISERS
from umi_core.language.segments import segments_of, windows

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
    read = read_memories(read_cell(row["reply"]))
    assert [[it.content, list(it.categories)] for it in read or ()] == read_cell(
        row["memories, each with its categories"]
    )
    assert (read is not None) == (row["usable"] == "yes")


@settings(max_examples=50)
@given(REPLIES, st.sampled_from(sorted(NORMALISERS)))
def test_both_see_the_same_lines(text: str, modality: str) -> None:
    assert NORMALISERS[modality](text).split("\n") == hierarchy.lines_of(text, modality)


@given(st.lists(st.sampled_from(("", "a", "é" * 5_000, "日" * 9_000)), min_size=1, max_size=9))
def test_both_cut_what_is_too_long_alike(lines: list[str]) -> None:
    mine = segments_of(lines, windows(len(lines), 3))
    assert [it.text for it in mine] == hierarchy.parts_of(lines, [*range(0, len(lines), 3)])
