"""Goal: what the storage acknowledged survives a disk that loses power; a sync that is missing is found."""

from collections.abc import Mapping, Sequence

import pytest
from msgspec import structs

pytest.importorskip("apsw", reason="the extra `live` is not installed")

import apsw

from umi_core.messages.answers import Committed, EffectFailed
from umi_core.messages.effects import Commit
from umi_live import columns, schema
from umi_live.seal import Seal
from umi_live.sqlite import SqliteStorage
from umi_sim.cli.disk import report_hunt
from umi_sim.disk import case
from umi_sim.disk.disk import Disk
from umi_sim.disk.hunt import case_of, hunt
from umi_sim.disk.vfs import FileSystem
from umi_sim.kernel.prng import Stream

Answers = list[Committed | EffectFailed]


@pytest.mark.slow
def test_every_acknowledged_commit_survives() -> None:
    found = hunt(range(40))
    assert found.first is None, found
    assert found.cut_count >= 130
    assert report_hunt(found, "wal").exit_code == 0


def test_a_case_writes_the_same_bytes_every_time() -> None:
    for seed in (3, 4):
        first, again = [case.run(case_of(seed, "wal")) for _ in range(2)]
        assert first == again
    assert case.run(case_of(5, "wal")).trace != first.trace


@pytest.mark.slow
def test_a_journal_whose_deletion_is_not_synced_is_found_and_made_small() -> None:
    found = hunt(range(12), "delete")
    assert found.first is not None
    assert found.small is not None
    assert found.broken.startswith(("what was acknowledged is there", "a batch is there as a whole"))
    assert len(found.small.batches) <= 2
    report = report_hunt(found, "delete")
    assert report.exit_code == 1


def does_not_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is synced when it is written into the file, and not at every commit."""
    sound = schema.prepare

    def prepare(connection: apsw.Connection, path: str, way: schema.OpenOptions) -> None:
        sound(connection, path, way)
        connection.pragma("synchronous", "normal")

    monkeypatch.setattr(schema, "prepare", prepare)


def writes_words_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch is two transactions."""
    sound = columns.put_terms

    def later(connection: apsw.Connection, scope: int, row: int, counts: Mapping[str, int] | None) -> None:
        connection.execute("commit")
        connection.execute("begin immediate")
        sound(connection, scope, row, counts)

    monkeypatch.setattr(columns, "put_terms", later)


def forgets_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = SqliteStorage.commit_all

    def commit_all(self: SqliteStorage, commits: Sequence[Commit], now_ms: int) -> Answers:
        return sound(self, [structs.replace(it, key="") for it in commits], now_ms)

    monkeypatch.setattr(SqliteStorage, "commit_all", commit_all)


def cuts_the_log_and_does_not_sync_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FileSystem, "sync", lambda self, path: None)


def leaves_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SqliteStorage, "empty_log", lambda self: None)


def leaves_what_was_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SqliteStorage, "has_remains", lambda self: False)


def leaves_the_seal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Seal, "end", lambda self: None)


def seals_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """The seal of a batch is a transaction of its own."""
    sound = Seal.end

    def later(self: Seal) -> None:
        self.connection.execute("commit")
        self.connection.execute("begin immediate")
        sound(self)

    monkeypatch.setattr(Seal, "end", later)


@pytest.mark.parametrize("plant", [cuts_the_log_and_does_not_sync_it, leaves_the_log, leaves_what_was_moved])
def test_what_was_deleted_and_is_still_there_is_found(plant: object, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)  # type: ignore[operator]
    found = hunt(range(40))
    assert found.broken.startswith("what was deleted")


@pytest.mark.parametrize("plant", [does_not_sync, writes_words_later, forgets_keys])
def test_a_planted_mistake_of_the_storage_is_found(plant: object, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)  # type: ignore[operator]
    outcomes = (case.run(case_of(seed, "wal")) for seed in range(20))
    assert any(outcome.broken for outcome in outcomes)


@pytest.mark.parametrize("plant", [leaves_the_seal, seals_later])
def test_a_seal_that_is_not_of_its_batch_is_found(plant: object, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)  # type: ignore[operator]
    cases = (structs.replace(case_of(seed, "wal"), is_sealed=True) for seed in range(40))
    assert any(case.run(it).broken.startswith("a file that lost power has its seal") for it in cases)


@pytest.mark.slow
def test_a_sealed_file_keeps_its_seal_and_is_never_behind_its_anchor() -> None:
    cases = [structs.replace(case_of(seed, "wal"), is_sealed=True) for seed in range(24)]
    outcomes = [case.run(it) for it in cases]
    assert [outcome.broken for outcome in outcomes if outcome.broken] == []
    assert sum(outcome.cut_count for outcome in outcomes) > 65
    assert 15 <= sum(case_of(seed, "wal").is_sealed for seed in range(90)) <= 30


def test_a_commit_that_is_not_synced_leaves_a_file_behind_its_anchor(monkeypatch: pytest.MonkeyPatch) -> None:
    does_not_sync(monkeypatch)
    monkeypatch.setattr(case.CaseRun, "look", lambda self: None)  # which finds it, too
    outcomes = (case.run(structs.replace(case_of(seed, "wal"), is_sealed=True)) for seed in range(20))
    assert any(outcome.broken.startswith("a file is as new as its anchor") for outcome in outcomes)


def test_what_was_not_synced_may_be_lost_and_what_was_is_there() -> None:
    lengths = set()
    for seed in range(40):
        disk = Disk(Stream(seed, "disk"))
        file = disk.open("a")
        disk.write(file, 0, b"x" * 512)
        disk.sync(file, is_new=True)
        disk.write(file, 512, b"y" * 1_024)
        disk.open("b")
        disk.delete("a", is_synced=False)
        disk.cut_power()
        assert disk.left is not None
        assert disk.left.get("a", b"x" * 512)[:512] == b"x" * 512
        lengths.add((len(disk.left.get("a", b"")), "b" in disk.left))
    assert lengths == {
        (512, False), (1_024, False), (1_536, False), (512, True), (1_024, True), (1_536, True), (0, True),
    }  # fmt: skip
