"""Two stores: rules for main and legacy while rows move from one to the other, after every step.

Read from docs/spec/kelpie.md, part II, alone: it knows rows and phases, and nothing of how a migrator works.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from umi_core.answer_checks import is_whole_body
from umi_core.data import Data, Owner
from umi_core.messages.answers import Answer, Committed, ReadDone
from umi_core.messages.effects import (
    MAIN,
    Asked,
    ByFilter,
    ByIds,
    Commit,
    Done,
    Effect,
    Failed,
    Outcome,
    Read,
    Refused,
    Unknown,
)
from umi_core.messages.requests import Request
from umi_core.migration.requests import (
    AddRow,
    CompareStores,
    DropRow,
    ListRows,
    MigrationRequest,
    NotReady,
    PutRow,
    ReadRow,
    RowsListed,
    StoresCompared,
)
from umi_core.migration.rows import MigrationPhase, Moved, MovedBegun
from umi_core.rows import Address, Row
from umi_core.values import Scope
from umi_sim.judge.observer import Observer
from umi_sim.machines.protocol import Machine
from umi_sim.record import rules
from umi_sim.record.broken import demand
from umi_sim.services.calls import Call
from umi_sim.services.storage import SimStorage
from umi_sim.services.stores import SimStore

LEGACY: Final = "legacy"
KINDS: Final = ("blocks", "messages", "archival")
LOGS: Final = ("messages",)
WRITES: Final = (PutRow, DropRow, AddRow)
OF_ROWS: Final = (*WRITES, ReadRow, ListRows)
OF_LEGACY: Final = ("legacy", "dual_write")
# In these phases main has the truth and legacy follows: what it lacks is named in the outbox.
WITH_OUTBOX: Final = ("dual_read", "umi_primary", "rolling_back")
# The switches that change which store has the truth: at that moment both must say the same.
EQUAL: Final = (("dual_write", "dual_read"), ("rolling_back", "legacy"))
STARTS: Final = ("find", "raise", "read_outbox")  # without main there is no phase, and nothing is done
HANDED_OVER: Final = ("handing_over", "done")
OF_MOVE: Final = ("moved", "moved_begun", "moved_key", "outbox", "phase")
# Rows of the memory that a hand-over may read and write, beside the row that says that the agent is open.
OWN: Final[Mapping[str, Sequence[str]]] = {
    "blocks": ("core",), "messages": ("message", "log"), "archival": ("archival", "log", "entity", "ended"),
}  # fmt: skip


class StoresView(Data):
    """The rows of one kind of one agent in both stores. A tombstone in main has no content.

    `begun`: rows of which main does not say yet whether a request with a key has changed them. `keys`: those
    that were used.
    """

    phase: str
    main: Mapping[str, str | None]
    legacy: Mapping[str, str | None]
    outbox: tuple[str, ...]
    begun: tuple[str, ...]
    keys: tuple[str, ...]

    @property
    def truth(self) -> str:
        return LEGACY if self.phase in OF_LEGACY else MAIN

    def differing(self) -> list[str]:
        ids = sorted({**self.main, **self.legacy})
        return [own_id for own_id in ids if self.main.get(own_id) != self.legacy.get(own_id)]


def view_stores(stores: Mapping[str, SimStore], scope: Scope, kind: str) -> StoresView:
    main, legacy = stores[MAIN].storage, stores[LEGACY].storage
    row = main.rows.get(Address(scope, "phase", kind))
    phase = row.body.phase if row is not None and isinstance(row.body, MigrationPhase) else LEGACY
    outbox = tuple(ids_of(main, scope, "outbox", kind))
    begun, keys = tuple(begun_in(main, scope, kind)), tuple(ids_of(main, scope, "moved_key", kind))
    return StoresView(phase, contents(main, scope, kind), contents(legacy, scope, kind), outbox, begun, keys)


def begun_in(storage: SimStorage, scope: Scope, kind: str) -> Iterator[str]:
    for key in ids_of(storage, scope, "moved_begun", kind):
        body = storage.rows[Address(scope, "moved_begun", f"{kind}/{key}")].body
        assert isinstance(body, MovedBegun)
        yield body.row_id


def ids_of(storage: SimStorage, scope: Scope, table: str, kind: str) -> Iterator[str]:
    start = f"{kind}/"
    ids = storage.shelves.get(scope, {}).get(table, ())
    return (own_id.removeprefix(start) for own_id in ids if own_id.startswith(start))


def contents(storage: SimStorage, scope: Scope, kind: str) -> dict[str, str | None]:
    found = {}
    for own_id in ids_of(storage, scope, "moved", kind):
        body = storage.rows[Address(scope, "moved", f"{kind}/{own_id}")].body
        assert isinstance(body, Moved)
        found[own_id] = body.content
    return found


class Work(Owner):
    """The state of one request in flight.

    `unheard`: its questions without a good answer, with the store and the step of each. `pages`: rows of the
    read that goes on page by page. `written`: rows that its batches to main are about, by the question.
    `has_written`: it has sent a row. `is_keyed`: main has to hear of a key first, its own or that of an
    earlier write of this row.
    """

    request: MigrationRequest
    unheard: dict[int, tuple[str, str]] = {}
    pages: set[Address] = set()
    written: dict[int, list[str]] = {}
    has_written: bool = False
    is_keyed: bool = False

    def record_question(self, effect: Read | Commit, step: str, begun: Collection[str]) -> None:
        """Record a question. `begun`: rows of which main may not have heard how a keyed write ended."""
        self.unheard[effect.request_id] = effect.store, step
        if isinstance(effect, Commit):
            ids = [it.address.id.partition("/")[2] for it in effect.writes if it.address.kind == "moved"]
            self.has_written |= bool(ids)
            self.written[effect.request_id] = ids if effect.store == MAIN else []
        if isinstance(self.request, WRITES):
            # a new row of a log waits for all keyed writes, any other write for those of its own row
            is_held_up = bool(begun) if isinstance(self.request, AddRow) else self.request.id in begun
            self.is_keyed |= self.request.request_key is not None or is_held_up

    def record_answer(self, asked: Asked, answer: Answer) -> None:
        """Record an answer. A page with a cursor and without a new row leads nowhere: its read has failed."""
        if isinstance(asked, Read) and isinstance(asked.query, ByFilter) and asked.query.cursor is None:
            self.pages.clear()
        known_count = len(self.pages)
        is_cut = isinstance(answer, ReadDone) and answer.cursor is not None
        if isinstance(answer, ReadDone):
            self.pages.update(row.address for row in answer.rows)
        if is_good(asked, answer) and not (is_cut and len(self.pages) == known_count):
            self.unheard.pop(answer.request_id, None)


class TwoStores(Observer):
    """Observes all agents of a run.

    `phases`: as they were last seen. `doubted`: ids of rows of which a write to main may still land; `keyed`:
    those of which a migrator may not know that main has heard of a key.
    """

    stores: Mapping[str, SimStore] = {}
    phases: dict[tuple[str, str], str] = {}
    works: dict[str, dict[str, Work]] = msgspec.field(default_factory=lambda: defaultdict(dict))
    doubted: dict[tuple[str, str], dict[str, None]] = msgspec.field(default_factory=lambda: defaultdict(dict))
    keyed: dict[tuple[str, str], dict[str, None]] = msgspec.field(default_factory=lambda: defaultdict(dict))

    def meet(self, stores: Mapping[str, SimStore]) -> None:
        self.stores = stores

    def observe_request(self, agent: str, op_id: str, request: Request) -> None:
        assert isinstance(request, MigrationRequest)
        self.works[agent][op_id] = Work(request)
        if request.kind in KINDS:
            self.phases.setdefault((agent, request.kind), LEGACY)

    def observe_answer(self, call: Call, answer: Answer, scope: Scope) -> None:
        work = self.works[call.agent].get(call.op_id)
        if work is not None:
            work.record_answer(call.effect, answer)

    def observe_crash(self, agent: str) -> None:
        for work in self.works.pop(agent, {}).values():
            self.doubt(agent, work)

    def doubt(self, agent: str, work: Work) -> None:
        """Note rows that a batch may still write, between the read of a report and its reply."""
        for question in work.unheard:
            self.doubted[agent, work.request.kind].update(dict.fromkeys(work.written.get(question, ())))

    def observe_step(self, agent: str, scope: Scope, machine: Machine, effects: Sequence[Effect]) -> None:
        works = self.works[agent]
        for effect in effects:
            if isinstance(effect, Read | Commit):
                origin = machine.origin_of(effect)
                work = works[str(origin.op_id)]
                kind = work.request.kind
                begun = view_stores(self.stores, scope, kind).begun
                work.record_question(effect, origin.step, (*begun, *self.keyed[agent, kind]))
            if isinstance(effect, Commit):
                check_commit(effect, scope, [it.request.kind for it in works.values()])
        for (whose, kind), before in self.phases.items():
            if whose == agent:
                now = view_stores(self.stores, scope, kind)
                check_phase(now, before, f"{kind} of {agent}")
                self.phases[agent, kind] = now.phase

    def observe_reply(self, agent: str, scope: Scope, op_id: str, outcome: Outcome) -> None:
        """Check a reply before the oracle does, since the stores show more than a client sees."""
        work = self.works[agent].pop(op_id, None)
        if work is None or work.request.kind not in KINDS:
            return
        request = work.request
        now, doubted = view_stores(self.stores, scope, request.kind), self.doubted[agent, request.kind]
        if isinstance(outcome, Done):
            check_done(op_id, work, outcome, now, doubted)
        elif isinstance(outcome, Failed | Unknown):
            check_failure(op_id, work, now)
        elif isinstance(request, OF_ROWS) and is_not_ready(outcome):
            message = f"{op_id} is sent to the memory, which does not have the rows yet"
            demand(now.phase in HANDED_OVER, rules.MIGRATION_ARRIVES, message, HANDED_OVER, now.phase)
        self.doubt(agent, work)
        is_in_doubt = isinstance(outcome, Unknown) or (isinstance(outcome, Done) and outcome.degraded)
        if is_in_doubt and isinstance(request, PutRow | DropRow):
            # the batch to main may land after this reply: until then the stores may differ by this row
            doubted[request.id] = None
        if is_in_doubt and isinstance(request, WRITES) and request.request_key is not None:
            # An added row has no id before it is stored, hence "": it holds up any later one of its log.
            self.keyed[agent, request.kind][getattr(request, "id", "")] = None


def is_not_ready(outcome: Outcome) -> bool:
    return isinstance(outcome, Refused) and isinstance(outcome.error, NotReady)


def check_done(op_id: str, work: Work, done: Done, now: StoresView, doubted: Mapping[str, None]) -> None:
    """Check a reply against the stores; a request repeated under its key has written nothing."""
    match work.request, done.value:
        case PutRow(id=own_id, content=content), _ if work.has_written:
            check_write(op_id, own_id, content, now)
            check_mirrored(op_id, own_id, content, now, done)
        case DropRow(id=own_id), _ if work.has_written:
            check_write(op_id, own_id, None, now)
            check_mirrored(op_id, own_id, None, now, done)
        case AddRow(content=content), own_id if work.has_written:
            check_write(op_id, str(own_id), content, now)
        case ReadRow(id=own_id), content if done.degraded:
            check_fallback(op_id, {own_id: content}, now)
        case ListRows(), RowsListed(rows=rows) if done.degraded:
            check_fallback(op_id, dict.fromkeys(now.main) | dict(rows), now)
        case CompareStores(), StoresCompared() as report:
            check_report(op_id, report, now, doubted)


def is_good(asked: Asked, answer: Answer) -> bool:
    """Return True if an answer is right: a row may be damaged, or another one than was asked for."""
    if not isinstance(asked, Read) or not isinstance(answer, ReadDone):
        return isinstance(answer, Committed)
    if isinstance(asked.query, ByIds):
        return all(row.address in asked.query.addresses and is_sound(row) for row in answer.rows)
    assert isinstance(asked.query, ByFilter)
    # A page is of one kind of moved rows, which its only condition names.
    kinds = [str(condition.value) for condition in asked.query.where]
    return all(is_row_of(asked.query, kinds, row) for row in answer.rows)


def is_row_of(query: ByFilter, kinds: Sequence[str], row: Row) -> bool:
    body, address = row.body, row.address
    is_near = address.scope == query.scope and address.kind in query.kinds
    return is_near and is_sound(row) and getattr(body, "kind", "") in kinds


def is_sound(row: Row) -> bool:
    """Return True if a row can lie where it does."""
    body, address = row.body, row.address
    if body is None or not is_whole_body(body):
        return False
    return body.row_kind == address.kind and body.own_id() in (None, address.id)


def check_commit(commit: Commit, scope: Scope, due: Sequence[str]) -> None:
    """Demand that a batch is about one kind of one agent, and in main behind the fence.

    Without the fence it could land after a switch of the phase.
    """
    written = [it.address for it in commit.writes]
    addresses = [*written, *(it.address for it in commit.expects)]
    kinds = sorted({it.id.partition("/")[0] for it in addresses if it.kind in OF_MOVE})
    allowed = (*OF_MOVE, *(kind for each in kinds for kind in OWN.get(each, ())))
    strange = [it for it in addresses if it.kind not in allowed and (it in written or it.kind != "epoch")]
    is_own = all(each.scope == scope for each in addresses) and not strange
    message = "a batch is about another kind of rows than was asked about, or another agent's"
    demand(is_own and len(kinds) == 1 and kinds[0] in due, rules.PHASES_APART, message, due, addresses)
    # planned in dual_write, lands in dual_read: without the fence the row would miss the outbox
    is_fenced = commit.store != MAIN or any(each.address.kind == "phase" for each in commit.expects)
    message = "a batch to main does not expect the phase that it was planned in"
    demand(is_fenced, rules.ONE_TRUTH, message, "", commit.expects)


def check_phase(now: StoresView, before: str, whose: str) -> None:
    differing = now.differing() if (before, now.phase) in EQUAL or now.phase in WITH_OUTBOX else []
    message = f"{whose} went from {before} to {now.phase} while the stores differ"
    demand((before, now.phase) not in EQUAL or not differing, rules.SWITCH_WHEN_EQUAL, message, "", differing)
    if whose.startswith(LOGS):
        check_log(now, whose)
    left = (*now.main, *now.outbox, *now.begun, *now.keys) if now.phase == "done" else ()
    demand(not left, rules.MIGRATION_ARRIVES, f"{whose} are done, and rows of the move are left", (), left)
    # written to main, not yet to legacy: the outbox has to name the row until legacy has it
    untold = [own_id for own_id in differing if own_id not in now.outbox] if now.phase in WITH_OUTBOX else []
    message = f"in {now.phase} legacy lacks {whose}, and the outbox does not say so"
    demand(not untold, rules.OUTBOX_COMPLETE, message, now.outbox, untold)


def check_log(now: StoresView, whose: str) -> None:
    """Demand that numbers are dense from 1 in both stores; a purge of legacy and a hand-over remove some."""
    for store, rows in ((MAIN, now.main), (LEGACY, now.legacy)):
        # three rows are 1, 2 and 3; a legacy that is purged in the end may lack any of them
        due = [f"{number:012}" for number in range(1, len(rows) + 1)]
        is_purged = now.phase in HANDED_OVER or (store == LEGACY and now.phase == "cleanup")
        message = f"in {now.phase} {store} has a gap in the {whose}"
        demand(is_purged or sorted(rows) == due, rules.NO_GAPS, message, due[-1:], sorted(rows))


def check_write(op_id: str, own_id: str, due: str | None, now: StoresView) -> None:
    got = (now.legacy if now.truth == LEGACY else now.main).get(own_id)
    message = f"{op_id} is done in {now.phase}, and {now.truth} has not got it"
    demand(got == due, rules.ONE_TRUTH, message, due, got)


def check_mirrored(op_id: str, own_id: str, due: str | None, now: StoresView, done: Done) -> None:
    """Demand that a write done in legacy is in main too, or reported as missing there.

    Reads do not show it: legacy has the truth. A log waits for earlier rows without a report.
    """
    got = now.main.get(own_id)
    is_told = now.phase != "dual_write" or bool(done.degraded)
    demand(is_told or got == due, rules.MIRROR_TOLD, f"{op_id} is done, and main does not know", due, got)


def check_fallback(op_id: str, shown: Mapping[str, object], now: StoresView) -> None:
    other = [own_id for own_id, it in shown.items() if own_id in now.main and now.main[own_id] != it]
    message = f"{op_id} was read from legacy, and main has something else"
    demand(not other, rules.FALLBACK_SEES_SETTLED, message, other, shown)


def check_failure(op_id: str, work: Work, now: StoresView) -> None:
    """Demand that a failure has a cause: the store that has the truth has failed.

    Any store counts while the phase is unknown, and main if it has to hear of a key first.
    """
    # a keyed write in dual_write: legacy has the truth, but main has to hear of the key first
    due, failed = (now.truth, MAIN) if work.is_keyed else (now.truth,), [*work.unheard.values()]
    if not isinstance(work.request, OF_ROWS):
        due = MAIN, LEGACY  # it asks both
    has_reason = any(store in due or step in STARTS for store, step in failed)
    message = f"{op_id} fails in {now.phase}, and no store that it needs has failed"
    demand(has_reason, rules.STORE_FAILURE_CONTAINED, message, due, failed)


def check_report(op_id: str, report: StoresCompared, now: StoresView, doubted: Mapping[str, None]) -> None:
    """Demand that a report lists all differences and no others, but for rows on their way."""
    differing = now.differing()
    listed = (*report.missing_in_main, *report.missing_in_legacy, *report.different)
    on_its_way = {**dict.fromkeys((*now.outbox, *report.unsettled)), **doubted}
    # a row in the outbox differs for now, and need not be listed
    hidden = [own_id for own_id in differing if own_id not in listed and own_id not in on_its_way]
    demand(not hidden, rules.REPORT_HONEST, f"{op_id} does not tell what differs", hidden, report)
    invented = [own_id for own_id in listed if own_id not in differing and own_id not in doubted]
    demand(not invented, rules.REPORT_HONEST, f"{op_id} tells of differences that are none", invented, report)
