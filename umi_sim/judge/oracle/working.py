"""Judge the working tier and its sessions, by twins (possible working tiers) and possible saves."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import structs

from umi_core import errors
from umi_core.config import Config
from umi_core.data import Data, Mutable, Owner
from umi_core.declared import complete
from umi_core.errors import Error, SessionConflict
from umi_core.limits import I64_MAX, I64_MIN, TTL_MS_MAX, WORKING_KEY_BYTES_MAX, WORKING_VALUE_BYTES_MAX
from umi_core.messages import requests
from umi_core.messages.answers import Answer, Committed
from umi_core.messages.effects import Commit, Done, Outcome, Refused, Unknown
from umi_core.messages.requests import CreateSession, EndSession, LoadSession, SaveSession, bad_request
from umi_core.messages.results import Remembered, SessionCreated, SessionLoaded, SessionSaved
from umi_core.rows import Receipt
from umi_core.text import cut
from umi_core.values import Scope
from umi_sim.judge.oracle.handoffs import Declared, Handoffs
from umi_sim.judge.oracle.model import Ending, OracleModel, Surroundings
from umi_sim.judge.plain.requests import may_hold
from umi_sim.record import rules
from umi_sim.record.broken import demand
from umi_sim.record.rules import Rule
from umi_sim.record.run_config import RunConfig
from umi_sim.services.calls import Call

# The working tier as a dict with a deadline for each key: simpler than the memory, and independent of it.
#
# For example, after `Set("k", b"1", ttl_ms=10)` at 100 a twin answers `Get("k")` with `b"1"` up to 109, and
# with nothing from 110 on.


Answered = tuple[str, object]
SURROGATE: Final = re.compile("[\ud800-\udfff]")
NUMBER: Final = re.compile(rb"[+-]?[0-9]{1,20}")
DONE: Final = "done"
ANY_TEXT: Final = object()
FACTS_MAX: Final = 100
KEYS_ALONE: Final = ("keys",)


class WorkingTwin(Mutable):
    """One possible working tier. `dead`: the last deadlines of expired keys, to choose the broken rule.

    `version`: that of the session when it was loaded or last saved; `place`: how many sessions were opened
    before. `facts`: the ids of the last facts of the session; `left_out`: how many facts were stored before
    these. `origins`: the saves from which it may have been loaded.
    """

    config: Config
    entries: dict[str, tuple[bytes, int]] = {}
    expired: int = 0
    session_id: str | None = None
    started_ms: int | None = None
    interactions: int = 0
    last_input: str | None = None
    last_query: str | None = None
    version: int = 0
    place: int = 0
    facts: tuple[str, ...] = ()
    left_out: int = 0
    dead: dict[str, int] = {}
    origins: tuple[object, ...] = ()
    uncompared = ("origins",)

    def copy(self) -> "WorkingTwin":
        return structs.replace(self, entries=dict(self.entries), dead=dict(self.dead))

    def put_in_place_of(self, old: "WorkingTwin") -> "WorkingTwin":
        """Return this session, opened in place of another one, with the other's count of expired entries."""
        return structs.replace(self.copy(), expired=old.expired, place=old.place + 1)

    def add_facts(self, ids: tuple[str, ...]) -> None:
        """Add these facts to the session, which keeps the last hundred."""
        every = [key for key in self.facts if key not in ids] + list(dict.fromkeys(ids))
        self.left_out += len(every[:-FACTS_MAX])
        self.facts = tuple(every[-FACTS_MAX:])

    def bytes_used(self) -> int:
        return sum([len(key.encode()) + len(value) for key, (value, _) in self.entries.items()])

    def expire(self, now_ms: int) -> None:
        for key in [key for key, (_, expires_ms) in self.entries.items() if expires_ms <= now_ms]:
            self.dead[key] = self.entries.pop(key)[1]
            self.expired += 1

    def answer(self, request: requests.WorkingRequest, now_ms: int) -> Answered:
        self.expire(now_ms)
        return RULES[type(request)](self, request, now_ms)

    def put(self, key: str, value: bytes, expires_ms: int, result: object = None) -> Answered:
        if len(value) > WORKING_VALUE_BYTES_MAX:
            return "EntryTooLarge", (len(value), WORKING_VALUE_BYTES_MAX)
        old = self.entries.get(key)
        more = len(value) - len(old[0]) if old else len(value) + len(key.encode())
        used, most = self.bytes_used(), self.config.working_bytes_max
        # Both errors name what is used and the limit; WorkingFull also has the size of the whole entry. A
        # replaced value frees its bytes first, and its key counts once.
        if used + more > most:
            return "WorkingFull", (used, most, len(key.encode()) + len(value))
        if old is None and len(self.entries) >= self.config.working_entry_count_max:
            return "TooManyEntries", (len(self.entries), self.config.working_entry_count_max)
        self.entries[key] = (value, expires_ms)
        return DONE, result

    def renew_deadline(self, key: str, now_ms: int) -> int:
        old_ms = self.entries[key][1] if key in self.entries else 0
        # Incr, append and touch renew the deadline by the default time to live, but never shorten it.
        return max(old_ms, now_ms + self.config.working_ttl_ms_default)

    def look(self, key: str) -> object:
        if key in self.entries:
            return self.entries[key][0]
        return self.read_reserved(key) if self.config.auto_populate else None

    def read_reserved(self, key: str) -> object:
        shown: dict[str, object] = {
            "__session_id": self.session_id, "__session_start_ms": self.started_ms,
            "__interaction_count": self.interactions, "__last_input": self.last_input,
            "__last_query": self.last_query,
        }  # fmt: skip
        # Only the archive model knows the names of the entities, so any text is accepted here.
        if key == "__last_entities":
            return ANY_TEXT if self.last_input is not None else None
        value = shown.get(key)
        return None if value is None else str(value).encode()


def bad_key(key: object, is_write: bool) -> str | None:
    if not isinstance(key, str) or SURROGATE.search(key):
        return "BadText"
    if is_write and key.startswith("__"):
        return "ReservedKey"
    return "KeyTooLong" if len(key.encode()) > WORKING_KEY_BYTES_MAX else None


def is_whole_number(value: object, low: int, high: int) -> bool:
    return type(value) is int and low <= value <= high


def on_set(twin: WorkingTwin, request: requests.Set, now_ms: int) -> Answered:
    if problem := bad_key(request.key, True):
        return problem, None
    if type(request.value) is not bytes:
        return "BadOption", None
    ttl_ms = twin.config.working_ttl_ms_default if request.ttl_ms is None else request.ttl_ms
    if not is_whole_number(ttl_ms, 1, TTL_MS_MAX):
        return "BadTtl", None
    return twin.put(request.key, request.value, now_ms + ttl_ms)


def on_get(twin: WorkingTwin, request: requests.Get, now_ms: int) -> Answered:
    problem = bad_key(request.key, False)
    return (problem, None) if problem else (DONE, twin.look(request.key))


def on_exists(twin: WorkingTwin, request: requests.Exists, now_ms: int) -> Answered:
    problem = bad_key(request.key, False)
    return (problem, None) if problem else (DONE, twin.look(request.key) is not None)


def on_delete(twin: WorkingTwin, request: requests.Delete, now_ms: int) -> Answered:
    problem = bad_key(request.key, True)
    return (problem, None) if problem else (DONE, twin.entries.pop(request.key, None) is not None)


def on_incr(twin: WorkingTwin, request: requests.Incr, now_ms: int) -> Answered:
    if problem := bad_key(request.key, True):
        return problem, None
    if not is_whole_number(request.delta, I64_MIN, I64_MAX):
        return "BadDelta", None
    text = twin.entries[request.key][0] if request.key in twin.entries else b"0"
    # The longest valid number, -9223372036854775808, has 20 characters; "+" and 20 digits have more.
    if not NUMBER.fullmatch(text) or len(text) > 20 or not I64_MIN <= int(text) <= I64_MAX:
        return "TypeMismatch", None
    number = int(text) + request.delta
    if not I64_MIN <= number <= I64_MAX:
        return "Overflow", (int(text), request.delta)
    return twin.put(request.key, str(number).encode(), twin.renew_deadline(request.key, now_ms), number)


def on_append(twin: WorkingTwin, request: requests.Append, now_ms: int) -> Answered:
    if problem := bad_key(request.key, True):
        return problem, None
    if type(request.value) is not bytes:
        return "BadOption", None
    old = twin.entries[request.key][0] if request.key in twin.entries else b""
    return twin.put(request.key, old + request.value, twin.renew_deadline(request.key, now_ms))


def on_touch(twin: WorkingTwin, request: requests.Touch, now_ms: int) -> Answered:
    if problem := bad_key(request.key, True):
        return problem, None
    if request.key not in twin.entries:
        return "KeyNotFound", None
    twin.entries[request.key] = (twin.entries[request.key][0], twin.renew_deadline(request.key, now_ms))
    return DONE, None


def on_sweep(twin: WorkingTwin, request: requests.Sweep, now_ms: int) -> Answered:
    expired, twin.expired = twin.expired, 0
    return DONE, expired


def on_clear(twin: WorkingTwin, request: requests.Clear, now_ms: int) -> Answered:
    count = len(twin.entries)
    twin.entries.clear()
    return DONE, count


def on_len(twin: WorkingTwin, request: requests.Len, now_ms: int) -> Answered:
    return DONE, len(twin.entries)


def on_bytes(twin: WorkingTwin, request: requests.Bytes, now_ms: int) -> Answered:
    return DONE, twin.bytes_used()


RULES: Final[Mapping[type, Callable[..., Answered]]] = complete("answer of the twin", requests.WORKING, {
    requests.Set: on_set, requests.Get: on_get, requests.Exists: on_exists, requests.Delete: on_delete,
    requests.Incr: on_incr, requests.Append: on_append,
    requests.Touch: on_touch, requests.Sweep: on_sweep, requests.Clear: on_clear,
    requests.Len: on_len, requests.Bytes: on_bytes,
}, "umi_sim/judge/oracle/working.py")  # fmt: skip


# Saved sessions: acknowledged versions must be stored, versions of unanswered saves may be.
#
# Law 1. Of two saves from one version at most one is acknowledged.
# Law 2. The reply to a save has the version after the one that its memory last loaded or saved. A session
# that was loaded in the meantime keeps its version.
# Law 3. A load returns the newest acknowledged version or a later one that may have been saved, and only to
# members of the session. Once a version was shown, no older one may be loaded.
# Law 4. Versions order all saves. So every history that passes is linearizable, and any other history breaks
# a law at its first wrong reply (docs/decisions).


class SavedTwin(Mutable):
    """A working tier that may have been saved, and the time of the save. `is_refuted`: it was not saved.

    `agent`: the saving agent, which has its facts and messages; `carries`: the declaration of the save.
    """

    twin: WorkingTwin
    saved_ms: int
    agent: str
    carries: tuple[str, ...] = KEYS_ALONE
    is_refuted: bool = False

    @property
    def declared(self) -> Declared:
        return Declared(self.agent, self.carries, self.twin.facts)

    def at_load(self, now_ms: int) -> tuple[WorkingTwin, int]:
        """Return the tier if loaded at `now_ms`, and how many entries have expired since the save."""
        # Saved at 100 with a deadline of 150: loaded at 120 it has 30 ms left, loaded at 150 it has expired.
        rest_ms = max(0, now_ms - self.saved_ms)
        live = {
            key: (value, now_ms + (expires_ms - self.saved_ms) - rest_ms)
            for key, (value, expires_ms) in self.twin.entries.items()
            if self.saved_ms < expires_ms and expires_ms - self.saved_ms > rest_ms
        }
        alive_count = sum(self.saved_ms < expires_ms for _, expires_ms in self.twin.entries.values())
        return structs.replace(self.twin, entries=live, dead={}), alive_count - len(live)

    def is_to_be(self, session_id: str, version: int) -> bool:
        return (self.twin.session_id, self.twin.version + 1) == (session_id, version)


class Session(Owner):
    """One session. `versions`: possible saves by version. `must`: the newest version acknowledged or shown.

    `acknowledged`: acknowledged versions. `may`, `may_members`: those of saves with an unknown outcome.
    """

    user: str
    versions: dict[int, list[SavedTwin]]
    must: int
    members: dict[str, None]
    acknowledged: dict[int, None]
    may: list[SavedTwin] = []
    may_members: dict[str, None] = {}


class OpenSave(Owner):
    """A save in flight, and the tiers that it may save."""

    must_at_issue: dict[str, int]
    hand_to: tuple[str, ...]
    candidates: list[SavedTwin]

    def list_candidates(self, session_id: str, version: int) -> list[SavedTwin]:
        """List the tiers that this save may store as this version."""
        return [saved for saved in self.candidates if saved.is_to_be(session_id, version)]


class OpenLoad(Data):
    """A load in flight. `must`: the oldest version that it may return. `is_member`: its agent may load it.

    `positions`: by agent of the user, the position of its archive when the load was issued.
    """

    must: int
    is_member: bool
    positions: Mapping[str, int]


class SessionsModel(Owner):
    """All sessions of a world. `open`: saves in flight."""

    sessions: dict[str, Session] = {}
    open: list[OpenSave] = []

    def observe_wipe(self) -> None:
        """Forget all sessions: storage is empty and every incarnation has ended."""
        self.sessions.clear()
        self.open.clear()

    def begin_save(self, request: SaveSession, agent: str, twins: list[WorkingTwin], now_ms: int) -> OpenSave:
        must = {key: session.must for key, session in self.sessions.items()}
        carries = as_texts(request.carries)
        packed = [twin.copy() if "keys" in carries else without_keys(twin) for twin in twins]
        candidates = [SavedTwin(twin, now_ms, agent, carries) for twin in packed]
        save = OpenSave(must, as_texts(request.hand_to), candidates)
        self.open.append(save)
        return save

    def end_save(self, save: OpenSave) -> None:
        """Remove a save that was answered, or whose agent has crashed."""
        self.open = [other for other in self.open if other is not save]

    def judge_create(self, scope: Scope, ending: Ending, done: SessionCreated, twin: WorkingTwin) -> None:
        """Add a session. If it may not be stored, another session may have the same id."""
        known = self.sessions.get(done.session_id)
        if known is not None and not ending.is_sure:
            return
        members = dict.fromkeys((scope.agent, *ending.request.members))
        acknowledged = {1: None} if ending.is_sure else {}
        if known is not None and known.must:
            # The session may be loaded before the reply to its create:
            #   create   commits s1 ......................... reply: s1
            #   load                  s1, version 1
            is_new = 1 not in known.acknowledged
            demand(is_new, rules.SESSION_VERSIONS, f"create_session gave {done.session_id} a second time")
            known.acknowledged |= acknowledged
            known.members |= members
            return
        versions = {1: [SavedTwin(twin, ending.now_ms, scope.agent)]}
        self.sessions[done.session_id] = Session(
            scope.user, versions, int(ending.is_sure), members, acknowledged
        )

    def judge_save(
        self, save: OpenSave, done: SessionSaved, twins: list[WorkingTwin], is_sure: bool
    ) -> list[WorkingTwin]:
        """Return the possible tiers after a save; if the saved session is still open, it has the new version.

        `is_sure`: the save is certainly stored; otherwise another save may have the same version.
        """
        session, version = self.sessions.get(done.session_id), done.version
        is_open = any(it.twin.session_id == done.session_id for it in save.candidates)
        message = f"save_session replied {done.session_id}, which was not open here"
        demand(session and is_open, rules.SESSION_OR_ERROR, message)
        assert session is not None
        is_taken = version in session.acknowledged or version <= save.must_at_issue.get(done.session_id, 0)
        message = f"two saves of one session have version {version}"
        demand(not (is_sure and is_taken), rules.SESSION_VERSIONS, message)
        packed = save.list_candidates(done.session_id, version)
        found = sorted({it.twin.version for it in save.candidates})
        demand(packed, rules.SESSION_VERSIONS, f"saved as version {version} what came from version {found}")
        counts = [it.twin.left_out if "facts" in it.carries else 0 for it in packed]
        is_counted, message = done.left_out_count in counts, "the number of facts that a save leaves out"
        demand(is_counted, rules.HANDOFF_AS_DECLARED, message, counts, done.left_out_count)
        if is_sure:
            # If a load has shown this version before the reply
            # to its save, only the loaded tiers are possible.
            shown = session.versions.get(version, packed)
            session.versions[version] = packed = [saved for saved in packed if saved in shown]
            message = f"version {version} was loaded with other entries than were saved"
            demand(packed, rules.NO_LOST_UPDATE, message)
            session.acknowledged[version] = None
            session.must = max(session.must, version)
            session.members |= dict.fromkeys(save.hand_to)
        else:
            self.may_have_saved(save)
        places = [saved.twin.place for saved in packed]
        # A session that was loaded while the save was in flight keeps its own version (law 2):
        #   save   packs s1, version 2 ............................ reply: 3
        #   load           s2 replaces s1, version 7                still 7
        return [structs.replace(it, version=version) if it.place in places else it for it in twins]

    def take_back(self, save: OpenSave) -> None:
        """Refute a save that failed: it has made no version."""
        for saved in save.candidates:
            saved.is_refuted = True
        for session in self.sessions.values():
            for version, found in session.versions.items():
                session.versions[version] = [saved for saved in found if not saved.is_refuted]
                message = f"version {version} was loaded, and its save has failed"
                demand(session.versions[version], rules.NO_LOST_UPDATE, message)

    def judge_conflict(self, save: OpenSave, conflict: SessionConflict) -> None:
        """Demand that another save came first, with a possible version."""
        for saved in save.candidates:
            session_id, found = saved.twin.session_id or "", conflict.found
            session = self.sessions.get(session_id)
            if session is None or not saved.twin.version == conflict.expected < found:
                continue
            there = session.versions.get(found) or self.list_possible(session_id, found)
            if there and found >= save.must_at_issue.get(session_id, 0):
                self.show(session_id, found, there)
                break
        else:
            message = "no save explains a conflict"
            demand(False, rules.SESSION_VERSIONS, message, conflict.expected, conflict.found)

    def list_possible(self, session_id: str, version: int) -> list[SavedTwin]:
        """List saves without a reply that may have made this version."""
        # A save without a reply may be durable, and another memory may load it.
        under_way = [saved for save in self.open for saved in save.list_candidates(session_id, version)]
        may = self.sessions[session_id].may
        return [saved for saved in may if saved.is_to_be(session_id, version)] + under_way

    def show(self, session_id: str, version: int, kept: list[SavedTwin]) -> None:
        """Record that a load or a conflict has shown this version; `kept`: the saves that it may be."""
        session = self.sessions[session_id]
        session.must = max(session.must, version)
        session.versions[version] = kept

    def settle(self, session_id: str, kept: list[WorkingTwin]) -> None:
        """Remove the saves that a reply in a loaded session refutes, for all memories."""
        session, left = self.sessions[session_id], [saved for twin in kept for saved in twin.origins]
        for version, found in session.versions.items():
            if any(saved in left for saved in found):
                for saved in found:
                    # Other memories may have loaded this version as well;
                    # their twins from these saves are refuted, too.
                    saved.is_refuted = saved not in left
                session.versions[version] = [saved for saved in found if saved in left]

    def may_have_saved(self, save: OpenSave) -> None:
        for saved in save.candidates:
            session = self.sessions.get(saved.twin.session_id or "")
            if session is not None:
                session.may.append(saved)
                session.may_members |= dict.fromkeys(save.hand_to)

    def begin_load(self, scope: Scope, session_id: str, positions: Mapping[str, int]) -> OpenLoad:
        session = self.sessions.get(session_id)
        is_member = session is not None and session.user == scope.user and scope.agent in session.members
        return OpenLoad(session.must if session else 0, is_member, positions)

    def judge_load(
        self, scope: Scope, request: LoadSession, load: OpenLoad, done: SessionLoaded
    ) -> list[SavedTwin]:
        """Return the saves that the loaded version may be."""
        session = self.judge_member(scope, request.session_id, "loaded")
        message = "the version that is loaded"
        demand(
            done.version >= load.must,
            rules.ACKNOWLEDGED_IS_DURABLE,
            message,
            f"{load.must} or later",
            done.version,
        )
        found = session.versions.get(done.version) or self.list_possible(request.session_id, done.version)
        demand(found, rules.SESSION_VERSIONS, f"loaded version {done.version}, which was never saved")
        return found

    def judge_member(self, scope: Scope, session_id: str, action: str) -> Session:
        """Demand that an agent that loads or ends a session is one of its members."""
        session = self.sessions.get(session_id)
        is_known = session is not None and session.user == scope.user
        demand(is_known, rules.SESSION_OR_ERROR, f"{action} {session_id!r}, which was never created here")
        assert session is not None
        may_members = [name for save in self.open for name in save.hand_to]
        is_member = scope.agent in (*session.members, *session.may_members, *may_members)
        message = f"{scope.agent} is no member of {session_id} and {action} it"
        demand(is_member, rules.SESSION_MEMBERS_ONLY, message)
        return session

    def judge_missing(self, request: LoadSession | EndSession, load: OpenLoad) -> None:
        is_required = load.must and load.is_member
        message = f"session {request.session_id} is not found, though it was acknowledged"
        demand(not is_required, rules.ACKNOWLEDGED_IS_DURABLE, message)


def without_keys(twin: WorkingTwin) -> WorkingTwin:
    """Return the session as saved without keys: without entries, inputs and queries."""
    return structs.replace(twin, entries={}, dead={}, interactions=0, last_input=None, last_query=None)


def as_texts(value: object) -> tuple[str, ...]:
    """Return a tuple from a caller; anything else is refused by the memory and counts as empty."""
    return value if isinstance(value, tuple) else ()


# The model of the working tier: a set of possible twins, from which each reply removes the wrong ones.
#
# Law 1. If a loaded session may be one of several, there is a twin for each. A reply must agree with at least
# one of them; the others are removed.
# Law 2. The reserved keys (`__last_input` and so on) follow remember and recall, in the order in which their
# batches became durable.


SHOWN_BYTES_MAX: Final = 200  # length of a text in a reserved key
OF_THE_TIER: Final = ("EntryTooLarge", "WorkingFull", "TooManyEntries", "Overflow")
"""Errors whose values a twin derives."""


class WorkingModel(OracleModel):
    """Judges the working tier of one memory.

    `twins`: the possible tiers. `counted`: remembers in flight that the reserved keys already show.
    """

    judges = tuple(sorted(requests.WORKING, key=lambda cls: cls.tag))
    watches = (requests.Remember, requests.Recall, requests.Retrieve, requests.Search)

    def __init__(self, scope: Scope, config: Config, sessions: SessionsModel) -> None:
        self.scope, self.config, self.sessions = scope, config, sessions
        self.twins = [WorkingTwin(config)]
        self.counted: dict[str, None] = {}
        self.list_stored_facts: Callable[[str], tuple[str, ...]] = lambda op_id: ()

    def observe_crash(self) -> None:
        self.twins = [WorkingTwin(self.config)]
        self.counted.clear()

    def observe_answer(self, call: Call, request: object, answer: Answer, now_ms: int) -> None:
        if isinstance(request, requests.Remember) and is_own_batch(call, answer):
            self.count_remember(call.op_id, request)

    def observe_reply(self, ending: Ending) -> None:
        request, outcome = ending.request, ending.outcome
        if isinstance(request, requests.WorkingRequest):
            self.judge(request, outcome, ending.now_ms, ending.reading_ms)
            return
        value = outcome.value if isinstance(outcome, Done) else None
        if isinstance(request, requests.Remember) and isinstance(value, Remembered) and not value.repeated:
            # A text without a new fact commits nothing, so it is counted at its reply.
            self.count_remember(ending.op_id, request)
        elif isinstance(request, requests.Recall | requests.Descent) and self.is_question(request, value):
            for twin in self.twins:
                twin.last_query = cut(request.query, SHOWN_BYTES_MAX)
        self.counted.pop(ending.op_id, None)

    def is_question(self, request: requests.Recall | requests.Descent, value: object) -> bool:
        """Return True if the request has searched.

        It has not if it asks for no level or no hit, or if its filter excludes its scopes.
        """
        if value is None:
            return False
        if isinstance(request, requests.Recall):
            scopes = [self.scope, *(Scope(self.scope.user, agent) for agent in request.shared)]
            return any(may_hold(request.where, "entities", it) for it in scopes)
        return getattr(value, "stop_reason", "") != "nothing_asked"

    def count_remember(self, op_id: str, request: requests.Remember) -> None:
        """Count a remember once; the reserved keys follow the order of commits, not that of replies."""
        if op_id in self.counted:
            return
        self.counted[op_id] = None
        for twin in self.twins:
            twin.interactions += 1
            twin.add_facts(self.list_stored_facts(op_id))
            twin.last_input = cut(request.text, SHOWN_BYTES_MAX)

    def judge(self, request: requests.WorkingRequest, outcome: Outcome, now_ms: int, reading_ms: int) -> None:
        """Keep the twins that explain the reply, here and in models that loaded the same session."""
        if isinstance(outcome, Refused):
            check_refusal(request, outcome.error)
        if len(self.twins) == 1:
            self.twins = keep_explaining(self.twins, request, outcome, now_ms, reading_ms)
            return
        # Replies to other memories may have refuted all twins;
        # `or self.twins` then judges the reply by all of them.
        possible = [twin for twin in self.twins if not is_refuted(twin)]
        self.twins = keep_explaining(possible or self.twins, request, outcome, now_ms, reading_ms)
        if len(self.twins) < len(possible):
            session_id = self.twins[0].session_id
            assert session_id is not None, "only a load makes several of one"
            self.sessions.settle(session_id, self.twins)

    def open_session(self, twins: list[WorkingTwin]) -> None:
        """Open a session, which may be any of `twins`, in place of the open one."""
        self.twins = merge([twin.put_in_place_of(old) for twin in twins for old in self.twins])

    def expire(self, now_ms: int) -> None:
        for twin in self.twins:
            twin.expire(now_ms)


def is_own_batch(call: Call, answer: Answer) -> bool:
    """Return True if a durable batch is the request's own, not that of an earlier one with the same key."""
    if not isinstance(call.effect, Commit) or not isinstance(answer, Committed):
        return False
    own = [write.body.by for write in call.effect.writes if isinstance(write.body, Receipt)]
    return not isinstance(answer.receipt, Receipt) or answer.receipt.by in own


def is_refuted(twin: WorkingTwin) -> bool:
    """Return True if all saves from which a twin may have been loaded are refuted."""
    found = [saved for saved in twin.origins if isinstance(saved, SavedTwin)]
    return bool(found) and all(saved.is_refuted for saved in found)


def merge(twins: list[WorkingTwin]) -> list[WorkingTwin]:
    """Merge equal twins into one."""
    kept: list[WorkingTwin] = []
    for twin in twins:
        if twin in kept:
            kept[kept.index(twin)].origins += twin.origins
        else:
            kept.append(twin)
    return kept


# One reply.


def keep_explaining(
    twins: list[WorkingTwin], request: requests.WorkingRequest, outcome: Outcome, now_ms: int, reading_ms: int
) -> list[WorkingTwin]:
    """Return the twins that explain the reply.

    If there are none, raise Broken with the rule that the reply most likely breaks.
    """
    got = (DONE, outcome.value) if outcome.__class__ is Done else answer_of(outcome)
    expected = [twin.answer(request, now_ms) for twin in twins]
    if expected == [got]:
        kept = twins
    else:
        # If two saves may be version 2, one with k = a and one with k = b, a Get("k") leaves one of them.
        kept = [twin for twin, answer in zip(twins, expected, strict=True) if agrees(answer, got)]
    if kept:
        # This only counts the rule as checked, so that `umi-sim` shows what a sweep has covered.
        demand(True, rule_at_stake(kept[0], request, got, now_ms, reading_ms), "")
        return kept
    rule = broken_rule(twins[0], request, expected[0], got, now_ms, reading_ms)
    key = getattr(request, "key", None)
    what = type(request).__name__.lower() + ("" if key is None else f" {key!r}")
    wanted, given = f"{what}: {describe(expected[0])}", f"{what}: {describe(got)}"
    demand(False, rule, f"{what} answered {describe(got)}", wanted, given)
    return []


def check_refusal(request: requests.WorkingRequest, error: Error) -> None:
    """Demand the right error for a malformed request; twins derive the errors of a full tier."""
    wanted, message = bad_request(request), f"the error of a malformed {type(request).__name__}"
    demand(wanted in (None, error), rules.REFERENCE_AGREES, message, wanted, error)


def answer_of(outcome: Outcome) -> Answered:
    if not isinstance(outcome, Refused):
        return type(outcome).__name__, None
    name = type(outcome.error).__name__
    return name, structs.astuple(outcome.error) if name in OF_THE_TIER else None


def agrees(expected: Answered, got: Answered) -> bool:
    return expected == got or (
        (expected[1] is ANY_TEXT and isinstance(got[1], bytes)) and expected[0] == got[0]
    )


def describe(answer: Answered) -> str:
    name, value = answer
    return repr(value) if name == DONE else name if value is None else f"{name} {value}"


LOOKS: Final = (requests.Get, requests.Exists, requests.Delete)
PUTS: Final = (requests.Set, requests.Incr, requests.Append)


def rule_of_death(died_ms: int, now_ms: int, reading_ms: int) -> Rule:
    """Return the rule that a reply breaks if it shows an entry that expired at `died_ms`."""
    if died_ms == now_ms:
        return rules.TTL_BOUNDARY
    # After the clock jumped back, expired entries stay expired.
    return rules.TIME_NEVER_REVIVES if reading_ms < now_ms else rules.TTL_CONTRACT


def rule_at_stake(
    twin: WorkingTwin, request: requests.WorkingRequest, got: Answered, now_ms: int, reading_ms: int
) -> Rule:
    """Return the rule that a wrong reply would have broken in place of this right one."""
    key = getattr(request, "key", "")
    if not isinstance(key, str):
        return rules.REFERENCE_AGREES
    if key.startswith("__"):
        return rules.SESSION_KEYS_TRUE
    if got[0] == "BadTtl":
        return rules.TTL_RANGE
    if request.__class__ in PUTS and got[0] == DONE:
        return rules.NO_SPURIOUS_REFUSAL
    if request.__class__ in LOOKS and key in twin.dead and key not in twin.entries:
        return rule_of_death(twin.dead[key], now_ms, reading_ms)
    return (
        rules.TTL_CONTRACT if request.__class__ in LOOKS and key in twin.entries else rules.REFERENCE_AGREES
    )


def broken_rule(
    twin: WorkingTwin,
    request: requests.WorkingRequest,
    expected: Answered,
    got: Answered,
    now_ms: int,
    reading_ms: int,
) -> Rule:
    key = getattr(request, "key", "")
    if isinstance(key, str) and key.startswith("__"):
        return rules.SESSION_KEYS_TRUE
    if "BadTtl" in (expected[0], got[0]):
        return rules.TTL_RANGE
    if got[0] == expected[0] != DONE:
        return rules.ERROR_SAYS_IT
    if got[0] in ("WorkingFull", "TooManyEntries"):
        return rules.NO_SPURIOUS_REFUSAL
    is_shown = got[0] == DONE and got[1] not in (None, False)
    if key in twin.dead and is_shown and request.__class__ in LOOKS:
        return rule_of_death(twin.dead[key], now_ms, reading_ms)
    if (
        expected[0] == DONE
        and isinstance(request, requests.Get | requests.Exists)
        and got[1] in (None, False)
    ):
        return rules.TTL_CONTRACT
    return rules.REFERENCE_AGREES


# The model of sessions: the replies of one memory to creating, saving and loading a session.
#
# `SessionsModel` has all sessions of a world. `SessionModel` has the saves and loads in flight of one memory,
# and the working tier that they save or replace.


class SessionModel(OracleModel):
    """Judges the sessions of one memory. `saves` and `loads` are in flight, by op_id."""

    judges = (CreateSession, SaveSession, LoadSession)
    watches = (EndSession,)

    def __init__(
        self,
        scope: Scope,
        run: RunConfig,
        surroundings: Surroundings,
        sessions: SessionsModel,
        working: WorkingModel,
    ) -> None:
        self.scope, self.run, self.surroundings = scope, run, surroundings
        self.sessions, self.working = sessions, working
        self.saves: dict[str, OpenSave] = {}
        self.loads: dict[str, OpenLoad] = {}
        self.handoffs = Handoffs(scope, surroundings)

    def observe_request(self, op_id: str, request: object, now_ms: int) -> None:
        if isinstance(request, SaveSession):
            self.saves[op_id] = self.sessions.begin_save(
                request, self.scope.agent, self.working.twins, now_ms
            )
        elif isinstance(request, LoadSession | EndSession):
            positions = self.handoffs.positions()
            self.loads[op_id] = self.sessions.begin_load(self.scope, request.session_id, positions)

    def observe_crash(self) -> None:
        for save in self.saves.values():
            self.sessions.end_save(save)
            self.sessions.may_have_saved(save)
        self.saves.clear()
        self.loads.clear()

    def observe_reply(self, ending: Ending) -> None:
        match ending.request:
            case CreateSession():
                self.judge_create(ending)
            case SaveSession():
                self.judge_save(ending)
            case LoadSession():
                self.judge_load(ending)
            case EndSession():
                self.judge_end(ending)

    def judge_create(self, ending: Ending) -> None:
        done = ending.value(SessionCreated)
        if done is None:
            return
        self.working.expire(ending.now_ms)
        # Entries that had expired before do not count as dropped.
        counts, got = [len(twin.entries) for twin in self.working.twins], done.dropped_count
        demand(got in counts, rules.REFERENCE_AGREES, "entries that create_session dropped", counts, got)
        fresh = WorkingTwin(
            self.working.config, session_id=done.session_id, started_ms=done.started_ms, version=1
        )
        self.sessions.judge_create(self.scope, ending, done, fresh)
        self.working.open_session([fresh])

    def judge_save(self, ending: Ending) -> None:
        save, outcome = self.saves.pop(ending.op_id), ending.outcome
        self.sessions.end_save(save)
        done = ending.value(SessionSaved)
        if done is not None:
            twins = self.sessions.judge_save(save, done, self.working.twins, ending.is_sure)
            self.working.twins = twins
        elif isinstance(outcome, Unknown):
            self.sessions.may_have_saved(save)
        elif not self.is_lost(save):
            if isinstance(outcome, Refused) and isinstance(outcome.error, errors.SessionConflict):
                self.sessions.judge_conflict(save, outcome.error)
            self.sessions.take_back(save)

    def is_lost(self, save: OpenSave) -> bool:
        """Return True if storage has lost an acknowledged version of this session."""
        return any(self.surroundings.atlas.explains(it.twin.session_id or "") for it in save.candidates)

    def judge_load(self, ending: Ending) -> None:
        load, outcome = self.loads.pop(ending.op_id), ending.outcome
        if isinstance(outcome, Refused):
            self.judge_refused_load(ending.request, outcome, load)
        done = ending.value(SessionLoaded)
        if done is None:
            return
        candidates = self.sessions.judge_load(self.scope, ending.request, load, done)
        self.working.expire(ending.now_ms)
        rested = [(saved, *saved.at_load(ending.now_ms)) for saved in candidates]
        fitting = [(saved, twin) for saved, twin, expired in rested if expired == done.expired_at_rest]
        counts = sorted({expired for _, _, expired in rested})
        message = "entries that expired between a save and its load"
        demand(fitting, rules.REST_TIME, message, counts, done.expired_at_rest)
        carried = [(saved, twin) for saved, twin in fitting if self.is_carried(ending, load, saved, done)]
        declared, got = [it.declared for it, _ in fitting], (done.facts, done.left_out_count, done.turns)
        message = f"what {ending.op_id} brings besides keys"
        demand(carried, rules.HANDOFF_AS_DECLARED, message, declared, got)
        self.sessions.show(ending.request.session_id, done.version, [saved for saved, _ in carried])
        twins = list[WorkingTwin]()
        for saved, twin in carried:
            loaded = structs.replace(twin, version=done.version, origins=(saved,))
            if saved.agent != self.scope.agent:  # the session's facts become those stored in this archive
                ids = tuple(it.id for it in done.facts.entities) if done.facts is not None else ()
                loaded = structs.replace(loaded, facts=ids, left_out=0)
            twins.append(loaded)
        self.working.open_session(twins)

    def is_carried(self, ending: Ending, load: OpenLoad, saved: SavedTwin, done: SessionLoaded) -> bool:
        """Return whether a load of this save may have brought these facts and messages."""
        session_id, declared, handoffs = ending.request.session_id, saved.declared, self.handoffs
        explains_facts = handoffs.explains(declared, ending.op_id, done)
        return explains_facts and handoffs.explains_turns(declared, session_id, load.positions, done.turns)

    def judge_refused_load(self, request: LoadSession, outcome: Refused, load: OpenLoad) -> None:
        name = type(outcome.error).__name__
        if isinstance(outcome.error, errors.SessionNotFound):
            self.sessions.judge_missing(request, load)
        elif name.startswith("Snapshot"):
            has_damage = "storage_bit_flip" in self.run.faults
            message = f"a load is refused with {name}, though no byte is ever damaged"
            demand(has_damage, rules.SNAPSHOT_GUARDED, message)

    def judge_end(self, ending: Ending) -> None:
        """Demand that only members of a session end it."""
        load, outcome = self.loads.pop(ending.op_id), ending.outcome
        if isinstance(outcome, Refused) and isinstance(outcome.error, errors.SessionNotFound):
            self.sessions.judge_missing(ending.request, load)
        elif isinstance(outcome, Done):
            self.sessions.judge_member(self.scope, ending.request.session_id, "ended")
