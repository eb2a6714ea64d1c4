"""Options and output of the commands mutants and verify. The work is in umi_sim.runs and umi_sim.sweep."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

import click
import msgspec

from umi_sim.cli.arguments import command_of, readable
from umi_sim.cli.console import complain, refuse, seed_of, seeds_of, shows
from umi_sim.cli.source import source_hunts
from umi_sim.kernel.progress import at
from umi_sim.kernel.report import Report, ReportRow, row
from umi_sim.kernel.wording import cut, suggest_names
from umi_sim.record.exit_codes import HARNESS

if TYPE_CHECKING:
    from umi_sim.explain.difference import FirstDifference
    from umi_sim.mutants import Mutant


@click.command()
@click.argument("scenario", default="smoke")
@click.option("--seed", type=seed_of, metavar="S", help="One seed.")
@click.option("--seeds", type=seeds_of, metavar="A..B", help="These seeds, both ends included.")
@shows()
def verify(scenario: str, seed: int | None, seeds: range | None) -> Report:
    """Run the same seeds, or a seed file, in two different processes; the traces must be equal.

    Hash seed, BLAS kernel, folder, time zone and locale differ. Exit 4 if a trace does.

    \b
    umi-sim verify smoke --seed 42
    umi-sim verify --seeds 0..19
    umi-sim verify .umi-sim/ephemeral/ttl-boundary-60f2fc7c829b.json
    """
    from umi_sim.sweep import verify as verifying
    from umi_sim.sweep.worker_process import Died, OutOfLimit

    wanted = seeds_wanted(scenario, seed, seeds)
    try:
        done = verifying.compare(scenario, wanted)
    except (Died, OutOfLimit) as error:
        return Report("", exit_code=complain(f"verify: {error}", HARNESS))
    summary = {"result": "same", "scenario": scenario, "seeds": list(wanted)}
    if done.differing is not None:
        return not_verified(scenario, summary, done.differing, done.apart)
    if len(wanted) == 1:
        message = f"{scenario} seed {wanted[0]}: trace {done.trace} in both processes"
    else:
        message = f"{scenario}: {len(wanted)} traces, each the same in both processes"
    return Report(f"SAME {message}", value=lambda: summary)


def seeds_wanted(name: str, seed: int | None, seeds: range | None) -> range:
    """Return the seeds to verify; a seed file has its own."""
    from umi_sim.scenario import files as scenarios
    from umi_sim.sweep import verify as verifying

    if verifying.is_seed_file(name):
        if seed is not None or seeds is not None:
            refuse(f"{name}: a seed file has its seed, leave --seed and --seeds away")
        own = readable(name).config.seed
        return range(own, own + 1)
    if (seed is None) == (seeds is None):
        refuse("give either --seed S or --seeds A..B")
    try:
        scenarios.find(name)
    except scenarios.BadScenario as error:
        refuse(error)
    return range(seed, seed + 1) if seed is not None else seeds or range(0)


def not_verified(
    name: str, summary: Mapping[str, object], seed: int, apart: "FirstDifference | None"
) -> Report:
    from umi_sim.explain import difference
    from umi_sim.sweep.verify import NO_MORE

    head = f"FAIL nondeterminism same-seed-same-trace (DET-1): {name} seed {seed}"
    where = apart.as_object() if apart else NO_MORE
    value = {**summary, "result": "different", "apart": seed, "where": where}
    rows = difference.rows(apart) if apart else (row("", NO_MORE),)
    return Report(head, rows, lambda: value, HARNESS)


@click.command()
@click.argument("name", required=False)
@click.option("--only", metavar="NAME", help="The same as NAME.")
@click.option("--area", metavar="AREA", help="The mutants of one area, such as storage.")
@click.option("--list", "lists", is_flag=True, help="Name and behaviour of each, without a run.")
@click.option(
    "--matrix", is_flag=True, help="Show a mutant that needs it for each kind of fault and each rule."
)
@click.option("--source", is_flag=True, help="Draw small edits of the source of umi_core instead.")
@click.option("--sample", type=click.IntRange(1, 10_000), metavar="N", help="Number of edits. Default: 20.")
@click.option("--seed", type=seed_of, metavar="S", help="Seed of the edits and of their runs. Default: 0.")
@click.option(
    "--seconds",
    type=click.IntRange(1, 100_000),
    metavar="T",
    help="Seconds that runs of each take. Default: 60.",
)
@click.option("--jobs", type=click.IntRange(1, 1_024), metavar="J", help="Processes. Default: one per core.")
@shows(one_list=True)
def mutants(
    name: str | None,
    only: str | None,
    area: str | None,
    lists: bool,
    matrix: bool,
    source: bool,
    sample: int | None,
    seed: int | None,
    seconds: int | None,
    jobs: int | None,
) -> Iterator[Report]:
    """Plant each known bug and run its scenario until a rule sees it. Exit 4 if one is not found.

    Each line: the rule that saw it, seeds and milliseconds until then, items of the failing run.
    With --matrix a line for each kind of fault, and for each rule: a bug that is not seen without it. Exit 4
    if a kind has none.
    With --source small edits of umi_core are drawn instead, and each is lived in a process of its own. One
    that no run sees is no error: whether a user could tell is for a person to say.

    \b
    umi-sim mutants get-alive-at-expiry
    umi-sim mutants --area storage
    umi-sim mutants --list
    umi-sim mutants --matrix --only link_duplicate
    umi-sim mutants --source --sample 100 --seed 7
    """
    only = only or name
    if not source:
        if any(given is not None for given in (sample, seed, seconds, jobs)):
            refuse("--sample, --seed, --seconds and --jobs say how --source goes on, and it is not there")
        if lists and matrix:
            refuse("--list runs nothing, and --matrix does: give one of them")
        # All three are generators, so they refuse wrong arguments only when their first report is requested.
        return needs(only) if matrix else list_bugs(only, area) if lists else hunts(only, area)
    if matrix or area or lists:
        refuse("--source goes with none of --matrix, --area and --list")
    return source_hunts(only, sample or 20, seed or 0, seconds or 60, jobs)


def select_bugs(only: str | None, area: str | None) -> "list[Mutant]":
    """Return the planted bugs of this name or area; all if both are None."""
    from umi_sim.mutants.registry import MUTANTS

    areas = list(dict.fromkeys(mutant.area for mutant in MUTANTS.values()))
    if only and only not in MUTANTS:
        hint = suggest_names(only, MUTANTS, 3) or f"; umi-sim mutants --list shows all {len(MUTANTS)}"
        refuse(f"{cut(only)}: no such planted bug{hint}")
    if area and area not in areas:
        refuse(f"{cut(area)}: no such area of planted bugs; known: {', '.join(areas)}")
    return [it for it in MUTANTS.values() if only in (None, it.name) and area in (None, it.area)]


def list_bugs(only: str | None, area: str | None) -> Iterator[Report]:
    """List planted bugs, each with the behaviour that a user would see."""
    for bug in select_bugs(only, area):
        value = {
            "name": bug.name, "area": bug.area, "behaviour": bug.behaviour,
            "scenario": bug.scenario, "rules": list(bug.rules),
        }  # fmt: skip
        yield Report(f"{bug.name:34} {bug.behaviour}", value=partial(dict, value))


def hunts(only: str | None, area: str | None) -> Iterator[Report]:
    """Hunt each planted bug, and yield a report of each."""

    from umi_sim.mutants import CannotPlant
    from umi_sim.mutants.registry import OF_TESTS
    from umi_sim.runs import mutation_run as hunting

    if only in OF_TESTS:
        test = "tools/test tests/quality/test_mutants.py -k"
        refuse(f"{only}: no run shows it, but {OF_TESTS[only].detected_by}; see it with: {test} {only}")
    wanted = select_bugs(only, area)
    for number, mutant in enumerate(wanted):
        at("mutants", number, len(wanted), unit="planted bug", note=mutant.name)
        try:
            found = hunting.hunt(mutant)
        # The source no longer contains the text that this bug replaces. The hunt continues with the others.
        except CannotPlant as error:
            reason, *text = str(error).splitlines()
            what = partial(dict[str, object], name=mutant.name, is_found=False, cannot_be_planted=str(error))
            yield Report(f"NOT PLANTED: {reason}", tuple(row("", it) for it in text), what, HARNESS)
            continue
        code = 0 if found.is_found else HARNESS
        more: tuple[ReportRow, ...] = ()
        if only and found.is_found:
            overrides = {**mutant.overrides, "scenario.mutant": mutant.name}
            # `seeds` is the number of seeds tried, from 0 on, so the last one is one less.
            more = (row("look", command_of(mutant.scenario, found.seeds - 1, overrides)),)
        yield Report(hunting.hunt_line(found), more, partial(msgspec.to_builtins, found), code)


def needs(only: str | None) -> Iterator[Report]:
    """Yield the rows of the matrix of fault kinds and rules, or only one."""
    from itertools import chain

    from umi_sim.faults.kinds import KINDS
    from umi_sim.record.rules import RULES
    from umi_sim.runs import matrix

    checked = [rule.name for rule in RULES if rule.is_checked]
    rules = [name for name in checked if only in (None, name)]
    kinds = [kind for kind in KINDS if only in (None, kind)]
    if only and not rules and not kinds:
        hint = suggest_names(only, [*KINDS, *checked], 3) or "; umi-sim explain lists them"
        refuse(f"{cut(only)}: neither a kind of fault nor a rule that is checked{hint}")
    for number, need in enumerate(chain(matrix.kind_needs(kinds), matrix.rule_needs(rules)), 1):
        # A kind of fault that no bug needs is an error (law 1 of matrix.py); rules may cover each other.
        code = 0 if need.is_met or need.name not in kinds else HARNESS
        yield Report(matrix.line(need), value=partial(msgspec.to_builtins, need), exit_code=code)
        at("matrix", number, len(rules) + len(kinds), unit="row")


COMMANDS: Final = (verify, mutants)
