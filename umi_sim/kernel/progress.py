"""Progress: how far a long computation is, for a waiting user. Nothing that is computed depends on it.

    at("shrinking", 31, note="8 items left")     is called by the computation
    NOW                                          is read now and then by a command, which knows the time

Law. A call costs no more than an assignment.
"""

from collections.abc import Callable
from typing import Final

from umi_core.data import Owner


class Stage(Owner):
    """Work in progress, and how much of it is done; `of` 0: unknown. `seconds`: when it ends at the latest.

    `within`: how many operations the run under way has begun, of how many if that is known; it is shown
    where operations are the unit.
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
    NOW.doing, NOW.done, NOW.of, NOW.unit, NOW.note, NOW.seconds = doing, done, of, unit, note, seconds
