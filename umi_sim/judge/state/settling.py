"""Settling: commits of unknown outcome, and what is learnt of them in the end.

Law 1. The same batch is sent again, three times in all. Law 2. If another plan had won, what that one decided
is told, nothing of this one counts as stored, and core is read again. Law 3. Core that was read, or written,
is believed: a newer one takes the place of the older one.
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

    `operation`: the asking one; None if it ended.
    """
    # sent, unknown, sent, unknown, sent, unknown: after the third time it need not be sent again
    is_unknown = isinstance(value, EffectFailed) and value.kind == "unknown"
    if not is_unknown or not isinstance(answered.asked, Commit) or answered.attempt >= ATTEMPTS:
        return
    sent, what = answered.asked, "a commit whose outcome is unknown is sent again"
    again = operation.asked if operation is not None else None
    demand(again == sent, rules.BACKOFF, what, sent.key, again)


def is_durable(asked: Asked | None, value: Value) -> bool:
    """Return True if storage has this very batch, not an earlier plan or another request with its key."""
    writes = asked.writes if isinstance(asked, Commit) else ()
    own = next((write.body for write in writes if isinstance(write.body, Receipt)), None)
    return isinstance(value, Committed) and (own is None or value.receipt == own)


def winner(asked: Asked | None, value: Value) -> Receipt | None:
    """Return the receipt of an earlier plan for the same request; None if this plan was committed."""
    # plan 1 is sent, no answer comes   it lands after all
    # plan 2 is sent under the same key  -> refused, with the receipt of plan 1
    receipt = value.receipt if isinstance(value, Committed) else None
    writes = asked.writes if isinstance(asked, Commit) else ()
    own = next((write.body for write in writes if isinstance(write.body, Receipt)), None)
    if own is None or not isinstance(receipt, Receipt) or receipt.request_digest != own.request_digest:
        return None
    return None if receipt.plan_digest == own.plan_digest else receipt


def check_won(
    answered: OperationSnapshot, value: Value, operation: Operation | None, was: Tiers, now: Tiers
) -> None:
    receipt, workflow = winner(answered.asked, value), answered.pinned[0]
    if receipt is None:
        return
    asked = operation.asked if operation is not None else None
    holds = workflow not in WRITERS_OF_CORE or reads_core(asked)
    demand(holds, rules.CORE_CURRENT, f"{workflow} reads core after another plan won", "", asked)
    saved = [key for key in was.access.unsaved if key not in now.access.unsaved]
    demand(not saved, rules.ACCESS_TRUTH, "saved by a plan that another one was before", [], saved)
    if now.decisions is not was.decisions:
        receipt_value = getattr(receipt.value, "facts", receipt.value)
        due = receipt_value.routing if isinstance(receipt_value, Remembered) else ()
        demand(now.decisions == due, rules.ONCE_ONLY, "decisions of the plan that won", due, now.decisions)


def reads_core(asked: Asked | None) -> bool:
    query = asked.query if isinstance(asked, Read) else None
    return isinstance(query, ByIds) and any(address.kind == "core" for address in query.addresses)


def check_believed(believed: CoreTier | None, core: CoreTier) -> None:
    """Demand that core is no older than `told`, the core row of an answer that was used."""
    if believed is not None:
        due, got = believed.guard_version, core.guard_version
        demand(due <= got, rules.CORE_CURRENT, "a newer core was told, and not believed", due, got)
