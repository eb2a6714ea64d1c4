"""Blame: whether an exception that ended a run is a failure of the target or of the simulator.

Law 1. A broken promise and a run without an end are failures of the target, whatever code detects them.
Law 2. Any other exception is a failure of the target only if code of the target raised it, or if the state of
       a memory contains a value of a wrong type or range, on which other code fails. Other exceptions, and
       every MemoryError, are raised again; a command then ends with exit code 4.
"""

from collections.abc import Iterator
from typing import Final

from umi_core.shapes import shape_of
from umi_core.state import State
from umi_sim.kernel.frames import blamed_frame, is_of_target
from umi_sim.machines.umi import memory_of
from umi_sim.record import rules
from umi_sim.record.broken import Broken
from umi_sim.record.exit_codes import FailureKind
from umi_sim.record.rules import id_of
from umi_sim.record.verdict import Failure
from umi_sim.world.world import OutOfSteps, World


def failure_of(world: World, broken: Broken | OutOfSteps) -> Failure:
    where = (world.step_count, world.now_ms, world.item)
    if isinstance(broken, OutOfSteps):
        return Failure("timeout", rules.PROGRESS.name, rules.PROGRESS.id, *where, str(broken))
    kind: FailureKind = "liveness" if broken.rule in LIVENESS else "safety"
    parts = (broken.message, broken.expected, broken.got)
    return Failure(kind, broken.rule, id_of(broken.rule), *where, *parts)


LIVENESS: Final = tuple(
    it.name for it in (rules.PROGRESS, rules.SECOND_DRAIN_EMPTY, rules.REPAIRED_AFTER_HEAL)
)


def crash_of(world: World, raised: Exception) -> Failure:
    """Return the failure for an exception of the target; raise an exception of the simulator again."""
    import traceback  # very few runs need it

    # If a bug leaves a text in place of a number, the judge raises a TypeError when it compares the two. The
    # frame is the simulator's but the bug is the memory's, so the state is checked first.
    fields = next(wrong_fields(world), "")
    if isinstance(raised, MemoryError) or not (fields or is_of_target(raised)):
        raise raised
    text = (fields or f"{type(raised).__name__}: {raised}")[:300]
    trace = "".join(traceback.format_exception(raised))
    where = (world.step_count, world.now_ms, world.item)
    return Failure("crash", "crash", "crash", *where, text, frame=blamed_frame(raised), traceback=trace)


def wrong_fields(world: World) -> Iterator[str]:
    """Yield for each memory the first field of its state that holds a value outside its type or range."""
    for agent in world.incarnations:
        memory = memory_of(agent.machine)
        if memory is not None and (wrong := shape_of(State)(memory.state)):
            yield f"{agent.name}: state{wrong}"
