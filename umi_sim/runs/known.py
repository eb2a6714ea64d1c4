"""What the generator of a run may know, without a look into a memory."""

from collections.abc import Sequence

from umi_core.data import Owner
from umi_sim.judge.inspector import Inspector
from umi_sim.kernel.clock import SimClock
from umi_sim.world.world import World


class RunKnowledge(Owner):
    """The knowledge that the generator may use: the oracle's, and the clocks."""

    inspector: Inspector
    world: World | None = None

    def keys(self, agent: str) -> Sequence[str]:
        return self.inspector.oracle.keys(agent)

    def entity_ids(self, agent: str) -> Sequence[str]:
        return self.inspector.oracle.entity_ids(agent)

    def joined_ids(self, agent: str) -> Sequence[str]:
        return self.inspector.oracle.joined_ids(agent)

    def blocks(self, agent: str) -> Sequence[tuple[str, str, str]]:
        return self.inspector.oracle.blocks(agent)

    def record_ids(self, agent: str) -> Sequence[str]:
        return self.inspector.oracle.record_ids(agent)

    def resource_ids(self, agent: str) -> Sequence[str]:
        return self.inspector.oracle.resource_ids(agent)

    def session_ids(self, agent: str) -> Sequence[str]:
        return self.inspector.oracle.session_ids(agent)

    def other_agents(self, agent: str) -> Sequence[str]:
        return self.inspector.oracle.other_agents(agent)

    def sharing_agents(self, agent: str) -> Sequence[str]:
        return self.inspector.oracle.sharing_agents(agent)

    def deadlines(self, agent: str) -> Sequence[int]:
        assert self.world is not None
        machine = self.world.agents[agent].machine
        deadline_ms = machine.deadline_ms() if machine else None
        # Its own clock shows all of these: expiries that the
        # oracle has worked out, and when the memory wants to wake.
        return (*self.inspector.oracle.expiries(agent), *(() if deadline_ms is None else (deadline_ms,)))

    def lapses(self, agent: str) -> Sequence[int]:
        return self.inspector.oracle.lapses(agent)

    def clock(self, agent: str) -> SimClock:
        assert self.world is not None
        return self.world.agents[agent].clock
