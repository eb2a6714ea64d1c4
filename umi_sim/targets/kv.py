"""The contract `kv`: values by key, optionally with a time to live.

    put(key, value, ttl)       get(key)              has(key)          delete(key)       pop(key)
    put_many(pairs, ttl)       get_many(keys)        delete_many(keys) add(key, value, ttl)
    incr(key, by)              touch(key, ttl)       ttl(key)          clear()           sweep()
    keys(prefix, limit)        items()               count()           scan(cursor, limit)

For an absent key `get` and `pop` return None or MISSING, or raise KeyError. All operations but `sweep` may
take `ns`, a namespace. Adapters get `ttl` in seconds; an argument named `ttl_ms` gets milliseconds.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Any, ClassVar, Final

from msgspec import structs

from umi_sim.kernel.prng import Stream
from umi_sim.targets.items import ContractOp
from umi_sim.targets.model import (
    CROWD_LIMITS,
    NOTHING,
    REFUSAL,
    SINGLY,
    TTL_ZERO,
    WHATEVER,
    AnyOrder,
    Contract,
    Either,
    Exactly,
    Expectation,
    Flags,
    Outcomes,
    Pool,
    StoredEntry,
    StoreState,
    Truth,
    any_of,
    fill,
    live_for,
)
from umi_sim.targets.values import MISSING, is_plain, same

CLEARED_MAX: Final = 5  # entries whose subsets are suspected states after a failed clear
TOO_MANY: Final = 9  # entries whose subsets are possible states: 2**9 exceed STATE_COUNT_MAX
LISTINGS: Final = ("keys", "items", "count", "scan")
COUNTERS: Final = ("n1", "n2")
Key = tuple[str, str]  # namespace, key
Ttl = int | None


class KvEntry(StoredEntry):
    value: object
    ttl_ms: int | None = None


class KvState(StoreState):
    def alive(self, key: Key, now_ms: int) -> KvEntry | None:
        entry: KvEntry | None = self.entries.get(key)
        return entry if entry is not None and self.lives(entry, now_ms) else None

    def lives(self, entry: KvEntry, now_ms: int) -> bool:
        return self.flags["sees_expired"] == "all" or not self.has_ended(entry, now_ms)

    def put(self, key: Key, value: object, now_ms: int, ttl_ms: int | None) -> "KvState":
        lives = live_for(self.flags, ttl_ms)
        end_ms = None if lives is None else now_ms + lives
        return self.store(key, KvEntry(value, lives, end_ms=end_ms))

    def list_pairs(self, ns: str, now_ms: int, prefix: str = "") -> AnyOrder:
        """Return the listing of [key, value]. Expired or evicted entries are optional if flags allow it."""
        own = {key: it for key, it in self.entries.items() if key[0] == ns and key[1].startswith(prefix)}
        pairs = {key: [key[1], it.value] for key, it in own.items()}
        alive = {key: pairs[key] for key, it in own.items() if self.lives(it, now_ms)}
        expired = [pair for key, pair in pairs.items() if key not in alive and self.flags["sees_expired"]]
        return self.list_rows(alive, expired)


class KvContract(Contract):
    name = "kv"
    ops: ClassVar = {
        "put": ("ns", "key", "value", "ttl"), "get": ("ns", "key"), "has": ("ns", "key"),
        "delete": ("ns", "key"), "pop": ("ns", "key"), "put_many": ("ns", "pairs", "ttl"),
        "get_many": ("ns", "keys"),
        "delete_many": ("ns", "keys"), "add": ("ns", "key", "value", "ttl"), "incr": ("ns", "key", "by"),
        "touch": ("ns", "key", "ttl"), "ttl": ("ns", "key"), "clear": ("ns",), "sweep": (),
        "keys": ("ns", "prefix", "limit"), "items": ("ns",), "count": ("ns",), "scan": ("ns", "limit"),
    }  # fmt: skip
    flags: ClassVar = {
        "boundary": (None, "alive", "expired"),
        "delete_reports": (None, "existed", "nothing"),
        "incr_makes": (None, True, False),
        "incr_keeps_ttl": (None, True, False),
        "sees_expired": (False, True, "all"),
        "get_refreshes": (False, True),
        "keeps_none": (False, True),
        "batch_atomic": (False, True),
        "steady_pages": (True, False),
        "evicts": ("few", "many"),
        "ttl_zero": TTL_ZERO,
    }
    settings = ("default_ttl_ms", "maxsize")
    concerns: ClassVar = {
        "delete_reports": "delete", "incr_makes": "incr", "incr_keeps_ttl": "incr",
    }  # fmt: skip
    names: ClassVar = ("ns", "key", "keys", "prefix")
    reads: ClassVar = ("get", "get_many", "has", "keys", "items", "count", "scan", "ttl")
    fills: ClassVar = ("put", "put_many", "add", "incr")
    removes: ClassVar = ("delete", "pop", "delete_many", "clear", "sweep")
    counts: ClassVar = ("incr",)

    def initial(self, flags: Flags) -> KvState:
        return KvState({}, flags)

    def bind(self, op: ContractOp, flags: Flags) -> dict[str, Any]:
        args: dict[str, Any] = dict(op.args)
        ns = args.pop("ns", "")
        if "key" in args:
            args["key"] = ns, args["key"]
        elif "keys" in args:
            args["keys"] = [(ns, key) for key in args["keys"]]
        elif "pairs" in args:
            args["pairs"] = {(ns, key): value for key, value in args["pairs"].items()}
        elif op.name != "sweep":
            args["ns"] = ns
        return args

    def outcomes(self, state: KvState, op: ContractOp, now_ms: int) -> Outcomes:
        args = self.bind(op, state.flags)
        keys = [args["key"]] if "key" in args else args.get("keys", [])
        for each in state.split_unsure(() if op.name == "put" else keys):
            yield from super().outcomes(each, op, now_ms)

    # Drawing.

    def drawers(self, chance: Stream, pool: Pool, name: str, at: str) -> Mapping[str, Callable[[], object]]:
        return {
            "ns": lambda: chance.pick(pool.scopes),
            "key": lambda: chance.pick(COUNTERS if name == "incr" else pool.names),
            "keys": lambda: some_of(chance, pool),
            "pairs": lambda: {
                key: pool.draw_value(chance, f"v{at}.{n}") for n, key in enumerate(some_of(chance, pool))
            },
            "value": lambda: pool.draw_value(chance, f"v{at}"),
            "ttl": lambda: chance.pick(pool.ttls_ms) if name == "touch" or chance.chance(1, 2) else None,
            "by": lambda: chance.pick((1, 2, -1, 0)),
            "limit": lambda: chance.pick((1, 2, 3) if name == "scan" else (None, 1, 2, 3, *CROWD_LIMITS)),
            "prefix": lambda: chance.pick(pool.names)[:1] if chance.chance(1, 2) else None,
        }  # fmt: skip

    def draw(self, chance: Stream, pool: Pool, name: str, args: Sequence[str], at: str) -> dict[str, object]:
        """Draw arguments. Some puts store a number under a counter, since `incr` may not create one."""
        drawn = super().draw(chance, pool, name, args, at)
        has_numbers = any(type(value) is int for value in pool.values)
        if name == "put" and has_numbers and chance.chance(1, 8):
            return {**drawn, "key": chance.pick(COUNTERS), "value": pool.draw_number()}
        if "value" in drawn and "key" in drawn:
            drawn["value"] = pool.repeat(chance, (drawn.get("ns"), drawn["key"]), drawn["value"])
        return drawn

    def crowd(
        self, pool: Pool, ops: Mapping[str, Sequence[str]], chance: Stream, count: int, is_bounded: bool
    ) -> Sequence[Sequence[ContractOp]]:
        op = next((name for name in ("put_many", "put") if name in ops), None)
        if op is None or (ops.keys().isdisjoint(LISTINGS) and not is_bounded):
            return ()
        if is_bounded and "put" in ops and chance.chance(1, 2):
            op = "put"
        pairs = {f"c{n}": f"crowd {n}" for n in range(count)}
        given: list[dict[str, object]] = [{"pairs": pairs}]
        if op == "put":
            given = [{"key": key, "value": value} for key, value in pairs.items()]
            given *= is_bounded or chance.chance(1, SINGLY)
        reads = [{"key": key} for key in pairs] if is_bounded and "get" in ops else []
        place = {"ns": pool.scopes[0]}
        return [
            fill(name, ops.get(name, ()), [{**place, **each} for each in rows])
            for name, rows in ((op, given), ("get", reads))
        ]

    def is_usual(self, name: str, value: object) -> bool:
        if name == "pairs" and isinstance(value, dict):
            return self.is_usual("keys", list(value)) and all(map(is_plain, value.values()))
        return super().is_usual(name, value)

    def is_batch(self, op: ContractOp) -> bool:
        return op.name in ("put_many", "delete_many")

    def halves(self, state: KvState, op: ContractOp, now_ms: int) -> Iterator[KvState]:
        args = self.bind(op, state.flags)
        pairs, keys = list(args.get("pairs", {}).items()), args.get("keys", [])
        for count in range(1, len(pairs)):
            yield from (
                after for _, after in self.on_put_many(state, now_ms, dict(pairs[:count]), args.get("ttl"))
            )
        for count in range(1, len(keys)):
            yield state.without(*keys[:count])
        if op.name == "clear":
            most = (
                CLEARED_MAX if state.flags.get("batch_atomic") else TOO_MANY
            )  # possible states must be complete
            own = [key for key in state.entries if key[0] == args["ns"]][:most]
            several = chain.from_iterable(combinations(own, count) for count in range(1, len(own) + 1))
            yield from (state.without(*each) for each in several)

    def losses(self, state: KvState, op: ContractOp) -> Iterator[KvState]:
        if op.name in ("put", "incr", "touch"):
            yield state.without(self.bind(op, state.flags)["key"])

    def absence(self, state: KvState, op: ContractOp, now_ms: int) -> str:
        key: Any = op.args.get("ns", ""), op.args.get("key")
        if "key" not in op.args or state.alive(key, now_ms):
            return ""
        entry = state.entries.get(key)
        if entry is None or entry.end_ms is None:
            return "it was not written, or was removed"
        ago = "at once" if entry.ttl_ms == -1 else f"{now_ms - entry.end_ms} ms ago"
        return f"its time to live was over {ago}"

    # Operations.

    def on_put(self, state: KvState, now_ms: int, key: Key, value: object, ttl: Ttl = None) -> Outcomes:
        yield WHATEVER, state.put(key, value, now_ms, ttl)

    def on_put_many(
        self, state: KvState, now_ms: int, pairs: Mapping[Key, object], ttl: Ttl = None
    ) -> Outcomes:
        for key, value in pairs.items():
            state = state.put(key, value, now_ms, ttl)
        yield WHATEVER, state.make_room()  # evict last: the order of the puts is open

    def on_add(self, state: KvState, now_ms: int, key: Key, value: object, ttl: Ttl = None) -> Outcomes:
        is_new = state.alive(key, now_ms) is None
        yield Truth(is_new, is_told=True), state.put(key, value, now_ms, ttl) if is_new else state

    def on_get(self, state: KvState, now_ms: int, key: Key) -> Outcomes:
        yield answer_of(state.alive(key, now_ms)), refresh_keys(state, [key], now_ms)

    def on_get_many(self, state: KvState, now_ms: int, keys: Sequence[Key]) -> Outcomes:
        alive = {key[1]: entry.value for key in keys if (entry := state.alive(key, now_ms))}
        yield Many([key for _, key in keys], alive), refresh_keys(state, keys, now_ms)

    def on_has(self, state: KvState, now_ms: int, key: Key) -> Outcomes:
        yield Truth(bool(state.alive(key, now_ms)), is_told=True), state

    def on_delete(self, state: KvState, now_ms: int, key: Key) -> Outcomes:
        existed = state.alive(key, now_ms) is not None
        yield self.report_removal(state, existed), state.without(key)
        if not existed and key in state.entries and state.flags["sees_expired"]:
            yield Truth(True, is_told=True), state.without(key)
            yield self.report_removal(state, False), state

    def on_delete_many(self, state: KvState, now_ms: int, keys: Sequence[Key]) -> Outcomes:
        seen = [key for key in dict.fromkeys(keys) if key in state.entries]
        alive = [key for key in seen if state.alive(key, now_ms)]
        most = len(seen if state.flags["sees_expired"] else alive)
        yield any_of(None, *range(len(alive), most + 1)), state.without(*keys)
        if seen != alive and state.flags["sees_expired"]:
            yield any_of(None, len(alive)), state.without(*alive)

    def on_pop(self, state: KvState, now_ms: int, key: Key) -> Outcomes:
        found = state.alive(key, now_ms)
        yield answer_of(found), state.without(key)
        if found is None and state.flags["sees_expired"]:
            yield NOTHING, state

    def on_incr(self, state: KvState, now_ms: int, key: Key, by: int = 1) -> Outcomes:
        entry = state.alive(key, now_ms)
        if entry is None:
            if state.flags["incr_makes"]:
                yield Exactly(by), state.put(key, by, now_ms, None)
            else:
                yield Either((NOTHING, REFUSAL)), state
        elif type(entry.value) is not int:
            yield REFUSAL, state
        else:
            new = entry.value + by
            changed = structs.replace(entry, value=new) if state.flags["incr_keeps_ttl"] else KvEntry(new)
            yield Exactly(new), state.store(key, changed)

    def on_touch(self, state: KvState, now_ms: int, key: Key, ttl: Ttl = None) -> Outcomes:
        entry = state.alive(key, now_ms)
        if entry is None:
            yield Truth(False), state
        else:
            yield Either((Truth(True), Exactly(None))), state.put(key, entry.value, now_ms, ttl)

    def on_ttl(self, state: KvState, now_ms: int, key: Key) -> Outcomes:
        entry = state.alive(key, now_ms)
        end_ms = None if entry is None else entry.end_ms
        yield NOTHING if end_ms is None else Seconds(end_ms - now_ms), state

    def on_clear(self, state: KvState, now_ms: int, ns: str) -> Outcomes:
        yield WHATEVER, state.without(*(key for key in state.entries if key[0] == ns))

    def on_sweep(self, state: KvState, now_ms: int) -> Outcomes:
        yield WHATEVER, state.at(now_ms)

    def on_keys(
        self, state: KvState, now_ms: int, ns: str, prefix: str = "", limit: int | None = None
    ) -> Outcomes:
        pairs = state.list_pairs(ns, now_ms, prefix)
        must, may = ([pair[0] for pair in each] for each in (pairs.must, pairs.may))
        yield AnyOrder(must, may, pairs.least, limit), state

    def on_scan(self, state: KvState, now_ms: int, ns: str, limit: int = 0) -> Outcomes:
        return self.on_keys(state, now_ms, ns)

    def on_items(self, state: KvState, now_ms: int, ns: str) -> Outcomes:
        yield state.list_pairs(ns, now_ms), state

    def on_count(self, state: KvState, now_ms: int, ns: str) -> Outcomes:
        yield state.list_pairs(ns, now_ms).count, state


def some_of(chance: Stream, pool: Pool) -> list[str]:
    return chance.shuffle(pool.names)[: chance.between(0, 3)]


def answer_of(entry: KvEntry | None) -> Expectation:
    return NOTHING if entry is None else Exactly(entry.value)


def refresh_keys(state: KvState, keys: Sequence[Key], now_ms: int) -> KvState:
    if not state.flags["get_refreshes"]:
        return state
    for key in keys:
        entry = state.alive(key, now_ms)
        if entry is not None and entry.ttl_ms is not None:
            state = state.put(key, entry.value, now_ms, entry.ttl_ms)
    return state


class Seconds(Expectation):
    """A remaining time in seconds; the answer may differ from `ms` by less than a second."""

    ms: int

    def takes(self, got: object) -> bool:
        return isinstance(got, int | float) and abs(got * 1000 - self.ms) < 1000

    def __str__(self) -> str:
        return f"{self.ms / 1000} s"


class Many(Expectation):
    """Values as a dict by key, or as a list in the order of the keys with None for absent ones."""

    keys: Sequence[str]
    found: Mapping[str, object]

    def takes(self, got: object) -> bool:
        if isinstance(got, dict):
            present = {key: value for key, value in got.items() if value is not None and value is not MISSING}
            wanted = {key: value for key, value in self.found.items() if value is not None}
            return same(present, wanted) and set(got) <= set(self.keys)
        return isinstance(got, list) and same(
            [None if value is MISSING else value for value in got], [self.found.get(key) for key in self.keys]
        )

    def __str__(self) -> str:
        return f"{dict(self.found)!r}"
