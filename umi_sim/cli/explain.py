"""Options and output of the commands explain, why, step and diff. The work is done in umi_sim.explain."""

import sys
from collections.abc import Iterable
from os.path import isfile as is_file  # unlike a Path, it knows no name that is too long
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

import click
import msgspec
from msgspec import structs

from umi_core.data import Data
from umi_sim.cli.arguments import config_named, is_seed_file, readable, readable_trace
from umi_sim.cli.console import complain, refuse, shows
from umi_sim.cli.kinds import find_other
from umi_sim.cli.terminal import width, write_line
from umi_sim.kernel.report import Report, laid_out, row, whole
from umi_sim.kernel.wording import cut, escape_text, suggest_names
from umi_sim.record.exit_codes import INTERRUPTED, USAGE

if TYPE_CHECKING:
    from umi_sim.explain.difference import Traced
    from umi_sim.explain.playback import Playback
    from umi_sim.explain.stepper import Stepper
    from umi_sim.shrink.search import Budget

RUNS_MAX: Final = 10_000
SECONDS_MAX: Final = 120
COMMAND_BYTES_MAX: Final = 4_096
NAME_CHARS_MAX: Final = 200


@click.command()
@click.argument("word", nargs=-1)
@shows()
def explain(word: tuple[str, ...]) -> Report:
    """Explain a word that a command shows: a rule by name or id, a fault, a planted bug, a mark, any label.

    Of a rule: what it promises, where it is checked, which planted bugs break it. Without a word: all rules.

    \b
    umi-sim explain acknowledged-is-durable
    umi-sim explain TTL-1
    umi-sim explain gate
    """
    from umi_sim.explain import words

    name = " ".join(word)
    # A likely mistake, because most commands take a file.
    if is_file(name):
        refuse(f"{name}: is a file, and explain takes a word: umi-sim show FILE shows a seed file")
    if name not in words.names() and (of_stores := rule_of_stores(name)):
        return of_stores
    return explain_name(name, words.names(), "word") if word else words.all_rules()


def rule_of_stores(name: str) -> Report | None:
    """Return the page of a rule of `umi-sim target`, or of an anomaly; None for another name."""
    from umi_sim.targets.promises import ANOMALIES, RULES

    more = whole("more", "umi-sim target --manual")
    if found := next((each for each in ANOMALIES if each.name == name), None):
        rows = [row("meaning", found.meaning), row("breaks", f"the rule {found.rule}"), more]
        meant = {"word": name, "meaning": found.meaning, "rule": found.rule}
        return Report(f"{name}: an anomaly in a report of umi-sim target", rows, lambda: meant)
    if name not in RULES:
        return None
    named = [each.name for each in ANOMALIES if each.rule == name]
    rows = [row("promise", RULES[name]), *(row("anomaly", each) for each in named), more]
    value = {"word": name, "promise": RULES[name], "anomalies": named}
    return Report(f"{name}: a rule of umi-sim target", rows, lambda: value)


def explain_name(name: str, known: Iterable[str], what: str) -> Report:
    """Return the page about a name. For an unknown name, suggest some of the `known` ones."""
    from umi_sim.explain import words

    try:
        return words.page(name)
    except words.UnknownName:
        hint = suggest_names(name, known, 3) or "; `umi-sim explain` alone lists all words"
        refuse(f"{cut(name, NAME_CHARS_MAX)}: no such {what}{hint}")


# Differences.

DIFFERENT: Final = 1


class Side(Data):
    """One of two runs to compare: its records, and the means to repeat it, unless only a trace is given."""

    trace: "Traced"
    playback: "Playback | None" = None


@click.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@shows()
@click.pass_context
def diff(context: click.Context, a: str, b: str) -> Report:
    """Compare two runs: the first record in which they differ, and what differs in their states there.

    A and B are seed files, trace files, or seeds: SCENARIO:SEED, or in quotes what follows `umi-sim run`.
    Exit 0 if they are the same, 1 if not.

    \b
    umi-sim diff smoke:42 "smoke --seed 42 --set agents.count=2"
    umi-sim diff before.trace after.trace
    """
    from umi_sim.explain import difference

    first, second = side_of(context, a), side_of(context, b)
    found = difference.apart(first.trace, second.trace, (name_side(a), name_side(b)))
    if found is None:
        return Report("SAME the two runs have the same records", value=lambda: {"result": "same"})
    # A trace has no states, so states are compared only if both runs can be repeated.
    changes = []
    if first.playback and second.playback:
        changes = difference.delta(first.playback, second.playback, found.step)
    value = {"result": "different", **found.as_object(), "state": list(map(msgspec.to_builtins, changes))}
    reported = difference.report(found, difference.delta_rows(changes))
    return Report(f"DIFFER {reported.head}", reported.lines, lambda: value, DIFFERENT)


def name_side(text: str) -> str:
    """Return the heading of the column of a side."""
    return Path(text).name if is_file(text) else text


def side_of(context: click.Context, text: str) -> Side:
    """Return the run that an argument names."""
    from umi_sim.explain.playback import Playback

    path = Path(text)
    # Judges by the suffix even if the file does not exist, so that
    # the error is about a file and not about an unknown scenario.
    if path.suffix in (".json", ".trace") or is_file(path):
        if path.suffix != ".json" and not is_seed_file(text):
            return Side(readable_trace(text))
        seed = readable(text)
        playback = Playback(seed.config, seed.items)
    else:
        playback = Playback(config_named(context, text))
    return Side(playback.run_to_end()[1], playback)


# Causes.


@click.command()
@click.argument("run", metavar="FILE")
@click.option(
    "--runs", type=click.IntRange(0, RUNS_MAX), default=200, show_default=True,
    help="Draw the rest of the run so often after each item; 0: report only what is needed.",
)  # fmt: skip
@click.option(
    "--seconds", type=click.IntRange(1, 86_400), default=SECONDS_MAX, show_default=True, metavar="N",
    help="Begin no more runs after this time.",
)  # fmt: skip
@click.option("--scenario", "own", default="", metavar="FILE", help="The file of a scenario of your own.")
@click.option(
    "--of", default="", metavar="MODULE:NAME", help="Your store or program, which FILE was recorded with."
)
@shows()
@click.pass_context
def why(context: click.Context, run: str, runs: int, seconds: int, own: str, of: str) -> Report:
    """Explain a failing run: what it needs, where it was decided, and the nearest run that passes.

    FILE is a seed file, or a seed as in `diff`, which is run and shrunk first. Shrink a long file first.
    Ctrl-C ends it with what is known by then.

    \b
    umi-sim why .umi-sim/ephemeral/ttl-boundary-60f2fc7c829b.json
    umi-sim why --runs 50 canary:0
    umi-sim why .umi-sim/programs/FILE --of mine:main
    """
    from umi_sim.explain import why as asking
    from umi_sim.explain import why_page
    from umi_sim.explain.report import replay_of
    from umi_sim.scenario import files as scenario
    from umi_sim.shrink.search import Budget

    budget = Budget(None, seconds)
    if other := find_other(run, of, ["--scenario"] if own else []):
        return other.why(budget)
    file = run if Path(run).suffix == ".json" or is_file(run) else failing(context, run, budget)
    seed = readable(file)
    try:
        if own:
            scenario.of(seed.config, own)
        found = asking.why(seed, runs, own, budget)
    except scenario.BadScenario as error:
        refuse(f"--scenario {error}")
    except asking.NothingToExplain as error:
        refuse(f"{file}: {error}")
    return structs.replace(
        why_page.page(found, replay_of(file)), exit_code=INTERRUPTED if found.is_interrupted else 0
    )


def failing(context: click.Context, text: str, budget: "Budget") -> str:
    """Run a seed, and return the path of the seed file of its failure, shrunk as far as its time allows."""
    from umi_sim.cli.shrink import smallest
    from umi_sim.runs import runner

    verdict = runner.run(config_named(context, text))
    if verdict.failure is None:
        refuse(f"{text}: passes, and there is nothing to explain")
    return smallest(verdict, budget).as_posix()


# Steps.


@click.command()
@click.argument("file")
@click.pass_context
def step(context: click.Context, file: str) -> int:
    """Go through a recorded run step by step, forwards and back; h lists the commands, also from a pipe.

    FILE is a seed file, or a seed as in `diff`. From a pipe, the first command that cannot be done ends it,
    and the exit code is 2.

    \b
    umi-sim step .umi-sim/ephemeral/ttl-boundary-60f2fc7c829b.json
    echo "g 12; d; s memory.a.tiers.working" | tr ';' '\\n' | umi-sim step smoke:42
    """
    from umi_sim.explain.playback import Playback
    from umi_sim.explain.stepper import Stepper

    if Path(file).suffix == ".json":
        seed = readable(file)
        stepper = Stepper(Playback(seed.config, seed.items), seed)
    elif is_file(file):
        refuse(f"{file}: expected a seed file (.json), or a seed such as smoke:42")
    else:
        stepper = Stepper(Playback(config_named(context, file)))
    return converse(stepper, sys.stdin.buffer)


def converse(stepper: "Stepper", lines: BinaryIO) -> int:
    """Read and run commands until they end. Commands from a pipe are printed before their output."""
    is_piped = not lines.isatty()
    number = 0
    while not stepper.is_over:
        click.echo(stepper.prompt().encode(), nl=False)
        # The length is bounded because input from a pipe may have no line ends.
        line = lines.readline(COMMAND_BYTES_MAX).decode(errors="replace")
        number += 1
        if not line:
            write_line(b"")
            return 0
        if is_piped:
            write_line(escape_text(line.rstrip("\n")).encode())
        reply, is_done = stepper.do(line)
        # The first command of a script that fails ends the script.
        if is_piped and not is_done:
            return complain(f"command {number}, {line.strip()!r}: {reply.head}", USAGE)
        for each in laid_out(reply, width()):
            write_line(each.encode(errors="backslashreplace"))
    return 0


COMMANDS: Final = (explain, diff, why, step)
