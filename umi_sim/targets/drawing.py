"""Drawing: the items of a run, from its seed."""

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from umi_core.data import Data
from umi_sim.kernel.prng import Stream
from umi_sim.targets.adapter import Adapter, flags_of, is_async, ops_of
from umi_sim.targets.items import SITES, Advance, AtOnce, Cancel, Crash, Fail, Item, Op, Reopen
from umi_sim.targets.model import Pool
from umi_sim.targets.values import ODD_JSON, ODD_NAMES, ODD_TEXTS

ITEM_COUNT_MAX: Final = 60
ADVANCES_MS: Final = (1, 999, 1_000, 1_000, 1_001, 2_000, 4_000, 5_000, 60_000)
DRAWS_MAX: Final = 20
WEIGHTS: Final[Mapping[str, int]] = {
    "add": 4, "put": 4, "get": 4, "delete": 2, "clear": 1, "delete_all": 1, "sweep": 1, "put_many": 2,
}  # fmt: skip


@attrs.frozen
class Plan(Data):
    """What may happen in the runs of an adapter. `sites`: what it was seen to reach; None: not known yet."""

    adapter: type[Adapter]
    ops: Sequence[str]
    pool: Pool
    kinds: Mapping[str, int]
    sites: Sequence[str]


def items_of(adapter: type[Adapter], seed: int, sites: Sequence[str] = SITES) -> tuple[Item, ...]:
    chance = Stream(seed, "target", adapter.contract.name)
    plan = Plan(
        adapter, ops_drawn(adapter, chance), pool_of(adapter, chance), kinds_of(adapter, chance, sites), sites
    )
    return tuple(item(plan, chance, at) for at in range(chance.log_between(4, ITEM_COUNT_MAX)))


def ops_drawn(adapter: type[Adapter], chance: Stream) -> tuple[str, ...]:
    """Some are left out in each run, so that others come together; never all that write."""
    known = tuple(ops_of(adapter))
    first = [name for name in known if name in ("put", "add")] or list(known[:1])
    return (*first, *(name for name in known if name not in first and chance.chance(3, 4)))


def pool_of(adapter: type[Adapter], chance: Stream) -> Pool:
    is_odd = adapter.odd and chance.chance(1, 2)
    names = ["a", "b", *chance.shuffle(ODD_NAMES)[:3]] if is_odd else ["a", "ab", "b"]
    scopes = ["a", *chance.shuffle(ODD_NAMES)[:1]] if is_odd and chance.chance(1, 2) else ["a", "ab"]
    values: list[object] = ["likes green tea", "likes coffee"]
    if adapter.values == "json":
        values.append(7)
    if adapter.odd and chance.chance(1, 2):
        odd = (*ODD_TEXTS, *ODD_JSON) if adapter.values == "json" else ODD_TEXTS
        values += chance.shuffle(odd)[:3]
    if getattr(adapter, "keeps_none", False):
        values.append(None)
    return Pool(names[: chance.between(1, len(names))], scopes, values)


def kinds_of(adapter: type[Adapter], chance: Stream, sites: Sequence[str]) -> dict[str, int]:
    """Kinds of items, each with its weight; faults are left out of a third of the runs."""
    is_calm = chance.chance(1, 3)
    is_timed = any("ttl" in args for args in ops_of(adapter).values()) or "default_ttl_ms" in flags_of(
        adapter
    )
    async_weight = 0 if is_calm or not is_async(adapter) else 1
    site_weight = 0 if is_calm or not sites else 1
    return {
        "op": 16, "advance": 4 if is_timed else 1, "reopen": 1 if adapter.durable else 0,
        "crash": 1 if adapter.durable and not is_calm else 0, "at_once": 4 * async_weight,
        "cancel": async_weight, "fail": 3 * site_weight, "crash_in": site_weight if adapter.durable else 0,
    }  # fmt: skip


def item(plan: Plan, chance: Stream, at: int) -> Item:
    match chance.weighted(tuple(plan.kinds), tuple(plan.kinds.values())):
        case "advance":
            tick_ms = plan.adapter.tick_ms
            return Advance(max(tick_ms, chance.pick(ADVANCES_MS) // tick_ms * tick_ms))
        case "reopen":
            return Reopen()
        case "crash":
            return Crash()
        case "at_once":
            return AtOnce(ops_at_once(plan, chance, at), chance.word() >> 2)
        case "cancel":
            return Cancel(chance.log_between(1, 30), drawn_op(plan, chance, at))
        case "fail":
            return Fail(chance.pick(plan.sites), chance.log_between(1, 6), drawn_op(plan, chance, at))
        case "crash_in":
            return Crash(chance.pick(plan.sites), chance.log_between(1, 6), drawn_op(plan, chance, at))
    return drawn_op(plan, chance, at)


def ops_at_once(plan: Plan, chance: Stream, at: int) -> tuple[Op, ...]:
    """Often the same one twice: most of what goes wrong goes wrong there."""
    ops = [lone_op(plan, chance, at) for _ in range(chance.between(2, 3))]
    return (ops[0], *ops[:-1]) if chance.chance(1, 2) else tuple(ops)


def lone_op(plan: Plan, chance: Stream, at: int) -> Op:
    """No batch, if others may come in between: then there is nothing to be said of it."""
    contract = plan.adapter.contract
    is_atomic = flags_of(plan.adapter).get("batch_atomic", contract.flags.get("batch_atomic", (True,))[0])
    for _ in range(DRAWS_MAX):
        op = drawn_op(plan, chance, at)
        if is_atomic or not contract.is_batch(op):
            return op
    return Op(op.name, {name: each[:1] if isinstance(each, list) else each for name, each in op.args.items()})


def drawn_op(plan: Plan, chance: Stream, at: int) -> Op:
    """An operation about which the contract says something; if none comes up, the first that writes."""
    contract, known = plan.adapter.contract, ops_of(plan.adapter)
    flags = flags_of(plan.adapter)
    for _ in range(DRAWS_MAX):
        name = chance.weighted(plan.ops, [WEIGHTS.get(each, 2) for each in plan.ops])
        op = Op(name, contract.draw(chance, plan.pool, name, known[name], at))
        if contract.may_be_drawn(op, flags):
            return op
    return Op(plan.ops[0], contract.draw(chance, plan.pool, plan.ops[0], known[plan.ops[0]], at))
