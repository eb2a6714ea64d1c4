"""Settling: commits of unknown outcome, and how their outcome is found out.

Law 1. The same batch is sent again, three times in total.
Law 2. If an earlier plan of the same request won, the reply reports the decisions of that plan, nothing of
the later plan counts as stored, and core is read again.
Law 3. A core row that was read or written replaces an older one.
"""

from typing import Final

from umi_core.messages.answers import Committed, EffectFailed, Value
from umi_core.messages.effects import Asked, ByIds, Commit, Read
from umi_core.messages.results import Remembered
from umi_core.rows import Receipt
from umi_core.state import Operation, Tiers
from umi_core.tiers.core import CoreTier
from umi_sim.judge.state.snapshots import OperationSnapshot
from umi_sim.record import rules
from umi_sim.record.broken import demand

ATTEMPTS: Final = 3
WRITERS_OF_CORE: Final = (
    "remember", "add_archival", "forget", "update_entity", "write_block", "rebalance", "recover",
    "load_session",
)  # fmt: skip


def check_sent_again(answered: OperationSnapshot, value: Value, operation: Operation | None) -> None:
    """Demand that a commit of unknown outcome is sent again.

    `operation`: the sender after the step; None if it has ended.
    """
    # Sent, unknown, sent, unknown, sent, unknown: after the third time it need not be sent again.
    is_unknown = isinstance(value, EffectFailed) and value.kind == "unknown"
    if not is_unknown or not isinstance(answered.asked, Commit) or answered.attempt >= ATTEMPTS:
        return
    again, message = operation and operation.asked, "the question after a commit of unknown outcome"
    demand(again == answered.asked, rules.BACKOFF, message, f"commit {answered.asked.key} again", again)


def find_receipt(asked: Asked | None) -> Receipt | None:
    writes = asked.writes if isinstance(asked, Commit) else ()
    return next((write.body for write in writes if isinstance(write.body, Receipt)), None)


def is_durable(asked: Asked | None, value: Value) -> bool:
    """Return True if storage has this batch, rather than an earlier plan or another request with its key."""
    own = find_receipt(asked)
    return isinstance(value, Committed) and (own is None or value.receipt == own)


def find_winner(asked: Asked | None, value: Value) -> Receipt | None:
    """Return the receipt of an earlier plan for the same request; None if this plan was committed."""
    # Plan 1 is sent and gets no answer, but becomes durable. Plan 2 is sent under the same key, and storage
    # answers with the receipt of plan 1.
    own, receipt = find_receipt(asked), value.receipt if isinstance(value, Committed) else None
    if own is None or not isinstance(receipt, Receipt) or receipt.request_digest != own.request_digest:
        return None
    return None if receipt.plan_digest == own.plan_digest else receipt


def check_won(
    answered: OperationSnapshot, value: Value, operation: Operation | None, was: Tiers, now: Tiers
) -> None:
    """Demand law 2 if an earlier plan has won."""
    receipt, workflow = find_winner(answered.asked, value), answered.pinned[0]
    if receipt is None:
        return
    asked = operation.asked if operation is not None else None
    holds = workflow not in WRITERS_OF_CORE or reads_core(asked)
    message = f"what {workflow} asks after an earlier plan won"
    demand(holds, rules.CORE_CURRENT, message, "a read of core", asked)
    saved = [key for key in was.access.unsaved if key not in now.access.unsaved]
    message = "access records count as stored by a plan that was not committed"
    demand(not saved, rules.ACCESS_TRUTH, message, [], saved)
    if now.decisions is not was.decisions:
        receipt_value = getattr(receipt.value, "facts", receipt.value)
        expected = receipt_value.routing if isinstance(receipt_value, Remembered) else ()
        demand(
            now.decisions == expected,
            rules.ONCE_ONLY,
            "decisions of the plan that won",
            expected,
            now.decisions,
        )


def reads_core(asked: Asked | None) -> bool:
    query = asked.query if isinstance(asked, Read) else None
    return isinstance(query, ByIds) and any(address.kind == "core" for address in query.addresses)


def check_believed(believed: CoreTier | None, core: CoreTier) -> None:
    """Demand that core is not older than `believed`, the core row of an answer that was used."""
    if believed is not None:
        expected, got = believed.guard_version, core.guard_version
        message = "the version of core after an answer with a newer one"
        demand(expected <= got, rules.CORE_CURRENT, message, f"{expected} or later", got)
