"""An agent of pydantic-ai with a tool: pydantic_ai_agent:main, and :repaired, which repairs its history."""

from pydantic_ai import Agent, capture_run_messages
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart, repair_messages
from pydantic_ai.models.function import FunctionModel

from umi_sim.programs import Program, service


def answer(messages, info):
    if isinstance(messages[-1].parts[-1], ToolReturnPart):
        return ModelResponse(parts=[TextPart("It is sunny.")])
    return ModelResponse(parts=[ToolCallPart("weather", {"city": "Bern"})])


agent = Agent(FunctionModel(answer))


@agent.tool_plain
@service
async def weather(city: str) -> str:
    return f"{city}: sunny"


async def main(run):
    with capture_run_messages() as run.history:
        await agent.run("How is the weather in Bern?")


async def resume(run):
    run.history = (await agent.run("And now?", message_history=run.history)).all_messages()


async def resume_repaired(run):
    run.history = repair_messages(run.history)
    await resume(run)


repaired = Program(main, resume=resume_repaired, without=["leaks_no_task"])
