"""Goal: a file of an older release is upgraded when it is opened, and every statement in it is found.

`release-92c6eeed.db.gz` was written by that release: two users, texts that were remembered, memorized and
forgotten, categories, groups, a session, an archival record, entries in core. `release-92c6eeed.json` has
each line of it by user: "now" if an entity had it, "before" if only older versions had it.
"""

import asyncio
import gzip
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")

import apsw
import msgpack

from umi_core.conditions import filter_of
from umi_core.ids import entity_id, fact_id, relation_id
from umi_core.policies.term_scores import count_terms
from umi_core.rows import (
    Ended,
    Entity,
    Reflection,
    Resource,
    fact_of,
)
from umi_core.text import norm
from umi_core.values import Scope
from umi_live import LiveMemory, StoreError, open_memory
from umi_live.columns import body_of, cap_count, token
from umi_live.command import main
from umi_live.doctor import examine_file
from umi_live.schema import VERSION, OpenOptions
from umi_live.sqlite import SqliteStorage
from umi_live.upgrade import ScopeRows, ScopeUpgrade, id_of_old_entity

HERE: Final = Path(__file__).parent
SAID: Final[dict[str, dict[str, str]]] = json.loads((HERE / "release-92c6eeed.json").read_text())
ANN: Final = Scope("ann", "helper")
NUTS, MIA, PARIS = ("Alice is allergic to nuts.", "Alice has a daughter called Mia.", "Alice lives in Paris.")
NOTE: Final = "The gate code is 4711.\nThe alarm code is 1174."
HOLDER: Final = """
import fcntl, sys
with open(sys.argv[1], "r+") as file:
    fcntl.lockf(file, fcntl.LOCK_EX, 1, 7)
    print("held", flush=True)
    input()
"""
Use = Callable[[LiveMemory], Awaitable[Any]]


@pytest.fixture
def old_file(tmp_path: Path) -> Path:
    path = tmp_path / "agent.db"
    path.write_bytes(gzip.decompress((HERE / "release-92c6eeed.db.gz").read_bytes()))
    return path


def inside(path: Path, use: Use, user: str = "ann", *, read_only: bool = False) -> Any:
    async def used() -> Any:
        async with open_memory(path, user=user, agent="helper", read_only=read_only) as memory:
            return await use(memory)

    return asyncio.run(used())


async def bodies(memory: LiveMemory, *kinds: str) -> list[Any]:
    return [row.body async for row in memory.rows(kinds)]


def dump(path: Path) -> list[Any]:
    """Return all that the file holds, without the rows that each opening writes."""
    connection = apsw.Connection(str(path))
    tables = ("scope", "receipt", "row where kind <> 'epoch'", "tie") if tie_count(connection) else ("row",)
    found = [list(connection.execute(f"select * from {table}")) for table in tables]
    connection.close()
    return found


def tie_count(connection: apsw.Connection) -> int:
    sql = "select count(*) from sqlite_schema where name = 'tie'"
    return int(connection.execute(sql).get)


def name_of(user: str) -> str:
    return user


@pytest.mark.parametrize("user", SAID, ids=name_of)
def test_every_line_is_found_by_its_words_or_has_ended(old_file: Path, user: str) -> None:
    async def use(memory: LiveMemory) -> None:
        ended = [it.fact for it in await bodies(memory, "ended")]
        past = {norm(line) for fact in ended for line in fact.content.split("\n")}
        for line, when in SAID[user].items():
            hits = [hit.content for hit in await memory.recall(line, limit=20)]
            is_found = any(norm(line) in map(norm, content.split("\n")) for content in hits)
            assert is_found or (norm(line) in past and when == "before"), line
        for fact in ended:
            if fact.about:
                assert fact in [it.fact for it in await memory.history(*fact.about) if isinstance(it, Ended)]

    inside(old_file, use, user)


def test_the_upgraded_file_is_sound_and_upkeep_makes_what_is_lacking(old_file: Path) -> None:
    storage = SqliteStorage(str(old_file))
    lines, damaged_count = examine_file(storage)
    assert (damaged_count, storage.connection.pragma("user_version")) == (0, VERSION)
    assert not any(word in " ".join(lines) for word in ("version", "given", "tombstone"))
    storage.close()

    async def use(memory: LiveMemory) -> None:
        for _ in range(200):
            facts = await bodies(memory, "entity")
            if not any(fact.vector_missing for fact in facts):
                break
            await asyncio.sleep(0.05)
        vectors = {it.entity_id: it.version for it in await bodies(memory, "vector")}
        assert {fact.id: vectors.get(fact.id) for fact in facts} == {fact.id: 1 for fact in facts}

    inside(old_file, use)


def test_terms_are_those_of_facts_that_are_written_today(old_file: Path) -> None:
    connection = SqliteStorage(str(old_file)).connection
    rows: list[Any] = connection.execute(
        "select number, scope, body, term_count from row where kind = 'entity'"
    ).fetchall()
    indexed = connection.execute("select rowid from word order by rowid").fetchall()
    assert indexed == sorted((number,) for number, *_ in rows) != []
    for number, scope, data, term_count in rows:
        fact = body_of(data, None)
        assert isinstance(fact, Entity)
        counts = count_terms(fact.name, fact.content)
        assert term_count == sum(counts.values())
        for term, count in counts.items():
            for n in {1, cap_count(count)}:
                found = connection.execute(
                    "select rowid from word where word match ?", (token(scope, term, n),)
                )
                assert (number,) in list(found)
    connection.close()


def test_a_fact_that_two_notes_ended_is_one_row(old_file: Path) -> None:
    """Notes of two memory types were two rows, and may have had a text and its sources in common."""
    connection = SqliteStorage(str(old_file)).connection
    rows = ScopeRows(connection, 1)
    fact = next(it for _, it in rows.read("entity").values() if isinstance(it, Entity) and it.sources)
    for how in ("update", "contradict"):
        rows.put("ended", fact.id, Ended(fact.id, fact, fact.id, how, 1))
    assert rows.read("ended")[fact.id] == (1, Ended(fact.id, fact, fact.id, "contradict", 1))
    ties = "select value from tie where kind = 'ended' and field = 'touches' and value in (?) and number in "
    number = "(select number from row where kind = 'ended' and id = ?)"
    assert connection.execute(ties + number, (fact.sources[0], fact.id)).fetchall() == [(fact.sources[0],)]
    connection.close()


def test_a_second_opening_changes_nothing(old_file: Path) -> None:
    SqliteStorage(str(old_file)).close()
    before = dump(old_file)
    SqliteStorage(str(old_file)).close()
    assert dump(old_file) == before


@pytest.mark.parametrize("step", ["vectors", "core", "ties"])
def test_an_upgrade_that_is_interrupted_leaves_the_file_as_it_was(
    old_file: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    before = dump(old_file)

    def die(self: ScopeUpgrade) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(ScopeUpgrade, step, die)
        with pytest.raises(KeyboardInterrupt):
            SqliteStorage(str(old_file))
    assert dump(old_file) == before
    SqliteStorage(str(old_file)).close()
    assert dump(old_file) != before


def test_a_file_that_is_only_read_has_to_be_opened_for_writing_once(
    old_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = old_file.read_bytes()
    with pytest.raises(StoreError, match="an older release wrote it; open it once where it can be written"):
        SqliteStorage(str(old_file), OpenOptions(is_read_only=True))
    monkeypatch.setattr("sys.argv", ["umi-live", "recall", "--db", str(old_file), "nuts"])
    with pytest.raises(SystemExit):
        main()
    assert "open it once where it can be written" in capsys.readouterr().err
    assert old_file.read_bytes() == before


def test_a_file_that_another_process_has_open_is_not_upgraded(old_file: Path) -> None:
    """Another process holds a claim as long as its memory is open."""
    Path(f"{old_file}-live").touch()
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, f"{old_file}-live"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        before = dump(old_file)
        with pytest.raises(StoreError, match="an older release has it open, and this one upgrades it"):
            SqliteStorage(str(old_file))
        assert dump(old_file) == before
        process.communicate(b"\n")
    SqliteStorage(str(old_file)).close()


def test_an_update_of_a_whole_text_has_ended_its_lines_and_later_ones_were_added(old_file: Path) -> None:
    async def use(memory: LiveMemory) -> None:
        alice = memory.entity_id_of("Alice")
        history = await memory.history(alice)
        past = {it.fact.content: it for it in history if isinstance(it, Ended)}
        opera, berlin = await memory.facts(alice)  # the event was before the statement
        assert [berlin.content, opera.content] == ["Alice lives in Berlin.", "Alice likes opera."]
        assert set(past) == {NUTS, MIA, PARIS}
        assert {(it.by, it.how, it.at_ms) for it in past.values()} == {
            (berlin.id, "update", berlin.created_ms)
        }
        assert {it.fact.created_ms < berlin.created_ms < opera.created_ms for it in past.values()} == {True}
        assert (berlin.importance_ppm, berlin.metadata, berlin.event_time_ms) == (
            900_000, (("by", "mail"),), None,
        )  # fmt: skip
        assert (opera.event_time_ms, opera.source) == (1_700_000_000_000, "chat")
        (tea,) = [it for it in await memory.history(memory.entity_id_of("Bob")) if isinstance(it, Ended)]
        assert (tea.fact.content, tea.how) == ("Bob likes tea.", "contradict")

    inside(old_file, use)


def test_what_was_left_out_for_lack_of_room_is_current_again(old_file: Path) -> None:
    async def use(memory: LiveMemory) -> None:
        ann = memory.entity_id_of("Ann")
        contents = [it.content for it in await memory.history(ann) if isinstance(it, Entity)]
        assert SAID["ann"]["I am allergic to peanuts."] == "before"
        assert contents[0] == "I am allergic to peanuts."
        assert len(contents) == 13
        assert [hit.content for hit in await memory.recall("peanuts")][:1] == contents[:1]

    inside(old_file, use)


def test_a_note_stays_one_statement_and_equal_ones_are_one(old_file: Path) -> None:
    async def use(memory: LiveMemory) -> None:
        key = fact_id(ANN, (), NOTE)
        note = await memory.entity(key)
        assert isinstance(note, Entity)
        assert (note.content, note.about, note.is_direct, note.memory_type) == (NOTE, (), True, "knowledge")
        assert (
            await memory.create_entity(NOTE, "knowledge", categories=["rules"])
        ).value.change == "unchanged"
        nuts = (await memory.create_entity("likes nuts", "profile")).value
        assert (nuts.id, nuts.change) == (fact_id(ANN, (), "likes nuts"), "unchanged")

    inside(old_file, use)


def test_a_fact_has_its_sources_as_far_as_the_file_has_them(old_file: Path) -> None:
    async def use(memory: LiveMemory) -> None:
        uris = {it.id: it.uri for it in await bodies(memory, "resource")}
        erin = {it.content: it for it in await memory.facts(memory.entity_id_of("Erin"))}
        sources = {text: ({uris[key] for key in it.sources}, it.is_direct) for text, it in erin.items()}
        assert sources == {
            "Erin likes tea.": ({"a", "b"}, False),
            "Erin works at Acme.": ({"a"}, True),
            "Erin has a canoe.": ({"c2"}, False),
        }
        for key, uri in uris.items():
            if uri in ("a", "c2"):
                await memory.forget_resource(key)
        remaining = [it.content for it in await memory.facts(memory.entity_id_of("Erin"))]
        assert sorted(remaining) == ["Erin likes tea.", "Erin works at Acme."]
        heidi = await memory.facts(memory.entity_id_of("Heidi"))
        assert [it.sources for it in heidi] == [("arc_000000000001",)] * 2

    inside(old_file, use)


def test_rows_name_facts_that_are_there(old_file: Path) -> None:
    async def use(memory: LiveMemory) -> None:
        facts = {it.id: it for it in await bodies(memory, "entity")}
        others = {it.id for it in await bodies(memory, "category", "resource", "subcategory", "reflection")}
        assert {it.entity_id for it in await bodies(memory, "access")} <= facts.keys()
        assert {it.entity_id for it in await bodies(memory, "vector")} <= facts.keys() | others
        memberships = await bodies(memory, "membership")
        assert {it.entity_id for it in memberships} <= facts.keys()
        for category in await bodies(memory, "category"):
            members = [it.entity_id for it in memberships if it.category_id == category.id]
            assert (category.member_count, category.summary_dirty) == (len(members), True)
            assert {key for key, _ in category.summary_sources} <= facts.keys()
            assert not {norm(line) for line in category.summary.split("\n")} & {norm(NUTS), norm(PARIS)}
        erin = [it.id for it in facts.values() if it.name == "Erin" and it.about]
        assert len([it for it in memberships if it.entity_id in erin]) >= len(erin) == 3
        counts = dict.fromkeys(facts, 0)
        for relation in await bodies(memory, "relation"):
            for key, version in (relation.source, relation.target):
                counts[key] += 1
                assert version in (0, 1)
            assert relation.id == relation_id(ANN, relation.source, relation.target, relation.kind)
        assert counts == {key: it.relation_count for key, it in facts.items()}
        entries = [entry for block in await memory.blocks() for entry in block.entries]
        assert [entry.name for entry in entries if entry.entity_id in facts] == ["Alice", "Ann", "Berlin"]
        assert all(entry.version == 1 for entry in entries)
        assert all(entry.text == facts[entry.entity_id].content for entry in entries)

    inside(old_file, use)


def test_what_was_there_before_works_as_before(old_file: Path) -> None:
    async def use(memory: LiveMemory) -> None:
        assert (await memory.remember("Alice likes opera.")).value.entities[0].change == "unchanged"
        assert (await memory.remember(PARIS)).value.entities[0].change == "created"
        (reflection,) = await bodies(memory, "reflection")
        assert isinstance(reflection, Reflection)
        (resource, *_) = [it for it in await bodies(memory, "resource") if it.session_id]
        assert isinstance(resource, Resource)
        assert (
            await memory.memorize(resource.text, uri="a", session_id=resource.session_id)
        ).value.change == ("unchanged")
        for category in await bodies(memory, "category"):
            await memory.summarise(category.name)
            await memory.evolve_category(category.name)
        alice = memory.entity_id_of("Alice")
        facts = [fact_of(it) for it in await memory.history(alice)]
        assert len(await memory.forget_all_about(alice)) == len(facts) > 4
        where = filter_of({"name__eq": "Alice"})
        assert (await memory.list("entity", where=where)).value.rows == ()
        await memory.clear()
        assert await bodies(memory, "entity", "ended", "relation", "membership", "access") == []

    inside(old_file, use)


def test_bodies_are_sound(old_file: Path) -> None:
    """In every field, as `umi_core.rows` declares it."""

    async def use(memory: LiveMemory) -> None:
        kinds = ("entity", "ended", "relation", "membership", "category", "access", "vector", "core")
        for body in await bodies(memory, *kinds):
            assert body.is_sound, body
            fact = fact_of(body)
            if fact is not None:
                names = (fact.name, *fact.others) if fact.about else ()
                about = tuple(entity_id(ANN, name) for name in names)
                assert (fact.about, fact.id) == (about, fact_id(ANN, about, fact.content))

    inside(old_file, use)


def test_a_row_that_is_damaged_stays_and_all_others_are_upgraded(old_file: Path) -> None:
    alice, erin = id_of_old_entity(ANN, "person", "Alice"), entity_id(ANN, "Erin")
    connection = apsw.Connection(str(old_file))
    connection.execute("update row set body = x'00' where kind = 'entity' and id = ?", (alice,))
    connection.close()
    storage = SqliteStorage(str(old_file))
    lines, damaged_count = examine_file(storage)
    assert (damaged_count, f"damaged  entity {alice}" in lines) == (1, True)
    storage.close()

    async def use(memory: LiveMemory) -> None:
        about_alice = await memory.history(entity_id(ANN, "Alice"))
        assert (len(about_alice), len(await memory.facts(erin))) == (0, 3)

    inside(old_file, use)


def test_rows_of_still_older_releases_have_the_defaults_of_what_came_later(old_file: Path) -> None:
    """The first entities had no memory type, no sources, and none of the lines about those."""
    erin = id_of_old_entity(ANN, "person", "Erin")
    connection = apsw.Connection(str(old_file))
    place = "kind = 'entity' and id = ?"
    found: Any = connection.execute(f"select body from row where {place}", (erin,)).fetchone()
    kind, version, tree = msgpack.unpackb(found[0])
    fields = msgpack.unpackb(tree)
    assert (kind, version, len(fields)) == ("entity", 3, 22)
    first = msgpack.packb([kind, 1, msgpack.packb(fields[:17])])
    connection.execute(f"update row set body = ? where {place}", (first, erin))
    connection.close()

    async def use(memory: LiveMemory) -> None:
        facts = await memory.facts(entity_id(ANN, "Erin"))
        rows = [(it.is_direct, it.sources, it.memory_type) for it in facts]
        assert rows == [(True, (), None)] * 3

    inside(old_file, use)
