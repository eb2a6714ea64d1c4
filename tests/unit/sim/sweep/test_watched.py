"""Goal: whether a run came by a line is seen, whatever function it stands in, and nothing else changes."""

import sys

import pytest

from umi_sim.sweep.watched import WatchedLine, place_of, watching

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


@pytest.mark.parametrize(
    ("line", "function", "own"),
    [
        (4, "price", 4),
        (5, "price", 5),
        (6, "price", 6),
        (7, "price", 6),
        (8, "<genexpr>", 8),
        (14, "<listcomp>", 14),
    ],
)
def test_a_line_belongs_to_the_innermost_function(line: int, function: str, own: int) -> None:
    if sys.version_info >= (3, 12) and function == "<listcomp>":
        function = "close"  # PEP 709: it is no function any more
    place = place_of(TEXT, FILE, line)
    assert place is not None
    assert (place.function, place.line) == (function, own)


@pytest.mark.parametrize("line", [1, 10, 11])
def test_what_stands_in_no_function_is_met_by_every_run(line: int) -> None:
    assert place_of(TEXT, FILE, line) is None


@pytest.mark.parametrize(("count", "is_met"), [(9, False), (10, True)])
def test_a_line_is_met_if_it_is_run(count: int, is_met: bool) -> None:
    shop = {"cheap": lambda count: 2 * count}
    exec(compile(TEXT, f"/somewhere/{FILE}", "exec"), shop)
    place = place_of(TEXT, FILE, 5)
    assert place is not None
    before = sys.gettrace()
    with watching(place) as watch:
        shop["price"](count)
    assert (watch.met, sys.gettrace()) == (is_met, before)


def test_another_file_with_the_same_function_is_not_meant() -> None:
    shop = {"cheap": lambda count: 2 * count}
    exec(compile(TEXT, "/somewhere/store.py", "exec"), shop)
    with watching(WatchedLine(FILE, 3, "price", 5)) as watch:
        shop["price"](10)
    assert not watch.met
