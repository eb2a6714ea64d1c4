"""Settings for every test. Fixtures stand beside the tests that need them."""

import gc
import importlib
import os
import pkgutil
from typing import Final

import pytest
from coverage import Coverage
from hypothesis import HealthCheck, settings

import umi_core
from umi_sim.__main__ import GC_OBJECTS_MIN

# ci: the same examples on every machine, every day. dev: fresh ones, `tools/test --hypothesis-profile=dev`.
# No deadlines and no too_slow: both read the wall clock, and a busy machine is not a bug.
WITHOUT_CLOCK = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", WITHOUT_CLOCK, max_examples=50, derandomize=True, database=None)
settings.register_profile("dev", WITHOUT_CLOCK)
settings.load_profile("ci")

# As in the command: worlds make hardly any cycles, and each look for them goes through all collected tests.
gc.set_threshold(GC_OBJECTS_MIN)

COUNTED: Final = "tests/unit/core"
IS_ALL_COUNTED: Final = os.environ.get("UMI_COUNT") == "all"  # tools/test --help says what for


class Counting:
    """Counts branches or does not. It is switched seldom, since a start of coverage takes 8 ms."""

    def __init__(self) -> None:
        self.coverage = None if IS_ALL_COUNTED else Coverage.current()
        self.is_on = True

    def switch(self, is_on: bool) -> None:
        if self.coverage is None or is_on == self.is_on:
            return
        change = self.coverage.start if is_on else self.coverage.stop
        change()
        self.is_on = is_on

    def leave_children_out(self) -> None:
        """Processes that tests start count no branches, which makes them three times as fast."""
        for name in [name for name in os.environ if name.startswith("COVERAGE_PROCESS") and self.coverage]:
            del os.environ[name]


COUNTING: Final = Counting()


def pytest_configure() -> None:
    """Counts what umi_core does while it is imported, and nothing of the collection of tests."""
    for module in pkgutil.walk_packages(umi_core.__path__, "umi_core."):
        importlib.import_module(module.name)
    COUNTING.switch(is_on=False)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Counts branches where tests look at each one of umi_core, which takes three times as long.

    No fixture, since one that every test has takes as long as a small test.
    """
    COUNTING.switch(item.nodeid.startswith(COUNTED) and not item.get_closest_marker("uncounted"))
    COUNTING.leave_children_out()  # a start names them
