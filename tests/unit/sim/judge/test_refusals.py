"""Goal: what is wrong is refused with its error, and nothing is refused without one that it may have met."""

from contextlib import nullcontext

import pytest

from tests.histories import broken
from umi_core import errors
from umi_core.limits import OP_COUNT_MAX
from umi_core.messages.effects import Done, Failed, Outcome, Refused
from umi_core.messages.requests import (
    GetBlock,
    LoadSession,
    Rebalance,
    Recall,
    RemoveBlock,
    Request,
    SaveSession,
    SetBlock,
    SetImportance,
    bad_request,
)
from umi_sim.judge.oracle.promises import check_refusal

WRONG = SetImportance(1, "human", -1)
ERROR = bad_request(WRONG)
assert ERROR is not None
FULL = errors.CoreFull(1, 2, 3)
GONE = errors.BlockNotFound("human")

CASES: list[tuple[Request, Outcome, bool]] = [
    (WRONG, Refused(ERROR), True),
    (WRONG, Done(None), False),
    (WRONG, Refused(GONE), False),
    (WRONG, Failed(errors.StorageFailed("load", "unavailable", 3)), False),
    (SetImportance(1, "human", 1), Refused(GONE), True),
    (SetImportance(1, "human", 1), Refused(ERROR), False),
    (SetBlock(1, "human", "x"), Refused(FULL), True),
    (SetBlock(1, "human", "x"), Refused(GONE), False),
    (RemoveBlock(1, "human"), Refused(GONE), True),
    (RemoveBlock(1, "human"), Done(None), True),
    (SaveSession(1), Refused(errors.NoSession()), True),
    (LoadSession(1, "ses_1"), Refused(errors.NoSession()), False),
    (Rebalance(1), Refused(errors.NoSession()), False),
    (GetBlock(1, "nothing"), Refused(errors.BadKind("nothing")), True),
    (GetBlock(1, "nothing"), Done(None), False),
    (GetBlock(1, "human"), Refused(GONE), False),
    (Recall(1, ""), Done(None), True),  # the archive is judged elsewhere
]


@pytest.mark.parametrize(("request_", "outcome", "is_fair"), CASES)
def test_a_refusal_has_its_reason(request_: Request, outcome: Outcome, is_fair: bool) -> None:
    with nullcontext() if is_fair else broken("reference-agrees"):
        check_refusal(request_, outcome, 0)


@pytest.mark.parametrize("request_", [Rebalance(1), Recall(1, "tea"), GetBlock(1, "human")])
def test_only_a_memory_with_many_operations_is_too_busy(request_: Request) -> None:
    busy = Refused(errors.TooBusy(OP_COUNT_MAX, OP_COUNT_MAX))
    check_refusal(request_, busy, OP_COUNT_MAX)
    with broken("no-spurious-refusal"):
        check_refusal(request_, busy, OP_COUNT_MAX - 1)
