"""What a sweep takes from outside: time, for limits and progress; a commit id or chance, as a base."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import attrs

from umi_core.data import Owner
from umi_sim.prng import parse_seed
from umi_sim.provenance import described

MINUTE_MS: Final = 60_000


@attrs.define
class Stopwatch(Owner):
    """Milliseconds since it was made."""

    started_ns: int = attrs.field(factory=time.monotonic_ns)

    def elapsed_ms(self) -> int:
        return (time.monotonic_ns() - self.started_ns) // 1_000_000


class OutOfTime(BaseException):
    """Raised in the middle of whatever computes for too long; no `except Exception` takes it for its own."""


@contextmanager
def computing_at_most(seconds: int) -> Iterator[None]:
    """Raises OutOfTime in the block after so many seconds of computing; in the main thread only."""
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


def base() -> str:
    """The commit id around this package; without git a drawn one, in the same form."""
    commit = described().removesuffix("-dirty")
    try:
        parse_seed(commit)
    except ValueError:
        return f"0x{int.from_bytes(os.urandom(8), 'big'):016x}"
    return commit
