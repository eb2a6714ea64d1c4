"""Observers: what sees the lives of one target from inside, as far as rules are about it alone.

The inspector hands every event to those of the target of its run. A run of a target without one, such as a
plain memory, pays nothing for them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from umi_core.messages.answers import Answer
from umi_core.messages.effects import Effect, Outcome
from umi_core.values import Scope
from umi_sim.judge.invariants.two_stores import TwoStores
from umi_sim.services.calls import Call
from umi_sim.services.stores import Store
from umi_sim.target.machine import Machine


class Observer(Protocol):
    """Raises Broken if a promise is broken. It hears of a reply before the oracle does."""

    def meet(self, stores: Mapping[str, Store]) -> None: ...
    def issued(self, agent: str, op_id: str, request: Any) -> None: ...
    def answered(self, call: Call, answer: Answer) -> None: ...
    def replied(self, agent: str, scope: Scope, op_id: str, outcome: Outcome) -> None: ...
    def crashed(self, agent: str) -> None: ...
    def stepped(self, agent: str, scope: Scope, machine: Machine, effects: Sequence[Effect]) -> None: ...


OBSERVERS: Final[Mapping[str, tuple[type[Observer], ...]]] = {"migrator": (TwoStores,)}
"""By name of the target (umi_sim/target/table.py)."""
