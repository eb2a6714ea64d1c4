"""The atlas: which rows a world may destroy, and which it has destroyed, with the time.

Law 1. In a world without loss only vectors are destroyed, since a memory can make them again.
Law 2. In a world with loss at most `loss_max` keys are destroyed, or the whole store once. A key is an
entity, one of its versions, or a session.
Law 3. Rows that a memory needs before it can answer at all (epoch, head, core, access records) are destroyed
only with the whole store.
Law 4. Healing restores links, room and services, but no destroyed rows.
"""

from typing import Final

from umi_core.data import Data, Owner
from umi_core.messages.effects import MAIN
from umi_core.rows import Address

REBUILT: Final = ("vector",)
LOSABLE: Final = ("entity", "version", "session")


class Loss(Data):
    """The loss of some keys of a store by a fault at one event. Empty `keys`: the whole store was lost."""

    kind: str
    event: str
    at_ms: int
    keys: tuple[Address, ...] = ()
    store: str = MAIN

    @property
    def owner(self) -> str:
        """Return the operation whose call met the fault."""
        return self.event.partition("/")[0]

    @property
    def line(self) -> str:
        """Return one line for people."""
        keys = ", ".join(f"{key.kind} {key.id}" for key in self.keys) or "everything"
        store = "" if self.store == MAIN else f" of {self.store}"
        return f"{keys}{store} by {self.kind} at {self.event}, {self.at_ms} ms"


class Atlas(Owner):
    """The losses of one world, of which at most `loss_max` keys are allowed."""

    loss_max: int = 0
    losses: list[Loss] = []

    def may_rot(self, address: Address) -> bool:
        """Return True if every copy of this row may be damaged for good."""
        return address.kind in REBUILT or (address.kind in LOSABLE and self.can_lose((address,)))

    def can_lose(self, keys: tuple[Address, ...]) -> bool:
        """Return True if all these keys may be lost in addition to those that are lost already."""
        # A key that is lost twice counts once.
        lost = dict.fromkeys((*(key for loss in self.losses for key in loss.keys), *keys))
        return not self.is_wiped and len(lost) <= self.loss_max

    def may_wipe(self) -> bool:
        return self.loss_max > 0 and not self.losses

    @property
    def is_wiped(self) -> bool:
        return any(not loss.keys for loss in self.losses)

    def lose(self, kind: str, event: str, at_ms: int, *keys: Address, store: str = MAIN) -> None:
        """Record a loss. Vectors are left out, since a memory can make them again."""
        lost = tuple(key for key in keys if key.kind not in REBUILT)
        if lost or not keys:
            self.losses.append(Loss(kind, event, at_ms, lost, store))

    def may_have_lost(self, op_id: str) -> bool:
        """Return True if an acknowledged write of this operation may be missing."""
        return any(loss.kind == "storage_ack_early" and loss.owner == op_id for loss in self.losses)

    def explains(self, row_id: str) -> bool:
        """Return True if this entity or session, or one of its versions, is lost."""
        # The key of a lost version is "fct_1@3"; reads of fact "fct_1" itself may then differ as well.
        lost = [key.id.partition("@")[0] for loss in self.losses for key in loss.keys]
        return row_id.partition("@")[0] in lost
