"""Comparison of two implementations of one interface: both must give the same answers in the same run.

Law 1. Only operations, time and restarts are compared, because faults below one store do not exist below the
       other. Law 2. Each store is judged by its contract first; the comparison finds differences that the
       contract allows.
"""

import json
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from msgspec import structs

from umi_sim.targets.adapter import Adapter, BadAdapter, ops_of
from umi_sim.targets.checker import BrokenContract, Got
from umi_sim.targets.drawing import Moments, draw_items
from umi_sim.targets.items import ContractOp, Item
from umi_sim.targets.life import TargetVerdict, run
from umi_sim.targets.values import MISSING, same
from umi_sim.targets.world import COMPUTING_SECONDS_MAX

RULE: Final = "alike"
UNORDERED: Final = ("keys", "items", "scan", "sessions", "list")
TOLD: Final = ("pop", "incr", "delete", "delete_many", "touch")  # writes whose results are compared
RANKED: Final = ("search", "version")  # results that each store may choose


def check_same_interface(one: type[Adapter], other: type[Adapter]) -> None:
    """Check that two adapters can be given the same operations. Raises BadAdapter."""
    names = f"{one.__name__} and {other.__name__}"
    if one.contract.name != other.contract.name:
        raise BadAdapter(f"{names}: are of two contracts, {one.contract.name} and {other.contract.name}")
    ops, others = ops_of(one), ops_of(other)
    for name in ops:
        if name in others and ops[name] != others[name]:
            message = f"{', '.join(ops[name]) or 'nothing'}, and {', '.join(others[name]) or 'nothing'}"
            raise BadAdapter(f"{names}: {name} takes {message}: give both the same, or leave it out")


def draw_both(other: type[Adapter], one: type[Adapter], seed: int, _: Moments) -> tuple[Item, ...]:
    """Draw items that both adapters can run."""
    ops = ops_of(other)
    kinds = ["op", "advance"] + (["reopen"] if one.durable and other.durable else [])
    drawn = draw_items(one, seed, {})
    return tuple(it for it in drawn if it.kind in kinds and all(op.name in ops for op in it.ops))


def run_both(
    other: type[Adapter], one: type[Adapter], items: Sequence[Item], seed: int = 0,
    seconds: float = COMPUTING_SECONDS_MAX,
) -> TargetVerdict:  # fmt: skip
    """Run both stores. Return the verdict of the first that fails, or else of their first difference."""
    first = run(one, items, seed, seconds)
    second = run(other, items, seed, seconds) if first.broken is None else first
    if first.broken is not None or second.broken is not None or first.known or second.known:
        return second
    both = structs.replace(first, jobs=first.jobs + second.jobs)
    for at, (step, other_step) in enumerate(zip(first.steps, second.steps, strict=True)):
        for op, got, wanted in zip(step.item.ops, step.gots, other_step.gots, strict=True):
            if not is_alike(one, op, got, wanted):
                message = f"{wanted.told}, as {other.__name__} says"
                return structs.replace(
                    both, broken=BrokenContract(RULE, op.name, got.told, message), ended_at=at
                )
    return both


def is_alike(adapter: type[Adapter], op: ContractOp, one: Got, other: Got) -> bool:
    if one.error or other.error:
        return bool(one.error) == bool(other.error)
    fields = [name for name in (*adapter.contract.reads, *TOLD) if name not in RANKED]
    if op.name not in fields and (adapter.contract.name, op.name) != ("kv", "add"):
        return True
    forms = map(partial(plain, op), (one.value, other.value))
    return same(*forms)


def plain(op: ContractOp, value: Any) -> Any:
    """Return an answer in a normal form, without differences such as the order of rows."""
    if op.name == "get_many" and isinstance(value, dict):
        keys: Any = op.args["keys"]
        value = [value.get(key) for key in keys]
    if op.name in UNORDERED:
        return sorted(json.dumps(each, sort_keys=True, default=repr) for each in value or [])
    if op.name == "ttl":
        return value is MISSING or value is None
    if op.name in ("has", "delete", "touch", "add") and isinstance(value, int):
        return bool(value)
    return None if value is MISSING or value in ([], {}) else value


__all__ = ["check_same_interface", "draw_both", "run_both"]
