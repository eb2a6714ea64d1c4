"""Goal: a command starts in the blink of an eye, so it imports nothing that it does not need."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SMALL = ROOT / "scenarios" / "seeds" / "once-only-own-plan-told-as-repeated.json"
NEEDLESS = (
    "hypothesis", "pytest", "multiprocessing", "concurrent.futures", "asyncio", "subprocess", "difflib",
    "ssl", "email", "http", "socket", "sqlite3", "tempfile", "webbrowser", "umi_sim.sweep", "umi_sim.shrink",
    "umi_sim.explore", "umi_sim.mutants.registry", "umi_sim.targets", "umi_sim.pages",
)  # fmt: skip
NEEDLESS_FOR_FILES = (
    *NEEDLESS, "numpy", "tomllib", "umi_sim.world.generator", "umi_sim.workload.users",
    "umi_sim.workload.pools", "umi_sim.scenario.files", "umi_sim.services.model.rewriting",
)  # fmt: skip
NEEDLESS_TO_READ = (
    *NEEDLESS_FOR_FILES, "xml", "umi_core.memory", "umi_core.workflows", "umi_sim.judge.inspector",
    "umi_sim.judge.oracle", "umi_sim.judge.plain", "umi_sim.runs.runner", "umi_sim.world.world",
)  # fmt: skip
NEEDLESS_FOR_HELP = (
    *NEEDLESS_TO_READ, "umi_core.errors", "umi_core.messages", "umi_core.config", "umi_sim.record.verdict",
    "umi_sim.seedfile", "umi_sim.faults", "umi_sim.judge",
)  # fmt: skip
PROGRAM = """
import json, sys
from umi_sim.cli.root import cli
code = cli(sys.argv[1:], standalone_mode=False)
print(json.dumps([code, sorted(sys.modules)]))
"""


def modules_of(*command: str) -> list[str]:
    """Return the modules that a command of umi-sim has imported at its end."""
    program = [sys.executable, "-c", PROGRAM, *command]
    unmeasured = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    done = subprocess.run(program, cwd=ROOT, env=unmeasured, capture_output=True, text=True, check=True)
    code, modules = json.loads(done.stdout.splitlines()[-1])
    assert code == 0
    return list(modules)


@pytest.mark.parametrize(
    ("command", "needless"),
    [
        (("--help",), NEEDLESS_FOR_HELP),
        (("show", str(SMALL)), NEEDLESS_TO_READ),
        (("replay", "--relaxed", "--quiet", str(SMALL)), NEEDLESS_FOR_FILES),
        (("run", "core", "--seed", "1", "--quiet"), NEEDLESS),
    ],
    ids=("help", "show", "replay", "run"),
)
def test_a_command_imports_nothing_needless(command: tuple[str, ...], needless: tuple[str, ...]) -> None:
    modules = modules_of(*command)
    assert [name for name in needless if name in modules] == []


def test_importing_the_memory_compiles_no_pattern_that_a_small_run_may_not_need() -> None:
    """The pattern of words in any script takes as long as a tenth of a command, that of dates nearly so."""
    program = (
        "import umi_core.memory, umi_core.language.rewriting\n"
        "from umi_core.language import dates, words\n"
        "built = words.word_pattern, dates.forms_of_count, dates.pattern\n"
        "print([it.__name__ for it in built if it.cache_info().misses])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")
