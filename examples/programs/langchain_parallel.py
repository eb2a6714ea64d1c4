"""Two models of LangChain that are asked at once, as a stream: langchain_parallel:main."""

from langchain_core.runnables import RunnableLambda, RunnableParallel

from umi_sim.programs import service


@service(errors="openai")
async def model(question):
    return {"answer": question}


async def ask(question):
    return await model(question)


async def main():
    chain = RunnableParallel(left=RunnableLambda(ask), right=RunnableLambda(ask))
    assert len([part async for part in chain.astream("hello")]) == 2


async def batch():
    batch = RunnableLambda(ask).abatch_as_completed(["a", "b", "c"])
    assert len([part async for part in batch]) == 3
