"""Many users in one file: each has a memory of its own, and one can be removed with all that is stored."""

import asyncio

from umi_live import delete_user, open_memory

FILE = "tenants.db"
SAID = {"ann": "I live in Porto.", "bob": "I live in Bern.", "cem": "I live in Izmir."}


async def serve(user, text):
    async with open_memory(FILE, user=user, agent="helper") as memory:
        await memory.remember(text)
        return [hit.content for hit in await memory.recall("Where do I live?")]


async def main():
    found = await asyncio.gather(*(serve(user, text) for user, text in SAID.items()))
    print(*zip(SAID, found, strict=True), sep="\n")
    await delete_user(FILE, "bob")
    async with open_memory(FILE, user="bob", agent="helper") as memory:
        print("of bob there are", await memory.count())


asyncio.run(main())
