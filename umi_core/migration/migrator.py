"""Migrator: the move of rows between two stores, with an entry point like that of a memory.

It serves the requests of requests.py, and sends the questions of the machine as reads and commits to the
stores `main` and `legacy`. A crash loses nothing that is needed: a new migrator starts from the stores.

Law 1. Each kind of rows has a machine and a phase of its own, and serves one request at a time.
Law 2. An answer that is malformed or too late is a failure; a write then has an unknown outcome.
Law 3. A store is read page by page, and a batch in doubt may land between two pages. Therefore a commit
       expects each row of main that it relies on, or is made under a new fence.
Law 4. In main each batch has a unique idempotency key. Legacy has neither keys nor versions.
"""

from collections import deque
from collections.abc import Iterator
from hashlib import blake2b
from typing import Final

import msgspec
from msgspec import structs

from umi_core import limits
from umi_core.answer_checks import check_answer, following_page, in_order, judged_rows
from umi_core.codec import encode
from umi_core.conditions import Condition
from umi_core.config import Config
from umi_core.data import Owner
from umi_core.engine.facts import View
from umi_core.errors import KeyReused, StorageFailed, TooBusy
from umi_core.ids import commit_key
from umi_core.kelpie.moved import list_own, plan_arrival
from umi_core.messages.answers import Answer, Committed, EffectFailed, ReadDone, Value
from umi_core.messages.effects import (
    MAIN,
    ByFilter,
    ByIds,
    Commit,
    Degraded,
    Done,
    Effect,
    Expect,
    Failed,
    Outcome,
    Read,
    Refused,
    Reply,
    Unknown,
    Write,
    filled_in,
)
from umi_core.messages.requests import bad_request
from umi_core.migration import machine, steps
from umi_core.migration.machine import Ask, Key, Migration, Once, VersionedValue
from umi_core.migration.requests import MigrationRequest, NotReady
from umi_core.migration.rows import MigrationPhase, Moved, MovedBegun, MovedKey, Outbox
from umi_core.rows import Address, Body, Row
from umi_core.state import Tiers
from umi_core.values import Scope
from umi_core.workflows.commits import Plan

TIMEOUT_MS: Final = 10_000
LEGACY: Final = "legacy"
TABLES: Final = {"row": "moved", "begun": "moved_begun", "outbox": "outbox", "phase": "phase"}  # read whole
KINDS: Final = {**TABLES, "key": "moved_key"}


class Sent(Owner):
    """A question in flight: as the machine's `ask`, as the question `asked`, and as the `effect` sent.

    `rows`: the rows of the `page_count` earlier pages of a read. `failure`: the kind of failure to report.
    """

    ask: Ask
    step: str
    asked: Read | Commit
    effect: Read | Commit
    due_ms: int = 0
    rows: dict[Address, Row] = {}
    page_count: int = 0
    failure: str = "unavailable"


class Track(Owner):
    """One kind of rows: its machine, the request in progress, and the waiting ones.

    `arrival`: the plan by which the memory stores the rows last given, or a text on what prevents it.
    """

    kind: str
    machine: Migration = msgspec.field(default_factory=Migration)
    arrival: Plan | str = ""
    request: MigrationRequest | None = None
    sent: Sent | None = None
    waiting: deque[MigrationRequest] = msgspec.field(default_factory=deque)


class Migrator:
    """One incarnation of the migration.

    `life`: a number unique among all incarnations of this scope, for the keys of batches. `config`: the
    settings of the memory.
    """

    def __init__(
        self, scope: Scope, life: int, timeout_ms: int = TIMEOUT_MS, config: Config | None = None
    ) -> None:
        self.scope, self.life, self.timeout_ms, self.config = scope, life, timeout_ms, config or Config()
        self.tracks: dict[str, Track] = {}
        self.request_count = 0
        self.seen_ms = 0

    def step(self, now_ms: int, value: Value) -> tuple[Effect, ...]:
        """Apply a request, an answer, or just the time. Time-outs that are due are handled first."""
        self.seen_ms = max(self.seen_ms, now_ms)
        effects: list[Effect] = []
        for track in self.tracks.values():
            if track.sent is not None and track.sent.due_ms <= self.seen_ms:
                # The question was not answered in time; a write may nevertheless have happened.
                is_write = bool(track.sent.ask.writes)
                effects += self.hear(track, machine.StoreResult("unknown" if is_write else "failed"))
        if isinstance(value, MigrationRequest):
            effects += self.admit(value)
        elif isinstance(value, ReadDone | Committed | EffectFailed):
            for track in self.tracks.values():
                # An answer with any other id is late.
                if track.sent is not None and track.sent.effect.request_id == value.request_id:
                    effects += self.take_answer(track, track.sent, value)
        return tuple(effects)

    def deadline_ms(self) -> int | None:
        """Return when it must be stepped if nothing happens before; None if never."""
        return min((it.sent.due_ms for it in self.tracks.values() if it.sent is not None), default=None)

    def busy_count(self) -> int:
        tracks = self.tracks.values()
        return sum(len(it.waiting) + (it.request is not None) for it in tracks)

    # Requests.

    def admit(self, request: MigrationRequest) -> Iterator[Effect]:
        error = bad_request(request)
        if error is None and self.busy_count() >= limits.OP_COUNT_MAX:
            error = TooBusy(self.busy_count(), limits.OP_COUNT_MAX)
        if error is not None:
            yield Reply(request.op_id, Refused(error))
            return
        track = self.tracks.setdefault(request.kind, Track(request.kind))
        track.waiting.append(request)
        yield from self.go_on(track)

    def go_on(self, track: Track) -> Iterator[Effect]:
        """Begin waiting requests, one after the other, until one asks a question."""
        while track.request is None and track.waiting:
            track.request = track.waiting.popleft()
            yield self.take_output(track, steps.begin(track.machine, track.request))

    def take_answer(self, track: Track, sent: Sent, answer: Answer) -> Iterator[Effect]:
        """Pass the result of a question to the machine, or ask for the next page."""
        result = read_answer(sent, answer)
        if isinstance(result, Read):
            sent.asked = result
            yield self.send(sent)
            return
        if result.kind == "ok" and sent.ask.given is not None and not sent.ask.writes:
            view = View(self.seen_ms, self.scope, self.config, 0, 0, True, 1, False, 0, {}, Tiers(), [])
            track.arrival = plan_arrival(track.kind, sent.ask.given, tuple(sent.rows.values()), view)
            missing = track.arrival if isinstance(track.arrival, str) else ""
            result = structs.replace(result, missing=missing)
        yield from self.hear(track, result)

    def hear(self, track: Track, answer: machine.StoreResult) -> Iterator[Effect]:
        yield self.take_output(track, steps.handle_answer(track.machine, answer))
        yield from self.go_on(track)

    def take_output(self, track: Track, stepped: machine.Stepped) -> Effect:
        track.machine, out = stepped
        assert track.request is not None
        if isinstance(out, Ask):
            assert track.machine.job is not None
            asked = self.question_of(track.kind, out, track.arrival)
            track.sent = Sent(out, track.machine.job.step, asked, asked)
            return self.send(track.sent)
        reply = Reply(track.request.op_id, outcome_of(out, track))
        track.request = track.sent = None
        return reply

    # Questions.

    def send(self, sent: Sent) -> Effect:
        self.request_count += 1
        number, asked, key = self.request_count, sent.asked, ""
        if isinstance(asked, Commit) and asked.store == MAIN:
            key = self.key_of(number, asked.writes, asked.expects)
        effect = filled_in(asked, number, self.timeout_ms, "", key)
        assert isinstance(effect, Read | Commit)
        sent.effect, sent.due_ms = effect, self.seen_ms + self.timeout_ms
        return effect

    def question_of(self, kind: str, ask: Ask, arrival: Plan | str = "") -> Read | Commit:
        if ask.only is not None:
            return Read(ByIds((self.address(kind, ask.only),)), ask.store)
        if not ask.writes and ask.given is not None:
            return Read(ByIds(list_own(kind, ask.given, self.scope)), ask.store)
        if not ask.writes:
            tables = KINDS if ask.with_keys else TABLES
            where = (Condition("kind", "eq", kind),)
            return Read(ByFilter(self.scope, tuple(tables.values()), where), ask.store)
        leaves_tombstones = ask.store == MAIN and ask.given is None
        writes = tuple(self.write(kind, key, value, leaves_tombstones) for key, value in ask.writes)
        expects = tuple(Expect(self.address(kind, key), version) for key, version in ask.expects)
        if ask.given is not None and isinstance(arrival, Plan):
            writes, expects = (*writes, *arrival.writes), (*expects, *arrival.expects)
        return Commit(writes, expects, store=ask.store)

    def key_of(self, number: int, writes: tuple[Write, ...], expects: tuple[Expect, ...]) -> str:
        """Return a key unique to this batch, which includes a digest of its content.

        Without the digest, if an incarnation got a used number by mistake, storage would answer its batches
        with the outcomes of earlier ones under the same keys.
        """
        digest = blake2b(encode((writes, expects)), digest_size=8).hexdigest()
        return commit_key(self.scope, self.life, number, digest)

    def address(self, kind: str, key: Key) -> Address:
        table, own_id = key
        if table == "phase":
            return Address(self.scope, "phase", kind)
        return Address(self.scope, KINDS[table], f"{kind}/{own_id}")

    def write(self, kind: str, key: Key, value: str | Once | None, leaves_tombstones: bool) -> Write:
        address, is_kept = self.address(kind, key), leaves_tombstones and key[0] == "row"
        # Deleted rows of main stay as tombstones (law 4 of the package); anything else is deleted.
        return Write(address, None if value is None and not is_kept else body_of(kind, key, address, value))


def body_of(kind: str, key: Key, address: Address, value: str | Once | None) -> Body:
    if isinstance(value, Once) and key[0] == "begun":
        return MovedBegun(address.id, kind, value.id, value.before, value.content)
    if isinstance(value, Once):
        return MovedKey(address.id, kind, value.id, value.content)
    if key[0] == "row":
        return Moved(address.id, kind, value)
    return Outbox(address.id, kind) if key[0] == "outbox" else MigrationPhase(kind, str(value))


# Answers.


def read_answer(sent: Sent, answer: Answer) -> machine.StoreResult | Read:
    """Return the answer as a result of the question, or the question for the next page of a read.

    A page with a damaged or foreign row is a failure. So is a page without a new row or beyond
    READ_PAGE_COUNT_MAX, because a store that repeats pages could keep a read going for ever.
    """
    answer = check_answer(sent.asked, answer)
    if isinstance(answer, Committed):
        return machine.StoreResult("ok")
    if isinstance(answer, EffectFailed):
        is_in_doubt = bool(sent.ask.writes) and answer.kind in ("unknown", "timeout")
        return machine.StoreResult("unknown" if is_in_doubt else "failed")
    assert isinstance(answer, ReadDone)
    assert isinstance(sent.asked, Read)
    judged, known_count = judged_rows(sent.asked, answer, ()), len(sent.rows)
    if judged.failure is not None:
        return machine.StoreResult("failed")
    sent.rows.update((row.address, row) for row in judged.rows)
    following = following_page(sent.asked, answer)
    if following is None:
        rows = in_order(sent.asked, tuple(sent.rows.values()))
        is_of_move = sent.ask.given is None
        return machine.StoreResult("ok", tuple(map(convert_row, rows)) if is_of_move else ())
    if sent.page_count >= limits.READ_PAGE_COUNT_MAX:
        sent.failure = "too_many_rows"
        return machine.StoreResult("failed")
    sent.page_count += 1
    return following if len(sent.rows) > known_count else machine.StoreResult("failed")


def convert_row(row: Row) -> tuple[Key, VersionedValue]:
    """Convert a row of a store to the key and value that the machine uses."""
    match row.body:
        case MigrationPhase(phase=phase):
            return machine.PHASE, VersionedValue(row.version, phase)
        case Moved(id=own_id, kind=kind, content=content):
            return ("row", own_id.removeprefix(f"{kind}/")), VersionedValue(row.version, content)
        case MovedBegun(id=own_id, kind=kind, row_id=row_id, before=before, content=content):
            once = Once(row_id, before, content)
            return ("begun", own_id.removeprefix(f"{kind}/")), VersionedValue(row.version, None, once)
        case MovedKey(id=own_id, kind=kind, row_id=row_id, content=content):
            once = Once(row_id, None, content)
            return ("key", own_id.removeprefix(f"{kind}/")), VersionedValue(row.version, None, once)
        case body:
            assert isinstance(body, Outbox)
            return ("outbox", body.id.removeprefix(f"{body.kind}/")), VersionedValue(row.version, "x")


def outcome_of(reply: machine.MigrationReply, track: Track) -> Outcome:
    if reply.kind == "done":
        degradations = (Degraded(reply.degraded, "unavailable"),) if reply.degraded else ()
        return Done(reply.value, degradations)
    if reply.kind == "unknown":
        return Unknown()
    if reply.kind == "reused":
        return Refused(KeyReused(str(reply.value)))
    if reply.kind == "failed":
        assert track.sent is not None  # a request fails only by a question
        return Failed(StorageFailed(track.sent.step, track.sent.failure, 1))
    return Refused(NotReady(track.kind, track.machine.phase, str(reply.value or "another phase")))
