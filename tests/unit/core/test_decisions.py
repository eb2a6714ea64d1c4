"""Goal: decisions and rankings are read exactly; whatever else a model says means: look it up (H6.25)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.replies_reference import read_decision, read_ranks
from tests.spec_tables import NOTHING, Row, rows, told
from umi_core.language.decisions import parse_decision
from umi_core.language.ranks import Ranks, parse_ranks
from umi_core.language.replies import UnusableReply
from umi_core.limits import REPLY_BYTES_MAX

NO = "<decision>NO_RETRIEVE</decision>"


@pytest.mark.parametrize("row", rows("hierarchy", "decisions"), ids=lambda row: row["case"])
def test_the_decision_is_that_of_the_table(row: Row) -> None:
    decision = parse_decision(told(row["reply"]))
    assert decision.is_enough == (row["decision"] == "NO_RETRIEVE")
    assert (decision.why or NOTHING) == row["diagnostic"]


@pytest.mark.parametrize(
    ("inside", "rewrite"),
    [(" a b ", "a b"), (" ", None), ("{query}", None), ("a<b", "a<b")],
)
def test_the_other_words_are_those_between_their_tags(inside: str, rewrite: str | None) -> None:
    assert parse_decision(f"{NO}<Rewritten_query>{inside}</rewritten_QUERY>").rewrite == rewrite


def test_what_is_too_long_or_closes_itself_decides_nothing() -> None:
    assert parse_decision(NO + "x" * REPLY_BYTES_MAX).why == "too_long"
    assert parse_decision(f"<decision />{NO}").is_enough
    assert parse_decision("<decision/>NO_RETRIEVE</decision>").why == "no_tag"


TAGS = (
    "<decision> </decision> <DECISION\ta='1'> <decision/> <decisions> <rewritten_query> </rewritten_query\t>"
)
SOUP = st.lists(
    st.sampled_from(
        (*TAGS.split(" "), "NO", "_", " ", "RETRIEVE", "<", ">", "</", "{query}", "x", "\u017f", "1")
    ),
    max_size=12,
).map("".join)


@pytest.mark.uncounted
@settings(max_examples=400)
@given(SOUP | st.text(max_size=20))
def test_both_readers_decide_alike(reply: str) -> None:
    decision = parse_decision(reply)
    assert (decision.is_enough, decision.rewrite) == read_decision(reply)


@pytest.mark.parametrize("row", rows("hierarchy", "rank_replies"), ids=lambda row: row["case"])
def test_the_order_is_that_of_the_table(row: Row) -> None:
    ranks = parse_ranks(told(row["reply, of c1, c2, c3, at most 2"]), 3, 2)
    assert isinstance(ranks, Ranks)
    assert (list(ranks.aliases), list(ranks.dropped)) == (told(row["ids"]), told(row["diagnostics"]))


@pytest.mark.uncounted
@settings(max_examples=300)
@given(
    st.lists(st.sampled_from(('"c1"', '"c2"', '"c9"', "3", "null")), max_size=6).map(",".join),
    st.sampled_from(('{"ids":[%s]}', "[%s]", "so: [%s] ok", '{"ids":3} [%s]', "%s")),
    st.integers(1, 3),
)
def test_both_readers_order_alike(ids: str, around: str, limit: int) -> None:
    reply = around % ids
    ranks, plain = parse_ranks(reply, 2, limit), read_ranks(reply, ("c1", "c2"), limit)
    assert plain == (None if isinstance(ranks, UnusableReply) else list(ranks.aliases))
