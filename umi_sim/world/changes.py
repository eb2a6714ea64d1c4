"""Changes made before an operation: new workflow revisions, and rows changed behind the memory's back."""

from typing import Protocol

from umi_sim.record.trace import Tag
from umi_sim.services.tampering import Tampering
from umi_sim.world import network
from umi_sim.world.agent import Agent, Judge


class ChangeContext(network.NetworkContext, Protocol):
    """The part of a world that a change needs."""

    judge: Judge
    incarnations: list[Agent]
    tampering: Tampering


def revise(world: ChangeContext, op_id: str) -> None:
    """Give the workflows a new revision if one is due; operations in flight end on their own revision."""
    # An agent without a machine needs no new workflows: its next incarnation begins with the latest ones.
    if world.target.revise(op_id, (it.machine for it in world.incarnations if it.machine)):
        world.trace.add(Tag.MARK, f"new revisions before {op_id}")
        # Only a change during an operation in flight shows whether old revisions still work.
        busy_count = sum(bool(agent.in_flight) for agent in world.incarnations)
        world.tally.marks["revision: under an operation"] += busy_count


def heal(world: ChangeContext) -> None:
    """Remove every interceptor that refuses questions."""
    world.target.revise(None, (it.machine for it in world.incarnations if it.machine))


def tamper(world: ChangeContext, op_id: str) -> None:
    """Change rows before an op, if a change is due, and inform the judge."""
    what = world.tampering.tamper_before(op_id, world.services.storage, world.now_ms)
    if what:
        world.trace.add(Tag.MARK, f"{what} before {op_id}")
        world.tally.marks[f"tampering: {what}"] += 1
        if world.keep_story:
            world.tell(op_id, what)
        world.judge.observe_tampering()
