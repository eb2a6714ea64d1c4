"""Bounds that a store has and its class does not declare, such as a cache of a hundred entries.

What such a store loses is a failure: nothing says that it may. But the report says what to declare.
"""

from typing import Final

from msgspec import structs

from umi_sim.kernel.prng import Stream
from umi_sim.targets.adapter import Adapter, BadAdapter, flags_of, ops_of
from umi_sim.targets.anomalies import name_anomaly
from umi_sim.targets.items import Item
from umi_sim.targets.life import TargetVerdict, run
from umi_sim.targets.model import CROWD, Pool
from umi_sim.targets.values import MISSING

COUNTS: Final = (CROWD, CROWD + 50)  # how many entries a store gets: it keeps as many of both
OF: Final = {"kv": "entries", "memory": "entries", "sessions": "messages of a session"}


def explain_bound(adapter: type[Adapter], found: TargetVerdict, small: TargetVerdict) -> TargetVerdict:
    """Return the small failure, named for a bound if both runs pass where that is declared."""
    bound = adapter.contract.bound
    if small.broken is None or small.broken.rule != "answer" or flags_of(adapter).get(bound) is not None:
        return small
    try:
        most, others = (count_kept(adapter, count) for count in COUNTS)
    except BadAdapter:  # so many entries are more than it can be given
        return small
    if most != others or not 0 < most < CROWD:
        return small
    declared = declare(adapter, {bound: most})
    if any(run(declared, each.items, each.seed).broken for each in (found, small)):
        return small
    anomaly = name_anomaly("answer", "bounded")
    message = f"answers as if it kept {most} {OF[adapter.contract.name]}: {bound} = {most} promises that"
    return structs.replace(small, broken=structs.replace(small.broken, anomaly=anomaly, hint=message))


def declare(adapter: type[Adapter], flags: dict[str, object]) -> type[Adapter]:
    return type(adapter.__name__, (adapter,), {**flags, "__module__": adapter.__module__})


def count_kept(adapter: type[Adapter], count: int) -> int:
    """Return how many are left of so many that are written one after the other, by what reads them."""
    pool = Pool(["a"], ["u"], [])
    crowd = adapter.contract.crowd(pool, ops_of(adapter), Stream(0), count, is_bounded=True)
    items = [Item("in_turn", tuple(each)) for each in crowd if each]
    verdict = run(declare(adapter, {adapter.contract.bound: 1, "evicts": "many"}), items)
    values = [got.value for got in (verdict.gots[1] if len(verdict.gots) > 1 else ()) if not got.error]
    if values and isinstance(values[0], list):
        return len(values[0])
    return sum(value is not None and value is not MISSING for value in values)
