"""What a user installs is what we test: the wheel carries the scenarios, and runs far from the checkout."""

from pathlib import Path

import pytest

from tests.house.wheel import ROOT, python, run_python

pytestmark = pytest.mark.slow


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


def test_the_wheel_carries_the_canary_and_says_where_the_other_planted_bugs_are(
    unzipped: Path, tmp_path: Path
) -> None:
    said = run_python(["-m", "umi_sim", "mutants"], tmp_path, PYTHONPATH=str(unzipped))
    told = " ".join(said.split())
    assert told.startswith("FOUND get-alive-at-expiry ")
    assert told.endswith(
        " this is the canary; all others are in the folder mutants of the source, and known there"
    )
    seen = python(["-m", "umi_sim", "run", "canary"], tmp_path, PYTHONPATH=str(unzipped))
    assert "FAIL safety ttl-boundary" in seen.stdout
    other = ["-m", "umi_sim", "run", "calm", "--set", "scenario.mutant=evicts-self"]
    refused = python(other, tmp_path, PYTHONPATH=str(unzipped))
    assert "known: get-alive-at-expiry; all others are in the folder mutants of the source" in refused.stderr


def test_the_wheel_carries_the_page_about_adapters(unzipped: Path, tmp_path: Path) -> None:
    said = run_python(["-m", "umi_sim", "target", "--manual"], tmp_path, PYTHONPATH=str(unzipped))
    assert said.strip() == (ROOT / "docs/targets.md").read_text().strip()


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
    said = run_python(["-m", "umi_sim", "run", "--seed", "42"], tmp_path, PYTHONPATH=str(unzipped))
    assert "PASS" in said
