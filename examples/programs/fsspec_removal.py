"""The removal of many remote files with fsspec: fsspec_removal:main."""

from fsspec.asyn import AsyncFileSystem

from umi_sim.programs import service


@service
async def remove(path):
    return path


class Remote(AsyncFileSystem):
    cachable = False

    async def _expand_path(self, path, **options):
        return path

    async def _rm_file(self, path, **options):
        await remove(path)


async def main():
    await Remote(asynchronous=True)._rm(["a", "b", "c"], batch_size=2)
