"""Failure files: one seed file for each different failure, shrunk and checked; later sweeps replay it first.

Law 1. The first version of a file is written as soon as the failure is known, before it is shrunk.
Law 2. Each file is replayed in this process. If it does not fail as it did in the worker, that is reported
       as nondeterminism.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import structs

from umi_core.data import Owner
from umi_sim.kernel.progress import at
from umi_sim.runs import corpus
from umi_sim.seedfile import files as seed_file
from umi_sim.seedfile.files import SeedFile
from umi_sim.sweep import worker_process
from umi_sim.sweep.executors import Workers
from umi_sim.sweep.totals import FOUND_COUNT_MAX, DivergentSeed, FoundFailure, Totals
from umi_sim.sweep.work import shrink_text


class FailureFolder(Owner):
    """The files of one sweep, in `folder`. `seen`: the fingerprints with a file.

    `hits`: the number of failing runs of this sweep, by fingerprint. `problem`: why a file could not be
    written; the failure is still reported, by its seed.
    """

    folder: Path = seed_file.EPHEMERAL
    seen: dict[str, None] = {}
    hits: Counter[str] = msgspec.field(default_factory=Counter)
    problem: str = ""

    def first(self, totals: Totals, is_old: bool) -> None:
        """Write new failures without shrinking them. `is_old`: an earlier sweep has counted their hits."""
        if not is_old:
            self.hits.update(totals.hits)
        for found in totals.found.values():
            if found.text and found.fingerprint not in self.seen and len(self.seen) < FOUND_COUNT_MAX:
                self.put(found)

    def last(self, totals: Totals) -> None:
        """Write the files of the most frequent failures in their final form.

        The hits in `totals` are the minimum for a file. They include hits of an earlier sweep in the journal,
        which may have been killed before it wrote them, or may have used another folder.
        """
        for found in pick_failures(totals):
            mark = found.fingerprint
            path = self.put(found, self.hits[mark], totals.hits[mark])
            if path is None:
                # Without `text` the report names the seed to run instead of a file to replay.
                totals.found[mark] = structs.replace(found, text="")
            else:
                totals.found[mark] = structs.replace(found, path=path.as_posix())

    def put(self, found: FoundFailure, hits: int = 0, hits_min: int = 0) -> Path | None:
        """Write the file of a failure, and return its path; None if it cannot be written."""
        seed = of(found)
        try:
            counted = structs.replace(seed, history=structs.replace(seed.history, hits=hits))
            path = corpus.keep(counted, self.folder, hits_min)
        except OSError as error:
            self.problem = f"{error.filename or self.folder}: {error.strerror}"
            return None
        self.seen[found.fingerprint] = None
        return path


def pick_failures(totals: Totals) -> list[FoundFailure]:
    """List the failures that get a file: the most frequent ones."""
    return [found for found in totals.in_order()[:FOUND_COUNT_MAX] if found.text]


def of(found: FoundFailure) -> SeedFile:
    return seed_file.loads(found.text.encode(), found.path)


def shrink(totals: Totals, executor: Workers) -> str:
    """Shrink each failure in a worker; return why an executor failed, or "". Others stay unshrunk."""
    todo = [found for found in pick_failures(totals) if found.has_items]
    try:
        futures = [executor.submit(shrink_text, found.text) for found in todo]
        for number, (found, future) in enumerate(zip(todo, futures, strict=True)):
            at("sweep: shrinking", number, len(todo), unit="failure")
            # The text is empty if the worker died; the failure then stays unshrunk.
            if text := future.result():
                totals.found[found.fingerprint] = structs.replace(found, text=text)
    except KeyboardInterrupt:
        worker_process.CREW.dismiss()  # ends the workers; failures shrunk so far stay shrunk
    except Exception as error:  # an executor may raise anything
        return f"{type(error).__name__}: {error}"
    return ""


def verify(totals: Totals, whole: Mapping[str, FoundFailure]) -> None:
    """Replay the failures of workers in this process; add those that fail otherwise to `totals.apart`.

    `whole`: the failures before they were shrunk, which replace shrunk ones that do not replay.
    """
    for found in pick_failures(totals):
        if found.has_items and (lines := differing(of(found))):
            apart = DivergentSeed(found.scenario, found.seed, "record-replays", tuple(lines))
            totals.apart[apart.scenario, apart.seed, apart.rule] = apart
            totals.found[found.fingerprint] = whole[found.fingerprint]


def differing(seed: SeedFile) -> Sequence[str]:
    """Return why this file does not fail here as it did in the worker; empty if it does."""
    done = corpus.replay_in_time(seed)
    if done is None:
        return [f"its file replayed here does not end within {corpus.REPLAY_S_MAX} s of computing"]
    return [] if done.what == "same failure" else [f"its file replayed here {done.what}: {done.why}"]
