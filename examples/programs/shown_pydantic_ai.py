"""Show what a cancelled run of pydantic-ai leaves behind, on asyncio's own loop, without umi_sim."""

import asyncio

from pydantic_ai import Agent, UserError, capture_run_messages
from pydantic_ai.models.test import TestModel

agent = Agent(TestModel())


@agent.tool_plain
async def weather(city: str) -> str:
    return f"{city}: sunny"


async def try_cancel(turns: int) -> tuple[bool, list[str], str]:
    """Cancel after so many turns. Return whether the run was active, the tasks left, and the error."""
    with capture_run_messages() as messages:
        run = asyncio.create_task(agent.run("The weather?"))
        for _ in range(turns):
            await asyncio.sleep(0)
        run.cancel()
        await asyncio.gather(run, return_exceptions=True)
    await asyncio.sleep(0.1)
    left = asyncio.all_tasks() - {asyncio.current_task()}
    names = [task.get_coro().__qualname__ for task in left]
    for task in left:
        task.cancel()
    try:
        await agent.run("And now?", message_history=messages)
    except UserError as error:
        return run.cancelled(), names, str(error)[:70]
    return run.cancelled(), names, ""


async def main() -> None:
    for turns in range(100):
        ran, left, error = await try_cancel(turns)
        if left or error:
            print(f"cancelled at turn {turns}:", *left, error)
        if not ran:
            break


asyncio.run(main())
