"""The disk as a file system of SQLite, with its own random numbers, so that a case is deterministic."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import apsw

from umi_sim.disk.disk import Disk, DiskFailed, DiskFull, File
from umi_sim.kernel.prng import Stream

NAME: Final = "umi-disk"
JOURNALS: Final = apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL | apsw.SQLITE_OPEN_WAL


class Opened:
    """An open file. Only one process uses the disk, so locks do nothing."""

    def __init__(self, disk: Disk, file: File, is_new_journal: bool) -> None:
        self.disk, self.file, self.is_new = disk, file, is_new_journal

    def xRead(self, amount: int, offset: int) -> bytes:  # this name and those below are SQLite's
        return bytes(self.file.content[offset : offset + amount])

    def xWrite(self, data: bytes, offset: int) -> None:
        with as_sqlite():
            self.disk.write(self.file, offset, bytes(data))

    def xTruncate(self, size: int) -> None:
        with as_sqlite():
            self.disk.cut(self.file, size)

    def xSync(self, flags: int) -> None:
        with as_sqlite():
            self.disk.sync(self.file, self.is_new)
        self.is_new = False

    def xFileSize(self) -> int:
        return len(self.file.content)

    def xSectorSize(self) -> int:
        return 512

    def xDeviceCharacteristics(self) -> int:
        # A power cut leaves a sector old or new, and does not change its neighbours, as in `Disk.survivors`.
        return apsw.SQLITE_IOCAP_POWERSAFE_OVERWRITE

    def xCheckReservedLock(self) -> bool:
        return False

    def xFileControl(self, operation: int, pointer: int) -> bool:
        return False

    def xLock(self, level: int) -> None: ...
    def xUnlock(self, level: int) -> None: ...
    def xClose(self) -> None: ...


class FileSystem(apsw.VFS):
    """A file system on the current `disk`; files that were opened on an earlier disk stay on that."""

    def __init__(self, disk: Disk, chance: Stream) -> None:
        self.disk, self.chance = disk, chance
        super().__init__(NAME, "")

    def xOpen(self, name: Any, flags: list[int]) -> Any:
        path = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        is_new = path not in self.disk.files
        flags[1] = flags[0]
        return Opened(self.disk, self.disk.open(path), is_new and bool(flags[0] & JOURNALS))

    def xDelete(self, name: str, syncdir: bool) -> None:
        with as_sqlite():
            self.disk.delete(name, bool(syncdir))

    def sync(self, path: str) -> None:
        """Make a file durable, in place of `fsync`, which would not reach the simulated disk."""
        if path in self.disk.files:
            with as_sqlite():
                self.disk.sync(self.disk.files[path], is_new=False)

    def xAccess(self, name: str, flags: int) -> bool:
        return name in self.disk.files

    def xFullPathname(self, name: str) -> str:
        return name

    def xRandomness(self, count: int) -> bytes:
        return bytes(self.chance.below(256) for _ in range(count))


@contextmanager
def as_sqlite() -> Iterator[None]:
    """Raise failures of the disk as the exceptions of SQLite."""
    try:
        yield
    except DiskFull:
        raise apsw.FullError("the disk is full") from None
    except DiskFailed:
        raise apsw.IOError("the disk failed") from None


@contextmanager
def mount_files(disk: Disk, chance: Stream) -> Iterator[FileSystem]:
    """Make SQLite use this disk, and draw random numbers from `chance`, until the block ends."""
    before = apsw.vfs_names()[0]
    files = FileSystem(disk, chance)
    apsw.set_default_vfs(NAME)
    apsw.randomness(0)  # drops the random bytes that SQLite has buffered
    try:
        yield files
    finally:
        apsw.set_default_vfs(before)
        apsw.randomness(0)
        files.unregister()
