"""Release: builds the sdist and the wheel, tries them in bare environments, uploads them. Needs a network.

`.venv/bin/python -m tools.release [PYTHON ...]` is a dry run: all but the upload. Each PYTHON (default: this
one) gets two environments, one with the wheel and one with the sdist, and nothing else but what they require;
the commands run there far from the checkout. `--publish` uploads both with twine, which asks for a token.
Status 0: all went well. 1: something fails. 2: the checkout is not ready, and nothing was built.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
VERSION: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
# Commands of a bare environment with the extra `live`, and how their output begins.
TRIED: Final = (
    (("umi-sim", "--version"), f"umi-sim, version {VERSION}"),
    (("umi-sim", "run", "--seed", "42"), "PASS"),
    (("umi-sim", "mutants", "--only", "new-key-on-retry"), "FOUND"),
    (("umi-sim", "target", "--skill"), "---"),
    (("umi-live", "--version"), f"umi-live, version {VERSION}"),
    (("umi-live", "remember", "--db", "a.db", "Ann likes tea."), "created"),
)  # fmt: skip


def main(args: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pythons", nargs="*", default=[sys.executable])
    parser.add_argument("--publish", action="store_true", help="upload them, if all went well")
    options = parser.parse_args(args)
    if unready := list_unready(options.publish):
        print(*unready, sep="\n", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        return release(Path(folder), options.pythons, options.publish)


def list_unready(is_publishing: bool) -> list[str]:
    """Return what has to be done before a release; of the changelog only before an upload."""
    status = subprocess.run(
        ("git", "status", "--porcelain"), cwd=ROOT, capture_output=True, text=True, check=True
    )
    changed = [f"git status: {line}: commit or remove it" for line in status.stdout.splitlines()]
    head = re.search(
        rf"^## {re.escape(VERSION)} \((.*)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )
    if head is None:
        return [*changed, f"CHANGELOG.md: has no `## {VERSION} (DATE)`, the version of pyproject.toml"]
    if is_publishing and not re.fullmatch(r"\d{4}-\d\d-\d\d", head[1]):
        return [*changed, f"CHANGELOG.md: {VERSION} is ({head[1]}): write its date, such as (2027-01-31)"]
    return changed


def release(folder: Path, pythons: Sequence[str], is_publishing: bool) -> int:
    """Build, try and check; upload at the end if `is_publishing` and nothing failed."""
    dist, tools = folder / "dist", folder / "tools"
    is_ready = is_made(tools, sys.executable, "hatchling", "twine")
    if not (is_ready and is_run(tools, "hatchling", "build", "--directory", str(dist))):
        return 1
    files = sorted(map(str, dist.iterdir()))
    failed = False
    for place, (python, file) in enumerate(product(pythons, files)):
        failures = list(try_file(folder / str(place), python, file))
        print(*(failures or [f"works: {Path(file).name} on {python}"]), sep="\n", flush=True)
        failed |= bool(failures)
    if not is_run(tools, "twine", "check", "--strict", *files) or failed:
        return 1
    if is_publishing:
        return 0 if is_run(tools, "twine", "upload", *files) else 1
    print("nothing was uploaded: --publish does it")
    return 0


def is_run(tools: Path, *module: str) -> bool:
    """Run a module of this environment on the checkout; return whether it succeeded."""
    return subprocess.run((tools / "bin" / "python", "-m", *module), cwd=ROOT).returncode == 0


def is_made(folder: Path, python: str, *packages: str) -> bool:
    """Make an environment of this interpreter with these packages; return whether that worked."""
    pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages)
    return (
        subprocess.run((python, "-m", "venv", folder)).returncode == 0
        and subprocess.run((folder / "bin" / "python", *pip)).returncode == 0
    )


def try_file(folder: Path, python: str, file: str) -> Iterator[str]:
    """Yield the commands that fail in an environment of this interpreter with this file alone."""
    name = f"{Path(file).name} on {python}"
    if not is_made(folder, python, f"{file}[live]"):
        yield f"FAIL {name}: cannot be installed"
        return
    for command, begin in TRIED:
        done = subprocess.run(
            (folder / "bin" / command[0], *command[1:]), cwd=folder, capture_output=True, text=True
        )
        if done.returncode or not done.stdout.startswith(begin):
            yield f"FAIL {name}: {' '.join(command)} ended with {done.returncode}: {done.stdout[:200]!r}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
