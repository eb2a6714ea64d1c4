"""Goal: replies about a session are accepted iff some order of their operations explains it (STO-5).

A search over all orders, after Wing and Gong, stands here beside the oracle, which looks at single replies.
"""

from functools import cache
from typing import Any, Final

import pytest
from msgspec import structs

from tests.histories import believing
from umi_core.data import Data, Owner
from umi_core.errors import SessionConflict, SessionNotFound, StorageFailed
from umi_core.messages.effects import Done, Failed, Outcome, Refused, Reply, Unknown
from umi_core.messages.requests import CreateSession, Get, LoadSession, Request, SaveSession, Set
from umi_core.messages.results import SessionCreated, SessionLoaded, SessionSaved
from umi_core.values import Scope
from umi_sim.judge.oracle.judge import Oracle
from umi_sim.kernel.prng import Stream
from umi_sim.record.broken import Broken
from umi_sim.record.run_config import AgentConfig
from umi_sim.seedfile.fields import PLAIN

AGENTS: Final = ("a", "b", "c")
NOW_MS: Final = 1_000
SESSION: Final = "ses_1"
NEVER: Final = 1_000_000
SEEDS: Final = 250
Event = tuple[str, str, Request | Outcome]  # op id, agent, what


def oracle(*agents: AgentConfig) -> Oracle:
    config = structs.replace(
        PLAIN, mode="swarm", agents=agents or tuple(AgentConfig(it, Scope("u1", it)) for it in AGENTS)
    )
    return believing(Oracle(config))


class SessionHistory:
    """Agents of one user who share a session; what the oracle hears is up to the test."""

    def __init__(self, *agents: AgentConfig) -> None:
        self.oracle = oracle(*agents)
        self.count = 0
        self.events: list[Event] = []

    def ask(self, agent: str, request: Any) -> str:
        self.count += 1
        op_id = f"o{self.count}"
        self.hear((op_id, agent, structs.replace(request, op_id=op_id)))
        return op_id

    def reply(self, op_id: str, agent: str, outcome: Outcome) -> None:
        self.hear((op_id, agent, outcome))

    def hear(self, event: Event) -> None:
        op_id, agent, what = event
        self.events.append(event)
        if isinstance(what, Outcome):
            self.oracle.observe_reply(agent, op_id, Reply(op_id, what), NOW_MS)
        else:
            self.oracle.observe_request(agent, op_id, what, NOW_MS)

    def done(self, agent: str, request: Any, value: object = None) -> None:
        self.reply(self.ask(agent, request), agent, Done(value))

    def create(self, *members: str) -> None:
        self.done("a", CreateSession("", members), SessionCreated(SESSION, NOW_MS))

    def load(self, agent: str, version: int) -> None:
        self.done(agent, LoadSession("", SESSION), SessionLoaded(version, 0))

    def save(self, agent: str, value: str, outcome: Outcome | int, *hand_to: str) -> None:
        """The agent sets `k` and saves; a number is the version in the reply."""
        op_id = self.begin_save(agent, value, *hand_to)
        self.reply(op_id, agent, saved(outcome) if isinstance(outcome, int) else outcome)

    def begin_save(self, agent: str, value: str, *hand_to: str) -> str:
        self.done(agent, Set("", "k", value.encode()))
        return self.ask(agent, SaveSession("", hand_to))

    def get(self, agent: str, value: str | None) -> None:
        self.done(agent, Get("", "k"), None if value is None else value.encode())


def saved(version: int) -> Outcome:
    return Done(SessionSaved(SESSION, version, NOW_MS))


def shared() -> SessionHistory:
    """A session of all three, loaded by all as version 1."""
    sessions = SessionHistory()
    sessions.create("b", "c")
    for agent in "bc":
        sessions.load(agent, 1)
    return sessions


class broken:  # reads as a word of the test
    def __init__(self, rule: str) -> None:
        self.rule, self.raises = rule, pytest.raises(Broken)

    def __enter__(self) -> None:
        self.raised = self.raises.__enter__()

    def __exit__(self, *error: Any) -> bool:
        is_raised = self.raises.__exit__(*error)
        assert self.raised.value.rule == self.rule, self.raised.value
        return is_raised


# Two agents of one user, and a session that changes hands while its owner still writes.


def test_the_other_may_load_before_the_save_is_answered_and_never_an_older_one_after_that() -> None:
    sessions = shared()
    op_id = sessions.begin_save("a", "tea")
    sessions.load("b", 2)
    sessions.get("b", "tea")
    with broken("acknowledged-is-durable"):
        sessions.load("c", 1)
    sessions.reply(op_id, "a", saved(2))


def test_a_save_without_an_answer_that_was_seen_once_stays() -> None:
    sessions = shared()
    sessions.save("a", "tea", Unknown())
    sessions.load("b", 1)
    sessions.load("b", 2)
    with broken("acknowledged-is-durable"):
        sessions.load("c", 1)


def test_a_save_without_an_answer_lands_on_the_version_it_was_made_from_or_never() -> None:
    sessions = shared()
    sessions.save("a", "tea", Unknown())
    sessions.save("b", "milk", 2)
    sessions.save("b", "rum", 3)
    with broken("session-versions"):
        sessions.load("c", 4)


def test_what_two_agents_read_of_one_version_is_the_same() -> None:
    sessions = shared()
    sessions.save("a", "tea", Unknown())
    sessions.save("b", "milk", Unknown())  # one of them landed
    for agent in "ac":
        sessions.load(agent, 2)
    sessions.get("a", "milk")
    with broken("reference-agrees"):
        sessions.get("c", "tea")


def test_a_lost_update_is_seen() -> None:
    """Both saved from version 1, and both were acknowledged."""
    sessions = shared()
    sessions.save("a", "tea", 2)
    with broken("session-versions"):
        sessions.save("b", "milk", 3)


@pytest.mark.parametrize("conflict", [SessionConflict(1, 1), SessionConflict(2, 1), SessionConflict(1, 5)])
def test_a_refusal_names_the_save_that_there_was(conflict: SessionConflict) -> None:
    sessions = shared()
    sessions.save("a", "tea", 2)
    sessions.save("c", "rum", Refused(SessionConflict(1, 2)))
    with broken("session-versions"):
        sessions.save("b", "milk", Refused(conflict))


def test_a_refused_save_is_never_loaded() -> None:
    sessions = shared()
    sessions.save("a", "tea", Failed(StorageFailed("commit", "unavailable", 3)))
    with broken("session-versions"):
        sessions.load("b", 2)


def test_a_handoff_is_found_from_its_answer_on_and_may_be_before() -> None:
    sessions = SessionHistory()
    sessions.create()
    early = sessions.ask("b", LoadSession("", SESSION))
    sessions.save("a", "tea", 2, "b")
    sessions.reply(early, "b", Refused(SessionNotFound(SESSION)))  # it looked before
    with broken("acknowledged-is-durable"):
        sessions.reply(sessions.ask("b", LoadSession("", SESSION)), "b", Refused(SessionNotFound(SESSION)))


def test_an_agent_without_a_handover_does_not_see_the_session() -> None:
    sessions = SessionHistory()
    sessions.create("b")
    with broken("session-members-only"):
        sessions.load("c", 1)


def test_another_user_does_not_see_the_session_whatever_its_agent_is_called() -> None:
    sessions = SessionHistory(AgentConfig("a", Scope("u1", "a")), AgentConfig("b", Scope("u2", "a")))
    sessions.create()
    with broken("session-or-error"):
        sessions.load("b", 1)


# Every history, against a search over all orders.


class Operation(Data):
    """One operation on the session: when it was called and answered, and its reported effect."""

    called: int
    answered: int
    kind: str
    made_from: int
    version: int
    value: str


def is_linearizable(history: tuple[Operation, ...]) -> bool:
    """Some order, in which nothing comes before what was answered before it was called, explains all."""

    @cache
    def search(remaining: tuple[Operation, ...], version: int, value: str) -> bool:
        must = [it for it in remaining if it.kind != "maybe"]
        if not must:
            return True
        first_answer = min(it.answered for it in must)
        for it in remaining:
            if it.called > first_answer:
                continue
            rest = tuple(other for other in remaining if other is not it)
            if (
                it.kind == "load"
                and (version, value) == (it.version, it.value)
                and search(rest, version, value)
            ):
                return True
            if (
                it.kind == "conflict"
                and version == it.version != it.made_from
                and search(rest, version, value)
            ):
                return True
            is_next = version == it.made_from and it.version in (0, version + 1)
            if it.kind in ("save", "maybe") and is_next and search(rest, version + 1, it.value):
                return True
        return False

    return search(history, 1, "")


def history_of(events: list[Event]) -> tuple[Operation, ...]:
    """The operations on the session, as recorded."""
    found: list[Operation] = []
    base = {"a": 1}
    called: dict[str, tuple[int, int, str]] = {}
    values: dict[str, str] = {}
    for at, (op_id, agent, what) in enumerate(events):
        if isinstance(what, Set):
            values[agent] = what.value.decode()
        elif isinstance(what, SaveSession | LoadSession):
            called[op_id] = at, base.get(agent, 0), values[agent] if isinstance(what, SaveSession) else ""
        elif isinstance(what, Get):
            called[op_id] = at, -1, ""
        elif isinstance(what, Outcome) and op_id in called:
            begun, made_from, value = called.pop(op_id)
            done = what.value if isinstance(what, Done) else None
            if made_from == -1:  # the value of what was loaded last
                number = next(n for n in reversed(range(len(found))) if found[n].value == f"?{agent}")
                found[number] = structs.replace(found[number], value=done.decode() if done else "")  # type: ignore[attr-defined]
            elif isinstance(done, SessionLoaded):
                base[agent] = done.version
                found.append(Operation(begun, at, "load", 0, done.version, f"?{agent}"))
            elif isinstance(done, SessionSaved):
                base[agent] = done.version
                found.append(Operation(begun, at, "save", made_from, done.version, value))
            elif isinstance(what, Unknown):
                found.append(Operation(begun, at, "maybe", made_from, 0, value))
            elif isinstance(what, Refused) and isinstance(what.error, SessionConflict):
                found.append(Operation(begun, at, "conflict", made_from, what.error.found, ""))
    waiting = [it for it in called.values() if it[2]]
    return (*found, *(Operation(at, NEVER, "maybe", made_from, 0, value) for at, made_from, value in waiting))


class Store(Owner):
    """The session as it truly is; saves without an answer may still be committed."""

    version: int = 1
    value: str = ""
    floating: list[tuple[int, str]] = []

    def land(self, made_from: int, value: str) -> bool:
        if made_from != self.version:
            return False
        self.version, self.value = self.version + 1, value
        return True


def make_history(stream: Stream, rounds: int) -> list[Event]:
    """A true history: every operation takes effect at one instant between its call and its answer."""
    store, events = Store(), list[Event]()
    base, flying = {"a": 1}, dict[str, tuple[str, str, Any]]()
    for number in range(rounds):
        agent, op_id = stream.pick(AGENTS), f"o{number}"
        if store.floating and stream.chance(1, 4):
            store.land(*store.floating.pop())
        if agent not in flying:
            is_save = agent in base and stream.chance(1, 2)
            value = f"v{number}"
            if is_save:
                events += [(f"{op_id}s", agent, Set(f"{op_id}s", "k", value.encode()))]
                events += [(f"{op_id}s", agent, Done())]
            request = SaveSession(op_id) if is_save else LoadSession(op_id, SESSION)
            events.append((op_id, agent, request))
            flying[agent] = op_id, value if is_save else "", None
            continue
        op_id, value, outcome = flying[agent]
        if outcome is None:
            flying[agent] = op_id, value, effect(stream, store, value, base.get(agent, 0))
            continue
        del flying[agent]
        ending, shown = outcome
        events.append((op_id, agent, ending))
        done = ending.value if isinstance(ending, Done) else None
        base[agent] = getattr(done, "version", base.get(agent, 0))
        if isinstance(done, SessionLoaded):
            read = f"{op_id}g"
            events += [(read, agent, Get(read, "k")), (read, agent, Done(shown.encode() or None))]
    return events


def effect(stream: Stream, store: Store, value: str, made_from: int) -> tuple[Outcome, str]:
    """Apply a save or a load at its instant; return its outcome and the value that it read."""
    if not value:
        return Done(SessionLoaded(store.version, 0)), store.value
    if stream.chance(1, 3):
        if stream.chance(1, 2):
            store.land(made_from, value)
        else:
            store.floating.append((made_from, value))
        return Unknown(), ""
    if store.land(made_from, value):
        return saved(store.version), ""
    return Refused(SessionConflict(made_from, store.version)), ""


def lie(stream: Stream, events: list[Event]) -> list[Event]:
    """The same, but for one number or one value of one reply."""
    at = stream.pick([n for n, (_, _, what) in enumerate(events) if is_number(what)])
    op_id, agent, what = events[at]
    assert isinstance(what, Done | Refused)
    by = stream.pick((-1, 1, 2))
    if isinstance(what, Refused):
        error = what.error
        assert isinstance(error, SessionConflict)
        lied: Outcome = Refused(structs.replace(error, found=max(1, error.found + by)))
    elif isinstance(what.value, SessionLoaded | SessionSaved):
        lied = Done(structs.replace(what.value, version=max(1, what.value.version + by)))
    else:
        others = [it.value for _, _, it in events if isinstance(it, Set)]
        lied = Done(stream.pick([None, *others]))
    return [*events[:at], (op_id, agent, lied), *events[at + 1 :]]


def is_number(what: Request | Outcome) -> bool:
    value = what.value if isinstance(what, Done) else None
    return isinstance(what, Refused) or isinstance(value, SessionLoaded | SessionSaved | bytes)


def is_accepted(events: list[Event]) -> bool:
    sessions = SessionHistory()
    sessions.create("b", "c")
    try:
        for event in events:
            sessions.hear(event)
    except Broken:
        return False
    return True


def test_a_true_history_is_accepted() -> None:
    for seed in range(60):
        events = make_history(Stream(seed, "history"), 40)
        assert is_linearizable(history_of(events)), seed
        assert is_accepted(events), seed


def test_a_lie_is_refused_iff_no_order_explains_it() -> None:
    refused = explained = 0
    for seed in range(SEEDS):
        events = lie(Stream(seed, "lie"), make_history(Stream(seed, "history"), 30))
        is_explained = is_linearizable(history_of(events))
        assert is_accepted(events) == is_explained, seed
        refused, explained = refused + (not is_explained), explained + is_explained
    assert min(refused, explained) > 20
