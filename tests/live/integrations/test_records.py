"""Goal: what integrations keep is there complete or not at all, and in no file once it is removed."""

import asyncio
import importlib
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")

from umi_live import LiveError, LiveMemory, RequestRefused, open_blocking, open_memory
from umi_live.integrations import records

LOG = ("log a", "logs")
EXTRAS = {
    "langgraph_saver": ("langgraph", "langgraph"),
    "langgraph_store": ("langgraph", "langgraph"),
    "llama_index": ("llama_index", "llama-index"),
    "openai_agents": ("agents", "openai-agents"),
    "pydantic_ai": ("pydantic_ai", "pydantic-ai"),
}


def use(path: Path, work: Callable[[LiveMemory], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with open_memory(path / "agent.db", user="ann", agent="helper") as memory:
            return await work(memory)

    return asyncio.run(run())


async def values_of(memory: LiveMemory, log: str = LOG[0]) -> list[Any]:
    return [it.value for it in (await records.read_logs(memory, log)).get(log, [])]


def files_of(path: Path) -> bytes:
    return b"".join(it.read_bytes() for it in path.iterdir())


@pytest.mark.parametrize(
    "value",
    [
        "\ud800 lone",
        "a\r\nb\x00\x7f\u2028",
        " " * 300_000,
        "é\U0001f375" * 100_000,
        {"a": [1, None, 2.5, True]},
    ],
    ids=["surrogate", "controls", "blanks", "long", "json"],
)
def test_every_value_comes_back_as_it_was(value: object, tmp_path: Path) -> None:
    use(tmp_path, lambda memory: records.append(memory, LOG, value))
    assert use(tmp_path, values_of) == [value]


def test_logs_are_found_by_either_tag_and_end_alone(tmp_path: Path) -> None:
    async def work(memory: LiveMemory) -> None:
        for name in ("log a", "log b", "log a"):
            await records.append(memory, (name, "logs"), name)
        assert {name: len(log) for name, log in (await records.read_logs(memory, "logs")).items()} == {
            "log a": 2,
            "log b": 1,
        }
        assert await records.clear(memory, LOG) is True
        assert await records.clear(memory, LOG) is False
        assert list(await records.read_logs(memory, "logs")) == ["log b"]
        assert len(await records.list_records(memory, "logs")) == 1

    use(tmp_path, work)


def test_what_is_too_long_is_refused_with_its_size_and_nothing_is_written(tmp_path: Path) -> None:
    async def work(memory: LiveMemory) -> None:
        with pytest.raises(LiveError, match="has 9000002 bytes as JSON; at most 8999910 can be kept"):
            await records.append(memory, LOG, "x" * 9_000_000)
        with pytest.raises(RequestRefused, match=r"tags: \('log xxx.* of 1 to 256 bytes"):
            await records.append(memory, ("log " + "x" * 300,), "x")
        assert await values_of(memory) == []

    use(tmp_path, work)


def test_a_value_that_was_never_finished_is_not_there_and_is_swept(tmp_path: Path) -> None:
    """As after a process that died between the parts of a long value, and between a value and the old one."""

    async def work(memory: LiveMemory) -> None:
        await records.append(memory, LOG, "old")
        await records.add(memory, "+rest", LOG, {"+": ""})
        assert await values_of(memory) == ["old"]
        await records.add(memory, '"new"', LOG, {"drops": records.ALL})
        assert await values_of(memory) == ["new"]
        [head] = (await records.read_logs(memory, LOG[0]))[LOG[0]]
        await records.append(memory, LOG, "newest", drops=head.ids[0])
        assert await values_of(memory) == ["newest"]
        assert len(await records.list_records(memory, LOG[0])) == 1

    use(tmp_path, work)


def test_an_end_that_was_interrupted_shows_nothing_of_the_log(tmp_path: Path) -> None:
    async def work(memory: LiveMemory) -> None:
        for number in range(3):
            await records.append(memory, LOG, number)
        await records.add(memory, "null", LOG, {"drops": records.ALL, "empty": ""})
        assert await values_of(memory) == []
        await records.delete(memory, [(await records.list_records(memory, LOG[0]))[0].id])
        await records.append(memory, LOG, "begun anew")
        assert await values_of(memory) == ["begun anew"]
        await records.clear(memory, LOG)
        assert await records.list_records(memory, LOG[0]) == []

    use(tmp_path, work)


@pytest.mark.parametrize("drops", [records.ALL, ""])
@pytest.mark.parametrize("remove", [records.clear, records.pop_item])
def test_what_was_replaced_is_not_back_once_its_successor_is_removed(
    drops: str, remove: Callable[..., Awaitable[Any]], tmp_path: Path
) -> None:
    """A process died between the new value and the removal of the old one, which the new one drops."""

    async def work(memory: LiveMemory) -> None:
        await records.append(memory, LOG, ["old"])
        [head] = (await records.read_logs(memory, LOG[0]))[LOG[0]]
        await records.add(memory, '["new"]', LOG, {"drops": drops or head.ids[0]})
        assert await values_of(memory) == [["new"]]
        await remove(memory, LOG)
        assert await values_of(memory) == []
        assert await records.list_records(memory, LOG[0]) == []

    use(tmp_path, work)


def test_a_sweep_that_is_interrupted_shows_nothing_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A drops nothing, B drops A, C drops B, D drops C: with any of them deleted, D alone is there."""
    values: list[Any] = []
    delete = records.delete

    async def delete_and_look(memory: LiveMemory, ids: list[str]) -> None:
        for key in reversed(ids):
            await delete(memory, [key])
            values.append(await values_of(memory))

    async def work(memory: LiveMemory) -> None:
        await records.append(memory, LOG, "a")
        for number, value in enumerate("bcd"):
            dropped = (await records.list_records(memory, LOG[0]))[number].id
            await records.add(memory, f'"{value}"', LOG, {"drops": dropped})
        monkeypatch.setattr(records, "delete", delete_and_look)
        await records.sweep(memory, LOG[0])

    use(tmp_path, work)
    assert values == [["d"]] * 3


def test_no_file_has_what_was_removed(tmp_path: Path) -> None:
    """Also of a long value, and of an item that stood in one entry with others."""

    async def work(memory: LiveMemory) -> None:
        await records.append(memory, LOG, ["first", "secret-1" * 30_000])
        assert b"secret-1" in files_of(tmp_path)
        assert await records.pop_item(memory, LOG) == "secret-1" * 30_000
        assert b"secret-1" not in files_of(tmp_path)
        assert await records.read_items(memory, LOG[0]) == ["first"]
        assert await records.pop_item(memory, LOG) == "first"
        assert await records.pop_item(memory, LOG) is None

    use(tmp_path, work)


def test_a_list_that_goes_on_is_not_written_again(tmp_path: Path) -> None:
    async def work(memory: LiveMemory) -> list[int]:
        counts = list[int]()
        for items in (["a"], ["a", ("b", 1)], ["a", ("b", 1)], ["b"], []):
            await records.save_items(memory, LOG, items)
            counts.append(len(await records.list_records(memory, LOG[0])))
            assert await records.read_items(memory, LOG[0]) == [
                list(it) if len(it) > 1 else it for it in items
            ]
        return counts

    assert use(tmp_path, work) == [1, 2, 2, 1, 0]


class Notes:
    """Keeps notes, as an integration would."""

    def __init__(self, memory: Any) -> None:
        self.memory = memory

    async def add_to(self, memory: LiveMemory, note: str) -> None:
        await records.append(memory, LOG, [note])

    async def pop_from(self, memory: LiveMemory) -> Any:
        return await records.pop_item(memory, LOG)

    add, add_async = records.make_twins(add_to)
    pop, pop_async = records.make_twins(pop_from)


def test_changes_wait_for_each_other_and_one_that_is_cancelled_ends(tmp_path: Path) -> None:
    async def work(memory: LiveMemory) -> None:
        notes = Notes(memory)
        await notes.add_async("first")
        task = asyncio.ensure_future(notes.pop_async())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.gather(*(notes.add_async(note) for note in "abc"))
        assert await asyncio.gather(*(notes.pop_async() for _ in range(4))) == ["c", "b", "a", None]

    use(tmp_path, work)


def test_a_memory_that_is_opened_again_in_another_loop_works_there(tmp_path: Path) -> None:
    memory = open_memory(tmp_path / "agent.db", user="ann", agent="helper")

    async def add(note: str) -> None:
        async with memory:
            await asyncio.gather(Notes(memory).add_async(note), Notes(memory).add_async(note))

    asyncio.run(add("a"))
    asyncio.run(add("b"))
    assert use(tmp_path, lambda memory: records.read_items(memory, LOG[0])) == ["a", "a", "b", "b"]


def test_with_open_blocking_either_kind_of_method_works_and_else_one_of_them(tmp_path: Path) -> None:
    with open_blocking(tmp_path / "agent.db", user="ann", agent="helper") as memory:
        notes = Notes(memory)
        notes.add("a")
        asyncio.run(notes.add_async("b"))
        assert [notes.pop(), notes.pop()] == ["b", "a"]

    async def work(memory: LiveMemory) -> None:
        with pytest.raises(LiveError, match="call the asynchronous method, or open it by open_blocking"):
            Notes(memory).add("a")

    use(tmp_path, work)


@pytest.mark.parametrize("name", EXTRAS)
def test_a_framework_that_is_missing_is_named_with_its_extra(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, extra = EXTRAS[name]
    for module in [it for it in sys.modules if it.split(".")[0] == package] or [package]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, f"umi_live.integrations.{name}", raising=False)
    with pytest.raises(ModuleNotFoundError, match=rf"is not installed: pip install 'umi-sim\[{extra}\]'"):
        importlib.import_module(f"umi_live.integrations.{name}")
