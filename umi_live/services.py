"""Protocols of the model and the embedder of a memory, and their failures."""

from collections.abc import Callable
from typing import Any, Protocol

from umi_core.messages.effects import FailureKind
from umi_live.errors import LiveError


class ServiceFailed(Exception):
    """Raised by a service for a failure. `kind` decides whether the memory retries. `retry_after_ms`: the
    wait that the service asks for; 0 if unknown."""

    def __init__(self, kind: FailureKind, retry_after_ms: int = 0, reason: str = "") -> None:
        super().__init__(reason or kind)
        self.kind, self.retry_after_ms = kind, retry_after_ms


def at_once(service: object, name: str) -> Callable[..., Any] | None:
    """Return the synchronous method of a service, called without a task; None if it has none.

    `name`: `ask_at_once`, with the parameters `task` and `prompt`, or `embed_at_once`, with `texts`. An
    inherited method is not used, since a subclass may override `ask` or `embed` only.
    """
    return getattr(service, name) if name in vars(type(service)) else None


def check_service(kind: str, service: object, members: tuple[str, ...]) -> None:
    """Raise LiveError now if a service lacks one of these members, instead of failing at its first call."""
    if missing := [it for it in members if not hasattr(service, it)]:
        given = f"{type(service).__module__}.{type(service).__qualname__}"
        raise LiveError(f"{kind}: {given} has no {', '.join(missing)}; it needs {', '.join(members)}")


class Model(Protocol):
    """The methods of a model. The memory closes its model, and may be opened again with the same object."""

    @property
    def name(self) -> str:
        """Return the name of the model."""
        ...

    async def ask(self, task: str, prompt: str, timeout_ms: int) -> str:
        """Return the answer to a prompt. `task`: its kind, such as `extract`. Raises ServiceFailed."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


class Embedder(Protocol):
    """The methods of an embedder.

    If `name` or `dims` differ from those of the stored vectors, the memory embeds all facts again.
    """

    @property
    def name(self) -> str:
        """Return the name of the embedder."""
        ...

    @property
    def dims(self) -> int:
        """Return the number of components of each vector."""
        ...

    async def embed(self, texts: tuple[str, ...], timeout_ms: int) -> tuple[tuple[int, ...], ...]:
        """Return for each text a vector of `dims` integers from -127 to 127. Raises ServiceFailed."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


class AbsentEmbedder:
    """Stands for the embedder of stored vectors if a file is opened with another one. Refuses to embed."""

    def __init__(self, stored: str) -> None:
        self.name, _, dims = stored.rpartition(":")
        self.dims = int(dims)

    async def embed(self, texts: tuple[str, ...], timeout_ms: int) -> tuple[tuple[int, ...], ...]:
        raise ServiceFailed("refused", 0, f"the vectors are those of {self.name}")

    async def close(self) -> None:
        """There is nothing to close."""
