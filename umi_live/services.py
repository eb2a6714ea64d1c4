"""Protocols of the model and the embedder that a host asks, and their failures."""

from collections.abc import Callable
from typing import Any, Protocol

from umi_core.messages.effects import FailureKind
from umi_live.errors import LiveError


class ServiceFailed(Exception):
    """A question has no answer. `kind` decides what the memory does; `retry_after_ms`: 0 if unknown."""

    def __init__(self, kind: FailureKind, retry_after_ms: int = 0, reason: str = "") -> None:
        super().__init__(reason or kind)
        self.kind, self.retry_after_ms = kind, retry_after_ms


def at_once(service: object, name: str) -> Callable[..., Any] | None:
    """Return the method of a service that answers immediately, without a task; None without one.

    `name`: `ask_at_once`, with the parameters `task` and `prompt`, or `embed_at_once`, with `texts`. An
    inherited one does not count, as the class of the service may replace `ask` or `embed`.
    """
    return getattr(service, name) if name in vars(type(service)) else None


def check_service(kind: str, service: object, members: tuple[str, ...]) -> None:
    """Raise LiveError for a service without one of these members, which its first question would need."""
    if missing := [it for it in members if not hasattr(service, it)]:
        given = f"{type(service).__module__}.{type(service).__qualname__}"
        raise LiveError(f"{kind}: {given} has no {', '.join(missing)}; it needs {', '.join(members)}")


class Model(Protocol):
    """A model: write these methods. It is closed with its memory, which may be opened again."""

    @property
    def name(self) -> str:
        """Return its name."""
        ...

    async def ask(self, task: str, prompt: str, timeout_ms: int) -> str:
        """Return the answer to a prompt. Raises ServiceFailed."""
        ...

    async def close(self) -> None:
        """Give up connections."""
        ...


class Embedder(Protocol):
    """An embedder: write these methods.

    With another `name` or `dims` it is another embedder, and all facts are embedded again.
    """

    @property
    def name(self) -> str:
        """Return its name."""
        ...

    @property
    def dims(self) -> int:
        """Return how many components its vectors have."""
        ...

    async def embed(self, texts: tuple[str, ...], timeout_ms: int) -> tuple[tuple[int, ...], ...]:
        """Return for each text a vector of `dims` whole numbers, -127 to 127. Raises ServiceFailed."""
        ...

    async def close(self) -> None:
        """Give up connections."""
        ...


class AbsentEmbedder:
    """Takes the place of the embedder of a file that is opened with another one, and refuses to embed."""

    def __init__(self, stored: str) -> None:
        self.name, _, dims = stored.rpartition(":")
        self.dims = int(dims)

    async def embed(self, texts: tuple[str, ...], timeout_ms: int) -> tuple[tuple[int, ...], ...]:
        raise ServiceFailed("refused", 0, f"the vectors are those of {self.name}")

    async def close(self) -> None:
        """There is nothing to close."""
