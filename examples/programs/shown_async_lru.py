"""After a cancelled call a function of async-lru runs twice at once for one key. No umi_sim."""

import asyncio

from async_lru import alru_cache

running: list[str] = []


@alru_cache
async def load(key: str) -> str:
    running.append(key)
    print(f"{len(running)} run at once")
    try:
        await asyncio.sleep(1)
        return key
    finally:
        running.remove(key)
        await asyncio.sleep(0.2)  # closes a connection


async def main() -> None:
    first = asyncio.create_task(load("a"))
    await asyncio.sleep(0.1)
    first.cancel()
    await asyncio.sleep(0.1)
    second = asyncio.create_task(load("a"))
    await asyncio.sleep(0.2)  # the first ends here, and removes the entry of the second
    third = asyncio.create_task(load("a"))
    await asyncio.gather(second, third)


asyncio.run(main())
