"""Goal: the memory of many hosts on one server: what a file promises, and what only a server can break."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")

from tests.live import test_command, test_memory
from tests.live.postgres.test_postgres import ask, end_session
from tools import kill_live
from tools.postgres_server import PrivateServer
from umi_core.errors import Fenced
from umi_live import RequestFailed, ScopeTaken, StoreError, delete_user, open_blocking
from umi_live.postgres import PostgresStorage
from umi_live.store import open_storage

SHARED: Final = (
    test_memory.test_a_fact_is_found_after_the_memory_was_closed,
    test_memory.test_conditions_narrow_what_is_found_and_listed,
    test_memory.test_an_archive_that_is_cleared_begins_anew_and_nothing_else_does,
    test_memory.test_an_agent_that_is_deleted_is_gone_until_it_is_opened_again,
    test_memory.test_a_new_employer_takes_the_place_of_the_old_one_and_history_keeps_both,
    test_memory.test_all_about_a_name_is_forgotten_and_nothing_else,
    test_memory.test_a_document_becomes_facts_by_category_and_a_summary,
    test_memory.test_a_request_key_makes_a_request_happen_once,
    test_memory.test_one_scope_has_one_live_memory_and_two_scopes_are_apart,
    test_memory.test_thirty_requests_at_once_are_all_answered_and_more_than_fit_wait,
    test_memory.test_a_cancelled_request_takes_effect_completely_or_not_at_all,
    test_memory.test_keys_are_there_for_the_agent_that_a_session_is_handed_to,
)
ROOT: Final = Path(__file__).resolve().parents[3]
FACT: Final = "Fact {} is told."


class FolderOfDatabases:
    """A folder of which each file is a database: its tests do not know that they are on a server."""

    def __init__(self, server: PrivateServer) -> None:
        self.server = server
        self.known = {"agent.db": server.clear_database()}

    def __truediv__(self, name: str) -> str:
        if name not in self.known:
            self.known[name] = self.server.make_database()
        return self.known[name]


@pytest.mark.parametrize("test", SHARED, ids=lambda it: it.__name__)
def test_a_memory_on_a_server_does_what_one_on_a_file_does(
    test: Callable[[Any], None], server: PrivateServer
) -> None:
    test(FolderOfDatabases(server))


def test_a_second_host_is_refused_until_the_first_one_is_gone(address: str) -> None:
    # Another text of the same address is another host: nothing of this process is shared with it.
    elsewhere = f"{address}?connect_timeout=9"
    with open_blocking(address, user="ann", agent="helper") as memory:
        memory.remember(FACT.format(1))
        with (
            pytest.raises(ScopeTaken, match="is open in another process"),
            open_blocking(elsewhere, user="ann", agent="helper"),
        ):
            raise AssertionError("a second host")
        with open_blocking(elsewhere, user="bob", agent="helper") as other:
            assert other.count() == 0
        with open_blocking(elsewhere, user="ann", agent="helper", read_only=True) as reader:
            assert [hit.content for hit in reader.recall("Fact 1")] == [FACT.format(1)]
            with pytest.raises(StoreError, match="is open for reading only, and remember writes") as refused:
                reader.remember(FACT.format(2))
            assert "connect_timeout" in str(refused.value)
        with pytest.raises(ScopeTaken):
            asyncio.run(delete_user(elsewhere, "ann"))
    with open_blocking(elsewhere, user="ann", agent="helper") as memory:
        assert memory.count() == 1


def test_a_host_that_was_taken_over_stores_nothing_any_more(address: str) -> None:
    """Its session ends, as if it had been cut off, and another host opens the memory."""
    with open_blocking(address, user="ann", agent="helper") as memory:
        memory.remember(FACT.format(1))
        store = memory.memory.store
        assert store is not None
        assert isinstance(store.storage, PostgresStorage)
        end_session(store.storage, address)
        with open_blocking(f"{address}?connect_timeout=9", user="ann", agent="helper") as other:
            other.remember(FACT.format(2))
            with pytest.raises(RequestFailed) as failed:
                memory.remember(FACT.format(3))
            assert isinstance(failed.value.error, Fenced)
            facts = {it.content for it in other.entities()}
        assert facts == {FACT.format(1), FACT.format(2)}
        with pytest.raises(RequestFailed):
            memory.remember(FACT.format(4))
    with open_blocking(address, user="ann", agent="helper") as memory:
        assert {it.content for it in memory.entities()} == facts


@pytest.mark.slow
def test_hosts_that_are_killed_lose_nothing_and_do_nothing_twice(address: str) -> None:
    number, lost, doubled = kill_live.kill_hosts(address, "one", 3)
    assert number >= 3
    assert (lost, doubled) == (0, 0)


@pytest.mark.slow
def test_a_server_that_is_killed_costs_nothing_that_was_acknowledged(server: PrivateServer) -> None:
    number, lost, doubled = kill_live.kill_server(server, 1)
    assert number >= 1
    assert (lost, doubled) == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("at", [2, 40, 90, 160, 230])
def test_a_connection_that_is_cut_at_a_message_loses_nothing_and_doubles_nothing(
    at: int, address: str
) -> None:
    counts, is_cut = asyncio.run(kill_live.live_with_cut(address, at))
    assert (counts, is_cut) == ((4, 0, 0), True)


def test_a_server_that_is_not_there_is_named_and_a_later_request_goes_on(
    server: PrivateServer, address: str
) -> None:
    with open_blocking(address, user="ann", agent="helper") as memory:
        memory.remember(FACT.format(1))
        server.stop(signal.SIGQUIT)
        try:
            with pytest.raises(StoreError, match=r"the server fails \(connection .*refused"):
                memory.remember(FACT.format(2), request_key="2")
        finally:
            server.start()
        memory.remember(FACT.format(2), request_key="2")
        assert memory.count() == 2


def test_a_driver_is_imported_for_an_address_alone_and_one_that_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = "import sys, umi_live.command; sys.exit('psycopg' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT).returncode == 0
    monkeypatch.setitem(sys.modules, "psycopg", None)
    monkeypatch.delitem(sys.modules, "umi_live.postgres")
    with pytest.raises(StoreError, match=r"^psycopg is not installed: pip install 'umi-sim\[postgres\]'$"):
        open_storage("postgresql://umi@127.0.0.1/none")


# The command.


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> test_command.Shell:
    monkeypatch.chdir(tmp_path)
    return test_command.Shell(monkeypatch, capsys)


def test_the_command_takes_an_address_where_it_takes_a_file(
    shell: test_command.Shell, server: PrivateServer, tmp_path: Path
) -> None:
    address, second = server.clear_database(), server.make_database()
    for db in ("agent.db", address):
        assert shell("remember", "--db", db, "Ann likes tea.")[0] == 0
    assert shell("recall", "--db", address, "tea") == shell("recall", "--db", "agent.db", "tea")
    [key] = [it.split()[0] for it in shell("facts", "--db", address, "Ann")[1].splitlines()]
    # What a file holds goes to a server, and back.
    assert shell("export", "--db", "agent.db", "--out", "rows")[0] == 0
    assert shell("import", "--db", second, "rows")[0] == 0
    assert shell("export", "--db", second)[1] == Path("rows").read_text()
    status, out, err = shell("doctor", "--db", address)
    assert (status, err) == (0, "")
    assert "1 entity" in out
    assert out.endswith("damaged  nothing\n")
    assert shell("forget", "--db", address, key)[1] == "forgotten  1\n"
    assert shell("rewrite", "--db", address) == (0, "", "")
    assert shell("delete-user", "--db", second, "me")[1].endswith("rows of user 'me' are gone\n")
    for table in ("row", "tie", "word", "receipt", "scope"):
        assert ask(second, f"select count(*) from umi_live.{table}") == [(0,)]


def test_the_doctor_of_a_server_finds_what_its_indexes_lack(shell: test_command.Shell, address: str) -> None:
    shell("remember", "--db", address, "Ann likes tea.")
    ask(address, "delete from umi_live.tie where number = (select min(number) from umi_live.tie)")
    ask(address, "delete from umi_live.word where token = (select min(token) from umi_live.word)")
    status, out, _ = shell("doctor", "--db", address)
    assert status == 1
    assert "the references of entity" in out
    assert "the words of entity" in out


def test_what_only_a_file_can_have_is_refused_and_no_password_is_shown(
    shell: test_command.Shell, address: str, tmp_path: Path
) -> None:
    Path("agent.key").write_bytes(b"k" * 32)
    secret = address.replace("umi@", "umi:secret@")
    shown = address.replace("umi@", "umi@")
    sealed = "--seal-key-file", "agent.key"
    for words in (("seal", *sealed), ("recall", *sealed, "tea"), ("doctor", *sealed), ("unseal",)):
        message = shell.refused(words[0], "--db", secret, *words[1:])
        assert message == f"umi-live: {shown}: only a file can be sealed\n"
    assert "holds no memory yet" in shell.refused("recall", "--db", secret, "tea")
    assert ask(address, "select count(*) from pg_namespace where nspname = 'umi_live'") == [(0,)]
