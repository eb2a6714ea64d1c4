"""Errors for the host of a memory: each is one exception whose text is one sentence.

LiveError
|-- StoreError          the file cannot be used; nothing in it was changed
|   `-- FileTampered    another program changed the file, which is sealed
|-- ScopeTaken          another process or object has the memory of this user and agent open already
|-- NotDone             a request was not done
|   |-- RequestRefused  the request is invalid; nothing changed
|   |-- RequestFailed   a model, an embedder or the database failed; nothing changed
|   |-- InDoubt         it may have been done: ask again with the same `request_key`
|   `-- TimedOut        it took too long; `may_be_done`: as InDoubt, else nothing changed
`-- Closed              the memory was closed before
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version

from umi_core.errors import Error, Rejected


class LiveError(Exception):
    """Base of all errors; its text is one sentence for users."""


class StoreError(LiveError):
    """The file cannot be used. Nothing in it was changed."""


class FileTampered(StoreError):
    """Another program changed a file that is sealed, or put an older copy in its place."""


class ScopeTaken(LiveError):
    """The memory of this user and agent is open already, here or in another process."""


class Closed(LiveError):
    """The memory is closed, or closing."""


class NotDone(LiveError):
    """A request was not done; `error` is the value that the memory returned, if it did."""

    def __init__(self, error: Error | None, sentence: str) -> None:
        super().__init__(sentence)
        self.error = error


class RequestRefused(NotDone):
    """The request is invalid, and `error` has the reason; nothing changed."""


class RequestFailed(NotDone):
    """A model, an embedder or a conflict failed for longer than the memory tries; nothing changed."""


class InDoubt(NotDone):
    """The request may have been done or not: ask again with the same `request_key`."""


class TimedOut(NotDone, TimeoutError):
    """A request took longer than `seconds`.

    `may_be_done` False: nothing was changed, and nothing will be changed later. True: as InDoubt.
    """

    def __init__(self, operation: str, seconds: float, may_be_done: bool) -> None:
        self.operation, self.seconds, self.may_be_done = operation, seconds, may_be_done
        super().__init__(None, self.describe("ask again with the same request_key"))

    def describe(self, advice: str) -> str:
        """Return the sentence for a caller. `advice`: what to do if the request may still be done."""
        rest = f"it may be done yet: {advice}" if self.may_be_done else "nothing was changed"
        return f"{self.operation}: not done within {self.seconds:g} seconds; {rest}"


@contextmanager
def refusing() -> Iterator[None]:
    """Turn the rejection of a scope or configuration into RequestRefused."""
    try:
        yield
    except Rejected as rejected:
        raise RequestRefused(rejected.errors[0], str(rejected)) from None


def needs_extra(error: ModuleNotFoundError, extra: str = "live") -> str:
    """Return the sentence for a package that is missing. `extra`: which one of this project installs it."""
    needed = "postgres" if error.name == "psycopg" else extra
    return f"{error.name} is not installed: pip install 'umi-sim[{needed}]'"


def own_version() -> str:
    """Return the version of the installed distribution."""
    try:
        return version("umi-sim")
    except PackageNotFoundError:  # run from a checkout that was never installed
        return "0"
