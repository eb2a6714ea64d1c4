"""A thread of LangGraph that looks finished and cannot continue. On asyncio's own loop, no umi_sim."""

import asyncio
from typing import Any

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import create_react_agent

CALL = AIMessage("", tool_calls=[{"name": "weather", "args": {"city": "Bern"}, "id": "call-1"}])
THREAD: Any = {"configurable": {"thread_id": "1"}}


class Saver(InMemorySaver):
    """A checkpointer that takes ten milliseconds, as a database does."""

    async def aput_writes(self, *args: Any) -> None:
        await asyncio.sleep(0.01)
        await super().aput_writes(*args)

    async def aput(self, *args: Any) -> Any:
        await asyncio.sleep(0.01)
        return await super().aput(*args)


async def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"{city}: sunny"


async def try_cancel(ms: int) -> str:
    """Cancel a run after a while, continue as `next` says, and ask again. Return what is wrong then."""
    model = GenericFakeChatModel(messages=iter([CALL, *(9 * [AIMessage("It is sunny.")])]))
    bound = model.bind(tools=[{"type": "function", "function": {"name": "weather"}}])
    agent: Any = create_react_agent(bound, [weather], checkpointer=Saver())
    run = asyncio.create_task(agent.ainvoke({"messages": [("user", "The weather?")]}, THREAD))
    await asyncio.sleep(ms / 1000)
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    state = await agent.aget_state(THREAD)
    try:
        if state.next:
            await agent.ainvoke(None, THREAD)
        await agent.ainvoke({"messages": [("user", "And now?")]}, THREAD)
    except ValueError as error:
        shown = [message.type for message in state.values["messages"]]
        return f"after {ms} ms: next {state.next}, messages {shown}: {str(error)[:50]}..."
    return ""


async def main() -> None:
    for ms in range(1, 100):
        if told := await try_cancel(ms):
            print(told)


asyncio.run(main())
