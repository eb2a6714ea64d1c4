"""The fence: clock, chance, files, network, threads and environment are out of reach while a machine steps.

Law 1. What is called is refused before it happens, and the step is a finding even if it caught the refusal.
Law 2. The innermost frame that is not of the standard library is blamed, if the fence blames its package.
       What the interpreter runs between two lines of a step (imports, finalizers, debuggers) is excused, and
       so is the standard library where it reads a clock for its own use (logging, asyncio).
Law 3. Other threads, and everything outside steps, reach what they always did. When the last run is over,
       all functions are those that they were.

How what is called gets here: `umi_sim.machines.stubs`.
"""

import sys
from _thread import get_ident
from collections.abc import Callable, Collection, Sequence
from types import FrameType
from typing import Final, Literal

from umi_core.data import Data, Owner
from umi_core.messages.answers import Value
from umi_core.messages.effects import Effect
from umi_sim.record import rules
from umi_sim.record.broken import Broken, demand

Reach = Literal["clock", "chance", "files", "network", "threads", "environment"]

TOLD: Final[dict[Reach, str]] = {
    "clock": "read the clock",
    "chance": "drew chance",
    "files": "touched files",
    "network": "reached for the network",
    "threads": "started a thread or a process",
    "environment": "read its environment",
}
EVERYTHING: Final[Collection[Reach]] = tuple(TOLD)

Stepping = Callable[[int, Value], Sequence[Effect]]


class Fence(Data):
    """Everything that a step must not reach, and the code whose reaching for it is a finding.

    `blames`: packages or modules; none: all code but the standard library. `renames`: those in which names
    that were imported one by one (`from time import time`) are replaced too.
    """

    reaches: Collection[Reach] = ()
    blames: Collection[str] = ()
    renames: Collection[str] = ()


class FenceWatch(Owner):
    """The fence of the step that runs now, and what a step has reached for, with its thread."""

    fence: Fence | None = None
    breach: tuple[int, str] | None = None


WATCH: Final = FenceWatch()
ARMED: Final[list[Fence]] = []  # of the runs that are on


def step(of: Stepping, now_ms: int, value: Value, fence: Fence) -> Sequence[Effect]:
    """Run one step of a machine inside the fence. Raises Broken if it reaches for what is outside."""
    WATCH.fence = fence
    try:
        return of(now_ms, value)
    # Here, not in an `except`: code under test that catches the
    # refusal and goes on is a finding all the same (law 1).
    finally:
        WATCH.fence = None
        if WATCH.breach is not None:
            must_stay_inside()


def must_stay_inside() -> None:
    """Raises Broken if a step of this thread has reached outside."""
    breach = WATCH.breach
    # Two runs in two threads share WATCH: each takes only what its own step did.
    is_own = breach is not None and breach[0] == get_ident()
    if is_own:
        WATCH.breach = None
    reach = breach[1] if breach is not None else ""
    demand(not is_own, rules.STEP_STAYS_INSIDE, reach)


def report_reach(reach: Reach, what: str) -> None:
    """Note a forbidden call. Raises Broken if it happened in a step, by code that the fence blames."""
    fence = WATCH.fence
    if fence is None or fence not in ARMED or reach not in fence.reaches:
        return
    # Frame 0 is this function, 1 the stub or the audit hook that called it, 2 the code that made the call.
    culprit = find_blamed(sys._getframe(2), reach, fence.blames)
    if culprit is not None:
        message = f"{place(culprit)} {TOLD[reach]}: {what}"
        # The first one is told: what follows may only be the handling of the refusal.
        WATCH.breach = WATCH.breach or (get_ident(), message)
        raise Broken(rules.STEP_STAYS_INSIDE, message)


# The caller to blame.

IMPORTING: Final = ("_frozen_importlib", "_frozen_importlib_external", "importlib")
BETWEEN: Final = {*IMPORTING, "bdb", "linecache", "pdb", "weakref"}
"""What runs between two lines of a step without its doing."""
OWN_USE: Final = set("asyncio concurrent logging selectors subprocess tempfile threading warnings".split())
"""Functions that read the clock, or draw a name, and tell their caller nothing of it."""


def find_blamed(frame: FrameType | None, reach: Reach, blames: Collection[str]) -> FrameType | None:
    """Return the frame that made the call; None if the fence does not blame it."""
    excused = BETWEEN | OWN_USE if reach in ("clock", "chance") else BETWEEN
    culprit: FrameType | None = None
    # From the call outwards, to the step. Without `step` on the stack it is the call of another thread.
    while frame is not None and frame.f_code is not step.__code__:
        module = module_of(frame)
        top = module.partition(".")[0]
        # An import in the middle of a step reads files, a log
        # line reads the clock: neither tells the step anything.
        if top in excused:
            return None
        if culprit is None and top not in sys.stdlib_module_names:
            culprit = frame
        frame = frame.f_back
    if frame is None or culprit is None:  # of another thread, or not blamed
        return None
    return culprit if not blames or is_of(module_of(culprit), blames) else None


def module_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def is_of(module: str, packages: Collection[str]) -> bool:
    # With the dot, so that `umi_core_extra` is not of `umi_core`.
    return any(f"{module}.".startswith(f"{package}.") for package in packages)


def place(frame: FrameType) -> str:
    """`umi_core/memory.py line 40 (Memory.step)`: the same on every machine."""
    path = module_of(frame).replace(".", "/") + ("/__init__" if "__path__" in frame.f_globals else "")
    return f"{path}.py line {frame.f_lineno} ({frame.f_code.co_qualname})"
