"""A third party's store with a planted bug, found by `umi-sim target` and by other tools.

    .venv/bin/python tools/bench/stores.py [--lives-max 400] [--turns 3]

The store is tests/sessions_store.py: asyncio in front, SQLite behind, three bugs. What the others get is
what a careful user of such a library would write in an hour: four operations on two sessions, a statement of
SQLite that fails (the first or the second of an operation), two operations at once, and a list that says
what each answer must be. Jobs of threads run inline after a turn of the loop, so that a life can be run
again. Their lives have 50 steps; ours are drawn by `umi-sim target`, which knows no more of the store than
its adapter says.
"""

import argparse
import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any, Final
from unittest.mock import patch

from tests.sessions_store import PLANTED, Store
from tools.bench.measure import LACKS, Table, short
from tools.bench.others import SEED, TOOLS, Watch, tools, watched
from tools.bench.plain import STEPS, Differs
from umi_core.data import Data
from umi_sim.targets.drawing import draw_items
from umi_sim.targets.hunt import moments_of
from umi_sim.targets.life import run
from umi_sim.targets.shrinking import shrink
from umi_sim.targets.world import MEMORY

OURS: Final = "umi-sim"
LIVES_MAX: Final = 400
FAILED: Final = "failed"
SESSIONS: Final = {"session": ("a", "b")}
FAILS: Final = {"fails_at": (0, 0, 0, 1, 2)}
NAMES: Final = ("add", "get", "pop", "clear")
RULES: Final[Mapping[str, tuple[Any, Mapping[str, Sequence[Any]]]]] = {
    "add": (None, {**SESSIONS, "count": (1, 2, 3), **FAILS}),
    "get": (None, {**SESSIONS, "limit": (None, 1, 2)}),
    "pop": (None, {**SESSIONS, **FAILS}),
    "clear": (None, {**SESSIONS, **FAILS}),
    "at_once": (None, {**SESSIONS, "first": NAMES, "second": NAMES}),
}
Lists = dict[str, list[object]]
Call = tuple[str, dict[str, Any]]


class Failing:
    """A connection whose n-th statement from now on fails."""

    def __init__(self, real: sqlite3.Connection) -> None:
        self.real, self.fails_at = real, 0

    def __enter__(self) -> None:
        self.real.__enter__()

    def __exit__(self, *error: Any) -> None:
        self.real.__exit__(*error)

    def execute(self, *args: Any) -> Any:
        return self.meet(self.real.execute, *args)

    def executemany(self, *args: Any) -> Any:
        return self.meet(self.real.executemany, *args)

    def meet(self, act: Callable[..., Any], *args: Any) -> Any:
        self.fails_at -= 1
        if self.fails_at == 0:
            raise sqlite3.OperationalError("planned")
        return act(*args)

    def close(self) -> None:
        self.real.close()


class StoreLife:
    """A store, and the lists that say what it must answer."""

    def __init__(self, kind: Callable[[], Any]) -> None:
        self.place = TemporaryDirectory(dir=MEMORY)
        self.store = kind()
        self.store.folder = Path(self.place.name)
        self.store.make()
        self.store.db = self.db = Failing(self.store.db)
        self.lists: Lists = {}
        self.op_count = 0
        self.runner = asyncio.Runner()

    def close(self) -> None:
        self.runner.close()
        self.store.close()
        self.place.cleanup()

    def do(self, name: str, wait_ms: int, args: Mapping[str, Any]) -> None:
        self.runner.run(self.act(name, args))

    async def act(self, name: str, args: Mapping[str, Any]) -> None:
        self.op_count += 1
        if name == "at_once":
            calls = [
                self.call(args[which], {"session": args["session"]}, which) for which in ("first", "second")
            ]
            self.judge(calls, await asyncio.gather(*(self.ask(call) for call in calls)))
            return
        self.db.fails_at = args.get("fails_at", 0)
        call = self.call(name, {it: each for it, each in args.items() if it != "fails_at"}, "only")
        answer = await self.ask(call)
        self.db.fails_at = 0
        self.judge([] if answer == FAILED else [call], [answer])

    def call(self, name: str, args: dict[str, Any], which: str) -> Call:
        if name == "add":
            texts = [f"{self.op_count}.{which}.{n}" for n in range(args.pop("count", 1))]
            args = {**args, "items": [{"role": "user", "content": text} for text in texts]}
        return name, args

    async def ask(self, call: Call) -> object:
        name, args = call
        try:
            return await getattr(self.store, name)(**args)
        except sqlite3.Error:
            return FAILED

    def judge(self, calls: Sequence[Call], replies: Sequence[object]) -> None:
        """The answers of some order of them; then all sessions are what they should be."""
        for order in permutations(range(len(calls))):
            lists = {name: list(items) for name, items in self.lists.items()}
            answers = {at: answer_of(lists, *calls[at]) for at in order}
            if all(answers[at] == replies[at] for at in order) and self.kept() == plain(lists):
                self.lists = lists
                return
        raise Differs(f"{calls}: {replies} came; kept: {self.kept()}")

    def kept(self) -> Lists:
        rows = self.store._query("SELECT session, body FROM m ORDER BY id")
        kept: Lists = {}
        for session, body in rows:
            kept.setdefault(session, []).append(body)
        return kept


def plain(lists: Lists) -> Lists:
    """As the rows have it."""
    import json

    return {name: [json.dumps(item) for item in items] for name, items in lists.items() if items}


def answer_of(lists: Lists, name: str, args: Mapping[str, Any]) -> object:
    """What it must answer; the lists are then as it leaves them."""
    own = lists.setdefault(args["session"], [])
    if name == "add":
        own += args["items"]
    elif name == "get":
        limit = args.get("limit")
        return list(own) if limit is None else own[-limit:]
    elif name == "pop":
        return own.pop() if own else None
    else:
        own.clear()
    return None


class StoreWatch(Watch):
    """Lives of a store; each ends when the next one begins."""

    kind: type[Store] = Store
    life: StoreLife | None = None

    def begin(self) -> StoreLife:
        self.close()
        self.life_count += 1
        self.life = StoreLife(self.kind)
        return self.life

    def close(self) -> None:
        if self.life is not None:
            self.life.close()


def by_detangle(watch: StoreWatch) -> None:
    import detangle

    async def test() -> None:
        life = watch.begin()
        for _ in range(STEPS):
            name = detangle.choice(watch.names)
            args = {field: detangle.choice(values) for field, values in watch.rules[name][1].items()}
            watch.op_count += 1
            try:
                await life.act(name, args)
            except AssertionError:
                watch.failed(life.op_count)
                raise

    detangle.explore(test, runs=watch.lives_max, seed=SEED, database=False)


@contextmanager
def inline() -> Iterator[None]:
    """What is a thread's job is done here, after a turn of the loop."""

    async def done_here(act: Callable[..., Any], *args: Any) -> Any:
        await asyncio.sleep(0)
        return act(*args)

    with patch("asyncio.to_thread", done_here):
        yield


# Measuring.


class Looked(Data):
    """Lives and CPU ms until the first failure; CPU ms until the smallest one, and its steps."""

    lives: int
    found_ms: float
    done_ms: float
    left: int


def ours(kind: type[Store], lives_max: int) -> Looked | None:
    start = process_time()
    moments = moments_of(kind)
    for seed in range(lives_max):
        verdict = run(kind, draw_items(kind, seed, moments))
        if verdict.broken is not None:
            found_ms = since(start)
            small = shrink(kind, verdict)
            return Looked(seed + 1, found_ms, since(start), len(small.items))
    return None


def theirs(act: Callable[[Any], None], kind: type[Store], lives_max: int) -> Looked | None:
    first: list[int] = []

    class Counting(StoreWatch):
        def failed(self, op_count: int) -> None:
            first.append(self.life_count)
            super().failed(op_count)

    watch = Counting(names=tuple(RULES), rules=RULES, lives_max=lives_max, kind=kind)
    with inline():
        watched(act, watch)
    done_ms = since(watch.start)
    watch.close()
    if not watch.failures:
        return None
    return Looked(first[0], 1_000 * watch.failures[0][0], done_ms, watch.failures[-1][1])


def since(start: float) -> float:
    return (process_time() - start) * 1_000


def looked(kind: type[Store], lives_max: int, turns: int) -> Iterator[tuple[str, Looked | None]]:
    """By each tool that is here, the least of some turns."""
    acts: dict[str, Callable[[], Looked | None]] = {OURS: lambda: ours(kind, lives_max)}
    for name, act in {**tools(), **({"detangle": by_detangle} if "detangle" in tools() else {})}.items():
        acts[name] = partial(theirs, act, kind, lives_max)
    for name, look in acts.items():
        tries = [look() for _ in range(turns)]
        known = [each for each in tries if each is not None]
        yield name, min(known, key=lambda each: each.done_ms) if known else None


def main() -> None:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--lives-max", type=int, default=LIVES_MAX, help="after which a tool gives up")
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    columns = (OURS, *TOOLS)
    rows = []
    for kind in (*PLANTED, Store):
        is_good = kind is Store
        done = dict(looked(kind, options.lives_max, 1 if is_good else options.turns))
        name = "without a bug" if is_good else f"`{kind.__name__}`"
        rows.append([name, *(describe_result(done, each, is_good) for each in columns)])
    note = (
        "Lives until found; CPU ms to the first failure / the smallest; in brackets what is left. "
        f"Without a bug: silent for {options.lives_max} lives, or a false alarm."
    )
    Table("Planted in a session store", ["bug", *columns], rows, note).show()


def describe_result(done: Mapping[str, Looked | None], name: str, is_good: bool) -> str:
    if name not in done:
        return LACKS
    found = done[name]
    if found is None:
        return "silent" if is_good else "not found"
    if is_good:
        return f"false alarm in life {found.lives}"
    return f"{found.lives}; {short(found.found_ms)} / {short(found.done_ms)} ({found.left})"


if __name__ == "__main__":
    main()
