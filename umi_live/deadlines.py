"""Deadlines: the time limit of a call, and whether the call may have changed something when it times out.

The memory core has no clock and cannot withdraw requests, so the host enforces time limits. A call that times
out is cancelled as an asyncio task; `Host.ask` then stops its request (law 2 of host.py), and records here
whether the request may have changed something.
"""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar

from umi_core.data import Owner
from umi_core.errors import BadOption
from umi_core.text import show_value
from umi_live.errors import RequestRefused, TimedOut

Seconds = float | None  # None: the default of the memory


class Deadline(Owner):
    """A time limit. `owner`: the memory that set it. `may_be_done`: the call may have changed something."""

    owner: object
    may_be_done: bool = False


CURRENT: ContextVar[Deadline | None] = ContextVar("deadline of the call", default=None)


def check_seconds(seconds: Seconds) -> None:
    """Raise RequestRefused for a time limit that is neither None nor a number greater than 0."""
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if seconds is not None and not (is_number and seconds > 0):
        error = BadOption("timeout", show_value(seconds), "seconds, more than 0; math.inf for no limit")
        raise RequestRefused(error, str(error))


def choose_seconds(owner: object, seconds: Seconds, default: Seconds) -> Seconds:
    """Return the limit of a call: `seconds` or else `default`; None inside another call of the same owner."""
    current = CURRENT.get()
    return default if seconds is None and (current is None or current.owner is not owner) else seconds


def note_begun() -> None:
    """Record that the current call may have changed something."""
    if (current := CURRENT.get()) is not None:
        current.may_be_done = True


@asynccontextmanager
async def limit_time(operation: str, seconds: Seconds, owner: object = None) -> AsyncIterator[None]:
    """Raise TimedOut if the code inside takes longer. `seconds`: None or infinite for no limit."""
    outer, own = CURRENT.get(), Deadline(owner)
    token = CURRENT.set(own)
    try:
        async with asyncio.timeout(None if seconds == math.inf else seconds) as timer:
            yield
    except TimeoutError:
        if seconds is None or not timer.expired():  # the code inside raised it
            raise
        raise TimedOut(operation, seconds, own.may_be_done) from None
    finally:
        CURRENT.reset(token)
        if outer is not None:
            outer.may_be_done |= own.may_be_done
