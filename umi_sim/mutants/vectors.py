"""Mutants that one kind of faulty vectors reveals."""

from collections.abc import Callable
from typing import Any, Final

import attrs

from umi_core.engine.facts import Facts, View
from umi_core.engine.registry import Registry
from umi_core.engine.workflow import Learned, Taken, Unusable
from umi_core.limits import COMPONENT_MAX
from umi_core.messages.answers import Answer, Embedded
from umi_core.workflows import remember
from umi_core.workflows.recall import VARIANTS
from umi_sim.mutants import Mutant, Original, Patch, row_of

Change = Callable[[tuple[Any, ...], int], tuple[Any, ...]]
Vectors = tuple[Any, ...]
Sound = tuple[tuple[int, ...] | None, ...] | None


def mended(change: Change) -> Callable[[Original], Original]:
    """Each vector is mended before it is judged; the change sees how many components are due."""

    def wrong(original: Original) -> Original:
        def sound_vectors(vectors: Any, count: int, dims: int) -> object:
            return original(tuple(change(tuple(vector), dims) for vector in vectors), count, dims)

        return sound_vectors

    return wrong


def filled_up(vector: tuple[Any, ...], dims: int) -> tuple[Any, ...]:
    return (*vector, *(0,) * dims)[:dims] if vector else vector


def cut_to_range(vector: tuple[Any, ...], dims: int) -> tuple[Any, ...]:
    is_whole = all(type(it) is int for it in vector)
    return tuple(max(-COMPONENT_MAX, min(COMPONENT_MAX, it)) for it in vector) if is_whole else vector


def truth_is_one(vector: tuple[Any, ...], dims: int) -> tuple[Any, ...]:
    return tuple(int(it) if isinstance(it, bool) else it for it in vector)


def zeros_kept(original: Original) -> Original:
    def sound_vectors(vectors: Any, count: int, dims: int) -> Sound:
        found: Sound = original(vectors, count, dims)
        zero = (0,) * dims
        return found and tuple(
            zero if tuple(given) == zero else it for given, it in zip(vectors, found, strict=True)
        )

    return sound_vectors


def as_many_as_there_are(original: Original) -> Original:
    def sound_vectors(vectors: Any, count: int, dims: int) -> object:
        some = tuple(vectors)[:count]
        return original((*some, *(() for _ in range(count - len(some)))), count, dims)

    return sound_vectors


def repetition_dropped(original: Original) -> Original:
    def sound_vectors(vectors: Any, count: int, dims: int) -> Sound:
        found: Sound = original(vectors, count, dims)
        return found and tuple(None if it in found[:at] else it for at, it in enumerate(found))

    return sound_vectors


def noticed(is_suspect: Callable[[Vectors, Vectors], bool]) -> Callable[[Registry], Registry]:
    """A recall remembers what each batch of texts was to the embedder, and does without if that looks odd."""

    def tables(registry: Registry) -> Registry:
        row, known = row_of(registry, "recall", "embed"), dict[object, Vectors]()

        def take(facts: Facts, answer: Answer | None, view: View) -> Taken:
            taken = row.take(facts, answer, view)
            if not isinstance(taken, Learned) or not isinstance(answer, Embedded):
                return taken
            vectors = tuple(answer.vectors)
            first = known.setdefault(facts[VARIANTS], vectors)
            return Unusable("another embedder") if is_suspect(first, vectors) else taken

        return registry.replace("recall", "embed", attrs.evolve(row, take=take))

    return tables


def has_drifted(first: Vectors, vectors: Vectors) -> bool:
    return len(first) == 1 and first != vectors


def is_in_other_order(first: Vectors, vectors: Vectors) -> bool:
    return first != vectors and sorted(first) == sorted(vectors)


def of_embed(
    kind: str, name: str, behaviour: str, wrong: Callable[[Original], Original], *rules: str, **more: Any
) -> Mutant:
    patches = (Patch(remember, "sound_vectors", wrong),)
    return Mutant(name, "vectors", behaviour, rules or NAMED, "all_faults", patches, kind=kind, **more)


NAMED: Final = ("degradation-named",)
ASKING: Final = {"workload.repeat": "3/4", "workload.weights.recall": "40", "workload.operations": "24"}

ROWS: Final = (
    of_embed("embed_zero", "zero-vector-kept", "a vector of zeros is stored", zeros_kept,
             "vectors-whole", "degradation-named"),
    of_embed("embed_wrong_dims", "vector-filled-up", "a vector of another length is filled up or cut",
             mended(filled_up)),
    of_embed("embed_short", "vectors-as-many-as-there-are", "of too few or too many vectors the first count",
             as_many_as_there_are),
    of_embed("embed_not_finite", "truth-is-one", "a component that is true counts as one",
             mended(truth_is_one)),
    of_embed("embed_out_of_range", "vector-cut-to-range", "a component beyond the range is cut to it",
             mended(cut_to_range)),
    of_embed("embed_collision", "repeated-vector-dropped",
             "of two texts that get one vector the second is left without", repetition_dropped),
    Mutant("new-embedder-not-used", "vectors",
           "a query that is another vector than before is answered without vectors", NAMED, "all_faults",
           tables=noticed(has_drifted), kind="embed_drift", settings=ASKING),
    Mutant("batch-in-other-order-not-used", "vectors",
           "variants whose vectors come in another order than before are searched without vectors",
           NAMED, "all_faults", tables=noticed(is_in_other_order), kind="embed_permuted", settings=ASKING),
)  # fmt: skip
