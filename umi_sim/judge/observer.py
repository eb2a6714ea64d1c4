"""Observer: sees the lives of a target from inside, as far as rules are about it alone."""

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
    """Raises Broken if a promise is broken. It sees answers and replies before the oracle does.

    One that has nothing to do with an event leaves its method as it is here.
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
        """Observe that another life has the name `agent` now; the one that goes on beside it is `old`."""

    def observe_step(self, agent: str, scope: Scope, machine: Machine, effects: Sequence[Effect]) -> None:
        """Observe a step and its effects."""

    def observe_rows(self, rows: Iterable[Row]) -> None:
        """Observe all rows of a scope, now and then, in a world in which stored rows are sound."""
