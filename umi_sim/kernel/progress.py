"""Progress: how far a long computation is, for a waiting user. No result depends on it.

The computation calls `at("shrinking", 31, note="8 items left")`; a command, which knows the time, reads NOW
now and then. A call costs no more than an assignment.
"""

from collections.abc import Callable
from typing import Final

from umi_core.data import Owner


class Stage(Owner):
    """Work in progress: `done` of `of` units, where 0 is unknown. `seconds`: when it ends at the latest.

    `within` returns how many operations the current run has begun, and of how many (0: unknown).
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
    """Set what is shown as the work in progress."""
    NOW.doing, NOW.done, NOW.of, NOW.unit, NOW.note, NOW.seconds = doing, done, of, unit, note, seconds
