"""At rest: what lasts when a world has come to rest, and when a scan says that nothing is left to do."""

from collections.abc import Iterable
from typing import Final

from umi_core.messages.effects import Done, Reply
from umi_core.messages.results import Rebalanced
from umi_core.rows import Address, Row
from umi_sim.record.items import Args
from umi_sim.services.storage import SimStorage

LASTING: Final[tuple[tuple[str, Args], ...]] = (
    ("blocks", {}), ("render", {"form": "xml"}), ("render", {"form": "markdown"}), ("core_bytes", {}),
)  # fmt: skip


def lasting_rows(storage: SimStorage) -> dict[Address, Row]:
    """All rows but those that any scan moves on: its cursor, and the receipts of its commits."""
    moved_on = ("head", "receipt", "epoch")
    return {where: row for where, row in storage.rows.items() if where.kind not in moved_on}


def is_settled(pages: Iterable[Reply], *, begins_anew: bool = False) -> bool:
    """Whether one whole scan, from its first page to its last, finds nothing to do."""
    is_idle = begins_anew  # otherwise the first page may be of a scan that began long ago
    for reply in pages:
        page = reply.outcome.value if isinstance(reply.outcome, Done) else None
        if not isinstance(page, Rebalanced):
            is_idle = False
            continue
        is_idle = is_idle and not (page.promoted or page.repaired or page.pruned)
        if is_idle and not page.cursor:
            return True
        is_idle = is_idle or not page.cursor
    return False
