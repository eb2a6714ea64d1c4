"""Sources of a run's items: drawn from a seed, or read from a record. The world cannot tell them apart.

Law 1. A generator draws the next item and appends it to the record before the world executes it.
Law 2. A replay reads the items from a record. It counts those whose event does not happen.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from umi_sim.faults.declaration import ArgsMaker
from umi_sim.faults.kinds import KINDS
from umi_sim.record.items import ClockMove, Deviation, Fault, Item, Op
from umi_sim.record.run_config import RunConfig

At = tuple[str, str, str, str]  # where a fault may be injected: verb, site, event, data for its draws


class Source(Protocol):
    """The interface of a supplier of items."""

    record: list[Item]

    def next_items(self, agent: str, now_ms: int, in_flight: int) -> Sequence[Op | ClockMove]:
        """Return the next items of this agent, in order; empty while it has none."""
        ...

    def fault(self, verb: str, site: str, event: str, data: str, make_args: ArgsMaker) -> Fault | None:
        """Return the fault to inject at this event, if any."""
        ...

    def choose(self, ready: Sequence[str]) -> int:
        """Return the index of the ready event to deliver; 0 is the oldest."""
        ...


class Replay:
    """A recorded list of items."""

    def __init__(self, items: Iterable[Item]) -> None:
        self.record = list(items)
        self._queues: dict[str, deque[Op | ClockMove]] = defaultdict(deque)
        self._faults: dict[str, deque[Fault]] = defaultdict(deque)
        self._deviations: dict[str, list[Deviation]] = defaultdict(list)
        for item in self.record:
            self._file(item)

    def _file(self, item: Item) -> None:
        if isinstance(item, Fault):
            self._faults[item.at].append(item)
        elif isinstance(item, Deviation):
            self._deviations[item.over].append(item)
        else:
            self._queues[item.agent].append(item)

    def next_items(self, agent: str, now_ms: int, in_flight: int) -> Sequence[Op | ClockMove]:
        # All items at once: they have times, for which the agent waits. A generator returns one op at a time,
        # since its next draw depends on the replies so far.
        return tuple(self._queues.pop(agent, ()))

    def fault(self, verb: str, site: str, event: str, data: str, make_args: ArgsMaker) -> Fault | None:
        # Two faults may be bound to one event: "o7/commit#1" is first the message to the service (link.up)
        # and then the call at the service (storage.commit). The verb tells the two apart.
        waiting = self._faults.get(event, ())
        fault = next((fault for fault in waiting if KINDS[fault.fault].is_at(verb)), None)
        if fault is not None:
            self._faults[event].remove(fault)
        return fault

    def choose(self, ready: Sequence[str]) -> int:
        for deviation in self._deviations.get(ready[0], ()):
            # After items were removed, the event to take may not be ready. Then the oldest comes first.
            if deviation.take in ready:
                self._deviations[ready[0]].remove(deviation)
                return ready.index(deviation.take)
        return 0

    def count_unused(self) -> Mapping[str, int]:
        """Count the faults and deviations whose event has not happened."""
        faults = sum(map(len, self._faults.values()))
        deviations = sum(map(len, self._deviations.values()))
        counts = {"fault": faults, "schedule": deviations}
        return {name: count for name, count in counts.items() if count}


def is_fifo(config: RunConfig, source: Source) -> bool:
    """Return whether the oldest event always comes first: fifo policy, and no deviation in the record."""
    return config.policy == "fifo" and not any(isinstance(item, Deviation) for item in source.record)


def names_group(group: str, config: RunConfig, source: Source) -> bool:
    """Return whether a run may have faults of this group, drawn or recorded."""
    recorded = (item.fault for item in source.record if isinstance(item, Fault))
    return any(KINDS[kind].group == group for kind in (*config.faults, *recorded))
