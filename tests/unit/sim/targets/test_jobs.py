"""Goal: jobs of executors pause where others may go on, as in production, and the same each time."""

import asyncio
import json
import os
import queue
import re
import sqlite3
import sys
import threading
import time
from _thread import _count, allocate_lock
from collections.abc import Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from itertools import product
from pathlib import Path
from subprocess import run as run_process
from typing import Any, ClassVar

import pytest

from tests.counters_in_jobs import (
    CORRECT,
    LOSING,
    AtImport,
    Counts,
    Immediate,
    InSqlite,
    LockedAtImport,
)
from umi_sim.targets import MISSING, Kv, loop, threads
from umi_sim.targets.adapter import Adapter, BadAdapter
from umi_sim.targets.exporting import script_of
from umi_sim.targets.hunt import Hunt, hunt
from umi_sim.targets.items import ContractOp, Item
from umi_sim.targets.life import TargetVerdict, run
from umi_sim.targets.loop import PATIENCE
from umi_sim.targets.reports import list_calls

INCR, GET = ContractOp("incr", {"key": "a", "by": 1}), ContractOp("get", {"key": "a"})
BOTH = INCR, INCR


def at_once(*pauses: int, ops: Sequence[ContractOp] = BOTH) -> Item:
    return Item("at_once", tuple(ops), pauses=pauses)


def list_answers(verdict: TargetVerdict) -> list[str]:
    assert verdict.broken is None, verdict.broken
    return [step.told for step in verdict.steps]


@pytest.mark.parametrize("store", LOSING)
def test_a_job_that_reads_changes_and_writes_loses_an_update(store: type[Adapter], tmp_path: Path) -> None:
    """1,064 runs of such a store passed."""
    found: Hunt = hunt(store, range(1_000, 1_200))
    small = found.small
    assert small is not None
    assert small.broken is not None
    assert (small.broken.rule, found.not_recurring) == ("at-once", [])
    (item,) = (each for each in small.items if each.kind == "at_once")
    assert (len(item.ops), len(item.pauses)) == (2, 1)
    assert re.search(
        r" \(paused at counters_in_jobs.py:\d+\)$", "\n".join(list_calls(store, small)), re.MULTILINE
    )
    script = tmp_path / "show.py"
    script.write_text(script_of(store, small))
    shown = run_process([sys.executable, script], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (shown.returncode, shown.stderr) == (1, "")


@pytest.mark.slow
@pytest.mark.parametrize("store", CORRECT)
def test_a_job_that_is_alone_with_what_it_changes_loses_nothing(store: type[Adapter]) -> None:
    thread_count = _count()
    found: Hunt = hunt(store, range(1_000, 1_008))
    assert (found.small, found.not_recurring, found.jobs.whole_count) == (None, [], 0)
    assert found.jobs.pause_count > 0
    assert _count() == thread_count


@pytest.mark.parametrize("store", LOSING)
def test_a_job_pauses_only_where_its_item_says_so(store: type[Adapter]) -> None:
    assert list_answers(run(store, (at_once(), Item("op", (GET,))))) == ["1; 2", "2"]
    outcomes = [run(store, (at_once(point),)) for point in range(1, 12)]
    lost = [verdict.broken for verdict in outcomes if verdict.broken]
    assert lost
    assert {each.rule for each in lost} == {"at-once"}
    assert outcomes[-1].broken is None  # the jobs have fewer points
    traces = [run(store, (at_once(point),)).trace for point in range(1, 12)]
    assert traces == [verdict.trace for verdict in outcomes]


@pytest.mark.parametrize("kind", [name for name in vars(AtImport) if not name.startswith("_")])
def test_a_lock_that_was_made_at_import_is_one_of_the_run(kind: str) -> None:
    store = type(f"By{kind}", (LockedAtImport,), {"kind": kind})
    found: Hunt = hunt(store, range(10))
    assert (found.small, found.not_recurring, found.jobs.whole_count) == (None, [], 0)
    assert found.jobs.pause_count > 0


# What a job waits for.


class CachesReads(Kv):
    """Reads what is stored in a job, and then puts it into a cache, which a put meanwhile has emptied."""

    fails = ()

    def make(self) -> None:
        self.kept: dict[str, object] = {}
        self.cache: dict[str, object] = {}

    async def put(self, key: str, value: object) -> None:
        await asyncio.to_thread(self.kept.__setitem__, key, value)
        self.cache.pop(key, None)

    async def get(self, key: str) -> object:
        if key not in self.cache:
            self.cache[key] = await asyncio.to_thread(self.kept.get, key, MISSING)
        return self.cache[key]


class LocksReads(CachesReads):
    def make(self) -> None:
        super().make()
        self.lock = asyncio.Lock()

    async def put(self, key: str, value: object) -> None:
        async with self.lock:
            await super().put(key, value)

    async def get(self, key: str) -> object:
        async with self.lock:
            return await super().get(key)


def test_a_result_that_comes_late_shows_what_a_cache_keeps_of_it() -> None:
    small = hunt(CachesReads, range(50, 200)).small
    assert small is not None
    [late] = [it for it in small.items if it.pauses]
    assert (late.pauses, len(small.items)) == ((-1,), 2)
    assert "at once, the result of job 1 coming late: get(" in "\n".join(list_calls(CachesReads, small))
    assert run(CachesReads, small.items, small.seed).broken == small.broken
    assert hunt(LocksReads, range(50, 65)).small is None


class Waits(Kv):
    """A job for `get`, of which each class below says what it does; `put` is another."""

    def make(self) -> None:
        self.rows: dict[str, object] = {}
        self.lock, self.other = threading.Lock(), threading.Lock()
        self.event, self.condition = threading.Event(), threading.Condition()

    async def put(self, key: str, value: object) -> None:
        await asyncio.to_thread(self._put, key, value)

    async def get(self, key: str) -> object:
        return await asyncio.to_thread(self._get, key)

    def _put(self, key: str, value: object) -> None:
        time.sleep(0)
        self.rows[key] = value
        self.event.set()
        with self.condition:
            self.condition.notify_all()

    def _get(self, key: str) -> object:
        raise NotImplementedError


PUT = ContractOp("put", {"key": "a", "value": "v"})


class ForEvent(Waits):
    def _get(self, key: str) -> object:
        self.event.wait()
        return self.rows[key]


class ForCondition(Waits):
    def _get(self, key: str) -> object:
        with self.condition:
            self.condition.wait_for(lambda: key in self.rows)
        return self.rows[key]


class ByAsking(Waits):
    def _get(self, key: str) -> object:
        while key not in self.rows:
            time.sleep(0.01)
        return self.rows[key]


class ByAskingSqlite(Waits):
    """Whatever asks again and again lets the others go on at last."""

    def _get(self, key: str) -> object:
        with closing(sqlite3.connect(":memory:")) as db:
            while key not in self.rows:
                db.execute("SELECT 1")
        return self.rows[key]


class ByAskingForLong(ByAskingSqlite):
    """A job asks for what a task writes after more steps than a job is passed over."""

    async def put(self, key: str, value: object) -> None:
        for _ in range(2 * PATIENCE):
            await asyncio.sleep(0)
        self.rows[key] = value


class ByAskingInTask(Waits):
    """A task asks for what a job writes that has paused."""

    async def get(self, key: str) -> object:
        while key not in self.rows:
            await asyncio.sleep(0)
        return self.rows[key]


class ByAskingInPool(Waits):
    """A task asks by jobs of an executor of its own."""

    def make(self) -> None:
        super().make()
        self.pool = ThreadPoolExecutor()

    async def get(self, key: str) -> object:
        while not await asyncio.get_running_loop().run_in_executor(self.pool, self.rows.get, key):
            pass
        return self.rows[key]


class ForTheLoop(Waits):
    """A job waits for a task, which the loop runs meanwhile."""

    def make(self) -> None:
        super().make()
        self.loop = asyncio.get_event_loop_policy()

    async def get(self, key: str) -> object:
        return await asyncio.to_thread(self._ask, asyncio.get_running_loop(), key)

    def _ask(self, running: asyncio.AbstractEventLoop, key: str) -> object:
        return asyncio.run_coroutine_threadsafe(self._wait(key), running).result()

    async def _wait(self, key: str) -> object:
        while key not in self.rows:
            await asyncio.sleep(1)
        return self.rows[key]


@pytest.mark.parametrize(
    "store",
    [
        ForEvent, ForCondition, ByAsking, ByAskingSqlite, ByAskingForLong, ByAskingInTask, ByAskingInPool,
        ForTheLoop,
    ],
)  # fmt: skip
@pytest.mark.parametrize("pauses", [(), (1,), (2,), (1, 1, 1)])
def test_a_job_that_waits_lets_the_others_go_on(store: type[Waits], pauses: tuple[int, ...]) -> None:
    item = at_once(*pauses, ops=(GET, PUT))
    assert list_answers(run(store, (item,))) == ["'v'; None"]


class ForNothing(Waits):
    def _get(self, key: str) -> object:
        return self.event.wait()


class TakesBoth(Waits):
    """Two locks, which the two operations take in different orders."""

    def _put(self, key: str, value: object) -> None:
        with self.lock, self.other:
            self.rows[key] = value

    def _get(self, key: str) -> object:
        with self.other, self.lock:
            return self.rows.get(key)


class OutOfItsThread(Waits):
    """A thread of the store has ended before it answers."""

    def get(self, key: str) -> object:  # type: ignore[override] # it waits in the thread of the loop
        answers: queue.Queue[object] = queue.Queue()
        thread = threading.Thread(target=self.rows.get, args=(key,))
        thread.start()
        thread.join()
        return answers.get()


class ComputesForEver(Waits):
    def _get(self, key: str) -> object:
        while True:
            pass


@pytest.mark.parametrize(
    ("store", "item", "got"),
    [
        (ForNothing, Item("op", (GET,)), "waits for something that never happens"),
        (OutOfItsThread, Item("op", (GET,)), "waits for something that never happens"),
        (TakesBoth, at_once(2, ops=(GET, PUT)), "waits for something that never happens"),
        (ComputesForEver, at_once(1, ops=(GET, PUT)), "computes for seconds, and does not end"),
    ],
)
def test_what_nothing_wakes_hangs_in_the_report_alone(store: type[Waits], item: Item, got: str) -> None:
    thread_count = _count()
    broken = run(store, (item,), seconds=0.3).broken
    assert broken is not None
    assert (broken.rule, broken.got) == ("hang", got)
    assert _count() == thread_count


def test_a_wait_ends_after_its_time_of_the_run() -> None:
    class ForSeconds(Waits):
        def _get(self, key: str) -> object:
            before = time.monotonic()
            assert not self.event.wait(5)
            assert not self.lock.acquire(timeout=2) if self.lock.locked() else self.lock.acquire()
            with pytest.raises(queue.Empty):
                queue.Queue[int]().get(timeout=3)
            with self.condition:
                assert not self.condition.wait_for(list, timeout=1)
            seen.append(round(time.monotonic() - before))
            return MISSING

    seen: list[int] = []
    assert run(ForSeconds, (Item("op", (GET,)),) * 2).broken is None
    assert seen == [9, 11]


def test_a_lock_that_no_run_can_see_ends_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "SILENT_SECONDS_MAX", 0.2)
    hidden = allocate_lock()

    class Hidden(Waits):
        def _get(self, key: str) -> object:
            with hidden:
                time.sleep(1)
            return self.rows.get(key)

    with pytest.raises(BadAdapter, match="a job waits for a lock that was made before the run"):
        run(Hidden, (at_once(ops=(GET, GET)),))


# Executors.


class InPool(Waits):
    """Three jobs, which `put` does not wait for."""

    durable = True
    written: ClassVar[list[int]] = []
    counts: ClassVar[list[int]] = []  # how many were written when a process began

    def make(self) -> None:
        self.pool = ThreadPoolExecutor(max_workers=2)
        self.counts.append(len(self.written))

    async def put(self, key: str, value: object) -> None:
        for n in range(3):
            self.pool.submit(self._write, n)
        for _ in range(9):
            await asyncio.sleep(0)

    def _write(self, n: int) -> None:
        try:
            time.sleep(1 / 2)
        finally:
            time.sleep(0)
            self.written.append(n)


LATER = Item("advance", number=9_000)


@pytest.mark.parametrize(("ending", "count"), [("reopen", 6), ("crash", 0)])
@pytest.mark.parametrize("number", range(5))
def test_a_restart_waits_for_all_jobs_and_a_crash_for_none(ending: str, count: int, number: int) -> None:
    InPool.written.clear()
    InPool.counts.clear()
    assert run(InPool, (Item("at_once", (PUT, PUT), number), Item(ending), LATER)).broken is None
    assert (InPool.counts, len(InPool.written)) == ([0, count], count)


def test_a_job_that_sleeps_is_woken_after_a_timer_that_ends_before() -> None:
    class Both(Waits):
        async def put(self, key: str, value: object) -> None:
            asyncio.get_running_loop().call_later(1, seen.append, "timer")
            await asyncio.to_thread(self._sleep)

        def _sleep(self) -> None:
            time.sleep(2)
            seen.append("job")

    seen: list[str] = []
    run(Both, (Item("op", (PUT,)),))
    assert seen == ["timer", "job"]


def test_of_two_threads_none_begins_with_the_third_job() -> None:
    class Begins(InPool):
        def _write(self, n: int) -> None:
            begun.append(n)

    begun: list[int] = []
    first = set()
    for number in range(20):
        begun.clear()
        run(Begins, (Item("at_once", (PUT,), number), LATER))
        first.add(begun[0])
    assert first == {0, 1}


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_an_executor_ends_its_jobs_and_takes_no_more(kind: type[Executor]) -> None:
    class Ends(Waits):
        def put(self, key: str, value: object) -> None:  # type: ignore[override] # in the thread of the loop
            with kind(max_workers=1) as pool:  # type: ignore[call-arg] # both have it
                futures = [pool.submit(self.rows.setdefault, n, n) for n in "abc"]
                assert [*pool.map(len, ("", "a"))] == [0, 1]
                assert all(it.done() for it in futures)
                late = [pool.submit(self.rows.setdefault, n, n) for n in "de"]
                assert late[0].cancel()
            assert late[1].done()
            with pytest.raises(RuntimeError, match="after shutdown"):
                pool.submit(str)
            pool = kind(max_workers=1)  # type: ignore[call-arg]
            never = pool.submit(self.rows.setdefault, "f", "f")
            pool.shutdown(cancel_futures=True)
            assert never.cancelled()
            seen.extend(self.rows)

    seen: list[str] = []
    verdict = run(Ends, (Item("op", (PUT,)),))
    assert (list_answers(verdict), seen) == (["None"], [*"abce"])
    assert (verdict.jobs.count, verdict.threads) == (8, ())


BEFORE = ThreadPoolExecutor()


@pytest.mark.parametrize("processor_count", [1, 96])
def test_an_executor_without_a_limit_has_one_size_on_every_machine(
    processor_count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that was made before the run."""

    class Sizes(Waits):
        def put(self, key: str, value: object) -> None:  # type: ignore[override] # in the thread of the loop
            for executor in (BEFORE, ThreadPoolExecutor(), ThreadPoolExecutor(3)):
                executor.submit(str)
                sizes.append(threads.running[-1].jobs[executor].limit)

    sizes: list[int] = []
    monkeypatch.setattr(os, "cpu_count", lambda: processor_count)
    verdict = run(Sizes, (Item("op", (PUT,)),))
    assert (list_answers(verdict), sizes) == (["None"], [32, 32, 3])
    assert os.cpu_count() == processor_count


def test_a_job_without_a_point_is_counted_that_ended_while_another_paused() -> None:
    class Reads(Waits):
        def _get(self, key: str) -> object:
            return self.rows.get(key, MISSING)

    assert run(Reads, (at_once(1, ops=(PUT, GET)),)).jobs.whole_count == 1
    assert run(Reads, (at_once(ops=(PUT, GET)),)).jobs.whole_count == 0


def test_jobs_do_not_begin_first_once_many_were_passed_over() -> None:
    class Both(Waits):
        is_waiting = False

        async def get(self, key: str) -> object:
            steps = asyncio.ensure_future(self._step())
            for _ in range(4 * PATIENCE):
                self.is_waiting = True
                await asyncio.to_thread(self._begin)
            steps.cancel()
            return MISSING

        def _begin(self) -> None:
            self.is_waiting = False

        async def _step(self) -> None:
            while True:
                await asyncio.sleep(0)
                seen.append(self.is_waiting)

    seen: list[bool] = []
    assert run(Both, (Item("at_once", (GET,), 1),)).broken is None
    assert any(seen[len(seen) // 2 :])


def test_a_lone_job_does_not_pause() -> None:
    cancelled, alone = Item("cancel", (INCR,), 30), at_once(1, ops=(INCR,))
    assert run(InSqlite, (cancelled, alone)).jobs.pause_count == 0


def test_a_job_that_computes_waits_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "SILENT_SECONDS_MAX", threads.LOOK_SECONDS)

    class Computes(Waits):
        def _get(self, key: str) -> object:
            before_s = time.process_time()
            while time.process_time() - before_s < 3 * threads.LOOK_SECONDS:
                pass
            return MISSING

    assert list_answers(run(Computes, (Item("op", (GET,)),))) == ["nothing"]


def test_a_lock_that_another_thread_has_stays() -> None:
    class Sees(Waits):
        def _get(self, key: str) -> object:
            seen.append(AtImport.lock.locked())
            return MISSING

    seen: list[bool] = []
    with AtImport.lock:
        run(Sees, (Item("op", (GET,)),))
    run(Sees, (Item("op", (GET,)),))
    assert seen == [True, False]


class ByOwnThread(Waits):
    """A thread of the store itself answers after a moment of real time."""

    timeout: float | None = 5

    def get(self, key: str) -> object:  # type: ignore[override] # it waits in the thread of the loop
        answers: queue.Queue[object] = queue.Queue()
        threading.Thread(target=self._answer, args=(answers,), daemon=True).start()
        return answers.get(timeout=self.timeout)

    def _answer(self, answers: queue.Queue[object]) -> None:
        time.sleep(threads.REAL_SECONDS / 5)
        answers.put(MISSING)


def test_a_thread_of_the_store_itself_has_a_moment_to_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    class Never(ByOwnThread):
        timeout = None

        def _answer(self, answers: queue.Queue[object]) -> None:
            hidden.acquire(timeout=2)

    class ByTheNext(ByOwnThread):
        timeout = None

        def _answer(self, answers: queue.Queue[object]) -> None:
            threading.Thread(target=self._answer_late, args=(answers,), daemon=True).start()

        def _answer_late(self, answers: queue.Queue[object]) -> None:
            time.sleep(2 * threads.REAL_SECONDS)
            answers.put(MISSING)

    for store in (ByOwnThread, ByTheNext):
        assert list_answers(run(store, (Item("op", (GET,)),))) == ["nothing"]
    monkeypatch.setattr(loop, "MOMENTS_MAX", 3)
    with (hidden := allocate_lock()), pytest.raises(BadAdapter, match="waits for its thread"):
        run(Never, (Item("op", (GET,)),))


def test_a_debugger_follows_jobs() -> None:
    before, seen = threading.gettrace(), set[str]()
    threading.settrace(lambda frame, *_: seen.add(frame.f_code.co_name))
    try:
        run(InSqlite, (Item("op", (INCR,)),))
    finally:
        threading.settrace(before)
    assert "_incr" in seen


# Threads.


class Bound(Counts):
    """A connection that belongs to the thread that has opened it."""

    def make(self) -> None:
        self.db = sqlite3.connect(":memory:")

    def _load(self) -> dict[str, int]:
        return dict(self.db.execute("SELECT 'a', 1"))


class ByThread(Counts):
    """A number for each thread, where one for all was meant."""

    def make(self) -> None:
        self.local = threading.local()

    def _load(self) -> dict[str, int]:
        return dict(vars(self.local))

    def _save(self, rows: dict[str, int]) -> None:
        vars(self.local).update(rows)
        time.sleep(0)


def test_what_belongs_to_a_thread_does_not_belong_to_another() -> None:
    broken = run(Bound, (Item("op", (GET,)),)).broken
    assert broken is not None
    assert broken.error == "ProgrammingError"
    assert list_answers(run(ByThread, (Item("op", (INCR,)),) * 3)) == ["1", "2", "3"]
    assert run(ByThread, (at_once(1),)).broken is not None


# SQLite.


class Writes(InSqlite):
    """Read and written in one transaction that begins by reading."""

    timeout: float = 5

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self.folder / "rows.db", isolation_level=None, timeout=self.timeout)

    def _change(self, db: sqlite3.Connection, key: str, by: int) -> int:
        with db:
            db.execute("BEGIN")
            return super()._change(db, key, by)


class WritesInWal(Writes):
    def _fill(self, db: sqlite3.Connection) -> None:
        db.execute("PRAGMA journal_mode = WAL")
        super()._fill(db)


class Blind(Writes):
    """Only written, in a transaction of two statements."""

    def _change(self, db: sqlite3.Connection, key: str, by: int) -> int:
        with db:
            db.execute("BEGIN")
            db.execute("REPLACE INTO rows VALUES (?, ?)", (key, by))
            db.executemany("REPLACE INTO rows VALUES (?, ?)", iter([(f"{key}{n}", n) for n in range(3)]))
        return 1


class Impatient(Blind):
    timeout = 0


class PragmaImpatient(Blind):
    def _open(self) -> sqlite3.Connection:
        db = super()._open()
        db.execute("PRAGMA busy_timeout(0)")
        return db


LOCKED = "raised OperationalError: 'database is locked'"


def outcomes(store: type[Adapter]) -> set[str]:
    found = set()
    for point in range(1, 12):
        broken = run(store, (at_once(point),)).broken
        found.add(broken.got if broken else "")
    return found


@pytest.mark.parametrize("store", [Writes, WritesInWal])
def test_a_transaction_that_has_read_fails_at_once_where_another_writes(store: type[Adapter]) -> None:
    """As in SQLite: each waits for the other. The one that came first is done."""
    assert outcomes(store) == {"", LOCKED}


class Timed(Writes):
    waited: ClassVar[list[float]] = []  # until an error

    def _change(self, db: sqlite3.Connection, key: str, by: int) -> int:
        before = time.monotonic()
        try:
            return super()._change(db, key, by)
        except sqlite3.OperationalError:
            self.waited.append(time.monotonic() - before)
            raise


def test_that_transaction_does_not_wait_for_the_other() -> None:
    Timed.waited.clear()
    assert LOCKED in outcomes(Timed)
    assert set(Timed.waited) == {0}


def test_only_a_busy_database_is_waited_for() -> None:
    class NoTable(Timed):
        def _read(self, db: sqlite3.Connection, key: str) -> int | None:
            db.execute("SELECT * FROM nowhere")
            return None

    broken = run(NoTable, (at_once(1),)).broken
    assert broken is not None
    assert "no such table" in broken.got
    assert set(NoTable.waited) == {0}


class FreedLate(Blind):
    """`get` writes; it waits for a transaction, which ends as each class below says."""

    waited: ClassVar[list[float]] = []

    def make(self) -> None:
        super().make()
        self.free = threading.Event()

    async def get(self, key: str) -> Any:
        return await self._job(self._write_and_tell)

    def _write_and_tell(self) -> Any:
        before = time.monotonic()
        self._incr("other", 1)
        self.waited.append(time.monotonic() - before)
        self.free.set()
        return MISSING

    def _begin(self) -> sqlite3.Connection:
        db = self._open()
        db.execute("BEGIN IMMEDIATE")
        return db


class ByTask(FreedLate):
    async def incr(self, key: str, by: int) -> int:
        with closing(self._begin()):
            for _ in range(20):
                await asyncio.sleep(0)
        return by


class ByJob(FreedLate):
    """Ends its transaction, and then waits for the other job."""

    def _incr(self, key: str, by: int) -> int:
        if key != "other":
            with closing(self._begin()) as db:
                time.sleep(0)
                db.execute("COMMIT")
            self.free.wait()
        return super()._incr(key, by)


class ByEndOfJob(FreedLate):
    """The operation does not wait for its job."""

    def make(self) -> None:
        super().make()
        self.pool = ThreadPoolExecutor()

    async def incr(self, key: str, by: int) -> int:
        self.pool.submit(self._hold)
        await asyncio.sleep(0)
        return by

    def _hold(self) -> None:
        with closing(self._begin()):
            time.sleep(0)


@pytest.mark.parametrize("store", [ByTask, ByJob, ByEndOfJob])
def test_a_statement_goes_on_when_the_other_transaction_has_ended(store: type[FreedLate]) -> None:
    store.waited.clear()
    for number, point in product(range(6), range(1, 6)):
        verdict = run(store, (Item("at_once", (INCR, GET), number, pauses=(point,)),))
        assert list_answers(verdict) == ["1; nothing"]
    assert set(store.waited) == {0}


class OneByOne(Waits):
    """A job that waits in a pool of one thread, for a job behind it."""

    def make(self) -> None:
        super().make()
        self.pool = ThreadPoolExecutor(max_workers=1)

    async def put(self, key: str, value: object) -> None:
        await asyncio.get_running_loop().run_in_executor(self.pool, self._put, key, value)

    async def get(self, key: str) -> object:
        return await asyncio.get_running_loop().run_in_executor(self.pool, self.event.wait)


def test_a_pool_of_one_thread_has_one_job_at_a_time() -> None:
    broken = run(OneByOne, (at_once(1, ops=(GET, PUT)),)).broken
    assert broken is not None
    assert broken.rule == "hang"


@pytest.mark.parametrize("store", [Impatient, PragmaImpatient])
def test_a_store_that_does_not_wait_is_refused(store: type[Adapter]) -> None:
    assert LOCKED in outcomes(store)


def test_a_statement_waits_for_another_connection_as_long_as_the_store_says() -> None:
    assert outcomes(Blind) <= {"", "incr 1, incr 1"}


class Holds(Blind):
    """A connection that never ends its transaction."""

    def make(self) -> None:
        super().make()
        self.db = self._open()
        self.db.execute("BEGIN IMMEDIATE")
        self.began = time.time()

    def _get(self, key: str) -> Any:
        return round(time.time() - self.began)


def test_after_that_time_it_is_refused() -> None:
    verdict = run(Holds, (Item("op", (INCR,)),))
    assert verdict.broken is not None
    assert verdict.broken.got == LOCKED
    assert run(Holds, (Item("op", (GET,)),)).steps[0].told == "0"


# Faults.


class InLog(Counts):
    """Jobs that write to one open file."""

    durable = True

    def make(self) -> None:
        self.path = self.folder / "log"
        self.path.touch()
        self.log = self.path.open("a+")

    def close(self) -> None:
        self.log.close()

    def _load(self) -> dict[str, int]:
        return dict(json.loads(line) for line in self.path.read_text().splitlines())

    def _save(self, rows: dict[str, int]) -> None:
        for row in rows.items():
            self.log.write(json.dumps(row) + "\n")
            self.log.flush()
        os.fsync(self.log.fileno())


def test_jobs_share_an_open_file() -> None:
    broken = [run(InLog, (at_once(point),)).broken for point in range(1, 12)]
    assert {each and each.rule for each in broken} == {None, "at-once"}


@pytest.mark.parametrize("kind", ["fail", "crash_in"])
@pytest.mark.parametrize("site", ["statement", "commit"])
def test_what_fails_in_a_job_fails_as_elsewhere(kind: str, site: str) -> None:
    items = (Item("op", (INCR,)), Item(kind, (INCR,), 1, site), Item("op", (GET,)))
    verdict = run(Immediate, items)
    failed = "disk I/O error" if site == "statement" else "database is locked"
    assert (failed if kind == "fail" else "died") in verdict.steps[1].told
    assert list_answers(verdict)[2] == "1"


class Forgets(InSqlite):
    """A job goes on when its operation was cancelled, and is not waited for at the end."""

    async def incr(self, key: str, by: int) -> int:
        self.task = asyncio.ensure_future(self._job(self._incr, key, by))
        await asyncio.sleep(0)
        return 1


@pytest.mark.parametrize("ending", ["crash", "reopen"])
@pytest.mark.parametrize("point", range(1, 5))
def test_a_job_in_flight_ends_with_its_process(ending: str, point: int) -> None:
    thread_count = _count()
    two = at_once(point, ops=(INCR, ContractOp("incr", {"key": "b", "by": 1})))
    verdict = run(Forgets, (two, Item(ending), Item("op", (GET,))))
    assert len(verdict.steps) == 3
    assert _count() == thread_count


def test_a_cancelled_operation_leaves_its_job_to_the_end() -> None:
    """The lock is free as soon as the task is cancelled, and the job goes on without it."""

    class Cancelled(InSqlite):
        has_begun = False

        def _incr(self, key: str, by: int) -> int:
            self.has_begun = True
            return super()._incr(key, by)

        async def incr(self, key: str, by: int) -> int:
            try:
                return await super().incr(key, by)
            except asyncio.CancelledError:
                seen.append((self.has_begun, self._get(key)))
                raise

    seen: list[tuple[bool, object]] = []
    for steps, point in product(range(1, 9), range(1, 4)):
        verdict = run(Cancelled, (Item("cancel", (INCR,), steps, pauses=(point,)), Item("op", (GET,))))
        assert list_answers(verdict)[1] in ("1", "nothing")
    assert (True, MISSING) in seen


# The same each time.


def test_it_does_not_depend_on_the_system() -> None:
    interval = sys.getswitchinterval()
    items = (at_once(3, 2, 1, ops=(INCR, INCR, GET)), Item("op", (GET,)))
    try:
        traces = set()
        for seconds in (1e-6, 1e-3, 1.0):
            sys.setswitchinterval(seconds)
            traces |= {run(InSqlite, items).trace for _ in range(10)}
    finally:
        sys.setswitchinterval(interval)
    assert len(traces) == 1


def test_locks_and_threads_are_as_before_a_run() -> None:
    def list_patched() -> list[object]:
        found = [vars(threading).get(name) for name in ("Lock", "_allocate_lock", "_CRLock")]
        own = [value for name, value in vars(AtImport).items() if not name.startswith("_")]
        inner = [list(vars(value).values()) for value in own if hasattr(value, "__dict__")]
        return [*found, queue.SimpleQueue, *own, *inner]

    before = list_patched()
    run(LockedAtImport, (at_once(2), Item("op", (GET,))))
    assert list_patched() == before
    with (kept := threads.Lock()):
        assert not kept.acquire(timeout=0.01)
