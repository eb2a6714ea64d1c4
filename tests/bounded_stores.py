"""Stores that keep so many entries and no more, as they promise; and stores that keep fewer."""

import json
import sqlite3
from collections import OrderedDict, deque
from random import Random
from typing import Any

from umi_sim.targets import MISSING, Kv, MemoryStore, Sessions


class LastUsed(Kv):
    """Evicts what was used longest ago; `fewer`: it keeps so many fewer than it promises."""

    maxsize = 20
    fewer = 0

    def make(self) -> None:
        self.rows: OrderedDict[str, object] = OrderedDict()

    def put(self, key: str, value: object) -> None:
        self.rows[key] = value
        self.rows.move_to_end(key)
        while len(self.rows) > 20 - self.fewer:
            self._evict()

    def _evict(self) -> None:
        self.rows.popitem(last=False)

    def get(self, key: str) -> object:
        if key not in self.rows:
            return MISSING
        self.rows.move_to_end(key)
        return self.rows[key]

    def delete(self, key: str) -> bool:
        return self.rows.pop(key, None) is not None


class Listed(LastUsed):
    def put_many(self, pairs: dict[str, object]) -> None:
        for key, value in pairs.items():
            self.put(key, value)

    def keys(self, limit: int | None = None) -> list[str]:
        return list(self.rows)[:limit]

    def count(self) -> int:
        return len(self.rows)


class FirstIn(Listed):
    """Evicts what was put first, however often it is put again; keeps three."""

    maxsize = 3

    def put(self, key: str, value: object) -> None:
        if key not in self.rows and len(self.rows) == 3:
            self._evict()
        self.rows[key] = value


class Unlucky(FirstIn):
    """Evicts any."""

    def _evict(self) -> None:
        del self.rows[Random().choice([*self.rows])]


class Culls(FirstIn):
    """Evicts every third, once there are too many."""

    evicts = "many"

    def _evict(self) -> None:
        for key in [*self.rows][::3]:
            del self.rows[key]


class KeepsFewer(LastUsed):
    fewer = 1


class ListsFewer(Listed):
    fewer = 1


class EmptiesItself(Listed):
    """Evicts all when it should evict one."""

    def _evict(self) -> None:
        self.rows = OrderedDict([self.rows.popitem()])


class BringsBack(Listed):
    """Has a second level from which an old value comes back."""

    def make(self) -> None:
        super().make()
        self.old: dict[str, object] = {}

    def _evict(self) -> None:
        key, value = self.rows.popitem(last=False)
        self.old.setdefault(key, value)

    def get(self, key: str) -> object:
        found = super().get(key)
        return self.old.get(key, MISSING) if found is MISSING else found


class Undeclared(Listed):
    maxsize = None  # type: ignore[assignment]


class Latest(Sessions):
    """Keeps the last twenty messages of a session."""

    keeps_last = 20
    kept = 20

    def make(self) -> None:
        self.rows: dict[str, deque[Any]] = {}

    def add(self, session: str, items: list[Any]) -> None:
        self.rows.setdefault(session, deque(maxlen=self.kept)).extend(items)

    def get(self, session: str, limit: int | None = None) -> list[Any]:
        found = [*self.rows.get(session, ())]
        return found if limit is None else found[max(0, len(found) - limit) :]

    def pop(self, session: str) -> Any:
        return self.rows[session].pop() if self.rows.get(session) else None

    def count(self, session: str) -> int:
        return len(self.rows.get(session, ()))

    def clear(self, session: str) -> None:
        self.rows.pop(session, None)


class LatestFew(Latest):
    keeps_last = 2
    kept = 2


class ShowsLatest(Sessions):
    """Keeps all messages, and shows the last three."""

    keeps_last = 3
    durable = True

    def make(self) -> None:
        self.db = sqlite3.connect(self.folder / "rows.db")
        self.db.execute("CREATE TABLE IF NOT EXISTS rows (id INTEGER PRIMARY KEY, session TEXT, item TEXT)")

    def close(self) -> None:
        self.db.close()

    async def add(self, session: str, items: list[Any]) -> None:
        with self.db:
            rows = [(session, json.dumps(item)) for item in items]
            self.db.executemany("INSERT INTO rows (session, item) VALUES (?, ?)", rows)

    async def get(self, session: str) -> list[Any]:
        query = "SELECT item FROM rows WHERE session = ? ORDER BY id DESC LIMIT 3"
        return [json.loads(item) for (item,) in self.db.execute(query, (session,))][::-1]

    async def pop(self, session: str) -> Any:
        with self.db:
            query = "DELETE FROM rows WHERE id = (SELECT max(id) FROM rows WHERE session = ?) RETURNING item"
            rows = self.db.execute(query, (session,)).fetchall()
        return json.loads(rows[0][0]) if rows else None


class KeepsOneLess(Latest):
    kept = 19


class KeepsOneMore(Latest):
    kept = 21


class KeepsFirst(Latest):
    """Keeps the first messages of a session instead of the last."""

    def add(self, session: str, items: list[Any]) -> None:
        rows = self.rows.setdefault(session, deque())
        rows.extend(items[: max(0, 20 - len(rows))])


class UndeclaredLatest(Latest):
    keeps_last = None  # type: ignore[assignment]


class Capped(MemoryStore):
    """Keeps ten texts of all users; an id is given again when its text is gone."""

    maxsize = 10
    fewer = 0

    def make(self) -> None:
        self.rows: OrderedDict[str, tuple[str, str]] = OrderedDict()

    def add(self, text: str, user: str) -> str:
        while len(self.rows) >= 10 - self.fewer:
            self.rows.popitem(last=False)
        id = next(name for name in map("id{}".format, range(10)) if name not in self.rows)
        self.rows[id] = user, text
        return id

    def get(self, id: str) -> object:
        return self.rows[id][1] if id in self.rows else MISSING

    def delete(self, id: str) -> bool:
        return self.rows.pop(id, None) is not None

    def update(self, id: str, text: str) -> bool:
        if id in self.rows:
            self.rows[id] = self.rows[id][0], text
        return id in self.rows

    def search(self, query: str, user: str, limit: int) -> list[Any]:
        return [pair for pair in self.list(user) if pair[1] == query][:limit]

    def list(self, user: str) -> list[Any]:
        return [(id, text) for id, (owner, text) in self.rows.items() if owner == user]


class CapsLower(Capped):
    fewer = 1


class UndeclaredCap(Capped):
    maxsize = None  # type: ignore[assignment]
