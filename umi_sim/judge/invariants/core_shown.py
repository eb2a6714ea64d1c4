"""Replies about the core tier show the tier as it is at the time of the reply.

The oracle knows the texts that users wrote, but not the entries next to them. So replies are compared here
with the tier itself.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from umi_core.kelpie.requests import BuildSystemPrompt
from umi_core.messages.effects import Done, Effect, Reply
from umi_core.messages.requests import Blocks, CoreBytes, GetBlock, InCore, LastRoutingDecisions, Request
from umi_core.state import Tiers
from umi_core.text import tidy
from umi_core.values import Scope
from umi_sim.judge.observer import Observer
from umi_sim.judge.state.tiers import bytes_of_block
from umi_sim.machines.protocol import Machine
from umi_sim.machines.umi import memory_of
from umi_sim.record import rules
from umi_sim.record.broken import demand

EXPECTATIONS: Final[Mapping[type, Callable[[Any, Tiers], object]]] = {
    Blocks: lambda request, tiers: tiers.core.blocks,
    GetBlock: lambda request, tiers: next(
        (it for it in tiers.core.blocks if (it.kind, it.label) == (request.kind, tidy(request.label))), None
    ),
    CoreBytes: lambda request, tiers: sum(map(bytes_of_block, tiers.core.blocks)),
    InCore: lambda request, tiers: any(it.entity_id == request.entity_id for _, it in tiers.core.entries()),
    LastRoutingDecisions: lambda request, tiers: tiers.decisions,
    BuildSystemPrompt: lambda request, tiers: tiers.core.guard_version,
}
"""By request, the expected value of its reply."""


class CoreShown(Observer):
    """Compares reads of core with the tier. `asked`: reads without a reply."""

    asked: dict[str, Request] = {}

    def observe_request(self, agent: str, op_id: str, request: Request) -> None:
        if type(request) in EXPECTATIONS:
            self.asked[op_id] = request

    def observe_step(self, agent: str, scope: Scope, machine: Machine, effects: Sequence[Effect]) -> None:
        memory = memory_of(machine)
        if not self.asked or memory is None:
            return
        for reply in effects:
            if isinstance(reply, Reply) and reply.op_id in self.asked:
                check_shown(reply, self.asked.pop(reply.op_id), memory.state.tiers)


def check_shown(reply: Reply, request: Request, tiers: Tiers) -> None:
    if isinstance(reply.outcome, Done):
        # For a prompt only the version of core is compared; the oracle parses its text.
        value: Any = reply.outcome.value
        got = value.version if isinstance(request, BuildSystemPrompt) else value
        expected = EXPECTATIONS[type(request)](request, tiers)
        message = f"what {reply.op_id} {type(request).__name__} shows of core"
        demand(got == expected, rules.REFERENCE_AGREES, message, expected, got)
