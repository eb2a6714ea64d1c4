"""Files of failures: how they are named, written and read.

Law 1. A failure that has a file is written to that file again. A file of another failure, or one that cannot
       be read, is never replaced.
Law 2. A reader sees the whole old file or the whole new one. Two processes never choose the same name.
Law 3. A file names the code under test for people only: nothing is imported because a file names it. A file
       with a wrong checksum was edited by hand, so its trace hash proves nothing.
"""

import fcntl
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Final, TypeVar

from umi_sim.formats.schema import TEXT, Json, Wrong, as_object, at, whole
from umi_sim.formats.strict_json import bytes_of, checksum, compact, layout, parse_json
from umi_sim.record.provenance import made_by

DIGEST_BYTES: Final = 4
HEAD_BYTES: Final = 4_096
MARK: Final = re.compile(rb'"format"\s*:\s*"([a-z-]{1,20})"')
VERSION: Final = 1  # of the files of stores and programs under test
OWNER_CHARS_MAX: Final = 60
WORD: Final = re.compile(r"\w+", re.ASCII)
NAME: Final = re.compile(r"[\w.]+:\w+", re.ASCII)
T = TypeVar("T")


class BadFile(ValueError):
    """The file does not hold what was expected; the message is one line with the reason."""


def save(
    folder: Path, name: str, items: object, is_own: Callable[[Path], bool], content: Callable[[Path], bytes]
) -> Path:
    """Write a failure to a file of its own in `folder`, and return the path.

    `name`: the name of the file if no other failure has it; else a digest of `items` follows it.
    `is_own`: returns whether an existing file holds this failure. `content`: returns what to write to a path.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(folder):
        path = own_path(folder, name, items, is_own)
        write_whole(path, content(path))
    return path


def own_path(folder: Path, name: str, items: object, is_own: Callable[[Path], bool]) -> Path:
    """Return the file that holds this failure; if there is none, the first name that is free."""
    free = None
    for path in names_of(folder, name, items):
        if not path.exists():
            free = free or path
            # If the plain name is free, the name with the digest may still hold this failure: another failure
            # had the plain name then, and its file was removed since. After a free digest none follows.
            if path.stem != name:
                return free
        elif is_own(path):
            return path
    raise AssertionError("names never end")


def names_of(folder: Path, name: str, items: object) -> Iterator[Path]:
    """Yield the names that a failure may have, in the order in which they are tried."""
    digest = blake2b(compact(items).encode(), digest_size=DIGEST_BYTES).hexdigest()
    yield folder / f"{name}.json"
    yield folder / f"{name}-{digest}.json"
    yield from (folder / f"{name}-{digest}-{number}.json" for number in count(2))


def format_of(path: Path) -> str:
    """Return the format that is named at the beginning of a file; "" if there is none, or no such file."""
    with suppress(OSError):
        found = MARK.search(bytes_of(path, HEAD_BYTES))
        return found[1].decode() if found else ""
    return ""


# Failures of stores and programs under test.


def make_document(kind: str, fields: Mapping[str, Json]) -> dict[str, Json]:
    """Return a file of this format, with where it was made and its checksum."""
    head = {"format": kind, "version": VERSION, "min_reader": VERSION, "made_by": as_object(made_by())}
    return {**head, **fields, "checksum": checksum({**head, **fields})}


def save_document(
    folder: Path, owner: str, document: dict[str, Json], items: object, is_same: Callable[[Path], bool]
) -> Path:
    """Write a failure of the target `owner`. `is_same`: whether a file has it, or BadFile."""
    failure = as_object(document["failure"])

    def is_own(path: Path) -> bool:
        with suppress(BadFile):
            return is_same(path)
        return False

    name = f"{shorten_owner(owner)}-{failure['rule']}-{failure['fingerprint']}"
    return save(folder, name, items, is_own, lambda _: layout(document).encode())


def shorten_owner(owner: str) -> str:
    """Return the prefix of the file names of this owner."""
    return "-".join(WORD.findall(owner))[:OWNER_CHARS_MAX]


def read_file(path: Path, parse: Callable[[bytes, str], T]) -> T:
    """Read a file and parse it: `parse` gets the bytes, and the name for errors. Raises BadFile."""
    try:
        return parse(bytes_of(path), str(path))
    except OSError as error:
        raise BadFile(f"{path}: cannot be read: {error.strerror}") from None


def parse_document(data: bytes, name: str, kind: str, what: str, read: Callable[[dict[str, Json]], T]) -> T:
    """Read the bytes of a file of this format. Raises BadFile.

    `kind`: the format. For errors, `name` is the file and `what` says what it should be.
    """

    def read_checked(document: dict[str, Json]) -> T:
        if document.get("format") != kind:
            raise Wrong(("format", f'expected "{kind}", so this is no {what}'))
        if at("min_reader", whole(1, 10**9).read, document.get("min_reader", 1)) > VERSION:
            raise Wrong(("min_reader", f"written for a newer umi_sim, this one reads version {VERSION}"))
        return read(document)

    try:
        return read_checked(at("the file", as_object, parse_json(data)))
    except Wrong as error:
        raise BadFile(f"{name}: {error}") from None


def read_trace(document: Mapping[str, Json]) -> str:
    """Return the hash of the recorded run; "" if the file was edited by hand."""
    is_intact = document.get("checksum") == checksum(document)
    found: str = at("trace", TEXT.read, document.get("trace", ""))
    return found if is_intact else ""


def name_subject(name: str, unknown: str = "MODULE:NAME") -> str:
    """Return the name if it has the form MODULE:NAME: no other text of a file may get into a command."""
    return name if NAME.fullmatch(name) else unknown


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock a folder until the block ends, so that no other process writes a failure there."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that a reader sees the old one or the new one, never a part. Errors name `path`."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        with suppress(OSError):  # a folder that refuses the write may refuse this as well
            part.unlink()
