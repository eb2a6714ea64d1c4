"""Goal: mixed worlds are scenarios as any other, the same for the same seed, and keep every promise."""

from pathlib import Path

import pytest

from tools import mixed
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, load

COUNT = 30


def written(folder: Path, seed: int) -> list[Path]:
    assert mixed.main([str(folder), "--count", str(COUNT), "--seed", str(seed)]) == 0
    return sorted(folder.glob("*.toml"))


def test_each_is_a_scenario_and_the_seed_says_which(tmp_path: Path) -> None:
    first, again, other = (written(tmp_path / name, seed) for name, seed in (("a", 1), ("b", 1), ("c", 2)))
    texts = [[path.read_text() for path in paths] for paths in (first, again, other)]
    assert texts[0] == texts[1] != texts[2]
    assert len({*texts[0]}) == COUNT


@pytest.mark.parametrize("count", ["0", "-1", "1001"])
def test_a_count_that_cannot_be_is_refused(count: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="2"):
        mixed.main([str(tmp_path / "none"), "--count", count])
    assert not (tmp_path / "none").exists()


def test_each_keeps_every_promise(tmp_path: Path) -> None:
    worlds = [load(path) for path in written(tmp_path, 1)]
    for scenario in worlds[:3]:
        verdict, _ = run_once(draw(scenario, 1))
        assert verdict.failure is None, verdict.failure
