"""Drawing: the items of a run, from its seed."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import structs

from umi_core.data import Data
from umi_sim.kernel.prng import Stream
from umi_sim.targets.adapter import Adapter, flags_of, is_async, ops_of
from umi_sim.targets.items import CALLS, PARTED, SITES, STEP, ContractOp, Item
from umi_sim.targets.model import CROWD, TTL_ZERO, TTLS_BELOW_MS, Contract, Pool
from umi_sim.targets.values import CONFUSED_NAMES, ODD_JSON, ODD_NAMES, ODD_TEXTS
from umi_sim.targets.world import parameters

ITEM_COUNT_MAX: Final = 60
ADVANCES_MS: Final = (1, 999, 1_000, 1_000, 1_001, 2_000, 4_000, 5_000, 60_000)
Moments = Mapping[str, Sequence[tuple[str, int]]]  # by operation: (site, n), the n-th call of the site
SCOPES: Final = {"ns", "user", "agent", "run"}
SEPARATORS: Final = (":", "::", "/", ".", "-", "_", "__", "|", "#", ",")  # a and b:a is a:b and a
CONFUSED: Final = 2  # in 1 of 2 runs with odd names, two of these are easily confused
PAUSE_COUNTS: Final = (0, 1, 1, 2, 4, 8)
PAUSE_POINTS_MAX: Final = (1, 4, 12, 40)  # the most points between two pauses
EARLY: Final = 4  # a cancel comes within so many steps, if nothing is known about the operation
LATE, LATE_MAX = 4, 3  # in 1 of 4 items the result of one of the first 3 jobs comes late
RENEWED: Final = (7, 8)  # share of concurrent equal operations that write different values
CROWDED: Final = 12  # 1 run in 12 has more entries than a page
FAULTY_AT_FIRST: Final = 8  # 1 run in 8 begins with a failure or a death
CROWDED_IF_BOUNDED: Final = 3  # 1 run in 3 has about as many entries as the bound of the store
UNASKED: Final = TTL_ZERO[0]
PROBLEMS: Final = ("at_once", "cancel", "fail", "crash_in")
WEIGHTS: Final[Mapping[str, int]] = {
    "add": 4, "put": 4, "get": 4, "delete": 2, "clear": 1, "delete_all": 1, "sweep": 1, "put_many": 2,
    "drain": 1,
}  # fmt: skip


class DrawingPlan(Data):
    """The choices that the items of a run are drawn from. `kinds`: the weight of each kind of item.

    `moments`: by operation, where the process may die or a request may be cancelled; calls fail only at the
    sites in `fails`.
    """

    adapter: type[Adapter]
    ops: Mapping[str, Sequence[str]]
    pool: Pool
    kinds: Mapping[str, int]
    moments: Moments

    @property
    def contract(self) -> Contract:
        return self.adapter.contract


def draw_items(adapter: type[Adapter], seed: int, moments: Moments) -> tuple[Item, ...]:
    chance = Stream(seed, "target", adapter.contract.name)
    ops, pool = draw_ops(adapter, chance), draw_pool(adapter, chance, Stream(seed, "target", "separators"))
    plan = DrawingPlan(adapter, ops, pool, draw_kinds(adapter, chance, moments, ops), moments)
    count, items = chance.log_between(4, ITEM_COUNT_MAX), list[Item]()
    while len(items) < count:
        items += draw_next(plan, chance, len(items))
    # A separate stream, so that it does not change other draws.
    own = Stream(seed, "target", "crowd")
    bound: int | None = getattr(adapter, adapter.contract.bound, None)
    size, share = CROWD, CROWDED
    if bound is not None and bound < CROWD:
        size, share = max(1, own.pick((bound - 1, bound, bound + 1, 2 * bound))), CROWDED_IF_BOUNDED
    is_crowded, is_first = own.chance(1, share), share == CROWDED_IF_BOUNDED and own.chance(1, 2)
    crowd = adapter.contract.crowd(pool, ops, own, size, bound is not None) if is_crowded else ()
    at = 0 if is_first else own.below(len(items))
    together = (Item("op" if len(each) == 1 else "in_turn", tuple(each)) for each in crowd if each)
    items[at:at] = together
    first = Stream(seed, "target", "first")
    faults = [kind for kind in ("fail", "crash_in") if plan.kinds[kind]]
    if faults and first.chance(1, FAULTY_AT_FIRST):  # creating tables happens only once
        items.insert(0, draw_fault(plan, first, first.pick(faults), "first"))
    return tuple(items)


def draw_next(plan: DrawingPlan, chance: Stream, count: int) -> Iterator[Item]:
    """Draw the next item, with the items that belong before and after it. `count`: items so far."""
    for item in with_version(plan, chance, draw_item(plan, chance, str(count)), f"{count}r"):
        yield item
        count += 1
    if item.kind in PROBLEMS and chance.chance(2, 3):
        yield from draw_looks(plan, chance, item.ops[-1], str(count), 1)
    if item.kind == "cancel" and item.ops[0].name not in plan.contract.reads:
        # Read the same entry in two ways: a cache and the rows below it may differ now.
        yield from draw_looks(plan, Stream(item.number, "looks", str(count)), item.ops[0], f"{count}l", 2)


def with_version(plan: DrawingPlan, chance: Stream, item: Item, at: str) -> tuple[Item, ...]:
    """Return the item, often after a read of the version that it appends to: stale ones are only refused."""
    first = next((op for op in item.ops if op.name == "append"), None)
    if first is None or "version" not in plan.ops or chance.chance(1, 3):
        return (item,)
    place = {name: value for name, value in first.args.items() if name in plan.ops["version"]}
    asked = ContractOp("version", {**place, "version": f"r{at}"})
    fresh = [ContractOp(op.name, {**op.args, **asked.args}) if op.name == "append" else op for op in item.ops]
    return Item("op", (asked,)), structs.replace(item, ops=tuple(fresh))


def draw_ops(adapter: type[Adapter], chance: Stream) -> dict[str, Sequence[str]]:
    """Draw the operations of a run: a write, a read, and most others, so that these meet more often."""
    known = ops_of(adapter)
    reads = [name for name in known if name in adapter.contract.reads]
    first = [*([name for name in known if name in ("put", "add")] or list(known)[:1]), *reads[:1]]
    rest = [name for name in known if name not in first and chance.chance(3, 4)]
    return {name: known[name] for name in (*first, *rest)}


def draw_pool(adapter: type[Adapter], chance: Stream, own: Stream) -> Pool:
    """Draw names and values. `own`: a separate stream for names of two parts, and for confused ones."""
    is_odd = adapter.odd and chance.chance(1, 2)
    is_caseless = "caseless" in flags_of(adapter).values()  # is ß ss? Yes by casefold, no by lower
    odd_names = [it for it in ODD_NAMES if not is_caseless or is_same_in_lower_case(it)]
    confused = [it for it in CONFUSED_NAMES if not is_caseless or all(map(is_same_in_lower_case, it))]
    names = ["a", "b", *chance.shuffle(odd_names)[:3]] if is_odd else ["a", "ab", "b"]
    scopes = ["a", *chance.shuffle(odd_names)[:1]] if is_odd and chance.chance(1, 2) else ["u", "ub"]
    values: list[object] = ["likes green tea", "likes coffee"]
    if adapter.values == "json":
        values.append(7)
    if adapter.odd and chance.chance(1, 2):
        odd = (*ODD_TEXTS, *ODD_JSON) if adapter.values == "json" else ODD_TEXTS
        values += chance.shuffle(odd)[:3]
    if getattr(adapter, "keeps_none", False):
        values.append(None)
    names = names[: chance.between(1, len(names))]
    if is_odd and own.chance(1, 4) and any(SCOPES & {*args} for args in ops_of(adapter).values()):
        separator = own.pick(SEPARATORS)
        scopes, names = ["a", f"a{separator}b"], [f"b{separator}a", "a"]
    elif is_odd and own.chance(1, CONFUSED):
        names = [*own.pick(confused), *names[:1]]
    # If files or texts are searched for removed values, no value may be contained in another one.
    pool = Pool(names, scopes, values, is_odd, adapter.erases or "render" in ops_of(adapter))
    more = list[int]()
    if any("ttl_ms" in parameters(getattr(adapter, name)) for name in ops_of(adapter)):
        more += (it for it in TTLS_BELOW_MS if it % adapter.tick_ms == 0)
    if getattr(adapter, "ttl_zero", UNASKED) != UNASKED:
        more.append(0)
    return structs.replace(pool, ttls_ms=(*pool.ttls_ms, *more)) if more else pool


def is_same_in_lower_case(name: str) -> bool:
    """Return whether all ways to ignore case, such as `lower` and `casefold`, agree on a name."""
    return name.lower() == name.casefold()


def moments_at(sites: Sequence[str], moments: Moments) -> Moments:
    """Return the moments at these sites."""
    found = {name: [each for each in moments[name] if each[0] in sites] for name in moments}
    return {name: each for name, each in found.items() if each}


def draw_kinds(
    adapter: type[Adapter], chance: Stream, moments: Moments, ops: Mapping[str, Sequence[str]]
) -> dict[str, int]:
    """Draw the weights of the kinds of items; a third of the runs have no faults.

    `fails` does not limit deaths: a process may die at any moment.
    """
    is_calm = chance.chance(1, 3)
    is_timed = any("ttl" in args for args in ops_of(adapter).values()) or "default_ttl_ms" in flags_of(
        adapter
    )
    async_weight = 0 if is_calm or not is_async(adapter) else 1
    fail_weight = 0 if is_calm or not moments_at(adapter.fails, moments) else 3
    death_weight = 0 if is_calm or not (moments_at(CALLS, moments) and adapter.durable) else 1
    is_paged = "scan" in ops and getattr(adapter, "steady_pages", True)
    return {
        "op": 16, "advance": 4 if is_timed else 1, "reopen": 1 if adapter.durable else 0,
        "crash": 1 if adapter.durable and not is_calm else 0, "at_once": 4 * async_weight,
        "cancel": async_weight, "fail": fail_weight, "crash_in": death_weight,
        "paged": 3 if is_paged else 0,
    }  # fmt: skip


def draw_item(plan: DrawingPlan, chance: Stream, at: str) -> Item:
    kind = chance.pick_weighted(tuple(plan.kinds), tuple(plan.kinds.values()))
    match kind:
        case "advance":
            tick_ms = plan.adapter.tick_ms
            return Item(kind, number=max(tick_ms, chance.pick(ADVANCES_MS) // tick_ms * tick_ms))
        case "reopen" | "crash":
            return Item(kind)
        case "at_once":
            ops, number = draw_together(plan, chance, at), chance.word() >> 2
            ops = spread_keys(plan.pool, Stream(number, "keys", at), ops)
            return Item(kind, ops, number, pauses=draw_pauses(Stream(number, "pauses")))
        case "paged":
            return Item(kind, draw_paged(plan, chance, at))
        case "cancel":
            op, own = draw_op(plan, chance, at), Stream(chance.word(), "beside", at)
            ops, pauses = draw_beside(plan, own, op, at), draw_pauses(own)
            number = draw_step(plan, own, op) * own.between(1, len(ops))
            return Item(kind, ops, number, pauses=pauses)
        case "fail" | "crash_in":
            return draw_fault(plan, chance, kind, at)
    return Item(kind, (draw_op(plan, chance, at),))


def draw_fault(plan: DrawingPlan, chance: Stream, kind: str, at: str) -> Item:
    """Draw an operation in which a call fails, or the process dies."""
    is_death = kind == "crash_in"
    moments = moments_at(CALLS if is_death else plan.adapter.fails, plan.moments)
    op = draw_write(plan, chance, at, moments)
    # If no operation of the run has a moment, the item has no effect.
    unmet = SITES[0] if is_death else plan.adapter.fails[0]
    site, number = chance.pick(moments.get(op.name) or [(unmet, 1)])
    return Item(kind, (op,), number, site, draw_part(chance, kind, site))


def draw_step(plan: DrawingPlan, own: Stream, op: ContractOp) -> int:
    """Draw after how many steps to cancel an operation: any number that it was seen to take."""
    steps = moments_at([STEP], plan.moments).get(op.name)
    return own.pick(steps)[1] if steps else own.between(1, EARLY)


def draw_pauses(own: Stream) -> tuple[int, ...]:
    """Draw the pauses of executor jobs, few or many, and which result comes late.

    `own`: a separate stream.
    """
    count, points_max = own.pick(PAUSE_COUNTS), own.pick(PAUSE_POINTS_MAX)
    pauses = tuple(own.log_between(1, points_max) for _ in range(count))
    late = (-own.between(1, LATE_MAX),) if own.chance(1, LATE) else ()
    return (*pauses, *late)


def draw_part(chance: Stream, kind: str, site: str) -> int:
    """Draw how many per cent of a write are done; all, only if the process dies after it."""
    if site not in PARTED:
        return 0
    choices = [0, chance.between(1, 99) if site == "write" else 0]
    return int(chance.pick([*choices, 100] if kind == "crash_in" else choices))


def draw_beside(plan: DrawingPlan, own: Stream, op: ContractOp, at: str) -> tuple[ContractOp, ...]:
    """Return an operation to cancel, with a concurrent one: often none, or the same on the same entry.

    `own`: a separate stream.
    """
    if own.chance(1, 3) or (plan.contract.is_batch(op) and not is_batch_atomic(plan)) or op.name == "scan":
        return (op,)
    if own.chance(1, 3):
        return op, draw_lone(plan, own, f"{at}b")
    return op, repeat_op(plan, own, op, at)


def draw_together(plan: DrawingPlan, chance: Stream, at: str) -> tuple[ContractOp, ...]:
    """Draw concurrent operations, often the same one twice, which finds most bugs."""
    ops = [draw_lone(plan, chance, f"{at}{letter}") for letter in "abc"[: chance.between(2, 3)]]
    if chance.chance(1, 2):
        ops[1] = repeat_op(plan, chance, ops[0], at)
    return tuple(ops)


def spread_keys(pool: Pool, own: Stream, ops: tuple[ContractOp, ...]) -> tuple[ContractOp, ...]:
    """Give the second of two equal operations on a session another key, half of the time.

    It finds read-modify-write bugs: of put_state(s, "a") and put_state(s, "b"), one is lost. `own`: a
    separate stream.
    """
    first, second, *more = ops
    is_repeated = first.name == second.name and {"session", "key"} <= first.args.keys()
    if not is_repeated or first.args["session"] != second.args["session"] or not own.chance(1, 2):
        return ops
    return first, ContractOp(second.name, {**second.args, "key": own.pick(pool.names)}), *more


def repeat_op(plan: DrawingPlan, chance: Stream, op: ContractOp, at: str) -> ContractOp:
    """Draw the same operation on the same entry. An add or a version gets another name."""
    made = {each: f"{op.args[each]}".rstrip("a") + "b" for each in ("id", "version") if each in op.args}
    other = ContractOp(op.name, {**op.args, **(made if op.name in ("add", "version") else {})})
    return renew_values(other, f"v{at}b", plan.pool) if chance.chance(*RENEWED) else other


def renew_values(op: ContractOp, own: str, pool: Pool) -> ContractOp:
    """Return the operation with other values, so that answers show which of two writes they come from."""
    args = dict(op.args)
    match args:
        case {"value": _}:
            args["value"] = own
        case {"text": _}:
            args["text"] = own
        case {"pairs": dict() as pairs}:
            args["pairs"] = {key: f"{own}.{n}" for n, key in enumerate(pairs)}
        case {"items": list() as items}:
            args["items"] = [
                {**item, "content": f"{own}.{n}"} if isinstance(item, dict) else f"{own}.{n}"
                for n, item in enumerate(items)
            ]
    if "text" in args:
        pool.used.append(own)
    return ContractOp(op.name, args)


def draw_paged(plan: DrawingPlan, chance: Stream, at: str) -> tuple[ContractOp, ...]:
    """Draw a scan with small pages, and operations on the same namespace between its pages."""
    scan = draw_named(plan, chance, at, "scan")
    others = [draw_lone(plan, chance, f"{at}{letter}") for letter in "abc"[: chance.between(1, 3)]]
    where = {name: value for name, value in scan.args.items() if name == "ns"}
    return scan, *(
        ContractOp(each.name, {**each.args, **where} if "ns" in each.args else each.args) for each in others
    )


def draw_lone(plan: DrawingPlan, chance: Stream, at: str) -> ContractOp:
    """Draw an operation for use between others; a batch that is not atomic gets at most one entry."""
    op = draw_op(plan, chance, at, lone=True)
    if is_batch_atomic(plan) or not plan.contract.is_batch(op):
        return op
    return ContractOp(op.name, {name: at_most_one(each) for name, each in op.args.items()})


def is_batch_atomic(plan: DrawingPlan) -> bool:
    """Return whether a batch is done completely or not at all."""
    choices = plan.contract.flags.get("batch_atomic", (True,))
    return bool(flags_of(plan.adapter).get("batch_atomic", choices[0]))


def at_most_one(value: object) -> object:
    match value:
        case list():
            return value[:1]
        case dict():
            return dict(list(value.items())[:1])
    return value


def draw_op(plan: DrawingPlan, chance: Stream, at: str, lone: bool = False) -> ContractOp:
    """Draw an operation. `lone`: no scan, because other operations may run between its pages."""
    names = [name for name in plan.ops if not (lone and name == "scan")]
    return draw_named(plan, chance, at, chance.pick_weighted(names, [WEIGHTS.get(name, 2) for name in names]))


def draw_write(plan: DrawingPlan, chance: Stream, at: str, moments: Moments) -> ContractOp:
    """Draw an operation with such a moment, mostly a write: there a fault can be seen."""
    names = [name for name in plan.ops if name in moments] or list(plan.ops)
    writes = [name for name in names if name not in plan.contract.reads]
    return draw_named(plan, chance, at, chance.pick(writes if writes and chance.chance(3, 4) else names))


def draw_looks(plan: DrawingPlan, chance: Stream, op: ContractOp, at: str, count: int) -> Iterator[Item]:
    """Draw `count` different reads of the entry that an operation has touched."""
    names = [name for name in plan.ops if name in plan.contract.reads]
    for _ in range(min(count, len(names))):
        name = names.pop(chance.below(len(names)))
        look = draw_named(plan, chance, at, name)
        args = {arg: op.args.get(arg, each) for arg, each in look.args.items()}
        yield Item("op", (ContractOp(name, args),))


def draw_named(plan: DrawingPlan, chance: Stream, at: str, name: str) -> ContractOp:
    return ContractOp(name, plan.contract.draw(chance, plan.pool, name, plan.ops[name], at))
