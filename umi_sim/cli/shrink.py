"""Shrinking from the command line: a seed file, or a new failure of `run` or `why`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from msgspec import structs

from umi_sim.cli.arguments import readable
from umi_sim.cli.console import complain, refuse, shows
from umi_sim.cli.kinds import find_other
from umi_sim.cli.seeds import again as replay_of
from umi_sim.cli.seeds import kept_path
from umi_sim.kernel.report import Report, row

if TYPE_CHECKING:
    from umi_sim.record.verdict import Failure, Verdict
    from umi_sim.seedfile.files import SeedFile
    from umi_sim.shrink import Shrunk
    from umi_sim.shrink.search import Budget

RUNS_MAX: Final = 500
SECONDS_MAX: Final = 60
RUNS: Final = click.IntRange(1, 1_000_000)
SECONDS: Final = click.IntRange(1, 86_400)


@click.command()
@click.argument("file")
@click.option("--budget", type=RUNS, default=RUNS_MAX, show_default=True, metavar="N", help="Most runs.")
@click.option(
    "--seconds", type=SECONDS, default=SECONDS_MAX, show_default=True, metavar="N", help="Most seconds."
)
@click.option("--again", is_flag=True, help="Start from the run as it was before it was shrunk.")
@shows()
def shrink(file: str, budget: int, seconds: int, again: bool) -> Report:
    """Make a seed file, or a recording, as small as it can be: the same failure, fewer and simpler items.

    The file is replaced. Another failure met on the way gets a file of its own. Ctrl-C keeps the best so far.

    \b
    umi-sim shrink .umi-sim/ephemeral/ttl-boundary-60f2fc7c829b.json
    umi-sim shrink --again --budget 5000 --seconds 600 FILE
    """
    from umi_sim.runs.corpus import size_of
    from umi_sim.shrink import NothingToShrink, shrink_whole

    if other := find_other(file, others=["--again"] if again else []):
        # The exit code is 0, because the failure of the file is expected here.
        return structs.replace(other.shrink(budget), exit_code=0)
    seed = before_shrinking(file) if again else readable(file)
    try:
        done = shrink_whole(seed, runs_max=budget, seconds_max=seconds)
    except NothingToShrink as error:
        refuse(f"{file}: {error}")
    # Starting from the longer run, the budget may end before the size of the present file is reached.
    if again and size_of(done.seed) > size_of(readable(file)):
        refuse(f"{file}: not replaced: --budget {budget} and --seconds {seconds} led to no smaller run")
    assert seed.failure is not None
    return structs.replace(small(Path(file), done, "", seed.failure), exit_code=0)


def report_new_failure(verdict: "Verdict", command: str, *, is_unshrunk: bool) -> Report:
    """Write the seed file of a failure, shrink it unless `is_unshrunk`, and return its report."""
    from umi_sim.explain import report
    from umi_sim.shrink import NothingToShrink, shrink_whole

    assert verdict.failure is not None
    path = kept_path(verdict)
    if path is None:
        return report.of_run(verdict, command, command)
    repeat = replay_of(path.as_posix())
    if is_of_another_run(verdict, path, is_unshrunk=is_unshrunk):
        return report.of_run(verdict, command, smaller=path.as_posix())
    whole = report.of_run(verdict, repeat, command, file=path.as_posix())
    if is_unshrunk:
        return whole
    try:
        reported = small(path, shrink_whole(readable(str(path))), command, verdict.failure)
    except NothingToShrink as error:
        complain(f"{path}: {error}")
        return whole
    return structs.replace(reported, value=lambda: {**report.as_json(verdict), **(reported.value or dict)()})


def smallest(verdict: "Verdict", budget: "Budget") -> Path:
    """Return the path of a failure's shrunk seed file; it may hold another run with the same failure.

    `budget`: shrinking ends within its time.
    """
    from umi_sim.shrink import NothingToShrink, shrink_whole

    assert verdict.failure is not None
    path = kept_path(verdict)
    if path is None:
        refuse("the failure can be explained only from its seed file")
    if not is_of_another_run(verdict, path, is_unshrunk=False):
        try:
            left = budget.seconds_left()
            seconds = SECONDS_MAX if left is None else min(SECONDS_MAX, left)
            small(path, shrink_whole(readable(str(path)), seconds_max=seconds), "", verdict.failure)
        except NothingToShrink as error:
            complain(f"{path}: {error}")
    return path


def small(path: Path, done: "Shrunk", command: str, before: "Failure") -> Report:
    """Write a shrunk seed file and those of other failures met meanwhile, and return the report."""
    from umi_sim.explain import report
    from umi_sim.seedfile import files as seed_file

    try:
        seed_file.write(path, done.seed)
    except seed_file.BadSeedFile as error:
        refuse(f"{path}: not replaced: {error}")
    others = list(kept_others(done))
    reported = report.of_shrunk(done, path.as_posix(), command, before)
    value = lambda: {**report.encode_reported(reported), "others": others}  # noqa: E731  # one line, used once
    rows = (row("other", "failure met on the way:", replay_of(other)) for other in others)
    return structs.replace(report.of_failure(reported).also(*rows), value=value)


def is_of_another_run(verdict: "Verdict", path: Path, *, is_unshrunk: bool) -> bool:
    """Return True if the file of this failure holds another run with the same failure.

    `is_unshrunk`: the same run after shrinking also counts as another one.
    """
    seed, run = readable(str(path)), verdict.config
    if is_unshrunk and seed.items != verdict.items:
        return True
    recorded = seed.config
    # Items are not compared, because those of the same run may have been shrunk already.
    return (recorded.scenario, recorded.seed, recorded.settings) != (run.scenario, run.seed, run.settings)


def before_shrinking(file: str) -> "SeedFile":
    """Return the run of a file before it was shrunk, or refuse the file."""
    seed = readable(file)
    if not seed.original:
        refuse(f"{file}: holds no items from before it was shrunk; leave out --again")
    config = seed.original_config or seed.config
    return structs.replace(seed, config=config, items=seed.original, original=(), minimised=None)


def kept_others(done: "Shrunk") -> Iterator[str]:
    """Write the seed files of other failures met while shrinking, and yield their paths."""
    for verdict in done.others:
        if path := kept_path(verdict):
            yield path.as_posix()


COMMANDS: Final = (shrink,)
