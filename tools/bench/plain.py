"""The same small task for every tool: requests of the working tier and of sessions, held to a dict.

`RULES` says which requests there are and which values each field may take. A tool chooses; `Life.do` makes
the request of a memory, answers what the memory asks from a storage that never fails, and compares the reply
with what the oracle's twin says: a dict with a deadline for each key, and a copy of it for each saved
session. Nothing else is judged, no state is looked into, nothing is recorded: what a careful user of a
property-based testing library would write in an hour.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from umi_core.config import Config
from umi_core.data import Owner
from umi_core.engine.registry import Registry
from umi_core.limits import I64_MAX, PLAN_COUNT_MAX
from umi_core.memory import Memory
from umi_core.messages import requests
from umi_core.messages.answers import Answer
from umi_core.messages.effects import Commit, Done, Effect, Failed, Outcome, Read, Refused, Reply
from umi_core.messages.requests import Request
from umi_core.messages.results import SessionCreated, SessionLoaded, SessionSaved
from umi_core.values import Scope
from umi_sim.judge.oracle.working import WorkingTwin, answer_of
from umi_sim.services.storage import SimStorage

STEPS: Final = 50  # requests of one life, for every tool
SCOPE: Final = Scope("ann", "a1")
CONFIG: Final = Config(
    working_entry_count_max=4, working_bytes_max=128, working_ttl_ms_default=10, auto_populate=False
)
WAITS: Final = (0, 1, 5, 10, 1_000)  # milliseconds before a request
KEYS: Final = ("a", "b", "ab", "ключ", "c")
VALUES: Final = (b"", b"1", b" 5", b"-7", b"x" * 60)
TTLS: Final = (None, 0, 1, 5, 60_000)
DELTAS: Final = (1, -3, I64_MAX)
SESSIONS: Final = (
    0,
    1,
    2,
)  # which of the sessions known so far; a life without so many has none of that number
Expected = tuple[str, object]
Fields = Mapping[str, Sequence[object]]
RULES: Final[Mapping[str, tuple[Callable[..., Request], Fields]]] = {
    "set": (requests.Set, {"key": KEYS, "value": VALUES, "ttl_ms": TTLS}),
    "get": (requests.Get, {"key": KEYS}),
    "exists": (requests.Exists, {"key": KEYS}),
    "delete": (requests.Delete, {"key": KEYS}),
    "incr": (requests.Incr, {"key": KEYS, "delta": DELTAS}),
    "append": (requests.Append, {"key": KEYS, "value": VALUES}),
    "touch": (requests.Touch, {"key": KEYS}),
    "sweep": (requests.Sweep, {}),
    "clear": (requests.Clear, {}),
    "len": (requests.Len, {}),
    "bytes": (requests.Bytes, {}),
    "create_session": (requests.CreateSession, {}),
    "save_session": (requests.SaveSession, {}),
    "load_session": (requests.LoadSession, {"session": SESSIONS}),
}
SESSION_RULES: Final = ("create_session", "save_session", "load_session")
WORKING_RULES: Final = tuple(name for name in RULES if name not in SESSION_RULES)


def born(registry: Registry) -> "Life":
    return Life(Memory(SCOPE, CONFIG, registry))


class Differs(AssertionError):
    """A reply is not what the dict says."""


class Saved(Owner):
    """A session as it was saved: deadlines stay what they are, so what rests grows old."""

    entries: dict[str, tuple[bytes, int]]
    version: int = 1


class Life(Owner):
    """One memory, what answers it, and the dict beside it. `begun`: how many sessions in a millisecond."""

    memory: Memory
    storage: SimStorage = msgspec.field(default_factory=SimStorage)
    twin: WorkingTwin = msgspec.field(default_factory=lambda: WorkingTwin(CONFIG))
    saved: dict[str, Saved] = {}
    begun: Counter[int] = msgspec.field(default_factory=Counter)
    now_ms: int = 0
    op_count: int = 0

    def do(self, name: str, wait_ms: int, args: Mapping[str, object]) -> None:
        """One request. Raises Differs."""
        self.now_ms += wait_ms
        self.op_count += 1
        make, _ = RULES[name]
        given = {"session_id": self.session(args["session"])} if "session" in args else args
        request = make(self.op_count, **given)
        answer = describe_outcome(self.ask(request))
        expected = self.expected(request, answer[1])
        if answer != expected:
            raise Differs(f"{request} at {self.now_ms}: {answer} came, and not {expected}")

    def session(self, number: object) -> str:
        known = list(self.saved)
        assert isinstance(number, int)
        return known[number] if number < len(known) else "ses_0000000000000000"

    def ask(self, request: Request) -> Outcome:
        """Everything that the memory asks is answered at once, until it asks for nothing more."""
        outcome, pending = None, list(self.memory.step(self.now_ms, request))
        while pending:
            effect = pending.pop(0)
            if isinstance(effect, Reply):
                outcome = effect.outcome
            else:
                pending += self.memory.step(self.now_ms, self.answer(effect))
        assert outcome is not None
        return outcome

    def answer(self, effect: Effect) -> Answer:
        if isinstance(effect, Read):
            return self.storage.read(effect.request_id, effect.query)
        assert isinstance(effect, Commit), effect  # nothing here needs a model or an embedder
        answer = self.storage.flush(self.storage.arrive(effect, SCOPE.agent), self.now_ms)
        assert answer is not None
        return answer

    def expected(self, request: Request, answer: object) -> Expected:
        if isinstance(request, requests.WorkingRequest):
            return self.twin.answer(request, self.now_ms)
        self.twin.expire(self.now_ms)
        return SESSION_ANSWERS[type(request)](self, request, answer)


def describe_outcome(outcome: Outcome) -> Expected:
    """Success with its value, or the kind of the error; with its values, if the tier has no room."""
    if isinstance(outcome, Done):
        return "done", outcome.value
    if isinstance(outcome, Failed):
        return type(outcome.error).__name__, None
    assert isinstance(outcome, Refused), outcome
    return answer_of(outcome)


# Sessions.


def on_create(life: Life, request: Request, answer: object) -> Expected:
    """Only the memory knows the id; it must be a new one. Of one millisecond there are only so many."""
    if life.begun[life.now_ms] == PLAN_COUNT_MAX:
        return "Conflict", None
    life.begun[life.now_ms] += 1
    own_id = answer.session_id if isinstance(answer, SessionCreated) else ""
    if not own_id or own_id in life.saved:
        return "done", "a session with a new id"
    dropped_count = len(life.twin.entries)
    life.saved[own_id] = Saved({})
    life.twin.entries, life.twin.session_id, life.twin.version = {}, own_id, 1
    return "done", SessionCreated(own_id, life.now_ms, dropped_count)


def on_save(life: Life, request: Request, answer: object) -> Expected:
    twin = life.twin
    if twin.session_id is None:
        return "NoSession", None
    twin.version += 1
    life.saved[twin.session_id] = Saved(dict(twin.entries), twin.version)
    return "done", SessionSaved(twin.session_id, twin.version, life.now_ms)


def on_load(life: Life, request: Request, answer: object) -> Expected:
    assert isinstance(request, requests.LoadSession)
    if (kept := life.saved.get(request.session_id)) is None:
        return "SessionNotFound", None
    alive = {key: held for key, held in kept.entries.items() if held[1] > life.now_ms}
    life.twin.entries, life.twin.session_id, life.twin.version = alive, request.session_id, kept.version
    return "done", SessionLoaded(kept.version, len(kept.entries) - len(alive))


SESSION_ANSWERS: Final[Mapping[type, Callable[[Life, Request, object], Expected]]] = {
    requests.CreateSession: on_create, requests.SaveSession: on_save, requests.LoadSession: on_load,
}  # fmt: skip
