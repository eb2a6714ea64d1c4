"""Options and output of the command export. The work is done in umi_sim.testing.export."""

import re
from pathlib import Path
from shlex import join
from typing import Final

import click

from umi_sim.cli.arguments import readable
from umi_sim.cli.console import refuse, shows
from umi_sim.kernel.report import Report, row
from umi_sim.kernel.wording import plural

NEEDS: Final = "or with pytest; where umi_core is installed"
MARK: Final = "Written by `umi-sim export`"


@click.command()
@click.argument("file")
@click.option(
    "--pytest",
    "out",
    metavar="OUT",
    help="The test file to write. Default: here, test_ and the name of FILE.",
)
@shows()
def export(file: str, out: str | None) -> Report:
    """Write a recorded run as a plain test, which needs umi_core, and nothing of the simulator.

    It tells one memory what it was told, and demands its replies and what it does last. Exit 2 if the failure
    shows in none. Run it with pytest, or as it is: exit 1 if it fails.

    \b
    umi-sim export .umi-sim/ephemeral/ttl-boundary-60f2fc7c829b.json --pytest test_ttl_boundary.py
    """
    from umi_sim.kernel.literals import Unwritable
    from umi_sim.record.saved_failures import write_whole
    from umi_sim.testing import export as exporting

    seed = readable(file)
    out = out or f"test_{re.sub('[^a-z0-9]+', '_', Path(file).stem.lower())}.py"
    # Before the work, as everywhere: a minute of runs whose result cannot be written is a minute lost.
    must_be_ours(Path(out))
    try:
        source = exporting.source_of(seed)
    except (exporting.CannotShow, Unwritable) as error:
        refuse(f"{file}: {error}; its seed file is a test already (docs/pytest.md)")
    write_whole(Path(out), source.text.encode("ascii"))
    value = {"file": out, "inputs": source.input_count, "shows": source.shows}
    rows = (row("shows", source.shows), row("run", join(["python", out]), f"# {NEEDS}"))
    return Report(f"WROTE {out}: {plural(source.input_count, 'step')}", rows, lambda: value)


def must_be_ours(path: Path) -> None:
    """A file that is there is written over only if it came from here."""
    if path.suffix != ".py" or not path.parent.is_dir():
        refuse(f"--pytest {path}: name a .py file in a folder that is there")
    if path.exists() and MARK not in path.read_text(errors="replace")[:2_000]:
        refuse(f"--pytest {path}: there is a file that was not written by this command, name another one")


COMMANDS: Final = (export,)
