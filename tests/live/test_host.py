"""Goal: a host performs what a memory asks, whatever its services do, and ends on request."""

import asyncio
import enum
import logging
from pathlib import Path
from typing import Any, Final

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")

from umi_core.config import Config
from umi_core.messages.requests import Memorize, Recall, Remember, Request, Set
from umi_core.migration.requests import RollBack
from umi_live import Closed, LiveMemory, RequestRefused, StoreError, delete_user, open_blocking, open_memory
from umi_live.errors import LiveError, ScopeTaken
from umi_live.local import HashEmbedder, RuleModel
from umi_live.services import at_once
from umi_live.store import Store
from umi_live.transfer import export_lines, import_rows, read_export

TOLD = '{"row_count": %d}'


class Model(RuleModel):
    """A model with a scripted reply, once for each question."""

    def __init__(self, what: str) -> None:
        self.what, self.asked = what, 0

    async def ask(self, task: str, prompt: str, timeout_ms: int) -> str:
        self.asked += 1
        if self.what == "raises":
            raise ZeroDivisionError
        if self.what == "hangs":
            await asyncio.sleep(60)
        return await super().ask(task, prompt, timeout_ms)


def open_with(path: Path | str, model: Model) -> LiveMemory:
    config = Config(model_timeout_ms=50)
    return open_memory(path, user="ann", agent="helper", model=model, config=config)


@pytest.mark.parametrize("what", ["raises", "hangs"])
def test_a_model_with_a_mistake_costs_no_text(what: str, caplog: pytest.LogCaptureFixture) -> None:
    async def live() -> None:
        model = Model(what)
        async with open_with(":memory:", model) as memory:
            result = await memory.remember("Ann likes tea.")
            assert [it.name for it in result.degraded] == ["extract:notes"]
            assert model.asked == 2
            assert [hit.content for hit in await memory.recall("tea")] == ["Ann likes tea."]

    with caplog.at_level(logging.CRITICAL):
        asyncio.run(live())


def test_a_store_with_a_mistake_ends_the_memory_and_each_waiting_request_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def live() -> None:
        async with open_with(tmp_path / "agent.db", Model("")) as memory:
            await memory.remember("Ann likes tea.")
            assert memory.store is not None
            monkeypatch.setattr(memory.store.storage, "commit_all", None)
            with pytest.raises(TypeError):
                await memory.remember("Ann likes coffee.")
            with pytest.raises(Closed):
                await memory.recall("tea")

    asyncio.run(live())
    monkeypatch.undo()
    with open_blocking(tmp_path / "agent.db", user="ann", agent="helper") as memory:
        assert [hit.content for hit in memory.recall("tea")] == ["Ann likes tea."]


def test_a_disk_that_fails_is_named_and_a_later_request_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import apsw

    def full(*_: Any) -> None:
        raise apsw.FullError("database or disk is full")

    async def live() -> None:
        async with open_with(tmp_path / "agent.db", Model("")) as memory:
            await memory.count()
            assert memory.store is not None
            with monkeypatch.context() as broken:
                broken.setattr(memory.store.storage, "_carry_out", full)
                with pytest.raises(StoreError, match=r"agent\.db: the disk is full"):
                    await memory.remember("Ann likes tea.")
            await memory.remember("Ann likes coffee.")
            assert await memory.count() == 1

    asyncio.run(live())


def test_a_memory_that_was_closed_takes_no_request_and_ends_what_was_begun() -> None:
    async def live() -> None:
        memory = open_with(":memory:", Model(""))
        async with memory:
            host = memory.host
            assert host is not None
            begun = asyncio.create_task(memory.remember("Ann likes tea."))
            await asyncio.sleep(0)
        assert (await begun).value.entities
        with pytest.raises(Closed):
            await memory.count()
        assert not host.tasks

    asyncio.run(live())


def test_a_close_that_is_cancelled_still_closes_the_services_and_the_file(tmp_path: Path) -> None:
    class Closing(Model):
        is_closed = False

        async def close(self) -> None:
            self.is_closed = True
            raise OSError("lost")

    async def live(memory: LiveMemory) -> None:
        async with memory:
            begun = asyncio.create_task(memory.remember("Ann likes tea."))
            await asyncio.sleep(0)
            asyncio.current_task().cancel()  # type: ignore[union-attr]  # there is one
        await begun

    model = Closing("hangs")
    memory = open_memory(tmp_path / "agent.db", user="ann", agent="helper", model=model)
    with pytest.raises((asyncio.CancelledError, OSError)):
        asyncio.run(live(memory))
    assert model.is_closed
    assert Store.known == {}


def test_a_listing_that_outlives_its_memory_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("umi_live.reads.PAGE_ROW_COUNT_MAX", 1)

    async def live() -> None:
        async with open_with(tmp_path / "agent.db", Model("")) as memory:
            await memory.remember("Ann likes tea. Bob likes tea.")
            entities = memory.entities()
            await anext(entities)
        with pytest.raises(Closed):
            await anext(entities)

    asyncio.run(live())


class Kind(enum.StrEnum):
    PROFILE = "profile"


WRONG: Final[dict[str, Request]] = {
    "half a character": Remember(0, "\ud800 tea"),
    "a number without end": Set(0, "k", b"v", 2**70),
    "an object": Recall(0, "tea", turns=object()),  # type: ignore[arg-type]  # that is what is wrong
    "an enumeration": Memorize(0, "Ann has a cat.", memory_types=(Kind.PROFILE,)),
    "of somebody else": RollBack(0, "blocks"),
}


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_wrong_request_is_refused_and_the_memory_goes_on(
    what: str, is_recorded: bool, tmp_path: Path
) -> None:
    record = tmp_path / "life.jsonl" if is_recorded else None
    with open_blocking(":memory:", user="ann", agent="helper", record=record) as memory:
        with pytest.raises(RequestRefused):
            memory.ask(WRONG[what], object)
        assert memory.remember("Ann likes tea.").value.entities


class Sloppy(HashEmbedder):
    async def embed(self, texts: tuple[str, ...], timeout_ms: int) -> Any:
        return [[0.5] * self.dims for _ in texts]


class Broken(RuleModel):
    async def ask(self, task: str, prompt: str, timeout_ms: int) -> str:
        return "\ud800"


class SloppyAtOnce(HashEmbedder):
    def embed_at_once(self, texts: tuple[str, ...]) -> Any:
        return [[0.5] * self.dims for _ in texts]


class BrokenAtOnce(RuleModel):
    def ask_at_once(self, task: str, prompt: str) -> str:
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("model", "embedder"), [(Broken(), Sloppy()), (BrokenAtOnce(), SloppyAtOnce())], ids=["waits", "at once"]
)
@pytest.mark.parametrize("is_recorded", [True, False])
def test_an_answer_that_is_none_is_a_mistake_of_its_service(
    is_recorded: bool,
    model: RuleModel,
    embedder: HashEmbedder,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    record = tmp_path / "life.jsonl" if is_recorded else None
    with open_blocking(
        ":memory:", user="ann", agent="helper", model=model, embedder=embedder, record=record
    ) as memory:
        result = memory.remember("Ann likes tea.")
    assert {it.name for it in result.degraded} == {"extract:notes", "embed:no_vectors"}
    assert "the model has a mistake, and counts as unavailable" in caplog.messages
    assert "the embedder has a mistake, and counts as unavailable" in caplog.messages


def test_a_subclass_with_another_ask_is_not_called_concurrently() -> None:
    assert at_once(RuleModel(), "ask_at_once") is not None
    assert at_once(HashEmbedder(), "embed_at_once") is not None
    assert at_once(Model(""), "ask_at_once") is None
    assert at_once(Sloppy(), "embed_at_once") is None


def test_a_scope_is_exported_and_imported_whole_or_not_at_all(tmp_path: Path) -> None:
    with open_blocking(tmp_path / "a.db", user="ann", agent="helper") as memory:
        memory.remember("Ann likes tea. Ann works at Acme.")
        memory.set_block("human", "Name: Ann")
    source, target = Store.open_now(tmp_path / "a.db"), Store.open_now(tmp_path / "b.db")
    head, *lines = export_lines(source.storage, memory.memory.scope)
    newer = lines[0].replace('"row": "', '"row": "AAAA')
    entity = next(line for line in lines if '"entity"' in line)
    of_another = [line.replace('"id": "fct_', '"id": "fct_0') if line == entity else line for line in lines]
    for damaged, message in (
        (lines[:-1], "cut off"), (lines[1:], "cut off"), (["{}", *lines[1:]], "no row"),
        (["x", *lines], "no JSON"), ([newer, *lines[1:]], "cannot be read"),
        (of_another, "was changed: the line of entity fct_0.* holds entity fct_"),
        (["[" * 100_000, *lines], "no JSON"),
        ([lines[0], *lines[:-1], TOLD % len(lines)], "has a row twice"),
    ):  # fmt: skip
        with pytest.raises(LiveError, match=message):
            read_export([head, *damaged])
    for wrong, message in (('"user"', "user"), ('"agent"', "agent"), ('"umi"', "no export of Umi")):
        with pytest.raises(LiveError, match=message):
            read_export([head.replace(wrong, '"whose"'), *lines])
    with pytest.raises(LiveError, match="an older release wrote the export: import it there"):
        read_export([head.replace('"version": 2', '"version": 1'), *lines])
    older = read_export([head.replace('"embedder"', '"made_by"'), *lines])
    export = read_export([head, *lines])
    assert (older.embedder, export.embedder) == (None, "hash-256:256")
    assert import_rows(target.storage, export) == len(lines) - 1
    assert list(export_lines(target.storage, export.scope)) == [head, *lines]
    with pytest.raises(LiveError, match="have a memory in this file already"):
        import_rows(target.storage, export)
    with pytest.raises(LiveError, match="no export of Umi"):
        read_export(lines)
    source.close()
    target.close()
    with open_blocking(tmp_path / "b.db", user="ann", agent="helper") as memory:
        assert [hit.name for hit in memory.recall("Where does Ann work?")][:1] == ["Ann"]
        assert "Name: Ann" in memory.render()


def test_one_user_is_deleted_down_to_the_last_byte_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    for user, agent in (("ann", "helper"), ("ann", "coach"), ("bob", "helper")):
        with open_blocking(path, user=user, agent=agent) as memory:
            memory.remember(f"{user.title()} likes zanzibar{user}.", request_key="k")
    with open_blocking(path, user="ann", agent="coach"), pytest.raises(ScopeTaken):
        asyncio.run(delete_user(path, "ann"))
    assert asyncio.run(delete_user(path, "ann")) > 6
    data = b"".join(it.read_bytes() for it in tmp_path.iterdir())
    assert b"zanzibarann" not in data
    assert b"zanzibarann".hex().encode() not in data
    assert b"zanzibarbob" in data
    with open_blocking(path, user="ann", agent="helper") as memory:
        assert (memory.count(), list(memory.recall("zanzibarann"))) == (0, [])
        assert not memory.remember("Ann likes tea.", request_key="k").value.repeated
    with open_blocking(path, user="bob", agent="helper") as memory:
        assert [it.content for it in memory.entities()] == ["Bob likes zanzibarbob."]
