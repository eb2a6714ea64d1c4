"""Settings for every test. Fixtures stand beside the tests that need them."""

from collections.abc import Iterator
from typing import Final

import pytest
from coverage import Coverage
from hypothesis import HealthCheck, settings

from tests.counting import leave_children_out

# ci: the same examples on every machine, every day. dev: fresh ones, `tools/test --hypothesis-profile=dev`.
# No deadlines and no too_slow: both read the wall clock, and a busy machine is not a bug.
WITHOUT_CLOCK = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", WITHOUT_CLOCK, derandomize=True, database=None)
settings.register_profile("dev", WITHOUT_CLOCK)
settings.load_profile("ci")

UNCOUNTED: Final = ("browser", "quality", "schedules", "simulation", "stateful", "twins")


@pytest.fixture(autouse=True)
def counted_or_not(request: pytest.FixtureRequest) -> Iterator[None]:
    """Branches are counted where tests look at each of them; the others go on in a third of the time.

    Processes that these start are not counted either.
    """
    is_uncounted = request.path.parent.name in UNCOUNTED or request.node.get_closest_marker("uncounted")
    counting = Coverage.current() if is_uncounted else None
    if counting is None:
        yield
        return
    counting.stop()
    with pytest.MonkeyPatch.context() as patch:
        leave_children_out(patch)
        yield
    counting.start()
