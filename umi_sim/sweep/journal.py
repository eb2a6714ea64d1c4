"""Journals: files of finished chunks, to continue a sweep later and to merge the work of several machines.

Law 1. Each chunk is one line of JSON, appended and synced; a torn last line counts as not written.
Law 2. A chunk counts once, even if it occurs twice: merging is commutative, associative and idempotent.
Law 3. Chunks of other code, of another text of a scenario, or with overlapping seeds are refused.
"""

import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final

from umi_core.data import Data, Owner
from umi_sim.formats.schema import Seed, Wrong, as_object, at, fail, of_class, wrong
from umi_sim.formats.strict_json import compact, open_file, parse_json
from umi_sim.kernel.wording import escape_text
from umi_sim.record.saved_failures import write_whole
from umi_sim.seedfile import files as seed_file
from umi_sim.sweep.plan import Task, chunk_name, target
from umi_sim.sweep.totals import Totals

FORMAT: Final = "umi-sweep"
VERSION: Final = 1
HEAD: Final = f'{{"format":"{FORMAT}",'.encode()
LINE_BYTES_MAX: Final = 64 * 1024 * 1024  # a chunk with the seed file of each of its runs
LINE_VALUE_COUNT_MAX: Final = 4_000_000


class BadLedger(ValueError):
    """A file that is no journal, or one that does not belong to this sweep; the message says what to do."""


class Chunk(Data):
    """The results of the seeds of one chunk."""

    name: str
    target: str
    scenario: str
    digest: str
    base: str
    seeds: tuple[Seed, ...]
    totals: Totals

    @property
    def is_done(self) -> bool:
        """Return True if no seed of the chunk was lost."""
        return not self.totals.lost


CHUNK: Final = of_class(Chunk, name="chunk")
Chunks = dict[str, Chunk]


def chunk_of(task: Task, totals: Totals) -> Chunk:
    return Chunk(task.chunk, target(), task.scenario, task.digest, task.base, task.seeds, totals)


def add_up(chunks: Mapping[str, Chunk]) -> Totals:
    """Add up the totals of all chunks."""
    totals = Totals()
    for chunk in chunks.values():
        totals.add(chunk.totals)
    return totals


def join_chunks(chunks: Iterable[Chunk]) -> Chunks:
    """Return each chunk once, by name: of several the one with the fewest lost seeds, else the first text."""
    found: Chunks = {}
    for chunk in chunks:
        known = found.get(chunk.name)
        # `min` by a total order, so the order and grouping of merges do not matter (law 2).
        best = (
            chunk if known is None else min(known, chunk, key=lambda it: (len(it.totals.lost), line_of(it)))
        )
        found[chunk.name] = best
    return {name: found[name] for name in sorted(found)}


# Whether chunks belong together.


def must_fit(chunks: Iterable[Chunk], digests: Mapping[str, str], name: str) -> None:
    """Raise BadLedger for a chunk of another text of one of these scenarios."""
    for chunk in chunks:
        # Chunks of scenarios that are not swept now may stay in the file.
        if chunk.digest != digests.get(chunk.scenario, chunk.digest):
            raise BadLedger(
                f"{name}: made with another text of {chunk.scenario}: use that one, or a new file"
            )


def must_not_overlap(chunks: Mapping[str, Chunk]) -> dict[tuple[str, int], str]:
    """Return the chunk of each seed. Raises BadLedger for a seed in two chunks: it would count twice."""
    owners: dict[tuple[str, int], str] = {}
    for chunk in chunks.values():
        for seed in chunk.seeds:
            if owners.setdefault((chunk.scenario, seed), chunk.name) != chunk.name:
                raise BadLedger(
                    f"{chunk.scenario} seed {seed} is in two different chunks: "
                    "merge shards of one n and of the same seeds"
                )
    return owners


# Reading and writing the file.


def line_of(chunk: Chunk) -> str:
    # The format comes first, so that the first bytes identify the file; `compact` sorts the other fields.
    return f"{HEAD.decode()}{compact({'version': VERSION, **CHUNK.write(chunk)})[1:]}"


def read(path: Path) -> Chunks:
    """Read the chunks in a file. Raises BadLedger."""
    try:
        with open_file(path) as file:
            return join_chunks(chunks_in(file, show_path(path)))
    except OSError as error:
        raise BadLedger(f"{show_path(path)}: cannot be read: {error.strerror}") from None


def chunks_in(file: BinaryIO, name: str) -> Iterator[Chunk]:
    """Yield the chunk of each line, except a torn last line. Raises BadLedger."""
    # Reads at most one byte more than a line may have, so that no file is read into memory as one line.
    for number, line in enumerate(iter(lambda: file.readline(LINE_BYTES_MAX + 1), b""), 1):
        if line.endswith(b"\n") or len(line) > LINE_BYTES_MAX:
            yield chunk_in(line, f"{name}: line {number}")
        # Not a torn line of a journal, so this is another file, to which a sweep must not append.
        elif not is_head(line):
            raise BadLedger(f"{name}: no file of a sweep: name another one")


def is_head(start: bytes) -> bool:
    # The second test is for a line that was torn within its head: `{"form`.
    return start.startswith(HEAD) or HEAD.startswith(start)


def chunk_in(line: bytes, place: str) -> Chunk:
    try:
        fields = as_object(parse_json(line, LINE_BYTES_MAX, LINE_VALUE_COUNT_MAX))
        head = (fields.pop("format", None), fields.pop("version", None))
        if head != (FORMAT, VERSION):
            fail(f"{FORMAT}, version {VERSION}", list(head))
        if fields.get("target") != target():  # totals of other code may have other fields
            message = f"made by {fields.get('target')}, this is {target()}: use that code, or a new file"
            raise BadLedger(escape_text(f"{place}: {message}"))
        return check_chunk(CHUNK.read(fields))
    except Wrong as error:
        raise BadLedger(f"{place}: not a line of a sweep: {escape_text(str(error))}") from None


def check_chunk(chunk: Chunk) -> Chunk:
    """Return the chunk if its fields are consistent. Raises Wrong."""
    totals = chunk.totals
    for found in totals.found.values():
        at("totals.found", must_be_seed_file, found.text)
    own: dict[str, list[Any]] = {
        "found": [each.fingerprint for each in totals.found.values()],
        "apart": [(each.scenario, each.seed, each.rule) for each in totals.apart.values()],
        "lost": [(each.scenario, each.seed) for each in totals.lost.values()],
    }
    for name, keys in own.items():
        # An entry under another key than its own would be counted twice when totals are added.
        if list(getattr(totals, name)) != keys:
            wrong(f"totals.{name} has wrong keys")
    if totals.runs + len(totals.lost) != len(chunk.seeds):
        wrong("its runs, and those that were lost, are not all of its seeds")
    if chunk.name != chunk_name(chunk.scenario, chunk.digest, chunk.seeds):
        wrong("chunk is not the digest of its seeds")
    return chunk


def must_be_seed_file(text: str) -> None:
    try:
        if text:
            seed_file.loads(text.encode(errors="surrogatepass"), "text")
    except seed_file.BadSeedFile as error:
        wrong(str(error))


def must_be_one(path: Path) -> None:
    """Raise BadLedger if the file at this path is not a journal."""
    with path.open("rb") as file:
        if not is_head(file.read(len(HEAD))):
            raise BadLedger(f"{show_path(path)}: no file of a sweep: name another one")


def write(path: Path, chunks: Mapping[str, Chunk]) -> None:
    """Write a journal of these chunks, sorted by name, so that the bytes do not depend on the merge order."""
    write_whole(path, "".join(f"{line_of(chunks[name])}\n" for name in sorted(chunks)).encode())


def show_path(path: Path) -> str:
    return escape_text(str(path))


class Journal(Owner):
    """The journal that a sweep appends to. `done`: its chunks when it was opened."""

    path: Path
    done: Chunks
    owners: dict[tuple[str, int], str] = {}  # the name of the chunk of each (scenario, seed)

    @classmethod
    def open(cls, path: Path) -> "Journal":
        """Open a journal and read it if it exists. Raises BadLedger, also if it cannot be written."""
        done = read(path) if path.exists() else {}
        if not path.parent.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
            raise BadLedger(f"{show_path(path)}: cannot be written: name a file in an existing folder")
        return cls(path, done, must_not_overlap(done))

    def must_fit(self, task: Task) -> None:
        """Raise BadLedger if seeds of this task are in another chunk of the file."""
        for seed in task.seeds:
            if self.owners.get((task.scenario, seed), task.chunk) != task.chunk:
                message = "has other seeds: go on with the same seeds and shards, or name a new file"
                raise BadLedger(f"{show_path(self.path)}: the chunk of {task.scenario} seed {seed} {message}")

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the file for this sweep and remove a torn last line. Raises BadLedger if it is locked."""
        with self.path.open("ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                message = "another sweep is writing to it: wait until it has ended, or name a file of its own"
                raise BadLedger(f"{show_path(self.path)}: {message}") from None
            # If there is no line end, rfind returns -1, and the file becomes empty.
            file.truncate(self.path.read_bytes().rfind(b"\n") + 1)
            yield

    def append(self, chunk: Chunk) -> None:
        """Add a chunk; it is on disk when this returns."""
        with self.path.open("ab") as file:
            file.write(f"{line_of(chunk)}\n".encode())
            file.flush()
            os.fsync(file.fileno())
