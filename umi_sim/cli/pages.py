"""Options and output of the command html. The work is done in umi_sim.pages."""

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from umi_sim.cli import recordings
from umi_sim.cli.arguments import must_be_writable, readable
from umi_sim.cli.console import refuse, shows
from umi_sim.kernel.report import Report, row, whole
from umi_sim.kernel.wording import plural, spaced

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER: Final = Path(".umi-sim/pages")
RUNS_MAX: Final = 10_000
HEAD_CHARS: Final = 2_000


@click.command("html")
@click.argument("file")
@click.option("--out", metavar="PAGE.html", help=f"Where to write it. Default: {FOLDER}, named as FILE.")
@click.option("--open", "is_opened", is_flag=True, help="Show it in your browser.")
@click.option(
    "--runs", type=click.IntRange(0, RUNS_MAX), default=50, show_default=True,
    help="How often the rest is drawn afresh after each item, as in `why`; 0: only what is needed.",
)  # fmt: skip
@shows()
def html(file: str, out: str | None, is_opened: bool, runs: int) -> Report:
    """Write a seed file, or a recording, as one page to look at: who told whom what, step by step.

    The page asks no network for anything. Each step has an address: PAGE.html#step-12.

    \b
    umi-sim html .umi-sim/ephemeral/ttl-boundary-60f2fc7c829b.json --open
    """
    from umi_sim.pages import shell
    from umi_sim.record.trace import write_whole

    path = page_path(file, out)
    data = data_of(file, runs)
    text = shell.document("life.js", data)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text.encode())
    if is_opened:
        webbrowser.open(path.resolve().as_uri())
    steps = data["count"]
    assert isinstance(steps, int)
    value = {"file": str(path), "bytes": len(text), "steps": steps}
    rows = (
        row("holds", f"{plural(steps, 'step')}, {spaced(len(text))} bytes"),
        *(() if is_opened else (whole("look", path.resolve().as_uri()),)),
    )
    return Report(f"WROTE {path}", rows, lambda: value)


def page_path(file: str, out: str | None) -> Path:
    """Where the page goes; what is there and is no page of ours stays."""
    path = Path(out) if out else FOLDER / f"{Path(file).stem}.html"
    if path.suffix != ".html":
        refuse(f"--out {out}: name a file that ends in .html")
    if out:
        must_be_writable(out, file)
    must_be_page(path)
    return path


def must_be_page(path: Path) -> None:
    from umi_sim.pages import shell

    if path.is_file():
        with path.open(errors="replace") as opened:
            if shell.MARK not in opened.read(HEAD_CHARS):
                refuse(f"{path}: is no page of umi-sim, and would be written over: name another file")


def data_of(file: str, runs: int) -> "Mapping[str, object]":
    if recordings.is_recording(file):
        from umi_sim.pages import recording_page

        return recording_page.data_of(file, *recordings.readable(file))
    from umi_sim.pages import seed_page

    return seed_page.data_of(file, readable(file), runs)


COMMANDS: Final = (html,)
