"""Two stores: rules for main and legacy while rows move from one to the other, checked after every step.

They follow from docs/spec/kelpie.md, part II: they use rows and phases, but not how a migrator works.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Final

import msgspec

from umi_core.answer_checks import is_valid_body
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
from umi_core.rows import Address, Body, Row
from umi_core.values import Scope
from umi_sim.judge.observer import Observer
from umi_sim.judge.oracle.promises import is_foreign
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
# In these phases main is the source of truth and legacy follows; the outbox names the rows to be copied.
WITH_OUTBOX: Final = ("dual_read", "umi_primary", "rolling_back")
# The switches that change which store is the source of truth: both must be equal at that moment.
EQUAL: Final = (("dual_write", "dual_read"), ("rolling_back", "legacy"))
STARTS: Final = ("find", "raise", "read_outbox")  # these steps ask main, which has the phase
HANDED_OVER: Final = ("handing_over", "done")
OF_MOVE: Final = ("moved", "moved_begun", "moved_key", "outbox", "phase")
# Rows of the memory that a hand-over may read and write; it may also read the row of the agent.
OWN: Final[Mapping[str, Sequence[str]]] = {
    "blocks": ("core",), "messages": ("message", "log"), "archival": ("archival", "log", "entity", "ended"),
}  # fmt: skip


class StoresView(Data):
    """The rows of one kind of one agent in both stores. A tombstone in main has no content.

    `begun`: rows that a request with a key may have changed and for which main has no result yet. `keys`: the
    used keys.
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
    moved = [read_bodies(storage, scope, "moved", kind) for storage in (main, legacy)]
    ours, theirs = ({key: it.content for key, it in each.items() if isinstance(it, Moved)} for each in moved)
    outbox, keys = (tuple(read_bodies(main, scope, table, kind)) for table in ("outbox", "moved_key"))
    bodies = read_bodies(main, scope, "moved_begun", kind).values()
    begun = tuple(it.row_id for it in bodies if isinstance(it, MovedBegun))
    return StoresView(phase, ours, theirs, outbox, begun, keys)


def read_bodies(storage: SimStorage, scope: Scope, table: str, kind: str) -> dict[str, Body | None]:
    """Return the rows of a table for a kind of moved rows, by the part of the id after the kind."""
    # The row "blocks/b1" of the table `moved` is about block b1.
    start, ids = f"{kind}/", storage.row_ids.get(scope, {}).get(table, ())
    own_ids = [it for it in ids if it.startswith(start)]
    return {it.removeprefix(start): storage.rows[Address(scope, table, it)].body for it in own_ids}


class Work(Owner):
    """The state of one request in flight.

    `unanswered`: its questions without a valid answer, with the store and the step of each. `pages`: rows of
    the present read by pages. `written`: rows that its batches to main write, by question. `has_written`: it
    has sent a row. `is_keyed`: main must store a key first, its own or that of an earlier write of the row.
    """

    request: MigrationRequest
    unanswered: dict[int, tuple[str, str]] = {}
    pages: set[Address] = set()
    written: dict[int, list[str]] = {}
    has_written: bool = False
    is_keyed: bool = False

    def record_question(self, effect: Read | Commit, step: str, begun: Collection[str]) -> None:
        """Record a question. `begun`: rows with a keyed write whose result main may not have stored."""
        self.unanswered[effect.request_id] = effect.store, step
        if isinstance(effect, Commit):
            ids = [it.address.id.partition("/")[2] for it in effect.writes if it.address.kind == "moved"]
            self.has_written |= bool(ids)
            self.written[effect.request_id] = ids if effect.store == MAIN else []
        if isinstance(self.request, WRITES):
            # A new row of a log waits for all keyed writes, any other write only for those of its own row.
            is_blocked = bool(begun) if isinstance(self.request, AddRow) else self.request.id in begun
            self.is_keyed |= self.request.request_key is not None or is_blocked

    def record_answer(self, asked: Asked, answer: Answer) -> None:
        """Record an answer. A page with a cursor but without a new row counts as a failed read."""
        if isinstance(asked, Read) and isinstance(asked.query, ByFilter) and asked.query.cursor is None:
            self.pages.clear()
        known_count = len(self.pages)
        is_cut = isinstance(answer, ReadDone) and answer.cursor is not None
        if isinstance(answer, ReadDone):
            self.pages.update(row.address for row in answer.rows)
        if is_good(asked, answer) and not (is_cut and len(self.pages) == known_count):
            self.unanswered.pop(answer.request_id, None)


class TwoStores(Observer):
    """Observes all agents of a run.

    `phases`: by agent and kind, the phase after the last step. `doubted`: ids of rows that a batch in doubt
    may still write to main. `keyed`: ids of rows with a key that main may not have stored. `views`: by scope
    and kind, the last view, and how often rows had changed in each store.
    """

    stores: Mapping[str, SimStore] = {}
    views: dict[tuple[Scope, str], tuple[list[int], StoresView]] = {}
    phases: dict[tuple[str, str], str] = {}
    works: dict[str, dict[str, Work]] = msgspec.field(default_factory=lambda: defaultdict(dict))
    doubted: dict[tuple[str, str], dict[str, None]] = msgspec.field(default_factory=lambda: defaultdict(dict))
    keyed: dict[tuple[str, str], dict[str, None]] = msgspec.field(default_factory=lambda: defaultdict(dict))

    def meet(self, stores: Mapping[str, SimStore]) -> None:
        self.stores = stores

    def view(self, scope: Scope, kind: str) -> StoresView:
        """Return the view of a kind; only a change of a row makes a new one, as most steps change none."""
        counts = [it.storage.change_count for it in self.stores.values()]
        known = self.views.get((scope, kind))
        if known is None or known[0] != counts:
            known = self.views[scope, kind] = counts, view_stores(self.stores, scope, kind)
        return known[1]

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
        """Record the rows that an unanswered batch to main may still write."""
        for question in work.unanswered:
            self.doubted[agent, work.request.kind].update(dict.fromkeys(work.written.get(question, ())))

    def observe_step(self, agent: str, scope: Scope, machine: Machine, effects: Sequence[Effect]) -> None:
        works = self.works[agent]
        for effect in effects:
            if isinstance(effect, Read | Commit):
                origin = machine.origin_of(effect)
                work = works[str(origin.op_id)]
                kind = work.request.kind
                begun = self.view(scope, kind).begun
                work.record_question(effect, origin.step, (*begun, *self.keyed[agent, kind]))
            if isinstance(effect, Commit):
                check_commit(effect, scope, [it.request.kind for it in works.values()])
        for (whose, kind), before in self.phases.items():
            if whose == agent:
                now = self.view(scope, kind)
                check_phase(now, before, f"{kind} of {agent}")
                self.phases[agent, kind] = now.phase

    def observe_reply(self, agent: str, scope: Scope, op_id: str, outcome: Outcome) -> None:
        """Check a reply before the oracle does: the stores show more than a client sees."""
        work = self.works[agent].pop(op_id, None)
        if work is None or work.request.kind not in KINDS:
            return
        request = work.request
        now, doubted = self.view(scope, request.kind), self.doubted[agent, request.kind]
        if isinstance(outcome, Done):
            check_done(op_id, work, outcome, now, doubted)
        elif isinstance(outcome, Failed | Unknown):
            check_failure(op_id, work, now)
        elif isinstance(request, OF_ROWS) and isinstance(outcome.error, NotReady):
            message = f"the phase in which {op_id} is refused since the memory has the rows"
            demand(now.phase in HANDED_OVER, rules.MIGRATION_ARRIVES, message, HANDED_OVER, now.phase)
        self.doubt(agent, work)
        is_in_doubt = isinstance(outcome, Unknown) or (isinstance(outcome, Done) and outcome.degraded)
        if is_in_doubt and isinstance(request, PutRow | DropRow):
            # The batch to main may become durable after this reply; until then the stores may differ.
            doubted[request.id] = None
        if is_in_doubt and isinstance(request, WRITES) and request.request_key is not None:
            # An added row has no id before it is stored, hence "". Any later row of its log waits for it.
            self.keyed[agent, request.kind][getattr(request, "id", "")] = None


def check_done(op_id: str, work: Work, done: Done, now: StoresView, doubted: Mapping[str, None]) -> None:
    """Check a reply against the stores; a request that repeats another one has written nothing."""
    match work.request, done.value:
        case PutRow() | DropRow() as request, _ if work.has_written:
            content = request.content if isinstance(request, PutRow) else None
            check_write(op_id, request.id, content, now)
            check_mirrored(op_id, request.id, content, now, done)
        case AddRow(content=content), own_id if work.has_written:
            check_write(op_id, str(own_id), content, now)
        case ReadRow(id=own_id), content if done.degraded:
            check_fallback(op_id, {own_id: content}, now)
        case ListRows(), RowsListed(rows=rows) if done.degraded:
            check_fallback(op_id, dict.fromkeys(now.main) | dict(rows), now)
        case CompareStores(), StoresCompared() as report:
            check_report(op_id, report, now, doubted)


def is_good(asked: Asked, answer: Answer) -> bool:
    """Return True if an answer is valid: no row is damaged, and every row was requested."""
    if not isinstance(asked, Read) or not isinstance(answer, ReadDone):
        return isinstance(answer, Committed)
    if isinstance(asked.query, ByIds):
        return all(row.address in asked.query.addresses and is_sound(row) for row in answer.rows)
    assert isinstance(asked.query, ByFilter)
    # A page has one kind of moved rows, which its only condition names.
    query, kinds = asked.query, [str(condition.value) for condition in asked.query.where]
    rows = [(it, getattr(it.body, "kind", "")) for it in answer.rows]
    return all(not is_foreign(query, it) and is_sound(it) and kind in kinds for it, kind in rows)


def is_sound(row: Row) -> bool:
    """Return True if the body of a row fits its address, and is complete."""
    body, address = row.body, row.address
    if body is None or not is_valid_body(body):
        return False
    return body.row_kind == address.kind and body.own_id() in (None, address.id)


def check_commit(commit: Commit, scope: Scope, asked: Sequence[str]) -> None:
    """Demand that a batch is about one kind of rows of one agent, and that a batch to main expects the phase.

    `asked`: the kinds of the requests in flight. Without that fence a batch could land after a switch.
    """
    written = [it.address for it in commit.writes]
    addresses = [*written, *(it.address for it in commit.expects)]
    kinds = sorted({it.id.partition("/")[0] for it in addresses if it.kind in OF_MOVE})
    allowed = (*OF_MOVE, *(kind for each in kinds for kind in OWN.get(each, ())))
    strange = [it for it in addresses if it.kind not in allowed and (it in written or it.kind != "epoch")]
    is_own = all(each.scope == scope for each in addresses) and not strange
    message = "the rows of a batch, all of one kind that a request is about, and of its agent"
    demand(is_own and len(kinds) == 1 and kinds[0] in asked, rules.PHASES_APART, message, asked, addresses)
    # If a batch planned in dual_write were committed in dual_read, the outbox would not name the row.
    is_fenced = commit.store != MAIN or any(each.address.kind == "phase" for each in commit.expects)
    message = "a batch to main does not expect the phase that it was planned in"
    demand(is_fenced, rules.ONE_TRUTH, message, "", commit.expects)


def check_phase(now: StoresView, before: str, whose: str) -> None:
    differing = now.differing() if (before, now.phase) in EQUAL or now.phase in WITH_OUTBOX else []
    message = f"{whose} went from {before} to {now.phase} while rows differ between the stores"
    demand((before, now.phase) not in EQUAL or not differing, rules.SWITCH_WHEN_EQUAL, message, [], differing)
    if whose.startswith(LOGS):
        check_log(now, whose)
    left = (*now.main, *now.outbox, *now.begun, *now.keys) if now.phase == "done" else ()
    message = f"the move of {whose} is done, and rows of it are left"
    demand(not left, rules.MIGRATION_ARRIVES, message, (), left)
    # The outbox must name a row from its write to main until it is in legacy.
    missing = [own_id for own_id in differing if own_id not in now.outbox] if now.phase in WITH_OUTBOX else []
    message = f"in {now.phase} legacy lacks {whose} that the outbox does not name"
    demand(not missing, rules.OUTBOX_COMPLETE, message, now.outbox, missing)


def check_log(now: StoresView, whose: str) -> None:
    """Demand that the numbers of a log are 1, 2, 3 ... in both stores, except during purge and hand-over."""
    for store, rows in ((MAIN, now.main), (LEGACY, now.legacy)):
        # Three rows are 1, 2 and 3. A store that is being purged may have any of them.
        expected = [f"{number:012}" for number in range(1, len(rows) + 1)]
        is_purged = now.phase in HANDED_OVER or (store == LEGACY and now.phase == "cleanup")
        message = f"in {now.phase} the numbers of {whose} in {store}"
        demand(is_purged or sorted(rows) == expected, rules.NO_GAPS, message, expected, sorted(rows))


def check_write(op_id: str, own_id: str, expected: str | None, now: StoresView) -> None:
    got = (now.legacy if now.truth == LEGACY else now.main).get(own_id)
    message = f"what {now.truth} has of row {own_id}, which {op_id} has written in {now.phase}"
    demand(got == expected, rules.ONE_TRUTH, message, expected, got)


def check_mirrored(op_id: str, own_id: str, expected: str | None, now: StoresView, done: Done) -> None:
    """Demand that a write to legacy is in main as well, or reported as missing there.

    Reads do not show this, since they use legacy. An added row of a log is exempt: it may wait for earlier
    rows without a report.
    """
    got = now.main.get(own_id)
    is_reported = now.phase != "dual_write" or bool(done.degraded)
    message = f"what main has of row {own_id}, which {op_id} has written to legacy"
    demand(is_reported or got == expected, rules.MIRROR_TOLD, message, expected, got)


def check_fallback(op_id: str, shown: Mapping[str, object], now: StoresView) -> None:
    """Demand that a read from legacy alone shows no row that has another content in main."""
    other = [own_id for own_id, it in shown.items() if own_id in now.main and now.main[own_id] != it]
    message = f"{op_id} was read from legacy, and main has other contents of these rows"
    demand(not other, rules.FALLBACK_SEES_SETTLED, message, [], other)


def check_failure(op_id: str, work: Work, now: StoresView) -> None:
    """Demand that a failure has a cause: the store that is the source of truth has failed.

    Main counts as well if it has to store a key first, and in steps that read the phase.
    """
    # For a keyed write in dual_write, legacy is the source of truth, but main has to store the key first.
    asked, failed = (now.truth, MAIN) if work.is_keyed else (now.truth,), [*work.unanswered.values()]
    if not isinstance(work.request, OF_ROWS):
        asked = MAIN, LEGACY  # it asks both
    has_reason = any(store in asked or step in STARTS for store, step in failed)
    message = f"{op_id} fails in {now.phase}; the stores that have failed it"
    demand(has_reason, rules.STORE_FAILURE_CONTAINED, message, asked, failed)


def check_report(op_id: str, report: StoresCompared, now: StoresView, doubted: Mapping[str, None]) -> None:
    """Demand that a report lists exactly the differences, except for rows in flight."""
    differing = now.differing()
    listed = (*report.missing_in_main, *report.missing_in_legacy, *report.different)
    on_its_way = {**dict.fromkeys((*now.outbox, *report.unsettled)), **doubted}
    # A row in the outbox differs only temporarily and need not be listed.
    hidden = [own_id for own_id in differing if own_id not in listed and own_id not in on_its_way]
    demand(not hidden, rules.REPORT_HONEST, f"{op_id} does not report rows that differ", hidden, report)
    invented = [own_id for own_id in listed if own_id not in differing and own_id not in doubted]
    demand(not invented, rules.REPORT_HONEST, f"{op_id} reports rows that do not differ", invented, report)
