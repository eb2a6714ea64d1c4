"""Refusals: what is wrong with a request alone is refused with that error, and nothing without a reason.

Law 1. Errors of what the request says come from the memory's own pure checks. Law 2. Each other error belongs
to the requests that can meet it; too busy is only who has as many requests without a reply as there may be.
"""

from collections.abc import Mapping
from typing import Final

from umi_core import errors
from umi_core.admission import SERVED_BY
from umi_core.invariants.broken import demand
from umi_core.limits import OP_COUNT_MAX
from umi_core.messages.effects import Outcome, Refused
from umi_core.messages.requests import (
    CreateSession,
    LoadSession,
    Rebalance,
    RemoveBlock,
    Request,
    SaveSession,
    SetBlock,
    SetImportance,
)

MET: Final[Mapping[type, tuple[type[errors.Error], ...]]] = {
    Rebalance: (),
    SetBlock: (errors.BlockTooLarge, errors.TooManyBlocks, errors.CoreFull),
    SetImportance: (errors.BlockNotFound,),
    RemoveBlock: (errors.BlockNotFound,),
    CreateSession: (errors.TooManyMembers,),
    SaveSession: (errors.NoSession, errors.TooManyMembers, errors.SessionConflict),
    LoadSession: (
        errors.SessionNotFound, errors.SnapshotTooBig, errors.SnapshotDamaged, errors.SnapshotVersion,
        errors.SnapshotDoesNotFit,
    ),
}  # fmt: skip
"""What a request may meet that is not wrong with itself; those of the archive are judged there."""


def check_refusal(request: Request, outcome: Outcome, others_count: int) -> None:
    """`others_count`: other requests of this memory that have no reply yet."""
    got = outcome.error if isinstance(outcome, Refused) else None
    if isinstance(got, errors.TooBusy):
        told = f"too busy with {others_count} requests"
        demand(others_count >= OP_COUNT_MAX, "no-spurious-refusal", told, OP_COUNT_MAX)
    if type(request) not in MET:
        return
    wrong = SERVED_BY[type(request)][1](request)
    name = type(request).__name__
    if wrong is not None:
        demand(got == wrong, "reference-agrees", f"{name} must be refused", wrong, outcome)
    elif got is not None:
        has_reason = isinstance(got, (errors.TooBusy, *MET[type(request)]))
        demand(has_reason, "reference-agrees", f"{name} is refused without a reason", "", got)
