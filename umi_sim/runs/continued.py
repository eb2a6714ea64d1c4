"""A source that follows a record to its end, and draws all that comes after.

Law 1. Until the last kept item has happened nothing is drawn: the run is the recorded one.
Law 2. From then on the generator supplies items, draws and order.
"""

from collections.abc import Sequence

from umi_sim.faults.declaration import ArgsMaker
from umi_sim.record.items import ClockMove, Fault, Item, Op
from umi_sim.record.run_config import RunConfig
from umi_sim.runs.known import RunKnowledge
from umi_sim.world.generator import Generator
from umi_sim.world.source import Replay


class Continued:
    """The kept items, then a fresh tail; `tail` is the configuration that it is drawn from."""

    def __init__(self, kept: Sequence[Item], tail: RunConfig, known: RunKnowledge) -> None:
        self._replay = Replay(kept)
        self._generator = Generator(tail, known, kept)
        # One list: the generator begins it with the kept items and appends what it draws.
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
        """Check whether the record is over: all of it happened, or only a new item can cause the rest."""
        if not self._is_over and all(self._through.values()):
            world = self._known.world
            assert world is not None
            # A fault of the record may be bound to an event that never comes, since the items behind the cut
            # are gone. Once the world is quiet it can no longer come by itself.
            self._is_over = not self._replay.count_unused() or not world.is_busy()
        return self._is_over
