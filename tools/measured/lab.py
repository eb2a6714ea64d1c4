"""A memory in a world without faults, where each answer takes the time that its service always takes."""

from collections import Counter
from collections.abc import Callable
from typing import Final

import msgspec

from umi_core.config import Config
from umi_core.data import SET_LATER, Owner
from umi_core.memory import Memory
from umi_core.messages.answers import Answer, Embedded, ModelReplied, ReadDone, Value, Wake
from umi_core.messages.effects import Asked, AskModel, Commit, Done, Embed, Read, Reply
from umi_core.messages.requests import Request
from umi_core.values import Scope
from umi_sim.services.storage import SimStorage

LATENCY_MS: Final = {AskModel: 150, Embed: 20, Read: 5, Commit: 10}
SCOPE: Final = Scope("noor", "helper")

Model = Callable[[str, str], str]
Embedder = Callable[[str], tuple[int, ...]]


class Lab(Owner):
    """`asked` counts questions by kind; the model gets task and prompt."""

    model: Model
    embed: Embedder
    config: Config
    now_ms: int = 0
    storage: SimStorage = msgspec.field(default_factory=SimStorage)
    asked: Counter[str] = msgspec.field(default_factory=Counter)
    memory: Memory = SET_LATER

    def __post_init__(self) -> None:
        self.memory = Memory(SCOPE, self.config)
        self.run(Wake())

    def ask(self, request: Request) -> object:
        """What the request comes to. Raises AssertionError if it comes to nothing."""
        [reply] = self.run(request)
        assert isinstance(reply.outcome, Done), reply.outcome
        return reply.outcome.value

    def run(self, value: Value) -> list[Reply]:
        replies: list[Reply] = []
        due = list(self.memory.step(self.now_ms, value))
        while due:
            effect = due.pop(0)
            if isinstance(effect, Reply):
                replies.append(effect)
            else:
                self.now_ms += LATENCY_MS[type(effect)]
                self.asked[type(effect).__name__] += 1
                due += self.memory.step(self.now_ms, self.answer(effect))
        return replies

    def answer(self, effect: Asked) -> Answer:
        match effect:
            case AskModel():
                return ModelReplied(effect.request_id, self.model(effect.task, effect.prompt))
            case Embed():
                return Embedded(effect.request_id, tuple(map(self.embed, effect.texts)))
            case Read():
                answer = self.storage.read(effect.request_id, effect.query)
                assert isinstance(answer, ReadDone)
                return answer
            case Commit():
                committed = self.storage.flush(self.storage.arrive(effect, SCOPE.agent), self.now_ms)
                assert committed is not None
                return committed
