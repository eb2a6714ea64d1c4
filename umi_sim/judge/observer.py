"""Observer: what sees the lives of a target from inside, as far as rules are about it alone."""

from collections.abc import Iterable, Mapping, Sequence

from umi_core.data import Owner
from umi_core.messages.answers import Answer
from umi_core.messages.effects import Effect, Outcome
from umi_core.messages.requests import Request
from umi_core.rows import Row
from umi_core.values import Scope
from umi_sim.services.calls import Call
from umi_sim.services.stores import SimStore
from umi_sim.target.machine import Machine


class Observer(Owner):
    """Raises Broken if a promise is broken. It hears of answers and replies before the oracle does.

    One that has nothing to do with an event leaves its method as it is here.
    """

    __slots__ = ()

    def meet(self, stores: Mapping[str, SimStore]) -> None:
        """The services of the run."""

    def issued(self, agent: str, op_id: str, request: Request) -> None:
        """Somebody has asked for something."""

    def answered(self, call: Call, answer: Answer, scope: Scope) -> None:
        """As the memory has to take it."""

    def replied(self, agent: str, scope: Scope, op_id: str, outcome: Outcome) -> None:
        """An operation is over."""

    def crashed(self, agent: str) -> None:
        """A life is over."""

    def taken_over(self, agent: str, old: str) -> None:
        """Another life has this name now, and the one that goes on beside it is called `old`."""

    def stepped(self, agent: str, scope: Scope, machine: Machine, effects: Sequence[Effect]) -> None:
        """A step was taken."""

    def looked(self, rows: Iterable[Row]) -> None:
        """Now and then, in a world in which stored rows are sound: all of a scope."""
