"""Limits of a world: bounds of the memory that a run lowers, so that few requests reach them.

Law 1. A lowered limit has the same value for the memory and for the judge. Law 2. Each limit is restored at
the end of the run, even after an exception.

A setting of the memory (umi_core/config.py) is no limit of a world, because users may choose it.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Final

from umi_core import limits

NAMES: Final = (
    "ACCESS_RECORD_COUNT_MAX", "EVOLVE_FACT_COUNT_MAX", "EVOLVE_MEMBER_COUNT_MAX", "HAND_OVER_ROW_COUNT_MAX",
    "SCAN_COUNT_MAX", "SUMMARY_MEMBER_COUNT_MAX",
)  # fmt: skip
LIMITS: Final[Mapping[str, int]] = {name.lower(): getattr(limits, name) for name in NAMES}
"""The usual values, by the names in files."""


@contextmanager
def lower_limits(values: Mapping[str, int]) -> Iterator[None]:
    """Set these limits to other values until the block ends."""
    # Not just LIMITS: an inner block must restore the values that an outer block has set.
    before = {place: getattr(*place) for name in values for place in places_of(name)}
    try:
        for name, value in values.items():
            set_limit(name, value)
        yield
    finally:
        for name in values:
            set_limit(name, LIMITS[name])  # for modules that were loaded while it was lowered
        for (module, name), value in before.items():
            setattr(module, name, value)


def places_of(name: str) -> list[tuple[ModuleType, str]]:
    """Return each module with a copy of the limit, and the name of the copy."""
    known = [it for path, it in sys.modules.items() if path.startswith(("umi_core.", "umi_sim."))]
    # `from umi_core.limits import SCAN_COUNT_MAX` copies the number, and every copy must change.
    return [(module, name.upper()) for module in known if name.upper() in vars(module)]


def set_limit(name: str, value: int) -> None:
    for module, key in places_of(name):
        setattr(module, key, value)
