"""A memory with a plain world around it: all is answered at once, unless a test holds it back, fails or drops
it. Nothing here is random, and time moves only when a test, or `run`, says so."""

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import structs

from umi_core.conditions import Condition, Where
from umi_core.config import Config
from umi_core.data import SET_LATER, Owner
from umi_core.engine.registry import Registry
from umi_core.ids import entity_id, fact_id
from umi_core.memory import Memory
from umi_core.messages.answers import Answer, Committed, EffectFailed, Embedded, ModelReplied, Value, Wake
from umi_core.messages.effects import (
    Asked,
    AskModel,
    Commit,
    Embed,
    FailureKind,
    Outcome,
    Read,
    Reply,
    Unknown,
)
from umi_core.messages.requests import Request
from umi_core.rows import Address, Row
from umi_core.state import Operation, Sleeping, State, Waiting
from umi_core.values import Scope
from umi_core.workflows import BUILT_IN
from umi_sim.judge import state as state_rules
from umi_sim.judge.state import StateSnapshot, describe_step
from umi_sim.services.embedder import embed
from umi_sim.services.storage import SimStorage

SCOPE = Scope("u1", "a1")
QUIET = Config(auto_rebalance=False)
ALICE = entity_id(SCOPE, "Alice")
BOB = entity_id(SCOPE, "Bob")


def id_of_fact(name: str, content: str) -> str:
    """Return the id of a statement about the entity of this name."""
    return fact_id(SCOPE, (entity_id(SCOPE, name),), content)


def id_of_note(content: str) -> str:
    """Return the id of a statement about no entity."""
    return fact_id(SCOPE, (), content)


Model = Callable[[str, str], str]
Kind = TypeVar("Kind", AskModel, Embed, Read, Commit)


def input_of(prompt: str, name: str) -> Any:
    """What a prompt gives under this name."""
    line = next(line for line in prompt.split("\n") if line.startswith(f"INPUT {name} = "))
    return json.loads(line.partition(" = ")[2])


def plain(task: str, prompt: str) -> str:
    """A model that notes its prompts, and otherwise knows nothing better: no verdict, no variant, the
    query as it is."""
    match task:
        case "extract":
            return sentences(prompt)
        case "rewrite":
            return str(input_of(prompt, "query"))
    return "[]"


def sentences(prompt: str) -> str:
    """`Alice likes tea. Bob snores` names two persons by their first words; Umi is the assistant itself."""
    statements = [sentence.partition(" ") for sentence in input_of(prompt, "text").split(". ")]
    types = {"Umi": "self"}
    rows = [
        {"name": name, "type": types.get(name, "person"), "content": fact, "confidence": 0.9}
        for name, _, fact in statements
    ]
    return json.dumps({"entities": rows})


def saying(**replies: str | Callable[[str], str]) -> Model:
    """The plain model, but for these tasks: the answer, or what makes it of the prompt."""

    def model(task: str, prompt: str) -> str:
        answer = replies.get(task)
        return (
            plain(task, prompt) if answer is None else answer if isinstance(answer, str) else answer(prompt)
        )

    return model


def verdict(kind: str, confidence: float = 0.9, reason: str = "so") -> Callable[[str], str]:
    """What `evolve` is answered: the same verdict on every pair that is asked."""

    def judge(prompt: str) -> str:
        verdict = {"type": kind, "confidence": confidence, "reason": reason}
        return json.dumps([{**pair, **verdict} for pair in input_of(prompt, "pairs")])

    return judge


class Pair(Owner):
    """`pending` are the effects without an answer, oldest first; `held` those that wait for a test."""

    storage: SimStorage = msgspec.field(default_factory=SimStorage)
    config: Config = QUIET
    scope: Scope = SCOPE
    model: Model = plain
    registry: Registry = BUILT_IN
    now_ms: int = 0
    memory: Memory = SET_LATER
    pending: list[Asked] = []
    held: list[Asked] = []
    replies: dict[int | str, Reply] = {}

    def __post_init__(self) -> None:
        self.memory = Memory(self.scope, self.config, self.registry)

    def step(self, value: Value) -> list[Asked]:
        """Step the memory; the effects it wants, which are pending from now on."""
        asked: list[Asked] = []
        for effect in self.memory.step(self.now_ms, value):
            if isinstance(effect, Reply):
                assert effect.op_id not in self.replies, effect
                self.replies[effect.op_id] = effect
            else:
                asked.append(effect)
        self.pending += asked
        return asked

    def world(self, effect: Asked) -> Answer:
        """What a faultless world answers now; a commit lands."""
        match effect:
            case AskModel():
                return ModelReplied(effect.request_id, self.model(effect.task, effect.prompt))
            case Embed():
                vectors = tuple(embed(text, self.config.embedding_dims) for text in effect.texts)
                return Embedded(effect.request_id, vectors)
            case Read():
                return self.storage.read(effect.request_id, effect.query)
            case Commit():
                return self.land(effect)

    def land(self, commit: Commit) -> Committed | EffectFailed:
        """The batch reaches storage, whether the memory hears of it or not."""
        answer = self.storage.flush(self.storage.arrive(commit, self.scope.agent), self.now_ms)
        assert answer is not None
        return answer

    def answer(self) -> list[Asked]:
        return self.step(self.world(self.pending.pop(0)))

    def fail(self, kind: FailureKind, at: int = 0) -> list[Asked]:
        return self.step(EffectFailed(self.pending.pop(at).request_id, kind))

    def doubt(self, *, landed: bool) -> "Pair":
        """The answer to the next commit is lost, and the batch that is sent again conflicts."""
        commit = self.until(Commit)
        if landed:
            self.land(commit)
        self.fail("unknown")
        self.wake()
        self.fail("conflict")
        return self

    def leave_unanswered(self, request: Request) -> Commit:
        """Return its commit, left unanswered, so that its operation ends as unknown; it may land yet."""
        self.step(request)
        commit = self.until(Commit)
        for _ in range(3):
            self.pending.clear()
            self.wake()
            self.wake()
        assert self.replies[request.op_id].outcome == Unknown()
        return commit

    def wake(self, now_ms: int | None = None) -> list[Asked]:
        """Only time passes: until then, or until the memory wants to be stepped."""
        self.now_ms = max(self.now_ms, self.memory.deadline_ms() or 0) if now_ms is None else now_ms
        return self.step(Wake())

    def run(self, *absent: type[Asked]) -> "Pair":
        """Until nothing moves: answer all but effects whose service is absent, let time pass."""
        for _ in range(2_000):
            if not self.pending and not self.is_waiting():
                return self
            if self.pending and isinstance(self.pending[0], absent):
                self.fail("unavailable")
            else:
                _ = self.answer() if self.pending else self.wake()
        raise AssertionError(f"no end in sight: {self.memory.state.operations}")

    def is_waiting(self) -> bool:
        """Only time can help: an operation sleeps, or its effect was dropped."""
        held, state = [effect.request_id for effect in self.held], self.memory.state
        return state.phase == "new" or any(op.waiting not in held for op in state.operations.values())

    def until(self, kind: type[Kind]) -> Kind:
        """Answer until the oldest pending effect is of this kind, and give it."""
        while not isinstance(self.pending[0], kind):
            self.answer()
        return self.pending[0]

    def hold(self, kind: type[Kind]) -> Kind:
        """The same, and hold it back until `release`."""
        effect = self.until(kind)
        self.held.append(self.pending.pop(0))
        return effect

    def release(self) -> "Pair":
        self.pending, self.held = [*self.held, *self.pending], []
        return self.run()

    def ask(self, request: Request, *absent: type[Asked]) -> Outcome:
        self.step(request)
        self.run(*absent)
        return self.replies[request.op_id].outcome

    def rows(self, kind: str) -> list[Row]:
        return [row for row in self.storage.live_rows(self.scope) if row.address.kind == kind]

    def row(self, kind: str, row_id: str) -> Row | None:
        return self.storage.rows.get(Address(self.scope, kind, row_id))


def put_question(operation: Operation, asked: Asked) -> None:
    """Let an operation in flight have asked something else."""
    assert isinstance(operation.progress, Waiting | Sleeping)
    operation.progress = structs.replace(operation.progress, asked=asked)


def put_sent(operation: Operation, sent: Asked) -> None:
    """Let an operation in flight have sent something else than what its row asked."""
    assert isinstance(operation.progress, Waiting)
    operation.progress = structs.replace(operation.progress, sent=sent)


def recovered(pair: Pair) -> Pair:
    return pair.run()


def conditions(
    types: tuple[str, ...] | None = None,
    start_ms: int | None = None,
    end_ms: int | None = None,
    vector_missing: bool | None = None,
    touches: str | None = None,
    without: tuple[str, ...] = (),
) -> Where:
    """What a memory asks of rows, by short names."""
    asked = (
        ("type", "in", types), ("time_ms", "gte", start_ms), ("time_ms", "lte", end_ms),
        ("vector_missing", "eq", vector_missing), ("touches", "contains", touches),
        ("id", "not_in", without or None),
    )  # fmt: skip
    return tuple(Condition(*each) for each in asked if each[2] is not None)


def check_step(before: StateSnapshot, value: Value, state: State) -> None:
    """What a step has changed, by the rules over that alone."""
    state_rules.check_step(before, describe_step(before, value, state), state)


def check_replies(before: StateSnapshot, value: Value, state: State, replies: Sequence[Reply]) -> None:
    """What a step has replied, by the rules over that alone."""
    state_rules.check_replies(before, describe_step(before, value, state), state, replies)
