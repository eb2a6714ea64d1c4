"""The services that agents share: model, embedder and storage.

A service answers from its state when a call arrives; a commit becomes durable one flush later. The effects of
faults on calls are in umi_sim/faults/.
"""

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Final

from msgspec import structs

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


class Call(Data):
    """One effect under way: its event name, the agent and incarnation that sent it, and when."""

    event: str
    agent: str
    incarnation: int
    op_id: str
    workflow: str
    step: str
    effect: Asked
    sent_ms: int

    @property
    def service(self) -> str:
        """Return the service: `model`, `embedder`, `storage`, or `storage.NAME` for a store besides main."""
        store = getattr(self.effect, "store", MAIN)
        return self.effect.service if store == MAIN else f"{self.effect.service}.{store}"

    @property
    def old_asker(self) -> str:
        """Return the name that the sending incarnation has after another one has replaced it."""
        return old_name(self.agent, self.incarnation)

    @property
    def verb(self) -> str:
        return f"{self.effect.service}.{self.effect.verb}"

    @property
    def site(self) -> str:
        return f"{self.verb}.{self.workflow}.{self.step}"


def old_name(agent: str, incarnation: int) -> str:
    """Return the name of an incarnation of an agent that another one has replaced, such as `alice~2`."""
    return f"{agent}~{incarnation}"


class Later(Data):
    """An answer that leaves the service at `at_ms`."""

    answer: Answer
    at_ms: int


DOUBTS: Final[Mapping[str | int, FailureKind]] = {"unknown": "unknown", "timeout": "timeout"}
"""Failures that put a commit in doubt: the sender gets one of them in place of a success."""


class Flush(Data):
    """A batch that becomes durable one flush later.

    `reported`: the answer to the sender: the true one ("true"), "nothing", "unknown", "timeout", or a time in
    ms at which the true answer leaves. `nonsense`: the number of a malformed answer that replaces the true
    one.
    """

    ticket: int
    reported: str | int
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
        self.on_wipe: Callable[[int], None] = lambda down_ms: None  # called when a store is wiped
        self.on_durable: Callable[[Call], None] = lambda call: None  # called once per batch of the main store
        self.stores = {name: SimStore(capacity_bytes, page_rows) for name in stores}
        self.now_ms = 0
        self.away_until_ms: dict[str, int] = {}  # by service
        self.last_text = ""
        self.sayings = Sayings()
        self.durable_ops: dict[str, None] = {}
        self.vector_turn = 0  # how often the embedder's model has changed, each time by one rotation
        self._dims = dims
        self._attempts: dict[tuple[str, str], int] = {}

    @property
    def storage(self) -> SimStorage:
        """Return the main store."""
        return self.stores[MAIN].storage

    def store_of(self, effect: Read | Commit) -> SimStore:
        """Return the store that an effect is for."""
        return self.stores[effect.store]

    def register_arrival(self, call: Call, now_ms: int) -> str:
        """Count the arrival of a call; return the data from which its faults are drawn.

        For model and embedder these are the question and the number of the attempt rather than the event. So
        a run from which an earlier operation was removed draws the same faults for the same question.
        """
        self.turn_to(now_ms)
        if isinstance(call.effect, AskModel | Embed):
            key = self._question(call)
            # Without the number of the attempt, a question that failed once would always fail.
            self._attempts[key] = self._attempts.get(key, 0) + 1
            return f"{key[1]}/{self._attempts[key]}"
        return call.event

    def _question(self, call: Call) -> tuple[str, str]:
        assert isinstance(call.effect, AskModel | Embed)
        task, text = question(call.effect)
        digest = blake2b(text.encode(errors="surrogatepass"), digest_size=8).hexdigest()
        return call.agent, f"{task}/{digest}"

    def attempt(self, call: Call) -> int:
        """Return how often this agent has asked this question, the present time included."""
        return self._attempts[self._question(call)]

    def is_away(self, call: Call, now_ms: int) -> str:
        """Return why the service fails every call now: `dead` or `away`; empty if it works."""
        effect = call.effect
        if isinstance(effect, Read | Commit) and self.store_of(effect).is_dead(call.sent_ms, now_ms):
            return "dead"
        return "away" if now_ms < self.away_until_ms.get(call.service, 0) else ""

    def turn_to(self, now_ms: int) -> None:
        """Set the time, at which windows of the stores may begin or end."""
        self.now_ms = now_ms
        for store in self.stores.values():
            store.turn_to(now_ms)

    def lag_since(self, at_ms: int) -> int:
        """Return the longest lag of searches of the main store since `at_ms`, in ms."""
        return self.stores[MAIN].lag_since(at_ms)

    def handle(self, call: Call, now_ms: int) -> Handled:
        """Answer a call that arrives now and meets no fault; return None if its store is dead."""
        away = self.is_away(call, now_ms)
        if away:
            return None if away == "dead" else fail_call(call, "unavailable", now_ms)
        if isinstance(call.effect, Commit):
            return self.begin_commit(call, call.effect, "true")
        return Later(self.answer(call), now_ms)

    def answer(self, call: Call) -> Answer:
        """Return the true answer to anything but a commit."""
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

    def begin_commit(self, call: Call, commit: Commit, reported: str | int) -> Flush:
        """Give a batch to its store, where it becomes durable one flush later. `reported`: see `Flush`."""
        return Flush(self.store_of(commit).storage.arrive(commit, call.agent), reported)

    def drop_batch(self, call: Call, flush: Flush) -> None:
        """Drop a batch that will not become durable."""
        assert isinstance(call.effect, Commit)
        self.store_of(call.effect).storage.pending.pop(flush.ticket, None)

    def is_durable(self, op_id: str) -> bool:
        """Return True if a batch of this operation has become durable."""
        return op_id in self.durable_ops

    def flush(self, call: Call, flush: Flush, now_ms: int) -> Later | None:
        """Make a batch durable, unless its store has died; return the answer to the sender, if any."""
        assert isinstance(call.effect, Commit)
        self.turn_to(now_ms)
        storage = self.store_of(call.effect).storage
        known_count, answer = storage.durable_count, storage.flush(flush.ticket, now_ms)
        # Found by the count, since a batch that arrives a second time is answered with Committed as well, but
        # changes nothing.
        if storage.durable_count > known_count and storage is self.storage:
            self.on_durable(call)
        if isinstance(answer, Committed):
            self.durable_ops[call.op_id] = None
        if answer is None or flush.reported == "nothing":
            return None
        answer = structs.replace(answer, request_id=call.effect.request_id)
        # Only a success is put in doubt; a conflict or a full store is reported truthfully.
        if isinstance(answer, Committed) and (doubt := DOUBTS.get(flush.reported)):
            answer = EffectFailed(call.effect.request_id, doubt)
        given: Answer = answer if flush.nonsense is None else nonsense(answer, flush.nonsense)
        return Later(given, flush.reported if isinstance(flush.reported, int) else now_ms)

    def wipe(self, store: SimStore, for_ms: int) -> None:
        """Empty a store, which then answers nothing for a while; every memory restarts."""
        store.wipe(self.now_ms, for_ms)
        self.on_wipe(max(1, for_ms))

    def heal(self, now_ms: int) -> None:
        """End all windows. The embedder keeps its present model."""
        self.away_until_ms.clear()
        for store in self.stores.values():
            store.heal(now_ms)
        self.now_ms = now_ms

    def digest(self) -> bytes:
        """Return a 32-byte digest of the durable rows of all stores."""
        first, *others = [store.storage.digest() for store in self.stores.values()]
        return blake2b(b"".join((first, *others)), digest_size=32).digest() if others else first


def question(effect: AskModel | Embed) -> tuple[str, str]:
    if isinstance(effect, AskModel):
        return effect.task, effect.prompt
    return "embed", "\0".join(effect.texts)


def fail_call(call: Call, kind: FailureKind, at_ms: int, retry_after_ms: int = 0) -> Later:
    """Return the failure that answers this call; it leaves the service at `at_ms`."""
    return Later(EffectFailed(call.effect.request_id, kind, retry_after_ms), at_ms)
