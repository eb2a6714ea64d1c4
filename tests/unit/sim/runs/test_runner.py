"""Goal: the end of a run waits for what there is to repair, and for nothing else."""

import pytest

from umi_core.errors import TooBusy
from umi_core.messages.effects import Done, Outcome, Refused, Reply
from umi_core.messages.results import Rebalanced
from umi_sim.runs.rest import is_settled

IDLE = Done(Rebalanced())
HALF = Done(Rebalanced(cursor="ent_1"))
BUSY = Done(Rebalanced(repaired=("ent_0",)))
BUSY_HALF = Done(Rebalanced(repaired=("ent_0",), cursor="ent_1"))


@pytest.mark.parametrize(
    ("pages", "settled"),
    [
        ((), False),
        ((IDLE,), False),  # the end of a scan that began before
        ((IDLE, IDLE), True),
        ((HALF, IDLE), False),
        ((HALF, IDLE, HALF, IDLE), True),
        ((IDLE, BUSY_HALF, IDLE), False),  # its last page alone found nothing
        ((IDLE, BUSY_HALF, IDLE, IDLE), True),
        ((BUSY, BUSY, IDLE), True),
        ((IDLE, Refused(TooBusy(1, 1)), IDLE, IDLE), True),
        ((IDLE, HALF, Refused(TooBusy(1, 1)), IDLE), False),
    ],
)
def test_all_is_repaired_when_a_whole_scan_finds_nothing(pages: tuple[Outcome, ...], settled: bool) -> None:
    assert is_settled(Reply(f"drain:{number}", page) for number, page in enumerate(pages)) == settled
