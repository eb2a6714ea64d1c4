"""What a user installs is what we test: the wheel carries the scenarios, and runs far from the checkout."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUN_SECONDS_MAX = 300  # a bound against hanging, not a measurement

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def unzipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the contents of the wheel, built without a network from the checkout."""
    built = tmp_path_factory.mktemp("built")
    command = [
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(built),
        str(ROOT),
    ]
    run_python(command, built)
    (wheel,) = built.glob("umi_sim-*.whl")
    folder = tmp_path_factory.mktemp("unzipped")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def run_python(arguments: list[str], cwd: Path, **env: str) -> str:
    """What a fresh Python that succeeded has printed. Not measured: these files are not the checkout's."""
    outside = {
        name: value for name, value in os.environ.items() if not name.startswith(("COVERAGE_", "PYTHON"))
    }
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=outside | env,
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, f"{arguments} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_wheel_carries_both_packages_with_their_types(unzipped: Path) -> None:
    for package in ("umi_core", "umi_sim"):
        sources = {path.relative_to(ROOT) for path in (ROOT / package).rglob("*.py")}
        assert sources <= {path.relative_to(unzipped) for path in unzipped.rglob("*.py")}
        assert (unzipped / package / "py.typed").is_file()


def test_the_wheel_carries_every_scenario_text_and_seed_file(unzipped: Path) -> None:
    kept = sorted(
        path.relative_to(ROOT / "scenarios") for path in (ROOT / "scenarios").rglob("*") if path.is_file()
    )
    shipped = unzipped / "umi_sim" / "_scenarios"
    assert Path("smoke.toml") in kept
    assert kept == sorted(path.relative_to(shipped) for path in shipped.rglob("*") if path.is_file())


def test_the_wheel_carries_nothing_of_the_workshop(unzipped: Path) -> None:
    names = sorted(path.name for path in unzipped.iterdir())
    assert [name for name in names if not name.endswith(".dist-info")] == ["umi_core", "umi_sim"]
    (metadata,) = unzipped.glob("*.dist-info")
    assert "umi-sim = umi_sim.cli:main" in (metadata / "entry_points.txt").read_text()
    assert (metadata / "licenses" / "LICENSE").is_file()


def test_the_wheel_runs_from_another_folder(unzipped: Path, tmp_path: Path) -> None:
    where = run_python(["-c", "import umi_sim; print(umi_sim.__file__)"], tmp_path, PYTHONPATH=str(unzipped))
    assert Path(where.strip()).is_relative_to(unzipped)
    said = run_python(["-m", "umi_sim", "run", "--seed", "42"], tmp_path, PYTHONPATH=str(unzipped))
    assert "PASS" in said
