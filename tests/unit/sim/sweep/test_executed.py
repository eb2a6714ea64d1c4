"""Goal: an edit is looked for in the runs that execute its line, whatever function contains it."""

import pytest

from umi_sim.sweep.executed import CORE, code_line
from umi_sim.sweep.plan import source_of
from umi_sim.sweep.source_hunt import run_unedited

FILE = "shop.py"
TEXT = """PRICE = 3

def price(count):
    if count > 9:
        return cheap(
            count,
        )
    return sum(PRICE for _ in range(count))

class Shop:
    name = "x"
    def close(self):
        return [each
                for each in "ab"]
"""


@pytest.mark.parametrize(("line", "own"), [(4, 4), (5, 5), (6, 6), (7, 6), (8, 8), (14, 14)])
def test_a_line_without_code_counts_as_the_one_before_it(line: int, own: int) -> None:
    assert code_line(TEXT, FILE, line) == own


@pytest.mark.parametrize("line", [1, 3, 10, 11, 12])
def test_every_import_executes_a_line_outside_of_functions(line: int) -> None:
    assert code_line(TEXT, FILE, line) is None


def test_a_child_records_the_lines_of_the_memory_that_its_run_executes() -> None:
    """In a child, since coverage of coverage loses what the outer one has counted."""
    lines = run_unedited(source_of("working"), 1).lines
    assert all(file.startswith("umi_core/") for file in lines)
    assert "umi_core/workflows/remember.py" not in lines
    source = (CORE / "tiers/working.py").read_text("utf-8").splitlines()
    executed = [source[line - 1].strip() for line in lines["umi_core/tiers/working.py"]]
    assert "total = number + delta" in executed
    assert "from umi_core import errors, limits" not in executed
