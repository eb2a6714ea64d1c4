"""Goal: an edit is looked for in the runs that execute its line, whatever function contains it."""

import sys

import pytest

from umi_core import text
from umi_sim.sweep.executed import CORE, code_line, recording

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


def test_the_executed_lines_of_the_memory_are_recorded() -> None:
    source = (CORE / "text.py").read_text("utf-8")
    first = source[: source.index("def size(")].count("\n") + 1
    before = sys.gettrace()
    with recording() as found:
        text.size("é")
    assert list(found) == ["umi_core/text.py"]
    assert found["umi_core/text.py"]
    assert set(found["umi_core/text.py"]) <= set(range(first, first + 20))
    assert sys.gettrace() is before
