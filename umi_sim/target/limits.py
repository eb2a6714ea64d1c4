"""Limits of a world: bounds of the memory that a run lowers, so that few requests reach them.

Law 1. A lowered limit has one value for the memory and for the judge. Law 2. Whatever happens, afterwards
each limit is what it was.

A setting of the memory (umi_core/config.py) is no limit of a world: anybody may choose it.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from umi_core import limits

NAMES: Final = (
    "ACCESS_RECORD_COUNT_MAX", "EVOLVE_MEMBER_COUNT_MAX", "SCAN_COUNT_MAX", "SUMMARY_MEMBER_COUNT_MAX",
)  # fmt: skip
LIMITS: Final[Mapping[str, int]] = {name.lower(): getattr(limits, name) for name in NAMES}
"""By the name that files have for them."""


@contextmanager
def lowered(values: Mapping[str, int]) -> Iterator[None]:
    """Give these limits other values until the block ends."""
    before = {name: getattr(limits, name.upper()) for name in values}
    try:
        for name, value in values.items():
            set_limit(name, value)
        yield
    finally:
        for name, value in before.items():
            set_limit(name, value)


def set_limit(name: str, value: int) -> None:
    """Bind the limit anew in each module that knows it: also in one that was loaded while it was lowered."""
    for path, module in list(sys.modules.items()):
        if path.startswith(("umi_core.", "umi_sim.")) and name.upper() in vars(module):
            setattr(module, name.upper(), value)
