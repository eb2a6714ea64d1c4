"""What a replay of small seed files takes from the shell, beside a bare interpreter and its libraries.

    .venv/bin/python tools/bench/replay.py [--turns N] [--python PROGRAM ...] [FILE ...]

Whole processes, turn by turn, in milliseconds of wall time: the least and the median. `--python` names
further interpreters of this minor version, which get the packages of this one: how Python was built tells.
"""

import argparse
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
CORPUS: Final = ROOT / "scenarios" / "seeds"
FILES: Final = ("session-versions-conflict-with-itself", "no-spurious-refusal-beside-self")
ENVIRONMENT: Final = {
    **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
    "PYTHONPATH": os.pathsep.join((str(ROOT), sysconfig.get_path("platlib"))),
}
VERSION: Final = "import sys; print(sys.version)"


def main() -> None:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("files", nargs="*", default=[str(CORPUS / f"{name}.json") for name in FILES])
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--python", action="append", default=[])
    options = parser.parse_args()
    for python in (sys.executable, *options.python):
        print(f"{python}: {version(python)}")
        commands = {
            "python -c pass": ("-c", "pass"),
            "its libraries": ("-c", "import click, attrs, msgpack"),
            **{Path(file).stem: ("-P", "-m", "umi_sim", "replay", file) for file in options.files},
        }
        times: dict[str, list[float]] = {name: [] for name in commands}
        for turn in range(options.turns + 1):
            for name, command in commands.items():
                took_ms = run_ms(python, *command)
                if turn:  # the first one writes bytecode
                    times[name].append(took_ms)
        for name, all_ms in times.items():
            print(f"  {name:40}{min(all_ms):6.0f}{median(all_ms):6.0f}")


def version(python: str) -> str:
    return subprocess.run((python, "-c", VERSION), check=True, capture_output=True, text=True).stdout.strip()


def run_ms(python: str, *command: str) -> float:
    started = perf_counter()
    done = subprocess.run((python, *command), cwd=ROOT, env=ENVIRONMENT, capture_output=True)
    took_ms = 1000 * (perf_counter() - started)
    assert done.returncode == 0, done.stderr.decode()
    return took_ms


if __name__ == "__main__":
    main()
