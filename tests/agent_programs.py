"""A correct agent with a durable history, and one that breaks each rule once."""

import asyncio
from contextlib import suppress
from typing import Any

from umi_sim.programs import Program, ProgramRun, service

TRIES = 3


@service
async def model(history: list[dict[str, Any]]) -> dict[str, Any]:
    if history[-1]["role"] == "user":
        return {"role": "assistant", "tool_calls": [{"id": f"call-{len(history)}"}]}
    return {"role": "assistant", "content": "sunny"}


@service
async def weather(city: str) -> str:
    return f"{city}: sunny"


async def ask_patiently(ask: Any, *args: Any) -> Any:
    for _ in range(TRIES - 1):
        with suppress(OSError, ValueError):
            return await ask(*args)
        await asyncio.sleep(1)
    return await ask(*args)


def repair(history: list[dict[str, Any]]) -> None:
    """Settle the calls that were interrupted."""
    settled = {each.get("tool_call_id") for each in history}
    calls = [call["id"] for each in history for call in each.get("tool_calls", [])]
    history += [settle(each, "interrupted") for each in calls if each not in settled]


def settle(call_id: str, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


async def converse(run: ProgramRun, question: str) -> None:
    """Ask a question and settle its calls; every step is durable before the next one."""
    history = await ask_patiently(run.store.get, "history", [])
    repair(history)
    run.history = history
    history.append({"role": "user", "content": question})
    while not history[-1].get("content", "").startswith("sunny"):
        await ask_patiently(run.store.put, "history", history)
        history.append(await ask_patiently(model, history))
        for call in history[-1].get("tool_calls", []):
            history.append(settle(call["id"], await ask_patiently(weather, "Bern")))
    await ask_patiently(run.store.put, "history", history)
    run.acknowledge(question)


async def main(run: ProgramRun) -> None:
    await converse(run, "first")


async def resume(run: ProgramRun) -> None:
    await converse(run, "second")


async def verify(run: ProgramRun) -> None:
    asked = [each["content"] for each in await run.store.get("history", []) if each["role"] == "user"]
    missing = [question for question in run.acknowledged if question not in asked]
    assert not missing, f"acknowledged and lost: {missing}"


# What breaks one rule each.


async def hang(run: ProgramRun) -> None:
    """Leave a lock locked that was taken by what was cancelled."""
    run.state.lock = asyncio.Lock()
    await run.state.lock.acquire()
    await weather("Bern")
    run.state.lock.release()


async def take_lock(run: ProgramRun) -> None:
    async with getattr(run.state, "lock", None) or asyncio.Lock():
        pass


async def forget_result(run: ProgramRun) -> None:
    """Keep a call whose result is not there yet."""
    run.history = [{"role": "user", "content": "first"}]
    run.history.append(await model(run.history))
    run.history.append(settle("call-1", await weather("Bern")))


async def refuse_open_calls(run: ProgramRun) -> None:
    calls = [each for each in run.history if "tool_calls" in each]
    if len(calls) > sum("tool_call_id" in each for each in run.history):
        raise ValueError("the history has a call without a result")


async def accept_open_calls(run: ProgramRun) -> None:
    await weather("Rome")


async def leak(run: ProgramRun) -> None:
    """Begin a task and wait for it only when nothing is in the way."""
    ticking = asyncio.create_task(tick())
    await weather("Bern")
    ticking.cancel()


async def tick() -> None:
    while True:
        await asyncio.sleep(60)


async def acknowledge_early(run: ProgramRun) -> None:
    """Acknowledge what is not stored yet."""
    run.acknowledge("first")
    await run.store.put("history", [{"role": "user", "content": "first"}])


hanging = Program(hang, resume=take_lock)
