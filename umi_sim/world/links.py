"""Links: one direction between one agent and one service each; how long a message is under way, and what
happens to it there.

Law 1. A delay is drawn by the name of the message, so that it stays with its operation.
Law 2. What happens to a message is decided as it sets out: it comes never, once or twice.
Law 3. A window strikes all of one link. A copy and the answers to it meet no fault of their own.
"""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final

import attrs

from umi_core.data import Data, Owner
from umi_sim.faults.kinds import Draw, log_uniform
from umi_sim.faults.window import Window
from umi_sim.kernel.prng import Keyed, stream_key
from umi_sim.record.items import Args, Fault
from umi_sim.record.run_config import RunConfig
from umi_sim.services.calls import SERVICE_OF
from umi_sim.world.agent import Message
from umi_sim.world.source import Source

DELAY_FACTOR: Final = 10
REORDER_MS_MAX: Final = 2_000
COPY_MS_MAX: Final = 30_000
WINDOWS: Final = ("link_clog", "link_partition")
UP: Final = "request"

Strike = Callable[[str, str, str], None]
Lane = tuple[str, str, bool]  # agent, service, up or down


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


@attrs.define
class Link(Owner):
    """One direction: its window, and whether that holds messages or loses them."""

    window: Window = attrs.field(factory=Window)
    is_clogged: bool = False


class Links:
    """All links of a world. `strike` tells that a fault fired, `blunt` counts those that change nothing."""

    def __init__(self, config: RunConfig, source: Source, strike: Strike, blunt: Counter[str]) -> None:
        self.delay_ms = latency_of(config)
        recorded = (item.fault for item in source.record if isinstance(item, Fault))
        self.may_strike = any(kind.startswith("link_") for kind in (*config.faults, *recorded))
        self.copied: dict[str, str] = {}  # what became of requests that come twice
        self._source = source
        self._strike = strike
        self._blunt = blunt
        self._links: dict[Lane, Link] = {}
        self._order = Keyed(stream_key(config.seed, ("release",)))

    def trips(self, message: Message, ready_ms: int, now_ms: int) -> tuple[Trip, ...]:
        """What becomes of a message that sets out in `ready_ms` from now: its deliveries, none to two."""
        delay_ms = ready_ms + self.delay_ms(message.event)
        if not self.may_strike:
            return (Trip(delay_ms),)
        lane = lane_of(message)
        link = self._links.setdefault(lane, Link())
        if link.window.is_open(now_ms):
            return in_window(link, delay_ms, now_ms)
        if message.is_copy:
            return (Trip(delay_ms),)
        verb = "link.up" if lane[2] else "link.down"
        make_args = partial(self._args, message, link, now_ms)
        fault = self._source.fault(verb, f"{verb}.{lane[1]}", message.event, message.event, make_args)
        if fault is None:
            return (Trip(delay_ms),)
        self._strike(fault.id, fault.fault, message.event)
        return struck(link, ready_ms, delay_ms, now_ms, fault)

    def release_order(self, event: str) -> int:
        """Where a message stands among those that are released with it."""
        return self._order.draw(event) >> 40

    def heal(self) -> None:
        """From now on nothing is slow or struck."""
        self.delay_ms = no_delay
        self.may_strike = False

    def _args(self, message: Message, link: Link, now_ms: int, kind: str, draw: Draw) -> Args | None:
        """The args of a fault about to strike; None if it must not, or would change nothing."""
        if kind in WINDOWS:
            return link.window.args(now_ms, draw)
        if kind == "link_delay":
            delay_ms = DELAY_FACTOR * self.delay_ms(message.event)
            if not delay_ms:
                self._blunt[kind] += 1
            return {"delay_ms": delay_ms} if delay_ms else None
        if kind == "link_reorder":
            return {"wait_ms": log_uniform(draw, "wait_ms", REORDER_MS_MAX)}
        if kind == "link_duplicate":
            is_first = message.call.event not in self.copied
            return {"after_ms": log_uniform(draw, "after_ms", COPY_MS_MAX) - 1} if is_first else None
        return {}


def struck(link: Link, ready_ms: int, delay_ms: int, now_ms: int, fault: Fault) -> tuple[Trip, ...]:
    """The deliveries of a message that this fault strikes, from its args alone."""
    match fault.fault:
        case "link_delay":
            return (Trip(ready_ms + whole(fault.args, "delay_ms")),)
        case "link_reorder":
            return (Trip(delay_ms + whole(fault.args, "wait_ms"), is_overtaken=True),)
        case "link_duplicate":
            return Trip(delay_ms), Trip(delay_ms + whole(fault.args, "after_ms"), is_copy=True)
        case "link_loss":
            return ()
    link.window.begin(now_ms, whole(fault.args, "for_ms"))
    link.is_clogged = fault.fault == "link_clog"
    return in_window(link, delay_ms, now_ms)


def in_window(link: Link, delay_ms: int, now_ms: int) -> tuple[Trip, ...]:
    """Lost, or held until the window ends."""
    if not link.is_clogged:
        return ()
    left_ms = link.window.end_ms - now_ms
    return (Trip(max(delay_ms, left_ms), is_released=delay_ms <= left_ms),)


def whole(args: Args, name: str) -> int:
    value = args[name]
    assert isinstance(value, int)
    return value


def lane_of(message: Message) -> Lane:
    return message.call.agent, SERVICE_OF[type(message.call.effect)], message.leg == UP


# Delays.


def latency_of(config: RunConfig) -> Callable[[str], int]:
    """Delay of a message by its event name."""
    if config.latency == "instant":
        return no_delay
    keyed = Keyed(stream_key(config.seed, ("latency",)))
    if config.latency == "short":
        return lambda event: keyed.draw(event) * 6 >> 64
    return lambda event: spread(keyed.draw(event))


def no_delay(event: str) -> int:
    return 0


def spread(word: int) -> int:
    """1 .. 2047, every power of two as likely."""
    bits = 1 + (word & 0xFFFF) * 11 // 65_536
    return (1 << (bits - 1)) + (word >> 16) % (1 << (bits - 1))
