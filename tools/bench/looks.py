"""A look for a planted bug: what it takes from a first seed on."""

from time import process_time

from msgspec import structs

from umi_core.data import Data
from umi_sim.mutants import Mutant
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find


class Spent(Data):
    """Of some looks: CPU seconds, runs, and how many of the looks found the bug."""

    seconds: float = 0
    runs: int = 0
    found: int = 0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(self.seconds + other.seconds, self.runs + other.runs, self.found + other.found)


def look(bug: Mutant, seed: int, most_s: float) -> Spent:
    """Seed after seed in the scenario of the bug, until one of its rules is broken or the time is up.

    Raises BadScenario if its settings make no scenario.
    """
    begun, runs, found, file = process_time(), 0, False, find(bug.scenario)
    while not found and process_time() - begun < most_s:
        config = structs.replace(draw(file, seed + runs, bug.hunted), planted=bug.name)
        failure, runs = run_once(config)[0].failure, runs + 1
        found = failure is not None and failure.rule in bug.rules
    return Spent(process_time() - begun, runs, found)
