"""A limit of computing time for a block of code in this process; the block is interrupted anywhere.

One timer ticks while the outermost `ticking` or `computing_at_most` lasts. A run of a store limits each call
of the store, and starting a timer for each call would take a tenth of the run's time.

Law. This file imports only the standard library, since an exported script carries a copy of it.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

TICK_SECONDS: Final = 1 / 50
PATIENCE_TICKS: Final = 50  # a block that catches the interruption is interrupted again after a second


class OutOfTime(BaseException):
    """The computing time is used up. Raised at any instruction; no `except Exception` catches it."""


class Ticks:
    """Ticks of computing time so far. `ends`: the last tick of each open block, the outermost first."""

    def __init__(self) -> None:
        self.is_on, self.count = False, 0
        self.ends: list[int] = []


TICKS: Final = Ticks()


def tick(*_: object) -> None:
    TICKS.count += 1
    if TICKS.ends and TICKS.count > min(TICKS.ends):
        TICKS.ends[:] = [max(end, TICKS.count + PATIENCE_TICKS) for end in TICKS.ends]
        raise OutOfTime


@contextmanager
def ticking() -> Iterator[None]:
    """Let the timer tick until the outermost block ends; in the main thread only."""
    if TICKS.is_on or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGVTALRM, tick)
    signal.setitimer(signal.ITIMER_VIRTUAL, TICK_SECONDS, TICK_SECONDS)
    TICKS.is_on = True
    try:
        yield
    finally:
        TICKS.is_on = False
        TICKS.ends.clear()
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@contextmanager
def computing_at_most(seconds: float) -> Iterator[None]:
    """Raise OutOfTime in the block after so many seconds of computing; in the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with ticking():
        depth = len(TICKS.ends)
        TICKS.ends.append(TICKS.count + max(1, round(seconds / TICK_SECONDS)))
        try:
            yield
        finally:
            del TICKS.ends[depth:]  # also the end of an inner block that was interrupted in its own cleanup
