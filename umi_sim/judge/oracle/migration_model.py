"""Judge rows that move between two stores, and their request keys."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import structs

from umi_core.data import Owner
from umi_core.errors import KeyReused
from umi_core.messages.effects import Done, Refused, Unknown
from umi_core.messages.requests import bad_request
from umi_core.migration.requests import (
    AddRow,
    AdvanceMigration,
    CompareStores,
    DropRow,
    ListRows,
    Mirror,
    NotReady,
    Purge,
    PutRow,
    ReadRow,
    Reconcile,
    RollBack,
    RowsListed,
    StoresCompared,
)
from umi_sim.judge.oracle.model import Ending, OracleModel
from umi_sim.record import rules
from umi_sim.record.broken import demand

# Request keys of rows that move: under one key rows change once, and every later reply equals the first one.
#
# This holds across phases: a key that was used before a switch still counts after it.


RowWrite = PutRow | DropRow | AddRow
WRITES: Final = (PutRow, DropRow, AddRow)


def drop_op_id(request: RowWrite) -> RowWrite:
    """Return the request without its op_id, for comparing it with others under its key."""
    return structs.replace(request, op_id=0)


class Use(Owner):
    """The requests under one key. `asked`: all of them; `doubted`: those with an unknown outcome.

    `done`: the request that was acknowledged, with its value.
    """

    asked: list[RowWrite] = []
    doubted: list[RowWrite] = []
    done: tuple[RowWrite, object] | None = None


class MovedKeys(Owner):
    """Request keys; each kind of rows has a namespace of its own."""

    uses: dict[tuple[str, str], Use] = {}

    def use(self, request: RowWrite) -> Use:
        """Return the requests under the key of this request; a new use if it has no key."""
        if request.request_key is None:
            return Use()
        return self.uses.setdefault((request.kind, request.request_key), Use())

    def begin(self, request: RowWrite) -> None:
        self.use(request).asked.append(drop_op_id(request))

    def is_doubted(self, request: RowWrite) -> bool:
        return drop_op_id(request) in self.use(request).doubted

    def doubt(self, request: RowWrite) -> None:
        self.use(request).doubted.append(drop_op_id(request))

    def judge_done(self, op_id: str, request: RowWrite, value: object) -> bool:
        """Return True for the first reply under this key; demand that later ones equal it."""
        use, got = self.use(request), (drop_op_id(request), value)
        if use.done is None:
            use.done = got
            return True
        message = f"request and reply of {op_id}, whose key is done"
        demand(got == use.done, rules.KEY_ONCE_ACROSS_PHASES, message, use.done, got)
        return False

    def judge_reused(self, op_id: str, request: RowWrite) -> None:
        use, own = self.use(request), drop_op_id(request)
        # As long as none is acknowledged, a refusal is also right for the
        # request that was sent first: the other may have been carried out.
        has_reason = any(it != own for it in use.asked) and (use.done is None or use.done[0] != own)
        message = f"{op_id} is refused, though no other request has used its key"
        demand(has_reason, rules.KEY_ONCE_ACROSS_PHASES, message, own, use.asked)


# The model of rows that move between two stores. It uses neither phases nor stores, only what clients see.
#
# Law 1. A read shows the last acknowledged content, or that of a write with an unknown outcome; from then on
# the shown content counts. Since one model judges all phases, clients must not notice the phases.
# Law 2. Requests of one kind of rows are carried out in the order in which they were issued.


LOG: Final = "messages"
ENDS: Final = {RollBack: ("legacy", "cleanup", "handing_over", "done"), AdvanceMigration: ("done",)}
"""By request, the phases in which it may be refused for good."""
# legacy -> dual_write -> dual_read -> umi_primary -> cleanup -> done
FORWARD_COUNT: Final = 5  # switches from legacy to done
AuditRead = tuple[str, dict[str, object]]
Place = tuple[str, str]  # kind and id


class KnownRow(Owner):
    """A row as clients know it. `may_be`: contents of writes with an unknown outcome.

    `repeated`: contents of requests that repeated another one with its key, and changed nothing.
    """

    content: str | None = None
    may_be: list[str | None] = []
    repeated: list[str | None] = []


class KnownLog(Owner):
    """A log as clients know it: contents by id. `loose`: contents that may have been added.

    `repeated`: contents of requests that repeated another one with its key.
    """

    contents: dict[str, str] = {}
    loose: list[str] = []
    repeated: list[str] = []


def content_of(request: RowWrite) -> str | None:
    return None if isinstance(request, DropRow) else request.content


class MigrationModel(OracleModel):
    """Judges the replies of a migrator. `open`: writes in flight."""

    judges = (
        *WRITES, ReadRow, ListRows, AdvanceMigration, RollBack, Reconcile, Mirror, Purge, CompareStores,
    )  # fmt: skip

    def __init__(self) -> None:
        self.rows: dict[Place, KnownRow] = {}
        self.open: dict[str, RowWrite] = {}
        self.log = KnownLog()
        self.keys = MovedKeys()

    def row(self, place: Place) -> KnownRow:
        return self.rows.setdefault(place, KnownRow())

    def observe_request(self, op_id: str, request: Any, now_ms: int) -> None:
        if isinstance(request, WRITES) and bad_request(request) is None:
            self.open[op_id] = request
            self.keys.begin(request)

    def observe_crash(self) -> None:
        """Record that writes without a reply may have been carried out."""
        for each in self.open.values():
            self.note_doubt(each)
        self.open.clear()

    def note_doubt(self, request: RowWrite) -> None:
        if self.keys.use(request).done is not None:
            return  # the key is done already, so this attempt changes nothing
        if not isinstance(request, AddRow):
            self.row((request.kind, request.id)).may_be.append(content_of(request))
        elif not self.keys.is_doubted(request):
            self.log.loose.append(request.content)
        self.keys.doubt(request)

    def observe_reply(self, ending: Ending) -> None:
        request, outcome = ending.request, ending.outcome
        if bad_request(request) is not None:
            return
        if isinstance(request, WRITES):
            self.judge_write(ending, self.open.pop(ending.op_id))
        elif isinstance(request, ReadRow) and isinstance(outcome, Done):
            self.judge_read(ending, (request.kind, request.id), outcome.value)
        elif isinstance(request, ListRows) and (listed := ending.value(RowsListed)) is not None:
            self.judge_list(ending, request.kind, dict(listed.rows))
        elif isinstance(request, CompareStores) and isinstance(outcome, Done):
            ending.value(StoresCompared)
        elif isinstance(outcome, Refused):
            must_lead_on(ending, outcome)

    def judge_write(self, ending: Ending, request: RowWrite) -> None:
        op_id, outcome = ending.op_id, ending.outcome
        if isinstance(outcome, Unknown):
            self.note_doubt(request)
        elif isinstance(outcome, Refused) and isinstance(outcome.error, KeyReused):
            self.keys.judge_reused(op_id, request)
        elif isinstance(outcome, Done):
            # A repeated request gets the reply of the first one and changes nothing.
            is_first = self.keys.judge_done(op_id, request, outcome.value)
            if isinstance(request, AddRow):
                self.judge_add(op_id, request, str(outcome.value), is_first=is_first)
            else:
                self.take_write(request, is_first=is_first)

    def take_write(self, request: PutRow | DropRow, *, is_first: bool) -> None:
        """Apply an acknowledged write; if an earlier attempt is in doubt, that one may have written."""
        place, content = (request.kind, request.id), content_of(request)
        if not is_first:
            self.row(place).repeated.append(content)
        elif self.keys.is_doubted(request):
            self.row(place).may_be.append(content)
        else:
            self.rows[place] = KnownRow(content)

    def judge_add(self, op_id: str, request: AddRow, own_id: str, *, is_first: bool) -> None:
        """Demand an id above all acknowledged ones, unless an earlier attempt may have added the row."""
        content, last = request.content, max(self.log.contents, default="")
        if not is_first:
            self.log.repeated.append(content)
            return
        if self.keys.is_doubted(request):
            self.judge_added_once(op_id, content, own_id)
            return
        message = f"the id of the row that {op_id} added"
        demand(own_id > last, rules.MESSAGE_LOG_COMPLETE, message, f"above {last}", own_id)
        self.log.contents[own_id] = content

    def judge_added_once(self, op_id: str, content: str, own_id: str) -> None:
        if self.log.contents.get(own_id) == content:
            return
        message = f"the content that {op_id} added as {own_id}"
        is_new = own_id not in self.log.contents and content in self.log.loose
        demand(is_new, rules.KEY_ONCE_ACROSS_PHASES, message, self.log.contents.get(own_id), content)
        self.log.loose.remove(content)
        self.log.contents[own_id] = content
        self.log.repeated.append(content)

    def judge_list(self, ending: Ending, kind: str, listed: dict[str, str]) -> None:
        if kind != LOG:
            for place in [*self.rows, *((kind, own_id) for own_id in listed)]:
                if place[0] == kind:
                    self.judge_read(ending, place, listed.get(place[1]))
            return
        expected = [f"{number:012}" for number in range(1, len(listed) + 1)]
        message = f"the ids of the messages that {ending.op_id} lists"
        demand([*listed] == expected, rules.MESSAGE_LOG_COMPLETE, message, expected, [*listed])
        lost = [own_id for own_id in self.log.contents if own_id not in listed]
        message = f"{ending.op_id} does not list acknowledged messages"
        demand(not lost, rules.READS_NEVER_GO_BACK, message, [], lost)
        for own_id, content in listed.items():
            self.judge_message(ending, own_id, content)

    def judge_message(self, ending: Ending, own_id: str, content: object) -> None:
        """Judge a message that a read shows; it may settle a write with an unknown outcome."""
        known, loose = self.log.contents.get(own_id), self.log.loose
        is_known = content == known or (known is None and content in loose)
        message = f"{ending.op_id}: the content of message {own_id}"
        is_twice = content in self.log.repeated
        rule = rules.KEY_ONCE_ACROSS_PHASES if is_twice else rules.READS_NEVER_GO_BACK
        demand(is_known, rule, message, known if known is not None else loose, content)
        if known is None and content is not None:
            loose.remove(str(content))
            self.log.contents[own_id] = str(content)

    def judge_read(self, ending: Ending, place: Place, content: object) -> None:
        if place[0] == LOG:
            self.judge_message(ending, place[1], content)
            return
        row, name = self.row(place), f"{ending.op_id}: {place[0]} {place[1]}"
        known = (row.content, *row.may_be)
        is_back = row.content is None and content not in known
        # The rule that a wrong read breaks depends on the content that it shows:
        #   a row that was dropped                 no-resurrection
        #   an older content                       reads-never-go-back
        #   the content of a repeated request      key-once-across-phases
        rule = rules.NO_RESURRECTION if is_back else rules.READS_NEVER_GO_BACK
        rule = rules.KEY_ONCE_ACROSS_PHASES if content in row.repeated else rule
        demand(content in known, rule, f"the content of {name}", known, content)
        settled = None if content is None else str(content)
        if settled != row.content:
            # This settles one write in doubt; a second one with the same content stays possible.
            row.may_be.remove(settled)
            row.content = settled

    # For the audit: blocks are moved to the end, and so are kinds with an odd number of rows; other kinds are
    # rolled back.

    def audit(self) -> tuple[AuditRead, ...]:
        kinds = dict.fromkeys(kind for kind, _ in self.rows)
        if self.log.contents or self.log.loose:
            kinds[LOG] = None
        return tuple(each for kind in kinds for each in self.audit_of(kind))

    def audit_of(self, kind: str) -> Iterator[AuditRead]:
        of_kind: dict[str, object] = {"kind": kind}
        ids = [own_id for each, own_id in self.rows if each == kind]
        reads: list[AuditRead] = [("read_row", {"kind": kind, "id": own_id}) for own_id in ids]
        reads.append(("list_rows", of_kind))
        ids += [*self.log.contents, *self.log.loose] if kind == LOG else []
        # A purge or a mirror moves one row, so one more of them than there are ids certainly finds none.
        every_id = range(len(ids) + 1)
        yield from reads
        if kind == "blocks" or len(ids) % 2:
            for _ in range(FORWARD_COUNT):
                yield "reconcile", of_kind
                yield from (("purge", of_kind) for _ in every_id)
                yield "advance_migration", of_kind
        else:
            for _ in range(2):
                yield from (("mirror", of_kind) for _ in every_id)
                yield "roll_back", of_kind
        yield from reads

    # The memory itself, after a finished move.

    def check_arrival(self, whose: str, kind: str, shown: Sequence[tuple[str, str]]) -> None:
        """Demand that a memory shows the rows that its clients know, in the order of their ids.

        `shown`: labels and texts of blocks; numbers in the log and texts of other rows.
        """
        message = f"the {kind} that have moved, as the memory of {whose} shows them"
        if kind == LOG:
            lost = {own_id: text for own_id, text in self.log.contents.items() if (own_id, text) not in shown}
            others = Counter(text for own_id, text in shown if own_id not in self.log.contents)
            strange = others - Counter(self.log.loose)
            demand(not lost and not strange, rules.MIGRATION_ARRIVES, message, lost, strange)
            return
        # After a write in doubt either of two contents may be shown, so all ways to match rows are tried.
        ends = {0}
        known = sorted((own_id, row) for (each, own_id), row in self.rows.items() if each == kind)
        for own_id, row in known:
            ends = {end + step for end in ends for step in self.steps_of(kind, own_id, row, shown[end:])}
        demand(len(shown) in ends, rules.MIGRATION_ARRIVES, message, known, shown)

    def steps_of(
        self, kind: str, own_id: str, row: KnownRow, rest: Sequence[tuple[str, str]]
    ) -> Iterator[int]:
        """Yield 1 if this row may be the first one of `rest`, and 0 if it may be absent."""
        may_be = (row.content, *row.may_be)
        if None in may_be:
            yield 0
        if rest and rest[0][1] in may_be and (kind != "blocks" or rest[0][0] == own_id):
            yield 1


def must_lead_on(ending: Ending, outcome: Refused) -> None:
    """Demand that a healed world refuses a switch only in a phase without a next one."""
    error = outcome.error
    kind: Any = type(ending.request)
    ends = ENDS.get(kind)
    if ends is None or not ending.op_id.startswith("audit:") or not isinstance(error, NotReady):
        return
    message = f"the phase in which {ending.op_id} cannot go on"
    demand(error.phase in ends, rules.MIGRATION_COMPLETE, message, ends, error)
