"""Observer: base class for rules that observe the incarnations of one kind of target from inside."""

from collections.abc import Mapping, Sequence

from umi_core.data import Owner
from umi_core.messages.answers import Answer
from umi_core.messages.effects import Effect, Outcome
from umi_core.messages.requests import Request
from umi_core.values import Scope
from umi_sim.machines.protocol import Machine
from umi_sim.services.calls import Call
from umi_sim.services.stores import SimStore


class Observer(Owner):
    """Observes the events of a run before the oracle does, and raises Broken if a rule is broken.

    A subclass overrides the methods of the events that it needs.
    """

    def meet(self, stores: Mapping[str, SimStore]) -> None:
        """Connect the observer to the stores of the run."""

    def observe_request(self, agent: str, op_id: str, request: Request) -> None:
        """Observe a request that was given to the memory."""

    def observe_answer(self, call: Call, answer: Answer, scope: Scope) -> None:
        """Observe an answer, in the form in which the memory must treat it."""

    def observe_reply(self, agent: str, scope: Scope, op_id: str, outcome: Outcome) -> None:
        """Observe the end of an operation."""

    def observe_crash(self, agent: str) -> None:
        """Observe a crash of the agent."""

    def observe_takeover(self, agent: str, old: str) -> None:
        """Observe that a new incarnation has the name `agent`; the one before runs on as `old`."""

    def observe_step(self, agent: str, scope: Scope, machine: Machine, effects: Sequence[Effect]) -> None:
        """Observe a step and its effects."""
