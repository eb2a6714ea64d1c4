"""What saved sessions may hold: acknowledged versions must be there, unanswered saves may be.

Law 1. Of two saves from one version at most one is acknowledged.
Law 2. A save is told the version after the one that its memory loaded or saved last; what was loaded
       meanwhile is none the newer for it.
Law 3. A load gives an acknowledged version or a later one that may have happened, never an older one, and
       never to an agent that is no member. What a load or a conflict has shown, no later reply takes back.
Law 4. Versions order all saves; so every history that passes is linearizable, and one that is not breaks a
       law at its first wrong reply (docs/decisions).
"""

import attrs

from umi_core.data import Data, Owner
from umi_core.errors import SessionConflict
from umi_core.invariants.broken import demand
from umi_core.messages.requests import EndSession, LoadSession, SaveSession
from umi_core.messages.results import SessionCreated, SessionLoaded, SessionSaved
from umi_core.values import Scope
from umi_sim.judge.oracle.model import Ending
from umi_sim.judge.oracle.twin import Twin
from umi_sim.record import rules


@attrs.define
class Saved:
    """A working tier as it may have been saved: the twin, and the saving clock. `is_refuted`: it was not."""

    twin: Twin
    saved_ms: int
    is_refuted: bool = False

    def at_load(self, now_ms: int) -> tuple[Twin, int]:
        """The tier after its rest, and how many entries expired meanwhile."""
        rest_ms = max(0, now_ms - self.saved_ms)
        live = {
            key: (value, now_ms + (expires_ms - self.saved_ms) - rest_ms)
            for key, (value, expires_ms) in self.twin.entries.items()
            if self.saved_ms < expires_ms and expires_ms - self.saved_ms > rest_ms
        }
        alive_count = sum(self.saved_ms < expires_ms for _, expires_ms in self.twin.entries.values())
        return attrs.evolve(self.twin, entries=live, dead={}), alive_count - len(live)

    def is_to_be(self, session_id: str, version: int) -> bool:
        return (self.twin.session_id, self.twin.version + 1) == (session_id, version)


@attrs.define
class Session(Owner):
    """One session: what each version may hold, and saves without an answer.

    `acknowledged`: versions that were. `must`: the newest one that was acknowledged or shown.
    """

    user: str
    versions: dict[int, list[Saved]]
    must: int
    members: dict[str, None]
    acknowledged: dict[int, None]
    may: list[Saved] = attrs.field(factory=list)
    may_members: dict[str, None] = attrs.field(factory=dict)


@attrs.define
class OpenSave(Owner):
    """A save on its way, and what it may have packed at its begin."""

    must_at_issue: dict[str, int]
    hand_to: tuple[str, ...]
    candidates: list[Saved]

    def of(self, session_id: str, version: int) -> list[Saved]:
        """What it may save as this version."""
        return [saved for saved in self.candidates if saved.is_to_be(session_id, version)]


@attrs.frozen
class OpenLoad(Data):
    """What was certain when a load was issued: the version that must be there, and whether it may be seen."""

    must: int
    is_member: bool


@attrs.define
class Sessions(Owner):
    """All sessions of a world. Agents are told apart by (user, agent part of the scope)."""

    sessions: dict[str, Session] = attrs.field(factory=dict)
    open: list[OpenSave] = attrs.field(factory=list)

    def wiped(self) -> None:
        """Storage is empty and every life has ended."""
        self.sessions.clear()
        self.open.clear()

    def begin_save(self, request: SaveSession, twins: list[Twin], now_ms: int) -> OpenSave:
        must = {key: session.must for key, session in self.sessions.items()}
        save = OpenSave(must, as_members(request.hand_to), [Saved(twin.copy(), now_ms) for twin in twins])
        self.open.append(save)
        return save

    def end_save(self, save: OpenSave) -> None:
        """It was answered, or its agent crashed."""
        self.open = [other for other in self.open if other is not save]

    def judge_create(self, scope: Scope, ending: Ending, done: SessionCreated, twin: Twin) -> None:
        """It is there from now on; if that is not sure, it may be, and the id may be another one's."""
        known = self.sessions.get(done.session_id)
        if known is not None and not ending.is_sure:
            return
        is_new = known is None or not known.must
        demand(is_new, rules.SESSION_VERSIONS, f"create gave the id {done.session_id} a second time")
        members = dict.fromkeys((scope.agent, *ending.request.members))
        acknowledged = {1: None} if ending.is_sure else {}
        versions = {1: [Saved(twin, ending.now_ms)]}
        self.sessions[done.session_id] = Session(
            scope.user, versions, int(ending.is_sure), members, acknowledged
        )

    def judge_save(self, save: OpenSave, done: SessionSaved, twins: list[Twin], is_sure: bool) -> list[Twin]:
        """The tiers as they may be now: one that was packed, and is still in place, has the new version.

        `is_sure`: it is stored from now on; else it may be, and the version may be another one's.
        """
        session, version = self.sessions.get(done.session_id), done.version
        is_open = any(it.twin.session_id == done.session_id for it in save.candidates)
        message = f"save_session told of {done.session_id}, which was not open here"
        demand(session and is_open, rules.SESSION_OR_ERROR, message)
        assert session is not None
        is_taken = version in session.acknowledged or version <= save.must_at_issue.get(done.session_id, 0)
        message = f"two saves of one session were both told version {version}"
        demand(not (is_sure and is_taken), rules.SESSION_VERSIONS, message)
        packed = save.of(done.session_id, version)
        found = sorted({it.twin.version for it in save.candidates})
        demand(packed, rules.SESSION_VERSIONS, f"saved as version {version} what came from version {found}")
        if is_sure:
            shown = session.versions.get(version, packed)
            session.versions[version] = packed = [saved for saved in packed if saved in shown]
            message = f"version {version} was loaded as somebody else's, and then saved"
            demand(packed, rules.NO_LOST_UPDATE, message)
            session.acknowledged[version] = None
            session.must = max(session.must, version)
            session.members |= dict.fromkeys(save.hand_to)
        else:
            self.may_have_saved(save)
        places = [saved.twin.place for saved in packed]
        return [attrs.evolve(it, version=version) if it.place in places else it for it in twins]

    def take_back(self, save: OpenSave) -> None:
        """It changed nothing: no version is what it would have saved."""
        for saved in save.candidates:
            saved.is_refuted = True
        for session in self.sessions.values():
            for version, found in session.versions.items():
                session.versions[version] = [saved for saved in found if not saved.is_refuted]
                message = f"version {version} was loaded, then its save failed"
                demand(session.versions[version], rules.NO_LOST_UPDATE, message)

    def judge_conflict(self, save: OpenSave, conflict: SessionConflict) -> None:
        """Somebody else's save came first: one that there was, and no older one than was certain."""
        for saved in save.candidates:
            session_id, found = saved.twin.session_id or "", conflict.found
            session = self.sessions.get(session_id)
            if session is None or not saved.twin.version == conflict.expected < found:
                continue
            there = session.versions.get(found) or self.possible(session_id, found)
            if there and found >= save.must_at_issue.get(session_id, 0):
                self.show(session_id, found, there)
                break
        else:
            message = f"a save was refused: {conflict.expected} was expected, {conflict.found} found"
            demand(
                False, rules.SESSION_VERSIONS, f"{message}; made from another version, or nobody saved that"
            )

    def possible(self, session_id: str, version: int) -> list[Saved]:
        """Saves without an answer that may have become this version."""
        under_way = [saved for save in self.open for saved in save.of(session_id, version)]
        may = self.sessions[session_id].may
        return [saved for saved in may if saved.is_to_be(session_id, version)] + under_way

    def show(self, session_id: str, version: int, kept: list[Saved]) -> None:
        """A load, or a conflict, has shown this version, which is one of these."""
        session = self.sessions[session_id]
        session.must = max(session.must, version)
        session.versions[version] = kept

    def settle(self, session_id: str, kept: list[Twin]) -> None:
        """A reply of one who loaded a version tells what it held, for everybody."""
        session, left = self.sessions[session_id], [saved for twin in kept for saved in twin.origins]
        for version, found in session.versions.items():
            if any(saved in left for saved in found):
                for saved in found:
                    saved.is_refuted = saved not in left
                session.versions[version] = [saved for saved in found if saved in left]

    def may_have_saved(self, save: OpenSave) -> None:
        for saved in save.candidates:
            session = self.sessions.get(saved.twin.session_id or "")
            if session is not None:
                session.may.append(saved)
                session.may_members |= dict.fromkeys(save.hand_to)

    def begin_load(self, user: str, agent: str, session_id: str) -> OpenLoad:
        session = self.sessions.get(session_id)
        is_member = session is not None and session.user == user and agent in session.members
        return OpenLoad(session.must if session else 0, is_member)

    def judge_load(
        self, scope: Scope, request: LoadSession, load: OpenLoad, done: SessionLoaded
    ) -> list[Saved]:
        """What the loaded version may hold."""
        session = self.judge_member(scope, request.session_id, "loaded")
        message = f"loaded version {done.version}, version {load.must} was acknowledged, or shown before"
        demand(done.version >= load.must, rules.ACKNOWLEDGED_IS_DURABLE, message)
        found = session.versions.get(done.version) or self.possible(request.session_id, done.version)
        demand(found, rules.SESSION_VERSIONS, f"loaded version {done.version}, which nobody saved")
        return found

    def judge_member(self, scope: Scope, session_id: str, did: str) -> Session:
        """Whoever loads or ends a session is one of its members."""
        session = self.sessions.get(session_id)
        is_known = session is not None and session.user == scope.user
        demand(is_known, rules.SESSION_OR_ERROR, f"{did} {session_id!r}, which was never created here")
        assert session is not None
        may_members = [name for save in self.open for name in save.hand_to]
        is_member = scope.agent in (*session.members, *session.may_members, *may_members)
        message = f"{scope.agent} is no member of {session_id} and {did} it"
        demand(is_member, rules.SESSION_MEMBERS_ONLY, message)
        return session

    def judge_missing(self, request: LoadSession | EndSession, load: OpenLoad) -> None:
        is_due = load.must and load.is_member
        message = f"session {request.session_id} was acknowledged and is not found"
        demand(not is_due, rules.ACKNOWLEDGED_IS_DURABLE, message)


def as_members(value: object) -> tuple[str, ...]:
    """What a caller gave as agents; anything but a tuple is refused, and so hands over to nobody."""
    return value if isinstance(value, tuple) else ()
