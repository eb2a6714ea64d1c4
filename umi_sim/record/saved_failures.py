"""Files of failures: which name each gets, and how it is written.

Law 1. A failure that was written before is written to its own file again. No file of another
       failure is ever replaced, nor one that cannot be read.
Law 2. A reader sees the old file or the new one. Two processes never choose the same name.
"""

import fcntl
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Final

from umi_sim.formats.strict_json import bytes_of, compact
from umi_sim.record.trace import write_whole

Json = object
DIGEST_BYTES: Final = 4
STORE_FORMAT: Final = "umi-target"
STORE_MARK: Final = re.compile(f'"format"\\s*:\\s*"{STORE_FORMAT}"'.encode())
HEAD_BYTES: Final = 4_096


def save(
    folder: Path, name: str, items: Json, is_own: Callable[[Path], bool], content: Callable[[Path], bytes]
) -> Path:
    """Write a failure to a file of its own in `folder`, and return the path.

    `name`: the name of the file if no other failure has it; else a digest of `items` follows it.
    `is_own`: whether the file that is there holds this failure. `content`: what to write to this path.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(folder):
        path = own_path(folder, name, items, is_own)
        write_whole(path, content(path))
    return path


def own_path(folder: Path, name: str, items: Json, is_own: Callable[[Path], bool]) -> Path:
    """Return the file that holds this failure; if there is none, the first name that is free."""
    free = None
    for path in names_of(folder, name, items):
        if not path.exists():
            free = free or path
            # If the plain name is free, this failure may still lie under its digest: the file of another one
            # that had the plain name may have been removed. Behind a free digest there is nothing.
            if path.stem != name:
                return free
        elif is_own(path):
            return path
    raise AssertionError("names never end")


def names_of(folder: Path, name: str, items: Json) -> Iterator[Path]:
    """Yield the names that a failure may have, in the order in which they are tried."""
    digest = blake2b(compact(items).encode(), digest_size=DIGEST_BYTES).hexdigest()
    yield folder / f"{name}.json"
    yield folder / f"{name}-{digest}.json"
    yield from (folder / f"{name}-{digest}-{number}.json" for number in count(2))


def is_run_of_store(path: Path) -> bool:
    """Check whether the first lines of a file name the format of runs of a user's store.

    A file that cannot be read is none; the command that needs it tells why.
    """
    with suppress(OSError):
        return STORE_MARK.search(bytes_of(path, HEAD_BYTES)) is not None
    return False


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Let no other process write a failure there until the block ends."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
