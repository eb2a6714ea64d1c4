"""Options and output of the command program. The work is done in umi_sim.programs."""

import inspect
import io
import sys
from _thread import get_ident
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

import click

from umi_sim.cli.arguments import import_named
from umi_sim.cli.console import refuse, seed_of, shows
from umi_sim.kernel.report import Report

if TYPE_CHECKING:
    from umi_sim.programs.program import Program
    from umi_sim.programs.search import Exploration

CONVENTIONS: Final = ("resume", "verify", "rules", "without", "library_tasks", "reorder")


class RunsMuted(io.TextIOBase):
    """Drops what programs print in the many runs of a search; `replay` shows that of one."""

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.thread = stream, get_ident()

    def write(self, text: str) -> int:
        from umi_sim.programs.services import current_run

        is_muted = get_ident() == self.thread and current_run() is not None
        return len(text) if is_muted else self.stream.write(text)

    def flush(self) -> None:
        self.stream.flush()

    def isatty(self) -> bool:
        return self.stream.isatty()


@click.command()
@click.argument("name", metavar="MODULE:NAME")
@click.option("--seconds", type=click.IntRange(1, 86_400), metavar="N", help="How long at most. Default: 60.")
@click.option(
    "--seed",
    type=seed_of,
    default="0",
    metavar="S",
    help="Seed of chance and of the combinations. Default: 0.",
)
@click.option(
    "--drawn",
    type=click.IntRange(0, 1_000_000),
    metavar="N",
    help="Number of combinations to draw. Default: 100.",
)
@click.option("--all", "to_end", is_flag=True, help="Go on after a finding: one file for each kind.")
@shows()
def program(
    name: str,
    seconds: int | None,
    seed: int,
    drawn: int | None,
    to_end: bool,
) -> Report:
    """Test your program: cancel it at each step, kill it, and let its models and tools fail.

    MODULE:NAME is an async function, or a Program of umi_sim.programs; also FILE.py:NAME. Beside a function
    its module may have resume, verify and rules. Everything is imported from the current folder, and run.

    \b
    umi-sim program mine:main
    umi-sim replay .umi-sim/programs/FILE --of mine:main
    """
    found = load_program(name)
    from umi_sim.programs import reports, search

    limit = search.SECONDS if seconds is None else seconds
    count = search.DRAWN if drawn is None else drawn
    with refuse_bad(), redirect_stdout(RunsMuted(sys.stdout)), redirect_stderr(RunsMuted(sys.stderr)):
        done = search.explore(found, seed=seed, drawn=count, seconds=limit, to_end=to_end)
    return reports.report_exploration(name, done, write_findings(name, done))


@contextmanager
def refuse_bad() -> Iterator[None]:
    """End the command in one line if a program cannot be run."""
    from umi_sim.programs.services import BadProgram

    try:
        yield
    except BadProgram as error:
        refuse(error)


def write_findings(name: str, done: "Exploration") -> list[Path]:
    """Write each finding to a file, and return the paths; without findings nothing is imported."""
    if not done.findings:
        return []
    from umi_sim.programs.failure_files import write_finding

    return [write_finding(name, each) for each in done.findings]


def load_program(name: str) -> "Program":
    """Return the program that the user has named."""
    from umi_sim.programs.program import Program

    home, attribute = import_named(name, "MODULE:NAME, as in mine:main")
    found: Any = getattr(home, attribute, None)
    if isinstance(found, Program):
        return found
    if found is not None and not callable(found):
        refuse(f"{name}: {attribute} is {show_kind(found)}")
    if found is None:
        own = [
            it
            for it, value in vars(home).items()
            if callable(value) and getattr(value, "__module__", "") == home.__name__
        ]
        refuse(f"{name}: {home.__name__} has no function {attribute}; it has {', '.join(own) or 'none'}")
    return Program(found, **{it: getattr(home, it) for it in CONVENTIONS if hasattr(home, it)})


def show_kind(value: object) -> str:
    if inspect.iscoroutine(value):
        value.close()
        return f"a coroutine: name the function {value.__qualname__} itself"
    return f"an object of class {type(value).__name__}, and no async function"


COMMANDS: Final[tuple[Any, ...]] = (program,)
