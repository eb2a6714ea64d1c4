"""Observer: sees the lives of a target from inside, for rules that are about one target alone."""

from collections.abc import Iterable, Mapping, Sequence

from umi_core.data import Owner
from umi_core.messages.answers import Answer
from umi_core.messages.effects import Effect, Outcome
from umi_core.messages.requests import Request
from umi_core.rows import Row
from umi_core.values import Scope
from umi_sim.machines.protocol import Machine
from umi_sim.services.calls import Call
from umi_sim.services.stores import SimStore


class Observer(Owner):
    """Raises Broken if a rule is broken. It sees answers and replies before the oracle does.

    A subclass overrides the methods of the events that it needs.
    """

    def meet(self, stores: Mapping[str, SimStore]) -> None:
        """Take the services of the run."""

    def observe_request(self, agent: str, op_id: str, request: Request) -> None:
        """Observe a request that was handed to the memory."""

    def observe_answer(self, call: Call, answer: Answer, scope: Scope) -> None:
        """Observe an answer as the memory has to take it."""

    def observe_reply(self, agent: str, scope: Scope, op_id: str, outcome: Outcome) -> None:
        """Observe the end of an operation."""

    def observe_crash(self, agent: str) -> None:
        """Observe the end of a life."""

    def observe_takeover(self, agent: str, old: str) -> None:
        """Observe that a new life has the name `agent`; the life that had it goes on as `old`."""

    def observe_step(self, agent: str, scope: Scope, machine: Machine, effects: Sequence[Effect]) -> None:
        """Observe a step and its effects."""

    def observe_rows(self, rows: Iterable[Row]) -> None:
        """Observe all rows of a scope, at some steps, in a world in which stored rows are sound."""
