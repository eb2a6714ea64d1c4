"""Goal: what a memory says of core, and core does not hold, is seen (REF-1)."""

from collections.abc import Sequence
from typing import Any

import pytest

from umi_core.data import Data
from umi_core.errors import BadKind
from umi_core.kelpie.requests import BuildSystemPrompt
from umi_core.kelpie.results import Prompt
from umi_core.messages.effects import Done, Refused, Reply
from umi_core.messages.requests import (
    Blocks,
    Clear,
    CoreBytes,
    GetBlock,
    InCore,
    LastRoutingDecisions,
    Request,
)
from umi_core.state import Tiers
from umi_core.tiers.core import CoreTier
from umi_core.values import Block, Entry, RoutingDecision, Scope
from umi_sim.judge.invariants import core_shown
from umi_sim.judge.invariants.core_shown import CoreShown
from umi_sim.record.broken import Broken

SCOPE = Scope("u", "a")
NOTE = Block("facts", "", None, 500_000, (Entry("ent_1", 1, "tea", "likes tea", 5),))
PLAN = Block("human", "plan", "swim", 700_000)
WAS = (RoutingDecision("ent_1", "facts", True, None, "", "table", None, "promoted"),)


class Memory(Data):
    """As far as it is looked at."""

    tiers: Tiers

    @property
    def state(self) -> "Memory":
        return self


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(core_shown, "memory_of", lambda machine: machine)
    tiers = Tiers()
    tiers.core, tiers.decisions = CoreTier((PLAN, NOTE), guard_version=4), WAS
    return Memory(tiers)


def check_reply(memory: Any, request: Request, outcome: Any, op_id: str = "o1") -> None:
    look = CoreShown()
    look.observe_request("a", "o1", request)
    replies: Sequence[Reply] = [Reply(op_id, outcome)]
    look.observe_step("a", SCOPE, memory, replies)


@pytest.mark.parametrize(
    ("request_", "value", "others"),
    [
        (Blocks(""), (PLAN, NOTE), [(PLAN,), (NOTE, PLAN), ()]),
        (GetBlock("", "human", " plan "), PLAN, [None, NOTE]), (GetBlock("", "goals"), None, [PLAN]),
        (CoreBytes(""), 20, [19, 0]),
        (InCore("", "ent_1"), True, [False]), (InCore("", "ent_2"), False, [True]),
        (LastRoutingDecisions(""), WAS, [()]), (BuildSystemPrompt(""), Prompt("", 0, 4), [Prompt("", 0, 3)]),
    ],
)  # fmt: skip
def test_what_is_shown_is_there(memory: Any, request_: Request, value: Any, others: list[Any]) -> None:
    check_reply(memory, request_, Done(value))
    for other in others:
        with pytest.raises(Broken, match="o1") as broken:
            check_reply(memory, request_, Done(other))
        assert broken.value.rule == "reference-agrees"


def test_what_was_refused_or_asked_by_another_caller_is_not_looked_at(memory: Any) -> None:
    check_reply(memory, GetBlock("", "lungs"), Refused(BadKind("lungs")))
    check_reply(memory, Blocks(""), Done(()), op_id="o2")
    check_reply(memory, Clear(""), Done(0))
    check_reply(None, Blocks(""), Done(()))
