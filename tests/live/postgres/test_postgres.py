"""Goal: PostgresStorage keeps the contract of a storage, also among hosts, and whatever breaks."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from typing import Any, Final

import pytest

pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")

import psycopg
from hypothesis import settings
from msgspec import structs

from tests.live import test_sqlite
from tests.live.test_sqlite import TwoEnds, found, keyed, make_commit
from tools.postgres_server import CuttingProxy, PrivateServer
from umi_core.conditions import Condition
from umi_core.limits import RECEIPT_MS_MAX
from umi_core.messages.answers import Committed, EffectFailed
from umi_core.messages.effects import ByFilter, ByIds, ByWords, Commit, CountRows, Expect, Write
from umi_core.rows import Address, Ended, Entity
from umi_core.values import Scope
from umi_live.claims import derive_number
from umi_live.conditions import clause
from umi_live.errors import StoreError
from umi_live.postgres import ClaimLost, OutcomeUnknown, PostgresStorage
from umi_live.storage import PRESENT, TransactionCache
from umi_sim.testing.conformance import HOW, run_storage_conformance

SCOPE: Final = Scope("ann", "helper")
AT: Final = Address(SCOPE, "entity", "ent_1")
DEAD: Final = (
    "select sum(dead_tuple_count)::int from unnest(array['row', 'tie', 'word']) as it,"
    " pgstattuple('umi_live.' || it)"
)
SHARED: Final = (
    test_sqlite.test_a_key_and_its_receipt_are_known_for_a_day_and_gone_after_it,
    test_sqlite.test_a_batch_sees_what_the_batches_of_its_group_have_written,
    test_sqlite.test_conditions_that_no_column_answers_are_decided_row_by_row,
    test_sqlite.test_scores_by_words_are_those_of_every_row_for_questions_of_any_length,
)


@contextmanager
def opened(address: str, count: int) -> Iterator[list[PostgresStorage]]:
    """Storages of so many hosts."""
    with ExitStack() as ending:
        yield [ending.enter_context(closing(PostgresStorage(address))) for _ in range(count)]


def ask(address: str, sql: str, *values: object) -> list[Any]:
    with psycopg.connect(address, autocommit=True) as connection:
        cursor = connection.execute(sql.encode(), values or None)
        return list(cursor.fetchall()) if cursor.description else []


def end_session(storage: PostgresStorage, address: str) -> None:
    """End the session of a storage, which learns of it when it asks next."""
    sql = "select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = %s"
    ask(address, sql, storage.connection.name)


@pytest.mark.slow
def test_it_keeps_the_contract(server: PrivateServer) -> None:
    with ExitStack() as ending:

        def make() -> TwoEnds:
            ends = TwoEnds(server.clear_database(), PostgresStorage)
            ending.enter_context(closing(ends))
            return ends

        run_storage_conformance(make, settings(HOW, max_examples=3))


@pytest.mark.parametrize("test", SHARED, ids=lambda it: it.__name__)
def test_it_keeps_what_the_storage_on_a_file_keeps(
    test: Callable[[], None], address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as ending:
        monkeypatch.setattr(
            test_sqlite,
            "SqliteStorage",
            lambda path: ending.enter_context(closing(PostgresStorage(address))),
        )
        test()


def test_texts_that_postgresql_does_not_take_are_stored_found_and_ordered(server: PrivateServer) -> None:
    """An id may have a NUL, a word 99,000 letters, and the database another order of texts."""
    try:
        address = server.make_database("template template0 locale_provider icu icu_locale 'en'")
    except psycopg.Error:  # before PostgreSQL 15, or built without it
        address = server.make_database()
    ids = ["B", "a", "a\x00", "a\x00b", "a\x01", "a\x01\x01", "a\x02", "ab", "日本", "👍"]
    long = "".join(random.Random(1).choices("bcdfghjklm", k=99_000))  # which cannot be compressed
    with opened(address, 2) as (ours, theirs):
        for row_id in reversed(ids):
            ours.commit(make_commit(SCOPE, row_id, f"tea {long}"), 1)
        rows = theirs.read(0, ByFilter(SCOPE, ("entity",))).rows
        assert [row.address.id for row in rows] == ids
        assert [row.body.id for row in rows if isinstance(row.body, Entity)] == ids
        assert [row.address.id for row in theirs.read(0, ByWords(SCOPE, long, (), 10, 1)).rows] == ids
        assert theirs.read(0, ByWords(SCOPE, long[1:], (), 10, 1)).rows == ()


def test_a_read_shows_one_instant_and_a_commit_is_durable_whatever_the_server_prefers(
    server: PrivateServer,
) -> None:
    address = server.make_database()
    name = address.rpartition("/")[2]
    for setting in ("synchronous_commit to off", "default_transaction_isolation to 'serializable'"):
        ask(address, f"alter database {name} set {setting}")
    query = CountRows(SCOPE, ("entity",))
    with opened(address, 2) as (ours, theirs):
        with ours.reading():
            assert ours._read(0, query).count == 0
            theirs.commit(make_commit(SCOPE, "ent_1", "tea"), 1)
            assert ours._read(0, query).count == 0
        assert ours._read(0, query).count == 1
        assert ours.connection.execute("show synchronous_commit").fetchall() == [("on",)]


def test_no_update_of_a_row_is_lost_between_hosts(address: str) -> None:
    """Each reads a version and writes on top of it, all of them at the same time."""

    def write(storage: PostgresStorage) -> int:
        count = 0
        for _ in range(25):
            version = sum(row.version for row in storage.read(0, ByIds((AT,))).rows)
            commit = structs.replace(
                make_commit(SCOPE, "ent_1", f"tea {version}"), expects=(Expect(AT, version),)
            )
            count += isinstance(storage.commit(commit, 1), Committed)
        return count

    with opened(address, 4) as hosts, ThreadPoolExecutor(4) as threads:
        written = sum(threads.map(write, hosts))
        [row] = hosts[0].read(0, ByIds((AT,))).rows
    assert row.version == written


def test_batches_on_the_same_scopes_do_not_wait_for_each_other_in_a_circle(server: PrivateServer) -> None:
    address = server.make_database()
    for setting in ("enable_hashjoin", "enable_mergejoin", "enable_seqscan"):  # as on a large table
        ask(address, f"alter database {address.rpartition('/')[2]} set {setting} to off")
    scopes = [Scope("ann", str(n)) for n in range(6)]

    def write(host: tuple[int, PostgresStorage]) -> None:
        step, storage = host
        for _ in range(20):
            turned = scopes[step:] + scopes[:step]
            storage.commit(Commit(tuple(make_commit(it, "ent_1", "tea").writes[0] for it in turned), ()), 1)

    with opened(address, 3) as hosts, ThreadPoolExecutor(3) as threads:
        list(threads.map(write, enumerate(hosts)))
        addresses = tuple(Address(it, "entity", "ent_1") for it in scopes)
        versions = [row.version for row in hosts[0].read(0, ByIds(addresses)).rows]
    assert versions == [60] * len(scopes)
    assert ask(address, "select deadlocks from pg_stat_database where datname = current_database()") == [(0,)]


def test_a_search_sees_what_another_host_has_written(address: str) -> None:
    with opened(address, 2) as (ours, theirs):
        theirs.commit(make_commit(SCOPE, "ent_1", "green tea"), 1)
        assert found(ours, SCOPE) == ["ent_1"]
        theirs.commit(make_commit(SCOPE, "ent_2", "tea tea"), 1)
        assert found(ours, SCOPE) == ["ent_2", "ent_1"]
        theirs.commit(make_commit(SCOPE, "ent_1", "coffee"), 1)
        theirs.commit(make_commit(Scope("bob", "helper"), "ent_3", "green tea"), 1)
        assert found(ours, SCOPE) == ["ent_2"]


def test_the_same_key_of_two_scopes_is_stored_once(address: str) -> None:
    """At the same time, so that neither finds the key when it begins."""
    batches = [keyed(Scope(user, "helper"), "ent_1", "tea", "key") for user in ("ann", "bob")]
    with opened(address, 2) as hosts, ThreadPoolExecutor(2) as threads:
        for _ in range(10):
            answers = list(threads.map(lambda it: it[0].commit(it[1], 1), zip(hosts, batches, strict=True)))
            assert answers[0] == answers[1]
    assert ask(address, "select count(*) from umi_live.row where body is not null") == [(1,)]


def test_old_keys_go_by_the_clock_of_the_server(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("umi_live.storage.wall_ms", lambda: 1)
    with opened(address, 2) as (ours, theirs):
        [(server_ms,)] = ask(address, "select (extract(epoch from clock_timestamp()) * 1000)::bigint")
        assert abs(ours.clock_ms() - server_ms) < 60_000
        for number in range(30):
            ours.commit(keyed(SCOPE, f"ent_{number}", "tea", f"k{number}"), 1)
        theirs.commit(keyed(SCOPE, "ent_30", "tea", "k30"), RECEIPT_MS_MAX + 1)
        assert ask(address, "select count(*) from umi_live.receipt") == [(11,)]  # 20 at a time


def test_what_rows_name_is_looked_up_once_and_not_for_each_row(address: str) -> None:
    """Tables that were never analysed are small, for all that the planner knows."""
    with opened(address, 1) as (storage,):
        for where in (
            Condition("about", "contains", "ent_1"),
            Condition("follows", "in", ("fct_1", "fct_2")),
        ):
            sql, bindings, _ = clause((where,), "entity", 1)
            query = f"explain select body from row where {PRESENT} and id > ? {sql} order by id"
            steps = [row[0] for row in storage.connection.execute(query, (1, "entity", "", *bindings))]
            assert any("InitPlan" in it for it in steps), steps
            assert not any("Join" in it for it in steps), steps


# Connections.


def test_a_session_that_ended_is_made_again_and_nothing_is_lost(address: str) -> None:
    with opened(address, 1) as (storage,):
        storage.commit(make_commit(SCOPE, "ent_1", "tea"), 1)
        end_session(storage, address)
        assert found(storage, SCOPE) == ["ent_1"]
        end_session(storage, address)
        assert isinstance(storage.commit(make_commit(SCOPE, "ent_2", "tea"), 1), Committed)


@pytest.mark.parametrize("is_done", [True, False])
def test_a_commit_without_an_answer_is_unknown_and_sent_again_it_is_done_once(
    is_done: bool, address: str
) -> None:
    """Cut before `commit` comes to the server, or before its answer comes back."""
    commit = keyed(SCOPE, "ent_1", "tea", "key")
    with CuttingProxy(address, 0) as proxy, closing(PostgresStorage(proxy.address)) as storage:
        storage.commit(keyed(SCOPE, "ent_0", "tea", "other"), 1)
        end = storage.connection.end

        def cut() -> None:
            proxy.cut_at = proxy.count + (2 if is_done else 1)
            end()

        storage.connection.end = cut  # type: ignore[method-assign]  # once
        with pytest.raises(OutcomeUnknown) as failed:
            storage.commit(commit, 1)
        storage.connection.end = end  # type: ignore[method-assign]
        assert storage.failure(failed.value, commit=True) == "unknown"
        rows = "select count(*) from umi_live.row where id = 'ent_1'"
        assert ask(address, rows) == [(int(is_done),)]
        answer = storage.commit(commit, 1)
        assert isinstance(answer, Committed)
        assert answer.versions == ((AT, 1),)
        assert ask(address, rows) == [(1,)]


def test_what_is_kept_of_words_survives_a_connection_that_breaks_while_it_is_brought_up_to_date(
    address: str,
) -> None:
    with CuttingProxy(address, 0) as proxy, closing(PostgresStorage(proxy.address)) as storage:
        for number in range(3):
            storage.commit(make_commit(SCOPE, f"ent_{number}", "tea"), 1)
        start = proxy.count
        found(storage, SCOPE)
        messages = proxy.count - start
        for step in range(1, messages, 3):
            content = "tea" if step % 2 else "coffee"
            storage.commit(make_commit(SCOPE, "ent_1", content), 1)
            proxy.cut_at = proxy.count + step
            assert found(storage, SCOPE) == ["ent_0", *(["ent_1"] if step % 2 else []), "ent_2"]
            proxy.cut_at = 0
        assert proxy.is_cut


# Claims.


def test_a_host_that_was_taken_over_commits_nothing_until_its_claim_is_free_again(address: str) -> None:
    number = derive_number(SCOPE)
    with opened(address, 2) as (ours, theirs):
        assert ours.acquire(number)
        assert not theirs.acquire(number)
        end_session(ours, address)
        assert theirs.acquire(number)
        with pytest.raises(ClaimLost) as failed:
            ours.commit(make_commit(SCOPE, "ent_1", "tea"), 1)
        assert ours.failure(failed.value, commit=True) == "unavailable"
        with pytest.raises(ClaimLost):
            ours.adopt(SCOPE, "hash")
        assert isinstance(ours.commit(make_commit(Scope("bob", "helper"), "ent_1", "tea"), 1), Committed)
        theirs.commit(make_commit(SCOPE, "ent_1", "tea"), 1)
        theirs.release(number)
        stale = structs.replace(make_commit(SCOPE, "ent_1", "coffee"), expects=(Expect(AT, 0),))
        assert isinstance(ours.commit(stale, 1), EffectFailed)
        assert not theirs.acquire(number)  # ours has it again


def test_a_claim_survives_its_session_if_no_other_host_wants_it(address: str) -> None:
    number = derive_number(SCOPE)
    with opened(address, 2) as (ours, theirs):
        assert ours.acquire(number)
        end_session(ours, address)
        ours.commit(make_commit(SCOPE, "ent_1", "tea"), 1)
        assert not theirs.acquire(number)
        ours.release(number)
        assert theirs.acquire(number)


def test_a_session_that_the_server_still_has_is_ended_by_the_next_one(address: str) -> None:
    """A connection may break for the host alone: then its session holds a claim, and what it was writing."""
    number = derive_number(SCOPE)
    with opened(address, 2) as (ours, theirs):
        assert ours.acquire(number)
        connection = ours.connection.raw
        assert connection is not None
        ours.connection.begin("read committed")
        ours.lock_scopes([SCOPE], TransactionCache())
        ours.connection.in_transaction, ours.connection.raw = False, None
        assert isinstance(ours.commit(make_commit(SCOPE, "ent_1", "tea"), 1), Committed)
        assert not theirs.acquire(number)
        with connection, pytest.raises(psycopg.OperationalError, match="terminating connection"):
            connection.execute("select 1")


# What was deleted.


def test_what_is_deleted_is_out_of_the_tables_when_that_is_acknowledged(address: str) -> None:
    ask(address, "create extension if not exists pgstattuple")
    with opened(address, 1) as (storage,):
        storage.commit(make_commit(SCOPE, "ent_1", "tea"), 1)
        storage.commit(make_commit(SCOPE, "ent_1", "coffee"), 1)
        assert ask(address, DEAD) != [(0,)]  # an update is no deletion
        storage.commit(Commit((Write(AT, None),), ()), 1)
        assert ask(address, DEAD) == [(0,)]
        for number in range(3):
            storage.commit(make_commit(SCOPE, f"ent_{number}", "tea"), 1)
        fact = Entity("ent_2", "note", "note", "tea", 1, 0, 0, "facts", 1, 1)
        moved = Ended("ent_2", fact, "ent_1", "update", 1)
        at = Address(SCOPE, "entity", "ent_2")
        storage.commit(Commit((Write(at, None), Write(structs.replace(at, kind="ended"), moved)), ()), 1)
        assert ask(address, DEAD) != [(0,)]  # nor is the end of a fact


def test_a_vacuum_that_takes_long_waits_and_is_done_at_the_end_at_the_latest(address: str) -> None:
    ask(address, "create extension if not exists pgstattuple")
    with opened(address, 1) as (storage,):
        storage.commit(make_commit(SCOPE, "ent_1", "tea"), 1)
        storage.vacuum_s, storage.vacuumed_s = 1_000.0, time.monotonic()
        storage.commit(Commit((Write(AT, None),), ()), 1)
        assert ask(address, DEAD) != [(0,)]
    assert ask(address, DEAD) == [(0,)]


def test_a_database_that_is_rewritten_holds_nothing_of_what_was_deleted(
    server: PrivateServer, address: str
) -> None:
    def is_in_tables() -> bool:
        ask(address, "checkpoint")
        base = server.data / "base"
        return any(b"secret jasmine" in it.read_bytes() for it in base.rglob("*") if it.is_file())

    with opened(address, 1) as (storage,):
        ats = [Address(SCOPE, "entity", f"ent_{number}") for number in range(9)]
        for at in ats:
            storage.commit(make_commit(SCOPE, at.id, "secret jasmine"), 1)
        storage.commit(Commit(tuple(Write(at, None) for at in ats), ()), 1)
        assert is_in_tables()  # in unused space of a page
        storage.rewrite()
        assert not is_in_tables()


# Databases that are refused.


def test_a_database_that_cannot_hold_a_memory_is_refused_and_no_password_is_shown(
    server: PrivateServer, address: str
) -> None:
    ascii_only = server.make_database("template template0 encoding 'SQL_ASCII'")
    foreign, newer = server.make_database(), server.make_database()
    ask(foreign, "create schema umi_live")
    ask(foreign, "create table umi_live.row (n int)")
    PostgresStorage(newer).close()
    ask(newer, "update umi_live.version set number = 99")
    nowhere = address.replace("umi@", "umi:secret@").replace(f":{server.port}/", ":1/")
    for wrong, reason in (
        (ascii_only, "is not encoded in UTF8"),
        (foreign, "has a schema umi_live with tables of another program"),
        (newer, r"another release of Umi made its tables \(version 99, here 1\)"),
        (nowhere, r"^postgresql://umi@127.0.0.1:1/\S+: the server fails \(connection.*refused"),
        (f"{address}_not", "does not exist"),
        (f"{address}?nothing=1", "is no address"),
    ):
        with pytest.raises(StoreError, match=reason) as refused:
            PostgresStorage(wrong)
        assert "secret" not in str(refused.value)
    with pytest.raises(StoreError, match="holds no memory yet"):
        PostgresStorage(address, read_only=True)
    assert ask(address, "select count(*) from pg_namespace where nspname = 'umi_live'") == [(0,)]


def test_hosts_that_come_first_at_the_same_time_make_the_tables_once(server: PrivateServer) -> None:
    for _ in range(3):
        address = server.clear_database()
        with ThreadPoolExecutor(4) as threads:
            for storage in threads.map(PostgresStorage, [address] * 4):
                storage.close()
        assert ask(address, "select number from umi_live.version") == [(1,)]
