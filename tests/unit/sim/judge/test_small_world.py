"""Goal: a memory that breaks down in a small world fails there, and the judge goes on."""

import pytest

from tests.worlds import SCOPE
from umi_core.config import Config
from umi_core.memory import Memory
from umi_core.messages.requests import Render
from umi_sim.judge.small_world import SmallWorld
from umi_sim.record.broken import Broken


def test_a_request_without_an_answer_is_a_broken_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a verdict a planted bug that loses an answer would wait for ever."""
    world = SmallWorld(SCOPE, Config(), 0)
    world.ask(Render(1))
    monkeypatch.setattr(Memory, "step", lambda self, now_ms, value: ())
    with pytest.raises(Broken, match=r"one-reply: Render has no reply"):
        world.ask(Render(2))
