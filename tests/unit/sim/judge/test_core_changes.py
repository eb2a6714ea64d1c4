"""Goal: only a fact that ends in this very plan gives its place in core away."""

from typing import Any

from msgspec import structs

from tests.worlds import QUIET, Pair, id_of_fact
from umi_core.messages.requests import Rebalance, Remember
from umi_core.rows import Entity
from umi_core.workflows.commits import Plan
from umi_sim.judge.state.plans import CoreChange, list_successors

ROME, PARIS = (id_of_fact("Alice", f"lives in {city}") for city in ("Rome", "Paris"))


def test_a_successor_of_an_earlier_commit_asks_for_no_place() -> None:
    """Another agent has ended Rome; core still shows it, and a forget here takes a relation from its row."""
    pair = Pair(config=structs.replace(QUIET, promote_score_min_ppm=0)).run()
    pair.ask(Remember(1, "Alice lives in Rome"))
    pair.ask(Rebalance(2))
    core = pair.memory.state.tiers.core
    assert core.locate(ROME) is not None
    pair.ask(Remember(3, "Alice lives in Paris", evolve=False))
    [paris] = [row.body for row in pair.rows("entity") if row.address.id == PARIS]
    assert isinstance(paris, Entity)
    access = pair.memory.state.tiers.access
    plans: list[Any] = [Plan(0), Plan(0, accessed=(paris,))]
    forget, remember = (CoreChange(core, core, it, (), {ROME: PARIS}) for it in plans)
    assert list_successors(forget, access) == []
    assert [it.entity_id for it in list_successors(remember, access)] == [PARIS]
