"""Paths of memories: private files, or addresses of databases on a server.

Law 1. A new file is readable by its owner only, from its first instant and with any umask.
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
    """Return a path; an address without its password.

    postgresql://ann:secret@host/db    postgresql://ann@host/db
    """
    shown = os.fspath(path)
    return SECRET.sub(lambda it: it[2] or f"{it[1]}@", shown) if is_address(path) else shown


def create_file(path: str | os.PathLike[str], flags: int = os.O_RDWR) -> int:
    """Create a file that only its owner may read; return its descriptor. Raises FileExistsError, OSError."""
    # Created with its final permissions: until a later chmod, other users could open the file.
    file = os.open(path, flags | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE)
    os.fchmod(file, PRIVATE)  # a umask may have removed permissions of the owner
    return file


def sync_file(path: str) -> None:
    """Sync a file or folder to the disk; does nothing if it does not exist. Raises OSError."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        os.fsync(file)
    finally:
        os.close(file)


def create_beside(path: str, model: str) -> int:
    """Open the file, or create it with the permissions of the file `model`. Raises OSError.

    A user who may open the database may then open this file too; SQLite does the same for its own files.
    """
    try:
        file = create_file(path)
    except FileExistsError:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    os.fchmod(file, os.stat(model).st_mode & PERMISSIONS)
    return file
