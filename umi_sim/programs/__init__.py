"""Programs: any coroutine in a world where tasks are cancelled, processes die, and models and tools fail.

    from umi_sim.programs import check, simulate, CancelTask

    check(main, resume=resume)                                 search; raises AssertionError with a report
    simulate(main, CancelTask(26), resume=resume).check()      one case

`perturbations.py` has what can happen, `rules.py` what must hold, `services.py` models and tools that fail.
"""

from pathlib import Path
from typing import Any

import attrs

from umi_core.data import Data
from umi_sim.kernel.report import laid_out
from umi_sim.programs import search
from umi_sim.programs.own_loop import run_on_asyncio
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
from umi_sim.programs.program import Main, Program, ProgramRun
from umi_sim.programs.rules import RULES, BrokenRule, judge
from umi_sim.programs.search import DRAWN, FOLDER, SECONDS, Exploration
from umi_sim.programs.services import BadProgram, play_recording, play_script, service
from umi_sim.programs.simulation import ProgramOutcome, run_case
from umi_sim.programs.telling import list_causes, report_exploration

__all__ = [
    "RULES",
    "BadProgram",
    "BrokenRule",
    "CancelTask",
    "DelayCallback",
    "Exploration",
    "FailCall",
    "FailSite",
    "KillAtSite",
    "KillProcess",
    "Main",
    "OrderJobs",
    "Perturbation",
    "Program",
    "ProgramOutcome",
    "ProgramRun",
    "Simulated",
    "check",
    "explore",
    "play_recording",
    "play_script",
    "replay",
    "service",
    "simulate",
]  # fmt: skip


@attrs.frozen
class Simulated(Data):
    """One run and the first rule that it broke, if any."""

    outcome: ProgramOutcome
    broken: BrokenRule | None

    def check(self) -> ProgramOutcome:
        """Return the outcome. Raises AssertionError, with what struck, if a rule is broken."""
        if self.broken is not None:
            lines = [line for each in list_causes(self.broken, self.outcome) for line in laid_out_row(each)]
            raise AssertionError("\n".join([f"{self.broken.rule} is broken", *lines]))
        return self.outcome


def laid_out_row(line: Any) -> list[str]:
    from umi_sim.kernel.report import Report

    return list(laid_out(Report("", [line])))


def simulate(
    main: Main, *perturbations: Perturbation, seed: int = 0, own_loop: bool = False, **options: Any
) -> Simulated:
    """Run a coroutine function once. `options`: those of Program, such as resume, verify and rules.

    `own_loop`: on a loop of asyncio itself, where tasks can be cancelled and nothing else.
    """
    program = Program(main, **options)
    outcome = run_on_asyncio(program, perturbations) if own_loop else run_case(program, perturbations, seed)
    return Simulated(outcome, judge(program, outcome))


def explore(
    main: Main,
    *,
    seed: int = 0,
    drawn: int = DRAWN,
    seconds: int = SECONDS,
    to_end: bool = False,
    **options: Any,
) -> Exploration:
    """Search for a case that breaks a rule, as `umi-sim program` does."""
    return search.explore(Program(main, **options), seed=seed, drawn=drawn, seconds=seconds, to_end=to_end)


def check(main: Main, *, folder: str | Path = FOLDER, **options: Any) -> Exploration:
    """Search, write what is found to files, and raise AssertionError with a report. Options as in explore."""
    found = explore(main, **options)
    if not found.findings:
        return found
    from umi_sim.programs.failure_files import (
        write_finding,  # it loads a memory, which most searches need not
    )

    files = [write_finding(found.program.name, each, Path(folder)) for each in found.findings]
    report = report_exploration(found.program.name, found, files)
    raise AssertionError("\n".join(["", *laid_out(report)]))


def replay(main: Main, file: str | Path, **options: Any) -> Simulated:
    """Run the case of a file again."""
    from umi_sim.programs.failure_files import read_case

    saved = read_case(Path(file))
    return simulate(main, *saved.perturbations, seed=saved.seed, **options)
