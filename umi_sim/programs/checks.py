"""The functions that tests call: run one case, search, search and raise, or replay a saved case."""

import warnings
from pathlib import Path
from typing import Any

from umi_core.data import Data
from umi_sim.kernel.report import Report, laid_out
from umi_sim.programs import search
from umi_sim.programs.failure_files import list_kept, read_case, write_finding
from umi_sim.programs.module_state import same_for_each_run
from umi_sim.programs.own_loop import run_on_asyncio
from umi_sim.programs.perturbations import Perturbation
from umi_sim.programs.program import Main, Program
from umi_sim.programs.reports import list_causes, report_exploration, show_limits
from umi_sim.programs.rules import BrokenRule, judge
from umi_sim.programs.search import DRAWN, FOLDER, SECONDS, Exploration, Phase
from umi_sim.programs.simulation import ProgramOutcome, run_case


class GlobalsNotReset(UserWarning):
    """A search passed, but some globals kept what a run did to them."""


class Simulated(Data):
    """The outcome of one run, and the first rule that it broke, or None."""

    outcome: ProgramOutcome
    broken: BrokenRule | None

    def check(self) -> ProgramOutcome:
        """Return the outcome. Raises AssertionError, listing the perturbations, if a rule is broken."""
        if self.broken is not None:
            report = Report(f"{self.broken.rule} is broken", list(list_causes(self.broken, self.outcome)))
            raise AssertionError("\n".join(laid_out(report)))
        return self.outcome


def simulate(
    main: Main, *perturbations: Perturbation, seed: int = 0, own_loop: bool = False, **options: Any
) -> Simulated:
    """Run an async function once with these perturbations, and judge the outcome. Raises BadProgram.

    `options`: fields of Program, such as resume, verify and rules. `own_loop`: run on a real asyncio event
    loop instead of the simulated one; only CancelTask can be applied there.
    """
    program = Program(main, **options)
    outcome = run_on_asyncio(program, perturbations) if own_loop else run_case(program, perturbations, seed)
    return Simulated(outcome, judge(program, outcome))


def replay(main: Main, file: str | Path, **options: Any) -> Simulated:
    """Run the case saved in a file again, for example one of `.umi-sim/programs`. Raises BadFile."""
    saved = read_case(Path(file))
    return simulate(main, *saved.perturbations, seed=saved.seed, **options)


def explore(
    main: Main, *, seed: int = 0, drawn: int = DRAWN, seconds: int = SECONDS, to_end: bool = False,
    **options: Any,
) -> Exploration:  # fmt: skip
    """Search for a case that breaks a rule, like `umi-sim program`. Raises BadProgram.

    `drawn`: the number of random combinations tried last. `seconds`: the time limit of the whole search.
    `to_end`: continue after the first phase that breaks a rule. `options`: fields of Program.
    """
    return search.explore(Program(main, **options), seed=seed, drawn=drawn, seconds=seconds, to_end=to_end)


def check(
    main: Main, *, folder: str | Path = FOLDER, repeat: str = "", seed: int = 0, drawn: int = DRAWN,
    seconds: int = SECONDS, to_end: bool = False, **options: Any,
) -> Exploration:  # fmt: skip
    """Replay the saved cases of this program, then search. Raises AssertionError with a report.

    `folder`: the folder of saved cases; each new finding is written to a file there. `repeat`: the command
    that the report gives to repeat the search. The other parameters are those of `explore`.
    """
    program, home = Program(main, **options), Path(folder)
    found = rerun_kept(program, home)
    if not found.findings:
        found = search.explore(program, seed=seed, drawn=drawn, seconds=seconds, to_end=to_end)
    if not found.findings:
        if limits := show_limits(found):
            warnings.warn(f"{program.name}: {limits}", GlobalsNotReset, stacklevel=2)
        return found
    files = [write_finding(program.name, each, home) for each in found.findings]
    raise AssertionError("\n".join(laid_out(report_exploration(program.name, found, files, repeat))))


def rerun_kept(program: Program, folder: Path) -> Exploration:
    """Replay the saved cases of this program until one of them breaks a rule."""
    found = Exploration(program)
    with same_for_each_run(program):
        for saved in list_kept(program.name, folder):
            if found.findings:
                break
            found.take(Phase("kept before", 1), [(saved.perturbations, saved.seed)])
    return found
