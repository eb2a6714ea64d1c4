"""Lowest: checks the lower bounds in pyproject.toml. Needs a network, and takes about three minutes.

`python tools/lowest.py [PYTEST ARGUMENTS]` makes an environment in which every dependency has the lowest
version that pyproject.toml allows, and runs a world and a part of the tests there, or the tests that the
arguments name. Status 0: all pass. 1: something fails. 2: these versions cannot be installed together.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
# Tools that check and build the source; no test of the smoke set imports them. mutmut needs a newer click.
NOT_IMPORTED: Final = ("hatchling", "mutmut", "mypy", "ruff")
WORLD: Final = ("-m", "umi_sim", "sweep", "smoke", "all_faults", "--seeds", "0..1", "--jobs", "1")
TESTS: Final = (
    "-m", "not slow", "-n", "auto", "tests/unit/core", "tests/stateful", "tests/conformance",
    "tests/transcripts", "tests/unit/sim/cli/test_seeds.py", "tests/unit/sim/formats",
    "tests/unit/sim/kernel", "tests/unit/sim/record", "tests/unit/sim/seedfile",
    "tests/unit/sim/sweep/test_sweep.py", "tests/unit/sim/testing/test_pytest_plugin.py",
)  # fmt: skip


def lowest(requirements: Iterable[str]) -> Iterator[str]:
    """Yield `msgpack==1.0` for `msgpack>=1.0`, with extras. Raises ValueError if there is no lower bound."""
    for requirement in requirements:
        name, bound = re.match(r"([A-Za-z0-9_.-]+(?:\[\w+\])?)(?:>=([0-9.]+))?", requirement).groups()  # type: ignore[union-attr]  # both may be empty
        if not bound:
            raise ValueError(f"{requirement}: has no lower bound; write {requirement}>=X in pyproject.toml")
        if name not in NOT_IMPORTED:
            yield f"{name}=={bound}"


def pins() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return list(lowest([*project["dependencies"], *project["optional-dependencies"]["test"]]))


def main(args: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder, "bin", "python")
        pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--editable", str(ROOT)]
        print("lowest:", *pins(), flush=True)
        if subprocess.run([python, *pip, *pins()]).returncode:
            return 2
        tried = [WORLD, ("-P", "-m", "pytest", *(args or TESTS))]
        codes = [subprocess.run([python, *each], cwd=ROOT).returncode for each in tried]
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
