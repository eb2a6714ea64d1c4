"""The disk as a file system of SQLite, with a chance of its own, so that a case runs the same every time."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import apsw

from umi_sim.disk.disk import Disk, DiskFailed, DiskFull, File
from umi_sim.kernel.prng import Stream

NAME: Final = "umi-disk"
JOURNALS: Final = apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL | apsw.SQLITE_OPEN_WAL


class Opened:
    """An open file, the only one there is, so that locks do nothing."""

    def __init__(self, disk: Disk, file: File, is_new_journal: bool) -> None:
        self.disk, self.file, self.is_new = disk, file, is_new_journal

    def xRead(self, amount: int, offset: int) -> bytes:  # as SQLite calls it, here and below
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
        # A sector that is written again is old or new, and its neighbours stay: what `survivors` does, too.
        return apsw.SQLITE_IOCAP_POWERSAFE_OVERWRITE

    def xCheckReservedLock(self) -> bool:
        return False

    def xFileControl(self, operation: int, pointer: int) -> bool:
        return False

    def xLock(self, level: int) -> None: ...
    def xUnlock(self, level: int) -> None: ...
    def xClose(self) -> None: ...


class FileSystem(apsw.VFS):
    """`disk` is the one that is there now; files that were opened on an earlier one stay there."""

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
        """Make durable what a file holds, as `fsync` does, which reaches no simulated disk."""
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
    """Raise failures of the disk under the names that SQLite has for them."""
    try:
        yield
    except DiskFull:
        raise apsw.FullError("the disk is full") from None
    except DiskFailed:
        raise apsw.IOError("the disk failed") from None


@contextmanager
def mount_files(disk: Disk, chance: Stream) -> Iterator[FileSystem]:
    """Let SQLite use this disk, and draw its random numbers from this chance, until the block ends."""
    before = apsw.vfs_names()[0]
    files = FileSystem(disk, chance)
    apsw.set_default_vfs(NAME)
    apsw.randomness(0)  # forget the random bytes that SQLite has in store
    try:
        yield files
    finally:
        apsw.set_default_vfs(before)
        apsw.randomness(0)
        files.unregister()
