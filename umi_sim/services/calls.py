"""The services that agents share: model, embedder and storage.

A service answers from its state at the instant a call arrives; a commit is durable one flush later. What a
fault does to a call stands in umi_sim/faults/.
"""

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Final

import attrs

from umi_core.data import Data
from umi_core.limits import PAGE_ROW_COUNT_MAX
from umi_core.messages.answers import Answer, Committed, EffectFailed, Embedded, ModelReplied
from umi_core.messages.effects import MAIN, Asked, AskModel, Commit, Embed, FailureKind, Read
from umi_sim.services.atlas import Atlas
from umi_sim.services.embedder import embed
from umi_sim.services.nonsense import nonsense
from umi_sim.services.recorded_replies import Sayings
from umi_sim.services.storage import SimStorage
from umi_sim.services.stores import SimStore


@attrs.frozen
class Call(Data):
    """One effect on its way: its event name, who asked in which life, and when."""

    event: str
    agent: str
    life: int
    op_id: str
    workflow: str
    step: str
    effect: Asked
    sent_ms: int

    @property
    def service(self) -> str:
        """Whom it is for: `model`, `embedder`, `storage`, or `storage.NAME` if not the main store."""
        store = getattr(self.effect, "store", MAIN)
        return self.effect.service if store == MAIN else f"{self.effect.service}.{store}"

    @property
    def old_asker(self) -> str:
        """What the life that asked is called, should another one have taken its place."""
        return old_name(self.agent, self.life)

    @property
    def verb(self) -> str:
        return f"{self.effect.service}.{self.effect.verb}"

    @property
    def site(self) -> str:
        return f"{self.verb}.{self.workflow}.{self.step}"


def old_name(agent: str, life: int) -> str:
    """What the life of an agent is called when it is no longer the agent's own."""
    return f"{agent}~{life}"


@attrs.frozen
class Later(Data):
    """An answer that leaves the service at `at_ms`."""

    answer: Answer
    at_ms: int


DOUBTS: Final[Mapping[str | int, FailureKind]] = {"unknown": "unknown", "timeout": "timeout"}
"""What a sender may hear of a batch that nobody knows about."""


@attrs.frozen
class Flush(Data):
    """A batch that becomes durable one flush later.

    `told`, what its sender hears: true, nothing, unknown, timeout, or the time of a slow answer. `nonsense`:
    what is wrong with an answer that says that it is durable.
    """

    ticket: int
    told: str | int
    nonsense: int | None = None


Handled = Later | Flush | None


class Services:
    """Model, embedder and storage of one world."""

    def __init__(
        self,
        dims: Mapping[str, int],
        capacity_bytes: int | None = None,
        loss_max: int = 0,
        stores: Sequence[str] = (MAIN,),
        page_rows: int = PAGE_ROW_COUNT_MAX,
    ) -> None:
        self.atlas = Atlas(loss_max)
        self.on_wipe: Callable[[int], None] = lambda down_ms: None  # all who use storage restart with it
        self.on_durable: Callable[[Call], None] = lambda call: None  # a batch of the main store, once
        self.stores = {name: SimStore(capacity_bytes, page_rows) for name in stores}
        self.now_ms = 0
        self.away_until_ms: dict[str, int] = {}  # by service
        self.last_text = ""
        self.sayings = Sayings()
        self.durable_ops: dict[str, None] = {}
        self.vector_turn = 0  # how often the embedder's model changed; each time components moved on by one
        self._dims = dims
        self._attempts: dict[tuple[str, str], int] = {}

    @property
    def storage(self) -> SimStorage:
        """The main store."""
        return self.stores[MAIN].storage

    def store_of(self, effect: Read | Commit) -> SimStore:
        """The store that an effect is for."""
        return self.stores[effect.store]

    def arrived(self, call: Call, now_ms: int) -> str:
        """What a keyed draw about this call is about: for model and embedder the question, else its name."""
        self.turn_to(now_ms)
        if isinstance(call.effect, AskModel | Embed):
            key = self._question(call)
            self._attempts[key] = self._attempts.get(key, 0) + 1
            return f"{key[1]}/{self._attempts[key]}"
        return call.event

    def _question(self, call: Call) -> tuple[str, str]:
        assert isinstance(call.effect, AskModel | Embed)
        task, text = question(call.effect)
        digest = blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()
        return call.agent, f"{task}/{digest}"

    def attempt(self, call: Call) -> int:
        """How often this agent has asked this question, this time included."""
        return self._attempts[self._question(call)]

    def is_away(self, call: Call, now_ms: int) -> str:
        """Why the service strikes every call right now: dead, away, or not at all."""
        effect = call.effect
        if isinstance(effect, Read | Commit) and self.store_of(effect).is_dead(call.sent_ms, now_ms):
            return "dead"
        return "away" if now_ms < self.away_until_ms.get(call.service, 0) else ""

    def turn_to(self, now_ms: int) -> None:
        """It is now this time: windows that change a store itself begin or end."""
        self.now_ms = now_ms
        for store in self.stores.values():
            store.turn_to(now_ms)

    def lag_since(self, at_ms: int) -> int:
        """The longest lag that searches of the main store have had since then, in milliseconds."""
        return self.stores[MAIN].lag_since(at_ms)

    def handle(self, call: Call, now_ms: int) -> Handled:
        """What comes of a call that arrives now and that no fault strikes."""
        away = self.is_away(call, now_ms)
        if away:
            return None if away == "dead" else failed(call, "unavailable", now_ms)
        if isinstance(call.effect, Commit):
            return self.begin_commit(call, call.effect, "true")
        return Later(self.answer(call), now_ms)

    def answer(self, call: Call) -> Answer:
        """The true answer to anything but a commit."""
        effect = call.effect
        match effect:
            case AskModel():
                self.last_text = self.sayings.answer(call.event, effect)
                return ModelReplied(effect.request_id, self.last_text)
            case Embed():
                dims = self._dims[call.agent]
                vectors = tuple(embed(text, dims, self.vector_turn) for text in effect.texts)
                return Embedded(effect.request_id, vectors)
            case Read():
                return self.store_of(effect).storage.read(effect.request_id, effect.query)
        raise AssertionError(effect)

    def begin_commit(self, call: Call, commit: Commit, told: str | int) -> Flush:
        """The batch has arrived at its store, and becomes durable one flush later."""
        return Flush(self.store_of(commit).storage.arrive(commit, call.agent), told)

    def give_up(self, call: Call, flush: Flush) -> None:
        """The batch will not become durable."""
        assert isinstance(call.effect, Commit)
        self.store_of(call.effect).storage.pending.pop(flush.ticket, None)

    def is_durable(self, op_id: str) -> bool:
        """Whether a batch of this operation was made durable, or had been before."""
        return op_id in self.durable_ops

    def flush(self, call: Call, flush: Flush, now_ms: int) -> Later | None:
        """The batch becomes durable, if its store has not died since; what the sender is told of it."""
        assert isinstance(call.effect, Commit)
        self.turn_to(now_ms)
        storage = self.store_of(call.effect).storage
        known_count, answer = storage.durable_count, storage.flush(flush.ticket, now_ms)
        if storage.durable_count > known_count and storage is self.storage:
            self.on_durable(call)
        if isinstance(answer, Committed):
            self.durable_ops[call.op_id] = None
        if answer is None or flush.told == "nothing":
            return None
        answer = attrs.evolve(answer, request_id=call.effect.request_id)
        if isinstance(answer, Committed) and (doubt := DOUBTS.get(flush.told)):
            answer = EffectFailed(call.effect.request_id, doubt)
        told: Answer = answer if flush.nonsense is None else nonsense(answer, flush.nonsense)
        return Later(told, flush.told if isinstance(flush.told, int) else now_ms)

    def wipe(self, store: SimStore, for_ms: int) -> None:
        """A store is empty after it was away for a while, and whoever used it begins anew."""
        store.wipe(self.now_ms, for_ms)
        self.on_wipe(max(1, for_ms))

    def heal(self, now_ms: int) -> None:
        """All windows end. What the embedder has become it stays."""
        self.away_until_ms.clear()
        for store in self.stores.values():
            store.heal(now_ms)
        self.now_ms = now_ms

    def digest(self) -> bytes:
        """32 bytes over all that is durable in any store."""
        first, *others = [store.storage.digest() for store in self.stores.values()]
        return blake2b(b"".join((first, *others)), digest_size=32).digest() if others else first


def question(effect: AskModel | Embed) -> tuple[str, str]:
    if isinstance(effect, AskModel):
        return effect.task, effect.prompt
    return "embed", "\0".join(effect.texts)


def failed(call: Call, kind: FailureKind, at_ms: int, retry_after_ms: int = 0) -> Later:
    return Later(EffectFailed(call.effect.request_id, kind, retry_after_ms), at_ms)
