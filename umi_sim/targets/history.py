"""The history of a run of a store, for checkers of linearizability (umi_sim/record/history.py).

Concurrent requests begin together, and end when all of them have ended. A scan lasts from its first page to
its last, and so includes the operations between its pages.
"""

from collections.abc import Sequence

from umi_sim.formats.schema import Json
from umi_sim.kernel.wording import show_value
from umi_sim.record.history import EventType, HistoryEvent, HistoryLog
from umi_sim.targets.checker import NOT_ASKED, Got
from umi_sim.targets.items import Item
from umi_sim.targets.life import TargetVerdict
from umi_sim.targets.values import MISSING
from umi_sim.targets.world import RESTARTS


def history_of(verdict: TargetVerdict) -> list[HistoryEvent]:
    """Return the history of a run, up to the item at which it ended."""
    log = HistoryLog()
    for at, step in enumerate(verdict.steps):
        if step.times_ms:  # empty if the run ended within this item
            add_item(log, at, step.item, step.gots, step.times_ms)
    return log.events


def add_item(log: HistoryLog, at: int, item: Item, gots: Sequence[Got], times_ms: Sequence[int]) -> None:
    asked = [number for number, got in enumerate(gots) if got.error != NOT_ASKED]

    def begin(numbers: Sequence[int]) -> None:
        for number in numbers:
            args = {name: in_json(value) for name, value in item.ops[number].args.items()}
            log.begin((at, number), item.ops[number].name, args, times_ms[0])

    def end(numbers: Sequence[int]) -> None:
        for number in numbers:
            got = gots[number]
            error = f"{got.error}: {got.text}" if got.error else ""
            log.end((at, number), end_of(got), in_json(got.value), times_ms[-1], error)

    if item.kind == "paged":
        begin([0])
        for number in asked[1:]:
            begin([number])
            end([number])
        end([0])
    else:
        begin(asked)
        end(asked)
    if item.kind in RESTARTS or item.kind == "advance":
        name = "crash" if item.kind == "crash_in" else item.kind
        log.happen(name, item.number if item.kind == "advance" else None, times_ms[-1])


def end_of(got: Got) -> EventType:
    if got.is_unknown:
        return "info"
    return "fail" if got.error else "ok"


def in_json(value: object) -> Json:
    """Return a value as JSON: MISSING as null, and other values without a JSON form as text."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list() | tuple():
            return [in_json(each) for each in value]
        case dict() if all(isinstance(key, str) for key in value):
            return {key: in_json(each) for key, each in value.items()}
    return None if value is MISSING else show_value(value)
