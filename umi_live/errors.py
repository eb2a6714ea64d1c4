"""Exceptions of a memory. The text of each is one sentence for users.

LiveError
|-- StoreError          the file cannot be used; nothing in it was changed
|   `-- FileTampered    another program changed the sealed file
|-- NotErased           a user is deleted, but the bytes may still be in the file, until it is rewritten
|-- ScopeTaken          another process or object has the memory of this user and agent open already
|-- NotDone             a request was not done, or its outcome is unknown
|   |-- RequestRefused  the request is invalid; nothing changed
|   |-- RequestFailed   a model, an embedder or the database failed; nothing changed
|   |-- InDoubt         the outcome is unknown: send the request again with the same `request_key`
|   `-- TimedOut        the call took too long; `may_be_done`: the outcome is unknown, else nothing changed
`-- Closed              the memory is closed, or closing
"""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version

from umi_core.errors import Error, Rejected


class LiveError(Exception):
    """Base class of all exceptions of umi_live. The text is one sentence for users."""


class StoreError(LiveError):
    """The file cannot be used. Nothing in it was changed."""


class FileTampered(StoreError):
    """Another program changed a sealed file, or replaced it by an older copy."""


class NotErased(LiveError):
    """The rows of a user are deleted, but their bytes may still be in the file, until it is rewritten."""


class ScopeTaken(LiveError):
    """The memory of this user and agent is open already, here or in another process."""


class Closed(LiveError):
    """The memory is closed, or closing."""


class NotDone(LiveError):
    """A request was not done. `error`: the error that the memory returned, if there is one."""

    def __init__(self, error: Error | None, sentence: str) -> None:
        super().__init__(sentence)
        self.error = error


class RequestRefused(NotDone):
    """The request is invalid; nothing changed. `error` has the reason."""


class RequestFailed(NotDone):
    """All attempts failed: of a model, an embedder or the database, or by conflicts. Nothing changed."""


class InDoubt(NotDone):
    """The outcome is unknown: the request may have been done. Send it again with the same `request_key`."""


class TimedOut(NotDone, TimeoutError):
    """A request took longer than `seconds`.

    `may_be_done`: False: nothing changed, and nothing will change later; True: unknown, as in InDoubt.
    """

    def __init__(self, operation: str, seconds: float, may_be_done: bool) -> None:
        self.operation, self.seconds, self.may_be_done = operation, seconds, may_be_done
        super().__init__(None, self.describe("ask again with the same request_key"))

    def describe(self, advice: str) -> str:
        """Return the text for a caller. `advice`: what to do if the outcome is unknown."""
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
    """Return the text for a missing package. `extra`: the extra of this project that installs it."""
    needed = "postgres" if error.name == "psycopg" else extra
    return f"{error.name} is not installed: pip install 'umi-sim[{needed}]'"


def own_version() -> str:
    """Return the version of the installed distribution."""
    try:
        return version("umi-sim")
    except PackageNotFoundError:  # run from a checkout that was never installed
        return "0"
