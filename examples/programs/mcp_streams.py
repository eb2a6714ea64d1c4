"""A server and a client of MCP over streams in memory: mcp_streams:main.

Whatever happens to one of two concurrent calls, the session must serve a third one.
"""

import asyncio

from mcp import Client
from mcp.server import MCPServer

from umi_sim.programs import service

server = MCPServer("weather")


@server.tool()
@service
async def weather(city: str) -> str:
    return f"{city}: sunny"


async def ask(client, city):
    result = await client.call_tool("weather", {"city": city})
    return result.content[0].text


async def main():
    async with Client(server) as client:
        async with asyncio.TaskGroup() as calls:
            for city in ("Bern", "Rome"):
                calls.create_task(ask(client, city))
        assert await ask(client, "Oslo") == "Oslo: sunny"


resume = main
