"""One case: a store on a disk that loses power several times, and the checks after each power cut.

Law 1. An acknowledged batch is durable, and so is its key. Another batch is stored completely or not at all.
Law 2. Searches find the same rows as a scan, so indexes lose nothing either.
Law 3. After a delete is acknowledged, no file contains the deleted text, and no power cut restores it.
Law 4. A sealed file keeps a valid seal, and is no older than the last acknowledged commit.
Law 5. A case is deterministic: it always writes the same bytes.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import apsw

from umi_core.data import Data
from umi_core.messages.answers import Committed, EffectFailed
from umi_core.messages.effects import ByFilter, ByVector, ByWords, Commit, CountRows, Expect, Write
from umi_core.rows import Address, Entity, Receipt, Vector
from umi_core.values import Scope
from umi_live.anchor import SealOptions
from umi_live.errors import FileTampered, StoreError
from umi_live.schema import OpenOptions
from umi_live.sqlite import SqliteStorage
from umi_sim.disk.disk import Disk, PowerCut
from umi_sim.disk.vfs import NAME, FileSystem, mount_files
from umi_sim.kernel.prng import Stream
from umi_sim.testing.storage_twin import StorageTwin, agree

SCOPE: Final = Scope("ann", "helper")
KINDS: Final = ("entity", "receipt", "vector")
PATH: Final = "agent.db"
LOG_PAGES: Final = 12  # so short that the log is checkpointed into the file all the time
WORDS: Final = "green black tea coffee likes hates Ann Bob works Acme".split()
LETTERS: Final = "bcdfghjklmnpqrstvwxz"
LETTER_COUNT: Final = 12  # letters of a random word that makes each content unique
AT_MS: Final = 1_000
TRIES_MAX: Final = 3
SEAL: Final = SealOptions(b"a key that is in no file".ljust(32))


class Case(Data):
    """A case. `batches`: the seeds of the batches. `cuts`: for each incarnation the event of its power cut;
    `fails`: the event that fails, or 0. After the last cut the disk is sound. `is_sealed`: the file is."""

    seed: int
    batches: tuple[int, ...]
    cuts: tuple[int, ...]
    fails: tuple[int, ...]
    journal: str = "wal"
    is_sealed: bool = False


class CaseOutcome(Data):
    """The result. `broken`: the broken promise, or ""; `trace`: a hash of all events of the disk."""

    broken: str
    cut_count: int
    trace: str


def run(case: Case) -> CaseOutcome:
    """Run incarnations until all batches are acknowledged, and check the file a last time."""
    disk = Disk(Stream(case.seed, "disk"), fails_full=case.seed % 2 == 0)
    with mount_files(disk, Stream(case.seed, "sqlite")) as files:
        life = CaseRun(case, files)
        broken = ""
        try:
            life.run()
        except AssertionError as error:
            broken = str(error)
        life.leave()
        return CaseOutcome(broken, life.cut_count, files.disk.hashed.hexdigest())


class CaseRun:
    """A case in progress. `pending`: the batch without an answer. `done`: committed batches and answers."""

    def __init__(self, case: Case, files: FileSystem) -> None:
        self.case, self.files, self.twin = case, files, StorageTwin()
        self.store: SqliteStorage | None = None
        self.pending: Commit | None = None
        self.done: list[tuple[Commit, Committed]] = []
        self.cut_count = 0
        self.sealed_count = 0  # number of the last acknowledged commit of a sealed file
        self.deleted: dict[str, str] = {}  # unique words of deleted rows, by id

    def run(self) -> None:
        left = list(self.case.batches)
        # (0, 0) is a last incarnation without a cut, in which all remaining batches are acknowledged.
        for cut_at, fail_at in (*zip(self.case.cuts, self.case.fails, strict=True), (0, 0)):
            self.files.disk = self.files.disk.again(cut_at, fail_at)
            try:
                self.begin()
                while left:
                    self.commit(self.pending or draw_batch(left[0], self.twin))
                    left.pop(0)
            except PowerCut:
                self.cut_count += 1
            self.leave()
        self.files.disk = self.files.disk.again(0, 0)
        self.begin()

    def begin(self) -> None:
        """Open the file, again if that fails, and check its content. Raises AssertionError."""
        is_alone = self.case.journal == "wal"  # otherwise SQLite would keep the log's index in shared memory
        seal = SEAL if self.case.is_sealed else None
        options = OpenOptions(NAME, self.case.journal, is_alone, LOG_PAGES, sync=self.files.sync, seal=seal)
        self.search_files("what was deleted stays deleted through a power cut")
        for _ in range(TRIES_MAX):
            try:
                self.store = SqliteStorage(PATH, options)
                break
            except FileTampered as error:
                raise AssertionError(f"a file that lost power has its seal\n  got       {error}") from error
            except StoreError as error:
                reason = str(error)
            assert "damaged" not in reason, f"a file that lost power is whole\n  got       {reason}"
        assert self.store is not None, "a store can be opened when the power is back"
        self.look()
        if self.store.seal is not None:
            number = self.store.seal.last.number
            assert number >= self.sealed_count, f"a file is as new as its anchor\n  got       {number}"

    def commit(self, commit: Commit) -> None:
        """Send a batch, and send it again while its outcome is unknown, until it is answered."""
        self.pending = commit
        for _ in range(TRIES_MAX):
            assert self.store is not None
            try:
                answer = self.store.commit(commit, AT_MS)
            except apsw.FullError:  # a full disk means that nothing was written
                self.pending = None
                return
            except (apsw.IOError, apsw.CantOpenError):
                continue
            before = words_of(self.twin)
            agree("a batch is answered as it should be", answer, self.expect_answer(commit))
            self.pending = None
            if self.store.seal is not None:
                self.sealed_count = self.store.seal.last.number
            self.note_deleted(commit, before)
            return
        raise AssertionError("a disk that failed once fails for ever")

    def expect_answer(self, commit: Commit) -> Committed | EffectFailed:
        first = [answer for known, answer in self.done if known.key == commit.key]
        if first:
            return first[0]
        answer = self.twin.commit(commit)
        if isinstance(answer, Committed):
            self.done.append((commit, answer))
        return answer

    def leave(self) -> None:
        """End the process; writes while it closes the file no longer reach the disk."""
        if self.store is not None:
            if self.files.disk.left is None:
                self.files.disk.cut_power()
            with suppress(apsw.Error):
                self.store.close()
            self.store = None

    # Checks.

    def note_deleted(self, commit: Commit, before: Mapping[str, str]) -> None:
        """Record the texts that an acknowledged batch has deleted, unless the log still has to be emptied."""
        assert self.store is not None
        if self.case.journal != "wal" or self.store.owes_empty_log:
            return
        for write in commit.writes:
            if write.body is None and write.address.kind == "entity" and write.address.id in before:
                self.deleted[write.address.id] = before[write.address.id]
        self.search_files("what was deleted is in no file")

    def search_files(self, law: str) -> None:
        files = self.files.disk.files
        for word in self.deleted.values():
            # The word index stores words in hexadecimal and shares prefixes: only the end is searched.
            needles = (word.encode(), word.encode().hex()[-12:].encode())
            held = [name for name, it in files.items() if any(needle in it.content for needle in needles)]
            agree(law, held, [])

    def look(self) -> None:
        assert self.store is not None
        found = self.store.read(0, ByFilter(SCOPE, KINDS)).rows
        rows = self.twin.matching(CountRows(SCOPE, KINDS))
        if self.pending is not None and found != rows:
            # A batch without an answer: the rows are those before it, or those after it.
            agree("a batch is there as a whole or not at all", found, ahead(self.twin, self.pending))
            self.expect_answer(self.pending)  # it is durable, so it counts as committed
        else:
            agree("what was acknowledged is there", found, rows)
        # The last two batches are enough, because the cut came shortly after them.
        for commit, answer in self.done[-2:]:
            agree("a known key is answered as the first time", self.store.commit(commit, AT_MS), answer)
        self.search()

    def search(self) -> None:
        assert self.store is not None
        for word in ("green tea", "Ann", "Bob works"):
            by_words = ByWords(SCOPE, word, (), 5, 1)
            agree("words find what a scan finds", self.store.read(0, by_words).rows, self.twin.hits(by_words))
        by_vector = ByVector(SCOPE, (1, 2, 3), (), 5, 1)
        agree("vectors find what a scan finds", self.store.read(0, by_vector).rows, self.twin.hits(by_vector))


def ahead(twin: StorageTwin, commit: Commit) -> tuple[object, ...]:
    later = StorageTwin(dict(twin.rows))
    later.commit(commit)
    return later.matching(CountRows(SCOPE, KINDS))


def draw_batch(number: int, twin: StorageTwin) -> Commit:
    """Return a batch with its receipt, as a memory makes them, with expects from the current rows."""
    chance = Stream(number, "batch")
    ids = [f"ent_{chance.below(6)}" for _ in range(chance.between(1, 3))]
    writes = tuple(write for row_id in dict.fromkeys(ids) for write in about(row_id, chance))
    key = f"key {number}"
    receipt = Write(Address(SCOPE, "receipt", key), Receipt(key, b"", b"", number, AT_MS))
    expects = tuple(Expect(it.address, twin.version(it.address)) for it in writes)
    return Commit((*writes, receipt), expects, key)


def words_of(twin: StorageTwin) -> dict[str, str]:
    """Return the unique last word of the content of each entity, by id."""
    bodies = (row.body for row in twin.rows.values())
    return {body.id: body.content.split()[-1] for body in bodies if isinstance(body, Entity)}


def about(row_id: str, chance: Stream) -> tuple[Write, ...]:
    """Return the writes of an entity and its vector, or of the deletion of both."""
    entity, vector = Address(SCOPE, "entity", row_id), Address(SCOPE, "vector", row_id)
    if chance.chance(1, 5):
        return Write(entity, None), Write(vector, None)
    words = [chance.pick(WORDS) for _ in range(chance.log_between(1, 400))]
    content = " ".join((*words, "".join(chance.pick(LETTERS) for _ in range(LETTER_COUNT))))
    body = Entity(row_id, "note", chance.pick(WORDS), content, 1, 0, 0, "facts", 1, 1)
    components = tuple(chance.between(-127, 127) for _ in range(3))
    return Write(entity, body), Write(vector, Vector(row_id, 1, components))
