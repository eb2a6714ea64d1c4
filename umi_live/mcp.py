"""A server of the Model Context Protocol (MCP): its tools let any agent remember and recall.

Law 1. Each call counts as the call of a model, so it cannot write the system block (umi_core/tiers/core.py).
Law 2. Over standard input, a line that is no request gets an error as its response, and the server goes on.

Needs the extra `mcp`: `pip install 'umi-sim[mcp]'`.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from typing import Any, Final, Literal, ParamSpec, TypeVar, get_args

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, ToolAnnotations
from pydantic import ValidationError

from umi_core.data import Data
from umi_core.messages.results import Hit
from umi_core.rows import Ended, Entity, fact_of
from umi_core.text import SURROGATE, show_value
from umi_core.values import BLOCK_KINDS
from umi_live.deadlines import Seconds, limit_time
from umi_live.errors import LiveError, TimedOut, own_version
from umi_live.fact_order import list_end_times
from umi_live.memory import LiveMemory, read_changes
from umi_live.transfer import read_object

INSTRUCTIONS: Final = (
    "A memory of the user that outlives this conversation. Recall before you answer, remember what the user "
    "tells of themselves, and look at the blocks at the beginning."
)
P = ParamSpec("P")
T = TypeVar("T")
Line = dict[str, str | int | list[str]]
Kind = Literal["persona", "human", "facts", "goals", "scratch"]
assert get_args(Kind) == BLOCK_KINDS[1:]  # all but system

READS: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)
ADDS: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)  # not destructive: a newer statement replaces an older one, but `history` keeps the older one
REPLACES: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)


HINTS: Final = dict[str, ToolAnnotations]()  # of each tool, in the order in which clients see the tools
Method = TypeVar("Method", bound=Callable[..., Any])


def tool(hints: ToolAnnotations) -> Callable[[Method], Method]:
    """Return a decorator that offers a method of `Tools` to clients, with these hints."""

    def offer(method: Method) -> Method:
        HINTS[method.__name__] = hints
        return method

    return offer


class StdioServer(MCPServer):
    """A server that answers unreadable lines of standard input; the library drops them, and clients wait."""

    async def run_stdio_async(self) -> None:
        server = self._lowlevel_server
        async with stdio_server() as (lines, replies), anyio.create_task_group() as group:
            forward, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
            group.start_soon(forward_messages, lines, forward, replies)
            await server.run(messages, replies, server.create_initialization_options())
            group.cancel_scope.cancel()


async def forward_messages(lines: Any, forward: Any, replies: Any) -> None:
    """Forward the messages of a client to the server, and answer each line that is none."""
    async with forward:
        async for item in lines:
            if not isinstance(item, ValidationError):
                await forward.send(item)
            elif (error := refuse_line(item)) is not None:
                await replies.send(SessionMessage(error))


def refuse_line(error: ValidationError) -> JSONRPCError | None:
    """Return the response to a line that is no message, with the id of its request; None for a blank line."""
    mistakes = error.errors(include_url=False)
    given, why = mistakes[0]["input"], mistakes[0]["msg"]
    if mistakes[0]["type"] == "json_invalid":
        code, found = PARSE_ERROR, read_object(str(given))  # also reads a lone surrogate
        half = SURROGATE.search(json.dumps(found, ensure_ascii=False))
        why = why if half is None else f"{show_value(half[0])} is half a character"
        if not str(given).strip():
            return None
    else:
        code, why = INVALID_REQUEST, "it is no message of JSON-RPC 2.0"
        found = next((it["input"] for it in mistakes if it["type"] == "missing"), {})
    number = found.get("id")
    is_id = type(number) is int or (isinstance(number, str) and not SURROGATE.search(number))
    shown = ErrorData(code=code, message=f"the line cannot be read, and nothing was changed: {why}")
    return JSONRPCError(jsonrpc="2.0", id=number if is_id else None, error=shown)


def server_of(memory: LiveMemory) -> MCPServer:
    """Return a server for a memory that stays open while the server runs."""
    return make_server(lambda: memory, str)


def make_server(
    find_memory: Callable[[], LiveMemory], describe: Callable[[LiveError], str], seconds: Seconds = None
) -> MCPServer:
    """Return a server whose tools work on the memory that `find_memory` returns at each call.

    `describe`: returns the text of an error for the client. `seconds`: the time limit of a call.
    """
    tools = Tools(find_memory)
    offered = [
        make_strict_tool(explain_errors(getattr(tools, name), describe, seconds), hints)
        for name, hints in HINTS.items()
    ]
    return StdioServer("umi", instructions=INSTRUCTIONS, version=own_version(), tools=offered)


class StrictTool(Tool):
    """A tool that describes each wrong argument in a sentence, so that the calling model can correct it."""

    async def run(self, arguments: dict[str, Any], context: Any, convert_result: bool = False) -> Any:
        try:
            self.fn_metadata.validate_arguments(arguments)
        except ValidationError as error:
            raise ToolError("; ".join(map(describe_mistake, error.errors()))) from error
        return await super().run(arguments, context, convert_result)


def describe_mistake(mistake: Any) -> str:
    """Return a sentence such as `limit: 'a' is not allowed: input should be a valid integer`."""
    name, message = ".".join(map(str, mistake["loc"])), mistake["msg"][:1].lower() + mistake["msg"][1:]
    if mistake["type"] == "missing":
        return f"{name}: is missing"
    if mistake["type"] == "extra_forbidden":
        return f"{name}: is no argument of this tool"
    return f"{name}: {show_value(mistake['input'])} is not allowed: {message}"


def make_strict_tool(function: Callable[..., Awaitable[Any]], hints: ToolAnnotations) -> Tool:
    """Return a tool that refuses unknown arguments; by default the library ignores them."""
    made = StrictTool.from_function(function, annotations=hints)
    arguments = made.fn_metadata.arg_model
    arguments.model_config["extra"] = "forbid"
    arguments.model_rebuild(force=True)
    made.parameters = arguments.model_json_schema(by_alias=True)
    return made


def explain_errors(
    method: Callable[P, Awaitable[T]], describe: Callable[[LiveError], str], seconds: Seconds
) -> Callable[P, Awaitable[T]]:
    """Return the method with a time limit; each LiveError becomes a ToolError with a sentence."""

    @wraps(method)
    async def call_tool(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            async with limit_time(method.__name__, seconds):
                return await method(*args, **kwargs)
        except TimedOut as error:
            raise ToolError(error.describe("look for it before you ask again")) from error
        except LiveError as error:
            raise ToolError(describe(error)) from error

    return call_tool


def hit_line(hit: Hit, paths: tuple[str, ...]) -> Line:
    score_percent = hit.score_ppm // 10_000
    line: Line = {"id": hit.id, "name": hit.name, "content": hit.content, "score_percent": score_percent}
    line |= {"topics": ", ".join(paths)} if paths else {}
    line |= {"agent": hit.agent} if hit.agent else {}
    line |= {"was": [content for _, content in hit.replaced]} if hit.replaced else {}
    return line | ({"then": hit.next_content} if hit.next_id else {})


def past_line(row: Entity | Ended, ends_ms: Mapping[tuple[str, int], int]) -> Line:
    """Return a fact as a line of `history`; an ended one with its end and the fact that ended it."""
    fact = fact_of(row)
    line: Line = {"id": fact.id, "content": fact.content, "time_ms": fact.time_ms}
    if not isinstance(row, Ended):
        return line
    return {**line, "ended_ms": ends_ms[row.id, fact.version], "ended_by": row.by}


class Tools(Data):
    """The tools that a client may call. The docstrings of the methods are shown to its model."""

    find_memory: Callable[[], LiveMemory]

    @property
    def memory(self) -> LiveMemory:
        return self.find_memory()

    @tool(ADDS)
    async def remember(self, text: str, speaker: str | None = None) -> list[Line]:
        """Keep what a text says, for later conversations. `speaker`: who says "I" in it, if not the user.

        Facts that it says are true no more have the change "ended".
        """
        memory = self.memory
        changes = await read_changes(memory, (await memory.remember(text, speaker=speaker)).value)
        return [
            {"id": key, "change": change, **({"name": it.name, "content": it.content} if it else {})}
            for key, change, it in changes
        ]

    @tool(READS)
    async def recall(self, query: str, limit: int = 10, shared: list[str] | None = None) -> list[Line]:
        """Find what is remembered about a question, the best first, each with the fact that was stated
        directly after it (`then`), and the categories and groups that it is in (`topics`). `shared`: other
        agents of the user that let this one read what they remember; `agent` says whose it is."""
        hits = await self.memory.recall(query, limit=limit, shared=shared or ())
        paths = await self.memory.paths_of([hit.id for hit in hits])
        return [hit_line(hit, paths[hit.id]) for hit in hits]

    @tool(READS)
    async def search(self, query: str) -> str:
        """Find more than single facts: summaries of categories, facts, and whole texts, as far as needed."""
        return (await self.memory.search(query)).value.context

    @tool(REPLACES)
    async def memorize(self, text: str, uri: str) -> str:
        """Keep a whole document, and the facts in it; the same `uri` again takes its place."""
        kept = (await self.memory.memorize(text, uri=uri)).value
        line = f"{kept.change}, {len(kept.entities)} facts read"
        only_in_text = f"; sentences only in the text, for search: {kept.uncovered_count}"
        return line + (only_in_text if kept.uncovered_count else "")

    @tool(READS)
    async def facts(self, name: str) -> list[Line]:
        """All that is true of a name now, the oldest first, each with its id; `me` is the user."""
        found = await self.memory.facts(name)
        return [{"id": it.id, "content": it.content, "time_ms": it.time_ms} for it in found]

    @tool(READS)
    async def history(self, name: str) -> list[Line]:
        """The same with what is true no more: it has `ended_ms`, and `ended_by`, the fact in its place."""
        rows = await self.memory.history(name)
        ends_ms = list_end_times(rows)
        return [past_line(row, ends_ms) for row in rows]

    @tool(READS)
    async def topics(self) -> list[Line]:
        """The categories and their groups, with what they are about and how many facts are in each."""
        found = await self.memory.topics()
        return [{"path": it.path, "facts": it.fact_count, "about": it.text} for it in found]

    @tool(READS)
    async def facts_in(self, path: str) -> list[Line]:
        """All that is true now in a category or a group, by its path, the oldest first, each with its id."""
        found = await self.memory.facts_in(path)
        return [{"id": it.id, "name": it.name, "content": it.content} for it in found]

    @tool(REPLACES)
    async def forget(self, fact_id: str) -> bool:
        """Forget one fact for good, by the id that recall gave; False if there was none."""
        return (await self.memory.forget(fact_id)).value.existed

    @tool(REPLACES)
    async def forget_all_about(self, name: str) -> int:
        """Forget all facts about a name for good, ended ones too; how many there were."""
        return len(await self.memory.forget_all_about(name))

    @tool(READS)
    async def blocks(self) -> str:
        """The core of the memory: what should always be in your context."""
        return await self.memory.render("markdown")

    @tool(REPLACES)
    async def set_block(self, kind: Kind, text: str) -> str:
        """Write a block of the core, in place of what its kind held before."""
        await self.memory.set_block(kind, text)
        return await self.memory.render("markdown")
