"""Journals: finished chunks in a file, so that a sweep can go on later and several machines' work adds up.

Law 1. A line of JSON for each chunk, appended and synced; a last line that is torn was never written.
Law 2. A chunk counts once, however often it stands there: merging is commutative, associative, idempotent.
Law 3. Chunks of other code, of another text of a scenario, or cut otherwise are refused, never mixed.
"""

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

import attrs

from umi_core.data import Data, Owner
from umi_sim.kernel.wording import escaped
from umi_sim.record.trace import write_whole
from umi_sim.seedfile import files as seed_file
from umi_sim.sweep.plain import Plain, from_plain, listed, seed_of, string, table, to_plain, wrong
from umi_sim.sweep.plan import Task, chunk_name, target
from umi_sim.sweep.totals import Totals

FORMAT: Final = "umi-sweep"
VERSION: Final = 1
HEAD: Final = f'{{"format":"{FORMAT}",'.encode()


class BadLedger(ValueError):
    """A file that is no journal, or one that does not belong to this sweep; one line says what to do."""


@attrs.frozen
class Chunk(Data):
    """What the seeds of one chunk came to."""

    name: str
    target: str
    scenario: str
    digest: str
    base: str
    seeds: tuple[int, ...]
    totals: Totals

    @property
    def is_done(self) -> bool:
        """Nothing of it was lost, so there is nothing to try again."""
        return not self.totals.lost


Chunks = dict[str, Chunk]


def chunk_of(task: Task, totals: Totals) -> Chunk:
    return Chunk(task.chunk, target(), task.scenario, task.digest, task.base, task.seeds, totals)


def add_up(chunks: Mapping[str, Chunk]) -> Totals:
    """The totals of all chunks."""
    totals = Totals()
    for chunk in chunks.values():
        totals.add(chunk.totals)
    return totals


def joined(chunks: Iterable[Chunk]) -> Chunks:
    """Each chunk once, in order of names: the one that lost least, else the first in order of text."""
    found: Chunks = {}
    for chunk in chunks:
        known = found.get(chunk.name)
        found[chunk.name] = chunk if known is None else min(known, chunk, key=preference)
    return {name: found[name] for name in sorted(found)}


def preference(chunk: Chunk) -> tuple[int, str]:
    return len(chunk.totals.lost), line_of(chunk)


# Whether chunks belong together.


def must_fit(chunks: Iterable[Chunk], digests: Mapping[str, str], name: str) -> None:
    """Refuse chunks of another text of one of these scenarios."""
    for chunk in chunks:
        if chunk.digest != digests.get(chunk.scenario, chunk.digest):
            raise BadLedger(
                f"{name}: made with another text of {chunk.scenario}: use that one, or a new file"
            )


def must_not_overlap(chunks: Mapping[str, Chunk]) -> dict[tuple[str, int], str]:
    """Which chunk each seed is in. Refuse one that stands in two chunks: it would count twice."""
    owners: dict[tuple[str, int], str] = {}
    for chunk in chunks.values():
        for seed in chunk.seeds:
            if owners.setdefault((chunk.scenario, seed), chunk.name) != chunk.name:
                raise BadLedger(
                    f"{chunk.scenario} seed {seed} is in two chunks that were cut otherwise: "
                    "merge shards of one n and of the same seeds"
                )
    return owners


# The file.


def line_of(chunk: Chunk) -> str:
    document = {
        "format": FORMAT, "version": VERSION, "chunk": chunk.name, "target": chunk.target,
        "scenario": chunk.scenario, "digest": chunk.digest, "base": chunk.base,
        "seeds": [str(seed) for seed in chunk.seeds], "totals": to_plain(chunk.totals),
    }  # fmt: skip
    return json.dumps(document, separators=(",", ":"))


def read(path: Path) -> Chunks:
    """The chunks in a file. Raises BadLedger."""
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise OSError(0, "not a file")
        *lines, torn = path.read_bytes().split(b"\n")
    except OSError as error:
        raise BadLedger(f"{shown(path)}: cannot be read: {error.strerror}") from None
    if not torn.startswith(HEAD) and not HEAD.startswith(torn):
        raise BadLedger(f"{shown(path)}: no file of a sweep: name another one")
    return joined(chunk_in(line, f"{shown(path)}: line {number}") for number, line in enumerate(lines, 1))


def chunk_in(line: bytes, place: str) -> Chunk:
    try:
        fields = table(json.loads(line), "the line")
        if (fields.get("format"), fields.get("version")) != (FORMAT, VERSION):
            wrong("format", fields.get("format"))
        made_by = string(fields.get("target"), "target")
        if made_by != target():  # whose totals may have other fields
            told = f"made by {made_by}, this is {target()}: use that code, or a new file"
            raise BadLedger(escaped(f"{place}: {told}"))
        return checked(fields)
    except BadLedger:
        raise
    except (ValueError, RecursionError) as error:
        said = "not JSON" if isinstance(error, json.JSONDecodeError | RecursionError) else str(error)
        raise BadLedger(f"{place}: not a line of a sweep: {escaped(said)}") from None


def checked(fields: Plain) -> Chunk:
    name, code, scenario, digest, base = (
        string(fields.get(key), key) for key in ("chunk", "target", "scenario", "digest", "base")
    )
    seeds = tuple(seed_of(seed) for seed in listed(fields.get("seeds"), "seeds"))
    chunk = Chunk(name, code, scenario, digest, base, seeds, from_plain(fields.get("totals")))
    for found in chunk.totals.found.values():
        if found.text:
            seed_file.loads(found.text.encode(errors="surrogatepass"), "found.text")
    if chunk.totals.runs + len(chunk.totals.lost) != len(seeds):
        wrong("totals.runs", chunk.totals.runs)
    if name != chunk_name(scenario, digest, seeds):
        wrong("chunk", name)
    return chunk


def must_be_one(path: Path) -> None:
    """Raises BadLedger if there is something else in the place of a file of chunks."""
    with path.open("rb") as file:
        if (start := file.read(len(HEAD))) != HEAD and not HEAD.startswith(start):
            raise BadLedger(f"{shown(path)}: no file of a sweep: name another one")


def write(path: Path, chunks: Mapping[str, Chunk]) -> None:
    """A file with these chunks, in order of names: the same bytes, whatever they were merged from."""
    write_whole(path, "".join(f"{line_of(chunks[name])}\n" for name in sorted(chunks)).encode())


def shown(path: Path) -> str:
    return escaped(str(path))


@attrs.define
class Journal(Owner):
    """A file that a sweep appends to. `done`: what it held when it was opened."""

    path: Path
    done: Chunks
    owners: dict[tuple[str, int], str] = attrs.field(factory=dict)  # of each seed the chunk that it is in

    @classmethod
    def open(cls, path: Path) -> "Journal":
        """Read what is there. Raises BadLedger, also if it could not be written to."""
        done = read(path) if path.exists() else {}
        if not path.parent.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
            raise BadLedger(f"{shown(path)}: cannot be written, name a file in a folder that is there")
        return cls(path, done, must_not_overlap(done))

    def must_fit(self, task: Task) -> None:
        """Raises BadLedger if seeds of this task stand in a chunk that was cut otherwise."""
        for seed in task.seeds:
            if self.owners.get((task.scenario, seed), task.chunk) != task.chunk:
                told = "was cut otherwise: go on with the same seeds and shards, or name a new file"
                raise BadLedger(f"{shown(self.path)}: the chunk of {task.scenario} seed {seed} {told}")

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other sweeps from writing to it meanwhile. Raises BadLedger if one does."""
        with self.path.open("ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                told = "another sweep is writing to it: wait until it has ended, or name a file of its own"
                raise BadLedger(f"{shown(self.path)}: {told}") from None
            yield

    def append(self, chunk: Chunk) -> None:
        """Add a chunk; it is on disk when this returns."""
        with self.path.open("ab+") as file:
            file.truncate(whole_bytes(file))
            file.write(f"{line_of(chunk)}\n".encode())
            file.flush()
            os.fsync(file.fileno())


def whole_bytes(file: BinaryIO) -> int:
    """How many bytes of the file are whole lines."""
    at = file.seek(0, os.SEEK_END)
    while at > 0:
        start = max(0, at - 65_536)
        file.seek(start)
        block = file.read(at - start)
        if b"\n" in block:
            return start + block.rindex(b"\n") + 1
        at = start
    return 0
