"""Goal: the search meets what goes wrong while a failure is handled, and reports each bug once."""

import asyncio
import json
from contextlib import suppress
from typing import Any

from umi_sim.programs import (
    CancelTask,
    FailCall,
    FailSite,
    KillAtSite,
    KillProcess,
    Program,
    ProgramRun,
    explore,
    service,
    simulate,
)
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
    for number in range(30):
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
