"""Shrinking from the command line: of a seed file, and of a failure that `run` has met and written down."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from umi_sim.cli.arguments import readable
from umi_sim.cli.console import complain, is_colored, output_options, refuse, say, say_json
from umi_sim.kernel.wording import escaped, row

if TYPE_CHECKING:
    from umi_sim.explain.report import Told
    from umi_sim.record.verdict import Verdict
    from umi_sim.seedfile.files import SeedFile
    from umi_sim.shrink import Shrunk

RUNS_MAX: Final = 500
SECONDS_MAX: Final = 60
RUNS: Final = click.IntRange(1, 1_000_000)
SECONDS: Final = click.IntRange(1, 86_400)


@click.command()
@click.argument("file")
@click.option("--budget", type=RUNS, default=RUNS_MAX, show_default=True, metavar="N", help="Runs at most.")
@click.option(
    "--seconds", type=SECONDS, default=SECONDS_MAX, show_default=True, metavar="N", help="Seconds at most."
)
@click.option("--again", is_flag=True, help="Begin with the items that the file had before it was shrunk.")
@output_options
def shrink(
    file: str, budget: int, seconds: int, again: bool, as_json: bool, quiet: bool, no_color: bool
) -> int:
    """Make a seed file as small as it can be: the same failure, fewer and simpler items.

    The file is replaced. Another failure met on the way gets a file of its own. Ctrl-C keeps the best so far.

    \b
    umi-sim shrink .umi-sim/ephemeral/ttl-boundary-60f2fc7c829b.json
    umi-sim shrink --again --budget 5000 --seconds 600 FILE
    """
    from umi_sim.explain import report

    seed = before_shrinking(file) if again else readable(file)
    done = shrunk(seed, file, budget, seconds)
    if again and is_larger(done.seed, readable(file)):
        refuse(f"{file}: not replaced: --budget {budget} and --seconds {seconds} led to no smaller run")
    write(Path(file), done.seed)
    others = kept_others(done)
    assert seed.failure is not None
    told = report.of_shrunk(done, f"umi-sim replay {file}", "", seed.failure)
    if as_json:
        say_json(as_object(told, others))
    elif not quiet:
        say(lines(told, others), is_colored(no_color))
    return 0


def told_small(
    verdict: "Verdict", path: Path, command: str, as_json: bool, quiet: bool, no_color: bool
) -> bool:
    """Shrink the file of a failure that `run` met, and report it; False if that cannot be done."""
    from umi_sim.explain import report
    from umi_sim.shrink import NothingToShrink, shrink_whole

    seed = readable(str(path))
    if sys.stderr.isatty():
        click.echo(f"shrinking {len(seed.items)} items, Ctrl-C keeps the best so far", err=True)
    try:
        done = shrink_whole(seed)
    except NothingToShrink as error:
        complain(f"{path}: {error}")
        return False
    write(path, done.seed)
    others = kept_others(done)
    assert verdict.failure is not None
    told = report.of_shrunk(done, f"umi-sim replay {path.as_posix()}", command, verdict.failure)
    if as_json:
        say_json({**report.as_json(verdict), **as_object(told, others)})
    elif not quiet:
        say(lines(told, others), is_colored(no_color))
    return True


def is_of_another_run(verdict: "Verdict", path: Path, *, is_whole: bool) -> bool:
    """Whether the file of this failure holds another run that fails alike, and is smaller.

    `is_whole`: this run after it was shrunk is another one, too.
    """
    seed, lived = readable(str(path)), verdict.config
    if is_whole and seed.items != verdict.items:
        return True
    kept = seed.config
    return (kept.scenario, kept.seed, kept.settings) != (lived.scenario, lived.seed, lived.settings)


def before_shrinking(file: str) -> "SeedFile":
    """The run of a file before it was shrunk."""
    import attrs

    seed = readable(file)
    if not seed.original:
        refuse(f"{file}: holds no items from before it was shrunk; leave out --again")
    config = seed.original_config or seed.config
    return attrs.evolve(seed, config=config, items=seed.original, original=(), minimised=None)


def is_larger(seed: "SeedFile", known: "SeedFile") -> bool:
    from umi_sim.runs.corpus import size_of

    return size_of(seed) > size_of(known)


def shrunk(seed: "SeedFile", file: str, runs_max: int, seconds_max: int) -> "Shrunk":
    from umi_sim.shrink import NothingToShrink, shrink_whole

    try:
        return shrink_whole(seed, runs_max=runs_max, seconds_max=seconds_max)
    except NothingToShrink as error:
        refuse(f"{file}: {error}")


def write(path: Path, seed: "SeedFile") -> None:
    from umi_sim.seedfile import files as seed_file

    try:
        seed_file.write(path, seed)
    except seed_file.BadSeedFile as error:
        refuse(f"{path}: not replaced: {error}")


def kept_others(done: "Shrunk") -> list[str]:
    """Where other failures that were met have their files."""
    from umi_sim.runs import corpus
    from umi_sim.seedfile import files as seed_file

    kept = []
    for verdict in done.others:
        try:
            kept.append(corpus.keep_run(verdict).as_posix())
        except (OSError, seed_file.BadSeedFile) as error:
            complain(f"no seed file was written for another failure: {error}")
    return kept


def lines(told: "Told", others: list[str]) -> list[str]:
    from umi_sim.explain import report

    rows = [row("other", f"failure met on the way: umi-sim replay {path}") for path in others]
    return [*report.failed(told), *map(escaped, rows)]


def as_object(told: "Told", others: list[str]) -> dict[str, object]:
    from umi_sim.explain.report import failure_as_json
    from umi_sim.seedfile.text import minimised_to_json

    minimised = minimised_to_json(told.minimised) if told.minimised else None
    said = {"failure": failure_as_json(told.failure), "minimised": minimised, "without": dict(told.without)}
    return {**said, "others": others, "repeat": told.repeat}


COMMANDS: Final = (shrink,)
