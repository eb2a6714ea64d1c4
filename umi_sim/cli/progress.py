"""Progress on standard error: a live line on a terminal, elsewhere a plain line every PLAIN_MS.

Law 1. A command that ends within AFTER_MS, or is quiet, shows no progress.
Law 2. The live line is erased before any other output.
Law 3. The work never waits for the display: a thread polls kernel/progress.py.
"""

import sys
import time
from _thread import allocate_lock, start_new_thread
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import msgspec

from umi_core.data import Owner
from umi_sim.cli.terminal import is_dumb, width
from umi_sim.kernel.progress import NOW, Stage, at
from umi_sim.kernel.wording import cut, duration, plural

LOOK_MS: Final = 500
AFTER_MS: Final = 2_000
PLAIN_MS: Final = 10_000
LONG_MS: Final = 180_000
ERASE: Final = "\r\x1b[K"


class StageView(Owner):
    """The view of a stage: its start, the count done at its start, and the time left, 0 if unknown."""

    doing: str = ""
    since_ms: int = 0
    done: int = 0
    left_ms: int = 0

    def line(self, stage: Stage, now_ms: int) -> str:
        """Return a line such as `sweep: 120 of 400 runs, 30 a second, 9 s left, 0 failures`."""
        done, of = counts(stage)
        # At a new stage, rate and time left start again.
        if stage.doing != self.doing:
            self.doing, self.since_ms, self.done = stage.doing, now_ms, done
        new, elapsed_ms = done - self.done, now_ms - self.since_ms
        # Example: 30 of 120 done after 5 s: 90 * 5,000 // 30 = 15 s. Unknown until the first unit is done.
        self.left_ms = max(0, of - done) * elapsed_ms // new if new > 0 else 0
        if stage.seconds:
            self.left_ms = max(0, stage.seconds * 1_000 - elapsed_ms)
        so_far = f"{duration(elapsed_ms)} so far" if elapsed_ms else ""  # empty at the start of a stage
        time_told = f"{duration(self.left_ms)} left" if self.left_ms else so_far
        text = ", ".join(filter(None, (count_done(stage), rate(new, elapsed_ms), time_told, stage.note)))
        return ": ".join(filter(None, (stage.doing, text)))


def counts(stage: Stage) -> tuple[int, int]:
    """Return the number of units done, and their total, 0 if unknown."""
    # A single run has no outer count; `within` returns the number of its operations (`Run.progress`).
    return stage.within() if stage.unit == "operation" else (stage.done, stage.of)


def count_done(stage: Stage) -> str:
    done, of = counts(stage)
    return f"{done} of {plural(of, stage.unit)}" if of else plural(done, stage.unit) if done else ""


def standing() -> str:
    """Return the stage that was interrupted and how much of it is done, to follow the word `interrupted`."""
    return f": {', '.join(filter(None, (NOW.doing, count_done(NOW))))}" if NOW.doing else ""


def rate(new: int, elapsed_ms: int) -> str:
    """Return the rate per second, or for less than 1 a second the time of each unit."""
    if new <= 0 or elapsed_ms <= 0:
        return ""
    a_second = new * 1_000 // elapsed_ms
    return f"{a_second} a second" if a_second else f"{duration(elapsed_ms // new)} each"


class ProgressDisplay(Owner):
    """The progress of a command on the terminal; `written_ms`: when it was last written."""

    began_ms: int
    view: StageView = msgspec.field(default_factory=StageView)
    written_ms: int | None = None
    has_hinted: bool = False
    is_live: bool = False

    def look(self, now_ms: int) -> None:
        line = self.view.line(NOW, now_ms)
        if now_ms - self.began_ms < AFTER_MS:
            return
        # The hint is printed once, as a separate line that stays.
        if self.view.left_ms > LONG_MS and not self.has_hinted:
            self.has_hinted = True
            self.write(f"this takes about {duration(self.view.left_ms)} more; Ctrl-C ends it", now_ms)
        if sys.stderr.isatty() and not is_dumb():
            sys.stderr.write(f"{ERASE}{cut(line, width(2))}")  # cut, as ERASE clears only one line
            sys.stderr.flush()
            self.is_live = True
        elif self.written_ms is None or now_ms - self.written_ms >= PLAIN_MS:
            self.write(line, now_ms)

    def write(self, line: str, now_ms: int) -> None:
        self.clear()
        self.written_ms = now_ms
        print(f"umi-sim: {line}", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self.is_live:
            sys.stderr.write(ERASE)
            sys.stderr.flush()
            self.is_live = False


WRITING: Final = allocate_lock()
WATCHES: Final[list[ProgressDisplay]] = []  # the display of the running command, if any


@contextmanager
def watch_progress(doing: str, *, quiet: bool) -> Iterator[None]:
    """Show progress while the block runs."""
    if quiet or sys.stderr is None:
        yield
        return
    at(doing, unit="operation")
    WATCHES[:] = [ProgressDisplay(now_ms())]
    start_new_thread(keep_looking, (WATCHES[0],))
    try:
        yield
    finally:
        clear()
        with WRITING:
            WATCHES.clear()


def tell(line: str) -> None:
    """Print a line on standard error at once, unless the command is quiet."""
    with WRITING, suppress(OSError, ValueError):  # standard error may be closed
        for watch in WATCHES:
            watch.write(line, now_ms())


def keep_looking(watch: ProgressDisplay) -> None:
    while watch in WATCHES:
        time.sleep(LOOK_MS / 1_000)
        with WRITING, suppress(OSError, ValueError):  # standard error may be closed
            # Checks again under the lock, because the command may have ended in the meantime.
            if watch in WATCHES:
                watch.look(now_ms())


def clear() -> None:
    """Erase the live line before other output."""
    with WRITING, suppress(OSError, ValueError):
        for watch in WATCHES:
            watch.clear()


def now_ms() -> int:
    return time.monotonic_ns() // 1_000_000
