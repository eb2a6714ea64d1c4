"""Goal: a world may begin at its time 0; a judge without a time of its own takes the memory's."""

from collections.abc import Callable

import pytest

from umi_core.config import Config
from umi_core.values import Scope
from umi_sim.judge.oracle.archive.context import Context
from umi_sim.judge.oracle.model import Surroundings, return_no_time

START_MS = 1_700_000_000_000


@pytest.mark.parametrize(
    ("world_ms", "expected"), [(lambda: 0, 0), (lambda: 7, 7), (return_no_time, START_MS)]
)
def test_what_time_it_is(world_ms: Callable[[], int], expected: int) -> None:
    context = Context(Scope("u", "a"), Config(), (), Surroundings(world_ms))
    context.see(START_MS)
    assert context.now_ms == expected
