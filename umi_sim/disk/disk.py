"""A disk: files as a running process sees them, and their durable content.

Law 1. Synced writes survive a power cut. Of other writes each sector may survive or not, in any order.
Law 2. Until its directory is synced, a power cut may undo the creation or deletion of a file.
Law 3. After a failed sync the unsynced writes may be lost, although the process still reads them.
Law 4. Events (write, cut, sync, delete) are counted; the power fails at one of them, and another one fails.
"""

from hashlib import blake2b
from typing import Final

import msgspec

from umi_core.data import Owner
from umi_sim.kernel.prng import Stream

SECTOR_BYTES: Final = 512
KEPT: Final = (1, 2)  # the chance of an unsynced sector to survive


class PowerCut(Exception):
    """The power has failed. Open files are lost."""


class DiskFull(Exception):
    """There is no room for this write."""


class DiskFailed(Exception):
    """The disk could not do the operation."""


class File(Owner):
    """A file. `content`: as read; `durable`: as synced; `writes` since: (place, data or None to truncate)."""

    content: bytearray = msgspec.field(default_factory=bytearray)
    durable: bytes = b""
    writes: list[tuple[int, bytes | None]] = []


class Disk(Owner):
    """A disk. The power fails at event `cut_at`, event `fail_at` fails; `fails_full`: writes fail as full."""

    chance: Stream
    cut_at: int = 0
    fail_at: int = 0
    fails_full: bool = False
    hashed: "blake2b" = msgspec.field(default_factory=lambda: blake2b(digest_size=16))
    event_count: int = 0
    files: dict[str, File] = {}
    entries: dict[str, File] = {}  # the durable entries of the directory
    moves: list[tuple[str, File | None]] = []  # files created or deleted (None) since
    left: dict[str, bytes] | None = None  # the files that a power cut left; None before it

    # Operations of a running process.

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
            # Unsynced writes are dropped, as Linux does after a failed sync: a second sync would succeed
            # without making them durable.
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
        """Count an event. Raises PowerCut, DiskFull or DiskFailed. After a power cut events are ignored."""
        if self.left is not None:
            return
        self.event_count += 1
        self.hashed.update(repr((kind, place, data)).encode())
        if self.event_count == self.cut_at:
            self.cut_power()
            raise PowerCut
        if self.event_count == self.fail_at:
            raise DiskFull if self.fails_full and kind == "write" else DiskFailed

    # Power cuts.

    def cut_power(self) -> None:
        """Draw what survives: the first changes of the directory, and some sectors of the files."""
        entries = dict(self.entries)
        # A prefix of the changes survives, because file systems keep the
        # order of changes of one directory; sectors of files have no order.
        apply(entries, self.moves[: self.chance.between(0, len(self.moves))])
        self.left = {name: self.survivors(entries[name]) for name in sorted(entries)}

    def survivors(self, file: File) -> bytes:
        """Return the durable content, with the surviving sectors of each later write."""
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
        """Return the disk after the power is back: surviving content is durable, and events start at 0."""
        if self.left is None:
            self.cut_power()
        assert self.left is not None
        disk = Disk(self.chance, cut_at, fail_at, self.fails_full, self.hashed)
        disk.files = {name: File(bytearray(data), data) for name, data in self.left.items()}
        disk.entries = dict(disk.files)
        return disk


def put(content: bytearray, place: int, data: bytes | None) -> None:
    """Write data at a place, with zeros in a gap before it, or truncate at the place if data is None."""
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
