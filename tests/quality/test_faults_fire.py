"""Goal: no kind of fault is only declared; each fires where it is the only one."""

import pytest

from umi_sim.faults.kinds import KINDS
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find

SEED_COUNT = 24
FIRES = {
    "agents.count": "1", "workload.operations": "20", "memory.semantic_routing": "true",
    "memory.auto_rebalance": "false", "scenario.swarm.mode": "one_kind",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_kind_fires_where_it_is_the_only_one(kind: str) -> None:
    alone = {**FIRES, "scenario.swarm.pin.kind": kind, f"faults.{kind}": "1/2"}
    for seed in range(SEED_COUNT):
        verdict, _ = run_once(draw(find("all_faults"), seed, alone))
        assert verdict.failure is None, verdict.failure
        if kind in verdict.fired:
            assert list(verdict.fired) == [kind]
            return
    pytest.fail(f"{kind} fired in none of {SEED_COUNT} runs")


def test_every_kind_is_on_in_all_faults() -> None:
    assert list(draw(find("all_faults"), 0).faults) == list(KINDS)
