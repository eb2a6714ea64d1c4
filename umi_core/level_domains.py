"""The options of a retrieve as domains: which levels, how many hits, and who decides and orders."""

from collections.abc import Callable
from typing import Annotated, Final

from umi_core import errors, limits
from umi_core.domains import Domain, bad_score, is_int, one_of
from umi_core.errors import Error
from umi_core.text import shown
from umi_core.values import LEVELS

JUDGES: Final = ("score", "model", "score_then_model", "never")  # who says that a retrieval has enough
RANKERS: Final = ("vector", "model")


def from_to(low: int, high: int) -> Callable[[str, object], Error | None]:
    """A whole number in this range."""
    wanted = f"a whole number from {low} to {high}"

    def bad_number(name: str, value: object) -> Error | None:
        return None if is_int(value, low, high) else errors.BadOption(name, shown(value), wanted)

    return bad_number


def bad_levels(name: str, value: object) -> Error | None:
    """Some levels of the archive, each once."""
    good = type(value) is tuple and all(type(it) is str and it in LEVELS for it in value)
    if good and type(value) is tuple and len(dict.fromkeys(value)) == len(value):
        return None
    return errors.BadOption(name, shown(value), f"some of {' '.join(LEVELS)}, each once")


Levels = Annotated[tuple[str, ...], Domain("levels", bad_levels)]
LevelCount = Annotated[int, Domain("level_count", from_to(1, len(LEVELS)))]
HitCount = Annotated[int, Domain("hit_count", from_to(0, limits.RECALL_LIMIT_MAX))]
Least = Annotated[int, Domain("least", from_to(1, limits.RECALL_LIMIT_MAX))]
Sufficiency = Annotated[str, Domain("sufficiency", one_of(*JUDGES))]
Ranker = Annotated[str, Domain("ranker", one_of(*RANKERS))]
LevelScore = Annotated[int, Domain("level_score", bad_score)]  # of a level of the archive
