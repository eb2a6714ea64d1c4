"""A memory as a server of the Model Context Protocol: any agent that speaks it remembers and recalls here.

Law 1. Whatever calls a tool is a model: it never writes the system block (umi_core/tiers/core.py decides).

Needs the extra `mcp`: `pip install 'umi-sim[mcp]'`.
"""

from collections.abc import Awaitable, Callable
from functools import wraps
from importlib.metadata import PackageNotFoundError, version
from typing import Final, Literal, ParamSpec, TypeVar, get_args

import attrs
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from umi_core.values import BLOCK_KINDS
from umi_live.errors import LiveError
from umi_live.memory import LiveMemory

TOLD: Final = (
    "A memory of the user that outlives this conversation. Recall before you answer, remember what the user "
    "tells of themselves, and look at the blocks at the beginning."
)
P = ParamSpec("P")
T = TypeVar("T")
Line = dict[str, str | int]
Kind = Literal["persona", "human", "facts", "goals", "scratch"]
assert get_args(Kind) == BLOCK_KINDS[1:]  # all but system

READS: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)
ADDS: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)  # a newer statement takes the place of an older one, which history keeps
REPLACES: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)


def server_of(memory: LiveMemory) -> MCPServer:
    """The memory must be open as long as the server runs. What goes wrong is told as the error of a tool."""
    server: MCPServer = MCPServer("umi", instructions=TOLD, version=own_version())
    tools = Tools(memory)
    server.add_tool(told(tools.remember), annotations=ADDS)
    server.add_tool(told(tools.recall), annotations=READS)
    server.add_tool(told(tools.forget), annotations=REPLACES)
    server.add_tool(told(tools.blocks), annotations=READS)
    server.add_tool(told(tools.set_block), annotations=REPLACES)
    return server


def own_version() -> str:
    """Return the version of the installed distribution."""
    try:
        return version("umi-sim")
    except PackageNotFoundError:  # run from a checkout that was never installed
        return "0"


def told(tool: Callable[P, Awaitable[T]]) -> Callable[P, Awaitable[T]]:
    """What goes wrong is told in its sentence; anything else the client would only know as a crash."""

    @wraps(tool)
    async def called(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await tool(*args, **kwargs)
        except LiveError as error:
            raise ToolError(str(error)) from error

    return called


@attrs.frozen
class Tools:
    """What a client may call. A docstring here is what its model reads."""

    memory: LiveMemory

    async def remember(self, text: str, speaker: str | None = None) -> list[Line]:
        """Keep what a text says, for later conversations. `speaker`: who says "I" in it."""
        told = await self.memory.remember(text, speaker=speaker)
        stored: list[Line] = [
            {"id": it.id, "version": it.version, "change": it.change} for it in told.value.entities
        ]
        return stored + [{"loss": sentence} for sentence in told.losses]

    async def recall(self, query: str, limit: int = 10) -> list[Line]:
        """What is remembered about a question, the best first."""
        hits = await self.memory.recall(query, limit=limit)
        return [
            {"id": it.id, "name": it.name, "content": it.content, "score_percent": it.score_ppm // 10_000}
            for it in hits
        ]

    async def forget(self, entity_id: str) -> bool:
        """Forget one thing for good, by the id that recall gave; False if there was none."""
        return (await self.memory.forget(entity_id)).value.existed

    async def blocks(self) -> str:
        """The core of the memory: what should always be in your context."""
        return await self.memory.render("markdown")

    async def set_block(self, kind: Kind, text: str) -> str:
        """Write a block of the core, in place of what its kind held before."""
        await self.memory.set_block(kind, text)
        return await self.memory.render("markdown")
