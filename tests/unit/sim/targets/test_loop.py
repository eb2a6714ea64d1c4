"""What tasks may do: what a cancelled one has begun comes to its end, and none of them reaches outside."""

import asyncio
import gc
import sys
import time
from collections.abc import Coroutine
from contextlib import closing
from types import ModuleType

import pytest

from umi_sim.programs import KillProcess, simulate
from umi_sim.targets import Kv, clocks, loop, threads
from umi_sim.targets.adapter import BadAdapter
from umi_sim.targets.items import ContractOp, Item
from umi_sim.targets.life import run
from umi_sim.targets.world import freeze_older_objects


class Later(Kv):
    """A waiting task may go; two jobs in a row go on in an executor, and then it is written."""

    def make(self) -> None:
        self.rows: dict[str, object] = {}
        self.tasks: set[asyncio.Task[None]] = set()

    async def put(self, key: str, value: object) -> None:
        task = asyncio.ensure_future(self._write(key, value))
        self.tasks.add(task)
        await asyncio.shield(task)

    async def _write(self, key: str, value: object) -> None:
        await asyncio.to_thread(str)
        await asyncio.to_thread(self.rows.__setitem__, key, value)

    def count(self) -> int:
        return len(self.rows)


def test_an_executor_goes_on_with_what_was_begun() -> None:
    put = Item("cancel", (ContractOp("put", {"key": "a", "value": "v"}),), 2)
    count = Item("op", (ContractOp("count", {}),))
    verdict = run(Later, (put, count, count))
    assert verdict.broken is None
    assert [step.told for step in verdict.steps] == ["cancelled", "1", "1"]


class Leaves(Kv):
    async def put(self, key: str, value: object) -> None:
        sys.exit(7)


class Remote(Kv):
    async def put(self, key: str, value: object) -> None:
        await asyncio.open_connection("localhost", 1)


PUT = ContractOp("put", {"key": "a", "value": "v"})


class Timed(Kv):
    """Entries end by timers of the event loop, as those of aiocache do."""

    durable = True

    def make(self) -> None:
        self.rows: dict[str, object] = {}
        self.ended = self.outside.setdefault("ended", [])

    async def put(self, key: str, value: object, ttl: float) -> None:
        self.rows[key] = value
        asyncio.get_running_loop().call_later(ttl, self._end, key)

    def _end(self, key: str) -> None:
        self.rows.pop(key, None)
        self.ended.append(self.now())

    async def get(self, key: str) -> object:
        return self.rows.get(key)

    def count(self) -> int:
        return len(self.ended)


def put_for(key: str, ms: int) -> Item:
    return Item("op", (ContractOp("put", {"key": key, "value": "v", "ttl": ms}),))


@pytest.mark.parametrize(("ms", "answer"), [(999, "'v'"), (1_000, "None"), (5_000, "None")])
def test_a_timer_runs_when_its_time_comes_though_nothing_is_asked_then(ms: int, answer: str) -> None:
    get = Item("op", (ContractOp("get", {"key": "a"}),))
    verdict = run(Timed, (put_for("a", 1_000), Item("advance", number=ms), get))
    assert (verdict.broken, verdict.steps[-1].told) == (None, answer)


def test_timers_run_at_their_own_times_and_end_with_their_process() -> None:
    class Times(Timed):
        def count(self) -> int:
            seen.extend(round((at - self.now()) * 1_000) for at in self.ended)
            return 0

    seen: list[int] = []
    advance, count = Item("advance", number=2_000), Item("op", (ContractOp("count", {}),))
    run(Times, (put_for("a", 1_500), put_for("b", 500), advance, count))
    assert seen == [-1_500, -500]
    seen.clear()
    for ending in ("crash", "reopen"):
        run(Times, (put_for("a", 1_500), Item(ending), advance, count))
    assert seen == []


def test_time_does_not_go_back_after_a_timer_that_sleeps() -> None:
    class Sleeps(Timed):
        def _end(self, key: str) -> None:
            time.sleep(60)
            self.outside["now"] = self.now()

        def count(self) -> int:
            seen.append(self.now() - self.outside["now"])
            return 0

    seen: list[float] = []
    run(Sleeps, (put_for("a", 500), Item("advance", number=1_000), Item("op", (ContractOp("count", {}),))))
    assert seen == [0]


class Ticks(Kv):
    """Something is done each millisecond, for ever."""

    def make(self) -> None:
        self.tick_count = 0

    async def put(self, key: str, value: object) -> None:
        self.task = asyncio.ensure_future(self._tick())

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(0.001)
            self.tick_count += 1

    def count(self) -> int:
        return self.tick_count


def test_a_store_that_never_rests_does_not_keep_time_from_passing() -> None:
    put, count = Item("op", (PUT,)), Item("op", (ContractOp("count", {}),))
    ticked = int(run(Ticks, (put, Item("advance", number=100), count)).steps[2].told)
    assert ticked == pytest.approx(100, abs=2)
    assert run(Ticks, (put, Item("advance", number=10**12), count)).steps[2].told != "0"


ITEMS = (Item("op", (PUT,)), Item("at_once", (PUT, PUT), 3), Item("cancel", (PUT,), 9))


@pytest.mark.parametrize("item", ITEMS)
def test_a_store_that_ends_the_process_is_a_finding(item: Item) -> None:
    broken = run(Leaves, (item,)).broken
    assert broken is not None
    assert (broken.rule, broken.got) == ("raises", "raised SystemExit: '7'")


@pytest.mark.parametrize("item", ITEMS)
def test_a_store_that_needs_sockets_is_refused_whatever_happens(item: Item) -> None:
    with pytest.raises(BadAdapter, match="sockets"):
        run(Remote, (item,))


class Loses(Kv):
    """Its value refers to itself, and to nothing else."""

    def make(self) -> None:
        self.ended: list[str] = []

    def put(self, key: str, value: object) -> None:
        lost: list[object] = [Lost(self.ended)]
        lost.append(lost)

    def count(self) -> int:
        held: list[list[int]] = [[] for _ in range(100_000)]  # any collector would come now
        assert held
        return len(self.ended)


class Lost:
    def __init__(self, ended: list[str]) -> None:
        self.ended = ended

    def __del__(self) -> None:
        self.ended.append("lost")


def test_no_collector_comes_during_a_run() -> None:
    verdict = run(Loses, (Item("op", (PUT,)), Item("op", (ContractOp("count", {}),))))
    assert verdict.steps[1].told == "0"
    assert gc.isenabled()


class AsksForTheTime(Kv):
    """A store that waits for a second by asking for the time again and again."""

    def make(self) -> None:
        self.is_over = False

    async def put(self, key: str, value: object) -> None:
        asyncio.get_running_loop().call_later(1, setattr, self, "is_over", True)
        while not self.is_over:
            await asyncio.sleep(0)

    def delete(self, key: str) -> None:
        end = time.monotonic() + 1
        while time.monotonic() < end:
            time.sleep(0)

    async def clear(self) -> None:
        await asyncio.to_thread(self.delete, "a")

    def count(self) -> int:
        return 0


@pytest.mark.parametrize(
    "op", [PUT, ContractOp("delete", {"key": "a"}), ContractOp("clear", {})], ids=["task", "sleep", "job"]
)
def test_time_passes_for_code_that_asks_without_sleeping(op: ContractOp) -> None:
    verdict = run(AsksForTheTime, (Item("op", (op,)), Item("op", (op,))))
    assert verdict.broken is None


def test_a_task_that_never_ends_is_found_all_the_same() -> None:
    class Spins(AsksForTheTime):
        async def put(self, key: str, value: object) -> None:
            while True:
                await asyncio.sleep(0)

    broken = run(Spins, (Item("op", (PUT,)),)).broken
    assert broken is not None
    assert broken.rule == "hang"


def test_a_proxy_in_a_module_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the settings of Django, which raise an error where nothing configured them."""

    class Proxy:
        def __getattribute__(self, name: str) -> object:
            loaded.append(name)
            raise RuntimeError("is not configured")

    loaded: list[str] = []

    monkeypatch.setitem(sys.modules, "settings_of_others", ModuleType("settings_of_others"))
    vars(sys.modules["settings_of_others"])["settings"] = Proxy()
    clocks.find_places.cache_clear()
    threads.find_locks.cache_clear()
    assert run(Ticks, (Item("op", (PUT,)),)).broken is None
    assert loaded == []


def test_what_tells_the_thread_of_a_connection_to_end_is_no_job() -> None:
    with closing(loop.Loop(clocks.Clock())) as own:
        jobs = loop.Jobs(own, limit=1)
        jobs.put_nowait(object())
        assert not jobs.can_begin


def test_of_what_a_death_keeps_from_beginning_nothing_is_warned(recwarn: pytest.WarningsRecorder) -> None:
    """A task that has not begun may hold another coroutine that has not, as asyncio.gather makes them."""

    async def sleep() -> None:
        await asyncio.sleep(1)

    async def wait_for(other: Coroutine[object, object, None]) -> None:
        await other

    async def main() -> None:
        task = asyncio.ensure_future(wait_for(sleep()))
        await task

    simulate(main, KillProcess(2))
    gc.collect()
    assert [str(it.message) for it in recwarn] == []


def test_older_objects_are_frozen_until_the_outermost_block_ends() -> None:
    with freeze_older_objects():
        with freeze_older_objects():
            pass
        assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() == 0
