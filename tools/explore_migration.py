"""Tries every short run of a migration, from each phase on. If a rule breaks, it prints the steps that lead
to this, and exits with status 1. Example: `python tools/explore_migration.py 2 1 2 1 1`.
"""

import argparse
import sys
from typing import Final

from msgspec import structs

from umi_core.migration.rows import PHASES
from umi_sim.explore.migration import explore
from umi_sim.explore.one_row import SMALL, EventBudget

NUMBER_MAX: Final = 9
HELP: Final = {
    "writes": "writes and deletes of the client", "reads": "reads of the client",
    "works": "switches, passes of reconcile and of mirror", "crashes": "crashes, at any question,",
    "failures": "questions that a store does not answer as it should",
    "keyed": "writes of the client with one key, all the same",
}  # fmt: skip


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser("explore_migration", description=__doc__)
    for name, default in structs.asdict(SMALL).items():
        help_text = f"how many {HELP[name]} there may be, 0 to {NUMBER_MAX} (default {default})"
        parser.add_argument(
            name,
            nargs="?",
            type=int,
            choices=range(NUMBER_MAX + 1),
            default=default,
            metavar=name,
            help=help_text,
        )
    budget, status = EventBudget(**vars(parser.parse_args(words))), 0
    for phase in PHASES:
        found = explore(budget, phase)
        print(f"{'FAIL' if found.broken else 'PASS'} {phase}: {found.state_count} states {found.broken}")
        print(*(f"  {step}" for step in found.steps), sep="\n", end="\n" if found.steps else "")
        status |= bool(found.broken)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
