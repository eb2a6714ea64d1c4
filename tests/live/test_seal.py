"""Goal: with a key every change that another program makes to a file is reported, and nothing else is.

The nine edits are those of agmi 0.6.3, a suite that asks whether memories of agents notice tampering.
"""

import asyncio
import itertools
import os
import random
import re
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")

import apsw
from hypothesis import settings
from msgspec import structs

from tests.live.test_command import surroundings
from tests.live.test_erasure import forget_many, forget_resource, replace_block, traces
from tests.live.test_sqlite import TwoEnds, keyed, make_commit
from tests.live.test_upgrade import HOLDER
from tests.live.test_upgrade import old_file as old_file
from umi_core.limits import RECEIPT_MS_MAX
from umi_core.messages.answers import Committed
from umi_core.messages.effects import ByFilter, ByIds, ByVector, ByWords, Commit, Expect, Write
from umi_core.rows import Address
from umi_core.values import Scope
from umi_live import Closed, FileTampered, StoreError, contents, delete_user, open_memory, schema, seal
from umi_live.anchor import LINE_BYTES, AnchorLine, SealOptions, advance_anchor, create_anchor, read_anchor
from umi_live.contents import import_lines, rewrite, seal_file, unseal_file
from umi_live.doctor import examine_file
from umi_live.schema import OpenOptions, open_connection
from umi_live.seal import TABLES
from umi_live.sqlite import SqliteStorage
from umi_live.storage import PRUNED_COUNT_MAX
from umi_live.store import Store
from umi_live.transfer import export_lines
from umi_sim.testing.conformance import HOW, run_storage_conformance

KEY: Final = b"0123456789abcdef0123456789abcdef"
ANN: Final = Scope("ann", "helper")
FACTS: Final = tuple(f"Ann likes thing{n}." for n in range(5))
PROGRAM: Final = """
import asyncio, os, sys
from umi_live import open_memory

async def live(path, agent, key, anchor):
    given = {"seal": os.fsencode(key), "seal_anchor": anchor}
    async with open_memory(path, user="ann", agent=agent, **given) as memory:
        for n in range(100_000):
            await memory.remember(f"Fact {n} is told.", extract=False, request_key=f"fact {n}")
            print(n, flush=True)

asyncio.run(live(*sys.argv[1:]))
"""
Edit = Callable[[Path], None]
OLDER_SEAL: Final = ("delete from seal", "insert into seal select * from older.seal")


async def live(path: Path, *texts: str, user: str = "ann", **given: Any) -> list[str]:
    """Remember texts, and return what is known of Ann."""
    async with open_memory(path, user=user, agent="helper", **{"seal": KEY, **given}) as memory:
        for text in texts:
            await memory.remember(text)
            await memory.set_block("human", text)
        return sorted([fact.content for fact in await memory.facts("Ann")])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file, the same before its last commits as `older.db`, and its anchor."""
    folder = tmp_path_factory.mktemp("sealed")
    path, anchor = folder / "agent.db", folder / "anchor"
    asyncio.run(live(path, "Ann lives in Rome.", *FACTS, seal_anchor=anchor))
    asyncio.run(live(path, "Ann likes cocoa.", user="bob", seal_anchor=anchor))
    shutil.copy(path, folder / "older.db")
    asyncio.run(live(path, "Ann lives in Paris.", "Ann likes thing1.", seal_anchor=anchor))
    return folder


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "copy")
    return tmp_path / "copy" / "agent.db"


@pytest.fixture
def options(path: Path) -> SealOptions:
    return SealOptions(KEY, str(path.with_name("anchor")))


def open_sealed(path: Path, options: SealOptions | None = None, **given: Any) -> SqliteStorage:
    return SqliteStorage(str(path), OpenOptions(seal=options or SealOptions(KEY), **given))


def changes_of(path: Path, options: SealOptions | None = None) -> list[str]:
    """Return what `doctor` finds."""
    storage = open_sealed(path, options, is_read_only=True, is_trusted=True)
    lines, count = examine_file(storage)
    storage.close()
    found = [line for line in lines if line.startswith(("damaged", "changed")) and "nothing" not in line]
    assert (len(found) > 0) == (count > 0)
    return found


# Edits.


FACT: Final = (
    "(select {which}(number) from row where scope = {scope} and kind = 'entity' and body is not null)"
)
VALUES: Final = "version, body, changed, type, time_ms, vector_missing, term_count, components"
NUMBERS: Final = {
    "first": FACT.format(which="min", scope=1),
    "last": FACT.format(which="max", scope=1),
    "other": FACT.format(which="max", scope=2),
}


def sql(*statements: str) -> Edit:
    """Return an edit by statements, in which {first}, {last} and {other} are facts of Ann, Ann and Bob."""

    def change(path: Path) -> None:
        connection = apsw.Connection(str(path))
        connection.execute("attach ? as older", (str(path.with_name("older.db")),))
        numbers = {name: connection.execute(f"select {it}").get for name, it in NUMBERS.items()}
        for statement in statements:
            connection.execute(statement.format(**numbers))
        connection.close()

    return change


def fact(assignment: str) -> Edit:
    """Return an edit of one column of a fact of Ann."""
    return sql(f"update row set {assignment} where number = {{first}}")


def swap(*columns: str) -> str:
    """Return a statement that exchanges columns of two facts."""
    taken = [
        f"(select {it} from row other where other.number = {{first}} + {{last}} - row.number)"
        for it in columns
    ]
    names = ", ".join(columns)
    return f"update row set ({names}) = ({', '.join(taken)}) where number in ({{first}}, {{last}})"


def replay(source: str) -> Edit:
    """Return an edit that writes all that a row holds over the last fact of Ann."""
    columns = f"{VALUES}, tag"
    found = f"(select {columns} from row where number = {source})"
    return sql(f"update row set ({columns}) = {found} where number = {{last}}")


def copy_older(path: Path) -> None:
    shutil.copy(path.with_name("older.db"), path)


def put_back(table: str, where: str) -> Edit:
    """Return an edit that puts rows of a table back as they were, with their tags."""
    return sql(
        f"delete from {table} where {where}", f"insert into {table} select * from older.{table} where {where}"
    )


FORGED: Final = (
    f"insert into row select {{last}} + 100, scope, kind, 'fct_forged', {VALUES}, %s from row"
    " where number = {last}"
)
NOT_AS_WRITTEN: Final = r"(entity|ended) fct_\w+ of user 'ann', agent 'helper' was changed by another program"
NO_SEAL: Final = "its seal was taken away; restore the file from a copy"
BAD_SEAL: Final = "this is not its key, or its seal was changed"
COUNTED: Final = "it has [0-9]+ rows, and its seal counts [0-9]+"

NINE: Final[Mapping[str, tuple[Edit, str]]] = {
    "tamper": (fact("body = cast(replace(body, 'likes', 'hates') as blob)"), NOT_AS_WRITTEN),
    "truncate": (sql("delete from row where number > {last} - 2"), COUNTED),
    "delete_middle": (sql("delete from row where number = {first}"), COUNTED),
    "reorder": (sql(swap("body")), NOT_AS_WRITTEN),
    "forge": (sql(FORGED % "null"), "fct_forged of user 'ann', agent 'helper' was inserted by another"),
    "cross_replay": (replay("{other}"), NOT_AS_WRITTEN),
    "rollback_replay": (replay("{first}"), NOT_AS_WRITTEN),
    "metadata_tamper": (fact("time_ms = 1"), NOT_AS_WRITTEN),
    "snapshot_rollback": (copy_older, r"an older copy of the file was put in its place: its commit is \d+"),
}  # fmt: skip
MORE: Final[Mapping[str, tuple[Edit, str]]] = {
    "a row as it was before": (
        put_back("row", "kind = 'core' and scope = 1"),
        "a row was put back as it was before",
    ),
    "rows that were deleted come back": (put_back("row", "kind = 'ended'"), COUNTED),
    "a forged row with a genuine tag": (sql(FORGED % "tag"), "entity fct_forged .* was changed by another"),
    "two rows change places, tags too": (sql(swap("version", "body", "tag")), NOT_AS_WRITTEN),
    "a fact is moved to another user": (fact("scope = 2"), "of user 'bob'"),
    "users change names": (
        sql("update scope set user = user || 1", "update scope set user = iif(number = 1, 'bob', 'ann')"),
        "the scope of user 'bob', agent 'helper' was changed",
    ),
    "an embedder": (sql("update scope set embedder = 'other:2' where number = 1"), "the scope of user 'ann'"),
    "a version": (fact("version = version + 1"), NOT_AS_WRITTEN),
    "when it was written": (fact("changed = changed - 1"), NOT_AS_WRITTEN),
    "a vector": (
        sql("update row set components = zeroblob(256) where kind = 'vector' and scope = 1"),
        r"vector fct_\w+ .* was changed",
    ),
    "a receipt": (sql("update receipt set at_ms = at_ms + 1"), "the receipt of 'idm_.*' was changed"),
    "a receipt is gone": (sql("delete from receipt where number = 1"), COUNTED),
    "a tag": (fact("tag = randomblob(16)"), NOT_AS_WRITTEN),
    "no tag": (fact("tag = null"), "was inserted by another program"),
    "a text that is none": (fact("id = cast(x'ff' as text)"), "no UTF-8"),
    "a longer tag": (fact("tag = cast(tag || x'00' as blob)"), NOT_AS_WRITTEN),
    "all tags": (sql("update row set tag = null"), "was inserted by another program"),
    "the total": (sql("update seal set total = randomblob(32)"), BAD_SEAL),
    "the count": (sql("update seal set row_count = row_count - 1"), BAD_SEAL),
    "the number": (sql("update seal set number = number + 100"), BAD_SEAL),
    "the salt": (sql("update seal set salt = randomblob(16)"), BAD_SEAL),
    "the nonce": (sql("update seal set nonce = randomblob(16)"), BAD_SEAL),
    "the tag of the seal": (sql("update seal set tag = randomblob(16)"), BAD_SEAL),
    "an older seal": (sql(*OLDER_SEAL), "an older copy of the file"),
    "two seals": (sql("insert into seal select * from seal"), "its seal was taken away"),
    "an index": (sql("drop index row_missing"), "its tables were changed by another program"),
    "a trigger": (
        sql("create trigger evil after insert on receipt begin update row set body = x'00'; end"),
        "its tables were changed by another program",
    ),
}  # fmt: skip
EDITS: Final = {**NINE, **MORE}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_reported_and_nothing_is_changed(name: str, path: Path, options: SealOptions) -> None:
    change, message = EDITS[name]
    before = path.read_bytes()
    change(path)
    edited = path.read_bytes()
    assert edited != before
    for is_read_only in (False, True):
        with pytest.raises(FileTampered, match=message) as raised:
            open_sealed(path, options, is_read_only=is_read_only)
        assert "\n" not in str(raised.value)
    if name != "snapshot_rollback":
        with pytest.raises(FileTampered):
            open_sealed(path)  # without the anchor
    assert any(re.search(message, line) for line in changes_of(path, options))
    assert path.read_bytes() == edited


def test_the_whole_file_as_it_was_before_is_noticed_with_an_anchor_alone(path: Path) -> None:
    copy_older(path)
    open_sealed(path).close()
    assert changes_of(path) == []


INDEXES: Final[Mapping[str, tuple[Edit, str]]] = {
    "a fact cannot be found by its words": (
        sql("delete from word where rowid = {first}"),
        r"the words of entity fct_\w+ are not those of its index",
    ),
    "a fact is found by words that it does not have": (
        sql("insert or replace into word (rowid, words) values ({first}, '1x7a65')"),
        r"the words of entity fct_\w+ are not",
    ),
    "words of no row": (
        sql("insert into word (rowid, words) values (9999, '1x7a65')"),
        "a row that is not there",
    ),
    "a fact has no entity any more": (
        sql("delete from tie where number = {first}"),
        r"the references of entity fct_\w+",
    ),
    "a fact is about another": (
        sql("update tie set value = 'ent_x' where number = {first}"),
        r"the references of entity fct_\w+ are not",
    ),
    "references of no row": (
        sql("insert into tie values (1, 'entity', 'about', 'ent_x', 9999)"),
        "the index of references has 1 of rows that are not there",
    ),
}


@pytest.mark.parametrize("name", INDEXES)
def test_a_changed_index_is_found_by_doctor(name: str, path: Path) -> None:
    assert changes_of(path) == []
    change, message = INDEXES[name]
    change(path)
    [line] = changes_of(path)
    assert re.search(message, line)


# While the file is open.


READS: Final[Mapping[str, tuple[str, Any]]] = {
    "by id": ("tamper", lambda row_id: ByIds((Address(ANN, "entity", row_id),))),
    "by words": ("tamper", lambda _: ByWords(ANN, "thing0", (), 10, 1)),
    "by vector": ("a vector", lambda _: ByVector(ANN, (1,) * 256, (), 10, 1)),
    "in a page": ("metadata_tamper", lambda _: ByFilter(ANN, ("entity",))),
    "of another user": ("users change names", lambda _: ByFilter(ANN, ("entity",))),
    "with a genuine row of another user": ("cross_replay", lambda _: ByFilter(ANN, ("entity",))),
    "of a kind without an index": ("reorder", lambda _: ByWords(ANN, "thing0", (), 10, 1)),
}


@pytest.mark.parametrize("name", READS)
def test_a_read_of_a_row_that_was_changed_meanwhile_fails(name: str, path: Path) -> None:
    edit, make_query = READS[name]
    storage = open_sealed(path)
    [(row_id,)] = storage.connection.execute(f"select id from row where number = {NUMBERS['first']}")
    EDITS[edit][0](path)
    with pytest.raises(FileTampered):
        storage.read(0, make_query(row_id))
    storage.close()


def test_a_row_that_was_changed_after_a_search_is_not_found_by_the_next(path: Path) -> None:
    """The index knows the row, and need not read it again."""
    storage, query = open_sealed(path), ByWords(ANN, "thing0", (), 10, 1)
    assert storage.read(0, query).rows
    EDITS["tamper"][0](path)
    with pytest.raises(FileTampered, match=NOT_AS_WRITTEN):
        storage.read(0, query)
    storage.close()


def test_a_receipt_that_was_changed_meanwhile_answers_nothing(path: Path) -> None:
    storage, commit = open_sealed(path), keyed(ANN, "fct_1", "tea", "k1")
    storage.commit(commit, 1)
    sql("update receipt set body = x'00' where key = 'k1'")(path)
    with pytest.raises(FileTampered, match="the receipt of 'k1' was changed by another program"):
        storage.commit(commit, 1)
    storage.close()


def test_a_commit_over_a_row_that_was_changed_meanwhile_fails_alone(path: Path) -> None:
    """The commits of other memories that wait with it are done."""
    store = Store.open_now(path, seal=SealOptions(KEY))
    [(row_id,)] = store.storage.connection.execute(f"select id from row where number = {NUMBERS['first']}")
    EDITS["tamper"][0](path)
    answers = list[Any]()
    sound = keyed(Scope("bob", "helper"), "fct_1", "tea", "k1")
    over = Commit((Write(Address(ANN, "entity", row_id), None),), ())
    expecting = structs.replace(
        make_commit(ANN, "fct_2", "tea"), expects=(Expect(Address(ANN, "entity", row_id), 1),)
    )
    for commit in (sound, over, expecting):
        store.commits.append((commit, answers.append))
    store.thread.submit(store._flush).result()
    assert [type(answer) for answer in answers] == [Committed, FileTampered, FileTampered]
    store.close()


@pytest.mark.parametrize("statement", ["delete from seal", "update seal set number = 1", "older"])
def test_a_commit_into_a_file_whose_seal_was_changed_meanwhile_fails(statement: str, path: Path) -> None:
    storage = open_sealed(path)
    change = (
        sql("delete from row", "insert into row select * from older.row", *OLDER_SEAL)
        if statement == "older"
        else sql(statement)
    )
    change(path)
    rows = storage.connection.execute("select count(*) from row").get
    with pytest.raises(FileTampered):
        storage.commit(make_commit(ANN, "fct_1", "tea"), 1)
    assert storage.connection.execute("select count(*) from row").get == rows
    storage.close()


def test_a_memory_that_reads_a_changed_row_says_so_and_is_closed(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def use() -> None:
        async with open_memory(path, user="ann", agent="helper", seal=KEY) as memory:
            EDITS["tamper"][0](path)
            with pytest.raises(FileTampered, match=NOT_AS_WRITTEN):
                await memory.recall("thing0")
            with pytest.raises(Closed):
                await memory.recall("thing0")

    asyncio.run(use())
    assert caplog.records == []


def test_a_trigger_in_the_file_does_not_run_with_the_functions_of_the_seal(path: Path) -> None:
    """A trigger that another program stores would make the seal sign the rows that the trigger writes."""
    storage = open_sealed(path)
    EDITS["a trigger"][0](path)
    storage.commit(keyed(ANN, "fct_1", "tea", "k1"), 1)
    assert storage.connection.execute("select count(*) from row where body = x'00'").get == 0
    storage.close()


# No false alarm.


@pytest.mark.slow
def test_a_sealed_file_keeps_the_contract_of_a_storage(tmp_path: Path) -> None:
    """Each crash opens the file again, which compares all rows."""
    paths = (str(tmp_path / f"{number}.db") for number in itertools.count())
    sealed = partial(SqliteStorage, options=OpenOptions(seal=SealOptions(KEY)))
    run_storage_conformance(lambda: TwoEnds(next(paths), sealed), settings(HOW, max_examples=8))


@pytest.mark.slow
def test_thousands_of_random_commits_leave_a_sound_file(tmp_path: Path) -> None:
    """With keys that are used again after a day, rows that come back, and users who go."""
    path, options, chance = (
        tmp_path / "agent.db",
        SealOptions(KEY, str(tmp_path / "anchor")),
        random.Random(1),
    )
    storage, now_ms, bodies = (
        open_sealed(path, options),
        1,
        [make_commit(ANN, "x", text).writes[0].body for text in FACTS],
    )
    for number in range(2_000):
        scope, now_ms = (
            Scope(chance.choice(("ann", "bob")), "helper"),
            now_ms + chance.choice((1, 1, RECEIPT_MS_MAX // 50)),
        )
        ids = chance.sample([f"fct_{n}" for n in range(30)], chance.randrange(1, 4))
        writes = tuple(Write(Address(scope, "entity", it), chance.choice((None, *bodies))) for it in ids)
        storage.commit(Commit(writes, (), f"key {chance.randrange(200)}"), now_ms)
        if number % 200 == 199:
            storage.adopt(scope, f"hash:{number}")
            if number % 600 == 599:
                contents.delete_rows_of_user(storage, "bob")
            storage.close()
            assert changes_of(path, options) == []
            storage = open_sealed(path, options)
    storage.close()


def test_a_receipt_that_takes_the_place_of_an_old_one_is_counted_once(tmp_path: Path) -> None:
    """After a day there are more old ones than a commit deletes, and one of them has the same key."""
    storage = open_sealed(tmp_path / "agent.db")
    storage.commit_all([keyed(ANN, "fct_1", "tea", f"k{n}") for n in range(PRUNED_COUNT_MAX + 2)], 1)
    storage.commit(keyed(ANN, "fct_1", "tea", f"k{PRUNED_COUNT_MAX + 1}"), RECEIPT_MS_MAX + 1)
    storage.close()
    assert changes_of(tmp_path / "agent.db") == []


@pytest.mark.slow
def test_a_memory_at_work_leaves_a_sound_file(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"

    async def use() -> None:
        async with open_memory(path, user="ann", agent="helper", seal=KEY) as memory:
            await asyncio.gather(*(memory.remember(f"Ann likes thing{n}.") for n in range(20)))
            await memory.memorize("Ann works at Acme. Bob lives in Rome.", uri="notes")
            await memory.memorize("Ann works at Globex.", uri="notes")
            await memory.set_block("human", "calls herself Ann")
            await memory.forget_all_about(memory.entity_id_of("Ann"))
            await memory.recall("Bob")
            await memory.clear()
            await memory.remember("Ann likes tea.")

    asyncio.run(use())
    assert changes_of(path) == []


@pytest.mark.slow
def test_what_is_forgotten_is_in_no_file(tmp_path: Path) -> None:
    """A row is written again when it gets its tag, and leaves nothing where it was."""

    async def use() -> None:
        async with open_memory(tmp_path / "agent.db", user="ann", agent="helper", seal=KEY) as memory:
            for work in (forget_many, forget_resource, replace_block):
                await work(memory)
                assert traces(tmp_path) == {}

    asyncio.run(use())
    assert traces(tmp_path) == {}


@pytest.mark.slow
def test_what_concerns_the_whole_file_keeps_the_seal(
    path: Path, options: SealOptions, tmp_path: Path
) -> None:
    """The file anew, without a user, out of an export, as a copy."""
    asyncio.run(rewrite(path, options))
    assert changes_of(path, options) == []
    assert asyncio.run(delete_user(path, "bob", KEY, options.anchor)) > 0
    storage = open_sealed(path, options)
    assert storage.seal is not None
    assert storage.seal.last.number == newest(options)
    lines = list(export_lines(storage, ANN))
    storage.connection.execute("vacuum into ?", (str(tmp_path / "copy.db"),))
    storage.close()
    assert asyncio.run(import_lines(tmp_path / "new.db", lines, SealOptions(KEY)))[0] == ANN
    for each in (path, tmp_path / "copy.db", tmp_path / "new.db"):
        assert changes_of(each) == []
        assert asyncio.run(live(each)) == asyncio.run(live(path))


def test_a_migration_seals_what_it_writes(
    path: Path, options: SealOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = "alter table row add column more integer; update row set more = 1"
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, later))
    with pytest.raises(StoreError, match="is sealed; open it with its key"):
        SqliteStorage(str(path))
    open_sealed(path, options).close()
    assert changes_of(path, options) == []
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, "create table one_more (x)"))
    fact("more = 2")(path)
    with pytest.raises(FileTampered, match=NOT_AS_WRITTEN):
        open_sealed(path, options)


@pytest.mark.slow
def test_a_file_of_an_older_release_is_sealed(old_file: Path) -> None:
    with pytest.raises(StoreError, match="is not sealed"):
        open_sealed(old_file)
    seal_file(str(old_file), SealOptions(KEY))
    assert changes_of(old_file) == []
    asyncio.run(live(old_file, "Ann likes tea."))
    assert changes_of(old_file) == []


@pytest.mark.slow
def test_processes_that_share_a_file_and_are_killed_leave_it_sound(tmp_path: Path) -> None:
    path, options = tmp_path / "agent.db", SealOptions(KEY, str(tmp_path / "anchor"))
    chance = random.Random(1)
    for _ in range(2):
        children = [
            subprocess.Popen(
                [sys.executable, "-c", PROGRAM, str(path), agent, KEY, str(options.anchor)],
                stdout=subprocess.PIPE,
                env=surroundings(),
            )
            for agent in ("one", "two")
        ]
        for child in children:
            assert child.stdout is not None
            child.stdout.readline()
        time.sleep(chance.random() / 5)
        for child in children:
            child.kill()
            child.communicate()
        assert changes_of(path, options) == []


# A key, and a seal for a file.


def test_each_mismatch_of_key_and_file_is_one_clear_error(path: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain.db"
    SqliteStorage(str(plain)).close()
    asyncio.run(live(plain, "Ann likes tea.", seal=None))
    before = path.read_bytes(), plain.read_bytes()
    for read_only in (False, True):
        for file, given, message in (
            (path, {"seal": None}, "agent.db: is sealed; open it with its key"),
            (path, {"seal": KEY[::-1]}, "agent.db: this is not its key, or its seal was changed"),
            (path, {"seal": b"short"}, "a seal needs a key of at least 32 bytes, and this one has 5"),
            (path, {"seal": None, "seal_anchor": "a"}, "a: an anchor needs the key of the seal"),
            (path, {"seal_anchor": tmp_path / "no"}, "no: is not there; `umi-live seal` writes it"),
            (path, {"seal_anchor": tmp_path / "no" / "no"}, "no: is not there; `umi-live seal` writes it"),
            (path, {"seal_anchor": tmp_path}, ": Is a directory"),
            (plain, {}, "plain.db: is not sealed; `umi-live seal` seals it"),
        ):
            with pytest.raises(StoreError, match=re.escape(message) + "$"):
                asyncio.run(live(file, read_only=read_only, **given))
    assert before == (path.read_bytes(), plain.read_bytes())


def test_one_file_has_one_key_in_a_process(path: Path) -> None:
    store = Store.open_now(path, seal=SealOptions(KEY))
    others = (None, SealOptions(KEY[::-1] + b"x"), SealOptions(KEY, str(path.with_name("anchor"))))
    for other in others:
        with pytest.raises(StoreError, match="open in this process with another key or anchor, or without"):
            Store.open_now(path, seal=other)
    assert KEY.decode() not in repr(SealOptions(KEY))
    with pytest.raises(StoreError, match="a memory of it is open; close it first"):
        unseal_file(str(path))
    store.close()


def test_a_file_that_another_process_has_open_is_neither_sealed_nor_unsealed(path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, f"{path}-live"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        for act in (partial(unseal_file, str(path)), partial(seal_file, str(path), SealOptions(KEY))):
            with pytest.raises(StoreError, match=r"agent\.db: a memory of it is open; close it first"):
                act()
        process.communicate(b"\n")
    assert changes_of(path) == []
    unseal_file(str(path))
    assert asyncio.run(live(path, seal=None)) != []


def test_a_file_that_is_sealed_meanwhile_takes_no_commit_without_the_key(tmp_path: Path) -> None:
    """Its rows would have no tags."""
    path = tmp_path / "agent.db"
    storage = SqliteStorage(str(path))
    seal_file(str(path), SealOptions(KEY))
    with pytest.raises(StoreError, match="is sealed; open it with its key"):
        storage.commit(make_commit(ANN, "fct_1", "tea"), 1)
    storage.close()
    assert changes_of(path) == []


@pytest.mark.slow
def test_a_seal_comes_off_and_on_again(path: Path, options: SealOptions) -> None:
    facts = asyncio.run(live(path, seal_anchor=options.anchor))
    EDITS["no tag"][0](path)
    unseal_file(str(path))
    assert asyncio.run(live(path, "Ann likes jam.", seal=None)) == sorted([*facts, "Ann likes jam."])
    connection = apsw.Connection(str(path))
    assert [connection.execute(f"select count(tag) from {table}").get for table in TABLES] == [0, 0, 0]
    connection.close()
    with pytest.raises(StoreError, match=r"is not sealed$"):
        unseal_file(str(path))
    for given, message in ((SealOptions(KEY), "is not sealed; `umi-live seal` seals it"), (options, NO_SEAL)):
        for is_read_only in (False, True):
            with pytest.raises(StoreError, match=message):
                open_sealed(path, given, is_read_only=is_read_only)
    with pytest.raises(
        FileTampered, match="of a file that is not there any more; restore that file, or name"
    ):
        seal_file(str(path), options)
    other = structs.replace(options, anchor=f"{options.anchor}2")
    state = seal_file(str(path), other)
    assert (state.number, changes_of(path, other)) == (1, [])
    assert asyncio.run(live(path, seal_anchor=other.anchor)) == sorted([*facts, "Ann likes jam."])


def test_rows_of_one_file_are_worth_nothing_in_another_with_the_same_key(path: Path, tmp_path: Path) -> None:
    """Rows are alike there down to their numbers; they have other tags."""
    other = tmp_path / "other.db"
    shutil.copy(path, other)
    unseal_file(str(other))
    seal_file(str(other), SealOptions(KEY))
    shutil.copy(other, path.with_name("older.db"))
    storage = open_sealed(path)
    put_back("row", "kind = 'entity'")(path)
    with pytest.raises(FileTampered, match=NOT_AS_WRITTEN):
        storage.read(0, ByFilter(ANN, ("entity",)))
    storage.close()


# Anchors.


def newest(options: SealOptions) -> int:
    line = read_anchor(options)
    assert line is not None
    return line.number


def test_an_acknowledged_commit_is_in_the_anchor(tmp_path: Path) -> None:
    path, options = tmp_path / "agent.db", SealOptions(KEY, str(tmp_path / "anchor"))
    storage = open_sealed(path, options)
    for number in range(2, 6):
        storage.commit(make_commit(ANN, "fct_1", f"tea {number}"), 1)
        assert newest(options) == number
    storage.adopt(ANN, "hash:2")
    assert newest(options) == 6
    assert storage.seal is not None
    before = (tmp_path / "anchor").read_bytes()
    advance_anchor(options, structs.replace(storage.seal.line(), number=5))  # by a process that was slower
    assert (tmp_path / "anchor").read_bytes() == before
    assert stat.S_IMODE(os.stat(tmp_path / "anchor").st_mode) == 0o600
    storage.close()


def test_a_file_may_be_ahead_of_its_anchor_and_never_behind(
    path: Path, options: SealOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that dies between commit and anchor leaves the first, and who changes the file the second."""
    number = newest(options)

    def die(options: SealOptions, line: AnchorLine) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr(seal, "advance_anchor", die)
        storage = open_sealed(path, options)
        with pytest.raises(KeyboardInterrupt):
            storage.commit(make_commit(ANN, "fct_1", "tea"), 1)
        storage.connection.close()
    assert newest(options) == number
    open_sealed(path, options).close()
    assert changes_of(path, options) == []
    storage = open_sealed(path, options)
    storage.commit(make_commit(ANN, "fct_2", "tea"), 1)
    storage.close()
    assert newest(options) == number + 2


def test_an_anchor_that_cannot_be_written_leaves_a_commit_unknown_and_its_repetition_writes_it(
    path: Path, options: SealOptions
) -> None:
    assert options.anchor is not None
    storage, commit = open_sealed(path, options), keyed(ANN, "fct_1", "tea", "k1")
    number = newest(options)
    os.rename(options.anchor, f"{options.anchor}.away")
    with pytest.raises(apsw.IOError, match="anchor: No such file"):
        storage.commit(commit, 1)
    os.rename(f"{options.anchor}.away", options.anchor)
    assert newest(options) == number
    assert isinstance(storage.commit(commit, 2), Committed)
    assert newest(options) == number + 1
    storage.close()


def test_a_line_of_an_anchor_that_was_cut_off_leaves_the_other(path: Path, options: SealOptions) -> None:
    anchor, number = Path(options.anchor or ""), newest(options)
    data = anchor.read_bytes()
    assert len(data) == 2 * LINE_BYTES
    lines = [data[:LINE_BYTES], data[LINE_BYTES:]]
    at = [f" {number:020} ".encode() in line for line in lines].index(True)
    for place, number_left in ((at, number - 1), (1 - at, number)):
        cut = [b"\xff" * LINE_BYTES if each == place else line for each, line in enumerate(lines)]
        anchor.write_bytes(b"".join(cut))
        assert newest(options) == number_left
        open_sealed(path, options).close()
    for broken in (
        b"",
        b"x",
        b"\xff" * 2 * LINE_BYTES,
        data.replace(f" {number:020} ".encode(), f" {number + 1:020} ".encode())[LINE_BYTES * at :][
            :LINE_BYTES
        ],
    ):
        anchor.write_bytes(broken)
        with pytest.raises(FileTampered, match="anchor: is no anchor, or one of another key"):
            open_sealed(path, options)


def test_an_anchor_belongs_to_one_file(path: Path, options: SealOptions, tmp_path: Path) -> None:
    other = SealOptions(KEY, str(tmp_path / "other"))
    open_sealed(tmp_path / "other.db", other).close()
    with pytest.raises(FileTampered, match="other is the anchor of another file"):
        open_sealed(path, other)
    storage = open_sealed(path, options)
    shutil.copy(tmp_path / "other", path.with_name("anchor"))
    with pytest.raises(FileTampered, match="anchor: is the anchor of another file"):
        storage.commit(make_commit(ANN, "fct_1", "tea"), 1)
    storage.close()


def test_a_file_that_is_opened_while_another_process_commits_is_sound(
    path: Path, options: SealOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The anchor is read before the file, or it would be ahead of what was read."""
    other = open_sealed(path, options)

    def commit_and_read(options: SealOptions) -> AnchorLine | None:
        other.commit(make_commit(ANN, "fct_1", "tea"), 1)
        return read_anchor(options)

    monkeypatch.setattr(seal, "read_anchor", commit_and_read)
    open_sealed(path, options).close()
    assert changes_of(path, options) == []
    other.close()


def test_another_history_of_as_many_commits_is_noticed(
    path: Path, options: SealOptions, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    shutil.copy(path, copy)
    for file, given, content in ((copy, SealOptions(KEY), "tea"), (path, options, "jam")):
        storage = open_sealed(file, given)
        storage.commit(make_commit(ANN, "fct_1", content), 1)
        storage.close()
    shutil.copy(copy, path)
    with pytest.raises(FileTampered, match=r"its commit \d+ is another one than in its anchor"):
        open_sealed(path, options)


def test_a_file_that_is_gone_is_not_begun_anew_beside_its_anchor(path: Path, options: SealOptions) -> None:
    path.unlink()
    with pytest.raises(FileTampered, match=r"anchor: names commit \d+ of a file that is not there any more"):
        open_sealed(path, options)
    assert open_connection(str(path)).execute("select count(*) from seal").get == 0


def test_a_file_that_died_before_it_was_sealed_is_sealed_at_the_next_start(tmp_path: Path) -> None:
    """With its anchor written or not; one with rows is not, as their author is unknown."""
    path, options = tmp_path / "agent.db", SealOptions(KEY, str(tmp_path / "anchor"))
    open_connection(str(path)).close()
    create_anchor(options, AnchorLine(bytes(16), 0, bytes(16)))
    open_sealed(path, options).close()
    assert changes_of(path, options) == []


def test_seal_writes_an_anchor_for_a_file_that_has_none(path: Path, options: SealOptions) -> None:
    other, number = structs.replace(options, anchor=f"{options.anchor}2"), newest(options)
    assert seal_file(str(path), other).number == number
    assert newest(other) == number
    open_sealed(path, other).close()
    assert seal_file(str(path), other).number == number  # and leaves one that is there
    EDITS["tamper"][0](path)
    with pytest.raises(FileTampered, match=NOT_AS_WRITTEN):
        seal_file(str(path), other)
