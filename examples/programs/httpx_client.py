"""A client of httpx with one connection, and three concurrent requests: httpx_client:main."""

import asyncio

import httpcore
import httpx

REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Network(httpcore.AsyncMockBackend):
    """A network on which connecting takes a millisecond."""

    async def connect_tcp(self, *args, **kwargs):
        await asyncio.sleep(0.001)
        return await super().connect_tcp(*args, **kwargs)


def open_client():
    transport = httpx.AsyncHTTPTransport()
    transport._pool = httpcore.AsyncConnectionPool(network_backend=Network([REPLY] * 9), max_connections=1)
    return httpx.AsyncClient(transport=transport, timeout=httpx.Timeout(5, pool=5))


async def ask(client):
    await client.get("http://example.com/")


async def main(run):
    run.state.client = open_client()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(3):
            tasks.create_task(ask(run.state.client))


async def resume(run):
    client = getattr(run.state, "client", None) or open_client()
    await ask(client)
    await client.aclose()
