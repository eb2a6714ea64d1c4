"""Goal: each planted bug is reported by the simplest rule that it breaks, wherever a hunt begins."""

import pytest

from tests import kv_store
from umi_sim.targets.adapter import Adapter
from umi_sim.targets.drawing import draw_items
from umi_sim.targets.hunt import hunt
from umi_sim.targets.values import key_of

EXPECTED = {
    kv_store.LivesTooLong: ("ttl",),
    kv_store.MatchesPrefix: ("scope", "answer"),  # a value of another key; a delete that reports one
    kv_store.LosesUpdates: ("at-once",),
    kv_store.PrefixOfSession: ("scope",),
}
STARTS = range(0, 12_000, 1_000)


@pytest.mark.slow
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("store", EXPECTED)
def test_a_bug_is_reported_by_its_own_rule(store: type[Adapter], start: int) -> None:
    small = hunt(store, range(start, start + 400)).small
    assert small is not None
    assert small.broken is not None
    assert small.broken.rule in EXPECTED[store]
    kinds = {item.kind for item in small.items} - {"op", "advance"}
    assert kinds == ({"at_once"} if store is kv_store.LosesUpdates else set())


def test_the_store_without_a_bug_is_left_alone() -> None:
    assert hunt(kv_store.PlainStore, range(60)).first is None


def test_values_of_different_writes_differ() -> None:
    """One in sixteen repeats what its key had; no other two writes of a run have the same value."""
    count = repeated = 0
    for seed in range(200):
        by_place: dict[object, set[object]] = {}
        known: set[object] = set()
        for item in draw_items(kv_store.PlainStore, seed, {}):
            for op in item.ops:
                if "value" not in op.args:
                    continue
                place, value = (op.args["ns"], op.args["key"]), key_of(op.args["value"])
                count += 1
                if value in known:
                    repeated += 1
                    assert value in by_place[place]
                known.add(value)
                by_place.setdefault(place, set()).add(value)
    assert 1 / 100 < repeated / count < 1 / 8
