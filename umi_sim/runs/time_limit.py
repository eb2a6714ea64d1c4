"""A limit for what is run in this process: seconds of computing, after which it is interrupted anywhere."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class OutOfTime(BaseException):
    """The computing time is used up. It is raised anywhere, and no `except Exception` catches it."""


@contextmanager
def computing_at_most(seconds: float) -> Iterator[None]:
    """Raise OutOfTime in the block after so many seconds of computing; in the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(*_: object) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
