"""Measures for each kind of fault a planted bug that needs it, and writes the result for the tests.

`python tools/matrix.py [KIND...]` measures all kinds, or these, and writes tests/golden/needs.json: the bug,
the first seed that shows it when only this kind is injected, the rule, and the number of seeds in which all
other kinds together do not show it. Status 4 if no bug needs a kind.
"""

import json
import sys
from pathlib import Path
from typing import Final

import msgspec

from umi_sim.faults.kinds import KINDS
from umi_sim.runs.matrix import kind_needs, line

KEPT: Final = Path(__file__).resolve().parent.parent / "tests" / "golden" / "needs.json"
HARNESS: Final = 4


def main(names: list[str]) -> int:
    known = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    is_met = True
    for need in kind_needs(names or tuple(KINDS)):
        print(line(need), flush=True)
        is_met &= need.is_met
        known[need.name] = msgspec.to_builtins(need)
        KEPT.parent.mkdir(exist_ok=True)
        rows = (f" {json.dumps(it)}: {json.dumps(known[it])}" for it in KINDS if it in known)
        KEPT.write_text("{\n" + ",\n".join(rows) + "\n}\n")
    return 0 if is_met else HARNESS


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
