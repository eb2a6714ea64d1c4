"""Runs the commands that the README shows, and replaces their output in it."""

import os
import re
import subprocess
import sys
from pathlib import Path
from shlex import split
from tempfile import TemporaryDirectory
from typing import Final

README: Final = Path(__file__).resolve().parent.parent / "README.md"
SHOWN: Final = re.compile(r"^(\$ tools/umi-sim (.*)\n)(?:(?!```).*\n)+", re.M)  # a command with its output
WIDTH: Final = 120


def readme() -> str:
    """Return the README with the current output of its commands."""
    return SHOWN.sub(lambda found: found[1] + printed(found[2]), README.read_text())


def printed(arguments: str) -> str:
    """Return the output of umi-sim in a temporary folder."""
    env = {**os.environ, "PYTHONPATH": str(README.parent), "COLUMNS": str(WIDTH)}
    command = [sys.executable, "-m", "umi_sim", *split(arguments)]
    with TemporaryDirectory() as folder:
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    return done.stdout
