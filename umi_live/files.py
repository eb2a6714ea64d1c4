"""Files of a memory: made so that only their owner may read them, whatever the umask says.

Law 1. A file that is made here is never readable by others, not even for an instant.
"""

import os
from typing import Final

PRIVATE: Final = 0o600
PERMISSIONS: Final = 0o777


def create_file(path: str | os.PathLike[str], flags: int = os.O_RDWR) -> int:
    """Create a private file and return its descriptor. Raises FileExistsError, OSError."""
    # With its permissions from the first instant: a chmod afterwards would leave a moment in between.
    file = os.open(path, flags | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE)
    os.fchmod(file, PRIVATE)  # a umask may have taken more away
    return file


def sync_file(path: str) -> None:
    """Make durable what a file holds, and its length; one that is not there holds nothing. Raises OSError."""
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
