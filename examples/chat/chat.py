"""A chat agent that remembers what you tell it, on disk: end it, begin it again, and it still knows.

python chat.py                                       without a key: it tells what it remembers
CHAT_MODEL=https://api.openai.com/v1#gpt-4o-mini CHAT_KEY=... python chat.py
"""

import asyncio
import os
import sys

from umi_live import Hits, LiveError, LiveMemory, ServiceFailed, open_memory
from umi_live.openai import ChatModel

FILE = os.environ.get("CHAT_FILE", "chat.db")
USER = os.environ.get("CHAT_USER", "Ann")
MODEL = os.environ.get("CHAT_MODEL")
KEY = os.environ.get("CHAT_KEY")
TURNS_MAX = 10


async def answer(said: str, hits: Hits, memory: LiveMemory, turns: list[tuple[str, str]]) -> str:
    known = "\n".join(f"- {hit.name}: {hit.content}" for hit in hits)
    if not isinstance(memory.model, ChatModel):
        return f"I remember:\n{known}" if hits else "I know nothing of that yet."
    talk = "\n".join(f"{role}: {text}" for role, text in turns)
    prompt = f"{await memory.render()}\nYou remember:\n{known}\n\n{talk}\nuser: {said}\nassistant:"
    return await memory.model.ask("chat", prompt, timeout_ms=60_000)


async def chat() -> None:
    turns: list[tuple[str, str]] = []
    async with open_memory(FILE, user=USER, agent="chat", model=MODEL, key=KEY) as memory:
        print(f"{await memory.count()} things are known. Say something; an empty line ends it.")
        while said := (await asyncio.to_thread(sys.stdin.readline)).strip():
            hits = await memory.recall(said, turns=turns, limit=5)
            try:
                reply = await answer(said, hits, memory, turns)
            except ServiceFailed as failed:
                reply = f"(The model did not answer: {failed}.)"
            print(reply)
            if not said.endswith("?"):
                await memory.remember(said, speaker=USER)
            turns = [*turns, ("user", said), ("assistant", reply)][-TURNS_MAX:]


if __name__ == "__main__":
    try:
        asyncio.run(chat())
    except LiveError as error:
        sys.exit(f"chat: {error}")
