"""Unmet: lists the lines of umi_core that no run executes, so that no run can show a mistake in them.

`python tools/unmet.py [SEEDS]` runs seeds 0 to SEEDS - 1, 3 by default, of each shipped scenario, and prints
a row per file with the lines that no run executed, and last the share of executed lines. Takes minutes.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from coverage import Coverage

SEED_COUNT: Final = 3
ROOT: Final = Path(__file__).resolve().parent.parent
LEFT_OUT: Final = ("canary", "explore_", "long_life")  # a planted bug, another command, a run of minutes


def run_seeds(seed_count: int) -> None:
    """Run the seeds. Imports are inside, because lines of modules imported before are not counted."""
    from umi_sim.runs.runner import run_once
    from umi_sim.scenario.files import draw, find

    names = sorted(path.stem for path in (ROOT / "scenarios").glob("*.toml"))
    for name in (it for it in names if not it.startswith(LEFT_OUT)):
        for seed in range(seed_count):
            run_once(draw(find(name), seed))


def unmet(counted: Coverage) -> Iterator[tuple[str, int, int, str]]:
    """Yield for each file its name, the number of its lines, and the number and a list of unmet ones."""
    for path in sorted((ROOT / "umi_core").rglob("*.py")):
        _, lines, _, missing, numbers = counted.analysis2(str(path))
        yield path.relative_to(ROOT / "umi_core").as_posix(), len(lines), len(missing), numbers


def main(args: list[str]) -> int:
    counted = Coverage(source_pkgs=["umi_core"], config_file=False, data_file=None)
    counted.start()
    run_seeds(int(args[0]) if args else SEED_COUNT)
    counted.stop()
    rows = list(unmet(counted))
    print(*(f"{name:32} {numbers}" for name, _, count, numbers in rows if count), sep="\n")
    line_count = sum(count for _, count, _, _ in rows)
    met_count = line_count - sum(count for _, _, count, _ in rows)
    print(f"{met_count} of {line_count} lines met, {100 * met_count // line_count} %")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
