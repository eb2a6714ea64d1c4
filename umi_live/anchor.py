"""The key of a sealed file, and its anchor: a small file in another place that records its newest commit.

Law 1. An anchor has two lines, and a write overwrites the older one: a crash during it leaves the newer one.
Law 2. The commit in an anchor never becomes older, even if several processes share the anchor.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from typing import Final

from umi_core.data import Data
from umi_live.errors import FileTampered, StoreError
from umi_live.files import create_file, sync_file

KEY_BYTES_MIN: Final = 32
SALT_BYTES: Final = 16
TAG_BYTES: Final = 16
LINE: Final = "{} {:020} {} {}\n"  # salt, number, tag of the seal, tag of the line

LINE_BYTES: Final = len(LINE.format("0" * 32, 0, "0" * 32, "0" * 32))


class SealOptions(Data):
    """The key of a file, and the path of its anchor, if any. Raises StoreError if the key is too short."""

    key: bytes
    anchor: str | None = None

    def __repr__(self) -> str:
        return f"SealOptions(anchor={self.anchor!r})"  # a traceback or a log must not show the key

    def __post_init__(self) -> None:
        if len(self.key) < KEY_BYTES_MIN:
            raise StoreError(
                f"a seal needs a key of at least {KEY_BYTES_MIN} bytes, and this one has {len(self.key)}"
            )

    def derive_key(self, salt: bytes) -> bytes:
        """Return the key for the file with this salt, so that the rows of one file are invalid in another."""
        return blake2b(self.key, salt=salt[:SALT_BYTES], person=b"umi-live seal").digest()


def seal_options(key: bytes | None, anchor: str | os.PathLike[str] | None) -> SealOptions | None:
    """Return the options of a sealed file; None without a key. Raises StoreError for an anchor only."""
    if key is None and anchor is not None:
        raise StoreError(f"{os.fspath(anchor)}: an anchor needs the key of the seal")
    return None if key is None else SealOptions(key, None if anchor is None else os.path.realpath(anchor))


class AnchorLine(Data):
    """A commit of the file with this salt: its number, and the tag of the seal."""

    salt: bytes
    number: int
    tag: bytes

    def write(self, options: SealOptions) -> bytes:
        shown = self.salt.hex(), self.number, self.tag.hex()
        signed = blake2b(repr(shown).encode(), key=options.derive_key(self.salt), person=b"anchor")
        return LINE.format(*shown, signed.digest()[:TAG_BYTES].hex()).encode()


@contextmanager
def anchor_errors(options: SealOptions) -> Iterator[None]:
    """Turn an OSError into a StoreError that names the anchor."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{options.anchor}: {error.strerror}") from error


def read_line(data: bytes, options: SealOptions) -> AnchorLine | None:
    """Parse a line of an anchor; None if it is damaged, or written with another key."""
    try:
        salt, number, tag, _ = data.decode().split(" ")
        line = AnchorLine(bytes.fromhex(salt), int(number), bytes.fromhex(tag))
    except ValueError:
        return None
    return line if line.write(options) == data else None


def read_anchor(options: SealOptions) -> AnchorLine | None:
    """Return the newest commit in the anchor; None if there is no file. Raises FileTampered, OSError."""
    assert options.anchor is not None
    try:
        file = os.open(options.anchor, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH)
        return find_newest(read_lines(file, options), options)
    finally:
        os.close(file)


def advance_anchor(options: SealOptions, line: AnchorLine) -> None:
    """Write a commit into the anchor, unless it has a later one. Raises FileTampered, OSError."""
    assert options.anchor is not None
    file = os.open(options.anchor, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed
        lines = read_lines(file, options)
        newest = find_newest(lines, options)
        if newest.salt != line.salt:
            raise FileTampered(f"{options.anchor}: is the anchor of another file")
        if newest.number < line.number:
            os.pwrite(file, line.write(options), LINE_BYTES * (1 - lines.index(newest)))
            os.fsync(file)
    finally:
        os.close(file)


def check_new_anchor(options: SealOptions) -> None:
    """Raise the errors of `create_anchor`, as far as they are known before, and create nothing."""
    assert options.anchor is not None
    with anchor_errors(options):
        found = read_anchor(options)
        # An anchor of commit 0 was left by a process that ended before it sealed the file.
        if found is not None and found.number:
            message = f"names commit {found.number:,} of a file that is not there any more; restore that file"
            raise FileTampered(f"{options.anchor}: {message}, or name another anchor")
        os.stat(os.path.dirname(options.anchor))


def create_anchor(options: SealOptions, line: AnchorLine) -> None:
    """Create an anchor. Raises FileTampered if there is one with a commit already; StoreError."""
    assert options.anchor is not None
    check_new_anchor(options)
    with anchor_errors(options):
        fresh = f"{options.anchor}.new"
        with suppress(FileNotFoundError):
            os.unlink(fresh)
        file = create_file(fresh)
        try:
            os.write(file, line.write(options))
            os.fsync(file)
        finally:
            os.close(file)
        os.replace(fresh, options.anchor)
        sync_file(os.path.dirname(options.anchor) or ".")


def read_lines(file: int, options: SealOptions) -> list[AnchorLine | None]:
    """Parse both lines of an anchor; None for one that is missing, damaged, or written with another key."""
    data = os.pread(file, 2 * LINE_BYTES, 0)
    return [read_line(data[at : at + LINE_BYTES], options) for at in (0, LINE_BYTES)]


def find_newest(lines: list[AnchorLine | None], options: SealOptions) -> AnchorLine:
    """Return the line with the later commit. Raises FileTampered if no line is valid."""
    found = [line for line in lines if line is not None]
    if not found:
        raise FileTampered(f"{options.anchor}: is no anchor, or one of another key")
    return max(found, key=lambda line: line.number)
