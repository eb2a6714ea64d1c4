"""A cancelled reader of `as_generated` of aioitertools ends as if it had read all. No umi_sim."""

import asyncio
from collections.abc import AsyncIterator

from aioitertools.asyncio import as_generated


async def list_pages(source: str) -> AsyncIterator[str]:
    for number in range(5):
        await asyncio.sleep(0.2)
        yield f"{source}{number}"


async def main() -> None:
    pages = []
    async with asyncio.timeout(0.5):
        async for page in as_generated([list_pages("a"), list_pages("b")]):
            pages.append(page)
    print(f"{len(pages)} of 10 pages within half a second, and no TimeoutError")


asyncio.run(main())
