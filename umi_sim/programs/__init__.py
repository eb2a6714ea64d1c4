"""Programs: any coroutine in a world where tasks are cancelled, processes die, and models and tools fail.

    from umi_sim.programs import check, simulate, CancelTask

    check(main, resume=resume)                                 search; raises AssertionError on a failure
    simulate(main, CancelTask(26), resume=resume).check()      one case

`perturbations.py` has the faults, `rules.py` the promises, `services.py` models and tools that fail.
"""

from umi_sim.programs.checks import Simulated, check, explore, replay, simulate
from umi_sim.programs.perturbations import (
    CancelTask,
    DelayCallback,
    FailCall,
    FailSite,
    KillAtSite,
    KillProcess,
    OrderJobs,
    Perturbation,
)
from umi_sim.programs.program import Program, ProgramRun
from umi_sim.programs.rules import RULES, BrokenRule, ProgramRule, ends_when_cancelled
from umi_sim.programs.search import Exploration
from umi_sim.programs.services import BadProgram, play_recording, play_script, service
from umi_sim.programs.simulation import ProgramOutcome

__all__ = [
    "RULES", "BadProgram", "BrokenRule", "CancelTask", "DelayCallback", "Exploration", "FailCall",
    "FailSite", "KillAtSite", "KillProcess", "OrderJobs", "Perturbation", "Program", "ProgramOutcome",
    "ProgramRule", "ProgramRun", "Simulated", "check", "ends_when_cancelled", "explore", "play_recording",
    "play_script", "replay", "service", "simulate",
]  # fmt: skip
