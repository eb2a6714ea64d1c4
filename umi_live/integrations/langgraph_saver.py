"""LangGraph: a checkpointer on a memory: `builder.compile(checkpointer=UmiSaver(memory))`."""

from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Final

from umi_live.blocking import BlockingMemory
from umi_live.errors import needs_extra
from umi_live.integrations import records
from umi_live.memory import LiveMemory

try:
    from langgraph.checkpoint import base
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(needs_extra(error, "langgraph"), name=error.name) from None

THREADS: Final = "langgraph_threads"
Config = dict[str, Any]


class UmiSaver(base.BaseCheckpointSaver[int]):
    """Checkpoints and their writes, by thread. Each read loads all entries of a thread; each write adds one.

    A checkpoint may have up to 6.7 million bytes. `copy_thread`, `delete_for_runs` and `prune` are not
    supported. The synchronous methods need a memory of `open_blocking`.
    """

    def __init__(self, memory: LiveMemory | BlockingMemory, *, serde: Any = None) -> None:
        super().__init__(serde=serde)
        self.memory = memory

    async def read_all(self, memory: LiveMemory, config: Config | None) -> Sequence[dict[str, Any]]:
        logs = await records.read_logs(memory, tags_of(config)[0])
        return [it.value for log in logs.values() for it in log]

    async def add_checkpoint(
        self, memory: LiveMemory, config: Config, checkpoint: Any, metadata: Any, new_versions: Any
    ) -> Config:
        at, own = (*place_of(config), checkpoint["id"]), base.get_checkpoint_metadata(config, metadata)
        value = {"at": at, "parent": base.get_checkpoint_id(config), "checkpoint": self.dump(checkpoint)}
        await records.append(memory, tags_of(config), {**value, "metadata": self.dump(own)})
        return config_of(*at)

    async def add_writes(
        self, memory: LiveMemory, config: Config, writes: Any, task_id: str, task_path: str = ""
    ) -> None:
        at = (*place_of(config), config["configurable"]["checkpoint_id"])
        body = {"writes": [(channel, self.dump(value)) for channel, value in writes]}
        await records.append(memory, tags_of(config), {"at": at, "task": task_id, "path": task_path, **body})

    async def remove_thread(self, memory: LiveMemory, thread_id: str) -> None:
        await records.clear(memory, tags_of(config_of(thread_id)))

    read, aread = records.make_twins(read_all)
    put, aput = records.make_twins(add_checkpoint)
    put_writes, aput_writes = records.make_twins(add_writes)
    delete_thread, adelete_thread = records.make_twins(remove_thread)

    def get_tuple(self, config: Config) -> base.CheckpointTuple | None:
        return next(self.list(at_root(config), limit=1), None)

    async def aget_tuple(self, config: Config) -> base.CheckpointTuple | None:
        return await anext(self.alist(at_root(config), limit=1), None)

    def list(self, config: Config | None, **options: Any) -> Iterator[base.CheckpointTuple]:
        yield from self.select(self.read(config), config or config_of(""), **options)

    async def alist(self, config: Config | None, **options: Any) -> AsyncIterator[base.CheckpointTuple]:
        for found in self.select(await self.aread(config), config or config_of(""), **options):
            yield found

    def select(
        self, values: Any, config: Config, *, filter: Any = None, before: Any = None, limit: int | None = None
    ) -> Iterator[base.CheckpointTuple]:
        """Yield the matching checkpoints, the newest first."""
        wanted, end = config["configurable"], base.get_checkpoint_id(before or config_of(""))
        saved = {tuple(it["at"][::-1]): it for it in values if "checkpoint" in it}
        for (key, space, thread), it in sorted(saved.items(), key=lambda pair: pair[0], reverse=True):
            is_there = wanted.get("checkpoint_ns") in (None, space) and (not end or key < end)
            if is_there and wanted.get("checkpoint_id") in (None, "", key) and limit != 0:
                metadata = self.load(it["metadata"])
                if (filter or {}).items() <= metadata.items():
                    limit = None if limit is None else limit - 1
                    parent = config_of(thread, space, it["parent"]) if it["parent"] else None
                    writes = self.read_writes([each for each in values if each["at"] == it["at"]])
                    own, checkpoint = config_of(*it["at"]), self.load(it["checkpoint"])
                    yield base.CheckpointTuple(own, checkpoint, metadata, parent, writes)

    def read_writes(self, values: Any) -> Sequence[tuple[str, str, Any]]:
        """Return writes in the order of a run. Of repeated ones the first counts; of errors, the last."""
        found: dict[tuple[str, int], Any] = {}
        for it in values:
            for number, (channel, data) in enumerate(it.get("writes", ())):
                place = it["task"], base.WRITES_IDX_MAP.get(channel, number)
                if place[1] < 0 or place not in found:
                    found[place] = base.writes_sort_key(it["path"], *place), it["task"], channel, data
        return [(task, channel, self.load(data)) for _, task, channel, data in sorted(found.values())]

    def dump(self, value: Any) -> tuple[str, str]:
        kind, data = self.serde.dumps_typed(value)
        return kind, b64encode(data).decode()

    def load(self, data: tuple[str, str]) -> Any:
        return self.serde.loads_typed((data[0], b64decode(data[1])))


def at_root(config: Config) -> Config:
    return {"configurable": {"checkpoint_ns": "", **config["configurable"]}}


def place_of(config: Config) -> tuple[str, str]:
    return str(config["configurable"]["thread_id"]), config["configurable"].get("checkpoint_ns", "")


def config_of(thread: str, space: str | None = None, key: str | None = None) -> Config:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": space, "checkpoint_id": key}}


def tags_of(config: Config | None) -> tuple[str, ...]:
    return (f"langgraph_thread {place_of(config)[0]}", THREADS) if config else (THREADS,)
