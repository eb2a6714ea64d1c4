"""A removal with fsspec goes on after its timeout. On asyncio's own loop, no umi_sim."""

import asyncio
from typing import Any

from fsspec.asyn import AsyncFileSystem

removed: list[str] = []


class Remote(AsyncFileSystem):
    """A remote file system, as those of s3fs and gcsfs are."""

    async def _expand_path(self, path: Any, **options: Any) -> Any:
        return path

    async def _rm_file(self, path: str, **options: Any) -> None:
        await asyncio.sleep(0.5)
        removed.append(path)


async def main() -> None:
    try:
        await asyncio.wait_for(Remote(asynchronous=True)._rm(["a", "b", "c"]), 0.1)
    except TimeoutError:
        before = len(removed)
        await asyncio.sleep(1)
        print(f"{before} removed before the TimeoutError, {len(removed) - before} after it")


asyncio.run(main())
