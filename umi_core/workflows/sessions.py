"""Sessions: the working tier as a row that its members hand on, with the names of the facts told in it.

Law 1. A save names the version it was made from; at most one of two saves from one version succeeds.
Law 2. A session lies in a scope of its own, (user, session id): no search, count or other memory meets it.
Law 3. A memory holds the version that it loaded or saved last; a save that is answered after a load says
       nothing of what was loaded:

    save    pack version 2 ............................ told: version 3; what is here comes from 2
    load                read version 2   put in place
"""

from typing import Final

from msgspec import structs

from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import Learned, Rejection, Step, Taken, Workflow, asks, retry
from umi_core.errors import Error, NoSession, SessionConflict, TooManyMembers
from umi_core.ids import session_id
from umi_core.limits import SESSION_MEMBER_COUNT_MAX
from umi_core.messages.answers import Committed, EffectFailed
from umi_core.messages.effects import Commit, Expect, Write
from umi_core.messages.requests import CreateSession, SaveSession
from umi_core.messages.results import SessionCreated, SessionSaved
from umi_core.rows import Address, SessionRow
from umi_core.tiers.session import SessionInfo, encode
from umi_core.tiers.working import WorkingTier, drop_expired
from umi_core.values import CARRIED, Scope
from umi_core.workflows.commits import LOST, PLAN, REPLY, STORED, Plan, ask_commit, take_commit

CREATE: Final = Fact("request", CreateSession)
SAVE: Final = Fact("request", SaveSession)
INFO: Final = Fact("info", SessionInfo)
PACKED: Final = Fact("packed", Plan)


def session_address(scope: Scope, row_id: str) -> Address:
    return Address(Scope(scope.user, row_id), "session", row_id)


def join_members(members: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...] | Error:
    """Return the members in order, each once, or the error that there are too many."""
    everyone = tuple(sorted({*members, *more}, key=str.encode))
    too_many = len(everyone) > SESSION_MEMBER_COUNT_MAX
    return TooManyMembers(len(everyone), SESSION_MEMBER_COUNT_MAX) if too_many else everyone


# create: an empty tier under a new id; an id that is taken counts on.


def take_new(facts: Facts, answer: None, view: View) -> Taken:
    members = join_members((view.scope.agent,), facts[CREATE].members)
    if isinstance(members, Error):
        return Rejection(members)
    row_id = session_id(view.scope, view.now_ms, view.plan_count - 1)
    info = SessionInfo(session_id=row_id, started_ms=view.now_ms, creator=view.scope.agent, members=members)
    created = SessionCreated(row_id, view.now_ms)
    return Learned(PLAN(plan_of(info, WorkingTier(), created, view)) | INFO(info))


def take_created(facts: Facts, answer: Committed, view: View) -> Learned:
    learned, tiers = take_commit(facts, answer, view), view.tiers
    stored = learned.facts[STORED.name]
    assert isinstance(stored, SessionCreated)
    # Entries that have expired count as expired; only the others are reported as dropped by this request.
    drop_expired(tiers.working, view.now_ms)
    dropped_count = len(tiers.working.entries)
    tiers.working = WorkingTier(expired_count=tiers.working.expired_count)
    info = structs.replace(facts[INFO], session_id=stored.session_id, started_ms=stored.started_ms, version=1)
    tiers.session = put_in_place(info, view)
    return Learned({**learned.facts, **STORED(structs.replace(stored, dropped_count=dropped_count))})


# save: the tier as it is at the begin, expecting the version this memory loaded or saved last. Packed once:
# each plan sends the same, so whichever of them wins, it is known which version was saved.


def take_packed(facts: Facts, answer: None, view: View) -> Taken:
    info = view.tiers.session
    if info.session_id is None:
        return Rejection(NoSession())
    members = join_members(info.members, facts[SAVE].hand_to)
    if isinstance(members, Error):
        return Rejection(members)
    request, left_count = facts[SAVE], info.left_out_count if "facts" in facts[SAVE].carries else 0
    saved = SessionSaved(info.session_id, info.version + 1, view.now_ms, left_count)
    info = structs.replace(info, members=members)
    return Learned(PACKED(plan_of(info, view.tiers.working, saved, view, request.carries)) | INFO(info))


def take_saved(facts: Facts, answer: None, view: View) -> Learned:
    return Learned(PLAN(facts[PACKED]))


def take_save(facts: Facts, answer: Committed, view: View) -> Learned:
    learned, info = take_commit(facts, answer, view), facts[INFO]
    stored = learned.facts[STORED.name]
    assert isinstance(stored, SessionSaved)
    if view.tiers.session.load_count == info.load_count:
        view.tiers.session = structs.replace(view.tiers.session, version=stored.version, members=info.members)
    return learned


def put_in_place(info: SessionInfo, view: View) -> SessionInfo:
    """Return the info of a session that replaces the current one, or another version of it."""
    # By the count the answer to a save knows whether its session is still here:
    #
    #     save A ................. answer: load_count differs, so B does not get the version of A
    #     load B    load_count 2
    return structs.replace(info, load_count=view.tiers.session.load_count + 1)


def plan_of(
    info: SessionInfo,
    working: WorkingTier,
    value: SessionCreated | SessionSaved,
    view: View,
    carries: tuple[str, ...] = ("keys",),
) -> Plan:
    assert info.session_id is not None
    if "keys" in carries:
        snapshot = encode(working, info, view.now_ms)
    else:
        # Neither its entries nor the keys that show what was said last.
        bare = SessionInfo(info.session_id, info.started_ms)
        snapshot = encode(WorkingTier(), bare, view.now_ms)
    # The ids of facts say nothing: they lie in the row undeclared, too, for the agent that goes on with it.
    row = SessionRow(
        info.session_id, view.scope.user, info.creator, info.members, view.now_ms, view.scope.agent,
        snapshot, tuple(part for part in CARRIED if part in carries), info.told, info.left_out_count,
    )  # fmt: skip
    where = session_address(view.scope, info.session_id)
    # A session that is created has version 0, so its row must be absent.
    return Plan(view.now_ms, (Write(where, row),), (Expect(where, info.version),), value=value)


def changed_by_another(facts: Facts, failure: EffectFailed, view: View) -> Error | None:
    """Return the conflict if the session row itself is newer: the caller must load it again.

    Planning again would overwrite the other save.
    """
    info = facts[INFO]
    assert info.session_id is not None
    versions = dict(failure.changed)
    where = session_address(view.scope, info.session_id)
    return SessionConflict(info.version, versions[where]) if where in versions else None


CREATE_SESSION = Workflow(
    "create_session",
    given=(CREATE,),
    steps=(
        Step("plan", requires=(CREATE,), produces=(PLAN, INFO), take=take_new),
        Step("commit", requires=(PLAN, INFO), produces=(STORED, LOST),
             **asks(Commit, ask_commit, take_created, retry(3, replan="plan"))),
        REPLY,
    ),
)  # fmt: skip

SAVE_SESSION = Workflow(
    "save_session",
    given=(SAVE,),
    steps=(
        Step("pack", requires=(SAVE,), produces=(PACKED, INFO), take=take_packed),
        Step("plan", requires=(PACKED,), produces=(PLAN,), take=take_saved),
        Step("commit", requires=(PLAN, INFO), produces=(STORED, LOST),
             **asks(Commit, ask_commit, take_save,
                    retry(3, replan="plan", conflict_error=changed_by_another))),
        REPLY,
    ),
)  # fmt: skip
