"""Plain files of a store: calls that fail, as on a full disk, and calls in which the process dies.

Law 1. This file needs only the standard library: an exported script contains a copy of it.
Law 2. A write is a call of the operating system. Data in buffers of Python is lost when the process dies.
Law 3. A file open for writing is identified by its descriptor, whichever function has opened it.
Law 4. After a failed write the disk stays full for this file until the item ends, so that closing the file
       cannot write its buffer either.
"""

import builtins
import io
import os
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from errno import EIO, ENOSPC
from typing import Any

from umi_sim.targets import clocks

BUFFER_BYTES = 8192  # fixed, so that writes have the same sizes on every machine
WRITING = os.O_WRONLY | os.O_RDWR
FULL, BROKEN = (ENOSPC, "No space left on device"), (EIO, "Input/output error")


class OwnFile(io.FileIO):
    """A file of the store. It writes by functions of `os`, which are patched so that they can fail."""

    sites: Any
    is_buffered = True  # by a buffer that holds a lock while this file is written

    def write(self, data: Any) -> int:
        return int(self.act(os.write, data))

    def truncate(self, size: int | None = None) -> int:
        length = self.tell() if size is None else size
        self.act(os.ftruncate, length)
        return length

    def act(self, function: Callable[[int, Any], Any], argument: Any) -> Any:
        self.sites.is_locked = self.is_buffered
        try:
            return function(self.fileno(), argument)
        finally:
            self.sites.is_locked = False


def with_points(kind: Any) -> Any:
    """Return a subclass of a buffer in which jobs can pause before it takes its lock."""

    def method(real: Any) -> Any:
        def call(self: Any, *args: Any) -> Any:
            self.raw.sites.switch()
            return real(self, *args)

        return call

    return type(kind.__name__, (kind,), {name: method(getattr(kind, name)) for name in BUFFERED})


BUFFERED = "read", "write", "flush", "truncate"
BufferedWriter, BufferedRandom = with_points(io.BufferedWriter), with_points(io.BufferedRandom)


class PlainFiles:
    """Replacements of the functions that write plain files; they report to `sites`."""

    def __init__(self, sites: Any) -> None:
        self.sites = sites
        self.opened: dict[int, tuple[str, tuple[int, int]]] = {}  # by descriptor: path, (device, inode)

    def path_of(self, file: Any) -> str:
        """Return the path of a file of the store, given by path or descriptor; "" for any other file."""
        file = file.fileno() if hasattr(file, "fileno") else file
        if not isinstance(file, int):
            return os.path.abspath(os.fsdecode(file)) if self.sites.is_own(file) else ""
        path, inode = self.opened.get(file, ("", None))
        try:
            return path if path and inode == inode_of(file) else ""  # the descriptor may have been reused
        except OSError:
            return ""

    def opening(self, real: Any) -> Any:
        """Return a replacement of `open`, which opens files for writing as an OwnFile."""

        def open_file(
            file: Any, mode: str = "r", buffering: int = -1, encoding: Any = None, errors: Any = None,
            newline: Any = None, closefd: bool = True, opener: Any = None,
        ) -> Any:  # fmt: skip
            is_wrong = buffering == 0 if "b" not in mode else any((encoding, errors, newline))
            is_own = self.path_of(file)
            if is_own:
                self.sites.switch()
            if is_wrong or not set(mode) & set("wax+") or not is_own:
                return real(file, mode, buffering, encoding, errors, newline, closefd, opener)
            opener = opener or (lambda path, flags: os.open(path, flags, 0o666))
            file = file if isinstance(file, int) else os.fspath(file)
            raw = OwnFile(file, mode.replace("b", "").replace("t", ""), closefd, opener)
            raw.sites, raw.is_buffered = self.sites, buffering != 0
            if buffering == 0:
                return raw
            buffered = BufferedRandom if "+" in mode else BufferedWriter
            binary = buffered(raw, buffering if buffering > 1 else BUFFER_BYTES)
            if "b" in mode:
                return binary
            text = io.TextIOWrapper(binary, encoding, errors, newline, line_buffering=buffering == 1)
            vars(text)["mode"] = mode
            return text

        return open_file

    def opening_number(self, real: Any) -> Any:
        def open_number(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
            own = self.path_of(path) if flags & WRITING else ""
            if own:
                self.sites.reach("open", OSError(*FULL, str(path)))
            number: int = real(path, flags, *args, **kwargs)
            if own:
                self.opened[number] = own, inode_of(number)
            return number

        return open_number

    def writing(self, real: Any) -> Any:
        def write(file: int, data: Any, *place: Any) -> int:
            if not (path := self.path_of(file)):
                return int(real(file, data, *place))
            size, error, count = memoryview(data).nbytes, OSError(*FULL, path), 0
            if path == self.sites.full:
                raise error

            def write_part(percent: int) -> str:
                nonlocal count
                if wanted := size * percent // 100:
                    count = real(file, memoryview(data).cast("B")[:wanted], *place)
                return f"{count} of {size} bytes written to {self.sites.label(path)}"

            try:
                self.sites.reach("write", error, write_part)
            except OSError:
                self.sites.full = path
                if not count:
                    raise
                return count  # like a disk with room for a part: the next write fails
            return int(real(file, data, *place))

        return write

    def cutting(self, real: Any) -> Any:
        def truncate(file: Any, length: int) -> None:
            def cut(percent: int) -> str:
                if percent:
                    real(file, length)
                return f"{self.sites.label(path)} {'' if percent else 'not '}cut to {length} bytes"

            if path := self.path_of(file):
                self.sites.reach("truncate", OSError(*BROKEN, path), cut)
            real(file, length)

        return truncate

    def pausing(self, real: Any) -> Any:
        """Return a replacement that does not fail, but lets other jobs run before the call."""

        def call(path: Any = ".", *args: Any, **kwargs: Any) -> Any:
            if self.path_of(path):
                self.sites.switch()
            return real(path, *args, **kwargs)

        return call

    def failing(self, site: str, at: int) -> Callable[[Any], Any]:
        """Return a wrapper for functions that fail as a whole. `at`: the index of the file argument."""

        def make(real: Any) -> Any:
            def call(*args: Any, **kwargs: Any) -> Any:
                if path := self.path_of([*args, *kwargs.values()][at]):
                    self.sites.reach(site, OSError(*BROKEN, path))
                return real(*args, **kwargs)

            return call

        return make


def inode_of(number: int) -> tuple[int, int]:
    about = os.fstat(number)
    return about.st_dev, about.st_ino


def install(sites: Any) -> AbstractContextManager[None]:
    """Let operations on files in the folder of `sites` fail until the block ends."""
    files = PlainFiles(sites)
    kinds: dict[str, Callable[[Any], Any]] = {
        "open": files.opening_number, "write": files.writing, "pwrite": files.writing,
        "truncate": files.cutting, "ftruncate": files.cutting,
        **dict.fromkeys(("fsync", "fdatasync"), files.failing("sync", 0)),
        **dict.fromkeys(("replace", "rename"), files.failing("replace", 1)),
        **dict.fromkeys(("remove", "unlink", "stat", "listdir", "scandir"), files.pausing),
    }  # fmt: skip
    names = [name for name in kinds if hasattr(os, name)]  # not all systems have all of them
    ours = {getattr(os, name): kinds[name](getattr(os, name)) for name in names}
    ours[io.open] = files.opening(io.open)
    changes = [(os, name, ours[getattr(os, name)]) for name in names]
    changes += [(owner, "open", ours[io.open]) for owner in (builtins, io)]
    if hasattr(shutil, "_USE_CP_SENDFILE"):  # `sendfile` copies without calls of write
        changes.append((shutil, "_USE_CP_SENDFILE", False))
    return clocks.patch_names([*changes, *clocks.find_uses(ours)])
