"""Goal: each fault of the embedder does what its class says, and never counts for nothing."""

from collections import Counter

import pytest

from tests.unit.sim.faults.arrivals import AT_MS, DIMS, arrival, call, draw_and_inject, inject, services
from umi_core.messages.answers import EffectFailed, Embedded
from umi_core.messages.effects import Embed
from umi_core.policies.similarity import lacking_vectors
from umi_sim.faults.kinds import KINDS
from umi_sim.record.items import Args
from umi_sim.services.calls import Handled, Later
from umi_sim.services.embedder import embed

TEXTS = ("green tea", "black coffee", "a third thing")


def vectors(handled: Handled) -> tuple[tuple[object, ...], ...]:
    assert isinstance(handled, Later)
    assert isinstance(handled.answer, Embedded)
    return handled.answer.vectors


TRUE = tuple(embed(text, DIMS) for text in TEXTS)
BATCH = call(Embed(TEXTS))


def test_what_would_change_nothing_is_without_effect_and_counted() -> None:
    without_effect: Counter[str] = Counter()
    alone = arrival(services(), call(Embed(("one text",))))
    for kind in ("embed_permuted", "embed_collision"):
        assert KINDS[kind].args_for(alone, lambda label, n: 0, without_effect) is None
    assert without_effect == {"embed_permuted": 1, "embed_collision": 1}


def test_a_rate_limit_names_the_time_to_wait() -> None:
    handled = draw_and_inject(services(), BATCH, "embed_rate_limited", at=2)
    assert handled == Later(EffectFailed(7, "rate_limited", 999), AT_MS)


def lacking(answer: tuple[object, ...]) -> object:
    return lacking_vectors("none", answer, DIMS)


@pytest.mark.parametrize("at", range(3))
@pytest.mark.parametrize(
    ("kind", "fault"),
    [("embed_zero", "zero"), ("embed_not_finite", "not_whole"), ("embed_wrong_dims", "wrong_length")],
)
def test_an_unsound_vector_is_unsound_in_one_way(kind: str, fault: str, at: int) -> None:
    answer = vectors(draw_and_inject(services(), BATCH, kind, at))
    assert lacking(answer) == (("none", fault, 1),)
    assert [vector for vector in answer if vector in TRUE] == [it for n, it in enumerate(TRUE) if n != at]


@pytest.mark.parametrize(("at", "fault"), [(0, "out_of_range"), (1, "out_of_range"), (2, "not_whole")])
def test_out_of_range_is_too_large_too_small_or_a_fraction(at: int, fault: str) -> None:
    answer = vectors(draw_and_inject(services(), BATCH, "embed_out_of_range", at))
    assert lacking(answer) == (("none", fault, 1),)


def test_after_a_drift_every_vector_is_turned_by_one_component() -> None:
    world = services()
    once = tuple((*it[-1:], *it[:-1]) for it in TRUE)
    assert vectors(draw_and_inject(world, BATCH, "embed_drift")) == once
    assert vectors(world.handle(BATCH, AT_MS)) == once
    twice = tuple((*it[-2:], *it[:-2]) for it in TRUE)
    assert vectors(draw_and_inject(world, BATCH, "embed_drift")) == twice


def test_in_a_collision_two_texts_have_one_vector() -> None:
    world = services()
    answer = vectors(draw_and_inject(world, BATCH, "embed_collision"))
    assert answer == (TRUE[0], TRUE[0], TRUE[2])
    assert vectors(world.handle(BATCH, AT_MS)) == TRUE


def test_a_permuted_batch_has_the_same_vectors_in_another_order() -> None:
    assert vectors(draw_and_inject(services(), BATCH, "embed_permuted")) == (TRUE[2], TRUE[0], TRUE[1])
    assert vectors(draw_and_inject(services(), BATCH, "embed_permuted", at=1)) == (TRUE[1], TRUE[2], TRUE[0])


def test_args_from_a_file_are_bent_to_what_is_there() -> None:
    far: Args = {"index": 2**53 - 1, "other": 2**53 - 1, "choice": 2**53 - 1, "turn": 2**53 - 1}
    for kind in [
        it for it in KINDS.values() if it.group == "embed" and it.fault_class in ("shape", "meaning")
    ]:
        args = {name: far[name] for name in kind.arguments}
        for batch in (BATCH, call(Embed(()))):
            assert isinstance(inject(services(), batch, AT_MS, kind.name, args), Later)
