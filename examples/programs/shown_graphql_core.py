"""A query of graphql-core that is cancelled as one of its fields fails leaves the others. No umi_sim."""

import asyncio

from graphql import build_schema, graphql

SCHEMA = build_schema("type Query { answer: Int failing: Int! }")
begun: list[str] = []
ended: list[str] = []


class Root:
    async def answer(self, info: object) -> int:
        begun.append("answer")
        try:
            return await asyncio.sleep(1, 1)
        finally:
            ended.append("answer")

    async def failing(self, info: object) -> int:
        raise await asyncio.sleep(0, OSError("connection lost"))


async def try_cancel(turns: int) -> bool:
    """Cancel a query after so many turns. Return whether a field goes on."""
    begun[:] = ended[:] = []
    query = asyncio.create_task(graphql(SCHEMA, "{ answer failing }", Root()))
    for _ in range(turns):
        await asyncio.sleep(0)
    query.cancel()
    await asyncio.wait([query])
    return begun != ended


async def main() -> None:
    left = [turns for turns in range(12) if await try_cancel(turns)]
    print(f"a field goes on after a cancel at turn {left} of 12")


asyncio.run(main())
