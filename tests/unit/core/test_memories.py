"""Goal: whatever a model says in XML is read: complete blocks are kept, the rest is noted, nothing raises."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.spec_tables import Row, read_cell, rows
from umi_core.language.memories import EXAMPLE, ExtractedFact, Memories, Unread, parse_memories
from umi_core.language.prompts import FIXED, ask_memories
from umi_core.limits import EXTRACT_CONTENT_BYTES_MAX, EXTRACT_ENTITY_COUNT_MAX, REPLY_BYTES_MAX

TEA = "<memory><content>Likes tea</content></memory>"
PIECES = (
    "<memory>", "</memory>", "<content>", "</content>", "<categories>", "</categories>", "<category>",
    "</category>", "<name>", "</name>", "<", ">", "&lt;", "&#65;", "&#0;", "<b>", "</b>", "<br/>", "<!--",
    "-->", "<![CDATA[", "]]>", "<!D [x]>", ",", "\n", "a", " b ", "\x00", "\ud800", "<item>", "<content/>",
)  # fmt: skip
SOUP = st.lists(st.sampled_from(PIECES), max_size=24).map("".join)


@pytest.mark.parametrize("row", rows("hierarchy", "memories"), ids=lambda row: row["case"])
def test_replies_are_read_as_the_table_says(row: Row) -> None:
    read = parse_memories(read_cell(row["reply"]))
    found = [[it.content, list(it.categories)] for it in read.memories] if isinstance(read, Memories) else []
    noted = list(read.diagnostics) if isinstance(read, Memories) else [read.reason]
    assert (found, noted) == (
        read_cell(row["memories, each with its categories"]),
        read_cell(row["diagnostics"]),
    )
    assert isinstance(read, Memories) == (row["usable"] == "yes")


def test_the_example_of_the_prompt_says_nothing() -> None:
    assert EXAMPLE in FIXED["memories"][-1]
    assert parse_memories(FIXED["memories"][-1]) == Memories((), ("template_echo",))
    assert parse_memories(ask_memories("profile", "x", (("facts", "What is true."),))) == Memories(
        (), ("template_echo",)
    )


def test_a_name_belongs_to_its_memory() -> None:
    read = parse_memories("<memory><name> Ann\n B </name><content>naps</content></memory>" + TEA)
    assert isinstance(read, Memories)
    assert [it.name for it in read.memories] == ["Ann B", ""]


def test_of_two_contents_the_first_is_kept_and_the_other_noted() -> None:
    read = parse_memories("<memory><content>naps</content><content>snores</content></memory>")
    assert isinstance(read, Memories)
    assert ([it.content for it in read.memories], read.diagnostics) == (["naps"], ("second_content",))


def test_the_same_fact_of_two_names_is_two_memories() -> None:
    one = "<memory><name>Ann</name><content>naps</content></memory>"
    read = parse_memories(one + one.replace("Ann", "Bob") + one)
    assert isinstance(read, Memories)
    assert [it.name for it in read.memories] == ["Ann", "Bob"]
    assert read.diagnostics == ("duplicate",)


def test_what_is_too_much_is_cut_and_noted() -> None:
    long, many = "é" * EXTRACT_CONTENT_BYTES_MAX, EXTRACT_ENTITY_COUNT_MAX + 2
    read = parse_memories(f"<memory><content>{long}</content></memory>")
    assert isinstance(read, Memories)
    assert (len(read.memories[0].content.encode()), read.diagnostics) == (EXTRACT_CONTENT_BYTES_MAX, ("cut",))
    read = parse_memories("".join(f"<memory><content>{n}</content></memory>" for n in range(many)))
    assert isinstance(read, Memories)
    assert (len(read.memories), read.diagnostics) == (EXTRACT_ENTITY_COUNT_MAX, ("too_many",) * 2)
    assert parse_memories(TEA + "x" * REPLY_BYTES_MAX) == Unread("too_long")


@pytest.mark.uncounted
@given(SOUP)
def test_any_soup_is_read(reply: str) -> None:
    read = parse_memories(reply)
    assert isinstance(read, Memories | Unread)


@pytest.mark.uncounted
@given(st.text(max_size=20), SOUP)
def test_a_complete_memory_is_kept_whatever_comes_behind(reply: str, behind: str) -> None:
    read = parse_memories(TEA + reply.replace("<", "") + behind)
    assert isinstance(read, Memories)
    assert read.memories[0].content == "Likes tea"


@pytest.mark.uncounted
@pytest.mark.parametrize("piece", [*PIECES, "<memory><content>", "<memory><content>a</content><categories>"])
def test_reading_takes_no_longer_than_its_length_allows(piece: str) -> None:
    reply = "<memory><content>" + piece * ((REPLY_BYTES_MAX - 100) // len(piece.encode(errors="replace")))
    began = time.perf_counter()
    parse_memories(reply)
    assert time.perf_counter() - began < 2


def test_memories_in_json_are_objects_or_texts_of_several_words() -> None:
    read = parse_memories('[{"name": "Ann", "content": "naps often", "categories": {"category": "facts"}}]')
    assert isinstance(read, Memories)
    assert read.memories == (ExtractedFact("Ann", "naps often", ("facts",)),)
    read = parse_memories('["Ann naps often", "tea"]')
    assert isinstance(read, Memories)
    assert [it.content for it in read.memories] == ["Ann naps often"]


def test_the_last_of_two_answers_counts_and_json_may_stand_in_a_root() -> None:
    first, last = (
        f"<item><memory><content>{it}</content></memory></item>" for it in ("Ann naps", "Bob naps")
    )
    for reply, contents in (
        (f"{first} No, rather:\n{last}", ["Bob naps"]), (f"{first}\n{last}", ["Ann naps", "Bob naps"]),
        (f"{first} That is all. <item></item>", ["Ann naps"]),
        ('<item>{"content": "Ann naps"}</item>', ["Ann naps"]),
    ):  # fmt: skip
        read = parse_memories(reply)
        assert isinstance(read, Memories)
        assert [it.content for it in read.memories] == contents


def test_a_memory_without_elements_is_its_content() -> None:
    assert parse_memories("<memory>Ann naps.</memory>") == Memories((ExtractedFact("", "Ann naps.", ()),), ())
