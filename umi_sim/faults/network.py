"""Faults of the network: messages that come late, in another order, twice or never.

A link is one direction between one agent and one service; what happens to a message is decided as it sets
out.
"""

from abc import abstractmethod
from typing import Final, Self

import attrs

from umi_core.data import Data, Owner
from umi_core.limits import DAY_MS
from umi_sim.faults.declaration import family, fault, whole
from umi_sim.faults.luck import Luck, log_uniform
from umi_sim.faults.window import Window, window_ms

DELAY_FACTOR: Final = 10
REORDER_MS_MAX: Final = 2_000
COPY_MS_MAX: Final = 30_000


@attrs.frozen
class Trip(Data):
    """One delivery of a message, after so long.

    `is_released`: with others that were held, in an order of their own.
    `is_overtaken`: sooner, but behind the next message of its link.
    """

    delay_ms: int
    is_copy: bool = False
    is_released: bool = False
    is_overtaken: bool = False


Trips = tuple[Trip, ...]


@attrs.define
class Link(Owner):
    """One direction: its window, and the fault that lasts while that is open."""

    window: Window = attrs.field(factory=Window)
    fault: "Closed | None" = None

    def trips(self, passage: "Passage") -> Trips | None:
        """What becomes of a message while a window is open; None if none is."""
        return self.fault.trips(passage) if self.fault and self.window.is_open(passage.now_ms) else None


@attrs.define
class Passage(Owner):
    """A message that sets out over a link: in `ready_ms` from now, and then it is `usual_ms` under way.

    `was_copied`: whether the request that it belongs to comes twice already.
    """

    link: Link
    now_ms: int
    ready_ms: int
    usual_ms: int
    was_copied: bool

    @property
    def delay_ms(self) -> int:
        return self.ready_ms + self.usual_ms


@fault("link.any", "quirk", guards=("DET-4", "STO-5"))
class Delay:
    """A message takes ten times as long."""

    delay_ms: int = whole(0, DAY_MS)  # the world goes on while a link holds something, so it must end

    @classmethod
    def draw(cls, passage: Passage, luck: Luck) -> Self | None:
        delay_ms = DELAY_FACTOR * passage.usual_ms
        return cls(delay_ms=delay_ms) if delay_ms else None

    def strike(self, passage: Passage) -> Trips:
        return (Trip(passage.ready_ms + self.delay_ms),)


@fault("link.any", "quirk", guards=("DET-4", "STO-5"))
class Reorder:
    """A message comes behind the next one of its link."""

    wait_ms: int = whole(0, DAY_MS)

    @classmethod
    def draw(cls, passage: Passage, luck: Luck) -> Self:
        return cls(wait_ms=log_uniform(luck, "wait_ms", REORDER_MS_MAX))

    def strike(self, passage: Passage) -> Trips:
        return (Trip(passage.delay_ms + self.wait_ms, is_overtaken=True),)


@family
class Closed:
    """A window that strikes all of one link."""

    for_ms: int = whole(0, DAY_MS)

    @classmethod
    def may_strike(cls, passage: Passage) -> bool:
        return passage.link.window.is_rested(passage.now_ms)

    @classmethod
    def draw(cls, passage: Passage, luck: Luck) -> Self:
        return cls(for_ms=window_ms(luck))

    def strike(self, passage: Passage) -> Trips:
        passage.link.window.begin(passage.now_ms, self.for_ms)
        passage.link.fault = self
        return self.trips(passage)

    @abstractmethod
    def trips(self, passage: Passage) -> Trips: ...


@fault("link.any", "window", guards=("DET-4", "STO-5"))
class Clog(Closed):
    """Messages of one direction are held, then come together."""

    def trips(self, passage: Passage) -> Trips:
        delay_ms, left_ms = passage.delay_ms, passage.link.window.end_ms - passage.now_ms
        return (Trip(max(delay_ms, left_ms), is_released=delay_ms <= left_ms),)


@fault("link.any", "lost", guards=("IDEM-1", "STO-7"))
class Loss:
    """One message never comes."""

    def strike(self, passage: Passage) -> Trips:
        return ()


@fault("link.any", "window", guards=("IDEM-1", "STO-7"))
class Partition(Closed):
    """No message of one direction comes."""

    def trips(self, passage: Passage) -> Trips:
        return ()


@fault("link.any", "quirk", guards=("IDEM-1", "DET-4"))
class Duplicate:
    """A message comes twice."""

    after_ms: int = whole(0, DAY_MS)

    @classmethod
    def may_strike(cls, passage: Passage) -> bool:
        return not passage.was_copied

    @classmethod
    def draw(cls, passage: Passage, luck: Luck) -> Self:
        return cls(after_ms=log_uniform(luck, "after_ms", COPY_MS_MAX) - 1)

    def strike(self, passage: Passage) -> Trips:
        delay_ms = passage.delay_ms
        return Trip(delay_ms), Trip(delay_ms + self.after_ms, is_copy=True)
