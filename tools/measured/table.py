"""Lines of a table of what was measured, as text and as a page has it."""

from collections.abc import Iterable, Sequence
from typing import Final, Self

from umi_core.data import Data

HEAD: Final = ("metric", "decided by", "measured", "target", "met")
MET: Final = {None: "", True: "yes", False: "**no**"}


class Count(Data):
    """How many of some are so, and the texts of those that are not."""

    holds: int
    others: tuple[str, ...]

    @classmethod
    def of(cls, some: Iterable[tuple[str, bool]]) -> Self:
        pairs = tuple(some)
        return cls(sum(is_so for _, is_so in pairs), tuple(text for text, is_so in pairs if not is_so))

    @property
    def total(self) -> int:
        return self.holds + len(self.others)

    @property
    def percent(self) -> float:
        return 100 * self.holds / max(1, self.total)

    def __str__(self) -> str:
        return f"{self.percent:.1f} % ({self.holds} of {self.total})"


class Row(Data):
    """A metric, who decides it, and what was measured. `met`: whether the target is reached; None without
    one. `others`: what it went wrong with."""

    metric: str
    by: str
    measured: str
    target: str = ""
    met: bool | None = None
    others: tuple[str, ...] = ()

    @classmethod
    def share(cls, metric: str, by: str, count: Count, above: int | None = None, note: str = "") -> Self:
        """A share that is to be above so many percent."""
        target, met = ("", None) if above is None else (f"> {above} %", count.percent > above)
        return cls(metric, by, f"{count}{note}", target, met, count.others)

    @property
    def cells(self) -> tuple[str, ...]:
        return self.metric, self.by, self.measured, self.target, MET[self.met]


def mean(some: Iterable[float]) -> float:
    numbers = list(some)
    return sum(numbers) / max(1, len(numbers))


def as_text(rows: Sequence[Row]) -> str:
    cells = [HEAD, *(it.cells for it in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in cells)
    return "\n".join(lines).replace("*", "")


def as_page(rows: Sequence[Row]) -> str:
    head, *body = (f"| {' | '.join(row)} |\n" for row in (HEAD, *(it.cells for it in rows)))
    return "".join((head, f"|{'---|' * len(HEAD)}\n", *body))
