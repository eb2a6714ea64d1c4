"""A small world without faults: one memory on one storage, where every question is answered immediately.

Comparisons use it so that they do not change the run.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from umi_core.config import Config
from umi_core.data import SET_LATER, Owner
from umi_core.engine.registry import Registry
from umi_core.memory import Memory
from umi_core.messages.answers import Answer, EffectFailed, Embedded, ModelReplied, Value, Wake
from umi_core.messages.effects import Asked, AskModel, Commit, Effect, Embed, Outcome, Read, Reply
from umi_core.messages.requests import Request
from umi_core.rows import Address
from umi_core.values import Scope
from umi_core.workflows import BUILT_IN
from umi_sim.record import rules
from umi_sim.record.broken import demand
from umi_sim.services.embedder import embed
from umi_sim.services.model import truth
from umi_sim.services.storage import SimStorage


class SmallWorld(Owner):
    """A memory that has recovered, and its storage. `is_hasty`: the last question is answered first."""

    scope: Scope
    config: Config
    now_ms: int
    registry: Registry = BUILT_IN
    storage: SimStorage = msgspec.field(default_factory=SimStorage)
    is_hasty: bool = False
    memory: Memory = SET_LATER
    pending: list[Asked] = []
    outcomes: dict[object, Outcome] = {}

    def __post_init__(self) -> None:
        self.memory = Memory(self.scope, self.config, self.registry)
        self.step(Wake())
        self.settle()

    def step(self, value: Value) -> None:
        effects: tuple[Effect, ...] = self.memory.step(self.now_ms, value)
        for effect in effects:
            if isinstance(effect, Reply):
                self.outcomes[effect.op_id] = effect.outcome
            else:
                self.pending.append(effect)

    def settle(self) -> None:
        """Answer all open questions."""
        while self.pending:
            self.step(self.answer(self.pending.pop(-1 if self.is_hasty else 0)))

    def ask(self, request: Request) -> Outcome:
        """Return the outcome of a request. Raises Broken if it has no reply after all answers."""
        self.step(request)
        self.settle()
        message = f"{type(request).__name__} has no reply when all questions are answered"
        demand(request.op_id in self.outcomes, rules.ONE_REPLY, message)
        return self.outcomes[request.op_id]

    def answer(self, effect: Asked) -> Answer:
        match effect:
            case AskModel():
                return ModelReplied(effect.request_id, truth(effect.task, effect.prompt))
            case Embed():
                return Embedded(effect.request_id, tuple(map(self.vector, effect.texts)))
            case Read():
                return self.storage.read(effect.request_id, effect.query)
            case Commit():
                ticket = self.storage.arrive(effect, self.scope.agent)
                answer = self.storage.flush(ticket, self.now_ms)
                return answer or EffectFailed(effect.request_id, "unknown")

    def vector(self, text: str) -> tuple[int, ...]:
        return embed(text, self.config.embedding_dims)

    def rows(self) -> Iterator[tuple[Address, Any]]:
        for row in self.storage.live_rows(self.scope):
            yield row.address, row.body
