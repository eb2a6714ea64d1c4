"""Goal: at the door of a memory, a wrong first answer is seen."""

from typing import Any

import pytest

from umi_core.config import Config
from umi_core.memory import Memory
from umi_core.values import Scope
from umi_sim.judge.inspector import check_beginning
from umi_sim.record.broken import Broken


def test_a_memory_recovers_whatever_it_is_given_first(monkeypatch: Any) -> None:
    memory = Memory(Scope("u", "a"), Config())
    check_beginning(memory)
    monkeypatch.setattr(Memory, "full_step", lambda self, value: (self.working_reply(value),))
    with pytest.raises(Broken, match="a first request"):
        check_beginning(memory)
