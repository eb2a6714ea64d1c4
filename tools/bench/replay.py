"""What a replay of small seed files takes from the shell, beside a bare interpreter and its libraries.

    .venv/bin/python tools/bench/replay.py [--turns N] [--python PROGRAM ...] [FILE ...]
    .venv/bin/python tools/bench/replay.py --against CHECKOUT

Whole processes, turn by turn, in milliseconds of wall time: the least and the median. `--python` names
further interpreters of this minor version, which get the packages of this one: how Python was built tells.
`--against` compares instead what commands take here and in another checkout of this project, and prints
the ratio of the least. Beside the replays stands what other tools take to
start and live one life of plain.py, which imports umi_core as well.
"""

import argparse
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

from tools.bench.measure import Table
from tools.bench.others import tools

ROOT: Final = Path(__file__).resolve().parents[2]
CORPUS: Final = ROOT / "scenarios" / "seeds"
FILES: Final = ("session-versions-conflict-with-itself", "no-spurious-refusal-beside-self")
ENVIRONMENT: Final = {
    **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
    "PYTHONPATH": os.pathsep.join((str(ROOT), sysconfig.get_path("platlib"), *filter(None, sys.path[1:]))),
}
VERSION: Final = "import platform; print(platform.python_version(), platform.python_compiler())"
OF_FILE: Final = (("show", ("show",)), ("replay", ("replay", "--relaxed")))
REPLAY: Final = ("-P", "-m", "umi_sim", "replay", "--relaxed")  # a file of an older release has other hashes
ONE_LIFE: Final = "from tools.bench.others import *; watched(TOOLS[{!r}][1], Watch(lives_max=1))"


def main() -> None:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("files", nargs="*", default=[str(CORPUS / f"{name}.json") for name in FILES])
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--python", action="append", default=[])
    parser.add_argument("--against", type=Path, metavar="CHECKOUT")
    options = parser.parse_args()
    if options.against:
        head = ["command", "here", str(options.against), "ratio"]
        Table("Least wall time of a command, ms", head, compared(options.against, options)).show()
        return
    pythons = (sys.executable, *options.python)
    rows = [row for number, python in enumerate(pythons) for row in started(python, number == 0, options)]
    Table("From the shell to the end, ms of wall time", ["", "least", "median"], rows).show()


def started(python: str, is_ours: bool, options: argparse.Namespace) -> Iterator[list[str]]:
    commands = {
        "`python -c pass`": ("-c", "pass"),
        "its libraries": ("-c", "import click, msgspec, msgpack"),
        **{f"replay `{Path(file).stem}`": (*REPLAY, file) for file in options.files},
        **{f"one life by {name}": ("-c", ONE_LIFE.format(name)) for name in tools() if is_ours},
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(options.turns + 1):
        for name, command in commands.items():
            took_ms = run_ms(python, *command)
            if turn:  # the first one writes bytecode
                times[name].append(took_ms)
    yield [f"CPython {version(python)}", "", ""]
    for name, all_ms in times.items():
        yield [name, f"{min(all_ms):.0f}", f"{median(all_ms):.0f}"]


def compared(other: Path, options: argparse.Namespace) -> list[list[str]]:
    """Run commands here and in the other checkout in turns; one row for each command."""
    commands = {
        "`--help`": ("--help",),
        "`run smoke --seed 42`": ("run", "smoke", "--seed", "42"),
        **{f"{name} `{Path(file).stem}`": (*how, file) for file in options.files for name, how in OF_FILE},
    }
    rows = []
    for name, command in commands.items():
        turns = [
            [run_ms(sys.executable, "-P", "-m", "umi_sim", *command, root=root) for root in (ROOT, other)]
            for _ in range(options.turns + 1)
        ]
        here, there = map(min, zip(*turns[1:], strict=True))  # the first turn writes bytecode
        rows.append([name, f"{here:.0f}", f"{there:.0f}", f"{here / there:.2f}"])
    return rows


def version(python: str) -> str:
    return subprocess.run((python, "-c", VERSION), check=True, capture_output=True, text=True).stdout.strip()


def run_ms(python: str, *command: str, root: Path = ROOT) -> float:
    environment = {**ENVIRONMENT, "PYTHONPATH": f"{root}{os.pathsep}{ENVIRONMENT['PYTHONPATH']}"}
    started = perf_counter()
    done = subprocess.run((python, *command), cwd=root, env=environment, capture_output=True)
    took_ms = 1000 * (perf_counter() - started)
    assert done.returncode == 0, (command, done.stderr.decode(), done.stdout.decode())
    return took_ms


if __name__ == "__main__":
    main()
