"""Goal: another project tests its memory with an installed umi-sim: the plugin, its worlds, the machine."""

import shutil
from pathlib import Path

import pytest

from tests.house.wheel import ROOT, python, run_python

pytestmark = pytest.mark.slow
PYTEST = ["-m", "pytest", "-p", "no:cacheprovider", "--strict-config", "-W", "error"]


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """The example project, far from the checkout."""
    folder = tmp_path / "own_tests"
    shutil.copytree(ROOT / "examples" / "own_tests", folder)
    return folder


def test_the_example_passes_on_the_wheel(unzipped: Path, example: Path) -> None:
    output = run_python([*PYTEST, "-v", "--umi-sim-seeds=0..1"], example, PYTHONPATH=str(unzipped))
    for test in (
        "tests/test_notebook.py::TestNotebook::runTest PASSED",
        "tests/test_ttl_boundary.py::test_ttl_boundary_a_1 PASSED",
        "scenarios/notebook.toml::notebook[1] PASSED",
        "::seeds/ttl-boundary-60f2fc7c829b PASSED",
    ):
        assert test in output


def test_the_example_shows_a_bug_in_our_layout(unzipped: Path, example: Path) -> None:
    scenario = example / "scenarios" / "notebook.toml"
    title, *rest = scenario.read_text().partition("\nswarm")
    scenario.write_text("".join((title, '\nmutant = "get-alive-at-expiry"', *rest)))
    done = python([*PYTEST, "scenarios", "--umi-sim-seeds=0..19"], example, PYTHONPATH=str(unzipped))
    assert done.returncode == 1
    assert "\nFAIL safety ttl-boundary (TTL-1) at step " in done.stdout
    assert "Traceback" not in done.stdout
    kept = next((example / ".umi-sim" / "ephemeral").iterdir())
    assert f"  repeat   umi-sim replay .umi-sim/ephemeral/{kept.name}\n" in done.stdout
