"""What the benchmarks share: CPU seconds by turns, and tables of Markdown."""

from collections.abc import Callable, Iterable, Sequence
from os import getloadavg
from statistics import median
from time import process_time
from typing import Final

from umi_core.data import Data

LACKS: Final = "–"  # a tool cannot do this work, or is not here


def timed(act: Callable[[], object]) -> float:
    """CPU seconds, so that others on the machine matter little."""
    start = process_time()
    act()
    return process_time() - start


def least(turns: int, *acts: Callable[[], object]) -> list[float]:
    """The least CPU seconds of each act in some turns, in each of which all have one go."""
    tries = [[timed(act) for act in acts] for _ in range(turns)]
    return [min(seconds) for seconds in zip(*tries, strict=True)]


class Table(Data):
    """A heading, the names of the columns, rows of as many cells, and one sentence on how to read them."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def show(self) -> None:
        head, *rows = (f"| {' | '.join(cells)} |" for cells in (self.head, *self.rows))
        print(f"### {self.title}\n", head, f"|{'---|' * len(self.head)}", *rows, "", sep="\n")
        print(f"{self.note}\n" * bool(self.note), flush=True)


def load() -> str:
    """How many processes want to run."""
    return f"{getloadavg()[0]:.1f}"


def short(number: float) -> str:
    """Two or three digits that count: 0.53, 5.3, 53, 5 300."""
    digits = 2 if abs(number) < 1 else 1 if abs(number) < 10 else 0
    return f"{number:,.{digits}f}".replace(",", " ")


def middle(values: Iterable[float]) -> str:
    known = list(values)
    return short(median(known)) if known else LACKS
