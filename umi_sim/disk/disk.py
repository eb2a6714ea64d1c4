"""A disk: files as a running process sees them, and what is durable of them.

Law 1. What was synced survives; of what was not, each sector may survive or not, in any order.
Law 2. A file that was made or deleted may be again as it was, until its directory is synced.
Law 3. After a sync that failed, what it should have made durable may be lost, though it is still read.
Law 4. Events (a write, a cut, a sync, a delete) are counted; at one of them the power goes, or it fails.
"""

from hashlib import blake2b
from typing import Final

import msgspec

from umi_core.data import Owner
from umi_sim.kernel.prng import Stream

SECTOR_BYTES: Final = 512
KEPT: Final = (1, 2)  # of the sectors that were not synced


class PowerCut(Exception):
    """The power has gone. Open files are lost."""


class DiskFull(Exception):
    """There is no room for this write."""


class DiskFailed(Exception):
    """The disk could not do it."""


class File(Owner):
    """`content` is read; `durable` is certain; `writes` came since, where None cuts at a place."""

    content: bytearray = msgspec.field(default_factory=bytearray)
    durable: bytes = b""
    writes: list[tuple[int, bytes | None]] = []


class Disk(Owner):
    """At event `cut_at` the power goes, event `fail_at` fails; `fails_full`: for want of room."""

    chance: Stream
    cut_at: int = 0
    fail_at: int = 0
    fails_full: bool = False
    hashed: "blake2b" = msgspec.field(default_factory=lambda: blake2b(digest_size=16))
    event_count: int = 0
    files: dict[str, File] = {}
    entries: dict[str, File] = {}  # of the directory, durable
    moves: list[tuple[str, File | None]] = []  # made or deleted since
    left: dict[str, bytes] | None = None  # by the cut

    # What a running process does.

    def open(self, name: str) -> File:
        if name not in self.files:
            self.files[name] = File()
            self.moves.append((name, self.files[name]))
        return self.files[name]

    def write(self, file: File, place: int, data: bytes) -> None:
        self.event("write", place, data)
        put(file.content, place, data)
        file.writes.append((place, data))

    def cut(self, file: File, size: int) -> None:
        self.event("cut", size, b"")
        put(file.content, size, None)
        file.writes.append((size, None))

    def sync(self, file: File, is_new: bool) -> None:
        """Make writes durable. `is_new`: SQLite syncs the directory too, as it does for a new journal."""
        try:
            self.event("sync", len(file.content), b"")
        except (DiskFull, DiskFailed):
            # What was not written is given up, as Linux does after a failed sync: a second sync would
            # succeed, and make durable nothing of it.
            file.durable, file.writes = self.survivors(file), []
            raise
        file.durable, file.writes = bytes(file.content), []
        if is_new:
            self.sync_directory()

    def delete(self, name: str, is_synced: bool) -> None:
        self.event("delete", 0, name.encode())
        if self.files.pop(name, None) is not None:
            self.moves.append((name, None))
        if is_synced:
            self.sync_directory()

    def sync_directory(self) -> None:
        apply(self.entries, self.moves)
        self.moves = []

    def event(self, kind: str, place: int, data: bytes) -> None:
        """Raises PowerCut, DiskFull, DiskFailed. A process that was cut off goes on with files of no disk."""
        if self.left is not None:
            return
        self.event_count += 1
        self.hashed.update(repr((kind, place, data)).encode())
        if self.event_count == self.cut_at:
            self.cut_power()
            raise PowerCut
        if self.event_count == self.fail_at:
            raise DiskFull if self.fails_full and kind == "write" else DiskFailed

    # The power.

    def cut_power(self) -> None:
        """Decide what is left: of the directory some first changes, of the files some sectors."""
        entries = dict(self.entries)
        # A prefix, as file systems keep the order of changes
        # of one directory; sectors of files have no order.
        apply(entries, self.moves[: self.chance.between(0, len(self.moves))])
        self.left = {name: self.survivors(entries[name]) for name in sorted(entries)}

    def survivors(self, file: File) -> bytes:
        """Durable bytes, and of each later write the sectors that got there."""
        content = bytearray(file.durable)
        for place, data in file.writes:
            if data is None:
                if self.chance.chance(*KEPT):
                    put(content, place, None)
                continue
            for start in range(0, len(data), SECTOR_BYTES):
                if self.chance.chance(*KEPT):
                    put(content, place + start, data[start : start + SECTOR_BYTES])
        return bytes(content)

    def again(self, cut_at: int, fail_at: int) -> "Disk":
        """Return the disk when the power is back: what is left is durable, and events are counted anew."""
        if self.left is None:
            self.cut_power()
        assert self.left is not None
        disk = Disk(self.chance, cut_at, fail_at, self.fails_full, self.hashed)
        disk.files = {name: File(bytearray(data), data) for name, data in self.left.items()}
        disk.entries = dict(disk.files)
        return disk


def put(content: bytearray, place: int, data: bytes | None) -> None:
    """Write there, or cut there; a gap is zeros."""
    if data is None:
        del content[place:]
        return
    content.extend(bytes(max(0, place - len(content))))
    content[place : place + len(data)] = data


def apply(entries: dict[str, File], moves: list[tuple[str, File | None]]) -> None:
    for name, file in moves:
        if file is None:
            entries.pop(name, None)
        else:
            entries[name] = file
