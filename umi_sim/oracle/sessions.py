"""What saved sessions may hold: acknowledged versions must be there, unanswered saves may be.

Law 1. Of two saves from one version at most one is acknowledged.
Law 2. A save is told the version after the one that its memory loaded or saved last; what was loaded
       meanwhile is none the newer for it.
Law 3. A load gives an acknowledged version or a later one that may have happened, never an older one, and
       never to an agent that is no member.
"""

import attrs

from umi_core.effects import Outcome, Refused
from umi_core.errors import SessionConflict
from umi_core.inputs import CreateSession, LoadSession, SaveSession
from umi_core.results import SessionCreated, SessionLoaded, SessionSaved
from umi_sim.oracle.working import Twin
from umi_sim.verdict import Broken


@attrs.frozen
class Saved:
    """A working tier as it may have been saved: the twin, and the saving clock."""

    twin: Twin
    saved_ms: int

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
class Session:
    """One session: what each version may hold, the newest acknowledged one, saves without an answer."""

    user: str
    versions: dict[int, list[Saved]]
    must: int
    members: dict[str, None]
    may: list[Saved] = attrs.field(factory=list)
    may_members: dict[str, None] = attrs.field(factory=dict)


@attrs.define
class OpenSave:
    """A save on its way, and what it may have packed at its begin."""

    must_at_issue: dict[str, int]
    hand_to: tuple[str, ...]
    candidates: list[Saved]

    def of(self, session_id: str, version: int) -> list[Saved]:
        """What it may save as this version."""
        return [saved for saved in self.candidates if saved.is_to_be(session_id, version)]


@attrs.define
class SessionOracle:
    """All sessions of a world. Agents are told by (user, agent part of the scope)."""

    sessions: dict[str, Session] = attrs.field(factory=dict)
    open: list[OpenSave] = attrs.field(factory=list)

    def begin_save(self, request: SaveSession, twins: list[Twin], now_ms: int) -> OpenSave:
        must = {key: session.must for key, session in self.sessions.items()}
        save = OpenSave(must, as_members(request.hand_to), [Saved(twin.copy(), now_ms) for twin in twins])
        self.open.append(save)
        return save

    def ended(self, save: OpenSave) -> None:
        """It was answered, or its agent crashed."""
        self.open = [other for other in self.open if other is not save]

    def created(
        self,
        user: str,
        agent: str,
        request: CreateSession,
        done: SessionCreated,
        twin: Twin,
        now_ms: int,
        is_sure: bool = True,
    ) -> None:
        """`is_sure`: it is there from now on; else it may be, and the id may be another one's."""
        known = self.sessions.get(done.session_id)
        if known is not None and not is_sure:
            return
        if known is not None and known.must:
            raise Broken("session-versions", f"create gave the id {done.session_id} a second time")
        members = dict.fromkeys((agent, *request.members))
        self.sessions[done.session_id] = Session(user, {1: [Saved(twin, now_ms)]}, int(is_sure), members)

    def saved(
        self, save: OpenSave, done: SessionSaved, twins: list[Twin], is_sure: bool = True
    ) -> list[Twin]:
        """The tiers as they may be now: one that was packed, and is still in place, has the new version.

        `is_sure`: it is stored from now on; else it may be.
        """
        session, version = self.sessions.get(done.session_id), done.version
        if session is None or not any(it.twin.session_id == done.session_id for it in save.candidates):
            told = f"save_session told of {done.session_id}, which was not open here"
            raise Broken("session-or-error", told)
        if version in session.versions or version <= save.must_at_issue.get(done.session_id, 0):
            raise Broken("session-versions", f"two saves of one session were both told version {version}")
        if not (packed := save.of(done.session_id, version)):
            found = sorted({it.twin.version for it in save.candidates})
            raise Broken("session-versions", f"saved as version {version} what came from version {found}")
        if is_sure:
            session.versions[version] = packed
            session.must = max(session.must, version)
            session.members |= dict.fromkeys(save.hand_to)
        else:
            self.may_have_saved(save)
        places = [saved.twin.place for saved in packed]
        return [attrs.evolve(it, version=version) if it.place in places else it for it in twins]

    def may_have_saved(self, save: OpenSave) -> None:
        for saved in save.candidates:
            session = self.sessions.get(saved.twin.session_id or "")
            if session is not None:
                session.may.append(saved)
                session.may_members |= dict.fromkeys(save.hand_to)

    def loaded(
        self, user: str, agent: str, request: LoadSession, must_at_issue: int, done: SessionLoaded
    ) -> list[Saved]:
        """What the loaded version may hold."""
        session = self.sessions.get(request.session_id)
        if session is None or session.user != user:
            raise Broken("session-or-error", f"loaded {request.session_id}, which was never created here")
        may_members = [name for save in self.open for name in save.hand_to]
        if agent not in (*session.members, *session.may_members, *may_members):
            told = f"{agent} is no member of {request.session_id} and loaded it"
            raise Broken("session-members-only", told)
        if done.version < must_at_issue:
            told = f"loaded version {done.version}, version {must_at_issue} was acknowledged"
            raise Broken("acknowledged-is-durable", told)
        may = [*session.may, *(saved for save in self.open for saved in save.candidates)]
        unsure = [saved for saved in may if saved.is_to_be(request.session_id, done.version)]
        found = session.versions.get(done.version, unsure)
        if not found:
            raise Broken("session-versions", f"loaded version {done.version}, which nobody saved")
        return found

    def not_found(self, user: str, agent: str, request: LoadSession, must_at_issue: int) -> None:
        session = self.sessions.get(request.session_id)
        if session is not None and session.user == user and must_at_issue > 0 and agent in session.members:
            told = f"session {request.session_id} was acknowledged and is not found"
            raise Broken("acknowledged-is-durable", told)

    def must_of(self, session_id: str) -> int:
        session = self.sessions.get(session_id)
        return session.must if session else 0


def as_members(value: object) -> tuple[str, ...]:
    """What a caller gave as agents; anything but a tuple is refused, and so hands over to nobody."""
    return value if isinstance(value, tuple) else ()


def is_conflict_true(save: OpenSave, outcome: Outcome) -> bool:
    """SessionConflict names a version that may have been here, and a newer one."""
    if not isinstance(outcome, Refused) or not isinstance(outcome.error, SessionConflict):
        return True
    expected = outcome.error.expected
    return outcome.error.found > expected and any(it.twin.version == expected for it in save.candidates)
