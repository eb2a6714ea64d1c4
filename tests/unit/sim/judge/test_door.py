"""Goal: at the door of a memory, wrong calls and first inputs are seen by name."""

from typing import Any

import pytest

from umi_core.config import Config
from umi_core.engine.registry import Registry
from umi_core.errors import BadWorkflow, Error, Rejected, StateDamaged
from umi_core.memory import Memory
from umi_core.values import Scope
from umi_core.workflows import BUILT_IN
from umi_sim.judge.inspector import check_beginning
from umi_sim.machines.refusals import check_refusals
from umi_sim.record.broken import Broken


def test_a_registry_refuses_what_is_wrong_and_takes_what_is_right() -> None:
    check_refusals(BUILT_IN)


def test_a_call_that_is_taken_though_wrong_is_seen(monkeypatch: Any) -> None:
    monkeypatch.setattr(Registry, "with_interceptor", lambda self, interceptor: self)
    with pytest.raises(Broken, match="registry"):
        check_refusals(BUILT_IN)


NAMELESS: Any = ("recall",)  # where the name of a step should be


@pytest.mark.parametrize("error", [StateDamaged("?"), BadWorkflow("UnknownRevision", NAMELESS)])
def test_a_refusal_that_names_nothing_is_seen(monkeypatch: Any, error: Error) -> None:
    def refused(self: Registry, *_: object) -> Registry:
        raise Rejected(error)

    monkeypatch.setattr(Registry, "interceptors", refused)
    with pytest.raises(Broken, match="registry"):
        check_refusals(BUILT_IN)


def test_a_memory_recovers_whatever_it_is_given_first(monkeypatch: Any) -> None:
    memory = Memory(Scope("u", "a"), Config())
    check_beginning(memory)
    monkeypatch.setattr(Memory, "full_step", lambda self, value: (self.working_reply(value),))
    with pytest.raises(Broken, match="a first request"):
        check_beginning(memory)
