"""Goal: a small seed file replays in the blink of an eye, so nothing large is imported on its way."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SMALL = ROOT / "scenarios" / "seeds" / "once-only-own-plan-told-as-repeated.json"
NEEDLESS = (
    "numpy", "hypothesis", "pytest", "multiprocessing", "concurrent.futures", "asyncio", "tomllib",
    "subprocess", "difflib", "umi_sim.world.generator", "umi_sim.workload.users", "umi_sim.workload.pools",
    "umi_sim.scenario.files",
    "umi_sim.sweep", "umi_sim.shrink", "umi_sim.explore", "umi_sim.mutants.registry",
    "umi_sim.services.model.rewriting",
)  # fmt: skip
PROGRAM = """
import json, sys
from umi_sim.cli.root import cli
code = cli(["replay", "--relaxed", "--quiet", sys.argv[1]], standalone_mode=False)
print(json.dumps([code, sorted(sys.modules)]))
"""


def test_the_replay_of_a_small_file_imports_nothing_needless() -> None:
    command = [sys.executable, "-c", PROGRAM, str(SMALL)]
    unmeasured = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    done = subprocess.run(command, cwd=ROOT, env=unmeasured, capture_output=True, text=True, check=True)
    code, modules = json.loads(done.stdout)
    assert code == 0
    assert [name for name in NEEDLESS if name in modules] == []
