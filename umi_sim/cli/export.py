"""Options and output of the command export. The work is done in umi_sim.testing.export."""

import re
from pathlib import Path
from shlex import join
from typing import Final

import click

from umi_sim.cli.arguments import must_take_history, must_take_script, readable
from umi_sim.cli.console import refuse, shows
from umi_sim.cli.kinds import find_other
from umi_sim.kernel.report import Report, row
from umi_sim.kernel.wording import plural

NEEDS: Final = "or with pytest; where umi_core is installed"


@click.command()
@click.argument("file")
@click.option(
    "--out",
    "--pytest",
    "out",
    metavar="OUT",
    help="The file to write. Default: named as FILE, in this folder.",
)
@click.option(
    "--of", default="", metavar="MODULE:NAME", help="Your store or program, which FILE was recorded with."
)
@click.option(
    "--history",
    metavar="OUT",
    help="Instead, write its history for other programs, as .jsonl or .edn.",
)
@shows()
def export(file: str, out: str | None, of: str, history: str | None) -> Report:
    """Write a recorded run as a plain test, which needs umi_core but not the simulator.

    It tells one memory what it was told, and demands its replies and what it does last. Exit 2 if the failure
    shows in none. Run it with pytest, or as it is: exit 1 if it fails.

    For your store or program it writes a script, which needs umi_sim only where Python alone cannot do it.

    \b
    umi-sim export .umi-sim/ephemeral/ttl-boundary-60f2fc7c829b.json --pytest test_ttl_boundary.py
    umi-sim export .umi-sim/programs/FILE --of mine:main
    umi-sim export .umi-sim/ephemeral/ttl-boundary-60f2fc7c829b.json --history history.edn
    """
    if other := find_other(file, of):
        if history is not None:
            refuse(f"--history {history}: {file} is of no memory; umi-sim target --export writes histories")
        return other.export(out)
    if history is not None:
        if out is not None:
            refuse("--out and --history: one file at a time, name one of them")
        return export_history(file, history)
    from umi_sim.kernel.literals import Unwritable
    from umi_sim.record.saved_failures import write_whole
    from umi_sim.testing import export as exporting

    seed = readable(file)
    out = out or f"test_{re.sub('[^a-z0-9]+', '_', Path(file).stem.lower())}.py"
    # Checked before the work, so that no time is spent on a result that cannot be written.
    must_take_script("--out", out)
    try:
        source = exporting.source_of(seed)
    except (exporting.CannotShow, Unwritable) as error:
        refuse(f"{file}: {error}; its seed file is a test already (docs/pytest.md)")
    write_whole(Path(out), source.text.encode("ascii"))
    value = {"file": out, "inputs": source.input_count, "shows": source.shows}
    rows = (row("shows", source.shows), row("run", join(["python", out]), f"# {NEEDS}"))
    return Report(f"WROTE {out}: {plural(source.input_count, 'step')}", rows, lambda: value)


def export_history(file: str, out: str) -> Report:
    from umi_sim.record.history import write_history
    from umi_sim.record.saved_failures import write_whole
    from umi_sim.runs.history import replay_history

    seed = readable(file)
    must_take_history("--history", out, file)
    verdict, events = replay_history(seed)
    write_whole(Path(out), write_history(events, Path(out).suffix))
    run = f"fails: {verdict.failure.rule_and_id}" if verdict.failure else "passes"
    value = {"file": out, "events": len(events), "failure": verdict.failure and verdict.failure.rule}
    return Report(f"WROTE {out}: {plural(len(events), 'event')}", (row("run", run),), lambda: value)


COMMANDS: Final = (export,)
