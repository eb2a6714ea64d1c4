"""Where does a planted bug show soonest? Its mean CPU seconds in each scenario, whole and in small.

    .venv/bin/python tools/bench/homes.py BUG ... [--starts N] [--first SEED] [--seconds S]

Every scenario is tried as it is; the soonest then with fewer operations and with one agent. A look counts the
CPU seconds until one of the rules of the bug is broken, from several first seeds, since the luck of one says
little; where it takes longer than the best so far it is left. All get half a second for each look first, then
a whole one, and so on until one of them is better than where the bug is looked for today: that is the first
row. What is chosen by this table must be measured from other seeds: bugs.py --cost 90000 BUG.
"""

import argparse
from collections.abc import Iterator, Mapping
from math import inf
from typing import Final

from msgspec import structs

from tools.bench.looks import look
from tools.bench.measure import Table, short
from umi_core.data import Data
from umi_sim.mutants import Mutant
from umi_sim.mutants.registry import MUTANTS
from umi_sim.scenario.files import BadScenario, list_shipped

FIRST_SEED: Final = 60_000
APART: Final = 10_000  # seeds, from one start to the next
SHOWN: Final = 5
LEAST_S: Final = 0.5
TODAY_S: Final = 30.0
TRIED_SMALL: Final = 3
SMALL: Final[tuple[Mapping[str, str], ...]] = (
    {"workload.operations": "15"},
    {"workload.operations": "30"},
    {"workload.operations": "60"},
    {"agents.count": "1"},
    {"agents.count": "1", "workload.operations": "30"},
)


class Home(Data):
    """Where a bug is looked for; `mean_s` CPU seconds until it is seen."""

    bug: Mutant
    mean_s: float

    def show(self) -> tuple[str, str, str]:
        settings = ", ".join(f"{key} = {value}" for key, value in self.bug.settings.items())
        return self.bug.scenario, settings, short(self.mean_s)


def main() -> None:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("names", nargs="+", metavar="BUG", choices=list(MUTANTS))
    parser.add_argument("--starts", type=int, default=3, help="looks in each, from other seeds")
    parser.add_argument("--first", type=int, default=FIRST_SEED, help="the first of these seeds")
    parser.add_argument("--seconds", type=float, default=2, help="of one look, at most")
    options = parser.parse_args()
    starts = range(options.first, options.first + options.starts * APART, APART)
    for name in options.names:
        today, *others = homes(MUTANTS[name], starts, options.seconds)
        rows = [home.show() for home in (today, *sorted(others, key=lambda home: home.mean_s)[:SHOWN])]
        Table(name, ("scenario", "settings", "mean CPU s"), rows).show()


def homes(bug: Mutant, starts: range, seconds: float) -> Iterator[Home]:
    """Where it is today, and whatever was as good as the best so far when it was tried."""
    today = tried(bug, starts, TODAY_S) or Home(bug, TODAY_S)
    yield today
    found, limit = [today], LEAST_S
    while len(found) == 1 and limit < min(2 * today.mean_s, 2 * seconds):
        for place in list_shipped():
            if place != bug.scenario:
                found += better(structs.replace(bug, scenario=place), starts, found, limit)
        limit *= 2
    for home in sorted(found, key=lambda home: home.mean_s)[:TRIED_SMALL]:
        for small in SMALL:
            found += better(structs.replace(home.bug, settings={**home.bug.settings, **small}), starts, found)
    yield from found[1:]


def better(bug: Mutant, starts: range, found: list[Home], most_s: float = inf) -> Iterator[Home]:
    home = tried(bug, starts, min(most_s, *(it.mean_s for it in found)))
    if home is not None:
        yield home


def tried(bug: Mutant, starts: range, most_s: float) -> Home | None:
    """None once the looks so far have taken longer than so much each."""
    spent = 0.0
    for looks, start in enumerate(starts, 1):
        spent += taken_s(bug, start, looks * most_s - spent)
        if spent >= looks * most_s:
            return None
    return Home(bug, spent / len(starts))


def taken_s(bug: Mutant, seed: int, most_s: float) -> float:
    """CPU seconds from this seed on until it is seen, or the most at least."""
    try:
        spent = look(bug, seed, most_s)
    except BadScenario:  # a scenario that may not be made so small
        return most_s
    return spent.seconds if spent.found else max(most_s, spent.seconds)


if __name__ == "__main__":
    main()
