"""What a user installs is what we test: the wheel carries the scenarios, and runs far from the checkout."""

import re
from pathlib import Path
from typing import Final

import pytest

from tests.house.wheel import ROOT, run_python
from umi_sim.mutants.registry import MUTANTS

pytestmark = pytest.mark.slow

PLANTED: Final = "new-key-on-retry"
PLANTS: Final = re.compile(r"""\bmutant ?= ?"?([a-z-]+)""")


def test_the_wheel_carries_all_packages_with_their_types(unzipped: Path) -> None:
    for package in ("umi_core", "umi_sim", "umi_live"):
        sources = {path.relative_to(ROOT) for path in (ROOT / package).rglob("*.py")}
        assert sources <= {path.relative_to(unzipped) for path in unzipped.rglob("*.py")}
        assert (unzipped / package / "py.typed").is_file()
    pages = [path.name for path in (ROOT / "umi_sim/pages").iterdir() if path.suffix in (".js", ".css")]
    assert len(pages) > 2
    assert all((unzipped / "umi_sim/pages" / name).is_file() for name in pages)


def test_the_wheel_carries_every_scenario_text_and_seed_file(unzipped: Path) -> None:
    kept = sorted(
        path.relative_to(ROOT / "scenarios") for path in (ROOT / "scenarios").rglob("*") if path.is_file()
    )
    shipped = unzipped / "umi_sim" / "_scenarios"
    assert Path("smoke.toml") in kept
    assert kept == sorted(path.relative_to(shipped) for path in shipped.rglob("*") if path.is_file())


def test_the_wheel_carries_every_planted_bug(unzipped: Path, tmp_path: Path) -> None:
    ask = "from umi_sim.mutants.registry import MUTANTS; print(*MUTANTS, sep='\\n')"
    assert run_python(["-c", ask], tmp_path, PYTHONPATH=str(unzipped)).split() == list(MUTANTS)
    found = run_python(["-m", "umi_sim", "mutants", "--only", PLANTED], tmp_path, PYTHONPATH=str(unzipped))
    assert found.startswith(f"FOUND {PLANTED} ")


def test_the_planted_bugs_that_pages_name_are_there() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    named = {name: page for page in pages for name in PLANTS.findall(page.read_text("utf-8"))}
    assert PLANTED in named
    assert {name: page for name, page in named.items() if name not in MUTANTS} == {}


@pytest.mark.parametrize(("option", "page"), [("--manual", "docs/targets.md"), ("--skill", "SKILL.md")])
def test_the_wheel_carries_the_pages_about_adapters(
    unzipped: Path, tmp_path: Path, option: str, page: str
) -> None:
    output = run_python(["-m", "umi_sim", "target", option], tmp_path, PYTHONPATH=str(unzipped))
    assert output.strip() == (ROOT / page).read_text().strip()


def test_the_wheel_carries_nothing_of_the_workshop(unzipped: Path) -> None:
    names = sorted(path.name for path in unzipped.iterdir())
    assert [name for name in names if not name.endswith(".dist-info")] == ["umi_core", "umi_live", "umi_sim"]
    (metadata,) = unzipped.glob("*.dist-info")
    entry_points = (metadata / "entry_points.txt").read_text()
    assert "umi-sim = umi_sim.__main__:main" in entry_points
    assert "umi_sim.testing.pytest_plugin = umi_sim.testing.pytest_plugin" in entry_points
    assert (metadata / "licenses" / "LICENSE").is_file()


def test_the_wheel_runs_from_another_folder(unzipped: Path, tmp_path: Path) -> None:
    where = run_python(["-c", "import umi_sim; print(umi_sim.__file__)"], tmp_path, PYTHONPATH=str(unzipped))
    assert Path(where.strip()).is_relative_to(unzipped)
    output = run_python(["-m", "umi_sim", "run", "--seed", "42"], tmp_path, PYTHONPATH=str(unzipped))
    assert "PASS" in output
