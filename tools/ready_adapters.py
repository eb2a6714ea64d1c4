"""Runs every adapter of examples/targets, each for some minutes, and prints what was found as a table.

`python tools/ready_adapters.py [--seconds 600] [--out FOLDER] [MODULE or MODULE:CLASS ...]`, by a Python that
has umi-sim and the packages of the adapters; what is not installed is told and left out. All adapters for ten
minutes each take four hours of one core at most: something for a night. A finding ends the hunt of its
adapter; its seed file and its script stay in the folder (`.umi-sim/ready` if not said), and the script is
run at once, in a process that knows the packages alone.
"""

import argparse
import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
ADAPTERS: Final = ROOT / "examples" / "targets"
CONTRACTS: Final = ("Kv", "Sessions", "MemoryStore")
HEAD: Final = ("adapter", "with", "runs", "operations", "result", "its script", "known, met again")
SHOWN_AGAIN: Final = 1  # exit code of a script that says what was recorded


def main(args: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="MODULE[:CLASS]")
    parser.add_argument("--seconds", type=int, default=600, help="for each adapter")
    parser.add_argument("--out", type=Path, default=Path(".umi-sim/ready"))
    options = parser.parse_args(args)
    chosen = [name for name in adapters() if not options.names or is_named(name, options.names)]
    if not chosen:
        parser.error(f"no such adapter; known: {', '.join(adapters())}")
    options.out.mkdir(parents=True, exist_ok=True)
    print(as_row(HEAD), as_row(["---"] * len(HEAD)), sep="\n", flush=True)
    for name in chosen:
        print(as_row([f"`{name}`", *told(name, options.seconds, options.out.resolve())]), flush=True)
    return 0


def is_named(name: str, names: Sequence[str]) -> bool:
    return name in names or name.partition(":")[0] in names


def as_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(each.replace('|', '/') for each in cells)} |"


def adapters() -> list[str]:
    """Every class that opens a store, read and not imported: its package may not be here."""
    return [
        f"{path.stem}:{name}" for path in sorted(ADAPTERS.glob("*.py")) for name in classes(path.read_text())
    ]


def classes(source: str) -> Iterator[str]:
    """Those of a module that inherit from a contract and say how a store is made."""
    makes = dict.fromkeys(CONTRACTS, False)
    for each in ast.parse(source).body:
        if isinstance(each, ast.ClassDef):
            bases = [base.id for base in each.bases if isinstance(base, ast.Name) and base.id in makes]
            own = any(getattr(member, "name", "") == "make" for member in each.body)
            if bases:
                makes[each.name] = own or any(makes[base] for base in bases)
    yield from (name for name, is_whole in makes.items() if is_whole)


def told(name: str, seconds: int, out: Path) -> list[str]:
    """The cells of an adapter."""
    script = out / f"{name.replace(':', '_')}.py"
    came, error = asked(name, "--seconds", str(seconds), "--export", str(script), out=out)
    if not came:
        return [versions(name), "", "", f"left out: {error}", "", ""]
    counts = [f"{came[each]:,}".replace(",", " ") for each in ("runs", "operations")]
    known = ", ".join(came["known"])
    if came["result"] == "pass":
        return [versions(name), *counts, "nothing found", "", known]
    failure = came["failure"]
    return [versions(name), *counts, f"{failure['rule']}: {failure['op']}", shown_again(script), known]


def asked(name: str, *more: str, out: Path) -> tuple[dict[str, Any], str]:
    """What the command says as JSON; nothing, and the first line of its error, if it says none."""
    command = [sys.executable, "-m", "umi_sim", "target", name, *more, "--json"]
    path = os.pathsep.join([str(ADAPTERS), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command, cwd=out, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    try:
        found: dict[str, Any] = json.loads(done.stdout)
        return found, ""
    except ValueError:
        last = [f"ended with status {done.returncode}", *filter(None, done.stderr.splitlines())][-1]
        return {}, last.removeprefix("umi-sim: ").removeprefix(f"{name}: ")


def shown_again(script: Path) -> str:
    """Whether the exported script says the same without this repository in its path."""
    alone = {name: each for name, each in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-P", script.name], cwd=script.parent, env=alone, capture_output=True, check=False
    )
    if b"Traceback" in done.stderr:  # Python ends with the same code, say where a package is not installed
        return f"cannot be run: {done.stderr.decode(errors='replace').splitlines()[-1]}"
    return "says the same" if done.returncode == SHOWN_AGAIN else f"says something else ({done.returncode})"


def versions(name: str) -> str:
    """Of the packages that the first lines of its module name."""
    source = (ADAPTERS / f"{name.partition(':')[0]}.py").read_text()
    head = ast.get_docstring(ast.parse(source)) or ""
    found = re.findall(r"([A-Za-z][\w-]*) \d+\.\d", head)
    return ", ".join(f"{each} {version_of(each)}" for each in found)


def version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
