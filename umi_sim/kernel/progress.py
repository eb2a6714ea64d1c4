"""Progress of a long computation, for a waiting user. No result depends on it.

The computation calls `at("shrinking", 31, note="8 items left")`; a command, which has a clock, reads NOW from
time to time. A call costs no more than an assignment.
"""

from collections.abc import Callable
from typing import Final

from umi_core.data import Owner


class Stage(Owner):
    """Work in progress: `done` of `of` units (0: unknown). `seconds`: the time limit of the work.

    `within` returns how many operations the current run has begun, and how many it will begin (0: unknown).
    """

    doing: str = ""
    done: int = 0
    of: int = 0
    unit: str = "run"
    note: str = ""
    seconds: int = 0
    within: Callable[[], tuple[int, int]] = lambda: (0, 0)


NOW: Final = Stage()


def at(
    doing: str, done: int = 0, of: int = 0, *, unit: str = "run", note: str = "", seconds: int = 0
) -> None:
    """Set the work that is shown as in progress."""
    NOW.doing, NOW.done, NOW.of, NOW.unit, NOW.note, NOW.seconds = doing, done, of, unit, note, seconds
