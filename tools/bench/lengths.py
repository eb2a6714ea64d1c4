"""How long should a run be? What planted bugs take in runs of fewer and of more operations.

    .venv/bin/python tools/bench/lengths.py [--bugs N] [--starts N] [--first SEED] [--most S]

A sample of the planted bugs, each in its own scenario with a quarter, half, all and twice the operations
that the scenario draws; each is looked for from several first seeds, for a number of CPU seconds at most, and
one that is not seen by then counts as that many. Bugs of one kind of fault are left out: they are looked for
in a small world of their own.
"""

import argparse
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

from msgspec import structs

from tools.bench.looks import Spent, look
from tools.bench.measure import Table, short
from umi_sim.kernel.prng import Stream
from umi_sim.mutants import Mutant
from umi_sim.mutants.registry import MUTANTS
from umi_sim.scenario.files import find

PARTS: Final = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2))
HEAD: Final = ("operations", "CPU s", "runs", "found")
NOTE: Final = "A look ends after {} CPU seconds. Operations: times as many as the scenario of the bug draws."
APART: Final = 10_000  # seeds, from one start to the next


def main() -> None:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=layout)
    parser.add_argument("--bugs", type=int, default=150, help="how many, drawn")
    parser.add_argument("--starts", type=int, default=2, help="looks for each, from other seeds")
    parser.add_argument("--first", type=int, default=300_000, help="the first of these seeds")
    parser.add_argument("--most", type=float, default=6, help="CPU seconds of a look")
    options = parser.parse_args()
    bugs = sample(options.bugs, options.first)
    starts = [options.first + at * APART for at in range(options.starts)]
    rows = [row(part, [spent(bug, part, starts, options.most) for bug in bugs]) for part in PARTS]
    looks = len(bugs) * len(starts)
    Table(f"{looks} looks for {len(bugs)} planted bugs", HEAD, rows, NOTE.format(short(options.most))).show()


def row(part: Fraction, all_spent: Sequence[Spent]) -> tuple[str, ...]:
    total = sum(all_spent, Spent())
    return str(part), short(total.seconds), str(total.runs), str(total.found)


def sample(most: int, seed: int) -> list[Mutant]:
    """Of those that have a number of operations to change."""
    able = [bug for bug in MUTANTS.values() if not bug.kind and find(bug.scenario).operations]
    return sorted(Stream(seed, "lengths").shuffle(able)[:most], key=lambda bug: bug.name)


def spent(bug: Mutant, part: Fraction, starts: Sequence[int], most_s: float) -> Spent:
    longer = structs.replace(bug, settings={**bug.settings, **scaled(bug, part)})
    return sum((look(longer, start, most_s) for start in starts), Spent())


def scaled(bug: Mutant, part: Fraction) -> Mapping[str, str]:
    """The operations of its scenario, also where the bug is looked for in a smaller one; at least one."""
    low, high = find(bug.scenario).operations or (1, 1)
    return {"workload.operations": f"[{max(1, int(low * part))}, {max(1, int(high * part))}]"}


if __name__ == "__main__":
    main()
