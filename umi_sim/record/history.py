"""Histories: the begins, ends and outcomes of operations in order, for checkers of linearizability.

    {"index": 0, "time_ms": 0, "process": 0, "type": "invoke", "f": "put", "value": {"key": "a", ...}}
    {"index": 1, "time_ms": 0, "process": 0, "type": "ok", "f": "put", "value": null}

Written as JSON lines, or as EDN with Jepsen's keys. An `invoke` has the arguments, an `ok` the answer.

Law 1. The order of events is that of real time: an operation that ended before another began precedes it in
       every linearization.
Law 2. `fail`: the operation had no effect. `info`: its outcome is unknown; it may take effect at any later
       time, or never. An operation without an end counts as `info`.
Law 3. A process has one operation at a time, and none after an `info`.
Law 4. Crashes, restarts and the passing of time belong to the process `nemesis`; each is one `info`.
"""

import heapq
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal

from msgspec import structs

from umi_core.data import Data, Owner
from umi_core.text import is_text
from umi_sim.formats.schema import Json

NEMESIS: Final = "nemesis"
EventType = Literal["invoke", "ok", "fail", "info"]


class HistoryEvent(Data):
    """The begin or the end of an operation. `f`: its name; `agent`: the agent that was asked, in a world.

    `value`: the arguments by name of an `invoke`, the answer of an `ok`. `time_ms`: the reading of the
    store's clock. `error`: the exception of a `fail` or an `info`, if one was raised.
    """

    index: int
    time_ms: int
    process: int | str
    type: EventType
    f: str
    value: Json = None
    error: str = ""
    agent: str = ""

    @property
    def fields(self) -> dict[str, Json]:
        """Return the fields by name, without empty ones; `value` is always there."""
        found = structs.asdict(self)
        return {name: value for name, value in found.items() if value != "" or name == "value"}


class HistoryLog(Owner):
    """A history under construction. The caller chooses a key for each operation."""

    events: list[HistoryEvent] = []
    _open: dict[object, tuple[int, str, str]] = {}
    _free: list[int] = []
    _process_count: int = 0

    def begin(self, key: object, name: str, args: Mapping[str, Json], time_ms: int, agent: str = "") -> None:
        """Add the begin of an operation of the lowest process that has none in flight."""
        if not self._free:
            heapq.heappush(self._free, self._process_count)
            self._process_count += 1
        process = heapq.heappop(self._free)
        self._open[key] = process, name, agent
        self._add(time_ms, process, "invoke", name, dict(args), agent=agent)

    def end(self, key: object, how: EventType, value: Json, time_ms: int, error: str = "") -> None:
        """Add the end of an operation that has begun."""
        process, name, agent = self._open.pop(key)
        if how != "info":
            heapq.heappush(self._free, process)
        self._add(time_ms, process, how, name, value, error, agent)

    def happen(self, name: str, value: Json, time_ms: int, agent: str = "") -> None:
        """Add an event that no client caused: a crash, a restart, or time that passes."""
        self._add(time_ms, NEMESIS, "info", name, value, agent=agent)

    def _add(
        self, time_ms: int, process: int | str, how: EventType, name: str, value: Json, error: str = "",
        agent: str = "",
    ) -> None:  # fmt: skip
        self.events.append(HistoryEvent(len(self.events), time_ms, process, how, name, value, error, agent))


# Writing.


def write_json_line(event: HistoryEvent) -> str:
    """Write an event as one line of JSON, in ASCII."""
    return json.dumps(event.fields)


def write_edn_line(event: HistoryEvent) -> str:
    """Write an event as an EDN map: names of fields, types and arguments are keywords, values are texts."""
    words = {"process", "type", "f"}
    pairs = []
    for name, value in event.fields.items():
        if name == "value" and event.type == "invoke":
            pairs.append(f":value {edn_map((f':{key}', write_edn(each)) for key, each in value.items())}")
        elif name in words and isinstance(value, str):
            pairs.append(f":{name} :{value}")
        else:
            pairs.append(f":{name} {write_edn(value)}")
    return "{" + ", ".join(pairs) + "}"


def write_edn(value: Json) -> str:
    """Write a value of JSON as EDN: null is nil, a list a vector, an object a map with texts as keys."""
    match value:
        case None:
            return "nil"
        case list():
            return f"[{' '.join(map(write_edn, value))}]"
        case dict():
            return edn_map((write_edn(key), write_edn(each)) for key, each in value.items())
        case str():
            return json.dumps(value, ensure_ascii=not is_text(value))
    return json.dumps(value)


def edn_map(pairs: Iterable[tuple[str, str]]) -> str:
    return "{" + ", ".join(map(" ".join, pairs)) + "}"


FORMS: Final[Mapping[str, Callable[[HistoryEvent], str]]] = {
    ".jsonl": write_json_line,
    ".edn": write_edn_line,
}


def is_history(data: bytes, form: str) -> bool:
    """Return whether a file begins as a history in this form does, or is empty. `form`: a key of FORMS."""
    return not data or data.startswith({".jsonl": b'{"index": 0,', ".edn": b"{:index 0,"}[form])


def write_history(events: Iterable[HistoryEvent], form: str) -> bytes:
    """Write a history, one event a line. `form`: a key of FORMS."""
    return "".join(f"{FORMS[form](event)}\n" for event in events).encode()
