"""Options and output of the command scoreboard. The work is done in umi_sim.targets.scoreboard."""

from collections.abc import Sequence
from pathlib import Path
from time import strftime
from typing import Any, Final

import click
import msgspec

from umi_sim.cli.console import refuse, shows
from umi_sim.kernel.progress import at
from umi_sim.kernel.report import Report, row, whole
from umi_sim.kernel.wording import plural

SECONDS: Final = 60
FILES: Final = ".umi-sim/scoreboard"


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("names", nargs=-1, metavar="[MODULE[:CLASS]]...")
@click.option(
    "--seconds", type=click.IntRange(1, 86_400), default=SECONDS, show_default=True, metavar="N",
    help="Time for each class.",
)  # fmt: skip
@click.option(
    "--jobs", type=click.IntRange(1, 256), default=1, show_default=True, help="Classes to run at a time."
)
@click.option("--out", metavar="TABLE.md", help="Write the table there, as Markdown.")
@click.option("--files", default=FILES, show_default=True, metavar="FOLDER", help="Where failures are saved.")
@shows()
def scoreboard(
    folder: Path, names: Sequence[str], seconds: int, jobs: int, out: str | None, files: str
) -> Report:
    """Run every adapter of a folder, and show which promises each store keeps.

    An adapter whose package is not installed is left out, and the table says so. What breaks is kept as a
    seed file with a script; the files of earlier calls are run again.

    \b
    umi-sim scoreboard examples/targets --seconds 60 --jobs 2 --out scoreboard.md
    umi-sim scoreboard . mine:Mine --json
    """

    from umi_sim.record.saved_failures import BadFile, write_whole
    from umi_sim.targets import scoreboard as board

    try:
        known = board.list_subjects(folder)
    except SyntaxError as error:
        refuse(f"{folder}: {Path(error.filename or '').name}, line {error.lineno}: {error.msg}")
    chosen = {
        subject: [it for it in classes if not names or {it, subject, it.partition(":")[0]} & {*names}]
        for subject, classes in known.items()
    }
    chosen = {subject: classes for subject, classes in chosen.items() if classes}
    if not chosen:
        refuse(f"{folder}: no such adapter; it has {', '.join(known) or 'none'}")
    if out and (Path(out).suffix != ".md" or not Path(out).resolve().parent.is_dir()):
        refuse(f"--out {out}: name a file that ends in .md, in a folder that is there")
    scored = []
    try:
        for each in board.score_subjects(folder, chosen, seconds, jobs, Path(files)):
            scored.append(each)
            at("scoreboard", len(scored), len(chosen), unit="store")
    except BadFile as error:
        refuse(error)
    lines = list(board.write_table(scored, seconds, strftime("%Y-%m-%d"), files))
    if out:
        write_whole(Path(out), "".join(f"{line}\n" for line in lines).encode())
    done = [it for it in scored if not it.left_out]
    broken = sum(bool(it.failures) for it in done)
    head = f"{plural(len(done), 'store')} of {len(chosen)} run, {broken} of them broke a promise"
    rows = [whole("file", out)] if out else [row("", line, column=0) for line in lines]
    value: Any = lambda: [msgspec.to_builtins(it) for it in scored]  # noqa: E731  # one line, used once
    return Report(f"SCORED {head}", rows, value, 0 if done else 2)


COMMANDS: Final = (scoreboard,)
