"""Hundreds of runs here: branches are counted elsewhere, where each run is looked at, in half the time."""

from collections.abc import Iterator

import pytest
from coverage import Coverage


@pytest.fixture(autouse=True)
def uncounted() -> Iterator[None]:
    """Branch coverage rests while planted bugs are sought."""
    counting = Coverage.current()
    if counting:
        counting.stop()
    yield
    if counting:
        counting.start()
