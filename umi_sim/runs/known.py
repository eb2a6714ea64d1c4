"""Knowledge that the generator may use without reading a memory: that of the oracle, and the clocks."""

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
        # All are readings of the agent's clock: the expiries that the oracle computes, the memory's deadline.
        return (*self.inspector.oracle.expiries(agent), *(() if deadline_ms is None else (deadline_ms,)))

    def lapses(self, agent: str) -> Sequence[int]:
        return self.inspector.oracle.lapses(agent)

    def clock(self, agent: str) -> SimClock:
        assert self.world is not None
        return self.world.agents[agent].clock
