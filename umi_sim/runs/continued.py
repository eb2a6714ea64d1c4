"""A source that replays a record to its end and draws everything after it.

Law 1. Nothing is drawn until the last recorded item has happened; up to there the run is the recorded one.
Law 2. From then on the generator supplies items, faults and the order of events.
"""

from collections.abc import Sequence

from umi_sim.faults.declaration import ArgsMaker
from umi_sim.record.items import ClockMove, Fault, Item, Op
from umi_sim.record.run_config import RunConfig
from umi_sim.runs.known import RunKnowledge
from umi_sim.world.generator import Generator
from umi_sim.world.source import Replay


class Continued:
    """The `kept` items, followed by newly drawn ones; `tail` is the configuration for drawing those."""

    def __init__(self, kept: Sequence[Item], tail: RunConfig, known: RunKnowledge) -> None:
        self._replay = Replay(kept)
        self._generator = Generator(tail, known, kept)
        # The generator owns the one record: it starts with the kept items and appends those it draws.
        self.record = self._generator.record
        self._through = {agent.name: False for agent in tail.agents}
        self._known = known
        self._is_over = not kept

    def next_items(self, agent: str, now_ms: int, in_flight: int) -> Sequence[Op | ClockMove]:
        kept = self._replay.next_items(agent, now_ms, in_flight)
        if kept:
            return kept
        self._through[agent] = True
        return self._generator.next_items(agent, now_ms, in_flight) if self._draws() else ()

    def fault(self, verb: str, site: str, event: str, data: str, make_args: ArgsMaker) -> Fault | None:
        fault = self._replay.fault(verb, site, event, data, make_args)
        if fault is None and self._draws():
            return self._generator.fault(verb, site, event, data, make_args)
        return fault

    def choose(self, ready: Sequence[str]) -> int:
        index = self._replay.choose(ready)
        return self._generator.choose(ready) if index == 0 and self._draws() else index

    def _draws(self) -> bool:
        """Check whether the record is over: its items have happened, or cannot happen without new ones."""
        if not self._is_over and all(self._through.values()):
            world = self._known.world
            assert world is not None
            # A recorded fault may be bound to an event that an item after the cut would have caused. Once the
            # world is quiet, that event can no longer happen by itself.
            self._is_over = not self._replay.count_unused() or not world.is_busy()
        return self._is_over
