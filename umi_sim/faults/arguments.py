"""Arguments of faults: which values each may have in a seed file, and how it is drawn for an injection.

    after_ms: int = below(timeout_ms)       # 0 .. timeout_ms(here) - 1
    told: str = one_of("nothing", "unknown")

An argument is drawn under its own name. If an argument has no possible value here, there is no fault.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from umi_core.data import Data
from umi_sim.faults.draws import Draws, log_uniform, pick
from umi_sim.formats import schema
from umi_sim.formats.schema import Schema
from umi_sim.formats.values import of_type

COUNT_MAX: Final = 2**53 - 1
REQUIRED: Final = object()  # marks an argument without a default, since None may be a default

Condition = Callable[[Any], object]
Draw = Callable[[Any, Draws, str], object]  # (object that the fault is applied to, draws, argument's name)


class FaultArgument(Data):
    """An argument of a kind of fault. `schema`: its values in a file; `default`: its value in old files.

    `draw` is None if the kind draws it together with others. `words`: its values, if these are a few words.
    """

    schema: Schema
    draw: Draw | None = None
    default: object = REQUIRED
    words: tuple[str, ...] = ()


def whole(low: int = 0, high: int = COUNT_MAX) -> Any:
    """Declare a whole number that the kind draws."""
    return FaultArgument(schema.whole(low, high))


def string(*, default: object = REQUIRED) -> Any:
    """Declare a text that the kind draws."""
    return FaultArgument(of_type(str), default=default)


def among(options: Callable[[Any], Sequence[int]], *, readable: int = COUNT_MAX) -> Any:
    """Declare one of these numbers, all equally likely; a file may have any number up to `readable`."""

    def draw(here: object, draws: Draws, name: str) -> int | None:
        found = options(here)
        # None means that there is no fault at all.
        return pick(draws, name, found) if found else None

    return FaultArgument(schema.whole(0, readable), draw)


def below(count: int | Callable[[Any], int]) -> Any:
    """Declare a number in 0 .. count - 1, all equally likely."""
    return among(lambda here: range(count if isinstance(count, int) else count(here)))


def always(here: object) -> bool:
    return True


def span_ms(low: int, high: int, *, readable: int = COUNT_MAX, possible: Condition = always) -> Any:
    """Declare a time in low .. high, each bit length equally likely; without `possible` there is no fault."""

    def draw(here: object, draws: Draws, name: str) -> int | None:
        # span_ms(1, 60_000) draws 1 .. 60,000; a span from 0 shifts the same draw down by one.
        return low - 1 + log_uniform(draws, name, high + 1 - low) if possible(here) else None

    return FaultArgument(schema.whole(0, readable), draw)


def flag(*, one_in: int = 2, default: object = REQUIRED) -> Any:
    """Declare a flag that is True in one of `one_in` cases."""
    return FaultArgument(schema.FLAG, lambda _, draws, name: draws(name, one_in) == 1, default)


def one_of(*words: str, default: object = REQUIRED) -> Any:
    """Declare one of these words; the first is the simplest, and failures shrink to it."""
    return FaultArgument(
        schema.one_of(words, "value"), lambda _, draws, name: pick(draws, name, words), default, words
    )
