"""Goal: a question is asked again with the problem of the last reply, and with nothing else."""

from collections.abc import Callable

import pytest

from umi_core.config import Config
from umi_core.language.extraction import parse_extraction
from umi_core.language.prompts import ask_extract, ask_segment, state_problem
from umi_core.language.replies import UnusableReply
from umi_core.language.segments import Useless, parse_segments
from umi_core.messages.effects import AskModel
from umi_sim.judge.state.prompts import check_asked_again
from umi_sim.record.broken import Broken

EXTRACT = AskModel("extract", ask_extract("Alice works at Acme."))
SEGMENT = AskModel("segment", ask_segment("one\ntwo"))


def read_extraction(text: str) -> object:
    return parse_extraction(text, "Alice works at Acme.", Config())


def read_segments(text: str) -> object:
    return parse_segments(text, 2)


@pytest.mark.parametrize("text", ["", "Sure!", "x" * 50_001, '{"segments": [{"start": "x", "end": 2}]}'])
@pytest.mark.parametrize(("asked", "read"), [(EXTRACT, read_extraction), (SEGMENT, read_segments)])
def test_each_reason_of_a_parser_may_be_reported(
    asked: AskModel, read: Callable[[str], object], text: str
) -> None:
    found = read(text)
    assert isinstance(found, UnusableReply | Useless)
    check_asked_again(asked, state_problem(asked, found.reason), text)
    with pytest.raises(Broken):
        check_asked_again(asked, asked, text)
    for reason in {"too_long"} - {found.reason}:
        with pytest.raises(Broken):
            check_asked_again(asked, state_problem(asked, reason), text)


def test_after_no_reply_the_same_is_asked() -> None:
    check_asked_again(SEGMENT, SEGMENT, None)
    with pytest.raises(Broken):
        check_asked_again(SEGMENT, state_problem(SEGMENT, "empty"), None)
