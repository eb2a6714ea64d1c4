"""Planting: functions replaced from outside, for the time of a run.

Law 1. The code that is replaced has no switch for it. A place that has gone is an error, not a pass.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import attrs

from umi_core.data import Data

Original = Callable[..., Any]


@attrs.frozen
class Patch(Data):
    """`owner.attribute` is replaced by `wrong(original)`."""

    owner: object
    attribute: str
    wrong: Callable[[Original], Original]

    @contextmanager
    def plant(self) -> Iterator[None]:
        """In place until the block ends. Raises AttributeError if the place has gone."""
        original = getattr(self.owner, self.attribute)
        setattr(self.owner, self.attribute, self.wrong(original))
        try:
            yield
        finally:
            setattr(self.owner, self.attribute, original)
