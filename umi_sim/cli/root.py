"""The command line: options in, one report on standard output, an exit code.

Law 1. Standard output of a command that runs one world is a pure function of the run.
Law 2. Nothing is written before all that was asked for can be read.
Law 3. Nothing heavy is imported before a command needs it: a small seed file replays in the blink of an eye.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from umi_sim import __version__
from umi_sim.cli.arguments import (
    config_of,
    is_seed_file,
    must_take_trace,
    overrides_of,
    readable,
    readable_trace,
)
from umi_sim.cli.console import Commands, is_colored, output_options, say, say_json, seed_of
from umi_sim.kernel.wording import escaped, row

if TYPE_CHECKING:
    from umi_sim.record.run_config import RunConfig
    from umi_sim.record.verdict import Verdict

PLACES: Final = {
    "seeds": ("replay", "bless", "corpus"), "shrink": ("shrink",), "sweep": ("sweep", "merge"),
    "many": ("verify", "mutants", "_trace"), "lists": ("check", "scenarios", "faults", "marks"),
    "explain": ("explain", "diff", "why", "step"), "explore": ("explore",), "export": ("export",),
}  # fmt: skip


@click.group(
    cls=Commands,
    places=PLACES,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, prog_name="umi-sim")
@click.pass_context
def cli(context: click.Context) -> int:
    """Run an agent memory through seeded worlds full of faults.

    \b
    umi-sim run --seed 42        one life, a verdict, a trace hash
    umi-sim sweep                the same for many seeds; one seed file for each different failure
    umi-sim replay FILE          a failure again

    Exit codes: 0 good, 1 safety or crash, 3 liveness, 5 timeout, 4 the harness itself, 2 usage.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
    return 0


# One world.


@cli.command()
@click.argument("scenario", default="smoke")
@click.option(
    "--seed", type=seed_of, metavar="S", help="What everything is drawn from. Default: fresh, and printed."
)
@click.option(
    "--mode", type=click.Choice(["plain", "swarm", "one_kind"]), help="How the configuration is drawn."
)
@click.option("--set", "settings", multiple=True, metavar="TABLE.KEY=VALUE", help="A key of the scenario.")
@click.option("--transcript", metavar="FILE", help="A conversation to live through, as JSON Lines.")
@click.option("--trace", metavar="FILE", help="Write every record of the run, for `show`.")
@click.option("--no-shrink", is_flag=True, help="Leave the seed file of a failure as long as the run was.")
@output_options
def run(
    scenario: str,
    seed: int | None,
    mode: str | None,
    settings: Sequence[str],
    transcript: str | None,
    trace: str | None,
    no_shrink: bool,
    **how: bool,
) -> int:
    """Live one simulated life and judge it. A failure leaves a seed file, as small as can be.

    \b
    umi-sim run --seed 42
    umi-sim run storage_storm --seed 0x2a --set agents.count=2
    """
    from umi_sim.cli import shrink as cli_shrink
    from umi_sim.cli.seeds import kept_path
    from umi_sim.record.verdict import EXIT_CODES
    from umi_sim.runs import runner

    seed = int.from_bytes(os.urandom(8), "big") if seed is None else seed
    overrides = overrides_of(settings, mode)
    config = config_of(scenario, seed, overrides, transcript)
    command = command_of(scenario, seed, overrides, transcript)
    if trace:
        must_take_trace(trace, scenario, transcript)
    verdict = runner.run(config)
    if trace:
        write_trace(Path(trace), config)
    if verdict.failure is None:
        return told(verdict, command, command, untold(verdict) if transcript else {}, **how)
    path = kept_path(verdict)
    if path is not None and cli_shrink.is_of_another_run(verdict, path, is_whole=no_shrink):
        where = f"an earlier, smaller run with this fingerprint: umi-sim replay {path.as_posix()}"
        return told(verdict, command, "", {"kept": where}, **how)
    if path is not None and not no_shrink and cli_shrink.told_small(verdict, path, command, **how):
        return EXIT_CODES[verdict.failure.kind]
    return told(verdict, f"umi-sim replay {path.as_posix()}" if path else command, command, {}, **how)


def command_of(name: str, seed: int, overrides: dict[str, str], conversation: str | None) -> str:
    """The command that makes this run again."""
    from shlex import join

    options = [part for key, value in overrides.items() for part in ("--set", f"{key}={value}")]
    spoken = ["--transcript", conversation] if conversation else []
    return join(["umi-sim", "run", name, "--seed", str(seed), *options, *spoken])


def write_trace(path: Path, config: "RunConfig") -> None:
    from umi_sim.runs import runner
    from umi_sim.seedfile import files as seed_file

    runner.trace_of(config).write(path, seed_file.config_to_json(config))


def untold(verdict: "Verdict") -> dict[str, str]:
    """How much of a conversation was told, if some of it was not."""
    from umi_sim.workload import conversations as conversation

    remark = conversation.remark(verdict.config, verdict.items)
    return {"told": remark} if remark else {}


def told(
    verdict: "Verdict", repeat: str, command: str, remarks: Mapping[str, str], as_json: bool, quiet: bool,
    no_color: bool,
) -> int:  # fmt: skip
    """Print a verdict; its exit code. `remarks` are rows at its end, by label."""
    from umi_sim.explain import report
    from umi_sim.record.verdict import EXIT_CODES

    if as_json:
        say_json({**report.as_json(verdict), "repeat": repeat, **remarks})
    elif not quiet:
        rows = [row(label, escaped(remark)) for label, remark in remarks.items()]
        say([*report.lines(verdict, repeat, command), *rows], is_colored(no_color))
    return EXIT_CODES[verdict.failure.kind] if verdict.failure else 0


# Files.


@cli.command()
@click.argument("file")
@click.option("--all", "all_items", is_flag=True, help="Every item, however many.")
@output_options
def show(file: str, all_items: bool, as_json: bool, quiet: bool, no_color: bool) -> int:
    """Show a seed file as the failure it records, or a trace file line by line. Nothing is run.

    \b
    umi-sim show .umi-sim/ephemeral/ttl-boundary-60f2fc7c829b.json
    umi-sim run --seed 42 --trace run.trace && umi-sim show run.trace
    """
    lines = seed_file_lines(file, all_items) if is_seed_file(file) else trace_lines(file)
    if as_json:
        say_json(lines)
    elif not quiet:
        say(lines, is_colored(no_color))
    return 0


def seed_file_lines(file: str, all_items: bool) -> list[str]:
    from umi_sim.cli.seeds import again
    from umi_sim.explain import report

    seed = readable(file)
    if seed.failure is None:
        return [
            f"PASS {seed.config.scenario} seed {seed.config.seed}: expected to pass, {len(seed.items)} items"
        ]
    told = report.Told(
        seed.config, seed.items, seed.failure, seed.fingerprint, again(file, relaxed=False),
        minimised=seed.minimised,
    )  # fmt: skip
    lines = report.failed(told, all_items=all_items)
    if seed.expect.result == "pass":
        where = f"{seed.config.scenario} seed {seed.config.seed}"
        return [f"PASS {where}: expected to pass now; what it was before:", *lines]
    return lines


def trace_lines(file: str) -> list[str]:
    from umi_sim.explain import report
    from umi_sim.record import trace

    return list(report.from_trace(map(trace.decode, readable_trace(file).kept)))
