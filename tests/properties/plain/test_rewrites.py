"""Goal: rewrites and variants are judged as M12.9 and M13 say, and the memory judges them so too."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.plain.drawn import (
    ANY_TEXT,
    HALF_TEXT,
    QUERIES,
    TEXTS,
    answers,
)
from tests.properties.queries_reference import (
    clean_line,
    is_alike,
    is_deep,
    read_rewrite,
    read_variants,
    resolve_without_model,
    shown_turns,
)
from tests.spec_tables import Row, maybe, read_cell, rows
from tests.spec_tables import words as listed
from umi_core.language import rewriting as memory
from umi_core.language.prompts import ask_rewrite
from umi_core.language.tables import TRIGGERS
from umi_core.messages.results import Resolution
from umi_core.values import Turn

HALF_PPM = 500_000
QUERY = "What did he say about that?"
TERMS = ("he", "that")
SAID = tuple(
    Turn("user", text)
    for text in ("Ask John about the database migration", "John mentioned the DB migration is late")
)


@pytest.mark.parametrize("row", rows("memory", "rewrites"), ids=lambda row: row["reply"])
def test_a_rewrite_has_the_verdict_of_the_table(row: Row) -> None:
    query, outcome = read_cell(row["query"]), read_cell(row["reason or rewrite"])
    found = read_rewrite(read_cell(row["reply"]), query, SAID, HALF_PPM)
    is_resolved = row["outcome"] == "resolved"
    assert (found.outcome, found.confidence_ppm) == (row["outcome"], maybe(row["confidence"]))
    assert (found.query, found.reason) == ((outcome, "") if is_resolved else (query, outcome))


def test_a_rewrite_that_is_longer_than_a_query_is_rejected() -> None:
    assert read_rewrite("What did John say? " + "x" * 10_000, QUERY, SAID, HALF_PPM).reason == "too_long"


@pytest.mark.parametrize("reply", [QUERY, f"  {QUERY}\n", f"```\n{QUERY}\n```", f'Query: "{QUERY}"'])
def test_the_query_itself_changes_nothing(reply: str) -> None:
    assert read_rewrite(reply, QUERY, SAID, HALF_PPM) == Resolution(
        "unchanged", QUERY, TERMS, turn_count=len(SAID)
    )


def test_articles_of_the_language_of_a_reference_need_no_source() -> None:
    turns = (Turn("user", "Ann plant Migration"),)
    rewrite = "Was weiß Ann zu der Migration?"
    assert read_rewrite(rewrite, "Was weiß Ann dazu?", turns, HALF_PPM).query == rewrite
    assert read_rewrite("who zu Ann", "who it", turns, HALF_PPM).reason == "foreign_word"


@pytest.mark.parametrize(
    ("query", "turns", "wanted", "outcome"),
    [
        (QUERY, SAID, False, "disabled"),
        ("Where is Ann?", SAID, True, "clear"),
        (QUERY, (Turn("user", " \n"),), True, "no_context"),
        (QUERY, SAID, True, None),
    ],
)
def test_when_no_model_is_asked(
    query: str, turns: tuple[Turn, ...], wanted: bool, outcome: str | None
) -> None:
    found = resolve_without_model(query, turns, wanted)
    assert (found and found.outcome) == outcome


def test_the_last_ten_turns_that_say_something_are_shown_newest_first() -> None:
    turns = [Turn("user", f"{n}" + "日" * 600 if n % 2 else " ") for n in range(24)]
    shown = shown_turns(turns)
    assert [turn.text[:2].rstrip("日") for turn in shown] == [str(n) for n in range(23, 3, -2)]
    assert {len(turn.text) for turn in shown} == {500}


@pytest.mark.parametrize("row", rows("memory", "deep"), ids=lambda row: row["query"])
def test_a_query_with_a_trigger_is_deep(row: Row) -> None:
    query = read_cell(row["query"])
    assert is_deep(query, None) == (row["deep"] == "yes")
    assert is_deep(query, True)
    assert not is_deep(query, False)


def test_the_triggers_are_those_of_the_table() -> None:
    assert sorted(listed("memory", "triggers")) == sorted(TRIGGERS)


@pytest.mark.parametrize("row", rows("memory", "variants"), ids=lambda row: row["reply"])
def test_variants_are_those_of_the_table(row: Row) -> None:
    assert read_variants(read_cell(row["reply"]), "q") == tuple(read_cell(row['variants of "q"']))


@pytest.mark.parametrize("row", rows("hierarchy", "clean_lines"), ids=lambda row: row["text"])
def test_the_line_that_was_asked_for(row: Row) -> None:
    assert clean_line(read_cell(row["text"])) == read_cell(row["line"])


# Against the memory.

TURNS = st.lists(
    st.builds(Turn, st.sampled_from(["user", "assistant"]), TEXTS | QUERIES | st.just(" " * 501 + "x")),
    max_size=12,
).map(tuple)
PIECES = st.sampled_from(
    ["```\n", "```", '"', "'", "query:", "Name :", "Rewritten  Query:", " ", "\n", "„", "“", "`"]
)
WRAPPED = st.builds(
    lambda before, query, after: "".join(before) + query + "".join(after),
    st.lists(PIECES, max_size=4), QUERIES | st.just(""), st.lists(PIECES, max_size=4),
)  # fmt: skip
MIXED = st.lists(
    st.sampled_from(
        [
            *QUERY.split(),
            "John",
            "migration",
            "the",
            "it",
            "zu",
            "der",
            "my",
            "you",
            "your",
            "this",
            "plan",
            "plans",
            "Ella",
        ]
    ),
    max_size=9,
).map(" ".join)


@pytest.mark.slow
@settings(max_examples=75)
@given(QUERIES, TURNS, st.data(), st.sampled_from([0, HALF_PPM, 1_000_000]))
def test_the_memory_resolves_alike(
    query: str, turns: tuple[Turn, ...], data: st.DataObject, floor_ppm: int
) -> None:
    shown = memory.shown_turns(turns)
    assert shown_turns(turns) == shown
    for wanted in (False, True):
        assert resolve_without_model(query, turns, wanted) == memory.resolve_without_model(
            query, shown, wanted
        )
    reply = data.draw(answers("rewrite", ask_rewrite(query, shown)) | WRAPPED | HALF_TEXT)
    got = memory.judge_rewrite(reply, query, shown, floor_ppm)
    assert is_alike(got, read_rewrite(reply, query, shown, floor_ppm))


@pytest.mark.slow
@settings(max_examples=60)
@given(MIXED, MIXED | st.just(QUERY), st.sampled_from([0, HALF_PPM]))
def test_the_memory_judges_shuffled_words_alike(reply: str, query: str, floor_ppm: int) -> None:
    got = memory.judge_rewrite(reply, query, SAID, floor_ppm)
    assert is_alike(got, read_rewrite(reply, query, SAID, floor_ppm))


@given(WRAPPED | ANY_TEXT)
def test_the_memory_cleans_alike(text: str) -> None:
    assert clean_line(text) == memory.clean_line(text)


@given(QUERIES | ANY_TEXT | st.sampled_from(sorted(TRIGGERS)), st.sampled_from([None, False, True]))
def test_the_memory_searches_as_deep(query: str, deep: bool | None) -> None:
    assert is_deep(query, deep) == memory.is_deep(query, deep)
