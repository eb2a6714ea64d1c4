"""Goal: what was deleted is in no file: when that is acknowledged, after a close, and after a kill."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")

import apsw

from umi_core.kelpie import requests as api
from umi_core.messages.requests import CreateSession, Remember
from umi_core.messages.results import SessionCreated
from umi_core.rows import Category
from umi_live import InDoubt, LiveMemory, NotErased, delete_user, open_memory, schema
from umi_live.contents import import_lines, rewrite
from umi_live.sqlite import SqliteStorage
from umi_live.transfer import export_lines

ROOT: Final = Path(__file__).resolve().parents[2]
CANARY: Final = "Quagmirella"  # a name
WORDS: Final = (CANARY, "zyzzyvastew", "Wolframpudding")
STORY: Final = f"{CANARY} likes zyzzyvastew. {CANARY} works at Wolframpudding."
OTHER: Final = "Ann likes tea."
Work = Callable[[LiveMemory], Awaitable[None]]


def traces(folder: Path) -> dict[str, int]:
    """How often a canary stands in each file: as it is, in any case, and as the index of words spells it."""
    needles = [word.lower().encode() for word in WORDS]
    needles += [word.lower().encode().hex().encode()[-12:] for word in WORDS]  # beginnings are shared there
    found = {it.name: it.read_bytes().lower() for it in folder.iterdir()}
    counts = {name: sum(data.count(needle) for needle in needles) for name, data in found.items()}
    return {name: count for name, count in counts.items() if count}


async def forget(memory: LiveMemory) -> None:
    """Forget current and ended facts; a new employer has ended one."""
    texts = (STORY, f"{CANARY} likes zyzzyvastew with rice.", f"{CANARY} works at Acme.")
    results = [(await memory.remember(text)).value for text in texts]
    assert results[-1].ended
    await memory.recall(CANARY)
    for stored in [stored for it in results for stored in it.entities]:
        await memory.forget(stored.id)


async def forget_all_about(memory: LiveMemory) -> None:
    for text in ("Ann lives in Rome.", f"{CANARY} likes zyzzyvastew.", f"{CANARY} likes Wolframpudding."):
        await memory.remember(text)
    assert len(await memory.forget_all_about(memory.entity_id_of(CANARY))) == 2


async def forget_repeated_facts(memory: LiveMemory) -> None:
    """A fact that ended, is current again, and then is forgotten."""
    place = f"{CANARY} lives in Wolframpudding."
    for text in (place, f"{CANARY} lives in Rome.", place):
        await memory.remember(text)
    for name in (CANARY, "Wolframpudding", "Rome"):
        await memory.forget_all_about(memory.entity_id_of(name))


async def forget_many(memory: LiveMemory) -> None:
    results = [(await memory.remember(f"{CANARY} {n} likes zyzzyvastew {n}.")).value for n in range(20)]
    ids = {stored.id for it in results for stored in it.entities}
    await asyncio.gather(*(memory.forget(entity_id) for entity_id in sorted(ids)))


async def forget_resource(memory: LiveMemory) -> None:
    stored = (await memory.memorize(STORY)).value
    await memory.forget_resource(stored.resource_id)


async def forget_one_of_two_resources(memory: LiveMemory) -> None:
    """Forget one of two texts about the same person; the fact from the other text stays."""
    await memory.memorize("Bob likes tea. Bob lives in Lisbon.")
    stored = (await memory.memorize("Bob likes zyzzyvastew. Bob works at Wolframpudding.")).value
    await memory.forget_resource(stored.resource_id)


async def clear(memory: LiveMemory) -> None:
    await memory.remember(STORY)
    session = (await memory.ask(CreateSession(0), SessionCreated)).value.session_id
    await memory.memorize(STORY, session_id=session)
    assert CANARY in (await memory.end_session(session)).value.text
    await memory.memorize(f"{CANARY} likes zyzzyvastew with rice.", session_id=session)
    await memory.end_session(session)
    categories = (await memory.list("category")).value.rows
    summaries = [
        (await memory.summarise(it.name)).value.summary for it in categories if isinstance(it, Category)
    ]
    assert any(CANARY in text for text in summaries)
    await memory.clear()


async def delete_agent(memory: LiveMemory) -> None:
    await memory.remember(STORY)
    await memory.set_block("human", STORY)
    await memory.drive(api.AddMessages(0, ((("role", "user"), ("content", STORY)),)))
    await memory.delete_agent()
    await memory.open_agent()


async def remove_block(memory: LiveMemory) -> None:
    await memory.set_block("human", STORY)
    await memory.remove_block("human")


async def replace_block(memory: LiveMemory) -> None:
    await memory.set_block("human", STORY)
    await memory.set_block("human", "calls herself Ann")


async def delete_block(memory: LiveMemory) -> None:
    await memory.drive(api.CreateBlock(0, "notes", STORY))
    await memory.drive(api.UpdateBlock(0, "notes", f"{STORY} and more"))
    await memory.drive(api.DeleteBlock(0, "notes"))


async def delete_archival(memory: LiveMemory) -> None:
    made: Any = (await memory.ask(api.AddArchival(0, STORY, ("zyzzyvastew",), extract=True), object)).value
    await memory.drive(api.DeleteArchival(0, made.ids[0]))


async def forget_under_a_key(memory: LiveMemory) -> None:
    request = Remember(0, STORY, request_key="k1", speaker=CANARY)
    result: Any = (await memory.ask(request, object)).value
    for stored in result.entities:
        await memory.forget(stored.id, request_key=f"f{stored.id}"[:60])


DELETIONS: Final[tuple[Work, ...]] = (
    forget, forget_all_about, forget_repeated_facts,
    forget_many, forget_resource, forget_one_of_two_resources, clear, delete_agent, remove_block,
    replace_block, delete_block, delete_archival, forget_under_a_key,
)  # fmt: skip


def name_of(work: Work) -> str:
    return work.__name__


@pytest.mark.parametrize("work", DELETIONS, ids=name_of)
def test_what_was_deleted_is_in_no_file_when_that_is_acknowledged(work: Work, tmp_path: Path) -> None:
    async def live() -> None:
        async with open_memory(tmp_path / "agent.db", user="ann", agent="helper") as memory:
            await memory.remember(OTHER)
            await work(memory)
            assert traces(tmp_path) == {}
            await memory.remember("Ann likes cake.")
        assert traces(tmp_path) == {}

    asyncio.run(live())


def test_the_search_finds_what_is_there(tmp_path: Path) -> None:
    """Else the tests above would pass whatever the files hold."""

    async def live() -> None:
        async with open_memory(tmp_path / "agent.db", user="ann", agent="helper") as memory:
            await memory.remember(STORY)
            assert traces(tmp_path)
        assert traces(tmp_path)

    asyncio.run(live())


CHILD: Final = """
import asyncio, os, signal, sys
from tests.live import test_erasure
from umi_live import open_memory

async def live():
    memories = []
    for name in sys.argv[1:]:
        os.mkdir(name)
        memories.append(open_memory(f"{name}/agent.db", user="ann", agent="helper"))
        await memories[-1].__aenter__()
        await memories[-1].remember("Ann likes tea.")
        await getattr(test_erasure, name)(memories[-1])
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(live())
"""


@pytest.mark.slow
def test_a_process_that_is_killed_after_it_leaves_nothing(tmp_path: Path) -> None:
    """One process with a file for each deletion, since each process takes as long to start as all of them."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    words = [sys.executable, "-c", CHILD, *map(name_of, DELETIONS)]
    done = subprocess.run(
        words, cwd=tmp_path, env={**kept, "PYTHONPATH": str(ROOT)}, capture_output=True, timeout=60
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert {name_of(work): traces(tmp_path / name_of(work)) for work in DELETIONS} == {
        name_of(work): {} for work in DELETIONS
    }


def test_an_agent_that_is_deleted_and_closed_at_once_is_in_no_file(tmp_path: Path) -> None:
    """Its rows go in the background; a memory that is closed ends that first."""

    async def live() -> None:
        async with open_memory(tmp_path / "agent.db", user="ann", agent="helper") as memory:
            for n in range(40):
                await memory.remember(f"{CANARY} {n} likes zyzzyvastew {n}.")
            await memory.delete_agent()
        assert traces(tmp_path) == {}

    asyncio.run(live())


def test_a_user_that_is_deleted_is_in_no_file(tmp_path: Path) -> None:
    async def live() -> None:
        path = tmp_path / "agent.db"
        async with open_memory(path, user=CANARY, agent="helper") as memory:
            await memory.remember(STORY)
            await memory.set_block("human", STORY)
        await delete_user(path, CANARY)
        assert traces(tmp_path) == {}

    asyncio.run(live())


def test_a_user_who_is_deleted_and_not_erased_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "BUSY_MS", 1)
    path = tmp_path / "agent.db"

    async def live() -> None:
        async with open_memory(path, user=CANARY, agent="helper") as memory:
            await memory.remember(STORY)
        reader = apsw.Connection(str(path))
        reader.execute("begin; select count(*) from row").fetchall()
        with pytest.raises(
            NotErased, match=r"\d rows of user .* are deleted, but not erased .*: another prog"
        ):
            await delete_user(path, CANARY)
        assert traces(tmp_path)
        reader.close()
        await rewrite(path)
        assert traces(tmp_path) == {}

    asyncio.run(live())


def test_a_commit_of_unknown_outcome_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "agent.db"

    async def live() -> None:
        async with open_memory(path, user=CANARY, agent="helper") as memory:
            await memory.remember(STORY)
            assert memory.store is not None
            lines = list(export_lines(memory.store.storage, memory.scope))

        def fail(storage: SqliteStorage) -> None:
            raise apsw.IOError("disk I/O error")

        monkeypatch.setattr(SqliteStorage, "acknowledge", fail)
        for change in (delete_user(path, CANARY), import_lines(tmp_path / "new.db", lines)):
            with pytest.raises(InDoubt, match=r"the disk failed .* may have been done or not: do it again"):
                await change

    asyncio.run(live())


def test_a_reader_in_another_process_delays_it_to_the_next_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "BUSY_MS", 1)

    async def live() -> None:
        path = tmp_path / "agent.db"
        async with open_memory(path, user="ann", agent="helper") as memory:
            result = (await memory.remember(STORY)).value
            reader = apsw.Connection(str(path))
            reader.execute("begin; select count(*) from row").fetchall()
            for stored in result.entities:
                await memory.forget(stored.id)
            assert traces(tmp_path)
            reader.close()
            await memory.remember(OTHER)
            assert traces(tmp_path) == {}

    asyncio.run(live())


def test_a_file_of_a_release_that_did_not_overwrite_is_clean_once_it_is_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "agent.db"
    prepare = schema.prepare

    def as_before(connection: apsw.Connection, *rest: Any) -> None:
        prepare(connection, *rest)
        connection.pragma("secure_delete", "off")

    async def live() -> None:
        async with open_memory(path, user="ann", agent="helper") as memory:
            await memory.remember(OTHER)
            await forget(memory)

    with monkeypatch.context() as older:
        older.setattr(schema, "prepare", as_before)
        asyncio.run(live())
    assert traces(tmp_path)
    asyncio.run(rewrite(path))
    assert traces(tmp_path) == {}
