"""Where planted bugs are known to show: the seeds that were kept when they were last looked for."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from umi_sim.mutants import Mutant

GOLDEN: Final = Path(__file__).resolve().parent / "golden"
KEPT: Final = json.loads((GOLDEN / "seeds_of_bugs.json").read_text())
CHEAP: Final = json.loads((GOLDEN / "cheap_seeds.json").read_text())  # where a search would take long
NEEDS: Final = json.loads((GOLDEN / "needs.json").read_text())


def seeds_of(mutant: Mutant) -> Iterator[int]:
    """As many as it is granted. Those that showed it once come first, since most show it still."""
    known = {KEPT[mutant.name] - 1} | ({NEEDS[mutant.kind]["seed"]} if mutant.kind else set())
    known = {CHEAP[mutant.name]} if mutant.name in CHEAP else known
    yield from sorted(known)
    yield from (seed for seed in range(mutant.seeds_max) if seed not in known)
