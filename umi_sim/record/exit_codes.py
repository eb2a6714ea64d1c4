"""Exit codes of runs and commands. Help reads them without importing the memory, as verdicts would."""

from collections.abc import Iterable, Mapping
from typing import Final, Literal

FailureKind = Literal["safety", "liveness", "crash", "timeout"]
EXIT_CODES: dict[FailureKind, int] = {"safety": 1, "crash": 1, "liveness": 3, "timeout": 5}
USAGE: Final = 2
HARNESS: Final = 4
INTERRUPTED: Final = 130
CODES: Final[Mapping[int, str]] = {
    0: "every promise kept, or a replay as recorded",
    1: "safety or crash: a broken promise, or an exception out of the memory; a replay that did not fail as "
    "recorded; two runs that `diff` finds different",
    2: "bad usage or unreadable input; nothing was changed",
    3: "liveness: the healed world did not come to rest",
    4: "the result cannot be trusted: the simulator itself raised an exception, traces differ, the canary or "
    "a planted bug was not found, a sweep missed what it must meet",
    5: "timeout: out of steps, or of states",
    130: "interrupted (Ctrl-C): what was known by then is reported",
}
"""The meaning of each exit code, the same for all commands."""
# A code that makes the result worthless precedes one that is a result.
SEVEREST_FIRST: Final = (INTERRUPTED, USAGE, HARNESS, 1, 3, 5)


def severest(codes: Iterable[int]) -> int:
    """Return the exit code to end with when several apply."""
    given = list(codes)
    return next((code for code in SEVEREST_FIRST if code in given), 0)
