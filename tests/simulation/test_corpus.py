"""Goal: nothing is found twice: each seed file of the corpus ends as it says."""

from pathlib import Path

import pytest

from umi_sim import seed_file
from umi_sim.runner import run_once

CORPUS = sorted((Path(__file__).resolve().parent.parent.parent / "scenarios" / "seeds").glob("*.json"))


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_a_fixed_bug_stays_fixed(path: Path) -> None:
    seed = seed_file.read(path)
    verdict, _ = run_once(seed.config, seed.items)
    assert verdict.failure is None, verdict.failure
    assert verdict.skipped == {}


def test_the_corpus_is_not_empty() -> None:
    assert CORPUS
