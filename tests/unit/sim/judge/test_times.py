"""Goal: what says that it was done before it was asked for, or after its reply, is seen (REF-1)."""

from typing import Any

import pytest

from umi_core.kelpie.results import AgentSwitched, Appended, BlockWritten
from umi_core.messages.effects import Done, Unknown
from umi_core.messages.results import RecordAdded, Remembered, SessionCreated, SessionSaved
from umi_core.rows import Relation
from umi_sim.judge.oracle.promises import check_times
from umi_sim.record.broken import Broken


def remembered(at_ms: int) -> Remembered:
    ends = ("ent_1", 1), ("ent_1", 2)
    return Remembered((), (Relation("rel_1", "update", *ends, 500_000, "", "table", at_ms),))


DONE: Any = [
    lambda at_ms: SessionCreated("ses_1", at_ms),
    lambda at_ms: SessionSaved("ses_1", 2, at_ms),
    lambda at_ms: BlockWritten("blk_1", "plan", 1, "created", at_ms),
    lambda at_ms: Appended("message", 1, 1, at_ms),
    lambda at_ms: AgentSwitched("closed", at_ms),
    lambda at_ms: RecordAdded("archival", 1, 1, at_ms),
    lambda at_ms: RecordAdded("archival", 1, 1, 15, False, remembered(at_ms)),
    remembered,
]


@pytest.mark.parametrize("done_at", DONE)
def test_it_was_done_while_its_request_was_on_its_way(done_at: Any) -> None:
    for at_ms in (10, 15, 20):
        check_times("o1", Done(done_at(at_ms)), 10, 20)
    for at_ms in (9, 21):
        with pytest.raises(Broken, match="a time in the reply") as broken:
            check_times("o1", Done(done_at(at_ms)), 10, 20)
        assert broken.value.rule == "reference-agrees"


def test_what_was_done_before_and_is_sent_again_has_its_own_time() -> None:
    check_times("o1", Done(BlockWritten("blk_1", "plan", 1, "created", 3, repeated=True)), 10, 20)
    check_times("o1", Unknown(), 10, 20)
