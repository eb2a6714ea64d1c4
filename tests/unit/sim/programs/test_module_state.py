"""Goal: each run of a search finds the globals of a program as they were before it."""

import asyncio
import functools
import importlib
import sys
from collections import OrderedDict, deque
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import anyio
import httpx
import pytest

from umi_sim.programs import (
    CancelTask,
    KillProcess,
    Program,
    ProgramOutcome,
    ProgramRun,
    check,
    explore,
    module_state,
    service,
    simulate,
)
from umi_sim.programs.checks import GlobalsNotReset
from umi_sim.programs.module_state import ModuleState, same_for_each_run
from umi_sim.programs.reports import report_exploration

CHARGES: list[str] = []
BOOK: dict[str, list[str]] = {"mail": []}
LOCK = asyncio.Lock()
TURNS: asyncio.Queue[int] = asyncio.Queue()
count = 0


class Ledger:
    """Stands for a bank: in an object, and in its class."""

    total = 0
    rows: deque[str] = deque()

    def __init__(self) -> None:
        self.seen: set[str] = set()


LEDGER = Ledger()


@functools.cache
def first_of(name: str) -> list[str]:
    return [name]


@service
async def charge(order: str) -> None:
    CHARGES.append(order)


async def checkpoint_first(run: ProgramRun) -> None:
    """Note that it is done before it is: a charge may be missing."""
    if await run.store.get("done") is None:
        await run.store.put("done", True)
        await charge("a")


async def effect_first(run: ProgramRun) -> None:
    """Note that it is done after it is: a charge may be doubled."""
    if await run.store.get("done") is None:
        await charge("a")
        await run.store.put("done", True)


async def require_one(run: ProgramRun) -> None:
    assert CHARGES == ["a"], CHARGES


def charges_once(outcome: ProgramOutcome) -> str | None:
    """Require that nothing is charged twice."""
    return None if len(CHARGES) < 2 else f"charged {len(CHARGES)} times"


@pytest.mark.parametrize("main", [checkpoint_first, effect_first])
def test_no_run_sees_what_another_left_in_a_global(main: Any) -> None:
    (finding,) = explore(main, resume=main, verify=require_one).findings
    assert len(finding.outcome.perturbations) == 1
    assert isinstance(finding.outcome.perturbations[0], CancelTask)
    assert finding.recurs
    assert CHARGES == []  # and nothing is left in the end


class Recent(OrderedDict[str, int]):
    """A cache that a read changes, and that holds two entries."""

    def __getitem__(self, key: str) -> int:
        self.move_to_end(key)
        return super().__getitem__(key)

    def __setitem__(self, key: str, value: int) -> None:
        super().__setitem__(key, value)
        if len(self) > 2:
            self.popitem(last=False)


@pytest.mark.parametrize("kind", [OrderedDict, Recent])
def test_an_ordered_dict_keeps_its_order(kind: Any) -> None:
    """Caches are made of it. Its entries are linked, which the methods of dict know nothing about."""
    cache = kind({"a": 1, "b": 2})
    cache.move_to_end("a")

    async def main(run: ProgramRun) -> None:
        if run.life > 1:
            return  # a test keeps what its functions close over
        assert tuple(cache) == ("b", "a")
        assert cache["b"] == 2
        cache["c"] = cache.pop("a")
        assert tuple(cache) == ("b", "c")
        cache.move_to_end("b")
        await asyncio.sleep(1)

    assert explore(main, drawn=3).findings == []
    assert list(OrderedDict.keys(cache)) == ["b", "a"]


def remember(function: Any) -> Any:
    """Decorate a function with a cache of its results, as libraries do."""
    results, count = dict[str, str](), 0

    async def call(name: str) -> str:
        nonlocal count
        count += 1
        if name not in results:
            results[name] = await function(name)
        return f"{results[name]} {count}"

    return functools.wraps(function)(call)


@remember
async def look_up(name: str) -> str:
    await asyncio.sleep(1)
    LEDGER.seen.add(name)
    return name


def test_a_cache_that_decorates_a_function_ends_with_its_process() -> None:
    async def main() -> None:
        assert await look_up("a") == "a 1"
        assert LEDGER.seen == {"a"}
        await asyncio.sleep(1)

    assert explore(main, drawn=20).findings == []


def test_a_rule_reads_globals_of_its_own_run() -> None:
    (finding,) = explore(effect_first, resume=effect_first, rules=[charges_once]).findings
    assert (finding.phase, finding.broken.message) == ("main cancelled", "charged 2 times")


def test_a_single_run_leaves_its_globals_for_who_looks_at_them() -> None:
    with same_for_each_run(Program(effect_first)):
        simulate(effect_first).check()
        assert CHARGES == ["a"]
    assert CHARGES == []


async def change_all(run: ProgramRun) -> None:
    global count
    assert (count, Ledger.total, len(Ledger.rows), LEDGER.seen) == (0, 0, 0, set())
    assert BOOK == {"mail": []}
    assert first_of("a") == ["a"]
    assert not hasattr(Ledger, "late")
    await asyncio.sleep(0.01)
    count += 1
    Ledger.total += 1
    Ledger.rows.append("a")
    Ledger.late = True  # type: ignore[attr-defined] # a name that was not there
    LEDGER.seen.add("a")
    BOOK["mail"].append("a")
    BOOK["news"] = []
    first_of("a").append("b")


def test_names_containers_objects_classes_and_caches_are_as_before() -> None:
    mail = BOOK["mail"]
    assert explore(change_all, drawn=5).findings == []
    assert BOOK["mail"] is mail


def test_what_a_test_closes_over_is_as_before_too(tmp_path: Path) -> None:
    sent: list[str] = []

    @service
    async def send(to: str) -> None:
        sent.append(to)

    async def main(run: ProgramRun) -> None:
        await send("ann")

    async def verify(run: ProgramRun) -> None:
        assert sent.count("ann") <= run.life - 1, sent  # one in each process

    check(main, verify=verify, folder=tmp_path, drawn=20)


async def hold_global_lock(run: ProgramRun) -> None:
    async with LOCK:
        TURNS.put_nowait(1)
        await asyncio.sleep(0.01)
        assert TURNS.get_nowait() == 1
    assert TURNS.empty()


@pytest.mark.parametrize("step", [2, 3])
def test_a_lock_of_a_module_is_free_in_a_new_process(step: int) -> None:
    simulate(hold_global_lock, KillProcess(step)).check()
    assert not LOCK.locked()


async def meet_at_lock(run: ProgramRun) -> None:
    async with asyncio.TaskGroup() as group:  # who waits binds a lock to its loop
        group.create_task(hold_global_lock(run))
        group.create_task(hold_global_lock(run))


def test_a_lock_of_a_module_belongs_to_no_loop_of_another_run() -> None:
    assert explore(meet_at_lock, drawn=10).findings == []


# In a process that dies.

MEMORY: list[str] = []
lazy: asyncio.Lock | None = None


class Bank:
    """One of its methods is a service, so it stays outside of the process, whichever object refers to it."""

    def __init__(self) -> None:
        self.rows: list[str] = []

    @service
    async def pay(self, order: str) -> None:
        self.rows.append(order)


BANK = Bank()


class Agent:
    made: list[str] = []

    def __init__(self) -> None:
        self.history: list[str] = []


AGENT = Agent()


@functools.cache
def open_client() -> asyncio.Lock:
    return asyncio.Lock()


async def fill_memory(run: ProgramRun) -> None:
    global lazy
    assert (MEMORY, AGENT.history, Agent.made, lazy) == ([], [], [], None)
    assert len(BANK.rows) == len(CHARGES) == run.life - 1
    lazy = asyncio.Lock()
    for each in (MEMORY, AGENT.history, Agent.made):
        each.append("a")
    await BANK.pay("a")
    await charge("b")
    async with lazy, open_client():
        await asyncio.sleep(1)


def list_rows() -> list[str]:
    return BANK.rows


def test_a_death_ends_what_only_main_uses_and_nothing_that_is_elsewhere() -> None:
    async def verify(run: ProgramRun) -> None:
        assert len(list_rows()) == 2
        assert sent == [1, 2]

    sent: list[int] = []

    async def main(run: ProgramRun) -> None:
        sent.append(run.life)  # of the test, which closes over it
        await fill_memory(run)

    with same_for_each_run(Program(main, verify=verify)):
        last = simulate(main).outcome.reached.step_count
        outcome = simulate(main, KillProcess(last), verify=verify).check()
    assert [each.how for each in outcome.endings] == ["died", "returned", "returned"]


def test_a_large_table_and_what_packages_hold_are_left_alone() -> None:
    table = list(range(20_000))

    async def main() -> None:
        table.append(len(pytest.__all__))

    with same_for_each_run(Program(main)):
        simulate(main).check()
    assert len(table) == 20_001
    assert not any(value is pytest for value in ModuleState(Program(main)).seen.values() if value == [])


def test_a_pass_names_what_is_not_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    table, state = list(range(20_000)), SimpleNamespace(words=dict.fromkeys(range(20_000)))

    async def main() -> None:
        table.append(len(state.words))

    with pytest.warns(GlobalsNotReset, match=r"main: not reset from run to run: SimpleNamespace\.words"):
        found = check(main, drawn=0)
    report = report_exploration("main", found, ())
    limits = ("SimpleNamespace.words (20,000 elements)", "a list (20,000 elements)")
    assert report.head.endswith(f" runs; not reset from run to run: {', '.join(limits)}")
    assert report.value is not None
    assert report.value()["not_reset"] == list(limits)
    table.clear()
    state.words.clear()
    assert explore(main, drawn=0).not_reset == []
    monkeypatch.setattr(module_state, "COUNT_MAX", 10)
    assert explore(main, drawn=0).not_reset == ["objects beyond the first 10"]


REGISTRY = """
import asyncio
TOOLS = {}


async def main():
    import own_lazy_tools
    await asyncio.sleep(0.01)
    assert TOOLS == {"add": own_lazy_tools.add}


async def resume():
    assert len(TOOLS) < 2
"""


def test_a_module_that_a_run_imports_is_imported_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_lazy.py").write_text(REGISTRY)
    (tmp_path / "own_lazy_tools.py").write_text(
        "from own_lazy import TOOLS\nasync def add(): ...\nTOOLS['add'] = add\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    own = importlib.import_module("own_lazy")
    found = explore(own.main, resume=own.resume, drawn=3)
    assert (found.findings, "own_lazy_tools" in sys.modules, own.TOOLS) == ([], False, {})
    del sys.modules["own_lazy"]


class Slots:
    __slots__ = ("count", "late")
    late: int

    def __init__(self) -> None:
        self.count = 0


def make_transport() -> httpx.MockTransport:
    return httpx.MockTransport(lambda request: httpx.Response(200))


client = httpx.AsyncClient(transport=make_transport())
turns = anyio.Semaphore(1)
slots = Slots()
space = SimpleNamespace(count=0)
send = AsyncMock()


async def use_packages(run: ProgramRun) -> None:
    assert (slots.count, hasattr(slots, "late"), space.count) == (0, False, 0)
    slots.count = slots.late = space.count = 1
    async with client, turns:  # a client that was closed cannot be opened again
        await asyncio.sleep(0.01)
        await client.get("http://example.invalid")
        await send("ann")


async def see_sent(run: ProgramRun) -> None:
    assert send.await_count <= run.life - 1


def test_clients_and_locks_of_packages_and_mocks_are_as_before() -> None:
    assert explore(use_packages, verify=see_sent, drawn=10).findings == []
    assert (client.is_closed, turns.value, slots.count, send.await_count) == (False, 1, 0, 0)
