"""The corpus: the folders of seed files, and their upkeep.

Law 1. The ephemeral folder has one file for each fingerprint, with the smallest run that still fails; hits
       add up. A file whose run passes now is never replaced: another run is saved under another name.
Law 2. A file that passes stays and is run again each time; only `corpus prune` removes it.
Law 3. The durable folder contains bugs that must stay fixed, and open bugs that have a ticket.
Law 4. With changed code the run of a file may never end, so it is stopped after REPLAY_S_MAX of computing.
"""

from collections.abc import Container, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import structs

from umi_core.data import Data
from umi_sim.formats.strict_json import compact
from umi_sim.record.exit_codes import FailureKind
from umi_sim.record.verdict import Verdict
from umi_sim.runs.replay import Replayed, replay
from umi_sim.runs.time_limit import OutOfTime, computing_at_most
from umi_sim.seedfile import files as seed_file
from umi_sim.seedfile import item_json
from umi_sim.seedfile.files import EPHEMERAL, BadSeedFile, SeedFile

DURABLE: Final = Path("scenarios/seeds")
REPLAY_S_MAX: Final = 60


class NotKept(ValueError):
    """The file must not be moved to the durable folder yet; the message says what to do first."""


class CorpusFile(Data):
    """A file of the corpus. `seed` is None, with a `problem`, if it cannot be read.

    `replayed`: the result if the run ended. `is_endless`: the run was stopped at its time limit.
    """

    path: Path
    seed: SeedFile | None
    problem: str = ""
    replayed: Replayed | None = None
    is_removed: bool = False
    is_endless: bool = False

    @property
    def still_fails(self) -> FailureKind | None:
        """Return the kind of its failure now; None if it passed, or was not run."""
        failure = self.replayed.verdict.failure if self.replayed else None
        return "timeout" if self.is_endless else failure.kind if failure else None


# The ephemeral folder.


def keep(seed: SeedFile, folder: Path = EPHEMERAL, hits_min: int = 0) -> Path:
    """Save a failure in the file of its fingerprint, unless the file has a smaller run; add up the hits.

    `hits_min`: the least number of hits to record. Raises BadSeedFile if the run is too large.
    """

    def merge_history(new: SeedFile, path: Path) -> SeedFile:
        # `save` calls this under the lock of the folder: the file cannot change in between.
        past = seed_file.maybe_read(path) if path.exists() else None
        # If the items are equal the new file wins, since its hashes are those of the present code.
        best = past if past and size_of(past) <= size_of(new) and past.items != new.items else new
        before = past.history if past else structs.replace(new.history, hits=0)
        history = structs.replace(
            # The run fails now, which resets the count of passes in a row.
            before, passes=0, hits=max(before.hits + new.history.hits, hits_min),
            first_seed=before.first_seed or new.history.first_seed,
        )  # fmt: skip
        return structs.replace(best, history=history, repro=f"umi-sim replay {path.as_posix()}")

    return seed_file.save(seed, folder, partial(is_same_failure, seed), merge_history)


def keep_run(verdict: Verdict, folder: Path = EPHEMERAL) -> Path:
    """Save the failure of a run that has just failed, as `keep` does."""
    return keep(seed_file.of_verdict(verdict), folder)


def is_same_failure(new: SeedFile, past: SeedFile) -> bool:
    """Check whether two runs with the same fingerprint show the same failure.

    They do if one was shrunk to the other, or if the run of `past` is not larger and still fails.
    """
    # `original` has the items of a shrunk file before it was shrunk, so this needs no run.
    if past.items in (new.original, new.items) or (past.original and past.original == new.items):
        return True
    if size_of(past) > size_of(new):
        return False
    # Two bugs may have one fingerprint: the smaller file stands for both only as long as it fails.
    done = replay_in_time(past, relaxed=True)
    return done is not None and done.what == "same failure"


def replay_in_time(seed: SeedFile, *, relaxed: bool = False) -> Replayed | None:
    """Replay a file; return None if it computes for longer than REPLAY_S_MAX."""
    try:
        with computing_at_most(REPLAY_S_MAX):
            return replay(seed, relaxed=relaxed)
    except OutOfTime:
        return None


def size_of(seed: SeedFile) -> tuple[int, int, int]:
    """Return a key that orders runs by size: number of items, then their bytes, then the seed."""
    written = compact([item_json.to_json(item) for item in seed.items])
    # The seed breaks ties, so that two processes with equally small runs keep the same one.
    return len(seed.items), len(written), seed.config.seed


def list_files(folder: Path) -> Iterator[CorpusFile]:
    """Yield the files of a folder, by name; no run is replayed."""
    for path in sorted(folder.glob("*.json")):
        try:
            yield CorpusFile(path, seed_file.read(path))
        except BadSeedFile as error:
            yield CorpusFile(path, None, str(error))


def replay_kept(
    folder: Path = EPHEMERAL,
    only: Sequence[str] | None = None,
    known: Container[str] = (),
    *,
    removes: bool = False,
) -> Iterator[CorpusFile]:
    """Run each file again, by name, and count its passes in a row.

    `only`: the ids of scenarios whose files are run; None is all. `known`: fingerprints to leave out.
    `removes`: whether a file that passes is removed.
    """
    for kept in list_files(folder):
        if kept.seed and only is not None and kept.seed.config.scenario not in only:
            continue
        if kept.seed and kept.seed.fingerprint in known:
            continue
        # A bare file has no items to run, only a line about a run whose process ended.
        if kept.seed is None or kept.seed.is_bare:
            yield kept
            continue
        done = replay_in_time(kept.seed, relaxed=True)
        is_removed = removes and done is not None and done.what == "passes"
        if is_removed:
            kept.path.unlink(missing_ok=True)
        else:
            count_passes(kept.path, kept.seed, done)
        yield structs.replace(kept, replayed=done, is_removed=is_removed, is_endless=done is None)


def count_passes(path: Path, seed: SeedFile, done: Replayed | None) -> None:
    """Count a pass, or set the count to zero after a failure."""
    passes = seed.history.passes + 1 if done and done.what == "passes" else 0
    if passes != seed.history.passes:
        seed_file.write(path, structs.replace(seed, history=structs.replace(seed.history, passes=passes)))


# The durable folder.


def keep_for_good(source: Path, folder: Path = DURABLE, ticket: str = "", notes: str = "") -> Path:
    """Move a seed file to the durable folder. Raises NotKept, or BadSeedFile if it cannot be read."""
    seed = seed_file.read(source)
    past = seed.history
    history = structs.replace(past, passes=0, ticket=ticket or past.ticket, notes=notes or past.notes)
    seed = structs.replace(seed, history=history)
    if problem := problem_of(seed):
        raise NotKept(f"{source}: {problem}")
    done = replay(seed)
    if done.exit_code:
        raise NotKept(f"{source}: {done.what}: {done.why}; to expect this: umi-sim bless {source}")

    def set_repro(seed: SeedFile, path: Path) -> SeedFile:
        # Two files of one name may be two bugs, and overwriting one of them would lose a regression test.
        if path.exists() and not path.samefile(source):
            raise NotKept(
                f"{source}: {path} is there already{describe_expectation(path)}: remove one of the two"
            )
        return structs.replace(seed, repro=f"umi-sim replay {path.as_posix()}")

    if seed.failure:
        path = seed_file.save(seed, folder, filled=set_repro)
    else:
        path = folder / source.name
        seed_file.write(path, set_repro(seed, path))
    # A file from the ephemeral folder is moved; any other file belongs to the user and is copied.
    if source.resolve() != path.resolve() and source.resolve().parent == EPHEMERAL.resolve():
        source.unlink()
    return path


def describe_expectation(path: Path) -> str:
    seed = seed_file.maybe_read(path)
    return f", and expects to {seed.expect.result}" if seed else ""


def problem_of(seed: SeedFile) -> str:
    """Return why a file must not be in the durable folder; empty if it may be there."""
    if seed.is_edited:
        return "edited by hand, so its hashes prove nothing: umi-sim bless it"
    if seed.expect.result == "fail" and not seed.history.ticket:
        return "an open bug needs a ticket: --ticket TEXT"
    return ""
