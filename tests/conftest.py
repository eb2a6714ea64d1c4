"""Settings for every test. Fixtures stand beside the tests that need them."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from coverage import Coverage
from hypothesis import HealthCheck, settings

# ci: the same examples on every machine, every day. dev: fresh ones, `tools/test --hypothesis-profile=dev`.
# No deadlines and no too_slow: both read the wall clock, and a busy machine is not a bug.
WITHOUT_CLOCK = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", WITHOUT_CLOCK, derandomize=True, database=None)
settings.register_profile("dev", WITHOUT_CLOCK)
settings.load_profile("ci")

JUDGED: Final = (
    "block_refusals",
    "equivalences",
    "inspector",
    "invariants",
    "trials",
)  # where rules of the core break
COUNTED: Final = ("unit/core", "transcripts", *(f"unit/sim/judge/test_{name}.py" for name in JUDGED))
IS_ALL_COUNTED: Final = os.environ.get("UMI_COUNT") == "all"  # tools/test --help says what for


@pytest.fixture(scope="session", autouse=True)
def children_uncounted() -> None:
    """Processes that tests start count no branches, which makes them three times as fast."""
    for name in [name for name in os.environ if name.startswith("COVERAGE_PROCESS") and not IS_ALL_COUNTED]:
        del os.environ[name]


@pytest.fixture(autouse=True)
def counted_or_not(request: pytest.FixtureRequest) -> Iterator[None]:
    """Branches are counted where tests look at each one of umi_core; the others take a third of the time."""
    counting = None if is_counted(request) else Coverage.current()
    if counting is None:
        yield
        return
    counting.stop()
    yield
    counting.start()


def is_counted(request: pytest.FixtureRequest) -> bool:
    path = request.path.relative_to(Path(__file__).parent).as_posix()
    is_meant = path.startswith(COUNTED) and not request.node.get_closest_marker("uncounted")
    return IS_ALL_COUNTED or is_meant
