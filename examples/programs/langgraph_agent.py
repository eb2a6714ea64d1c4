"""A ReAct agent of LangGraph, whose thread is in a checkpointer on SQLite: langgraph_agent:main.

langgraph_agent:continued continues an interrupted run before it asks again.
"""

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.prebuilt import create_react_agent

from umi_sim.programs import Program, service

THREAD = {"configurable": {"thread_id": "1"}}
CALL = {"name": "weather", "args": {"city": "Bern"}, "id": "call-1"}
REPLIES = AIMessage("", tool_calls=[CALL]), AIMessage("It is sunny."), AIMessage("Still.")


@service
async def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"{city}: sunny"


async def main(run, goes_on=False):
    async with AsyncSqliteSaver.from_conn_string(str(run.folder / "threads.db")) as threads:
        tools = [{"type": "function", "function": {"name": "weather"}}]
        model = GenericFakeChatModel(messages=iter(REPLIES)).bind(tools=tools)
        agent = create_react_agent(model, [weather], checkpointer=threads)
        if goes_on and (await agent.aget_state(THREAD)).next:
            await agent.ainvoke(None, THREAD)
        run.history = (await agent.ainvoke({"messages": [("user", "The weather?")]}, THREAD))["messages"]


async def go_on_first(run):
    await main(run, goes_on=True)


resume = main
continued = Program(go_on_first, resume=go_on_first)
