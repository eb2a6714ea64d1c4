"""When something was done, as a reply tells it: while its request was on its way, by its life's clock."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from umi_core.invariants.broken import demand
from umi_core.kelpie.results import AgentSwitched, Appended, BlockWritten
from umi_core.messages.effects import Done, Outcome
from umi_core.messages.results import RecordAdded, Remembered, SessionCreated, SessionSaved
from umi_sim.record import rules

TOLD: Final[Mapping[type, str]] = {
    SessionCreated: "started_ms", SessionSaved: "saved_ms", BlockWritten: "at_ms", Appended: "at_ms",
    RecordAdded: "at_ms", AgentSwitched: "at_ms",
}  # fmt: skip


def check_times(op_id: str, outcome: Outcome, begun_ms: int, now_ms: int) -> None:
    """Of what the first request with this key has done nothing is demanded here."""
    value: Any = outcome.value if isinstance(outcome, Done) else None
    if getattr(value, "repeated", False):
        return
    for at_ms in times_of(value):
        told = f"{op_id} was done at another time than it says"
        holds = begun_ms <= at_ms <= now_ms
        demand(holds, rules.REFERENCE_AGREES, told, f"{begun_ms} to {now_ms}", at_ms)


def times_of(value: Any) -> Iterator[int]:
    if name := TOLD.get(type(value)):
        yield getattr(value, name)
    facts = value.facts if isinstance(value, RecordAdded) else value
    if isinstance(facts, Remembered):
        yield from (relation.at_ms for relation in facts.relations)
