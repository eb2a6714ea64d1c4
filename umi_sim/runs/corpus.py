"""The corpus: what becomes of seed files after they were written.

Law 1. The ephemeral folder holds one file for each fingerprint, the smallest that still fails; hits add up.
Law 2. A file there goes after it passed three times in a row; there are never more than FILE_COUNT_MAX.
Law 3. The durable folder holds what must stay fixed, and open bugs that have a ticket.
Law 4. With changed code the run of a file may never end: it is stopped after REPLAY_S_MAX of computing.
"""

import fcntl
import os
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import attrs

from umi_core.data import Data
from umi_sim.formats.strict_json import compact
from umi_sim.record.verdict import FailureKind, Verdict
from umi_sim.runs.replay import Replayed, replay
from umi_sim.runs.time_limit import OutOfTime, computing_at_most
from umi_sim.seedfile import files as seed_file
from umi_sim.seedfile import item_json
from umi_sim.seedfile.files import EPHEMERAL, BadSeedFile, SeedFile

DURABLE: Final = Path("scenarios/seeds")
FILE_COUNT_MAX: Final = 200
PASSES_MAX: Final = 3
REPLAY_S_MAX: Final = 60


class NotKept(ValueError):
    """A file that does not belong into the durable folder; the message says what to do first."""


@attrs.frozen
class Kept(Data):
    """A file of the corpus. `replayed` is what came of it if it was run; None also if it cannot be read.

    `is_endless`: it was run and did not end.
    """

    path: Path
    seed: SeedFile | None
    problem: str = ""
    replayed: Replayed | None = None
    is_removed: bool = False
    is_endless: bool = False

    @property
    def still_fails(self) -> FailureKind | None:
        """The kind of failure that it came to now; None if it passed, or was not run."""
        failure = self.replayed.verdict.failure if self.replayed else None
        return "timeout" if self.is_endless else failure.kind if failure else None


# The ephemeral folder.


def keep(seed: SeedFile, folder: Path = EPHEMERAL, hits_min: int = 0) -> Path:
    """Keep a failure in its file, or the smaller run that is there already; hits add up.

    `hits_min`: so many hits are known, whoever counted them. Raises BadSeedFile if the run is too large.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with held(folder):
        return keep_alone(seed, folder, hits_min)


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Nobody else keeps anything there meanwhile, so no hit is lost."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def keep_alone(seed: SeedFile, folder: Path, hits_min: int) -> Path:
    assert seed.failure is not None
    path = folder / seed_file.default_path(seed.failure).name
    past = maybe_read(path)
    best = past if past and is_better(past, seed) else seed
    before = past.history if past else attrs.evolve(seed.history, hits=0)
    history = attrs.evolve(
        before, passes=0, hits=max(before.hits + seed.history.hits, hits_min),
        first_seed=before.first_seed or seed.history.first_seed,
    )  # fmt: skip
    repro = f"umi-sim replay {path.as_posix()}"
    seed_file.write(path, attrs.evolve(best, history=history, repro=repro))
    make_room(folder, path)
    return path


def keep_run(verdict: Verdict, folder: Path = EPHEMERAL) -> Path:
    """The same for a run that has just failed."""
    return keep(seed_file.of_verdict(verdict), folder)


def maybe_read(path: Path) -> SeedFile | None:
    try:
        return seed_file.read(path)
    except BadSeedFile:
        return None


def is_better(past: SeedFile, new: SeedFile) -> bool:
    """Whether the run that is there is the smaller one, about the same code, and still fails."""
    is_smaller = size_of(past) <= size_of(new) and past.config.planted == new.config.planted
    done = tried(past, relaxed=True) if is_smaller else None
    return done is not None and done.what == "same failure"


def tried(seed: SeedFile, *, relaxed: bool = False) -> Replayed | None:
    """What comes of it; None if it computes for too long."""
    try:
        with computing_at_most(REPLAY_S_MAX):
            return replay(seed, relaxed=relaxed)
    except OutOfTime:
        return None


def size_of(seed: SeedFile) -> tuple[int, int, int]:
    """Items, then their bytes, then the seed."""
    written = compact([item_json.to_json(item) for item in seed.items])
    return len(seed.items), len(written), seed.config.seed


def make_room(folder: Path, newest: Path) -> None:
    """Too many files: what passed goes first, then what was seen least."""
    others = [path for path in files_in(folder) if path != newest]
    if len(others) < FILE_COUNT_MAX:
        return
    for path in sorted(others, key=least_wanted)[: len(others) - FILE_COUNT_MAX + 1]:
        path.unlink(missing_ok=True)


def least_wanted(path: Path) -> tuple[int, int, str]:
    seed = maybe_read(path)
    return (-seed.history.passes, seed.history.hits, path.name) if seed else (-PASSES_MAX, 0, path.name)


def files_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json"))


def listed(folder: Path) -> Iterator[Kept]:
    """The files of a folder, by name; nothing is run."""
    for path in files_in(folder):
        try:
            yield Kept(path, seed_file.read(path))
        except BadSeedFile as error:
            yield Kept(path, None, str(error))


def replay_kept(
    folder: Path = EPHEMERAL, only: Sequence[str] | None = None, known: Container[str] = ()
) -> Iterator[Kept]:
    """Run each file again, by name. One that passes is counted, and removed the third time in a row.

    `only`: the ids of scenarios whose files are run; None is all. `known`: fingerprints that need none.
    """
    for kept in listed(folder):
        if kept.seed and only is not None and kept.seed.config.scenario not in only:
            continue
        if kept.seed and kept.seed.fingerprint in known:
            continue
        if kept.seed is None or kept.seed.is_bare:
            yield kept
            continue
        done = tried(kept.seed, relaxed=True)
        is_removed = counted(kept.path, kept.seed, done)
        yield attrs.evolve(kept, replayed=done, is_removed=is_removed, is_endless=done is None)


def counted(path: Path, seed: SeedFile, done: Replayed | None) -> bool:
    """Count a pass, or forget the ones before; whether the file was removed."""
    passes = seed.history.passes + 1 if done and done.what == "passes" else 0
    if passes >= PASSES_MAX:
        path.unlink(missing_ok=True)
        return True
    if passes != seed.history.passes:
        seed_file.write(path, attrs.evolve(seed, history=attrs.evolve(seed.history, passes=passes)))
    return False


# The durable folder.


def keep_for_good(source: Path, folder: Path = DURABLE, ticket: str = "", notes: str = "") -> Path:
    """Move a seed file to the durable folder. Raises NotKept, or BadSeedFile if it cannot be read."""
    seed = seed_file.read(source)
    past = seed.history
    history = attrs.evolve(past, passes=0, ticket=ticket or past.ticket, notes=notes or past.notes)
    seed = attrs.evolve(seed, history=history)
    if problem := problem_of(seed):
        raise NotKept(f"{source}: {problem}")
    done = replay(seed)
    if done.exit_code:
        raise NotKept(f"{source}: {done.what}: {done.why}; to expect this: umi-sim bless {source}")
    path = folder / (seed_file.default_path(seed.failure).name if seed.failure else source.name)
    if path.exists() and not path.samefile(source):
        raise NotKept(f"{source}: {path} is there already{told(maybe_read(path))}: remove one of the two")
    seed_file.write(path, attrs.evolve(seed, repro=f"umi-sim replay {path.as_posix()}"))
    if source.resolve() != path.resolve() and source.resolve().parent == EPHEMERAL.resolve():
        source.unlink()
    return path


def told(seed: SeedFile | None) -> str:
    return f", and expects to {seed.expect.result}" if seed else ""


def problem_of(seed: SeedFile) -> str:
    """Why a file must not be in the durable folder; empty if it may."""
    if seed.is_edited:
        return "edited by hand, so its hashes prove nothing: umi-sim bless it"
    if seed.expect.result == "fail" and not seed.history.ticket:
        return "an open bug needs a ticket: --ticket TEXT"
    return ""
