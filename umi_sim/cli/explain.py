"""Commands that explain a failure: thin; the work is in explain.py, playback.py, difference.py and why.py."""

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

import attrs
import click

from umi_sim.cli.arguments import config_of, is_seed_file, overrides_of, readable, readable_trace
from umi_sim.cli.console import output_options, refuse, say, say_json
from umi_sim.kernel.wording import cut, escaped
from umi_sim.record.verdict import INTERRUPTED

if TYPE_CHECKING:
    from umi_sim.explain.difference import Traced
    from umi_sim.explain.playback import Playback
    from umi_sim.explain.stepper import Stepper
    from umi_sim.record.run_config import RunConfig


@click.command()
@click.argument("name", required=False)
@output_options
def explain(name: str | None, as_json: bool, quiet: bool, no_color: bool) -> int:
    """Explain a rule by its name or id: what it promises, where it is checked, which planted bugs break it.

    Faults, planted bugs and marks have a page too. Without a name: all rules.

    \b
    umi-sim explain acknowledged-is-durable
    umi-sim explain TTL-1
    umi-sim explain storage_torn
    """
    from umi_sim.explain import words as explaining

    try:
        lines = explaining.page(name) if name else list(explaining.listed())
    except explaining.UnknownName as error:
        refuse(escaped(error.args[0]))
    if as_json:
        say_json(lines)
    elif not quiet:
        say(lines)
    return 0


RUNS_MAX: Final = 10_000
COMMAND_BYTES_MAX: Final = 4_096

# Differences.

DIFFERENT: Final = 1


@attrs.frozen
class Side:
    """One of two runs: its records, and how to live it again unless it is only a trace."""

    trace: "Traced"
    playback: "Playback | None" = None


@click.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@output_options
@click.pass_context
def diff(context: click.Context, a: str, b: str, as_json: bool, quiet: bool, no_color: bool) -> int:
    """Compare two runs: the first record in which they differ, and what differs in their states there.

    A and B are seed files, trace files, or seeds: SCENARIO:SEED, or in quotes what follows `umi-sim run`.
    Exit 0 if they are the same, 1 if not.

    \b
    umi-sim diff smoke:42 "smoke --seed 42 --set agents.count=2"
    umi-sim diff before.trace after.trace
    """
    from umi_sim.explain import difference
    from umi_sim.record import trace

    first, second = side_of(context, a), side_of(context, b)
    found = trace.first_difference(first.trace, second.trace)
    if found is None:
        lines = ["same"]
    else:
        lines = list(difference.layout(found, first.trace, second.trace, (named(a), named(b))))
        if first.playback and second.playback:
            step = difference.step_of(found, first.trace)
            changes = difference.delta(first.playback, second.playback, step)
            lines += ["", *difference.delta_rows(changes)]
    if as_json:
        say_json({"result": "same" if found is None else "different", "where": lines[:1], "lines": lines})
    elif not quiet:
        say(lines)
    return 0 if found is None else DIFFERENT


def named(text: str) -> str:
    """A side as the head of its column."""
    from umi_sim.explain.difference import COLUMN_CHARS

    return cut(escaped(Path(text).name if Path(text).is_file() else text), COLUMN_CHARS)


def side_of(context: click.Context, text: str) -> Side:
    """The run that an argument names."""
    from umi_sim.explain.playback import Playback
    from umi_sim.runs import runner

    path = Path(text)
    if path.suffix in (".json", ".trace") or path.is_file():
        if path.suffix != ".json" and not is_seed_file(text):
            return Side(readable_trace(text))
        seed = readable(text)
        config, items = seed.config, seed.items
    else:
        config, items = config_named(context, text), None
    return Side(runner.trace_of(config, items), Playback(config, items))


def config_named(context: click.Context, text: str) -> "RunConfig":
    """The configuration of a seed, written as SCENARIO:SEED or as for `run`."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        refuse(f"{text}: {error}")
    name, colon, seed = words[0].rpartition(":") if words else ("", "", "")
    words = [name, "--seed", seed, *words[1:]] if colon else words
    run = context.find_root().command.commands["run"]  # type: ignore[attr-defined]  # a group
    try:
        given = run.make_context("run", words).params
    except click.UsageError as error:
        refuse(f"{text}: {error.message}")
    if given["seed"] is None:
        refuse(f"{text}: neither a file nor a seed, write SCENARIO:SEED, as in smoke:42")
    overrides = overrides_of(given["settings"], given["mode"])
    return config_of(given["scenario"], given["seed"], overrides, given["transcript"])


# Causes.


@click.command()
@click.argument("file")
@click.option(
    "--runs", type=click.IntRange(0, RUNS_MAX), default=200, show_default=True,
    help="How often the rest is drawn afresh after each item; 0: only what is needed.",
)  # fmt: skip
@click.option("--scenario", "own", default="", metavar="FILE", help="The scenario, if it is your own.")
@output_options
def why(file: str, runs: int, own: str, as_json: bool, quiet: bool, no_color: bool) -> int:
    """Explain a failing seed file: what it needs, where it was decided, and the nearest run that passes.

    Shrink a long one first. Ctrl-C ends it with what is known by then.

    \b
    umi-sim why .umi-sim/ephemeral/ttl-boundary-60f2fc7c829b.json
    umi-sim why --runs 50 FILE
    """
    from umi_sim.explain import why as asking
    from umi_sim.explain import why_page
    from umi_sim.scenario import files as scenario

    seed = readable(file)
    try:
        if own:
            scenario.of(seed.config, own)
        found = asking.why(seed, runs, progress_to_stderr(quiet), own)
    except scenario.BadScenario as error:
        refuse(f"--scenario {error}")
    except asking.NothingToExplain as error:
        refuse(f"{file}: {error}")
    if as_json:
        say_json(why_page.as_json(found))
    elif not quiet:
        say(why_page.page(found))
    return INTERRUPTED if found.stopped == asking.INTERRUPTED else 0


def progress_to_stderr(quiet: bool) -> Callable[[str], None]:
    """Where a long command is, on one line of a terminal; nothing anywhere else."""
    if quiet or not sys.stderr.isatty():
        return lambda told: None

    def show(told: str) -> None:
        sys.stderr.write(f"\r{told:70}\r")
        sys.stderr.flush()

    return show


# Steps.


@click.command()
@click.argument("file")
@click.pass_context
def step(context: click.Context, file: str) -> int:
    """Go through a recorded run step by step, forwards and back. Commands come from a pipe too; h lists them.

    FILE is a seed file, or a seed as in `diff`.

    \b
    umi-sim step .umi-sim/ephemeral/ttl-boundary-60f2fc7c829b.json
    echo "g 12; d; s memory.a.tiers.working" | tr ';' '\\n' | umi-sim step smoke:42
    """
    from umi_sim.explain.playback import Playback
    from umi_sim.explain.stepper import Stepper

    if Path(file).suffix == ".json":
        seed = readable(file)
        stepper = Stepper(Playback(seed.config, seed.items), seed)
    elif Path(file).is_file():
        refuse(f"{file}: expected a seed file (.json), or a seed such as smoke:42")
    else:
        stepper = Stepper(Playback(config_named(context, file)))
    converse(stepper, sys.stdin.buffer)
    return 0


def converse(stepper: "Stepper", lines: BinaryIO) -> None:
    """Read commands until they end. From a pipe they are printed, so that what comes out can be read."""

    is_piped = not lines.isatty()
    while not stepper.is_over:
        click.echo(stepper.prompt().encode(), nl=False)
        line = lines.readline(COMMAND_BYTES_MAX).decode(errors="replace")
        if not line:
            break
        if is_piped:
            say([escaped(line.rstrip("\n"))])
        say(stepper.do(line))
    if not stepper.is_over:
        say([""])


COMMANDS: Final = (explain, diff, why, step)
