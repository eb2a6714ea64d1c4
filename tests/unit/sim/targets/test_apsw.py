"""Goal: a store on apsw meets what one on sqlite3 does: deaths, failures, locks of others, and our clock."""

import asyncio
from typing import Any

import pytest

from umi_sim.targets import MISSING, Kv
from umi_sim.targets.clocks import START_MS
from umi_sim.targets.hunt import hunt, moments_of
from umi_sim.targets.items import ContractOp, Item
from umi_sim.targets.life import run

apsw: Any = pytest.importorskip("apsw", reason="the extra `live` is not installed")


class OnApsw(Kv):
    """Rows in one table, each write in one transaction."""

    durable = True
    values = "text"

    def make(self) -> None:
        self.db = apsw.Connection(str(self.folder / "rows.db"))
        self.db.execute("create table if not exists row (key text primary key, value text)")

    def close(self) -> None:
        self.db.close()

    def put(self, key: str, value: str) -> None:
        self._write(("insert or replace into row values (?, ?)", (key, value)))

    def get(self, key: str) -> object:
        found = self.db.execute("select value from row where key = ?", (key,)).fetchone()
        return found[0] if found else MISSING

    def _write(self, *statements: tuple[str, tuple[str, ...]]) -> None:
        self.db.execute("begin immediate")
        try:
            for each in statements:
                self.db.execute(*each)
            self.db.execute("commit")
        except apsw.Error:
            if self.db.in_transaction:
                self.db.execute("rollback")
            raise


class InTwo(OnApsw):
    """A row is removed in one transaction and written in the next."""

    def put(self, key: str, value: str) -> None:
        self._write(("delete from row where key = ?", (key,)))
        super().put(key, value)


class InJobs(OnApsw):
    """Each write has a connection of its own, in a job of an executor."""

    async def put(self, key: str, value: str) -> None:  # type: ignore[override] # as an adapter may have it
        await asyncio.to_thread(self._put_alone, key, value)

    def _put_alone(self, key: str, value: str) -> None:
        db = apsw.Connection(str(self.folder / "rows.db"))
        db.set_busy_timeout(2_000)
        try:
            db.execute("begin immediate")
            db.execute("insert or replace into row values (?, ?)", (key, value))
            db.execute("commit")
        finally:
            db.close()


PUT = ContractOp("put", {"key": "a", "value": "v1"})
OTHER = ContractOp("put", {"key": "b", "value": "v2"})


def test_a_process_dies_at_its_statements() -> None:
    assert moments_of(OnApsw)["put"] == [("commit", 1), ("statement", 1), ("statement", 2)]
    small = hunt(InTwo, range(150)).small
    assert small is not None
    assert small.broken is not None
    assert small.broken.rule in ("batch-split", "crash-split", "error-applied")
    assert small.items[-2].site in ("statement", "commit")
    assert hunt(OnApsw, range(20)).first is None


@pytest.mark.parametrize(
    ("site", "number", "error"),
    [("statement", 2, "IOError: disk I/O error"), ("commit", 1, "BusyError: data")],
)
def test_a_statement_and_a_commit_fail_with_the_errors_of_apsw(site: str, number: int, error: str) -> None:
    get = Item("op", (ContractOp("get", {"key": "a"}),))
    verdict = run(OnApsw, [Item("fail", (PUT,), number, site), get])
    assert verdict.steps[0].told.replace("'", "").startswith(f"raised {error}")
    assert verdict.broken is None


def test_a_lock_of_another_job_is_waited_for() -> None:
    assert hunt(InJobs, range(15)).first is None


def test_sql_reads_the_clock_of_the_run() -> None:
    class Timed(OnApsw):
        def get(self, key: str) -> object:
            return str(self.db.execute("select unixepoch('now')").fetchone()[0])

    verdict = run(Timed, [Item("op", (ContractOp("get", {"key": "a"}),))])
    assert verdict.steps[0].told == repr(str(START_MS // 1000))
