"""Results of the methods of a memory, and the words of a question that refer to earlier turns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, overload

from umi_core.data import Data
from umi_core.language.rewriting import read_query, shown_turns
from umi_core.messages.effects import Degraded
from umi_core.messages.results import Hit, Resolution
from umi_core.values import Turn
from umi_live.usage import NO_USAGE, Usage

T = TypeVar("T")


class Result(Data, Generic[T]):
    """The value of a request, its degraded steps with their reasons, and its usage of models."""

    value: T
    degraded: tuple[Degraded, ...] = ()
    usage: Usage = NO_USAGE


# Not a subclass of `Data`, since a msgspec class cannot be a Sequence.
@dataclass(frozen=True)
class Hits(Sequence[Hit]):
    """The hits of a recall, the best first. `resolution`: how references in the question were resolved."""

    hits: tuple[Hit, ...]
    resolution: Resolution
    variants: tuple[str, ...]
    degraded: tuple[Degraded, ...] = ()
    usage: Usage = NO_USAGE

    @overload
    def __getitem__(self, at: int) -> Hit: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, at: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[at]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)


def find_references(query: str, turns: Sequence[tuple[str, str]] = ()) -> tuple[str, ...]:
    """Return the words of a question that refer to earlier turns, each once; none if the question is clear.

    `turns`: (role, text), oldest first. `the boss` is such a reference only if the turns mention a boss.
    """
    spoken = shown_turns(tuple(Turn(role, text) for role, text in turns))
    return tuple(dict.fromkeys(read_query(query, spoken).terms))
