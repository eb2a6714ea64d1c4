"""Progress on standard error: a live line on a terminal, anywhere else a plain line now and then.

Law 1. Nothing is said of what ends within AFTER_MS, and nothing of a quiet command.
Law 2. Nothing else is printed into the live line: it goes before a report comes.
Law 3. Nothing waits for it: a thread looks at kernel/progress.py, and that is all.
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
    """A stage as it is seen: since when, what was done by then, and how long it takes still, if known."""

    doing: str = ""
    since_ms: int = 0
    done: int = 0
    left_ms: int = 0

    def line(self, stage: Stage, now_ms: int) -> str:
        """Such as `sweep: 120 of 400 runs, 30 a second, 9 s left, 0 failures`."""
        done, of = counts(stage)
        # A new stage: rate and time left are of this one alone.
        if stage.doing != self.doing:
            self.doing, self.since_ms, self.done = stage.doing, now_ms, done
        new, elapsed_ms = done - self.done, now_ms - self.since_ms
        # 30 of 120 done after 5 s: 90 * 5,000 // 30 = 15 s. Unknown before the first one is done.
        self.left_ms = max(0, of - done) * elapsed_ms // new if new > 0 else 0
        if stage.seconds:
            self.left_ms = max(0, stage.seconds * 1_000 - elapsed_ms)
        so_far = f"{duration(elapsed_ms)} so far" if elapsed_ms else ""  # what has just begun
        time_told = f"{duration(self.left_ms)} left" if self.left_ms else so_far
        text = ", ".join(filter(None, (count_done(stage), rate(new, elapsed_ms), time_told, stage.note)))
        return ": ".join(filter(None, (stage.doing, text)))


def counts(stage: Stage) -> tuple[int, int]:
    """Return how much is done, and of how much, if that is known."""
    # One run has no outer count: it tells by itself how many operations have begun (`Run.progress`).
    return stage.within() if stage.unit == "operation" else (stage.done, stage.of)


def count_done(stage: Stage) -> str:
    done, of = counts(stage)
    return f"{done} of {plural(of, stage.unit)}" if of else plural(done, stage.unit) if done else ""


def standing() -> str:
    """Tell, behind `interrupted`, what the command was doing, and how much of that is done."""
    return f": {', '.join(filter(None, (NOW.doing, count_done(NOW))))}" if NOW.doing else ""


def rate(new: int, elapsed_ms: int) -> str:
    """Return how fast it goes: never 0 a second."""
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
        # Once, and as a line of its own that stays: later it would scroll by with each look.
        if self.view.left_ms > LONG_MS and not self.has_hinted:
            self.has_hinted = True
            self.write(f"this takes about {duration(self.view.left_ms)} more; Ctrl-C ends it", now_ms)
        if sys.stderr.isatty() and not is_dumb():
            sys.stderr.write(f"{ERASE}{cut(line, width(2))}")  # ERASE clears one line, not one that wrapped
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
WATCHES: Final[list[ProgressDisplay]] = []  # the one of the command that runs


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
    """Print a line beside the report at once, unless the user wants none."""
    with WRITING, suppress(OSError, ValueError):  # its reader may have gone
        for watch in WATCHES:
            watch.write(line, now_ms())


def keep_looking(watch: ProgressDisplay) -> None:
    while watch in WATCHES:
        time.sleep(LOOK_MS / 1_000)
        with WRITING, suppress(OSError, ValueError):  # its reader may have gone
            # Once more under the lock: the command may have ended while this thread slept or waited.
            if watch in WATCHES:
                watch.look(now_ms())


def clear() -> None:
    """Make room for something else."""
    with WRITING, suppress(OSError, ValueError):
        for watch in WATCHES:
            watch.clear()


def now_ms() -> int:
    return time.monotonic_ns() // 1_000_000
