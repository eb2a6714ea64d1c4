"""Faults of the embedder: no vectors, unsound ones, or sound ones that mean something else."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import attrs

from umi_core.messages.answers import Embedded
from umi_core.messages.effects import Embed
from umi_sim.faults.kinds import Draw
from umi_sim.faults.strikes.service import (
    MakeArgs,
    Strike,
    before_timeout,
    fails,
    fails_later,
    goes_away,
    retry_after,
    says_nothing,
    whole,
    window,
)
from umi_sim.record.items import Args
from umi_sim.services.calls import Call, Handled, Later, Services

VectorList = list[tuple[object, ...]]
Value = TypeVar("Value")


def one_vector(services: Services, call: Call, draw: Draw) -> Args | None:
    assert isinstance(call.effect, Embed)
    return {"index": draw("index", len(call.effect.texts)), "choice": draw("choice", 3)}


def two_vectors(services: Services, call: Call, draw: Draw) -> Args | None:
    """One vector takes the place of another one that differs."""
    vectors = true_vectors(services, call)
    pairs = [(n, m) for n, a in enumerate(vectors) for m, b in enumerate(vectors) if a != b]
    if not pairs:
        return None
    index, other = pairs[draw("pair", len(pairs))]
    return {"index": index, "other": other}


def batch_turn(services: Services, call: Call, draw: Draw) -> Args | None:
    """By how much the order turns: so that some text gets another vector."""
    vectors = true_vectors(services, call)
    turns = [by for by in range(1, len(vectors)) if list(turned(vectors, by)) != vectors]
    return {"turn": turns[draw("turn", len(turns))]} if turns else None


def drift_args(services: Services, call: Call, draw: Draw) -> Args | None:
    vectors = true_vectors(services, call)
    return {} if [turned(vector, 1) for vector in vectors] != vectors else None


def true_vectors(services: Services, call: Call) -> VectorList:
    answer = services.answer(call)
    assert isinstance(answer, Embedded)
    return list(answer.vectors)


def turned(values: Sequence[Value], by: int) -> tuple[Value, ...]:
    """The values, each `by` places further on; the last come first."""
    at = -by % max(1, len(values))
    return (*values[at:], *values[:at])


def with_vectors(change: Callable[[VectorList, Args], None]) -> Strike:
    def strike(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
        answer = services.answer(call)
        assert isinstance(answer, Embedded)
        vectors = list(answer.vectors)
        if vectors:
            change(vectors, args)
        return Later(attrs.evolve(answer, vectors=tuple(vectors)), now_ms)

    return strike


def place(vectors: VectorList, args: Args, name: str = "index") -> int:
    return whole(args, name) % len(vectors)


def zeroed(vectors: VectorList, args: Args) -> None:
    index = place(vectors, args)
    vectors[index] = (0,) * len(vectors[index])


def resized(vectors: VectorList, args: Args) -> None:
    index = place(vectors, args)
    vectors[index] = (vectors[index][:-1], (*vectors[index], 1), ())[whole(args, "choice") % 3]


def recounted(vectors: VectorList, args: Args) -> None:
    index = place(vectors, args)
    vectors[:] = vectors[:-1] if whole(args, "choice") % 2 else [*vectors, vectors[index]]


def with_first(*values: object) -> Callable[[VectorList, Args], None]:
    """The first component of one vector becomes one of these values."""

    def change(vectors: VectorList, args: Args) -> None:
        index = place(vectors, args)
        vectors[index] = (values[whole(args, "choice") % len(values)], *vectors[index][1:])

    return change


def collided(vectors: VectorList, args: Args) -> None:
    vectors[place(vectors, args, "other")] = vectors[place(vectors, args)]


def permuted(vectors: VectorList, args: Args) -> None:
    vectors[:] = turned(vectors, whole(args, "turn"))


def drifts(services: Services, call: Call, now_ms: int, args: Args) -> Handled:
    """From now on every vector is turned by one more place: a new version of the model."""
    services.vector_turn += 1
    return Later(services.answer(call), now_ms)


ARGS: Final[dict[str, MakeArgs]] = {
    "embed_timeout": before_timeout, "embed_rate_limited": retry_after, "embed_unavailable": window,
    "embed_zero": one_vector, "embed_wrong_dims": one_vector, "embed_short": one_vector,
    "embed_not_finite": one_vector, "embed_out_of_range": one_vector, "embed_collision": two_vectors,
    "embed_permuted": batch_turn, "embed_drift": drift_args,
}  # fmt: skip

EFFECTS: Final[dict[str, Strike]] = {
    "embed_timeout": fails_later, "embed_rate_limited": fails("rate_limited"),
    "embed_unavailable": goes_away, "embed_reply_lost": says_nothing,
    "embed_zero": with_vectors(zeroed), "embed_wrong_dims": with_vectors(resized),
    "embed_short": with_vectors(recounted), "embed_not_finite": with_vectors(with_first("nan", "inf", True)),
    "embed_out_of_range": with_vectors(with_first(128, -(10**9), "0.5")),
    "embed_collision": with_vectors(collided), "embed_permuted": with_vectors(permuted),
    "embed_drift": drifts,
}  # fmt: skip
