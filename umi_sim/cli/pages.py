"""Options and output of the command html. The work is done in umi_sim.pages."""

import json
import re
from functools import partial
from os.path import isfile as is_file  # unlike a Path, it knows no name that is too long
from pathlib import Path
from shlex import join
from typing import Final

import click

from umi_sim.cli.arguments import config_named, must_be_writable, readable, run_words
from umi_sim.cli.console import complain, refuse, shows
from umi_sim.cli.kinds import PageParts, find_other
from umi_sim.kernel.report import Report, row, whole
from umi_sim.kernel.wording import group_digits, plural

FOLDER: Final = Path(".umi-sim/pages")
RUNS_MAX: Final = 10_000
HEAD_CHARS: Final = 2_000
NAME_CHARS_MAX: Final = 80
EVENTS_MARK: Final = b'"traceEvents"'


@click.command("html")
@click.argument("file")
@click.option("--out", metavar="PAGE.html", help=f"Where to write it. Default: {FOLDER}, named as FILE.")
@click.option("--open", "is_opened", is_flag=True, help="Show it in your browser.")
@click.option(
    "--runs", type=click.IntRange(0, RUNS_MAX), default=50, show_default=True,
    help="Draw the rest so often after each item, as `why` does; 0: only what is needed.",
)  # fmt: skip
@click.option(
    "--perfetto", "events", metavar="OUT.json", help="Also write it for the viewer at ui.perfetto.dev."
)
@shows()
@click.pass_context
def html(
    context: click.Context, file: str, out: str | None, is_opened: bool, runs: int, events: str | None
) -> Report:
    """Write a seed file, a recording or a seed as one page to look at: every message, step by step.

    FILE may also be of your store (umi-sim target) or program (umi-sim program), which is not run.

    The page needs no network. Each step has an address: PAGE.html#step-12.

    \b
    umi-sim html .umi-sim/ephemeral/ttl-boundary-60f2fc7c829b.json --open
    umi-sim html smoke:42 --out smoke.html
    """
    from umi_sim.pages import perfetto, shell
    from umi_sim.record.saved_failures import write_whole

    path = page_path(file, out)
    if events:
        must_take_events(events, file, out)
    # Both functions repeat the run: `page` for the page, `life`
    # for trace events. All refusals happen before they are called.
    other = find_other(file)
    page, life = other.find_page(runs) if other else find_page(context, file, runs)
    data = page()
    text = shell.document("life.js", data)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, text.encode())
    if events:
        trace = json.dumps(perfetto.trace_events(life()), separators=(",", ":"))
        write_whole(Path(events), f"{trace}\n".encode())
    address = path.resolve().as_uri()
    if is_opened and not open_address(address):
        complain("no browser could be opened here: open the address below in one")
    steps = data["count"]
    assert isinstance(steps, int)
    value = {"file": str(path), "bytes": len(text), "steps": steps}
    rows = [
        row("holds", f"{plural(steps, 'step')}, {group_digits(len(text))} bytes"),
        whole("look", address),
    ]
    if other and other.lacks:
        rows.append(row("lacks", other.lacks))
    return Report(f"WROTE {path}", rows, lambda: value)


def page_path(file: str, out: str | None) -> Path:
    """Return the path of the page. Refuse to replace a file that is not a page of umi-sim."""
    path = Path(out) if out else FOLDER / f"{name_page(file)}.html"
    if path.suffix != ".html":
        refuse(f"--out {out}: name a file that ends in .html")
    if out:
        must_be_writable(out, file)
    must_be_page(path)
    return path


def name_page(file: str) -> str:
    """Return a name for the page: that of the file, or the seed without special characters of paths."""
    # "smoke:42 --set a=b/c" -> "smoke-42---set-a-b-c"
    return Path(file).stem if is_file(file) else re.sub(r"[^A-Za-z0-9_.-]+", "-", file)[:NAME_CHARS_MAX]


def must_be_page(path: Path) -> None:
    from umi_sim.pages import shell

    if path.is_file():
        with path.open(errors="replace") as opened:
            if shell.MARK not in opened.read(HEAD_CHARS):
                refuse(f"{path}: is no page of umi-sim, and would be written over: name another file")


def must_take_events(name: str, *read: str | None) -> None:
    """Refuse a file for trace events that cannot be written, or that is other JSON, such as a seed file."""
    must_be_writable(name, *read)
    if not name.endswith(".json"):
        refuse(f"--perfetto {name}: name a file that ends in .json")
    if is_file(name):
        with Path(name).open("rb") as opened:
            if EVENTS_MARK not in opened.read(HEAD_CHARS):
                refuse(f"--perfetto {name}: holds no trace events, and would be written over: name another")


def find_page(context: click.Context, file: str, runs: int) -> PageParts:
    """Return the functions that make the page and the run of a seed file, or of a seed."""
    from umi_sim.pages import seed_page

    if Path(file).suffix == ".json" or is_file(file):
        seed = readable(file)
        return partial(seed_page.data_of, file, seed, runs), partial(
            seed_page.life_of, seed.config, seed.items
        )
    config = config_named(context, file)
    return (
        partial(seed_page.drawn_data, config, command_of(file)),
        partial(seed_page.life_of, config, None),
    )


def open_address(address: str) -> bool:
    """Open an address in a browser; return False if there is none."""
    import webbrowser  # it imports subprocess, and most pages are only written

    return webbrowser.open(address)


def command_of(text: str) -> str:
    """Return the command that runs a seed, written as SCENARIO:SEED or like the arguments of `run`."""
    return join(["umi-sim", "run", *run_words(text)])


COMMANDS: Final = (html,)
