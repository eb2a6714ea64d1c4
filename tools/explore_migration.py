"""Tries every short life of a migration, from each phase on: `python tools/explore_migration.py 2 1 2 1 1`.

The numbers are how many writes, reads, works (switches, reconciles, mirrors), crashes and failures there may
be. Exit status 1 if a rule breaks; the steps to it are printed.
"""

import sys
from typing import Final

from umi_core.migration import PHASES
from umi_sim.explore.migration import Budget, explore

NUMBER_MAX: Final = 9


def main(words: list[str]) -> int:
    if not all(word.isdecimal() and int(word) <= NUMBER_MAX for word in words) or len(words) > len("WRWCF"):
        print(f"explore_migration: {' '.join(words)}: expected at most five numbers from 0 to {NUMBER_MAX}")
        return 2
    budget, status = Budget(*map(int, words)), 0
    for phase in PHASES[:-1]:
        found = explore(budget, phase)
        print(f"{'FAIL' if found.broken else 'PASS'} {phase}: {found.state_count} states {found.broken}")
        print(*(f"  {step}" for step in found.steps), sep="\n", end="\n" if found.steps else "")
        status |= bool(found.broken)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
