"""Goal: decisions and rankings are read exactly; whatever else a model says means: look it up (H6.25)."""

import pytest

from tests.spec_tables import NOTHING, Row, read_cell, rows
from umi_core.language.decisions import parse_decision
from umi_core.language.ranks import Ranks, parse_ranks
from umi_core.limits import REPLY_BYTES_MAX

NO = "<decision>NO_RETRIEVE</decision>"


@pytest.mark.parametrize("row", rows("hierarchy", "decisions"), ids=lambda row: row["case"])
def test_the_decision_is_that_of_the_table(row: Row) -> None:
    decision = parse_decision(read_cell(row["reply"]))
    assert decision.is_enough == (row["decision"] == "NO_RETRIEVE")
    assert (decision.why or NOTHING) == row["diagnostic"]


@pytest.mark.parametrize(
    ("inside", "rewrite"),
    [(" a b ", "a b"), (" ", None), ("{query}", None), ("a<b", "a<b")],
)
def test_the_other_words_are_those_between_their_tags(inside: str, rewrite: str | None) -> None:
    assert parse_decision(f"{NO}<Rewritten_query>{inside}</rewritten_QUERY>").rewrite == rewrite


def test_the_other_words_are_read_from_json_and_behind_labels() -> None:
    assert parse_decision('{"decision": "RETRIEVE", "rewritten_query": "a b"}').rewrite == "a b"
    assert parse_decision("**Decision:** RETRIEVE\n**rewritten_query**: a b").rewrite == "a b"


def test_what_is_too_long_or_closes_itself_decides_nothing() -> None:
    assert parse_decision(NO + "x" * REPLY_BYTES_MAX).why == "too_long"
    assert parse_decision(f"<decision />{NO}").is_enough
    assert parse_decision("<decision/>NO_RETRIEVE</decision>").why == "no_tag"


@pytest.mark.parametrize("row", rows("hierarchy", "rank_replies"), ids=lambda row: row["case"])
def test_the_order_is_that_of_the_table(row: Row) -> None:
    ranks = parse_ranks(read_cell(row["reply, of c1, c2, c3, at most 2"]), 3, 2)
    assert isinstance(ranks, Ranks)
    assert (list(ranks.aliases), list(ranks.dropped)) == (
        read_cell(row["ids"]),
        read_cell(row["diagnostics"]),
    )
