"""What tests of sweeps share."""

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from umi_sim.sweep import worker_process


@pytest.fixture(scope="module")
def shared_children() -> Iterator[None]:
    """A child serves any test of a file: starting one is most of the time of a small sweep."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker_process, "keep_children", nullcontext)
        yield
    worker_process.CREW.dismiss()
    worker_process.CREW.is_open = True
