"""Goal: one kind of fault more moves nothing of what the seeds of all others draw."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest
from msgspec import structs

from umi_sim.faults.arguments import below
from umi_sim.faults.embedder import OtherVectors, Vectors
from umi_sim.faults.kinds import KINDS
from umi_sim.record.run_config import RunConfig
from umi_sim.record.verdict import Verdict
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find

ADDED: Final = "embed_mirrored"
SCENARIOS: Final = ("smoke", "storm", "all_faults", "link_storm", "clock_storm", "embedder_storm", "loss")
ONE_KIND: Final = {"scenario.swarm.mode": "one_kind"}


@contextmanager
def one_kind_more() -> Iterator[None]:
    """Another kind of fault, before all others."""
    known = dict(KINDS)
    KINDS.clear()

    class Mirrored(OtherVectors, at="embedder.embed", is_a="meaning", guards=("RET-1", "STO-4")):
        """One vector of a batch comes back to front."""

        index: int = below(lambda call: len(call.effect.texts))

        def change(self, vectors: Vectors) -> None:
            at = self.index % len(vectors)
            vectors[at] = vectors[at][::-1]

    KINDS.update(known)
    try:
        yield
    finally:
        KINDS.clear()
        KINDS.update(known)


def configs(scenario: str, seeds: range, **overrides: str) -> list[RunConfig]:
    return [draw(find(scenario), seed, overrides) for seed in seeds]


def without(config: RunConfig) -> RunConfig:
    return structs.replace(
        config, faults={name: rate for name, rate in config.faults.items() if name != ADDED}
    )


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_configuration_of_all_else_is_as_it_was(scenario: str) -> None:
    before = configs(scenario, range(40), **{"scenario.swarm.mode": "swarm"})
    with one_kind_more():
        after = configs(scenario, range(40), **{"scenario.swarm.mode": "swarm"})
    assert [without(config) for config in after] == before


@pytest.mark.slow
def test_a_run_with_one_kind_has_the_kind_it_had_unless_the_new_one_takes_it() -> None:
    before = configs("all_faults", range(400), **ONE_KIND)
    with one_kind_more():
        after = configs("all_faults", range(400), **ONE_KIND)
    taken = [at for at, config in enumerate(after) if ADDED in config.faults]
    assert 1 <= len(taken) <= 20
    assert [after[at] for at in range(400) if at not in taken] == [
        before[at] for at in range(400) if at not in taken
    ]
    for at in taken:
        faults, loss_max = before[at].faults, before[at].loss_max
        assert structs.replace(after[at], faults=faults, loss_max=loss_max) == before[at]


def run_config(config: RunConfig) -> Verdict:
    return run_once(config)[0]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_run_in_which_it_is_off_is_the_same(scenario: str) -> None:
    config = draw(find(scenario), 3, {"workload.operations": "20"})
    before = run_config(config)
    with one_kind_more():
        after = run_config(config)
    assert (after.items, after.trace_hash, after.fired) == (before.items, before.trace_hash, before.fired)


def test_it_strikes_where_it_is_on() -> None:
    config = draw(find("embedder_storm"), 3, {"workload.operations": "20"})
    with one_kind_more():
        verdict = run_config(structs.replace(config, faults={ADDED: (1, 1)}, everywhere=True))
    assert list(verdict.fired) == [ADDED]
    assert verdict.failure is None


def test_kinds_stand_in_the_order_of_their_places() -> None:
    groups = [kind.group for kind in KINDS.values()]
    assert list(dict.fromkeys(groups)) == ["model", "embed", "storage", "link", "agent", "clock"]
    assert len([at for at in range(1, len(groups)) if groups[at] != groups[at - 1]]) == 5
