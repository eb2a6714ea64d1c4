"""The command line: turns options into a report and an exit code.

Law 1. Standard output of a command that runs one world is a pure function of the run.
Law 2. No file is written before all inputs have been read.
Law 3. No large module is imported before a command needs it, so that small commands start fast.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from umi_sim import __version__
from umi_sim.cli.arguments import (
    command_of,
    config_of,
    is_seed_file,
    must_take_trace,
    overrides_of,
    readable,
    readable_trace,
)
from umi_sim.cli.console import Commands, seed_of, shows
from umi_sim.cli.kinds import find_other
from umi_sim.kernel.progress import at
from umi_sim.kernel.report import Report, ReportRow, row
from umi_sim.record.exit_codes import CODES

if TYPE_CHECKING:
    from umi_sim.record.run_config import RunConfig
    from umi_sim.record.verdict import Verdict

PLACES: Final = {
    "seeds": ("replay", "bless", "corpus"), "shrink": ("shrink",), "sweep": ("sweep", "merge"),
    "many": ("verify", "mutants"), "lists": ("check", "scenarios", "faults", "marks"),
    "explain": ("explain", "diff", "why", "step"), "explore": ("explore",), "export": ("export",),
    "disk": ("disk",), "pages": ("html",), "target": ("target",),
    "scoreboard": ("scoreboard",), "program": ("program",), "redact": ("redact",),
}  # fmt: skip
HEADINGS: Final = {
    "Runs": ("run", "sweep", "scenarios", "faults", "explain"),
    "A failure": ("replay", "why", "html", "step", "show", "shrink", "export", "diff"),
    "A memory or agent of yours": ("target", "scoreboard", "program"),
    "Failures that are kept": ("corpus", "bless", "check", "redact"),
    "The simulator itself": ("mutants", "verify", "marks", "explore", "disk", "merge"),
}
EXIT_CODES_TOLD: Final = "\n\n".join(f"{code}  {means}" for code, means in CODES.items())


@click.group(
    cls=Commands,
    places=PLACES,
    headings=HEADINGS,
    invoke_without_command=True,
    epilog=f"Exit codes:\n\n{EXIT_CODES_TOLD}",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="umi-sim")
@click.pass_context
def cli(context: click.Context) -> int:
    """Run an agent memory through seeded worlds full of faults.

    \b
    umi-sim run --seed 42        one run: a verdict and a trace hash
    umi-sim run canary --seed 0  a run with a planted bug: a failure to look at
    umi-sim sweep                many runs, and a seed file for each failure
    umi-sim replay FILE          the same failure again
    umi-sim html FILE --open     the failure as a page in a browser
    umi-sim explain WORD         what a word in a report means
    umi-sim target --init memory mine.py   begin a test of your own memory
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
    return 0


# One world.


@cli.command()
@click.argument("scenario", default="smoke")
@click.option(
    "--seed", type=seed_of, metavar="S", help="Seed of the run. Default: a new one, which is printed."
)
@click.option(
    "--mode",
    type=click.Choice(["plain", "swarm", "one_kind"]),
    help="Mode of the run: no faults, many kinds of fault, or one kind.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="TABLE.KEY=VALUE",
    help="Set a key of the scenario. Repeatable.",
)
@click.option("--transcript", metavar="FILE", help="A conversation to remember, as JSON Lines.")
@click.option("--trace", metavar="FILE", help="Write every record of the run, for `show`.")
@click.option("--no-shrink", is_flag=True, help="Do not shrink a failure.")
@click.option("--details", is_flag=True, help="Print the full report of a run that passes.")
@shows()
def run(
    scenario: str,
    seed: int | None,
    mode: str | None,
    settings: Sequence[str],
    transcript: str | None,
    trace: str | None,
    no_shrink: bool,
    details: bool,
) -> Report:
    """Run one seed of a scenario and judge it. A failure leaves a shrunk seed file.

    \b
    umi-sim run --seed 42
    umi-sim run storage_storm --seed 0x2a --set agents.count=2
    """
    from umi_sim.explain import report
    from umi_sim.runs import runner

    # A random seed, which is printed so that the run can be repeated.
    seed = int.from_bytes(os.urandom(8), "big") if seed is None else seed
    overrides = overrides_of(settings, mode)
    config = config_of(scenario, seed, overrides, transcript)
    command = command_of(scenario, seed, overrides, transcript)
    if trace:
        must_take_trace(trace, scenario, transcript)
    at(f"{config.scenario} seed {seed}", unit="operation")
    verdict = runner.run(config)
    if trace:
        # Runs the seed again, because a run keeps only its last records.
        write_trace(Path(trace), config)
    if verdict.failure is None:
        done = report.of_run(verdict, command, command, with_details=details)
        return done.also(*report_unspoken(verdict)) if transcript else done
    from umi_sim.cli.shrink import report_new_failure  # imported late: few runs fail

    return report_new_failure(verdict, command, is_unshrunk=no_shrink)


def write_trace(path: Path, config: "RunConfig") -> None:
    from umi_sim.runs import runner
    from umi_sim.seedfile import files as seed_file

    runner.trace_of(config).write(path, seed_file.config_to_json(config))


def report_unspoken(verdict: "Verdict") -> list[ReportRow]:
    """Return a row with the part of the conversation that was told; empty if all of it was."""
    from umi_sim.workload import conversations as conversation

    remark = conversation.remark(verdict.config, verdict.items)
    return [row("told", remark)] if remark else []


# Files.


@cli.command()
@click.argument("file")
@click.option("--all", "all_items", is_flag=True, help="Every item, however many.")
@shows()
def show(file: str, all_items: bool) -> Report:
    """Show a seed file as the failure it records, or a trace file line by line. Nothing is run.

    FILE may also be of your store (umi-sim target) or program (umi-sim program).

    \b
    umi-sim show .umi-sim/ephemeral/ttl-boundary-60f2fc7c829b.json
    umi-sim run --seed 42 --trace run.trace && umi-sim show run.trace
    """
    if other := find_other(file):
        return other.show(all_items)
    if is_seed_file(file):
        return seed_file_report(file, all_items)
    from umi_sim.explain import records
    from umi_sim.record import trace

    kept = list(map(trace.decode, readable_trace(file).kept))
    return Report("", records.in_lines(kept), lambda: list(map(records.as_object, kept)))


def seed_file_report(file: str, all_items: bool) -> Report:
    """Return the report of the run and the failure in a seed file."""
    from umi_sim.cli.seeds import again
    from umi_sim.explain import report

    seed = readable(file)
    config, expect = seed.config, {"expect": seed.expect.result}
    where = f"{config.scenario} seed {config.seed}"
    if seed.failure is None:
        value = {**expect, "scenario": config.scenario, "seed": str(config.seed), "items": len(seed.items)}
        return Report(f"PASS {where}: expected to pass, {len(seed.items)} items", value=lambda: value)
    reported = report.ReportedFailure(
        config, seed.items, seed.failure, seed.fingerprint, again(file), file=file, minimised=seed.minimised
    )
    failed = report.of_failure(reported, all_items=all_items)
    head, rows = failed.head, failed.lines
    # The file is of a fixed bug, so the recorded failure is no longer expected.
    if seed.expect.result == "pass":
        head, rows = (
            f"PASS {where}: expected to pass now; what it was before:",
            [head, *rows],
        )
    return Report(head, rows, lambda: {**expect, **report.encode_reported(reported)})
