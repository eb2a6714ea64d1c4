"""Faults of the embedder: no vectors, unsound ones, or sound ones that mean something else."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Self, TypeVar

from umi_core.messages.answers import Embedded
from umi_core.messages.effects import Embed
from umi_sim.faults.arguments import among, below, whole
from umi_sim.faults.declaration import FaultKind
from umi_sim.faults.draws import Draws, pick
from umi_sim.faults.service import Arrival, GoesAway, NoAnswer, RefusesForNow, Silent, TimesOut
from umi_sim.services.calls import Handled, Later

Vectors = list[tuple[object, ...]]
Value = TypeVar("Value")


def true_vectors(call: Arrival[Embed]) -> Vectors:
    answer = call.answer()
    assert isinstance(answer, Embedded)
    return list(answer.vectors)


def rotate_components(values: Sequence[Value], by: int) -> tuple[Value, ...]:
    """Return the values rotated to the right by `by` places."""
    # (a, b, c) by 1 gives (c, a, b), since -1 % 3 = 2.
    at = -by % max(1, len(values))
    return (*values[at:], *values[:at])


# No vectors.


class EmbedTimeout(TimesOut, at="embedder.embed", is_a="before", guards=("EXT-3", "WF-1")):
    """No vectors; the failure comes before the memory's own time-out."""


class EmbedUnavailable(GoesAway, at="embedder.embed", is_a="window", guards=("EXT-3", "WF-1"), explored=True):
    """Every call fails for a while."""


class EmbedRateLimited(RefusesForNow, at="embedder.embed", is_a="before", guards=("BND-1", "WF-1")):
    """Refused for now, with a time to wait."""


class EmbedReplyLost(Silent, at="embedder.embed", is_a="after", guards=("EXT-3", "WF-1")):
    """The vectors are lost on the way."""


class EmbedNonsense(NoAnswer, at="embedder.embed", is_a="shape", guards=("EXT-3", "WF-1"), explored=False):
    """The answer is one to another question."""


# Other vectors.


class OtherVectors(FaultKind):
    """Family of faults that change the vectors of a batch."""

    def apply(self, call: Arrival[Embed]) -> Handled:
        vectors = true_vectors(call)
        if vectors:
            self.change(vectors)
        return Later(Embedded(call.effect.request_id, tuple(vectors)), call.now_ms)

    @abstractmethod
    def change(self, vectors: Vectors) -> None: ...


class InThreeWays(OtherVectors):
    """Family with the place of one vector, and one of three ways to change it."""

    index: int = below(lambda call: len(call.effect.texts))
    choice: int = below(3)


class OneVector(InThreeWays):
    """Family of faults that make one vector invalid."""

    def change(self, vectors: Vectors) -> None:
        at = self.index % len(vectors)
        vectors[at] = self.unsound(vectors[at])

    @abstractmethod
    def unsound(self, vector: tuple[object, ...]) -> tuple[object, ...]: ...


class Zero(OneVector, at="embedder.embed", is_a="shape", guards=("STO-4", "WF-1")):
    """A vector of zeros."""

    def unsound(self, vector: tuple[object, ...]) -> tuple[object, ...]:
        return (0,) * len(vector)


class WrongDims(OneVector, at="embedder.embed", is_a="shape", guards=("STO-4", "WF-1")):
    """A vector of another length."""

    def unsound(self, vector: tuple[object, ...]) -> tuple[object, ...]:
        return (vector[:-1], (*vector, 1), ())[self.choice % 3]


class Short(InThreeWays, at="embedder.embed", is_a="shape", guards=("STO-4", "WF-1")):
    """One vector too few or too many."""

    def change(self, vectors: Vectors) -> None:
        at = self.index % len(vectors)
        vectors[:] = vectors[:-1] if self.choice % 2 else [*vectors, vectors[at]]


class OddComponent(OneVector):
    """Family of faults that replace the first component of one vector by one of `invalid`."""

    invalid: ClassVar[Sequence[object]]

    def unsound(self, vector: tuple[object, ...]) -> tuple[object, ...]:
        return (self.invalid[self.choice % len(self.invalid)], *vector[1:])


class NotFinite(OddComponent, at="embedder.embed", is_a="shape", guards=("STO-4", "RET-1")):
    """A component that is no number."""

    # "nan" and "inf" are texts, since no record may contain a float.
    invalid = ("nan", "inf", True)


class OutOfRange(OddComponent, at="embedder.embed", is_a="shape", guards=("STO-4", "RET-1")):
    """A component too large, too small or not whole."""

    invalid = (128, -(10**9), "0.5")  # the largest component is 127


class EmbedDrift(FaultKind, at="embedder.embed", is_a="meaning", guards=("RET-1", "STO-4"), explored=False):
    """A new version of the model: from now on every vector is turned by one component."""

    @classmethod
    def draw(cls, call: Arrival[Embed], draws: Draws) -> Self | None:
        vectors = true_vectors(call)
        # A rotation does not change a vector whose components are all equal.
        return cls() if [rotate_components(vector, 1) for vector in vectors] != vectors else None

    def apply(self, call: Arrival[Embed]) -> Handled:
        call.services.vector_turn += 1
        return Later(call.answer(), call.now_ms)


class Collision(OtherVectors, at="embedder.embed", is_a="meaning", guards=("RET-1", "STO-4")):
    """Two texts of a batch get one vector."""

    index: int = whole()
    other: int = whole()

    @classmethod
    def draw(cls, call: Arrival[Embed], draws: Draws) -> Self | None:
        """Draw a pair of different vectors."""
        vectors = true_vectors(call)
        pairs = [(n, m) for n, a in enumerate(vectors) for m, b in enumerate(vectors) if a != b]
        if not pairs:
            return None
        index, other = pick(draws, "pair", pairs)
        return cls(index=index, other=other)

    def change(self, vectors: Vectors) -> None:
        vectors[self.other % len(vectors)] = vectors[self.index % len(vectors)]


def turns(call: Arrival[Embed]) -> list[int]:
    """Return the rotations of the batch that give at least one text another vector."""
    vectors = true_vectors(call)
    return [by for by in range(1, len(vectors)) if list(rotate_components(vectors, by)) != vectors]


class Permuted(OtherVectors, at="embedder.embed", is_a="meaning", guards=("RET-1", "STO-4")):
    """The vectors of a batch in another order."""

    turn: int = among(turns)

    def change(self, vectors: Vectors) -> None:
        vectors[:] = rotate_components(vectors, self.turn)
