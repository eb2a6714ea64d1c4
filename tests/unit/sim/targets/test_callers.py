"""Goal: what a store does with its caller's objects is found, and never changes what is expected of it."""

import threading
from typing import Any

import pytest

from umi_sim.targets import MISSING, Kv, MemoryStore, Sessions
from umi_sim.targets.adapter import BadAdapter
from umi_sim.targets.hunt import hunt


class Empties(Sessions):
    """Empties the list that it is given, and has kept the first of it."""

    fails = ()

    def make(self) -> None:
        self.kept: dict[str, list[Any]] = {}

    def add(self, session: str, items: list[Any]) -> None:
        self.kept.setdefault(session, []).extend(items[:1])
        items.clear()

    def get(self, session: str) -> list[Any]:
        return list(self.kept.get(session, []))


class Shares(Kv):
    """Keeps the very object that it was given, and returns it."""

    fails = ()
    copies = True

    def make(self) -> None:
        self.kept: dict[str, Any] = {}

    def put(self, key: str, value: Any) -> None:
        self.kept[key] = value

    def get(self, key: str) -> Any:
        return self.kept.get(key, MISSING)


class SharesUnpromised(Shares):
    copies = False


class Rounds(Shares):
    """Keeps whole seconds of a time to live that is given in milliseconds."""

    copies = False

    def put(self, key: str, value: Any, ttl_ms: int | None = None) -> None:
        until = None if ttl_ms is None else self.now() + ttl_ms // 1_000
        self.kept[key] = value, until

    def get(self, key: str) -> Any:
        value, until = self.kept.get(key, (MISSING, None))
        return MISSING if until is not None and self.now() >= until else value


class LimitsFirst(MemoryStore):
    """Searches everything, cuts, and only then leaves out what is of others."""

    fails = ()

    def make(self) -> None:
        self.rows: dict[str, tuple[str, str, Any]] = {}

    def add(self, id: str, text: str, user: str, metadata: Any) -> str:
        self.rows[id] = text, user, metadata
        return id

    def search(self, query: str, user: str, limit: int, where: Any = None) -> list[Any]:
        hits = [(key, row) for key, row in self.rows.items() if row[0] == query][:limit]
        return [(key, row[0]) for key, row in hits if row[1] == user and self._admits(row[2], where)]

    def _admits(self, metadata: Any, where: Any) -> bool:
        return all(metadata.get(name) == value for name, value in (where or {}).items())


class LimitsLast(LimitsFirst):
    def search(self, query: str, user: str, limit: int, where: Any = None) -> list[Any]:
        return super().search(query, user, len(self.rows), where)[:limit]


class DropsFalse(LimitsLast):
    def _admits(self, metadata: Any, where: Any) -> bool:
        return super()._admits(metadata, {name: value for name, value in (where or {}).items() if value})


@pytest.mark.parametrize("store", [Empties, Shares, Rounds, LimitsFirst, DropsFalse])
def test_the_bug_is_found_and_named(store: Any) -> None:
    small = hunt(store, range(200)).small
    assert small is not None
    assert small.broken is not None
    assert small.broken.rule == ("ttl" if store is Rounds else "answer")


@pytest.mark.parametrize("store", [SharesUnpromised, LimitsLast])
def test_a_store_without_the_bug_or_the_promise_is_not_accused(store: Any) -> None:
    assert hunt(store, range(25)).small is None


class Forgets(SharesUnpromised):
    async def get(self, key: str) -> Any:
        async def find() -> Any:
            return MISSING

        return find()


def test_a_forgotten_await_is_reported_in_one_line() -> None:
    with pytest.raises(BadAdapter, match=r"Forgets.get: returned a coroutine: is an `await` missing\?$"):
        hunt(Forgets, range(3))


class Sweeps(SharesUnpromised):
    def make(self) -> None:
        super().make()
        self.done = threading.Event()
        self.sweeper = threading.Thread(target=self.done.wait, daemon=True)
        self.sweeper.start()

    def close(self) -> None:
        self.done.set()
        self.sweeper.join()


def test_a_thread_that_was_begun_with_the_store_is_reported() -> None:
    assert hunt(Sweeps, range(2)).threads == ("make",)
