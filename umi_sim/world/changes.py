"""Changes around an operation: workflows of running memories, and rows that are changed at rest."""

from typing import Protocol

from umi_sim.record.trace import Tag
from umi_sim.services.tampering import Tampering
from umi_sim.world import network
from umi_sim.world.agent import Agent, Judge


class ChangeContext(network.NetworkContext, Protocol):
    """The part of a world that a change needs."""

    judge: Judge
    lives: list[Agent]
    tampering: Tampering


def revise(world: ChangeContext, op_id: str) -> None:
    """Workflows may change before an op; what is in flight ends on the revision it began with."""
    # Lives without a machine need no new tables: the next one begins with those that hold then.
    if world.target.revise(op_id, (it.machine for it in world.lives if it.machine)):
        world.trace.add(Tag.MARK, f"new revisions before {op_id}")
        # Only a change below an operation in flight shows whether
        # old revisions live on; between two it is harmless.
        busy_count = sum(bool(agent.in_flight) for agent in world.lives)
        world.tally.marks["revision: under an operation"] += busy_count


def heal(world: ChangeContext) -> None:
    """Remove every interceptor that turned questions away."""
    world.target.revise(None, (it.machine for it in world.lives if it.machine))


def tamper(world: ChangeContext, op_id: str) -> None:
    """Change rows before an op, if any are due; tell the judge, which has no other way to know."""
    what = world.tampering.tamper_before(op_id, world.services.storage, world.now_ms)
    if what:
        world.trace.add(Tag.MARK, f"{what} before {op_id}")
        world.tally.marks[f"tampering: {what}"] += 1
        if world.keep_story:
            world.tell(op_id, what)
        world.judge.observe_tampering()
