"""Goal: a failure that calls alone can show is exported as plain Python, which shows it."""

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from umi_sim.targets.adapter import Adapter
from umi_sim.targets.exporting import PARTS, CannotExport, script_of, without_ours
from umi_sim.targets.hunt import hunt
from umi_sim.targets.items import ContractOp, Item
from umi_sim.targets.life import TargetVerdict, run

LOST = """
import asyncio

from umi_sim.targets import MISSING, Kv


class Lost(Kv):
    def make(self):
        self.rows = {}

    async def put(self, key, value):
        self.rows[key] = value

    async def get(self, key):
        return self.rows.get(key, MISSING)

    async def incr(self, key, by=1):
        now = self.rows.get(key, 0)
        await asyncio.sleep(0)
        self.rows[key] = now + by
        return now + by


TestLost = Lost.pytest(seconds=1)
"""
LATE = """
import time

from umi_sim.targets import MISSING, Kv


class Late(Kv):
    def make(self):
        self.rows = {}

    def put(self, key, value, ttl=None):
        self.rows[key] = value, None if ttl is None else time.time() + ttl

    def get(self, key):
        value, until = self.rows.get(key, (MISSING, None))
        return value if until is None or time.time() < until + 0.5 else MISSING
"""
FORGETS = """
import json

from umi_sim.targets import MISSING, Kv


class Forgets(Kv):
    durable = True

    def make(self):
        self.file = self.folder / "rows.json"
        self.rows = json.loads(self.file.read_text()) if self.file.exists() else {}

    def put(self, key, value):
        self.rows[key] = value

    def get(self, key):
        return self.rows.get(key, MISSING)
"""
UNINDEXED = """
import uuid

from umi_sim.targets import MemoryStore


class Unindexed(MemoryStore):
    def make(self):
        self.rows, self.index = {}, {}

    def add(self, user, text):
        id = str(uuid.uuid4())
        self.rows[id] = user, text
        self.index.setdefault(text, []).append(id)
        return id

    async def update(self, id, text):
        if id in self.rows:
            self.rows[id] = self.rows[id][0], text
        return id in self.rows

    def get(self, id):
        return self.rows.get(id, (None, None))[1]

    def search(self, user, query, limit):
        own = [id for id in self.index.get(query, []) if self.rows[id] == (user, query)]
        return [(id, query) for id in own[:limit]]
"""
COUNTING = """
from umi_sim.targets import Sessions


class Stale(Exception):
    pass


class Counting(Sessions):
    stale = (Stale,)

    def make(self):
        self.rows = {}

    def add(self, session, items):
        self.rows.setdefault(session, []).extend(items)

    def get(self, session):
        return list(self.rows.get(session, []))

    def pop(self, session):
        return self.rows[session].pop() if self.rows.get(session) else None

    def version(self, session):
        return len(self.get(session))

    def append(self, session, items, version):
        if self.version(session) < version:
            raise Stale
        self.add(session, items)
"""
BY_OFFSET = """
from umi_sim.targets import MISSING, Kv


class ByOffset(Kv):
    def make(self):
        self.rows = {}

    async def put(self, key, value):
        self.rows[key] = value

    async def delete(self, key):
        return self.rows.pop(key, MISSING) is not MISSING

    async def scan(self, limit, cursor=None):
        keys = sorted(self.rows)
        left = keys[cursor or 0 :]
        return left[:limit], (cursor or 0) + limit if len(left) > limit else None
"""
AFTER = """        left = [key for key in keys if cursor is None or key > cursor]
        return left[:limit], left[limit - 1] if len(left) > limit else None
"""
STORES = (
    ("Lost", LOST, "        await asyncio.sleep(0)\n", ""),
    ("Late", LATE, " + 0.5", ""),
    (
        "Unindexed",
        UNINDEXED,
        "text\n        return id in",
        "text\n        self.index[text] = [id]\n        return id in",
    ),
    ("ByOffset", BY_OFFSET, BY_OFFSET[BY_OFFSET.index("        left =") :], AFTER),
    ("Counting", COUNTING, "< version", "!= version"),
    ("Forgets", FORGETS, "= value\n", "= value\n        self.file.write_text(json.dumps(self.rows))\n"),
)


def found_in(folder: Path, name: str, source: str, monkeypatch: pytest.MonkeyPatch) -> TargetVerdict:
    (folder / f"plain_{name}.py".lower()).write_text(source)
    monkeypatch.syspath_prepend(folder)
    small = hunt(store_of(name), range(300)).small
    assert small is not None
    return small


def store_of(name: str) -> type[Adapter]:
    store: type[Adapter] = getattr(import_module(f"plain_{name}".lower()), name)
    return store


def run_alone(script: Path) -> tuple[int, str]:
    done = subprocess.run([sys.executable, "-I", script], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()[-1]


@pytest.mark.parametrize(("name", "source", "wrong", "right"), STORES, ids=[name for name, *_ in STORES])
def test_a_failure_is_shown_by_plain_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, source: str, wrong: str, right: str
) -> None:
    small = found_in(tmp_path, name, source, monkeypatch)
    text = script_of(store_of(name), small)
    most = 60 + 36 * ("class Named(" in text) + 21 * ("page_by_page" in text)
    assert len(text.splitlines()) < len(source.splitlines()) + most
    script = tmp_path / "show.py"
    script.write_text(text)
    assert run_alone(script) == (1, "it happens still")
    fixed = text.replace(wrong, right)
    assert fixed != text
    script.write_text(fixed)
    status, last = run_alone(script)
    assert (status, last.startswith("it no longer happens")) == (0, True)


@pytest.mark.parametrize(
    "item",
    [
        Item("fail", (ContractOp("get", {"key": "a"}),), 1, "write"),
        Item("at_once", (ContractOp("get", {"key": "a"}),) * 2, number=7),
        Item("at_once", (ContractOp("get", {"key": "a"}),) * 2, pauses=(1,)),
        Item("cancel", (ContractOp("get", {"key": "a"}),), 1),
    ],
)
def test_a_fault_or_an_order_of_ours_is_not_plain(item: Item) -> None:
    assert item.of.script(item, "Mine", iter(())) is None


@pytest.mark.parametrize(
    ("source", "rest"),
    [
        ("from umi_sim.targets import Kv\n\nx = 1\n", "x = 1"),
        ("from umi_sim.targets import (\n    MISSING,\n    Kv,\n)\nx = 1", "x = 1"),
        ("from umi_sim.targets import Known\nx = 1", None),
        ("from umi_sim.targets import Kv as Base\nx = 1", None),
        ("import umi_sim\nx = 1", None),
        ("self.outside['server'] = 1", None),
    ],
)
def test_what_an_adapter_takes_from_umi_sim_is_left_out_or_too_much(source: str, rest: str | None) -> None:
    assert without_ours(source) == rest


IN_JOBS = """
import asyncio

from umi_sim.targets import MISSING, Kv


class InJobs(Kv):
    durable = True

    def make(self):
        self.file = self.folder / "count"
        self.rows = {}

    async def put(self, key, value):
        await asyncio.to_thread(self.rows.__setitem__, key, value)

    async def get(self, key):
        return self.rows.get(key, MISSING)

    def _read(self):
        return int(self.file.read_text()) if self.file.exists() else 0

    def _add(self, by):
        now = self._read() + by
        self.file.write_text(str(now))
        return now

    async def incr(self, key, by=1):
        return await asyncio.to_thread(self._add, by)
"""


def incr_at_once(folder: Path, name: str, source: str, monkeypatch: pytest.MonkeyPatch) -> TargetVerdict:
    (folder / f"plain_{name}.py".lower()).write_text(source)
    monkeypatch.syspath_prepend(folder)
    incr = ContractOp("incr", {"key": "n1", "by": 1})
    items = (
        Item("at_once", (incr, incr), pauses=(pause,)) if pause else Item("at_once", (incr, incr))
        for pause in range(12)
    )
    verdicts = (run(store_of(name), (each,)) for each in items)
    return next(each for each in verdicts if each.broken)


def test_a_race_of_jobs_is_shown_by_the_world_that_orders_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without pauses asyncio alone could be asked, and the system decides which thread is first."""
    verdict = incr_at_once(tmp_path, "InJobs", IN_JOBS, monkeypatch)
    assert verdict.jobs.count == 2
    script = tmp_path / "show.py"
    script.write_text(text := script_of(store_of("InJobs"), verdict))
    assert "PARTS = {" in text
    assert [run_alone(script) for _ in range(3)] == [(1, "it happens still")] * 3


def test_one_job_after_another_needs_that_world_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = IN_JOBS.replace("self.rows.get(key, MISSING)", "MISSING").replace("InJobs", "Forgetful")
    (tmp_path / "plain_forgetful.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    put, get = ContractOp("put", {"key": "a", "value": 1}), ContractOp("get", {"key": "a"})
    verdict = run(store_of("Forgetful"), (Item("op", (put,)), Item("op", (get,))))
    assert "PARTS = {" in script_of(store_of("Forgetful"), verdict)


SOMETIMES = """
from umi_sim.targets import MISSING, Kv


class Sometimes(Kv):
    def make(self):
        self.rows = {}

    def put(self, key, value):
        with open(FILE, "a") as file:
            file.write(".")
            if file.tell() > 4:
                self.rows[key] = value

    def get(self, key):
        return self.rows.get(key, MISSING)
"""


def test_what_does_not_come_again_each_time_is_never_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store loses the first four writes: two in this process, and two in trials of the script."""
    (tmp_path / "plain_sometimes.py").write_text(SOMETIMES.replace("FILE", repr(str(tmp_path / "count"))))
    monkeypatch.syspath_prepend(tmp_path)
    put, get = ContractOp("put", {"key": "a", "value": 1}), ContractOp("get", {"key": "a"})
    verdict = run(store_of("Sometimes"), (Item("op", (put,)), Item("op", (get,))))
    assert verdict.broken is not None
    with pytest.raises(CannotExport, match="each time, as --replay does here: it no longer happens"):
        script_of(store_of("Sometimes"), verdict)


def list_imported(source: str) -> list[str]:
    """List the modules that a source imports, by their full names."""
    found = list[str]()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                found += [each.name for each in names]
            case ast.ImportFrom(module=str(module)):
                found.append(module)
    return found


@pytest.mark.parametrize("part", PARTS, ids=lambda part: str(part.__name__))
def test_what_a_script_carries_needs_the_standard_library_alone(part: ModuleType) -> None:
    carried = ["umi_sim.targets", *(each.__name__ for each in PARTS)]
    others = [it for it in list_imported(inspect.getsource(part)) if it not in carried]
    assert [it for it in others if it.partition(".")[0] not in sys.stdlib_module_names] == []
