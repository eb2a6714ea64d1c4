"""What a host asks: a model and an embedder, as small protocols, and how they fail."""

from collections.abc import Callable
from typing import Any, Protocol

from umi_core.messages.effects import FailureKind
from umi_live.errors import LiveError


class ServiceFailed(Exception):
    """A question was not answered; `kind` is what the memory knows of it."""

    def __init__(self, kind: FailureKind, retry_after_ms: int = 0, reason: str = "") -> None:
        super().__init__(reason or kind)
        self.kind, self.retry_after_ms = kind, retry_after_ms


def at_once(service: object, name: str) -> Callable[..., Any] | None:
    """Return the method of a service that answers at once, without a task or a time limit; None if it waits.

    Its own class has a method `ask_at_once(task, prompt)` or `embed_at_once(texts)` besides; one that is
    inherited does not count, for the class may ask in another way.
    """
    return getattr(service, name) if name in vars(type(service)) else None


def check_service(kind: str, service: object, members: tuple[str, ...]) -> None:
    """Raise LiveError for a service without one of these; else its first question would have no answer."""
    if lacking := [it for it in members if not hasattr(service, it)]:
        given = f"{type(service).__module__}.{type(service).__qualname__}"
        raise LiveError(f"{kind}: {given} has no {', '.join(lacking)}; it needs {', '.join(members)}")


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

    Under another `name` or `dims` it is another embedder: what the one before embedded is embedded again.
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
    """Stands for the embedder that made the vectors of a file, where another one was named."""

    def __init__(self, stored: str) -> None:
        self.name, _, dims = stored.rpartition(":")
        self.dims = int(dims)

    async def embed(self, texts: tuple[str, ...], timeout_ms: int) -> tuple[tuple[int, ...], ...]:
        raise ServiceFailed("refused", 0, f"the vectors are those of {self.name}")

    async def close(self) -> None:
        """There is nothing to close."""
