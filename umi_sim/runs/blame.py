"""Blame: whether an exception that ended a run is a failure of what is tested, or of the simulator.

Law 1. A broken promise and a run without an end are failures of what is tested, whoever noticed them.
Law 2. Any other exception is its failure only if its own code raised it. An exception of the simulator goes
       on to whoever called, and ends a command with exit code 4. So does a machine that has no room left.
"""

from types import TracebackType
from typing import Final

from umi_core.invariants.broken import Broken
from umi_sim.record import rules
from umi_sim.record.rules import id_of
from umi_sim.record.verdict import Failure, FailureKind
from umi_sim.world.world import OutOfSteps, World

TARGETS: Final = ("umi_core.", "umi_sim.target.subject.", "umi_sim.mutants.")
"""What an exception out of these modules breaks is what is tested; out of all others it is the simulator."""


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

    frame = blamed_frame(raised.__traceback__)
    if isinstance(raised, MemoryError) or not frame.startswith(TARGETS):
        raise raised
    text = f"{type(raised).__name__}: {raised}"[:300]
    told = "".join(traceback.format_exception(raised))
    where = (world.step_count, world.now_ms, world.item)
    return Failure("crash", "crash", "crash", *where, text, frame=frame, traceback=told)


def blamed_frame(tb: TracebackType | None) -> str:
    """Module and qualified name of the innermost function that is ours: umi_core's, or the simulator's.

    A KeyError that numpy raises for storage is storage's; one that a store raises behind a subject's call is
    the subject's.
    """
    frame = ""
    while tb is not None:
        code, module = tb.tb_frame.f_code, str(tb.tb_frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] in ("umi_core", "umi_sim"):
            frame = f"{module}.{code.co_qualname}"
        tb = tb.tb_next
    return frame
