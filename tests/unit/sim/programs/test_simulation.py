"""Goal: a case is a value, what dies is gone, and what is injected is what a real process may meet."""

import asyncio
import os
import signal
import sqlite3
import time
from typing import Any

import pytest

from tests import agent_programs as agent
from umi_sim.programs import (
    BadProgram,
    CancelTask,
    DelayCallback,
    FailCall,
    FailSite,
    KillAtSite,
    KillProcess,
    OrderJobs,
    Perturbation,
    ProgramRun,
    explore,
    service,
    simulate,
)

CASES = [
    (),
    (CancelTask(7),),
    (KillProcess(9), CancelTask(15)),
    (FailCall("model", 1, "timeout"), FailCall("store", 2, "refused"), KillProcess(20)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_same_case_has_the_same_trace(case: tuple[Perturbation, ...]) -> None:
    outcomes = [simulate(agent.main, *case, resume=agent.resume, seed=3).check() for _ in range(2)]
    assert outcomes[0].trace == outcomes[1].trace
    assert len(outcomes[0].effects) == len(case)


def test_a_program_may_take_no_run_and_reads_virtual_time() -> None:
    seconds = list[float]()

    async def main() -> None:
        before = asyncio.get_running_loop().time()
        await asyncio.sleep(3_600)
        seconds.append(asyncio.get_running_loop().time() - before)

    began = time.perf_counter()
    simulate(main).check()
    assert 3_600 <= seconds[0] < 3_601
    assert time.perf_counter() - began < 60


def test_what_dies_runs_no_finally_and_what_is_cancelled_does() -> None:
    ended = list[int]()

    async def main(run: ProgramRun) -> None:
        life = run.life
        try:
            await asyncio.sleep(1)
        finally:
            if not run.has_died:
                ended.append(life)

    simulate(main, KillProcess(2)).check()
    assert ended == [2]  # the second process ends as it should, the first one vanished
    ended.clear()
    simulate(main, CancelTask(2)).check()
    assert ended == [1]


def test_memory_is_lost_with_the_process_and_the_store_and_the_folder_stay() -> None:
    async def main(run: ProgramRun) -> None:
        assert (run.life, vars(run.state)) == (run.life, {})
        run.state.seen = True
        await run.store.put("lives", await run.store.get("lives", 0) + 1)
        with (run.folder / "lives").open("a") as file:
            file.write("x")
        await asyncio.sleep(1)

    async def verify(run: ProgramRun) -> None:
        assert await run.store.get("lives") == 2
        assert (run.folder / "lives").read_text() == "xx"

    steps = simulate(main).outcome.reached.step_count
    simulate(main, KillProcess(steps), verify=verify).check()


def test_a_value_that_is_stored_is_a_copy() -> None:
    async def main(run: ProgramRun) -> None:
        value = [1]
        await run.store.put("a", value)
        value.append(2)
        assert await run.store.get("a") == [1]
        assert await run.store.list_keys() == ["a"]
        await run.store.delete("a")
        assert await run.store.list_keys() == []

    simulate(main).check()


def test_sqlite_fails_and_the_process_dies_in_a_commit() -> None:
    async def main(run: ProgramRun) -> None:
        with sqlite3.connect(run.folder / "a.db") as db:
            db.execute("CREATE TABLE IF NOT EXISTS t (x)")
            db.execute("INSERT INTO t VALUES (1)")
        run.acknowledge("row")

    async def verify(run: ProgramRun) -> None:
        rows = sqlite3.connect(run.folder / "a.db").execute("SELECT x FROM t").fetchall()
        assert len(rows) == 1 or not run.acknowledged

    done = simulate(main, KillAtSite("commit", 1), verify=verify).check()
    assert [each.how for each in done.endings] == ["died", "returned", "returned"]
    failed = simulate(main, FailSite("commit", 1)).check()
    assert str(failed.endings[0].error) == "database is locked"
    with pytest.raises(BadProgram, match="at most one FailSite"):
        simulate(main, FailSite("commit", 1), KillAtSite("commit", 1))


def test_what_runs_on_in_a_process_that_died_in_a_write_reaches_nothing() -> None:
    async def main(run: ProgramRun) -> None:
        if run.life == 2:
            return
        try:
            with (run.folder / "a").open("wb", buffering=0) as file:
                file.write(b"0123456789")
        finally:
            (run.folder / "b").write_text("too late")

    async def verify(run: ProgramRun) -> None:
        assert [path.name for path in run.folder.iterdir()] == ["a"]
        assert (run.folder / "a").read_bytes() == b"0123"

    simulate(main, KillAtSite("write", 1, 40), verify=verify).check()


def test_what_asks_again_and_again_lets_time_pass() -> None:
    async def main() -> None:
        done = asyncio.Event()
        asyncio.get_running_loop().call_later(1, done.set)
        while not done.is_set():
            await asyncio.sleep(0)

    simulate(main).check()


def test_a_set_of_tasks_has_one_order() -> None:
    async def main(run: ProgramRun) -> None:
        tasks = [asyncio.create_task(asyncio.sleep(0), name=str(number)) for number in range(20)]
        run.history = [task.get_name() for task in set(tasks)]
        await asyncio.wait(tasks)

    first, again = (simulate(main).check().history for _ in range(2))
    assert first == again == sorted(first, key=int)


def test_jobs_of_executors_go_on_in_an_order_that_is_drawn() -> None:
    async def main(run: ProgramRun) -> None:
        order = list[int]()
        await asyncio.gather(*(asyncio.to_thread(order.append, number) for number in range(4)))
        run.history = order

    histories = {tuple(simulate(main, OrderJobs(number)).check().history) for number in range(12)}
    assert len(histories) > 3
    assert all(sorted(each) == [0, 1, 2, 3] for each in histories)


def test_a_callback_is_delayed_only_if_that_is_asked_for() -> None:
    async def main(run: ProgramRun) -> None:
        order = list[str]()

        async def add(name: str) -> None:
            order.append(name)

        await asyncio.gather(add("a"), add("b"))
        assert order == ["a", "b"], order

    assert explore(main).findings == []
    (finding,) = explore(main, reorder=2).findings
    assert [type(each) for each in finding.outcome.perturbations] == [DelayCallback]
    assert finding.broken.rule == "continues"


@pytest.mark.parametrize("place", ["async def", "task", "forever", "computing"])
def test_a_program_that_does_not_end_is_reported(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("umi_sim.programs.simulation.COMPUTING_SECONDS_MAX", 1)
    monkeypatch.setattr("umi_sim.programs.simulation.STEPS_MAX", 1_000)

    async def main() -> None:
        if place == "async def":
            await asyncio.Event().wait()
        elif place == "task":
            await asyncio.create_task(asyncio.Event().wait())
        while place == "forever":
            await asyncio.sleep(0)
        while True:
            pass

    broken = simulate(main).broken
    assert broken is not None
    assert (broken.rule, broken.message.startswith("main hung: Stuck: ")) == ("ends", True)


def test_tasks_of_libraries_are_cancelled_only_if_that_is_asked_for() -> None:
    async def main() -> None:
        children = [asyncio.create_task(asyncio.sleep(1)), asyncio.create_task(wait())]
        await asyncio.wait(children)

    async def wait() -> None:
        await asyncio.sleep(1)

    def count(**options: Any) -> int:
        found = explore(main, without=["leaks_no_task"], drawn=0, **options)
        return sum(each.run_count for each in found.phases if each.name == "other tasks cancelled")

    assert 0 < count() < count(library_tasks=True)


def test_what_a_simulation_does_not_have_is_refused_in_one_line() -> None:
    async def connect() -> None:
        await asyncio.get_running_loop().create_connection(asyncio.Protocol, "localhost", 1)

    with pytest.raises(BadProgram, match=r"connect: needs an event loop with sockets.*does not have"):
        simulate(connect)
    with pytest.raises(BadProgram, match="main: expected an async function"):
        simulate(lambda: None)  # type: ignore[arg-type, return-value] # that is the mistake
    with pytest.raises(BadProgram, match="rules: expected a list of functions, got 3"):
        simulate(agent.main, rules=3)
    with pytest.raises(BadProgram, match="reorder: expected a whole number from 0 to 8, got True"):
        simulate(agent.main, reorder=True)
    with pytest.raises(BadProgram, match="unknown rule 'end'"):
        simulate(agent.main, without=["end"])


def test_what_dies_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    @service
    async def ask() -> str:
        return "a"

    async def main() -> None:
        try:
            await ask()
        finally:
            await asyncio.sleep(1)

    assert explore(main, drawn=10).findings == []
    assert capsys.readouterr() == ("", "")


async def write_twice(run: ProgramRun) -> None:
    for name in "ab":
        (run.folder / name).write_text(name)
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("site", ["open", "write"])
def test_a_file_that_the_simulator_copies_is_no_site(site: str) -> None:
    """A process that dies leaves its folder, which the next one gets as a copy."""
    for call in range(1, 6):
        outcome = simulate(write_twice, KillProcess(3), KillAtSite(site, call)).check()
        assert [each.how for each in outcome.endings].count("died") == len(outcome.effects)
    base = simulate(write_twice).outcome.reached.sites
    killed = simulate(write_twice, KillProcess(3)).outcome.reached.sites
    assert base[site] <= killed[site] <= 2 * base[site] - 1


def test_a_job_with_a_loop_of_its_own_is_out_of_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("umi_sim.targets.threads.SILENT_SECONDS_MAX", 0.2)

    async def main() -> None:
        await asyncio.to_thread(lambda: asyncio.run(asyncio.sleep(1)))

    with pytest.raises(BadProgram, match="or an event loop of its own, which a simulation does not have"):
        simulate(main)


def test_what_never_began_is_no_warning(recwarn: pytest.WarningsRecorder) -> None:
    """anyio keeps the coroutine of a task in another one."""
    anyio = pytest.importorskip("anyio")

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep, 1)

    for step in range(1, 6):
        simulate(main, KillProcess(step)).check()
    assert [each for each in recwarn if "never awaited" in str(each.message)] == []


def test_each_process_has_a_number_of_its_own_and_no_signal_comes() -> None:
    pids = list[int]()

    async def main() -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, pids.clear)
        for pid in pids:
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)
        pids.append(os.getpid())
        os.kill(pids[-1], 0)
        await asyncio.sleep(1)
        assert asyncio.get_running_loop().remove_signal_handler(signal.SIGTERM)

    simulate(main, KillProcess(2)).check()
    assert len({*pids, os.getpid()}) == 3
    os.kill(os.getpid(), 0)


def test_a_signal_to_itself_is_refused() -> None:
    async def main() -> None:
        os.kill(os.getpid(), signal.SIGWINCH)  # which does no harm if it comes

    with pytest.raises(BadProgram, match="sends signal 28 to its process, which has none"):
        simulate(main)
