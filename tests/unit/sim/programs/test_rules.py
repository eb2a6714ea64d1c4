"""Goal: each rule is broken by a program that breaks it, and by no point of one that is correct."""

import asyncio
import contextlib
from typing import Any

import pytest

from tests import agent_programs as agent
from umi_sim.programs import ends_when_cancelled, explore

CORRECT: dict[str, Any] = {"resume": agent.resume, "verify": agent.verify}
PLANTED: dict[str, tuple[Any, dict[str, Any]]] = {
    "ends": (agent.hang, {"resume": agent.take_lock}),
    "continues": (agent.forget_result, {"resume": agent.refuse_open_calls}),
    "leaks_no_task": (agent.leak, {}),
    "settles_calls": (agent.forget_result, {"resume": agent.accept_open_calls}),
    "keeps_acknowledged": (agent.acknowledge_early, {"verify": agent.verify}),
}


def test_a_correct_program_is_silent_at_every_point() -> None:
    found = explore(agent.main, **CORRECT, drawn=40)
    assert found.findings == []
    assert found.is_complete
    names = ["undisturbed", "main cancelled", "process killed", "calls failing", "combinations drawn"]
    assert [phase.name for phase in found.phases] == names
    assert all(phase.run_count == phase.planned > 0 for phase in found.phases)


@pytest.mark.parametrize("rule", PLANTED)
def test_a_broken_rule_is_found_and_shrunk_to_one_perturbation(rule: str) -> None:
    main, options = PLANTED[rule]
    found = explore(main, **options)
    assert [(each.broken.rule, each.recurs) for each in found.findings] == [(rule, True)]
    assert len(found.findings[0].outcome.perturbations) == 1


@pytest.mark.parametrize("rule", PLANTED)
def test_without_its_rule_nothing_is_found(rule: str) -> None:
    main, options = PLANTED[rule]
    found = explore(main, **options, without=[rule], drawn=0)
    assert rule not in [each.broken.rule for each in found.findings]


async def work_for_ever(queue: asyncio.Queue[int]) -> None:
    while True:
        with contextlib.suppress(BaseException):
            await queue.get()


def test_a_task_that_ignores_its_end_is_reported_and_does_not_hang_the_search() -> None:
    async def main(run: Any) -> None:
        worker = asyncio.create_task(work_for_ever(asyncio.Queue()))
        await asyncio.sleep(1)
        worker.cancel()

    found = explore(main, drawn=0)
    assert [each.broken.rule for each in found.findings] == ["leaks_no_task"]


def test_a_rule_of_the_user_is_one_of_the_rules() -> None:
    def asks_twice(outcome: Any) -> str | None:
        """Require that the model is asked twice."""
        count = outcome.reached.calls.get("model", 0)
        return None if count == 2 else f"asked {count} times"

    found = explore(agent.main, **CORRECT, rules=[asks_twice])
    (finding,) = found.findings
    assert (finding.broken.rule, finding.broken.promised) == ("asks_twice", "the model is asked twice")


async def swallow(run: Any) -> None:
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.sleep(1)
    run.state.done = True


async def stop(run: Any) -> None:
    try:
        await asyncio.sleep(1)
    finally:
        run.state.done = True


async def answer_for_it(run: Any) -> None:
    try:
        await asyncio.sleep(1)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        assert task is not None
        task.uncancel()


@pytest.mark.parametrize(
    ("main", "names"), [(swallow, ["ends_when_cancelled"]), (stop, []), (answer_for_it, [])]
)
def test_a_main_that_swallows_its_cancellation_is_found_where_that_is_a_rule(main: Any, names: Any) -> None:
    found = explore(main, rules=[ends_when_cancelled], drawn=0)
    assert [each.broken.rule for each in found.findings] == names
    assert explore(main, drawn=0).findings == []
