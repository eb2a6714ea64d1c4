"""Commands that run many worlds: thin; the work is in sweep.py and verify.py."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from umi_sim.console import Seed, Seeds, common, complain, is_colored, refuse, say, say_json

HARNESS: Final = 4
PINNED: Final = "0..199"


@click.command()
@click.argument("scenario", nargs=-1)
@click.option("--seeds", type=Seeds(), default=PINNED, show_default=True, help="Both ends included.")
@click.option("--jobs", type=click.IntRange(1, 1_024), help="Processes. Default: one for each core.")
@click.option("--stop-first", is_flag=True, help="End with the first failure.")
@common
def sweep(
    scenario: Sequence[str],
    seeds: range,
    jobs: int | None,
    stop_first: bool,
    as_json: bool,
    quiet: bool,
    no_color: bool,
) -> int:
    """Run many seeds of many scenarios; one seed file for each different failure.

    \b
    umi-sim sweep
    umi-sim sweep crash_storm retries --seeds 0..999 --jobs 4
    """
    from umi_sim import scenario as scenarios
    from umi_sim import sweep as sweeps

    try:
        names = list(scenario) or sweeps.default_names()
        kinds = sweeps.kinds_of(names)
    except scenarios.BadScenario as error:
        refuse(error)
    totals = sweeps.sweep(names, seeds, jobs or sweeps.default_jobs(), stop_first, quiet)
    sweeps.write_files(totals, Path())
    if as_json:
        say_json(sweeps.as_json(totals))
    elif not quiet:
        say(sweeps.lines(totals, names, seeds, kinds), is_colored(no_color))
    return totals.exit_code()


@click.command()
@click.argument("scenario", default="smoke")
@click.option("--seed", type=Seed(), help="One seed.")
@click.option("--seeds", type=Seeds(), help="Both ends included.")
@common
def verify(
    scenario: str, seed: int | None, seeds: range | None, as_json: bool, quiet: bool, no_color: bool
) -> int:
    """Run the same seeds in two different processes; the traces must be equal.

    Hash seed, BLAS kernel, folder, time zone and locale differ. Exit 4 if a trace does.

    \b
    umi-sim verify smoke --seed 42
    umi-sim verify --seeds 0..19
    """
    from umi_sim import scenario as scenarios
    from umi_sim import verify as verifying

    if (seed is None) == (seeds is None):
        refuse("give either --seed S or --seeds A..B")
    wanted = range(seed, seed + 1) if seed is not None else seeds
    assert wanted is not None
    try:
        scenarios.find(scenario)
    except scenarios.BadScenario as error:
        refuse(error)
    try:
        pairs = verifying.pairs(scenario, wanted)
        apart = next((first.seed for first, second in pairs if first != second), None)
        lines = verifying.where_apart(scenario, apart) if apart is not None else []
    except verifying.ChildFailed as error:
        complain(str(error))
        return HARNESS
    if as_json:
        said = {
            "scenario": scenario,
            "seeds": [first.seed for first, _ in pairs],
            "apart": apart,
            "where": lines,
        }
        say_json({"result": "same" if apart is None else "different", **said})
    elif not quiet:
        say(verified(scenario, pairs, apart, lines), is_colored(no_color))
    return 0 if apart is None else HARNESS
