"""Commands that explain a failure: thin; the work is in explain.py, playback.py, difference.py and why.py."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs
import click

from umi_sim.cli_lists import config_of, readable
from umi_sim.console import output_options, refuse, say, say_json

if TYPE_CHECKING:
    from umi_sim.difference import Traced
    from umi_sim.playback import Playback
    from umi_sim.run_config import RunConfig
    from umi_sim.trace import SavedTrace


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
    from umi_sim import explain as explaining
    from umi_sim.report import escaped

    try:
        lines = explaining.page(name) if name else list(explaining.listed())
    except explaining.UnknownName as error:
        refuse(escaped(error.args[0]))
    if as_json:
        say_json(lines)
    elif not quiet:
        say(lines)
    return 0


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
    from umi_sim import difference, trace

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
    from umi_sim.difference import COLUMN_CHARS
    from umi_sim.report import cut, escaped

    return cut(escaped(Path(text).name if Path(text).is_file() else text), COLUMN_CHARS)


def side_of(context: click.Context, text: str) -> Side:
    """The run that an argument names."""
    from umi_sim import runner
    from umi_sim.playback import Playback

    path = Path(text)
    if path.suffix in (".json", ".trace") or path.is_file():
        if path.suffix != ".json" and not starts_as_json(path):
            return Side(readable_trace(path))
        seed = readable(text)
        config, items = seed.config, seed.items
    else:
        config, items = config_named(context, text), None
    return Side(runner.trace_of(config, items), Playback(config, items))


def starts_as_json(path: Path) -> bool:
    with path.open("rb") as opened:
        return opened.read(1) == b"{"


def readable_trace(path: Path) -> "SavedTrace":
    from umi_sim import trace

    try:
        saved = trace.read(path)
        for record in saved.kept:
            trace.decode(record)
    except (AssertionError, IndexError, TypeError, ValueError) as error:
        refuse(f"{path}: neither a seed file nor a trace: {error}")
    return saved


def config_named(context: click.Context, text: str) -> "RunConfig":
    """The configuration of a seed, written as SCENARIO:SEED or as for `run`."""
    from umi_sim.cli import overrides_of

    try:
        words = shlex.split(text)
    except ValueError as error:
        refuse(f"{text}: {error}")
    name, colon, seed = words[0].rpartition(":") if words else ("", "", "")
    words = [name, "--seed", seed, *words[1:]] if colon else words
    run = context.find_root().command.commands["run"]  # type: ignore[attr-defined]  # a group
    given = run.make_context("run", words).params
    if given["seed"] is None:
        refuse(f"{text}: neither a file nor a seed, write SCENARIO:SEED, as in smoke:42")
    overrides = overrides_of(given["settings"], given["mode"])
    return config_of(given["scenario"], given["seed"], overrides, given["transcript"])


COMMANDS: Final = (explain, diff)
