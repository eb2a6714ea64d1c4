"""Where memories are stored: private files, and addresses of databases, which may stand in place of a path.

Law 1. A file that is made here is never readable by others, not even for an instant, whatever the umask is.
"""

import os
import re
from typing import Final

SCHEMES: Final = ("postgresql://", "postgres://")
SECRET: Final = re.compile(r"(?<=://)([^/?#@:]*):[^/?#]*@|([?&](?:ssl)?password=)[^&#]*", re.IGNORECASE)
PRIVATE: Final = 0o600
PERMISSIONS: Final = 0o777


def is_address(path: str | os.PathLike[str]) -> bool:
    """Check whether a path is the address of a database on a server."""
    return isinstance(path, str) and path.startswith(SCHEMES)


def show_path(path: str | os.PathLike[str]) -> str:
    """Return a path without the passwords of an address.

    postgresql://ann:secret@host/db    postgresql://ann@host/db
    """
    shown = os.fspath(path)
    return SECRET.sub(lambda it: it[2] or f"{it[1]}@", shown) if is_address(path) else shown


def create_file(path: str | os.PathLike[str], flags: int = os.O_RDWR) -> int:
    """Create a file that only its owner may read; return its descriptor. Raises FileExistsError, OSError."""
    # With its permissions from the first instant: a chmod afterwards would leave a moment in between.
    file = os.open(path, flags | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE)
    os.fchmod(file, PRIVATE)  # a umask may have taken more away
    return file


def sync_file(path: str) -> None:
    """Make durable what a file or folder holds; one that is not there holds nothing. Raises OSError."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        os.fsync(file)
    finally:
        os.close(file)


def create_beside(path: str, model: str) -> int:
    """Open the file, and create it with the permissions of `model` if it is not there. Raises OSError.

    A user who may open the database may open what lies beside it; SQLite does the same for its own files.
    """
    try:
        file = create_file(path)
    except FileExistsError:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    os.fchmod(file, os.stat(model).st_mode & PERMISSIONS)
    return file
