"""An agent of openai-agents with a tool, whose session is on SQLite: openai_agents_session:main."""

from agents import Agent, ModelResponse, Runner, SQLiteSession, Usage, function_tool, set_tracing_disabled
from agents.models.interface import Model
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage

from umi_sim.programs import service

set_tracing_disabled(True)
CALL = {"type": "function_call", "name": "weather", "arguments": '{"city": "Bern"}'}
TEXT = {"type": "output_text", "text": "It is sunny.", "annotations": []}
TOLD = {"type": "message", "id": "1", "role": "assistant", "status": "completed", "content": [TEXT]}


class Scripted(Model):
    """Calls the tool when a user asks, and answers when it has the result."""

    stream_response = None

    @service(errors="openai")
    async def get_response(self, system_instructions, input, *args, **kwargs):
        is_asked = input[-1].get("role") == "user"
        call = ResponseFunctionToolCall(**CALL, call_id=f"call-{len(input)}")
        reply = call if is_asked else ResponseOutputMessage(**TOLD)
        return ModelResponse(output=[reply], usage=Usage(), response_id=None)


@function_tool
@service
async def weather(city: str) -> str:
    return f"{city}: sunny"


async def main(run, question="How is the weather in Bern?"):
    session = SQLiteSession("1", run.folder / "sessions.db")
    await Runner.run(Agent(name="a", model=Scripted(), tools=[weather]), question, session=session)
    run.history = await session.get_items()


resume = main
