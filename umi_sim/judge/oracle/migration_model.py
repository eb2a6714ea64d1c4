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
from umi_core.messages.api_results import StoresCompared
from umi_core.messages.effects import Done, Failed, Refused, Unknown
from umi_core.messages.migration_requests import (
    AdvanceMigration,
    CompareStores,
    DropRow,
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

WRITES: Final = (PutRow, DropRow)
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


@attrs.frozen
class Written(Data):
    place: Place
    content: str | None


def written(request: PutRow | DropRow) -> Written:
    content = request.content if isinstance(request, PutRow) else None
    return Written((request.kind, request.id), content)


class MigrationModel(Model):
    """What a migrator must answer."""

    judges = (
        *WRITES, ReadRow, AdvanceMigration, RollBack, Reconcile, Mirror, Purge, CompareStores,
    )  # fmt: skip

    def __init__(self) -> None:
        self.rows: dict[Place, Row] = {}
        self.open: dict[str, Written] = {}

    def row(self, place: Place) -> Row:
        return self.rows.setdefault(place, Row())

    def issued(self, op_id: str, request: Any, now_ms: int) -> None:
        if isinstance(request, WRITES) and wrong(request) is None:
            self.open[op_id] = written(request)

    def crashed(self) -> None:
        """A write without an answer may have happened."""
        for each in self.open.values():
            self.row(each.place).may_be.append(each.content)
        self.open.clear()

    def replied(self, ending: Ending) -> None:
        request, outcome = ending.request, ending.outcome
        if wrong(request) is not None:
            return
        if isinstance(request, WRITES):
            self.judge_write(self.open.pop(ending.op_id), outcome)
        elif isinstance(request, ReadRow) and isinstance(outcome, Done):
            self.judge_read(ending, (request.kind, request.id), outcome.value)
        elif isinstance(request, CompareStores) and isinstance(outcome, Done):
            ending.value(StoresCompared)
        elif isinstance(outcome, Refused):
            must_lead_on(ending, outcome)

    def judge_write(self, asked: Written, outcome: object) -> None:
        if isinstance(outcome, Done):
            self.rows[asked.place] = Row(asked.content)
        elif not isinstance(outcome, Failed | Refused):
            assert isinstance(outcome, Unknown)
            self.row(asked.place).may_be.append(asked.content)

    def judge_read(self, ending: Ending, place: Place, content: object) -> None:
        row, name = self.row(place), f"{ending.op_id}: {place[0]} {place[1]}"
        known = (row.content, *row.may_be)
        is_back = row.content is None and content not in known
        rule = rules.NO_RESURRECTION if is_back else rules.READS_NEVER_GO_BACK
        demand(content in known, rule, f"{name} shows what is not there any more", known, content)
        if content != row.content:
            row.may_be.remove(content)  # type: ignore[arg-type]  # one of them
            row.content = None if content is None else str(content)

    # For the audit: archival goes back to the old store, blocks go on to the end.

    def audit(self) -> tuple[AuditRead, ...]:
        kinds = dict.fromkeys(kind for kind, _ in self.rows)
        return tuple(each for kind in kinds for each in self.audit_of(kind))

    def audit_of(self, kind: str) -> Iterator[AuditRead]:
        of_kind: dict[str, object] = {"kind": kind}
        ids = [own_id for each, own_id in self.rows if each == kind]
        reads: list[AuditRead] = [("read_row", {"kind": kind, "id": own_id}) for own_id in ids]
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
