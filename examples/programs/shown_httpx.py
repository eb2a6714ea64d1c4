"""A cancelled request leaves a client of httpx that cannot connect. On asyncio's own loop, no umi_sim."""

import asyncio

import httpx


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while not reader.at_eof():
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


async def try_cancel(url: str, turns: int) -> bool:
    """Cancel one of three requests after so many turns of the loop. Return whether the client is broken."""
    limits, timeout = httpx.Limits(max_connections=1), httpx.Timeout(5, pool=1)
    async with httpx.AsyncClient(limits=limits, timeout=timeout, trust_env=False) as client:
        requests = [asyncio.create_task(client.get(url)) for _ in range(3)]
        for _ in range(turns):
            await asyncio.sleep(0)
        requests[0].cancel()
        await asyncio.gather(*requests, return_exceptions=True)
        try:
            await client.get(url)
        except httpx.PoolTimeout:
            return True
    return False


async def main() -> None:
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # errors of the server
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    lost = [turns for turns in range(40) if await try_cancel(url, turns)]
    print(f"PoolTimeout for ever after a cancel at turn {lost} of 40")


asyncio.run(main())
