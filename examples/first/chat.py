"""A chat that still knows what you said in the next process. A model answers if you set CHAT_MODEL to
https://HOST/v1#MODEL, and CHAT_KEY; else it shows what it remembers."""

import asyncio
import os
import sys

from umi_live import ServiceFailed, open_memory

MODEL = os.environ.get("CHAT_MODEL")


async def chat():
    key = os.environ.get("CHAT_KEY")
    async with open_memory("chat.db", user="Ann", agent="chat", model=MODEL, key=key) as memory:
        while said := (await asyncio.to_thread(sys.stdin.readline)).strip():
            known = "\n".join(f"- {hit.content}" for hit in await memory.recall(said, limit=5))
            reply = known or "I know nothing of that yet."
            if MODEL:
                prompt = f"{await memory.render()}\nYou remember:\n{known}\n\nuser: {said}\nassistant:"
                try:
                    reply = await memory.model.ask("chat", prompt, timeout_ms=60_000)
                except ServiceFailed as failed:
                    reply = f"(The model did not answer: {failed}.)"
            print(reply)
            if not said.endswith("?"):
                await memory.remember(said)


asyncio.run(chat())
