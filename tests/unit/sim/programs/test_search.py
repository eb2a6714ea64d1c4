"""Goal: the search meets what goes wrong while a failure is handled, and reports each bug once."""

import asyncio
import json
from contextlib import suppress
from typing import Any

import httpx
import pytest

from umi_sim.kernel.report import laid_out
from umi_sim.programs import (
    CancelTask,
    FailCall,
    FailSite,
    KillAtSite,
    KillProcess,
    OrderJobs,
    Program,
    ProgramRun,
    explore,
    service,
    simulate,
)
from umi_sim.programs.reports import report_exploration
from umi_sim.programs.search import Points, list_pools
from umi_sim.programs.simulation import Reached


@service
async def ask_first(question: str) -> str:
    return question


@service
async def ask_other(question: str) -> str:
    return question


@service
async def book(kind: str) -> None:
    pass


async def fall_back(run: ProgramRun) -> None:
    """Ask a second model when the first is slow, and forget the first when that fails too."""
    for number in range(12):
        await book(f"{number}")
    first = asyncio.create_task(ask_first("a"))
    done, _ = await cancelled_alike(first, asyncio.wait({first}, timeout=5))
    if not done:
        await ask_other("a")  # no `finally`
        first.cancel()
        await asyncio.wait({first})


async def cancelled_alike(task: Any, waiting: Any) -> Any:
    try:
        return await waiting
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait({task})
        raise


def test_a_call_that_only_a_failure_makes_fails_too() -> None:
    finding, *_ = explore(fall_back, without=["continues"]).findings
    assert finding.phase == "combinations drawn"
    case = finding.outcome.perturbations
    assert [type(each) for each in case] in ([FailCall, FailCall], [FailCall, CancelTask])


@service
async def undo() -> None:
    pass


async def clean_up_late(run: ProgramRun) -> None:
    """Clean up by an await, which a second cancel interrupts, after much that is correct."""
    assert not hasattr(run.state, "is_open"), "still open"
    for number in range(30):
        await book(f"{number}")
    run.state.is_open = True
    try:
        await book("last")
    except BaseException:
        with suppress(OSError, ValueError):
            await undo()
        del run.state.is_open
        raise
    del run.state.is_open


def test_a_cleanup_is_cancelled_in_turn() -> None:
    (finding,) = explore(clean_up_late, resume=clean_up_late).findings
    assert finding.broken.message.startswith("resume raised: AssertionError: still open")
    assert len(finding.outcome.perturbations) == 2
    steps = [each.step for each in finding.outcome.perturbations if isinstance(each, CancelTask)]
    assert steps == sorted(steps)


async def count(run: ProgramRun) -> None:
    before = await run.store.get("count", 0)
    await run.store.put("count", before + 1)
    run.acknowledge(len(run.acknowledged))


async def count_later(run: ProgramRun) -> None:
    await asyncio.sleep(1)
    await count(run)


async def count_twice(run: ProgramRun) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(count_later(run))
        group.create_task(count(run))


async def verify_count(run: ProgramRun) -> None:
    assert await run.store.get("count", 0) >= len(run.acknowledged)


def test_a_store_is_slow_too_so_that_two_tasks_meet() -> None:
    (finding,) = explore(count_twice, verify=verify_count).findings
    (case,) = finding.outcome.perturbations
    assert isinstance(case, FailCall)
    assert (case.service, case.how) == ("store", "slow")


def test_the_undisturbed_run_is_judged_however_little_time_there_is() -> None:
    async def main() -> None:
        raise ValueError("no")

    found = explore(main, seconds=0)
    assert [each.phase for each in found.findings] == ["undisturbed"]


def save_in_place(run: ProgramRun, value: object) -> None:
    with open(run.folder / "a.json", "w") as file:
        json.dump(value, file)


async def save_twice(run: ProgramRun) -> None:
    path = run.folder / "a.json"
    before = json.loads(path.read_text()) if path.exists() else []
    for number in range(2):
        before.append({"number": number, "text": "one"})
        save_in_place(run, before)
        await asyncio.sleep(0.01)


def test_one_bug_is_one_finding_in_whatever_words_and_whichever_function_meets_it() -> None:
    (finding,) = explore(save_twice, resume=save_twice).findings
    assert (finding.broken.error, finding.broken.place.endswith("(save_twice)")) == ("JSONDecodeError", True)
    assert len(finding.points) > 4


async def leave_others(run: ProgramRun) -> None:
    await asyncio.gather(two_books(), two_books(), two_books())


async def two_books() -> None:
    await book("b")
    await book("c")


def test_however_many_tasks_go_on_it_is_one_finding() -> None:
    (finding,) = explore(leave_others).findings
    assert finding.broken.rule == "leaks_no_task"


def test_points_are_made_when_they_are_asked_for() -> None:
    spans = tuple(range(number, 10**6) for number in range(1_000))
    pools = list_pools(Program(count_twice), Reached(5, spans, tuple(range(1_000))))
    many = pools["other tasks cancelled"]
    assert len(many) == sum(10**6 - number for number in range(1, 1_000))
    assert (many[0], many[len(many) - 1]) == (CancelTask(1, 1), CancelTask(10**6 - 1, 999))
    few = Points([range(1, 3), range(5, 5), range(5, 7)], lambda step, number: CancelTask(step, number))
    assert list(few) == [CancelTask(1), CancelTask(2), CancelTask(5, 2), CancelTask(6, 2)]
    assert few[1:3] == [CancelTask(2), CancelTask(5, 2)]


def test_a_cause_names_the_place() -> None:
    async def main(run: ProgramRun) -> None:
        await book("a")
        (run.folder / "a").write_text("abc")

    for case in (FailCall("book", 1, "reset"), FailSite("open", 1), KillAtSite("write", 1), KillProcess(2)):
        (effect,) = simulate(main, case).outcome.effects
        assert "at test_search.py:" in effect, effect


async def wait_five_minutes(run: ProgramRun) -> None:
    run.history = [{"tool_calls": [{"id": "a"}]}]
    with suppress(OSError, ValueError):
        async with asyncio.timeout(300):
            await book("a")
            run.history = []
            return
    if asyncio.get_running_loop().time() - run.state.began < 290:
        run.history = []


async def begin_to_wait(run: ProgramRun) -> None:
    run.state.began = asyncio.get_running_loop().time()
    await wait_five_minutes(run)


def test_what_is_slow_is_slower_than_a_timeout_of_minutes() -> None:
    for case in list(list_ways("book")):
        broken = simulate(begin_to_wait, case).broken
        assert (broken is not None) == (case.how == "slow"), case


def list_ways(name: str) -> list[FailCall]:
    return [FailCall(name, 1, how) for how in ("refused", "rate_limit", "timeout", "reset", "slow")]


def test_what_is_slow_is_no_slower_than_it_has_to_be() -> None:
    async def main(run: ProgramRun) -> None:
        loop = asyncio.get_running_loop()
        waiting = asyncio.create_task(asyncio.sleep(86_400))  # no timeout of an hour at most
        await asyncio.sleep(0)
        began = loop.time()
        await book("a")
        run.acknowledge("seconds", round(loop.time() - began))
        waiting.cancel()

    outcome = simulate(main, FailCall("book", 1, "slow")).outcome
    assert outcome.acknowledged == {"seconds": 60}


async def keep_client_waiting(run: ProgramRun) -> None:
    """Ask by httpx, whose mock needs no time; the call has no result when main is cancelled."""
    transport = httpx.MockTransport(lambda request: httpx.Response(200))
    async with httpx.AsyncClient(transport=transport) as client:
        run.history = [{"tool_calls": [{"id": "a"}]}]
        with suppress(httpx.HTTPError):
            await client.get("http://tool.invalid")
        run.history = []


def test_a_request_to_a_mock_can_be_cancelled() -> None:
    (finding,) = explore(keep_client_waiting).findings
    assert (finding.broken.rule, finding.phase) == ("settles_calls", "main cancelled")


def test_a_failing_call_is_named_before_a_cancelled_task() -> None:
    """A worker ends with its call; nothing in the program cancels it alone."""

    async def main() -> None:
        ready = asyncio.Event()

        async def prepare() -> None:
            await book("a")
            ready.set()

        task = asyncio.create_task(prepare())
        try:
            await ready.wait()
        finally:
            task.cancel()
            await asyncio.wait({task})

    (finding,) = explore(main).findings
    assert finding.outcome.perturbations == (FailCall("book", 1, "refused"),)


def test_the_order_of_jobs_is_a_cause() -> None:
    async def main(run: ProgramRun) -> None:
        def append(name: str) -> None:
            path = run.folder / "rows"
            before = path.read_text() if path.exists() else ""
            (run.folder / name).write_text(before + name)
            (run.folder / name).replace(path)

        await asyncio.gather(*(asyncio.to_thread(append, name) for name in "abc"))

    async def verify(run: ProgramRun) -> None:
        path = run.folder / "rows"
        assert len(path.read_text()) == 3

    case = OrderJobs(0, (5,))
    (effect,) = simulate(main, case, verify=verify).outcome.effects
    assert effect.startswith(f"{case}; paused at ")
    assert simulate(book_in_main, case).outcome.effects == ()


async def book_in_main() -> None:
    await book("a")


def test_a_main_that_ignores_its_cancellation_is_noted() -> None:
    async def main() -> None:
        with suppress(asyncio.CancelledError):
            await book("a")

    def show(program: Program) -> str:
        found = explore(program.main, rules=program.rules, drawn=0)
        return "\n".join(laid_out(report_exploration("a:main", found, [])))

    assert "noted    main returned in " in show(Program(main))
    assert "noted" not in show(Program(book_in_main))


def test_a_phase_that_fails_slowly_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("umi_sim.programs.search.FAILING_SECONDS", 0)

    async def main(run: ProgramRun) -> None:
        assert not getattr(run.state, "is_cut", False)
        run.state.is_cut = True
        await book("a")
        run.state.is_cut = False

    for to_end, count in ((False, 1), (True, 4)):
        found = explore(main, resume=main, to_end=to_end, drawn=0)
        assert found.phases[1].failing_count == count
        assert found.is_complete
