"""Options and output of the command program. The work is done in umi_sim.programs."""

import sys
from importlib import import_module
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Any, Final

import click

from umi_sim.cli.console import refuse, seed_of, shows
from umi_sim.kernel.report import Report

if TYPE_CHECKING:
    from umi_sim.programs.failure_files import SavedCase
    from umi_sim.programs.program import Program
    from umi_sim.programs.search import Exploration

CONVENTIONS: Final = ("resume", "verify", "rules", "without", "library_tasks", "reorder")


@click.command()
@click.argument("name", metavar="MODULE:NAME")
@click.option("--seconds", type=click.IntRange(1, 86_400), metavar="N", help="How long at most. Default: 60.")
@click.option(
    "--seed", type=seed_of, default="0", metavar="S", help="What chance and combinations follow from."
)
@click.option("--drawn", type=click.IntRange(0, 1_000_000), metavar="N", help="Combinations. Default: 100.")
@click.option("--all", "to_end", is_flag=True, help="Go on after a finding: one file for each kind.")
@click.option("--replay", metavar="FILE", help="Run a saved case again.")
@click.option("--own-loop", is_flag=True, help="Replay on asyncio's own event loop, in real time.")
@shows()
def program(
    name: str,
    seconds: int | None,
    seed: int,
    drawn: int | None,
    to_end: bool,
    replay: str | None,
    own_loop: bool,
) -> Report:
    """Test a program of yours: cancel it at each step, kill it, let its models and tools fail.

    MODULE:NAME is an async function, or a Program of umi_sim.programs; also FILE.py:NAME. Beside a function
    its module may have resume, verify and rules. Everything is imported from the current folder, and run.

    \b
    umi-sim program mine:main
    umi-sim program mine:main --replay .umi-sim/programs/FILE
    umi-sim program mine:main --replay .umi-sim/programs/FILE --own-loop
    """
    if own_loop and replay is None:
        refuse("--own-loop: runs one saved case: name it with --replay FILE")
    found = load_program(name)
    from umi_sim.programs import search, telling
    from umi_sim.programs.own_loop import run_on_asyncio
    from umi_sim.programs.services import BadProgram
    from umi_sim.programs.simulation import run_case
    from umi_sim.record.saved_failures import BadFile

    try:
        if replay is None:
            limit = search.SECONDS if seconds is None else seconds
            count = search.DRAWN if drawn is None else drawn
            done = search.explore(found, seed=seed, drawn=count, seconds=limit, to_end=to_end)
            return telling.report_exploration(name, done, write_findings(name, done))
        saved = read_file(replay)
        if own_loop:
            outcome = run_on_asyncio(found, saved.perturbations)
            return telling.report_replay(name, replay, found, saved, outcome, " on asyncio's own loop")
        outcome = run_case(found, saved.perturbations, saved.seed)
        return telling.report_replay(name, replay, found, saved, outcome)
    except (BadProgram, BadFile) as error:
        refuse(error)


def write_findings(name: str, done: "Exploration") -> list[Path]:
    """Write each finding to a file; without one nothing is loaded."""
    if not done.findings:
        return []
    from umi_sim.programs.failure_files import write_finding

    return [write_finding(name, each) for each in done.findings]


def read_file(file: str) -> "SavedCase":
    from umi_sim.programs.failure_files import read_case

    return read_case(Path(file))


def load_program(name: str) -> "Program":
    """Return the program that the user has named."""
    from umi_sim.programs.program import Program

    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        refuse(f"{name}: write MODULE:NAME, as in mine:main")
    sys.path.insert(0, str(Path.cwd()))
    try:
        home = import_module(module.removesuffix(".py").replace("/", "."))
    except ModuleNotFoundError as error:
        refuse(f"{name}: no module {error.name}")
    except Exception as error:  # whatever their module raises is theirs
        where = f"line {extract_tb(error.__traceback__)[-1].lineno}: {type(error).__name__}: "
        refuse(f"{name}: cannot be imported: {'' if isinstance(error, SyntaxError) else where}{error}")
    found: Any = getattr(home, attribute, None)
    if isinstance(found, Program):
        return found
    if found is None or not callable(found):
        own = [it for it, value in vars(home).items() if getattr(value, "__module__", "") == home.__name__]
        refuse(f"{name}: {module} has no function {attribute}; it has {', '.join(own) or 'none'}")
    return Program(found, **{it: getattr(home, it) for it in CONVENTIONS if hasattr(home, it)})


COMMANDS: Final[tuple[Any, ...]] = (program,)
