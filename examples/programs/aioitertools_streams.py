"""Two streams of aioitertools that are read as one: aioitertools_streams:main."""

import asyncio

from aioitertools.asyncio import as_generated

from umi_sim.programs import ends_when_cancelled

rules = [ends_when_cancelled]


async def list_pages(source):
    for number in range(2):
        await asyncio.sleep(0.005)
        yield f"{source}{number}"


async def main(run):
    run.state.pages = [page async for page in as_generated([list_pages("a"), list_pages("b")])]
