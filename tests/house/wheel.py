"""The wheel as a user gets it: run by a Python of its own, far from the checkout."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
RUN_SECONDS_MAX: Final = 300  # a bound against hanging, not a measurement


def run_python(arguments: list[str], cwd: Path, **env: str) -> str:
    """What a fresh Python that succeeded has printed."""
    done = python(arguments, cwd, **env)
    assert done.returncode == 0, f"{arguments} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def python(arguments: list[str], cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """A fresh Python that has ended. Not measured: these files are not the checkout's."""
    outside = {
        name: value for name, value in os.environ.items() if not name.startswith(("COVERAGE_", "PYTHON"))
    }
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=outside | env,
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS_MAX,
        check=False,
    )
