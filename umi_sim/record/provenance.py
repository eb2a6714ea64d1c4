"""Where a seed file was made (versions, machine, commit): for people; no decision depends on it."""

import os
import sys
from functools import cache
from hashlib import blake2b

from umi_sim import __version__
from umi_sim.kernel import folders


@cache
def made_by() -> dict[str, object]:
    """Return versions, machine and commit of this process."""
    commit = describe_commit()
    return {
        **machine(),
        "commit": commit.removesuffix("-dirty"),
        "dirty": commit.endswith("-dirty"),
        "hash_seed": os.environ.get("PYTHONHASHSEED", "random"),
    }


def machine() -> dict[str, str]:
    """Return the versions of umi_sim and Python, and the platform."""
    version = ".".join(map(str, sys.version_info[:3]))
    return {
        "umi_sim": __version__,
        "python": f"{sys.implementation.name} {version}",
        "platform": f"{sys.platform}-{os.uname().machine}",
    }


def describe_commit() -> str:
    """Return the commit around this package, with "-dirty" if files were changed; empty if there is none."""
    import subprocess  # only where a file is written

    command = ["git", "describe", "--always", "--exclude=*", "--abbrev=40", "--dirty"]
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}  # or git would write the index of the folder
    try:
        found = subprocess.run(
            command, cwd=folders.PACKAGE, env=environment, capture_output=True, text=True, timeout=5
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.strip() if found.returncode == 0 else ""


@cache
def code_digest() -> str:
    """Return a digest of the sources of both packages, equal on two machines that run the same code."""
    package = folders.PACKAGE
    digest = blake2b(digest_size=8)
    for folder in (package.parent / "umi_core", package):
        for path in sorted(folder.rglob("*.py")):
            digest.update(f"{path.relative_to(package.parent).as_posix()}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()
