"""The model of rows that move between two stores: it knows neither phases nor stores, only what clients know.

Law 1. A read shows the last acknowledged content, or one of a write that was not answered for certain; what
it shows, it is from then on. That one model judges all phases is the proof that clients notice none.
Law 2. Of one kind requests are done in the order in which they were asked.
"""

from collections.abc import Iterator
from typing import Any, Final

import attrs

from umi_core.api_errors import NotReady
from umi_core.data import Data, Owner
from umi_core.invariants.broken import demand
from umi_core.messages.api_results import RowsListed, StoresCompared
from umi_core.messages.effects import Done, Refused, Unknown
from umi_core.messages.migration_requests import (
    AddRow,
    AdvanceMigration,
    CompareStores,
    DropRow,
    ListRows,
    Mirror,
    Purge,
    PutRow,
    ReadRow,
    Reconcile,
    RollBack,
)
from umi_sim.judge.oracle.model import Ending, Model
from umi_sim.judge.plain.requests import wrong
from umi_sim.record import rules

WRITES: Final = (PutRow, DropRow, AddRow)
LOG: Final = "messages"
ENDS: Final = {RollBack: ("legacy", "cleanup", "done"), AdvanceMigration: ("done",)}
"""The phases in which nothing lies further that way."""
FORWARD_COUNT: Final = 5  # so many switches from legacy to done
AuditRead = tuple[str, dict[str, object]]
Place = tuple[str, str]  # kind and id


@attrs.define
class Row(Owner):
    """What clients know of a row. `may_be`: contents that writes may have left, or may still leave."""

    content: str | None = None
    may_be: list[str | None] = attrs.field(factory=list)


@attrs.define
class Log(Owner):
    """What clients know of a log: contents by id, and those of which nobody knows whether they were added."""

    told: dict[str, str] = attrs.field(factory=dict)
    loose: list[str] = attrs.field(factory=list)


@attrs.frozen
class Written(Data):
    place: Place
    content: str | None


def written(request: PutRow | DropRow | AddRow) -> Written:
    """What is added has no id yet."""
    content = None if isinstance(request, DropRow) else request.content
    return Written((request.kind, "" if isinstance(request, AddRow) else request.id), content)


class MigrationModel(Model):
    """What a migrator must answer."""

    judges = (
        *WRITES, ReadRow, ListRows, AdvanceMigration, RollBack, Reconcile, Mirror, Purge, CompareStores,
    )  # fmt: skip

    def __init__(self) -> None:
        self.rows: dict[Place, Row] = {}
        self.open: dict[str, Written] = {}
        self.log = Log()

    def row(self, place: Place) -> Row:
        return self.rows.setdefault(place, Row())

    def issued(self, op_id: str, request: Any, now_ms: int) -> None:
        if isinstance(request, WRITES) and wrong(request) is None:
            self.open[op_id] = written(request)

    def crashed(self) -> None:
        """A write without an answer may have happened."""
        for each in self.open.values():
            self.may_have_happened(each)
        self.open.clear()

    def may_have_happened(self, asked: Written) -> None:
        if asked.place[0] == LOG:
            self.log.loose.append(str(asked.content))
        else:
            self.row(asked.place).may_be.append(asked.content)

    def replied(self, ending: Ending) -> None:
        request, outcome = ending.request, ending.outcome
        if wrong(request) is not None:
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

    def judge_write(self, ending: Ending, asked: Written) -> None:
        outcome = ending.outcome
        if isinstance(outcome, Unknown):
            self.may_have_happened(asked)
        elif isinstance(outcome, Done) and asked.place[0] == LOG:
            self.judge_add(ending.op_id, outcome.value, str(asked.content))
        elif isinstance(outcome, Done):
            self.rows[asked.place] = Row(asked.content)

    def judge_add(self, op_id: str, own_id: object, content: str) -> None:
        """Behind everything that was told of."""
        last, told = max(self.log.told, default=""), str(own_id)
        message = f"{op_id} was told an id that is not behind those told before"
        demand(told > last, rules.MESSAGE_LOG_COMPLETE, message, f"above {last}", told)
        self.log.told[told] = content

    def judge_list(self, ending: Ending, kind: str, listed: dict[str, str]) -> None:
        if kind != LOG:
            for place in [*self.rows, *((kind, own_id) for own_id in listed)]:
                if place[0] == kind:
                    self.judge_read(ending, place, listed.get(place[1]))
            return
        due = [f"{number:012}" for number in range(1, len(listed) + 1)]
        message = f"{ending.op_id} lists messages with gaps, or in another order"
        demand([*listed] == due, rules.MESSAGE_LOG_COMPLETE, message, due[-1:], [*listed])
        lost = [own_id for own_id in self.log.told if own_id not in listed]
        message = f"{ending.op_id} lacks messages that were acknowledged"
        demand(not lost, rules.READS_NEVER_GO_BACK, message, lost, [*listed][-1:])
        for own_id, content in listed.items():
            self.judge_message(ending, own_id, content)

    def judge_message(self, ending: Ending, own_id: str, content: object) -> None:
        """What a read shows of a write that nobody was told of is settled."""
        told, loose = self.log.told.get(own_id), self.log.loose
        is_known = content == told or (told is None and content in loose)
        message = f"{ending.op_id}: message {own_id} is not what was added"
        demand(is_known, rules.READS_NEVER_GO_BACK, message, told if told is not None else loose, content)
        if told is None and content is not None:
            loose.remove(str(content))
            self.log.told[own_id] = str(content)

    def judge_read(self, ending: Ending, place: Place, content: object) -> None:
        if place[0] == LOG:
            self.judge_message(ending, place[1], content)
            return
        row, name = self.row(place), f"{ending.op_id}: {place[0]} {place[1]}"
        known = (row.content, *row.may_be)
        is_back = row.content is None and content not in known
        rule = rules.NO_RESURRECTION if is_back else rules.READS_NEVER_GO_BACK
        demand(content in known, rule, f"{name} shows what is not there any more", known, content)
        settled = None if content is None else str(content)
        if settled != row.content:
            row.may_be.remove(settled)
            row.content = settled

    # For the audit: blocks go on to the end, all else goes back to the old store.

    def audit(self) -> tuple[AuditRead, ...]:
        kinds = dict.fromkeys(kind for kind, _ in self.rows)
        if self.log.told or self.log.loose:
            kinds[LOG] = None
        return tuple(each for kind in kinds for each in self.audit_of(kind))

    def audit_of(self, kind: str) -> Iterator[AuditRead]:
        of_kind: dict[str, object] = {"kind": kind}
        ids = [own_id for each, own_id in self.rows if each == kind]
        reads: list[AuditRead] = [("read_row", {"kind": kind, "id": own_id}) for own_id in ids]
        reads.append(("list_rows", of_kind))
        ids += [*self.log.told, *self.log.loose] if kind == LOG else []
        every_id = range(len(ids) + 1)
        yield from reads
        if kind == "blocks":
            for _ in range(FORWARD_COUNT):
                yield "reconcile", of_kind
                yield from (("purge", of_kind) for _ in every_id)
                yield "advance_migration", of_kind
        else:
            for _ in range(2):
                yield from (("mirror", of_kind) for _ in every_id)
                yield "roll_back", of_kind
        yield from reads


def must_lead_on(ending: Ending, outcome: Refused) -> None:
    """In a healed world, after what is missing was done, a switch is refused at the end of the way alone."""
    error = outcome.error
    ends = ENDS.get(type(ending.request))
    if ends is None or not ending.op_id.startswith("audit:") or not isinstance(error, NotReady):
        return
    message = f"{ending.op_id}: a healed migration does not go on"
    demand(error.phase in ends, rules.MIGRATION_COMPLETE, message, ends, error)
