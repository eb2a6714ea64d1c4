"""Does a search that is guided find late bugs sooner than fresh seeds? CPU seconds until each is seen.

    .venv/bin/python tools/bench/guided.py [BUG ...] [--seconds S] [--starts N]

*Fresh*: one seed after another. *Guided*: in half of the runs as well; the other half goes on from a run that
met something which hardly any other had met: a mark, a kind of fault, an outcome, something gone without. A
part of its items, from half to all of them, happens again, and everything behind is drawn afresh. Of what
there is to go on from, the run with the rarest find is taken, and each less eagerly the oftener it was.

Without names: all bugs that took LATE seeds or more when they were last measured.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import process_time
from typing import Final

from msgspec import structs

from tools.bench.measure import Table, short
from umi_core.data import Owner
from umi_sim.kernel.prng import Stream
from umi_sim.mutants import Mutant
from umi_sim.mutants.registry import MUTANTS
from umi_sim.record.run_config import RunConfig
from umi_sim.record.verdict import Verdict
from umi_sim.runs.continued import Continued
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find

MEASURED: Final = Path(__file__).resolve().parents[2] / "tests" / "golden" / "seeds_of_bugs.json"
LATE: Final = 17  # seeds
FIRST_SEED: Final = 20_000
APART: Final = 10_000  # seeds, from one start to the next
KEPT_MAX: Final = 200  # runs to go on from
RARE_MAX: Final = 2  # what so many runs have met is rare no more


class Kept(Owner):
    """A run to go on from."""

    run: Verdict
    rare: tuple[str, ...]
    used: int = 0


def main() -> None:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("names", nargs="*", metavar="BUG")
    parser.add_argument("--seconds", type=float, default=15, help="of each look, at most")
    parser.add_argument("--starts", type=int, default=3, help="looks for each bug, from other seeds")
    options = parser.parse_args()
    seeds: dict[str, int] = json.loads(MEASURED.read_text())
    names = options.names or [name for name in MUTANTS if seeds.get(name, 0) >= LATE]
    rows, sums = [], [0.0, 0.0]
    for bug in map(MUTANTS.__getitem__, names):
        starts = [FIRST_SEED + APART * number for number in range(options.starts)]
        spent = [sum(look(runs(bug, at), options.seconds) for at in starts) for runs in (fresh, guided)]
        sums = [one + more for one, more in zip(sums, spent, strict=True)]
        rows.append([f"`{bug.name}`", *map(short, spent)])
    rows.append(["all", *map(short, sums)])
    note = f"A look ends after {options.seconds:.0f} s, found or not; {options.starts} looks for each bug."
    Table("CPU seconds until a late bug is seen", ["bug", "fresh", "guided"], rows, note).show()


def look(verdicts: Iterator[Verdict], seconds: float) -> float:
    """CPU seconds until one of the runs fails."""
    start = process_time()
    for verdict in verdicts:
        spent = process_time() - start
        if verdict.failure or spent >= seconds:
            return min(spent, seconds)
    raise AssertionError("seeds do not end")


def drawn(bug: Mutant, seed: int) -> RunConfig:
    return structs.replace(draw(find(bug.scenario), seed, bug.overrides), planted=bug.name)


def fresh(bug: Mutant, start: int) -> Iterator[Verdict]:
    for seed in range(start, start + APART):
        yield run_once(drawn(bug, seed))[0]


def guided(bug: Mutant, start: int) -> Iterator[Verdict]:
    chance, met, corpus = Stream(start, "guided"), Counter[str](), list[Kept]()
    for seed in range(start, start + APART):
        if corpus and chance.chance(1, 2):
            yield (verdict := continue_run(chosen(corpus, met), seed, chance))
        else:
            yield (verdict := run_once(drawn(bug, seed))[0])
        rare = tuple(what for what in met_by(verdict) if met[what] < RARE_MAX)
        met.update(met_by(verdict))
        if rare:
            corpus[:] = [*corpus, Kept(verdict, rare)][-KEPT_MAX:]


def met_by(run: Verdict) -> set[str]:
    return {*run.marks, *run.fired, *run.degraded, *run.replies}


def chosen(corpus: list[Kept], met: Counter[str]) -> Verdict:
    best = min(corpus, key=lambda it: min(met[what] for what in it.rare) + it.used)
    best.used += 1
    return best.run


def continue_run(run: Verdict, seed: int, chance: Stream) -> Verdict:
    """The first items of a run again, and then a tail that this seed draws."""
    count = len(run.items)
    items = run.items[: count - chance.below(count // 2 + 1)]
    return run_once(run.config, partial(Continued, items, structs.replace(run.config, seed=seed)))[0]


if __name__ == "__main__":
    main()
