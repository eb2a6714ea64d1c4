"""The contract `memory`: texts that are remembered for a user, and searched.

    add(text, user, metadata, ttl)                   get(id)           update(id, text)      delete(id)
    search(query, user, limit, where)                list(user, where) count(user, where)    delete_all(user)
    history(id)                drain()            render(user)

`add` returns the id, or takes `id` as an argument if callers make the ids. `search` and `list` return pairs
[id, text].
Operations with `user` may also take `agent` and `run`; a scope that is None in a search matches all.
`render` returns a text made from the entries, such as a prompt; it must not show a deleted text.
`metadata` and `where` are dicts; `where` selects the entries whose metadata has these values.
A store that indexes late waits for its index in `search` and `list`; or it sets `eventual`, and `drain` waits
until all earlier writes are found.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final

from msgspec import structs

from umi_sim.kernel.prng import Stream
from umi_sim.kernel.wording import show_value
from umi_sim.targets.items import ContractOp
from umi_sim.targets.model import (
    CROWD,
    FORMS,
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
    Without,
    any_of,
    fill,
    live_for,
    marks_in,
)
from umi_sim.targets.values import MISSING

Scope = tuple[str | None, str | None, str | None]
Where = Mapping[str, object]  # values that the metadata of an entry must have
ALL: Final = ("user", "agent", "run")
NO_WHERE: Final[Where] = {}
TOPICS: Final = ("work", "food", "travel")
ODD_TOPICS: Final = (*TOPICS, "", "7", 7, "True", True, "WORK", "work ", "wor_", "wor%")  # easily confused
KINDS_OF_ENTRY: Final = ("fact", "task")
HIDING_COUNTS: Final = (12, 40, CROWD)  # how many entries that do not match precede the one that does
ELSEWHERE: Final = 3  # one text in 3 repeats that of an earlier add, mostly of another scope


class MemoryEntry(StoredEntry):
    """An entry. `is_untold`: its add was cut off, so its id may never have been returned."""

    scope: Scope
    texts: tuple[str, ...]
    is_untold: bool = False
    metadata: Mapping[str, object] = {}

    @property
    def text(self) -> str:
        return self.texts[-1]


class MemoryState(StoreState):
    """A state of a memory. `deleted`: deleted entries by name; a store may reuse their ids.

    `before`: for an eventual store, the old value of each entry that changed since the last drain; None if it
    was absent. `asked` and `missed`: with `recall_floor`, the searches for the text of an entry that exists,
    and those of them that did not find it.
    """

    deleted: Mapping[str, MemoryEntry] = {}
    before: tuple[tuple[str, MemoryEntry | None], ...] = ()
    asked: int = 0
    missed: int = 0

    def set(self, name: str, entry: MemoryEntry) -> "MemoryState":
        deleted = {other: each for other, each in self.deleted.items() if other != name}
        before = self.add_changed(name)
        return structs.replace(self, deleted=deleted, before=before).store(name, entry)

    def rename_row(self, name: str, to: str) -> "MemoryState":
        """Return the state in which an entry whose id was never returned has the name of a repeated add."""
        entry, before = structs.replace(self.entries[name], is_untold=False), self.add_changed(name)
        left = {other: each for other, each in self.entries.items() if other != name}
        return structs.replace(self, entries=left, before=before).set(to, entry)

    def exchange_names(self, name: str, other: str) -> "MemoryState":
        """Return the state in which the entries of two names are exchanged."""
        names = {name: other, other: name}
        entries, deleted = ({names.get(it, it): each for it, each in rows.items()}
                         for rows in (self.entries, self.deleted))  # fmt: skip
        before = tuple((names.get(it, it), each) for it, each in self.before)
        return structs.replace(self, entries=entries, deleted=deleted, before=before)

    def pin_name(self, name: str) -> "MemoryState":
        """Return the state in which the id of this name is known, if the name has an entry."""
        return self.change(name, is_untold=False) if name in self.entries else self

    def without(self, *names: str) -> "MemoryState":
        left = {name: each for name, each in self.entries.items() if name not in names}
        deleted = {name: each for name, each in self.entries.items() if name in names}
        before = self.add_changed(*deleted)
        return structs.replace(self, deleted={**self.deleted, **deleted}, before=before).keep(left)

    def add_changed(self, *names: str) -> tuple[tuple[str, MemoryEntry | None], ...]:
        """Return `before` with the present values of these names, which are about to change."""
        if not self.flags["eventual"]:
            return ()
        return (*self.before, *((name, self.entries.get(name)) for name in names))

    def of(self, scope: Scope, where: Where = NO_WHERE) -> dict[str, MemoryEntry]:
        return {name: each for name, each in self.entries.items() if is_within(each, scope, where)}

    def list_pairs(self, scope: Scope, where: Where = NO_WHERE) -> AnyOrder:
        """Return the listing of [id, text]. Rows changed since the last drain are optional, old and new."""
        recent, found = {name for name, _ in self.before}, self.of(scope, where)
        pairs = {name: [name, it.text] for name, it in found.items()}
        may = [pair for name, pair in pairs.items() if name in recent]
        old = [[name, it.text] for name, it in self.before if it and is_within(it, scope, where)]
        return self.list_rows({name: pairs[name] for name in pairs if name not in recent}, [*may, *old])


def is_within(entry: MemoryEntry, asked: Scope, where: Where) -> bool:
    is_there = all(want is None or have == want for have, want in zip(entry.scope, asked, strict=True))
    return is_there and all(entry.metadata.get(name) == value for name, value in where.items())


class MemoryContract(Contract):
    name = "memory"
    ops: ClassVar = {
        "add": ("id", "text", *ALL, "metadata", "ttl"), "get": ("id",), "update": ("id", "text"),
        "delete": ("id",), "search": ("query", *ALL, "limit", "where"), "list": (*ALL, "where"),
        "count": (*ALL, "where"), "delete_all": ALL, "history": ("id",), "drain": (),
        "render": ALL,
    }  # fmt: skip
    flags: ClassVar = {
        "boundary": (None, "alive", "expired"),
        "delete_reports": (None, "existed", "nothing"),
        "finds_own": (True, False),
        "fills_limit": (False, True),
        "dedupes": (False, True),
        "eventual": (False, True),
        "scope_ids": tuple(FORMS),
        "evicts": ("few", "many"),
        "ttl_zero": TTL_ZERO,
    }
    settings = ("recall_floor", "maxsize")
    concerns: ClassVar = {"delete_reports": "delete", "boundary": "ttl"}
    names: ClassVar = ALL
    reads: ClassVar = ("get", "list", "search", "count", "history", "render")
    fills: ClassVar = ("add",)
    removes: ClassVar = ("delete", "delete_all")

    def initial(self, flags: Flags) -> MemoryState:
        return MemoryState({}, flags)

    def bind(self, op: ContractOp, flags: Flags) -> dict[str, Any]:
        args: dict[str, Any] = dict(op.args)
        if "user" in self.ops[op.name]:
            form = FORMS[str(flags["scope_ids"])]
            named = [args.pop(name, None) for name in ALL]
            args["scope"] = tuple(each if each is None else form(each) for each in named)
        return args

    def outcomes(self, state: MemoryState, op: ContractOp, now_ms: int) -> Outcomes:
        state = state.at(now_ms)
        names: list[Any] = [op.args.get("id")]
        if op.name == "add":
            args = self.bind(op, state.flags)
            names = same(state.entries, args["scope"], args["text"]) if state.flags["dedupes"] else []
        for each in state.split_unsure(names):
            yield from super().outcomes(each, op, now_ms)

    # Drawing.

    def drawers(self, chance: Stream, pool: Pool, name: str, at: str) -> Mapping[str, Callable[[], object]]:
        texts = [value for value in pool.used if isinstance(value, str)] or ["likes green tea"]
        return {
            "id": lambda: f"m{at}" if name == "add" else chance.pick(pool.made or ["m0"]),
            "text": lambda: pool.draw_value(chance, f"note {at}", (1, 2), str),
            "query": lambda: chance.pick(texts) if chance.chance(1, 2) else texts[-1],
            "limit": lambda: chance.pick((1, 2, 10, 100)),
            "user": lambda: chance.pick(pool.scopes),
            "agent": lambda: chance.pick((None, "bot", "Bot")),
            "run": lambda: chance.pick((None, "r1", "r2")),
            "metadata": lambda: draw_topics(chance, pool),
            "where": lambda: draw_topics(chance, pool) if chance.chance(1, 2) else None,
            "ttl": lambda: chance.pick(pool.ttls_ms) if chance.chance(1, 2) else None,
        }

    def draw(self, chance: Stream, pool: Pool, name: str, args: Sequence[str], at: str) -> dict[str, object]:
        """Draw arguments. Each add gets a name of the run as its `id`, even if the store makes the ids."""
        if name == "add":
            args = "id", *args
            pool.made.append(f"m{at}")
        drawn = super().draw(chance, pool, name, args, at)
        if name == "add":
            place = tuple(drawn.get(each) for each in ALL)
            drawn["text"] = pool.repeat(chance, place, drawn["text"])
            if pool.added and not pool.is_marked and chance.chance(1, ELSEWHERE):
                drawn["text"] = chance.pick(pool.added)["text"]
            pool.added.append(drawn)
        if name == "search" and pool.added and chance.chance(1, 2):
            # Search in the scope of an entry for its text, to notice a missing hit.
            its = chance.pick(pool.added)
            drawn["query"] = its["text"]
            drawn.update({each: its[each] for each in ALL if each in drawn and each in its})
            if "limit" in drawn and chance.chance(1, 2):
                drawn["limit"] = 1
            if drawn.get("where") is not None:
                drawn["where"] = draw_part(chance, its.get("metadata", drawn["where"]))
        return drawn

    def crowd(
        self, pool: Pool, ops: Mapping[str, Sequence[str]], chance: Stream, count: int, is_bounded: bool
    ) -> Sequence[Sequence[ContractOp]]:
        if not is_bounded and "where" in ops.get("search", ()) and chance.chance(2, 3):
            return self.hide_entry(pool, ops, chance)
        is_listed = not ops.keys().isdisjoint(("list", "count")) and chance.chance(1, SINGLY)
        if "add" not in ops or not (is_listed or is_bounded):
            return ()
        where: dict[str, object] = {"user": pool.scopes[0], "metadata": {}}
        given = [{**where, "id": f"c{n}", "text": f"crowd {n}"} for n in range(count)]
        return [
            fill("add", ("id", *ops["add"]), given),
            fill("get", ("id",), given if "get" in ops and is_bounded else ()),
        ]

    def hide_entry(
        self, pool: Pool, ops: Mapping[str, Sequence[str]], chance: Stream
    ) -> Sequence[Sequence[ContractOp]]:
        """Return many adds of a text with other metadata, one with that of the search, and the search.

        A store that applies `limit` before it filters by `where` finds nothing.
        """
        user, (other, own) = pool.scopes[0], ({"topic": topic} for topic in TOPICS[:2])
        entry = {"user": user, "text": "crowd", "metadata": other}
        crowd = [{**entry, "id": f"c{n}"} for n in range(chance.pick(HIDING_COUNTS))]
        last = {**entry, "id": "c", "metadata": own}
        asked = {"query": "crowd", "user": user, "limit": chance.pick((1, 2)), "where": own}
        return [
            *(fill("add", ("id", *ops["add"]), rows) for rows in (crowd, [last])),
            fill("search", ops["search"], [asked]),
        ]

    def losses(self, state: MemoryState, op: ContractOp) -> Iterator[MemoryState]:
        if op.name == "update":
            yield state.without(self.bind(op, state.flags)["id"])

    def absence(self, state: MemoryState, op: ContractOp, now_ms: int) -> str:
        is_absent = op.name in ("get", "delete") and op.args["id"] not in state.entries
        return "it was not added, was deleted, or its time to live is over" if is_absent else ""

    # Operations.

    def on_add(
        self, state: MemoryState, now_ms: int, id: str, text: str, scope: Scope,
        metadata: Where = NO_WHERE, ttl: int | None = None,
    ) -> Outcomes:  # fmt: skip
        twins = same(state.entries, scope, text) if state.flags["dedupes"] else []
        if twins:
            yield any_of(*twins, MISSING, None), state
            yield from (
                (Exactly(id), state.rename_row(it, id)) for it in twins if state.entries[it].is_untold
            )
        else:
            known = same(state.deleted, scope, text) if state.flags["dedupes"] else []
            entry = new_entry(now_ms, text, scope, metadata, live_for(state.flags, ttl))
            for name in (id, *known):
                yield Exactly(name), state.set(name, entry)

    def untold(self, state: MemoryState, op: ContractOp) -> MemoryState:
        name = str(op.args.get("id"))
        if op.name != "add" or name not in state.entries:
            return state
        return state.change(name, is_untold=True)

    def follow_name(self, state: MemoryState, name: str, others: Sequence[str]) -> Iterator[MemoryState]:
        """Yield the states after an answer showed an id of this name: one with it in place, or exchanged."""
        entry = state.entries.get(name)
        yield state.pin_name(name)
        if entry is None or entry.is_untold:
            for other in others:
                if other != name and other in state.entries and state.entries[other].is_untold:
                    yield state.exchange_names(name, other).pin_name(name)

    def follow_reuse(
        self, state: MemoryState, op: ContractOp, got: object, now_ms: int
    ) -> Iterator[MemoryState]:
        if op.name != "add" or not isinstance(got, str):
            return
        args = self.bind(op, state.flags)
        args["ttl"] = live_for(state.flags, args.get("ttl"))
        for each in state.make_room(coming=1).split_unsure([got]):  # evicting comes first
            is_evicted = "maxsize" in state.flags and got not in each.entries
            if is_evicted or (got in each.deleted and not state.flags["dedupes"]):
                yield each.set(got, new_entry(now_ms, **{it: args[it] for it in args if it != "id"}))

    def on_get(self, state: MemoryState, now_ms: int, id: str) -> Outcomes:
        entry = state.entries.get(id)
        yield NOTHING if entry is None else Exactly(entry.text), state

    def on_update(self, state: MemoryState, now_ms: int, id: str, text: str) -> Outcomes:
        entry = state.entries.get(id)
        if entry is None:
            yield Either((Truth(False), NOTHING, REFUSAL)), state
        else:
            yield WHATEVER, state.set(id, structs.replace(entry, texts=(*entry.texts, text), is_untold=False))

    def on_delete(self, state: MemoryState, now_ms: int, id: str) -> Outcomes:
        yield self.report_removal(state, id in state.entries), state.without(id)

    def on_history(self, state: MemoryState, now_ms: int, id: str) -> Outcomes:
        entry = state.entries.get(id)
        yield WHATEVER if entry is None else Exactly(list(entry.texts)), state

    def on_list(self, state: MemoryState, now_ms: int, scope: Scope, where: Where = NO_WHERE) -> Outcomes:
        yield state.list_pairs(scope, where), state

    def on_count(self, state: MemoryState, now_ms: int, scope: Scope, where: Where = NO_WHERE) -> Outcomes:
        yield state.list_pairs(scope, where).count, state

    def on_delete_all(self, state: MemoryState, now_ms: int, scope: Scope) -> Outcomes:
        yield WHATEVER, state.without(*state.of(scope))

    def on_search(
        self, state: MemoryState, now_ms: int, query: str, scope: Scope, limit: int = 10,
        where: Where = NO_WHERE,
    ) -> Outcomes:  # fmt: skip
        pairs = state.list_pairs(scope, where)
        own, recent = pairs.must, pairs.may
        fills = state.flags["fills_limit"] is True
        found = ExpectedHits(own, query if state.flags["finds_own"] else None, limit, recent, fills)
        floor = state.flags.get("recall_floor")
        if not isinstance(floor, int) or query not in (text for _, text in pairs_of(own)):
            yield found, state
            return
        asked, missed = state.asked + 1, state.missed + 1
        yield found, structs.replace(state, asked=asked)
        if 100 * missed < asked * (100 - floor) + 100:  # the allowed share, and one more
            missing = structs.replace(state, asked=asked, missed=missed)
            yield ExpectedHits(own, None, limit, recent), missing

    def on_render(self, state: MemoryState, now_ms: int, scope: Scope) -> Outcomes:
        remaining = {text for it in state.entries.values() for text in it.texts}
        deleted = {text for it in state.deleted.values() for text in it.texts} - remaining
        # An eventual store may show texts that were deleted since the last drain.
        late = {text for _, it in state.before if it is not None for text in it.texts}
        yield Without([*marks_in(sorted(deleted - late))]), state

    def on_drain(self, state: MemoryState, now_ms: int) -> Outcomes:
        yield WHATEVER, structs.replace(state, before=())


def new_entry(
    now_ms: int, text: str, scope: Scope, metadata: Where = NO_WHERE, ttl: int | None = None
) -> MemoryEntry:
    return MemoryEntry(scope, (text,), metadata=metadata, end_ms=None if ttl is None else now_ms + ttl)


def draw_topics(chance: Stream, pool: Pool) -> dict[str, object]:
    """Draw metadata with one key or two. With odd values topics may be falsy in Python, or nearly equal."""
    topic = {"topic": chance.pick(ODD_TOPICS if pool.is_odd else TOPICS)}
    kind = {"kind": chance.pick(KINDS_OF_ENTRY)}
    return {**(topic if chance.chance(2, 3) else {}), **kind} if chance.chance(1, 2) else {**topic}


def draw_part(chance: Stream, metadata: Any) -> Mapping[str, object]:
    """Draw the `where` of a search for an entry: all of its metadata, or one key of it."""
    name = chance.pick([*metadata]) if metadata else ""
    return {name: metadata[name]} if metadata and chance.chance(1, 2) else metadata


def pairs_of(rows: Sequence[Any]) -> list[tuple[str, str]]:
    return [(name, text) for name, text in rows]


def same(entries: Mapping[str, MemoryEntry], scope: Scope, text: str) -> list[str]:
    return [name for name, each in entries.items() if (each.scope, each.text) == (scope, text)]


class ExpectedHits(Expectation):
    """At most `limit` of the rows `own` and `recent`, each once, with all rows whose text equals `query`.

    `recent`: rows that changed since the last drain, which may be missing. `fills`: the answer has `limit`
    rows if there are so many. More exact matches than `limit` may be cut.
    """

    own: Sequence[object]
    query: str | None
    limit: int
    recent: Sequence[object] = ()
    fills: bool = False

    def allows_each(self, got: object) -> bool:
        allowed = [*pairs_of(self.own), *pairs_of(self.recent)]
        return isinstance(got, list) and all(
            isinstance(each, list) and len(each) == 2 and tuple(each) in allowed for each in got
        )

    def takes(self, got: object) -> bool:
        if not isinstance(got, list) or len(got) > self.limit:
            return False
        is_sound = self.allows_each(got)
        names = [each[0] for each in got] if is_sound else []
        asked = [name for name, text in pairs_of(self.own) if text == self.query]
        has_own = len(asked) > self.limit or set(asked) <= set(names)
        has_all = not self.fills or len(got) >= min(self.limit, len(self.own))
        return is_sound and len(set(names)) == len(names) and has_own and has_all

    def __str__(self) -> str:
        rows = [*self.own, *self.recent]
        if not rows:
            return "no hits, since nothing is there"
        count = f"{min(self.limit, len(self.own))}" if self.fills else f"at most {self.limit}"
        asked = [row for row in pairs_of(self.own) if row[1] == self.query]
        needed = (
            f", each that says {show_value(self.query)} among them" if 0 < len(asked) <= self.limit else ""
        )
        return f"{count} of {show_value(rows)}{needed}"
