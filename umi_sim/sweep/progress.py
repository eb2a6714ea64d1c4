"""Progress of a sweep: the runs so far, and their failures and marks."""

from umi_core.data import Owner
from umi_sim.kernel.progress import at
from umi_sim.kernel.wording import plural
from umi_sim.sweep.journal import Chunk


class Progress(Owner):
    """The results so far. `run_count`: the planned number of runs; None if `minutes` limits the sweep.

    `new`: runs of this sweep; `old`: runs that were already in its journal.
    """

    run_count: int | None
    minutes: int | None = None
    new: int = 0
    old: int = 0
    found: dict[str, None] = {}
    marks: dict[str, None] = {}

    def add(self, chunk: Chunk, is_old: bool) -> None:
        self.old += len(chunk.seeds) * is_old
        self.new += len(chunk.seeds) * (not is_old)
        self.found |= dict.fromkeys(chunk.totals.found)
        self.marks |= dict.fromkeys(chunk.totals.marks)
        self.tell()

    def tell(self) -> None:
        """Show progress: `sweep: 120 of 400 runs, 30 a second, 9 s left, 0 failures, 41 marks`."""
        known = [f"{plural(self.old, 'run')} known before"] if self.old else []
        note = ", ".join((plural(len(self.found), "failure"), plural(len(self.marks), "mark"), *known))
        of = self.run_count - self.old if self.run_count is not None else 0
        at("sweep", self.new, of, note=note, seconds=(self.minutes or 0) * 60)
