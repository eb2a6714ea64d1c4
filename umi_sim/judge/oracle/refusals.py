"""Refusals: what is wrong with a request alone is refused with that error, and nothing without a reason.

Law 1. What is wrong with a request alone the judge reads for itself. Law 2. Each other error belongs to the
requests that can meet it. Law 3. Too busy is only who has as many requests without a reply as there may be.
"""

from collections.abc import Mapping
from typing import Final

from umi_core import errors
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
from umi_sim.judge.plain.requests import is_same, wrong

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
    wanted = wrong(request)
    name = type(request).__name__
    if wanted is not None:
        demand(is_same(wanted, got), "reference-agrees", f"{name} must be refused", wanted, outcome)
    elif got is not None:
        has_reason = isinstance(got, (errors.TooBusy, *MET[type(request)]))
        demand(has_reason, "reference-agrees", f"{name} is refused without a reason", "", got)
