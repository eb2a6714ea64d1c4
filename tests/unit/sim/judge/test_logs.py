"""Goal: a page of a log is judged by what may have been appended before it."""

import pytest

from umi_sim.judge.oracle.api_model import LogModel, RowContents
from umi_sim.record.broken import Broken


def test_a_page_lacks_what_was_passed_over_and_nothing_else() -> None:
    log = LogModel("archival", "arc")
    for skip, got in ((0, [1, 2]), (1, [2, 3]), (2, []), (3, [])):
        log.judge_skip("o1", skip, [1, 2] if skip < 3 else [1, 2, 3], [1, 2, 3], got)
    for skip, got in ((0, [2]), (1, [3]), (1, [1, 2]), (1, []), (0, [1, 3])):
        with pytest.raises(Broken, match="pager-complete"):
            log.judge_skip("o1", skip, [1, 2], [1, 2, 3], got)
    log.open["o2"] = [RowContents("x", ())]
    log.judge_skip("o1", 1, [1, 2], [1, 2, 3], [1, 2])  # the row of an open append may stand before
