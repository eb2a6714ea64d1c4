"""Sweeps start many processes, each of which lives whole runs."""

from collections.abc import Iterator

import pytest

from tests.counting import leave_children_out


@pytest.fixture(autouse=True, scope="module")
def _children_are_not_counted() -> Iterator[None]:
    """What they do is counted where commands are tried, one by one."""
    with pytest.MonkeyPatch.context() as patch:
        leave_children_out(patch)
        yield
