"""Faults of the network: messages that come late, in another order, twice or never.

A link is one direction between one agent and one service. The fault of a message is decided when it is sent.
A window affects a whole link: while it is open, every message meets its fault.
"""

from typing import Final

from umi_core.data import Data, Owner
from umi_core.limits import DAY_MS
from umi_sim.faults.arguments import among, span_ms
from umi_sim.faults.declaration import FaultKind
from umi_sim.faults.window import WINDOW_MS_MAX, Window

DELAY_FACTOR: Final = 10
REORDER_MS_MAX: Final = 2_000
# Below the default time-out of 30 s for a model, so that the copy of an answer may arrive in time.
COPY_MS_MAX: Final = 29_999


class Trip(Data):
    """One delivery of a message after `delay_ms`.

    `is_released`: it is delivered together with other held messages, in a drawn order.
    `is_overtaken`: it is delivered right after the next message of its link, if that is sooner.
    """

    delay_ms: int
    is_copy: bool = False
    is_released: bool = False
    is_overtaken: bool = False


Trips = tuple[Trip, ...]


class Passage(Owner):
    """A message that is sent over a link in `ready_ms` from now and usually takes `usual_ms` after that.

    `window`: the fault window of the link. `was_copied`: whether its request is delivered twice already.
    """

    window: Window
    now_ms: int
    ready_ms: int
    usual_ms: int
    was_copied: bool

    @property
    def delay_ms(self) -> int:
        return self.ready_ms + self.usual_ms


# The world runs on while a link holds a message, so a file may hold one for at most a day.


class Delay(FaultKind, at="link.any", is_a="quirk", guards=("DET-4", "STO-5")):
    """A message takes ten times as long."""

    delay_ms: int = among(
        lambda passage: (DELAY_FACTOR * passage.usual_ms,) if passage.usual_ms else (), readable=DAY_MS
    )

    def apply(self, passage: Passage) -> Trips:
        return (Trip(passage.ready_ms + self.delay_ms),)


class Reorder(FaultKind, at="link.any", is_a="quirk", guards=("DET-4", "STO-5")):
    """A message comes behind the next one of its link."""

    wait_ms: int = span_ms(1, REORDER_MS_MAX, readable=DAY_MS)

    def apply(self, passage: Passage) -> Trips:
        return (Trip(passage.delay_ms + self.wait_ms, is_overtaken=True),)


class Clog(FaultKind, at="link.any", is_a="window", guards=("DET-4", "STO-5")):
    """Messages of one direction are held, then come together."""

    for_ms: int = span_ms(1, WINDOW_MS_MAX, readable=DAY_MS)

    def apply(self, passage: Passage) -> Trips:
        # The message is held until the window ends, unless its usual delay is longer.
        delay_ms, left_ms = passage.delay_ms, passage.window.end_ms - passage.now_ms
        return (Trip(max(delay_ms, left_ms), is_released=delay_ms <= left_ms),)


class LinkLoss(FaultKind, at="link.any", is_a="lost", guards=("IDEM-1", "STO-7")):
    """One message never comes."""

    def apply(self, passage: Passage) -> Trips:
        return ()


class LinkPartition(FaultKind, at="link.any", is_a="window", guards=("IDEM-1", "STO-7")):
    """No message of one direction comes."""

    for_ms: int = span_ms(1, WINDOW_MS_MAX, readable=DAY_MS)

    def apply(self, passage: Passage) -> Trips:
        return ()


class Duplicate(FaultKind, at="link.any", is_a="quirk", guards=("IDEM-1", "DET-4")):
    """A message comes twice."""

    after_ms: int = span_ms(0, COPY_MS_MAX, readable=DAY_MS)

    @classmethod
    def can_apply(cls, passage: Passage) -> bool:
        # If the answers to a copied request were copied too, there would be four answers, more than a real
        # network delivers.
        return not passage.was_copied

    def apply(self, passage: Passage) -> Trips:
        delay_ms = passage.delay_ms
        return Trip(delay_ms), Trip(delay_ms + self.after_ms, is_copy=True)
