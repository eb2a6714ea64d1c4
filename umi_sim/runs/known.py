"""What the generator of a run may know without reading a memory: the oracle's knowledge, and the clocks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from umi_core.data import Owner
from umi_sim.judge.inspector import Inspector
from umi_sim.kernel.clock import SimClock
from umi_sim.world.world import World

if TYPE_CHECKING:
    from umi_sim.workload.users import UserKnowledge


class RunKnowledge(Owner):
    """The knowledge of a run that is under way."""

    inspector: Inspector
    world: World | None = None

    @property
    def users(self) -> "UserKnowledge":
        return self.inspector.oracle

    def deadlines(self, agent: str) -> Sequence[int]:
        assert self.world is not None
        machine = self.world.agents[agent].machine
        deadline_ms = machine.deadline_ms() if machine else None
        # Readings of its own clock: the expiries that the oracle computes, and the alarm of the memory.
        return (*self.inspector.oracle.expiries(agent), *(() if deadline_ms is None else (deadline_ms,)))

    def lapses(self, agent: str) -> Sequence[int]:
        return self.inspector.oracle.lapses(agent)

    def clock(self, agent: str) -> SimClock:
        assert self.world is not None
        return self.world.agents[agent].clock
