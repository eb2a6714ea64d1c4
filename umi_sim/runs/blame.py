"""Blame: whether an exception that ended a run is a failure of what is tested, or of the simulator.

Law 1. A broken promise and a run without an end are failures of what is tested, wherever they show.
Law 2. Any other exception is its failure only if its own code raised it, or if a memory of ours holds by then
       what none can hold, on which any code that reads it stumbles. An exception of the simulator goes on to
       the caller, and ends a command with exit code 4. So does a machine that has no room left.
"""

from collections.abc import Iterator
from operator import attrgetter
from typing import Final

from umi_sim.kernel.frames import blamed_frame, is_of_target
from umi_sim.record import rules
from umi_sim.record.broken import Broken
from umi_sim.record.exit_codes import FailureKind
from umi_sim.record.rules import id_of
from umi_sim.record.verdict import Failure
from umi_sim.target.umi import memory_of
from umi_sim.world.world import OutOfSteps, World

OF_REST: Final = ("phase", "epoch", "tiers.working.used_bytes")  # what they hold while nothing is in flight


def failure_of(world: World, broken: Broken | OutOfSteps) -> Failure:
    where = (world.step_count, world.now_ms, world.item)
    if isinstance(broken, OutOfSteps):
        return Failure("timeout", rules.PROGRESS.name, rules.PROGRESS.id, *where, str(broken))
    kind: FailureKind = "liveness" if broken.rule in LIVENESS else "safety"
    told = (broken.message, broken.expected, broken.got)
    return Failure(kind, broken.rule, id_of(broken.rule), *where, *told)


LIVENESS: Final = tuple(
    it.name for it in (rules.PROGRESS, rules.SECOND_DRAIN_EMPTY, rules.REPAIRED_AFTER_HEAL)
)


def crash_of(world: World, raised: Exception) -> Failure:
    """An exception out of what is tested; one out of the simulator is no failure of it, and raised again."""
    import traceback  # hardly a run needs it

    # A planted bug that leaves a text where a number belongs shows as a TypeError of the judge, which
    # compares it. The frame is the simulator's, the fault is the memory's: hence the look at the state first.
    said = next(wrong_fields(world), "")
    if isinstance(raised, MemoryError) or not (said or is_of_target(raised)):
        raise raised
    text = (said or f"{type(raised).__name__}: {raised}")[:300]
    told = "".join(traceback.format_exception(raised))
    where = (world.step_count, world.now_ms, world.item)
    return Failure("crash", "crash", "crash", *where, text, frame=blamed_frame(raised), traceback=told)


def wrong_fields(world: World) -> Iterator[str]:
    """Yield a line for each field of a memory's state that holds a value outside its type or range."""
    from umi_sim.judge.plain.rows import STATE_FIELDS

    for agent in world.lives:
        memory = memory_of(agent.machine)
        if memory is None:
            continue
        for field in STATE_FIELDS:
            try:
                value = attrgetter(field)(memory.state)
            except AttributeError:
                yield f"{agent.name}: its state has no {field}"
                return
            if field not in OF_REST and not STATE_FIELDS[field](value):
                yield f"{agent.name}: its state holds {value!r} as {field}"
