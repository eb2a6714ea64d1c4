"""Goal: a copy that SQLite leaves of a row that it has moved is found, wherever it lies in the file."""

import random
from pathlib import Path
from typing import Any, Final

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")

import apsw

from umi_core.messages.effects import Commit, Write
from umi_core.rows import Address, Body, Core, Entity, Receipt
from umi_core.values import Block, Scope
from umi_live.remains import has_remains, list_texts, pieces_of, unused_spaces
from umi_live.sqlite import SqliteStorage

LENGTHS: Final = (20, 100, 600, 1_800)
PAGE_BYTES: Final = 4_096
ROW_COUNT: Final = 30
TURN_COUNT: Final = 200
SCOPE: Final = Scope("ann", "helper")


def change_rows(connection: apsw.Connection, seed: int) -> list[str]:
    """Insert, replace and delete rows of changing length; return the texts that no row has any more."""
    chance, rows, gone = random.Random(seed), dict[int, str](), list[str]()
    connection.pragma("secure_delete", "on")
    connection.pragma("synchronous", "off")  # thousands of small transactions
    connection.execute("create table note (number integer primary key, text text)")
    for turn in range(TURN_COUNT):
        number = chance.randrange(ROW_COUNT)
        if number in rows:
            gone.append(rows.pop(number))
            if chance.random() < 0.4:
                connection.execute("delete from note where number = ?", (number,))
                continue
        rows[number] = f"<secret {turn} of {seed}>"
        text = rows[number] + "y" * chance.choice(LENGTHS)
        connection.execute("insert or replace into note values (?, ?)", (number, text))
    return gone


def test_what_secure_delete_leaves_behind_is_found_until_the_file_is_written_anew(tmp_path: Path) -> None:
    found = 0
    for seed in range(20):
        path = tmp_path / f"{seed}.db"
        connection = apsw.Connection(str(path))
        pieces = [text.encode() for text in change_rows(connection, seed)]
        is_left = any(piece in path.read_bytes() for piece in pieces)
        assert has_remains(str(path), None, PAGE_BYTES, pieces) == is_left
        found += is_left
        connection.execute("vacuum")
        assert not has_remains(str(path), None, PAGE_BYTES, pieces)
    assert found >= 2


def test_the_storage_writes_a_file_with_remains_anew(tmp_path: Path) -> None:
    """Rows that grow move others to a page of their own, and the copies stay in the page that they leave."""
    statements = list[Any]()
    for seed in range(12):
        path, chance = tmp_path / f"{seed}.db", random.Random(seed)
        storage, contents = SqliteStorage(str(path)), dict[str, str]()
        storage.connection.trace_v2(apsw.SQLITE_TRACE_STMT, statements.append)
        for turn in range(30):
            row_id = f"fct_{chance.randrange(9)}"
            if row_id in contents and chance.random() < 0.4:
                word = contents.pop(row_id).split()[0].encode()
                storage.commit(commit_of(row_id, None, turn), turn)
                assert word not in path.read_bytes(), (seed, turn)
            else:
                contents[row_id] = f"secret{seed}q{turn}z " + "tea " * chance.choice((5, 25, 150, 450))
                storage.commit(commit_of(row_id, contents[row_id], turn), turn)
        storage.close()
    assert any(it["sql"] == "vacuum" for it in statements)


def commit_of(row_id: str, content: str | None, turn: int) -> Commit:
    body = content and Entity(row_id, "note", "Ann", content, 1, 0, 0, "facts", 1, 1)
    return Commit((Write(Address(SCOPE, "entity", row_id), body or None),), (), f"key {turn}")


def test_pieces_are_of_texts_and_of_terms_and_not_of_ids() -> None:
    content = "Ann is allergic to peanuts, as she said on Monday."
    entity = Entity("fct_d771ab0c54e23f", "person", "Ann", content, 1, 0, 0, "facts", 1, 1)
    assert {*list_texts(entity)} == {"Ann", content}
    pieces = pieces_of(entity)
    assert b"Ann is aller" in pieces
    assert b"peanut".hex().encode()[-12:] in pieces  # terms are stems
    assert all(6 <= len(piece) <= 12 for piece in pieces)


@pytest.mark.parametrize(
    ("body", "texts"),
    [
        (None, set()),
        (Receipt("key", b"", b"", 1, 1), set()),
        (Core((Block("human", text="Calls herself Ann."),)), {"Calls herself Ann."}),
    ],
)
def test_texts_of_other_rows(body: Body | None, texts: set[str]) -> None:
    assert {*list_texts(body)} == texts


def test_an_empty_space_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    connection = apsw.Connection(str(path))
    connection.execute("create table note (text text); insert into note values ('one'), ('two')")
    assert list(unused_spaces(str(path), None, PAGE_BYTES)) == []
