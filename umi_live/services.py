"""What a host asks: a model and an embedder, as small protocols, and how they fail."""

from typing import Protocol

from umi_core.messages.effects import FailureKind


class ServiceFailed(Exception):
    """A question was not answered; `kind` is what the memory knows of it."""

    def __init__(self, kind: FailureKind, retry_after_ms: int = 0, reason: str = "") -> None:
        super().__init__(reason or kind)
        self.kind, self.retry_after_ms = kind, retry_after_ms


class Model(Protocol):
    """Answers prompts. Raises ServiceFailed. Closed with its memory, which may be opened again."""

    @property
    def name(self) -> str: ...

    async def ask(self, task: str, prompt: str, timeout_ms: int) -> str: ...
    async def close(self) -> None: ...


class Embedder(Protocol):
    """Gives each text a vector of `dims` whole numbers in -127 .. 127. Raises ServiceFailed.

    Under another `name` or `dims` it is another embedder: what the one before embedded is embedded again.
    """

    @property
    def name(self) -> str: ...

    @property
    def dims(self) -> int: ...

    async def embed(self, texts: tuple[str, ...], timeout_ms: int) -> tuple[tuple[int, ...], ...]: ...
    async def close(self) -> None: ...
