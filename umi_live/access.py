"""Access to a server: a file with hashes of tokens, the callers to whom they belong, and limits.

A line of the file has the SHA-256 of a token and the user for whom the token acts:

    "9f86d081..." = { user = "ann", agents = ["helper"], author = "user" }

Law 1. No token is stored. Law 2. A token is compared with every row, each in constant time. Law 3. A file
that anyone but its owner may read or write raises LiveError. Law 4. A changed file is read again within a
second; if that fails, the earlier tokens stay valid.
"""

import hashlib
import hmac
import json
import logging
import os
import re
import secrets
import stat
import time
import tomllib
from pathlib import Path
from typing import Annotated, Any, Final

from umi_core.data import Data
from umi_core.domains import bad_scope
from umi_core.text import show_value
from umi_core.values import AUTHORS, MODEL, Scope
from umi_live.errors import LiveError
from umi_live.files import create_file

HASH: Final = re.compile("[0-9a-f]{64}")
TOKEN_BYTES: Final = 32
LOOK_S: Final = 1  # the wait between two checks of the file for changes
LOG: Final = logging.getLogger("umi_live.serve")
OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class ServeLimits(Data):
    """Limits of a client of a server. The command has an option for each field."""

    body_bytes: Annotated[int, "Most bytes of a body."] = 1_048_576
    header_bytes: Annotated[int, "Most bytes of a request line and its headers."] = 16_384
    rate: Annotated[float, "Most requests of a user in a second; twice as many after a pause."] = 50.0
    concurrent: Annotated[int, "Most requests of a user at a time."] = 64
    connections: Annotated[int, "Most connections at a time."] = 512
    seconds: Annotated[float, "Most time of a request."] = 30.0
    slow_seconds: Annotated[float, "Most time for a client to send a request, read a reply, or pause."] = 10.0
    memories: Annotated[int, "Most memories that stay open while nothing is asked of them."] = 64


class Caller(Data):
    """The user of a token. `agents`: those it may use; None: any. `author`: the author of its writes."""

    user: str
    agents: tuple[str, ...] | None = None
    author: str = MODEL

    def may_use(self, agent: str) -> bool:
        return self.agents is None or agent in self.agents

    def write_line(self, token: str) -> str:
        """Return the line of the file for this token."""
        parts = [f"user = {quote(self.user)}"]
        if self.agents is not None:
            parts.append(f"agents = [{', '.join(map(quote, self.agents))}]")
        if self.author != MODEL:
            parts.append(f"author = {quote(self.author)}")
        return f'"{hash_token(token)}" = {{ {", ".join(parts)} }}'


class TokenTable(Data):
    """Callers by the hashes of their tokens."""

    rows: tuple[tuple[str, Caller], ...]

    def find(self, token: str) -> Caller | None:
        given, found = hash_token(token), None
        for known, caller in self.rows:  # no early exit, so that the time does not depend on the token
            if hmac.compare_digest(given, known):
                found = caller
        return found


class TokenFile:
    """The callers in a file, which is read again when it changes.

    Raises LiveError or OSError for a file that cannot be read or has no token. If a later version of the file
    has no token, all tokens are revoked.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.state = self.look()
        self.table = read_tokens(path)
        if not self.table.rows:
            raise LiveError(f"{path}: has no token; `umi-live token USER --tokens {path}` adds one")
        self.next_s = time.monotonic() + LOOK_S

    def find(self, token: str) -> Caller | None:
        """Return the caller with this token. Checks the file for a change, at most once a second."""
        if time.monotonic() >= self.next_s:
            self.refresh()
        return self.table.find(token)

    def refresh(self) -> None:
        """Read the file again if it has changed. If that fails, logs the reason in one line."""
        self.next_s = time.monotonic() + LOOK_S
        state = self.look()
        if state == self.state:
            return
        self.state = state
        try:
            self.table = read_tokens(self.path)
        except (LiveError, OSError) as error:
            reason = f"{self.path}: {error.strerror}" if isinstance(error, OSError) else error
            LOG.error("the tokens were not read again, and the earlier ones stay valid: %s", reason)
        else:
            LOG.info("%s was read again: %d tokens", self.path, len(self.table.rows))

    def look(self) -> tuple[int, ...]:
        """Return numbers that differ after each change of the file; an empty tuple if it is absent."""
        try:
            found = os.stat(self.path)
        except OSError:
            return ()
        return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev


def hash_token(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def make_token() -> str:
    return f"umi_{secrets.token_urlsafe(TOKEN_BYTES)}"


def quote(text: str) -> str:
    """Return a text as a TOML string; for the characters of a scope, JSON strings are the same."""
    return json.dumps(text, ensure_ascii=False)


def read_tokens(path: str) -> TokenTable:
    """Read the file of tokens. Raises LiveError, OSError."""
    with open(path, "rb") as file:
        check_private(path, os.fstat(file.fileno()))
        try:
            rows = tomllib.loads(file.read().decode())
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise LiveError(f"{path}: is no TOML: {error}") from None
    return TokenTable(tuple((key, read_caller(f"{path}: {key[:12]}", key, row)) for key, row in rows.items()))


def check_private(path: str, found: os.stat_result) -> None:
    if found.st_uid != os.geteuid():
        raise LiveError(f"{path}: belongs to another user of this machine; copy it")
    if found.st_mode & OTHERS:
        raise LiveError(f"{path}: others may read or write it; run `chmod 600 {path}`")


def read_caller(where: str, key: str, row: Any) -> Caller:
    """Return the caller of a row. Raises LiveError with a text that begins with `where`."""
    if not HASH.fullmatch(key):
        raise LiveError(f"{where}: is no SHA-256; `umi-live token USER` prints a line")
    known = list(Caller.__struct_fields__)
    if not isinstance(row, dict) or "user" not in row or set(row) - set(known):
        raise LiveError(f"{where}: needs user, may have agents and author, and nothing else")
    agents, author = row.get("agents"), row.get("author", MODEL)
    if agents is not None and not isinstance(agents, list):
        raise LiveError(f"{where}: agents is no list of names")
    if author not in AUTHORS:
        raise LiveError(f"{where}: author is {show_value(author)}, expected {' or '.join(AUTHORS)}")
    caller = Caller(row["user"], None if agents is None else tuple(agents), author)
    try:
        check_names(caller)
    except LiveError as error:
        raise LiveError(f"{where}: {error}") from None
    return caller


def check_names(caller: Caller) -> None:
    """Raise LiveError for an invalid name of a user or an agent."""
    for agent in caller.agents or ("agent",):
        if (error := bad_scope(Scope(caller.user, agent))) is not None:
            raise LiveError(str(error))


def append_token(path: str, line: str) -> None:
    """Add a line to the file of tokens; create the file if absent. Raises LiveError, OSError."""
    try:
        os.close(create_file(path))
    except FileExistsError:
        check_private(path, os.stat(path))
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
