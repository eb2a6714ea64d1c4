"""A cancelled `astream` of a RunnableParallel leaves its calls running. No umi_sim."""

import asyncio

from langchain_core.runnables import RunnableLambda, RunnableParallel

answered: list[str] = []


async def ask(question: str) -> str:
    await asyncio.sleep(0.5)
    answered.append(question)
    return question


chain = RunnableParallel(left=RunnableLambda(ask), right=RunnableLambda(ask))


async def stream() -> None:
    async for _ in chain.astream("hello"):
        pass


async def main() -> None:
    for name, work in {"ainvoke": chain.ainvoke("hello"), "astream": stream()}.items():
        answered.clear()
        try:
            await asyncio.wait_for(work, 0.1)
        except TimeoutError:
            await asyncio.sleep(1)
            print(f"{name}: {len(answered)} calls go on after the TimeoutError")


asyncio.run(main())
