"""Where a seed file was made: for the reader's information, never part of a decision."""

import os
import platform
import subprocess
import sys
from functools import cache
from pathlib import Path

from umi_sim import __version__


@cache
def made_by() -> dict[str, object]:
    """Versions, machine and commit of this process."""
    commit = described()
    return {
        "umi_sim": __version__,
        "python": f"{sys.implementation.name} {platform.python_version()}",
        "platform": f"{sys.platform}-{os.uname().machine}",
        "commit": commit.removesuffix("-dirty"),
        "dirty": commit.endswith("-dirty"),
        "hash_seed": os.environ.get("PYTHONHASHSEED", "random"),
    }


def described() -> str:
    """The commit around this package, with "-dirty" if files were changed; empty if there is none."""
    command = ["git", "describe", "--always", "--exclude=*", "--abbrev=40", "--dirty"]
    try:
        found = subprocess.run(
            command,
            cwd=Path(__file__).parent,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
            capture_output=True,
            text=True,
            timeout=5,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.strip() if found.returncode == 0 else ""
