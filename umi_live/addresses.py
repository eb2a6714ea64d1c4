"""Addresses of databases, where a path of a file may stand as well."""

import os
import re
from typing import Final

SCHEMES: Final = ("postgresql://", "postgres://")
SECRET: Final = re.compile(r"(?<=://)([^/?#@:]*):[^/?#]*@|([?&](?:ssl)?password=)[^&#]*", re.IGNORECASE)


def is_address(path: str | os.PathLike[str]) -> bool:
    """Check whether a path is the address of a database on a server."""
    return isinstance(path, str) and path.startswith(SCHEMES)


def show_path(path: str | os.PathLike[str]) -> str:
    """Return a path as it may be shown: an address without its passwords.

    postgresql://ann:secret@host/db    postgresql://ann@host/db
    """
    shown = os.fspath(path)
    return SECRET.sub(lambda it: it[2] or f"{it[1]}@", shown) if is_address(path) else shown
