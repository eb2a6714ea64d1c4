"""Goal: what a store raises is its failure, but for a machine that has no room left: that is nobody's."""

import pytest

from umi_core.messages.effects import Outcome
from umi_core.messages.requests import Request
from umi_sim.record.verdict import Failure
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find
from umi_sim.target.subject import SubjectTarget


class Broke:
    """A store that raises this at its first request."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def call(self, now_ms: int, request: Request) -> Outcome:
        raise self.error


def crash_by(error: Exception) -> Failure | None:
    target = SubjectTarget(lambda: Broke(error), ("set",))
    verdict, _ = run_once(draw(find("working"), 3), target_of=lambda config, registry: target)
    return verdict.failure


def test_what_a_store_raises_is_a_crash_of_it() -> None:
    failure = crash_by(KeyError("k"))
    assert failure is not None
    assert failure.kind == "crash"


def test_an_allocation_that_fails_is_no_finding() -> None:
    with pytest.raises(MemoryError):
        crash_by(MemoryError())
