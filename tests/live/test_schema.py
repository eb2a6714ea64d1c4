"""Goal: a file that cannot be used is refused in one sentence, and nothing in it changes."""

from pathlib import Path

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")

import apsw

from umi_core.conditions import Condition
from umi_core.kelpie.rows import Archival
from umi_core.messages.effects import ByFilter, Commit, Write
from umi_core.rows import Address
from umi_core.values import Scope
from umi_live import StoreError, schema
from umi_live.schema import VERSION, open_connection
from umi_live.sqlite import SqliteStorage


def made(path: Path, *statements: str) -> bytes:
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement)
    connection.close()
    return path.read_bytes()


def test_a_new_file_is_of_this_version_and_is_opened_again(tmp_path: Path) -> None:
    for _ in range(2):
        connection = open_connection(str(tmp_path / "agent.db"))
        assert connection.pragma("user_version") == VERSION
        assert connection.pragma("journal_mode") == "wal"
        assert connection.pragma("synchronous") == 2
        connection.close()


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    before = made(path, "create table customer (name text)")
    with pytest.raises(StoreError, match=r"not a memory of Umi; name another file$"):
        open_connection(str(path))
    assert path.read_bytes() == before


def test_a_file_of_a_newer_release_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    open_connection(str(path)).close()
    before = made(path, f"pragma user_version = {VERSION + 1}")
    with pytest.raises(StoreError, match=f"newer release of Umi wrote it .version {VERSION + 1}, known"):
        open_connection(str(path))
    assert path.read_bytes() == before


def test_a_file_that_is_locked_for_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "agent.db")
    open_connection(path).close()
    holder = apsw.Connection(path)
    holder.execute("pragma locking_mode = exclusive; begin exclusive").fetchall()
    monkeypatch.setattr(schema, "BUSY_MS", 1)
    with pytest.raises(StoreError, match="another program holds it locked"):
        open_connection(path)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="does the folder exist"):
        open_connection(str(tmp_path / "nowhere" / "agent.db"))


def test_damage_is_found_when_the_file_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    open_connection(str(path)).close()
    data = bytearray(path.read_bytes())
    data[2 * 4_096 : 3 * 4_096] = b"\xff" * 4_096
    path.write_bytes(data)
    with pytest.raises(StoreError, match="damaged"):
        open_connection(str(path))


def test_a_migration_that_dies_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "agent.db"
    open_connection(str(path)).close()
    monkeypatch.setattr(schema, "VERSION", VERSION + 1)
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, "create table t (x); create nonsense"))
    with pytest.raises(StoreError, match="syntax error"):
        open_connection(str(path))
    monkeypatch.undo()
    connection = open_connection(str(path))
    assert connection.pragma("user_version") == VERSION
    assert connection.execute("select count(*) from sqlite_schema where name = 't'").fetchone() == (0,)
    connection.close()


def test_records_of_a_file_without_an_index_of_tags_are_found_by_them(tmp_path: Path) -> None:
    path, scope, key = str(tmp_path / "agent.db"), Scope("ann", "helper"), "arc_000000000001"
    storage = SqliteStorage(path)
    record = Archival(key, 1, "Ann likes tea.", ("tea",), (), 1)
    storage.commit(Commit((Write(Address(scope, "archival", key), record),), ()), 1)
    storage.connection.execute("delete from tie; pragma user_version = 4")
    storage.close()
    for _ in range(2):
        storage = SqliteStorage(path)
        found = storage.read(0, ByFilter(scope, ("archival",), (Condition("tags", "contains", "tea"),)))
        assert [row.body for row in found.rows] == [record]
        storage.close()
