"""Progress of a sweep, on standard error: a bar on a terminal, else a line now and then."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import attrs

from umi_core.data import Owner
from umi_sim.kernel.wording import plural
from umi_sim.sweep.journal import Chunk
from umi_sim.sweep.outside import MINUTE_MS, Stopwatch

EVERY_MS: Final = 10_000

Tell = Callable[[Chunk, bool], None]


@attrs.define
class Progress(Owner):
    """Runs so far. `run_count`: how many there will be; None if `minutes` decide. `old`: from a file."""

    run_count: int | None
    minutes: int | None = None
    watch: Stopwatch = attrs.field(factory=Stopwatch)
    runs: int = 0
    old: int = 0
    found: dict[str, None] = attrs.field(factory=dict)
    marks: dict[str, None] = attrs.field(factory=dict)

    def add(self, chunk: Chunk, is_old: bool) -> None:
        self.runs += len(chunk.seeds)
        self.old += len(chunk.seeds) * is_old
        self.found |= dict.fromkeys(chunk.totals.found)
        self.marks |= dict.fromkeys(chunk.totals.marks)

    def line(self) -> str:
        """Such as `120 of 400 runs, 30 a second, 9 s left, 0 failures, 41 marks`."""
        elapsed_ms = max(1, self.watch.elapsed_ms())
        new = self.runs - self.old
        of = f" of {self.run_count}" if self.run_count is not None else ""
        parts = (
            f"{self.runs}{of} runs", f"{new * 1000 // elapsed_ms} a second", self.left(elapsed_ms),
            plural(len(self.found), "failure"), plural(len(self.marks), "mark"),
        )  # fmt: skip
        return ", ".join(filter(None, parts))

    def left(self, elapsed_ms: int) -> str:
        """How long it will take, as far as one can tell."""
        new = self.runs - self.old
        if self.run_count is not None:
            if not new:
                return ""
            ms = (self.run_count - self.runs) * elapsed_ms // new
        else:
            ms = (self.minutes or 0) * MINUTE_MS - elapsed_ms
        s = max(0, ms) // 1000
        return f"{s} s left" if s < 120 else f"{s // 60} min left"


@contextmanager
def told(progress: Progress, quiet: bool) -> Iterator[Tell]:
    """Something to call with each chunk that has come back."""
    if quiet:
        yield lambda chunk, is_old: None
    elif sys.stderr.isatty():
        with bar(progress) as tell:
            yield tell
    else:
        yield now_and_then(progress)


def now_and_then(progress: Progress) -> Tell:
    said_ms = 0

    def tell(chunk: Chunk, is_old: bool) -> None:
        nonlocal said_ms
        progress.add(chunk, is_old)
        now_ms = progress.watch.elapsed_ms()
        if now_ms - said_ms >= EVERY_MS:
            said_ms = now_ms
            print(progress.line(), file=sys.stderr, flush=True)

    return tell


@contextmanager
def bar(progress: Progress) -> Iterator[Tell]:
    """A bar on a terminal; it disappears at the end."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Shown

    columns = (BarColumn(), TextColumn("{task.description}"))
    with Shown(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("starting", total=progress.run_count)

        def tell(chunk: Chunk, is_old: bool) -> None:
            progress.add(chunk, is_old)
            shown.update(task, completed=progress.runs, description=progress.line())

        yield tell
