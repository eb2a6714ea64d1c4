"""Goal: an odd reply is near to the true one, and leads where a true one never does."""

import pytest

from umi_core.config import Config
from umi_core.language import decisions, extraction, ranks, rewriting
from umi_core.language.decisions import parse_decision
from umi_core.language.extraction import parse_extraction
from umi_core.language.prompts import FoundText, ask_enough, ask_extract, ask_rank, ask_rewrite
from umi_core.language.ranks import parse_ranks
from umi_core.language.replies import UNREAD, UnusableReply
from umi_core.language.rewriting import judge_rewrite
from umi_core.values import Turn
from umi_sim.judge.equivalences.odd_replies import FAULT_EDITS, apply_fault_edit, make_invalid_reply
from umi_sim.kernel.prng import Stream

TEXT = "Alice works at Acme. Bob lives in Paris. She likes tea."
QUERY = "Where does she work?"
TURNS = (Turn("user", "Alice works at Acme."),)
LISTED = tuple((f"c{number}", FoundText(f"Alice works at place {number}.", 0)) for number in range(1, 9))
COUNT = 900
SHORT_MAX = 1_000  # characters; of longer rewrites one is enough; they take thirty times as long


def replies(task: str, prompt: str) -> list[str]:
    return [make_invalid_reply(task, prompt, Stream(seed, "odd")) for seed in range(COUNT)]


def test_the_same_draw_gives_the_same_reply() -> None:
    one, other = (make_invalid_reply("extract", ask_extract(TEXT, ""), Stream(7)) for _ in range(2))
    assert one == other


@pytest.mark.slow
def test_a_decision_is_left_open_in_every_way_there_is() -> None:
    whys = {
        parse_decision(it).why for it in replies("decide_enough", ask_enough(QUERY, (FoundText("tea", 0),)))
    }
    assert whys >= {*decisions.UNDECIDED, None}


@pytest.mark.slow
def test_a_rewrite_is_refused_for_every_reason_that_one_reference_can_have() -> None:
    answer_invalid = replies("rewrite", ask_rewrite(QUERY, TURNS))
    judged = [*(it for it in answer_invalid if len(it) <= SHORT_MAX), max(answer_invalid, key=len)]
    given = [judge_rewrite(it, QUERY, TURNS, 500_000) for it in judged]
    # A misfit names another entity as well as it puts one in place of the reference.
    others = {"unchanged", "unresolved", "misfit"}
    assert {it.reason or it.outcome for it in given} >= {*rewriting.VERDICTS} - others


@pytest.mark.slow
def test_an_extraction_is_mended_in_every_way_but_those_that_need_another_text() -> None:
    given = [parse_extraction(it, TEXT, Config()) for it in replies("extract", ask_extract(TEXT, ""))]
    met: set[str] = {it.reason for it in given if isinstance(it, UnusableReply)}
    met |= {shape for it in given if not isinstance(it, UnusableReply) for shape in it.shapes}
    others = ("type self unsure", "link type missing", "link confidence missing")  # links between sentences
    assert met >= {*UNREAD, *extraction.SHAPES} - {*others}


@pytest.mark.slow
def test_a_ranking_is_not_followed_in_every_way_there_is() -> None:
    given = [parse_ranks(it, len(LISTED), 3) for it in replies("rank", ask_rank(QUERY, 3, LISTED))]
    met: set[str] = {it.reason for it in given if isinstance(it, UnusableReply)}
    met |= {why for it in given if not isinstance(it, UnusableReply) for why in it.dropped}
    assert met >= {*UNREAD, *ranks.SHAPES}


def test_a_reply_that_was_spoilt_before_is_spoilt_again_or_left() -> None:
    for reply in ("", "\ud800", '{"entities":[{"name":"\ud800"}]}', "[", '[{"new":"a","old":"b"}]'):
        assert all(
            isinstance(apply_fault_edit(reply, Stream(seed)), str) for seed in range(3 * len(FAULT_EDITS))
        )
