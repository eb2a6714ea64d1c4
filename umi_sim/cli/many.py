"""Commands that run many worlds: thin; the work is in hunt.py and verify.py."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from umi_sim.cli.arguments import readable
from umi_sim.cli.console import complain, is_colored, output_options, refuse, say, say_json, seed_of, seeds_of
from umi_sim.record.verdict import HARNESS

if TYPE_CHECKING:
    from umi_sim.sweep.verify import Seen


@click.command()
@click.argument("scenario", default="smoke")
@click.option("--seed", type=seed_of, metavar="S", help="One seed.")
@click.option("--seeds", type=seeds_of, metavar="A..B", help="Both ends included.")
@output_options
def verify(
    scenario: str, seed: int | None, seeds: range | None, as_json: bool, quiet: bool, no_color: bool
) -> int:
    """Run the same seeds, or a seed file, in two different processes; the traces must be equal.

    Hash seed, BLAS kernel, folder, time zone and locale differ. Exit 4 if a trace does.

    \b
    umi-sim verify smoke --seed 42
    umi-sim verify --seeds 0..19
    umi-sim verify .umi-sim/ephemeral/ttl-boundary-60f2fc7c829b.json
    """
    from umi_sim.sweep import verify as verifying

    wanted = seeds_wanted(scenario, seed, seeds)
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


def seeds_wanted(name: str, seed: int | None, seeds: range | None) -> range:
    """Which seeds to verify; a file has its own."""
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


def verified(
    name: str, pairs: "Sequence[tuple[Seen, Seen]]", apart: int | None, lines: Sequence[str]
) -> list[str]:
    """The layout of verify."""
    if apart is not None:
        return [f"FAIL nondeterminism same-seed-same-trace (DET-1): {name} seed {apart}", *lines]
    if len(pairs) == 1:
        return [f"SAME {pairs[0][0].trace}"]
    return [f"SAME {name}: {len(pairs)} traces, each equal in 2 processes"]


@click.command("_trace", hidden=True)
@click.argument("scenario")
@click.argument("seeds", type=seeds_of)
@click.option("--out", metavar="FILE", help="Write the records of the first seed.")
def trace_in_child(scenario: str, seeds: range, out: str | None) -> int:
    """What a process of `verify` does: one line of JSON for each seed, or a trace file."""
    import attrs

    from umi_sim.sweep import verify as verifying

    if out:
        verifying.write_trace(scenario, seeds[0], Path(out))
        return 0
    for seed in seeds:
        say_json(attrs.asdict(verifying.seen(scenario, seed)))
    return 0


@click.command()
@click.option("--only", metavar="NAME", help="One mutant.")
@click.option("--area", metavar="AREA", help="The mutants of one area, such as storage.")
@click.option("--matrix", is_flag=True, help="For each kind of fault and each rule a mutant that needs it.")
@output_options
def mutants(
    only: str | None, area: str | None, matrix: bool, as_json: bool, quiet: bool, no_color: bool
) -> int:
    """Plant each known bug and run its scenario until a rule sees it. Exit 4 if one is not found.

    Each line: the rule that saw it, seeds and milliseconds until then, items of the failing run.
    With --matrix a line for each kind of fault, and for each rule: a bug that is not seen without it. Exit 4
    if a kind has none.

    \b
    umi-sim mutants --only get-alive-at-expiry
    umi-sim mutants --area storage
    umi-sim mutants --matrix --only link_duplicate
    """
    if matrix:
        return needed(only, as_json, quiet, no_color)
    import attrs

    from umi_sim.mutants.registry import ELSEWHERE, MUTANTS
    from umi_sim.runs import mutation_run as hunting

    if only and only not in MUTANTS:
        refuse(f"{only}: no such mutant; known: {', '.join(MUTANTS)}{ELSEWHERE}")
    areas = list(dict.fromkeys(mutant.area for mutant in MUTANTS.values()))
    if area and area not in areas:
        refuse(f"{area}: no such area; known: {', '.join(areas)}")
    found = []
    for mutant in [it for it in MUTANTS.values() if only in (None, it.name) and area in (None, it.area)]:
        found.append(hunting.hunt(mutant))
        if not as_json and not quiet:
            say([hunting.hunt_line(found[-1])], is_colored(no_color))
    if ELSEWHERE and not as_json and not quiet:
        say([f"this is the canary{ELSEWHERE}"], is_colored(no_color))
    if as_json:
        say_json([attrs.asdict(each) for each in found])
    return 0 if all(each.is_found for each in found) else HARNESS


def needed(only: str | None, as_json: bool, quiet: bool, no_color: bool) -> int:
    """The matrix of kinds and rules, or one row of it."""
    from itertools import chain

    import attrs

    from umi_sim.faults.kinds import KINDS
    from umi_sim.judge.invariants import RULES
    from umi_sim.mutants.registry import ELSEWHERE
    from umi_sim.runs import matrix

    if ELSEWHERE:
        refuse(f"--matrix needs all planted bugs, and here is the canary{ELSEWHERE}")
    rules = [rule.name for rule in RULES if rule.is_checked and only in (None, rule.name)]
    kinds = [kind for kind in KINDS if only in (None, kind)]
    if not rules and not kinds:
        refuse(f"{only}: neither a kind of fault nor a rule that is checked; umi-sim explain lists them")
    needs = []
    for need in chain(matrix.kind_needs(kinds), matrix.rule_needs(rules)):
        needs.append(need)
        if not as_json and not quiet:
            say([matrix.line(need)], is_colored(no_color))
    if as_json:
        say_json([attrs.asdict(need) for need in needs])
    return 0 if all(need.is_met for need in needs if need.name in kinds) else HARNESS


COMMANDS: Final = (verify, mutants, trace_in_child)
