"""Goal: a store with all operations of a contract is left alone, and each one that does nothing is seen."""

import asyncio
from collections.abc import Iterator, Mapping
from functools import wraps
from typing import Any

import pytest

from umi_sim.targets import MISSING, Kv, MemoryStore, Sessions
from umi_sim.targets.adapter import Adapter, BadAdapter
from umi_sim.targets.declarations import check_declared
from umi_sim.targets.hunt import HuntStrategy, hunt, moments_of, run_part
from umi_sim.targets.items import ContractOp, Item
from umi_sim.targets.life import SHAPES, run

Values = Mapping[str, Any]
SILENT = ("sweep", "version", "drain")  # without effect they are not detected here, or by other operations


class Dict(Kv):
    """A dict with deadlines."""

    batch_atomic = True
    keeps_none = True

    def make(self) -> None:
        self.rows: dict[tuple[str, str], tuple[Any, float | None]] = {}

    def _alive(self, ns: str) -> dict[str, Any]:
        own = [(key, *row) for (space, key), row in self.rows.items() if space == ns]
        return {key: value for key, value, until in own if until is None or self.now() < until}

    def put(self, ns: str, key: str, value: Any, ttl: float | None = None) -> None:
        self.rows[ns, key] = value, None if ttl is None else self.now() + ttl

    def get(self, ns: str, key: str) -> Any:
        return self._alive(ns).get(key, MISSING)

    def has(self, ns: str, key: str) -> bool:
        return key in self._alive(ns)

    def delete(self, ns: str, key: str) -> bool:
        existed = key in self._alive(ns)
        self.rows.pop((ns, key), None)
        return existed

    def pop(self, ns: str, key: str) -> Any:
        found = self.get(ns, key)
        self.rows.pop((ns, key), None)
        return found

    def put_many(self, ns: str, pairs: Values, ttl: float | None = None) -> None:
        for key, value in pairs.items():
            self.put(ns, key, value, ttl)

    def get_many(self, ns: str, keys: list[str]) -> Values:
        return {key: value for key, value in self._alive(ns).items() if key in keys}

    def delete_many(self, ns: str, keys: list[str]) -> int:
        return sum(self.delete(ns, key) for key in dict.fromkeys(keys))

    def add(self, ns: str, key: str, value: Any, ttl: float | None = None) -> bool:
        is_new = not self.has(ns, key)
        if is_new:
            self.put(ns, key, value, ttl)
        return is_new

    def incr(self, ns: str, key: str, by: int = 1) -> int:
        value, until = self.rows[ns, key] if self.has(ns, key) else (0, None)
        if type(value) is not int:
            raise TypeError
        self.rows[ns, key] = value + by, until
        return value + by

    def touch(self, ns: str, key: str, ttl: float) -> bool:
        if self.has(ns, key):
            self.put(ns, key, self.get(ns, key), ttl)
            return True
        return False

    def ttl(self, ns: str, key: str) -> float | None:
        until = self.rows[ns, key][1] if self.has(ns, key) else None
        return None if until is None else until - self.now()

    def clear(self, ns: str) -> None:
        self.rows = {at: row for at, row in self.rows.items() if at[0] != ns}

    def sweep(self) -> None:
        self.rows = {at: row for at, row in self.rows.items() if at[1] in self._alive(at[0])}

    def keys(self, ns: str, prefix: str = "") -> list[str]:
        return [key for key in self._alive(ns) if key.startswith(prefix)]

    def items(self, ns: str) -> list[tuple[str, Any]]:
        return list(self._alive(ns).items())

    def count(self, ns: str) -> int:
        return len(self._alive(ns))

    def scan(self, ns: str, limit: int, cursor: str | None = None) -> tuple[list[str], str | None]:
        keys = sorted(key for key in self._alive(ns) if cursor is None or key > cursor)
        return keys[:limit], keys[limit - 1] if len(keys) > limit else None


class Stale(Exception):
    pass


class Lists(Sessions):
    """A list for each session, and a dict beside it."""

    stale = (Stale,)

    def make(self) -> None:
        self.rows: dict[tuple[str, str], list[Any]] = {}
        self.states: dict[tuple[str, str], dict[str, Any]] = {}

    def add(self, user: str, session: str, items: list[Any]) -> None:
        self.rows.setdefault((user, session), []).extend(items)

    def get(self, user: str, session: str, limit: int | None = None) -> list[Any]:
        items = self.rows.get((user, session), [])
        return items[max(0, len(items) - (len(items) if limit is None else limit)) :]

    def pop(self, user: str, session: str) -> Any:
        items = self.rows.get((user, session))
        return items.pop() if items else None

    def count(self, user: str, session: str) -> int:
        return len(self.get(user, session))

    def clear(self, user: str, session: str) -> None:
        self.rows.pop((user, session), None)

    def delete(self, user: str, session: str) -> None:
        self.clear(user, session)
        self.states.pop((user, session), None)

    def sessions(self, user: str) -> list[str]:
        return [session for (owner, session), items in self.rows.items() if owner == user and items]

    def put_state(self, user: str, session: str, key: str, value: Any) -> None:
        self.states.setdefault((user, session), {})[key] = value

    def state(self, user: str, session: str) -> Values:
        return self.states.get((user, session), {})

    def version(self, user: str, session: str) -> Any:
        return [*self.get(user, session)], {**self.state(user, session)}

    def append(self, user: str, session: str, items: list[Any], version: Any) -> None:
        if self.version(user, session) != version:
            raise Stale
        self.add(user, session, items)

    def replace(self, user: str, session: str, items: list[Any]) -> None:
        self.rows[user, session] = [*items]


class Raising(Lists):
    """Lists that are missing, with their states, until something is stored in them."""

    def get(self, user: str, session: str, limit: int | None = None) -> Any:
        return super().get(user, session, limit) if self.rows.get((user, session)) else MISSING

    def state(self, user: str, session: str) -> Values:
        return self.states[user, session]

    def count(self, user: str, session: str) -> int:
        return len(super().get(user, session))

    def version(self, user: str, session: str) -> Any:
        return [*super().get(user, session)], {**super().state(user, session)}


class Merges(Lists):
    """Lists whose states are written as a whole: one key, and the others as they were read before."""

    async def put_state(self, user: str, session: str, key: str, value: Any) -> None:  # type: ignore[override]
        known = self.states.get((user, session), {})
        await asyncio.sleep(0.001)
        self.states[user, session] = {**known, key: value}


class Notes(MemoryStore):
    """All versions of each text, by an id that the user makes."""

    def make(self) -> None:
        self.rows: dict[str, tuple[str, list[str]]] = {}

    def add(self, id: str, text: str, user: str) -> str:
        self.rows[id] = user, [text]
        return id

    def get(self, id: str) -> str | None:
        return self.rows[id][1][-1] if id in self.rows else None

    def update(self, id: str, text: str) -> bool:
        if id in self.rows:
            self.rows[id][1].append(text)
        return id in self.rows

    def delete(self, id: str) -> bool:
        return self.rows.pop(id, None) is not None

    def search(self, query: str, user: str, limit: int = 10) -> list[tuple[str, str]]:
        return [pair for pair in self.list(user) if pair[1] == query][:limit]

    def list(self, user: str) -> list[tuple[str, str]]:
        return [(name, texts[-1]) for name, (owner, texts) in self.rows.items() if owner == user]

    def count(self, user: str) -> int:
        return len(self.list(user))

    def delete_all(self, user: str) -> None:
        self.rows = {name: row for name, row in self.rows.items() if row[0] != user}

    def render(self, user: str) -> str:
        return "; ".join(text for _, text in self.list(user))

    def history(self, id: str) -> Any:
        return self.rows[id][1] if id in self.rows else None

    def drain(self) -> None:
        pass


class Eventual(Notes):
    """Whatever is read of many is that of the latest drain."""

    eventual = True

    def make(self) -> None:
        super().make()
        self.drain()

    def drain(self) -> None:
        self.copy = {name: (user, texts[-1]) for name, (user, texts) in self.rows.items()}

    def list(self, user: str) -> list[tuple[str, str]]:
        return [(name, text) for name, (owner, text) in self.copy.items() if owner == user]


class Forgets(Eventual):
    """Its drain leaves out whatever came last."""

    def drain(self) -> None:
        super().drain()
        self.copy = dict([*self.copy.items()][:-1])


class Approximate(Notes):
    """One search of so many finds nothing."""

    recall_floor = 60
    misses_each = 4

    def make(self) -> None:
        super().make()
        self.search_count = 0

    def search(self, query: str, user: str, limit: int = 10) -> list[tuple[str, str]]:
        found = super().search(query, user, limit)
        self.search_count += bool(found)
        return [] if found and self.search_count % self.misses_each == 0 else found


class Stripped(Notes):
    """A user name with blanks around it is the same user."""

    scope_ids = "stripped"

    def add(self, id: str, text: str, user: str) -> str:
        return super().add(id, text, user.strip())

    def list(self, user: str) -> list[tuple[str, str]]:
        return super().list(user.strip())

    def delete_all(self, user: str) -> None:
        super().delete_all(user.strip())


class Lowered(Lists):
    """Case makes no other session."""

    session_ids = "caseless"

    def add(self, user: str, session: str, items: list[Any]) -> None:
        super().add(user, session.lower(), items)

    def get(self, user: str, session: str, limit: int | None = None) -> list[Any]:
        return super().get(user, session.lower(), limit)

    def replace(self, user: str, session: str, items: list[Any]) -> None:
        super().replace(user, session.lower(), items)

    def pop(self, user: str, session: str) -> Any:
        return super().pop(user, session.lower())

    def clear(self, user: str, session: str) -> None:
        super().clear(user, session.lower())

    def put_state(self, user: str, session: str, key: str, value: Any) -> None:
        super().put_state(user, session.lower(), key, value)

    def state(self, user: str, session: str) -> Values:
        return super().state(user, session.lower())

    def delete(self, user: str, session: str) -> None:
        super().delete(user, session.lower())


class TooVague(Approximate):
    misses_each = 1


class Invents(Approximate):
    def search(self, query: str, user: str, limit: int = 10) -> list[tuple[str, str]]:
        return super().search(query, user, limit) or [("m0", query)]


STORES: tuple[type[Adapter], ...] = (Dict, Lists, Notes)


def operations() -> Iterator[tuple[type[Adapter], str]]:
    for store in STORES:
        yield from ((store, name) for name in store.contract.ops if name not in SILENT)


def without(store: type[Adapter], name: str) -> type[Adapter]:
    """The store with an operation that takes its arguments, and does nothing."""

    @wraps(getattr(store, name))
    def nothing(self: Adapter, **args: object) -> None:
        pass

    return type(store.__name__, (store,), {name: nothing})


def is_seen(store: type[Adapter], seeds: range) -> bool:
    """Return whether a run breaks a promise; a hunt also shrinks it, which takes ten times as long."""
    return bool(run_part(lambda: store, seeds, way=HuntStrategy(), moments=moments_of(store)).broken)


SEED_COUNT = 8  # seeds; umi-sim scoreboard has thousands of each adapter


@pytest.mark.parametrize("store", STORES)
def test_a_store_with_all_operations_is_left_alone(store: type[Adapter]) -> None:
    assert all(hasattr(store, name) for name in store.contract.ops)
    found = hunt(store, range(SEED_COUNT))
    assert (found.small and found.small.broken) is None


def test_a_write_of_one_key_that_loses_another_is_seen() -> None:
    assert is_seen(Merges, range(15, 100))  # by 3 seeds


def test_a_session_without_messages_or_state_may_be_missing() -> None:
    found = hunt(Raising, range(SEED_COUNT))
    assert (found.small and found.small.broken) is None


class Spelled(Sessions):
    """Case makes no other session, and a listing shows the first spelling of a name."""

    session_ids = "caseless"

    def make(self) -> None:
        self.rows: dict[str, tuple[str, list[Any]]] = {}

    def _fold(self, session: str) -> str:
        return session.lower()

    def add(self, session: str, items: list[Any]) -> None:
        name, old = self.rows.get(self._fold(session), (session, []))
        self.rows[self._fold(session)] = name, [*old, *items]

    def get(self, session: str) -> list[Any]:
        return self.rows.get(self._fold(session), ("", []))[1]

    def delete(self, session: str) -> None:
        self.rows.pop(self._fold(session), None)

    def sessions(self) -> list[str]:
        return [name for name, _ in self.rows.values()]


class Folded(Spelled):
    """For `casefold` two more letters are the same than for `lower`: ß and ss."""

    def _fold(self, session: str) -> str:
        return session.casefold()


class SpelledTwice(Spelled):
    """A listing shows each name in two spellings."""

    def sessions(self) -> list[str]:
        return [each for name in super().sessions() for each in dict.fromkeys((name, name.upper()))]


@pytest.mark.parametrize("store", [Spelled, Folded])
def test_a_store_may_ignore_case_in_its_own_way(store: type[Adapter]) -> None:
    found = hunt(store, range(400))
    assert (found.small and found.small.broken) is None
    assert is_seen(type("Unsaid", (store,), {"session_ids": "exact"}), range(200))


def test_one_name_in_two_spellings_is_seen() -> None:
    assert is_seen(SpelledTwice, range(200))


@pytest.mark.parametrize("store", [Stripped, Lowered])
def test_names_that_a_store_takes_as_the_same_are_the_same(store: type[Adapter]) -> None:
    found = hunt(store, range(SEED_COUNT))
    assert (found.small and found.small.broken) is None
    flag = "scope_ids" if store is Stripped else "session_ids"
    unsaid = type("Unsaid", (store,), {flag: "exact"})
    assert is_seen(unsaid, range(200))


@pytest.mark.parametrize("store", [Eventual, Approximate])
def test_a_memory_that_needs_time_or_misses_few_is_left_alone(store: type[Adapter]) -> None:
    found = hunt(store, range(SEED_COUNT))
    assert (found.small and found.small.broken) is None


@pytest.mark.parametrize("store", [Forgets, TooVague, Invents])
def test_one_that_never_finds_or_misses_many_is_seen(store: type[Adapter]) -> None:
    assert is_seen(store, range(200))


@pytest.mark.parametrize(("store", "name"), [*operations()])
def test_an_operation_that_does_nothing_is_seen(store: type[Adapter], name: str) -> None:
    """A listing, a count or a page that is None is an error of the adapter."""
    if name in (*SHAPES, "scan"):
        with pytest.raises(BadAdapter, match=rf"{store.__name__}\.{name}: .*(None, expected|got None)"):
            is_seen(without(store, name), range(400))
    else:
        assert is_seen(without(store, name), range(400))


class NoId(Notes):
    """Makes the ids itself, and returns none."""

    def add(self, text: str, user: str) -> Any:  # type: ignore[override] # without the id
        super().add(f"n{len(self.rows)}", text, user)


class SearchesDicts(Notes):
    def search(self, query: str, user: str, limit: int = 10) -> Any:
        return [{"id": id, "text": text} for id, text in super().search(query, user, limit)]


class CountsNone(Dict):
    def count(self, ns: str) -> Any:
        return None


class ScansAList(Dict):
    def scan(self, ns: str, limit: int, cursor: Any = None) -> Any:
        return ["a", "b"][:limit]


@pytest.mark.parametrize(
    ("store", "message"),
    [
        (NoId, "NoId.add: returns None, expected the id that the store made"),
        (SearchesDicts, "SearchesDicts.search: returns [{'id': "),
        (CountsNone, "CountsNone.count: returns None, expected a number"),
        (ScansAList, "ScansAList.scan: expected a pair of rows and cursor, got ['a'"),
    ],
)
def test_a_value_of_another_type_is_an_error_of_the_adapter(store: type[Adapter], message: str) -> None:
    with pytest.raises(BadAdapter) as raised:
        is_seen(store, range(400))
    assert str(raised.value).startswith(message)


def test_a_method_without_self_is_named() -> None:
    def delete(key: str) -> bool:
        return bool(key)

    with pytest.raises(BadAdapter, match=r"NoSelf\.delete: lacks self before its first argument 'key'"):
        check_declared(type("NoSelf", (Dict,), {"delete": delete}))


def test_a_view_and_an_iterator_are_lists_and_a_dict_is_refused() -> None:
    class Views(Kv):
        def make(self) -> None:
            self.rows: dict[str, object] = {}

        def put(self, key: str, value: object) -> None:
            self.rows[key] = value

        def keys(self) -> object:
            return iter(self.rows)

        def items(self) -> object:
            return self.rows.items()

    class Whole(Views):
        def items(self) -> object:
            return self.rows

    items = [Item("op", (ContractOp(*each),)) for each in (("put", {"key": "a", "value": 1}), ("keys", {}))]
    items.append(Item("op", (ContractOp("items", {}),)))
    assert [step.told for step in run(Views, items).steps] == ["None", "['a']", "[['a', 1]]"]
    with pytest.raises(BadAdapter, match=r"Whole\.items: returns {'a': 1}, expected a list of pairs"):
        run(Whole, items)
