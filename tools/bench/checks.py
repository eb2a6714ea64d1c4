"""What each file of checks costs in a run, and which planted bugs only its rules see.

    .venv/bin/python tools/bench/checks.py [SCENARIO ...] [--seconds S]

Checks are cheap or dear, and see much or little; this shows both beside each other. A timer interrupts whole
runs, and each interruption counts for the innermost file that demands rules. A bug is seen by a file alone
if every rule that may find it is demanded in no other file.
"""

import argparse
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Final, get_args

from tools.bench.measure import Table
from tools.bench.shares import sampled
from umi_core.state_checks import Promise
from umi_sim.mutants.registry import MUTANTS
from umi_sim.record import rules
from umi_sim.record.rules import Rule

ROOT: Final = Path(__file__).resolve().parents[2]
SHARED: Final = "umi_core/state_checks.py"  # names promises, not constants
SCENARIOS: Final = ("working", "storm", "core", "conversation", "kelpie", "memorize")
CONSTANT: Final = re.compile(r"\b[A-Z][A-Z0-9_]+\b")
ELSEWHERE: Final = ""
SHOWN_RULES: Final = 4


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scenarios", nargs="*", default=SCENARIOS)
    parser.add_argument("--seconds", type=int, default=20, help="of each scenario")
    options = parser.parse_args()
    table(options.scenarios, options.seconds).show()


def table(names: Iterable[str], seconds: int) -> Table:
    found = rules_by_file()  # files are read before the timer looks
    shares = {name: sampled(name, seconds, file_of) for name in names}
    cost = {file: max(counts[file] / max(1, counts.total()) for counts in shares.values()) for file in found}
    rows = [
        [f"`{file}`", *(per_cent(counts[file], counts.total()) for counts in shares.values()), *worth(file)]
        for file in sorted(found, key=lambda file: (-cost[file], file))
    ]
    head = ["file", *(f"`{name}`" for name in shares), "rules", "bugs", "alone"]
    note = (
        "Per cent of the CPU time of runs without equivalences. bugs: planted ones that a rule of the file "
        "may find; alone: those that only rules of this file find."
    )
    return Table("What checks cost, and what they see", head, rows, note)


def per_cent(count: int, total: int) -> str:
    return f"{100 * count / max(1, total):.1f} %" if count else ""


def worth(file: str) -> tuple[str, str, str]:
    """The rules of a file, the bugs they see, and those that they alone see."""
    found = rules_by_file()
    mine = found[file]
    others = set().union(*(rules for other, rules in found.items() if other != file))
    seen = [bug for bug in MUTANTS.values() if mine & set(bug.rules)]
    alone = [bug for bug in seen if not others & set(bug.rules)]
    names = sorted(mine)
    more = f" and {len(names) - SHOWN_RULES} more" if len(names) > SHOWN_RULES else ""
    return ", ".join(names[:SHOWN_RULES]) + more, str(len(seen)), str(len(alone))


@cache
def rules_by_file() -> Mapping[str, frozenset[str]]:
    """The names of the rules that each file of checks demands."""
    known = {name: it.name for name, it in vars(rules).items() if isinstance(it, Rule)}
    found = {SHARED: frozenset[str](get_args(Promise))}
    for path in sorted((ROOT / "umi_sim/judge").rglob("*.py")):
        words = set(CONSTANT.findall(path.read_text()))
        if mine := frozenset(known[word] for word in words & known.keys()):
            found[path.relative_to(ROOT).as_posix()] = mine
    return found


@cache
def is_check(filename: str) -> str:
    """The file as the table names it, or that it is none that demands rules."""
    return next((file for file in rules_by_file() if filename.endswith(f"/{file}")), ELSEWHERE)


def file_of(frame: FrameType | None) -> str:
    """The innermost file of checks that is at work."""
    while frame is not None:
        if file := is_check(frame.f_code.co_filename):
            return file
        frame = frame.f_back
    return ELSEWHERE


if __name__ == "__main__":
    main()
