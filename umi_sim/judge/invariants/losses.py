"""Losses: what a limit drops of an entity is named in the reply of the operation whose batch dropped it.

The batch is the one that storage has under the key of the operation, whichever plan sent it.

    lines      of the content before, which the new content lacks, though no verdict and no caller replaced it
    history    of the version that the batch deletes, which no version that is left has

Law 1. The reply names each loss, with the entity and the number of its lines, and nothing else.
Law 2. A reply that repeats an earlier one names what that one named.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import attrs

from umi_core.invariants.broken import demand
from umi_core.messages.answers import Answer, ReadDone
from umi_core.messages.effects import MAIN, Commit, Done, Outcome, Read
from umi_core.rows import Address, Entity, Given, Receipt, Version
from umi_core.values import Scope
from umi_sim.judge.observer import Observer
from umi_sim.judge.oracle.archive.evidence import OF_LIMITS
from umi_sim.judge.oracle.archive.givers import own_lines
from umi_sim.judge.plain.text import said_once
from umi_sim.record import rules
from umi_sim.services.calls import Call
from umi_sim.services.storage import Landed
from umi_sim.services.stores import Store

APPENDING: Final = ("extend", "derive")
FORGETTING: Final = ("forget_resource", "delete_archival")
IN_PART: Final = ("history:unread", "read:damaged_rows", "read:foreign_rows")
"""What a reply names that could not read all versions."""

Loss = tuple[str, str, int]  # the step, the entity, and how many lines


@attrs.define
class Losses(Observer):
    """`keys`: by operation, the key of its batch and its workflow. `is_sure`: nobody else changes rows."""

    is_sure: bool
    stores: Mapping[str, Store] = attrs.field(factory=dict)
    keys: dict[str, tuple[str, str]] = attrs.field(factory=dict)

    def meet(self, stores: Mapping[str, Store]) -> None:
        self.stores = stores

    def answered(self, call: Call, answer: Answer, scope: Scope) -> None:
        match call.effect, answer:
            case Commit(key=key), _:
                self.keys[call.op_id] = key, call.workflow
            case Read(), ReadDone(rows=[row]) if call.step == "seen" and isinstance(row.body, Receipt):
                self.keys[call.op_id] = row.body.key, call.workflow

    def replied(self, agent: str, scope: Scope, op_id: str, outcome: Outcome) -> None:
        key, workflow = self.keys.pop(op_id, ("", ""))
        store = self.stores.get(MAIN) if self.is_sure else None  # a search copies worlds without meeting them
        landed = store.storage.landed.get(key) if store is not None else None
        if not isinstance(outcome, Done) or not self.stores or (landed is None and key):
            return
        due = sorted(losses_of(landed, workflow)) if landed is not None and key else []
        named = [it for it in outcome.degraded if it.name in OF_LIMITS and not it.name.startswith("gather:")]
        got = sorted((it.name.partition(":")[2], it.reason, it.count) for it in named)
        if any(it.name in IN_PART for it in outcome.degraded):
            due, got = ([it for it in each if it[0] == "dropped_lines"] for each in (due, got))
        demand(got == due, rules.DEGRADATION_NAMED, f"what limits dropped by {op_id}", due, got)


def losses_of(landed: Landed, workflow: str) -> Iterator[Loss]:
    """What this batch dropped of each entity that it wrote."""
    before = {row.address: row.body for row in landed.before}
    after = {write.address: write.body for write in landed.commit.writes}
    for where, new in after.items():
        if isinstance(new, Entity):
            old = before.get(where)
            made = after.get(Address(where.scope, "version", f"{new.id}@{new.version}"))
            if isinstance(old, Entity) and isinstance(made, Version) and new.version > old.version:
                lines = lines_without_room(old, new, made, list(before.values()), after, workflow)
                if lines:
                    yield "dropped_lines", new.id, len(lines)
            lines = lines_of_history(new, before, after)
            if lines:
                yield "dropped_history", new.id, len(lines)


def lines_without_room(
    old: Entity,
    new: Entity,
    made: Version,
    before: list[object],
    after: Mapping[Address, object],
    workflow: str,
) -> list[str]:
    gone = lost(old.content, [new.content])
    if made.kind in APPENDING:
        return gone
    if workflow not in FORGETTING:
        return []  # replaced: by a verdict, or by whoever asked for it
    given = [it for it in before if isinstance(it, Given) and it.entity_id == new.id]
    deleted = {where.id for where, body in after.items() if where.kind == "given" and body is None}
    told = tuple((it.source, it.content) for it in given)
    own = [line for it in given if it.id in deleted for line in own_lines(old, told, it.source)]
    return said_once(gone, own)


def lines_of_history(
    new: Entity, before: Mapping[Address, object], after: Mapping[Address, object]
) -> list[str]:
    versions = [
        (where, it) for where, it in before.items() if isinstance(it, Version) and it.entity_id == new.id
    ]
    leaving = [it.content for where, it in versions if where in after and after[where] is None]
    if not leaving:
        return []
    kept = {where: it for where, it in versions if where not in after}
    kept |= {where: it for where, it in after.items() if isinstance(it, Version) and it.entity_id == new.id}
    return lost("\n".join(leaving), [new.content, *(it.content for it in kept.values())])


def lost(content: str, others: list[str]) -> list[str]:
    """The lines of a content that none of the others has, each once; blank ones say nothing."""
    known = [line for other in others for line in other.split("\n")]
    return said_once([line for line in content.split("\n") if line.strip()], known)
