"""Sessions: the working tier as a row that members hand on, with the ids of the facts stored in the session.

    save    pack version 2 ........................... answer: version 3, but the tier is now that of 2
    load                read version 2   replace tier

    researcher   remember "Ann likes tea."   save, hand to the writer, carries facts      forget the fact
    writer                                                             load: gets the fact     load: no fact

Law 1. A save expects the version from which it was made, so of two saves from one version at most one
succeeds. Law 2. A session row has a scope of its own, (user, session id), so no search or count finds it.
Law 3. A memory keeps the version that it loaded or saved last. If a save is answered after a load, its
version is not that of the loaded session, so it is ignored. Law 4. A load checks everything before it changes
anything; a missing session, or one of which the agent is no member, is an error. Law 5. A session has the ids
of its facts, not their texts. A load reads the facts in the archive of the agent that saved the session, and
its commit expects them as read, so a forgotten or ended fact is never carried. Law 6. A carried fact is
stored as by a remember: a known one changes nothing; a new one is compared with known facts by the time of
its first statement. Law 7. A load reads only the parts that the save declared in `carries`.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import structs

from umi_core.chats.reader import read_chat_file
from umi_core.chats.values import ChatMessage
from umi_core.conditions import Condition
from umi_core.domains import ROLES
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import OUTCOME, Learned, Rejection, Step, TakeResult, Workflow, asks, retry
from umi_core.errors import Error, NoSession, SessionConflict, SessionNotFound, TooManyMembers
from umi_core.ids import session_id
from umi_core.language.dates import day_of
from umi_core.language.extraction import Mention
from umi_core.limits import SESSION_MEMBER_COUNT_MAX, TEXT_BYTES_MAX, TURN_CHARS_MAX, TURN_COUNT_MAX
from umi_core.messages.answers import Committed, EffectFailed, ReadDone
from umi_core.messages.effects import ByFilter, ByIds, Commit, Done, Expect, Read, Write
from umi_core.messages.requests import CreateSession, LoadSession, SaveSession
from umi_core.messages.results import Remembered, SessionCreated, SessionLoaded, SessionSaved
from umi_core.rows import Address, Entity, Resource, Row, SessionRow, bodies_of, body_as
from umi_core.text import size
from umi_core.tiers.session import SessionInfo, decode, encode
from umi_core.tiers.working import WorkingTier, drop_expired
from umi_core.values import CARRIED, Scope, Turn
from umi_core.workflows import remember
from umi_core.workflows.commits import (
    CORE,
    LOST,
    PLAN,
    REPLY,
    SETTLE,
    STORED,
    Plan,
    ask_commit,
    commit_row,
    index_rows,
    read_core,
    take_commit,
)
from umi_core.workflows.drafting import DRAFTS, Drafted, SharedOptions, chain_drafts, draft_fact, keep_ended
from umi_core.workflows.evolving import COMPARED_FROM, DROPPED, MENTIONS, STATED, STATED_ON

CREATE: Final = Fact("request", CreateSession)
SAVE: Final = Fact("request", SaveSession)
INFO: Final = Fact("info", SessionInfo)
PACKED: Final = Fact("packed", Plan)


def session_address(scope: Scope, row_id: str) -> Address:
    return Address(Scope(scope.user, row_id), "session", row_id)


def join_members(members: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...] | Error:
    """Return all members in order, without duplicates, or the error that there are too many."""
    everyone = tuple(sorted({*members, *more}, key=str.encode))
    too_many = len(everyone) > SESSION_MEMBER_COUNT_MAX
    return TooManyMembers(len(everyone), SESSION_MEMBER_COUNT_MAX) if too_many else everyone


# create: an empty tier under a new id; if the id is taken, the next plan tries the next one.


def take_new(facts: Facts, answer: None, view: View) -> TakeResult:
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
    # Expired entries are counted as expired, and not reported as dropped by this request.
    drop_expired(tiers.working, view.now_ms)
    dropped_count = len(tiers.working.entries)
    tiers.working = WorkingTier(expired_count=tiers.working.expired_count)
    info = structs.replace(facts[INFO], session_id=stored.session_id, started_ms=stored.started_ms, version=1)
    tiers.session = put_in_place(info, view)
    return Learned({**learned.facts, **STORED(structs.replace(stored, dropped_count=dropped_count))})


# save: the tier as it is when the operation begins. The commit expects the version that this memory loaded or
# saved last. The tier is packed once: all attempts write the same row, whichever of them is committed.


def take_packed(facts: Facts, answer: None, view: View) -> TakeResult:
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
    """Return the info of a session that replaces the current one, with a higher `load_count`.

    By this count the answer to a save recognises that another session was loaded since:

        save A ................. answer: load_count differs, so B does not get the version of A
        load B    load_count 2
    """
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
        # Without entries, and without the last input, query and names.
        bare = SessionInfo(info.session_id, info.started_ms)
        snapshot = encode(WorkingTier(), bare, view.now_ms)
    # Ids of facts reveal no text. They are stored even if facts are not declared, for the agent that saves:
    # it continues the list when it loads the session itself.
    row = SessionRow(
        info.session_id, view.scope.user, info.creator, info.members, view.now_ms, view.scope.agent,
        snapshot, tuple(part for part in CARRIED if part in carries), info.fact_ids, info.left_out_count,
    )  # fmt: skip
    where = session_address(view.scope, info.session_id)
    # A new session has version 0, so the commit expects that its row is absent.
    return Plan(view.now_ms, (Write(where, row),), (Expect(where, info.version),), value=value)


def changed_by_another(facts: Facts, failure: EffectFailed, view: View) -> Error | None:
    """Return the error if another save has changed the session row; None for other conflicts.

    The operation does not plan again, which would overwrite the other save: the caller must load first.
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
        Step("commit", requires=(PLAN, INFO), produces=(STORED, LOST), **asks(Commit, ask_commit, take_save,
                    retry(3, replan="plan", conflict_error=changed_by_another))),
        REPLY,
    ),
)  # fmt: skip


# Load: a saved session replaces the current one, and its facts are stored in this agent's archive.


LOAD: Final = Fact("request", LoadSession)
SESSION: Final = Fact("session", Row, ("session",))
TURNS: Final = Fact("turns", tuple[Turn, ...])
CARRIED_FACTS: Final = Fact("carried", tuple[Entity, ...])  # in the order in which they were stored

# read: the session row. A damaged session, or one without this agent as a member, ends the operation.


def ask_session(facts: Facts, view: View) -> Read:
    return Read(ByIds((session_address(view.scope, facts[LOAD].session_id),)))


def take_session(facts: Facts, answer: ReadDone, view: View) -> TakeResult:
    row = next(iter(answer.rows), None)
    body = body_as(row, SessionRow)
    if row is None or body is None or view.scope.agent not in body.members:
        return Rejection(SessionNotFound(facts[LOAD].session_id))
    loaded = decode(body.snapshot, view.now_ms, view.config)
    return Rejection(loaded) if isinstance(loaded, Error) else Learned(SESSION(row))


def body_of(facts: Facts) -> SessionRow:
    body = facts[SESSION].body
    assert isinstance(body, SessionRow)
    return body


def owner_of(facts: Facts, view: View) -> Scope:
    """Return the archive with the facts and messages of the session: that of the agent that saved it."""
    return Scope(view.scope.user, body_of(facts).saved_by)


# messages: the last messages of the conversations that the owner memorized in the session.


def ask_messages(facts: Facts, view: View) -> Read | None:
    if "messages" not in body_of(facts).carries:
        return None
    where = (
        Condition("session_id", "eq", facts[LOAD].session_id),
        Condition("parent_id", "eq", None),
        Condition("modality", "eq", "conversation"),
    )
    return Read(ByFilter(owner_of(facts, view), ("resource",), where))


def take_messages(facts: Facts, answer: ReadDone, view: View) -> Learned:
    messages = sorted(bodies_of(answer.rows, Resource), key=lambda it: (it.time_ms, it.id))
    turns = tuple(turn for it in messages for turn in list_turns(it.text))
    return Learned(TURNS(turns[-TURN_COUNT_MAX:]))


def list_turns(text: str) -> list[Turn]:
    """Return the messages of a conversation, each as it is shown to a model (M13.5)."""
    found = read_chat_file(text)
    messages = [message for chat in found.chats for message in chat.messages] if found else []
    return [turn_of(it) for it in messages if it.text.strip()]


def turn_of(message: ChatMessage) -> Turn:
    is_role = message.role in ROLES
    # A name instead of a role is kept in the text: "Ann: I like tea."
    text = message.text if is_role else f"{message.role}: {message.text}"
    return Turn(message.role if is_role else ROLES[0], text[:TURN_CHARS_MAX])


# facts: read the facts in the owner's archive. Ended, forgotten and damaged ones are left out.


def is_own(facts: Facts, view: View) -> bool:
    """Check whether this agent saved the session itself, so that it already has the facts."""
    return body_of(facts).saved_by == view.scope.agent


def ask_facts(facts: Facts, view: View) -> Read | None:
    body, owner = body_of(facts), owner_of(facts, view)
    if "facts" not in body.carries or is_own(facts, view) or not body.fact_ids:
        return None
    return Read(ByIds(tuple(Address(owner, "entity", key) for key in body.fact_ids)))


def take_facts(facts: Facts, answer: ReadDone, view: View) -> Learned:
    found = {it.id: it for it in bodies_of(answer.rows, Entity)}
    carried = last_fitting(tuple(found[key] for key in body_of(facts).fact_ids if key in found))
    stated = "\n".join(it.content for it in carried)
    learned = CARRIED_FACTS(carried) | MENTIONS(tuple(map(mention_of, carried))) | DROPPED(())
    learned |= STATED(stated) | STATED_ON(day_of(view.now_ms, view.config))
    # In doubt, commit even without facts: an earlier plan may have stored some, and its receipt names them.
    return Learned(learned, skip_to=None if carried or view.in_doubt else "swap")


def last_fitting(carried: tuple[Entity, ...]) -> tuple[Entity, ...]:
    """Return the last of these facts that together fit into TEXT_BYTES_MAX, the limit of a remember."""
    room_bytes, count = TEXT_BYTES_MAX, 0
    for it in reversed(carried):
        room_bytes -= size(it.content) + 1  # and the end of its line
        if room_bytes < 0:
            break
        count += 1
    return carried[len(carried) - count :]


def mention_of(fact: Entity) -> Mention:
    return Mention(
        fact.type, fact.name, fact.content, fact.confidence_ppm, bool(fact.about), others=fact.others
    )


# lookup, and the following steps of remember.


def take_lookup(facts: Facts, answer: ReadDone, view: View) -> Learned:
    rows, core, carried = index_rows(answer), read_core(answer, view), facts[CARRIED_FACTS]
    bare = [draft_fact(mention_of(it), SharedOptions(), rows, view) for it in carried]
    pairs = zip(carried, keep_ended(bare, facts[STATED]), strict=True)
    drafts = tuple(it if it.old is not None else draft_carried(fact, rows, view) for fact, it in pairs)
    return Learned(DRAFTS(drafts) | CORE(core))


def draft_carried(fact: Entity, rows: Mapping[Address, Row], view: View) -> Drafted:
    """Return the draft of a carried fact that is new here, with importance and metadata of the original."""
    # With the time of its first statement, so that it does not end a newer fact of this agent.
    options = SharedOptions(fact.time_ms, fact.importance_ppm, fact.metadata)
    return draft_fact(mention_of(fact), options, rows, view)


def take_plan(facts: Facts, answer: None, view: View) -> Learned:
    drafts = chain_drafts(remember.place_drafts(facts), facts[STATED], None)
    return Learned(PLAN(remember.plan_of(drafts, facts, view)))


# swap: replace the current session, after the facts have been stored.


def take_swap(facts: Facts, answer: None, view: View) -> TakeResult:
    row, body, stored = facts[SESSION], body_of(facts), facts[STORED]
    loaded = decode(body.snapshot, view.now_ms, view.config)
    if isinstance(loaded, Error):  # `read` has checked it, so this memory was restored from edited bytes
        return Rejection(loaded)
    drop_expired(view.tiers.working, view.now_ms)  # counts entries that have expired before they are replaced
    loaded.tier.expired_count = view.tiers.working.expired_count
    view.tiers.working = loaded.tier
    info = structs.replace(loaded.info, version=row.version, creator=body.creator, members=body.members)
    remembered = stored if isinstance(stored, Remembered) else None
    if is_own(facts, view):
        info = structs.replace(info, fact_ids=body.fact_ids, left_out_count=body.left_out_count)
    elif remembered is not None:
        info = structs.replace(info, fact_ids=tuple(it.id for it in remembered.entities))
    view.tiers.session = put_in_place(info, view)
    is_carried = "facts" in body.carries and not is_own(facts, view)
    left_count = len(body.fact_ids) - len(remembered.entities if remembered else ()) if is_carried else 0
    value = SessionLoaded(row.version, loaded.expired_at_rest, facts[TURNS], remembered, left_count)
    return Learned(OUTCOME(Done(value)))


PLANNED_FROM: Final = (
    STATED, MENTIONS, DROPPED, DRAFTS, *COMPARED_FROM, CORE, remember.VECTORS, remember.ROUTES,
)  # fmt: skip

# The steps of remember between its lookup and its plan.
REMEMBERED: Final = remember.REMEMBER.steps
BETWEEN: Final = REMEMBERED[(remember.REMEMBER.index("lookup") or 0) + 1 : remember.REMEMBER.index("plan")]

LOAD_SESSION: Final = Workflow(
    "load_session",
    given=(LOAD,),
    steps=(
        Step("read", requires=(LOAD,), produces=(SESSION,),
             **asks(Read, ask_session, take_session, retry(3))),
        # Loose, because new messages do not change the plan.
        Step("messages", requires=(LOAD, SESSION), produces=(TURNS,), spares=("resource",),
             loose=("resource",), **asks(Read, ask_messages, take_messages, retry(3))),
        Step("facts", requires=(SESSION,), produces=(CARRIED_FACTS, MENTIONS, DROPPED, STATED, STATED_ON),
             skips_to=("swap",), spares=("entity",), **asks(Read, ask_facts, take_facts, retry(3))),
        Step("lookup", requires=(LOAD, STATED, MENTIONS, CARRIED_FACTS), produces=(DRAFTS, CORE),
             claims=remember.claim_entities, **asks(Read, remember.ask_lookup, take_lookup, retry(3))),
        *BETWEEN,
        Step("plan", requires=PLANNED_FROM, produces=(PLAN,), take=take_plan),
        # A fact forgotten since the read is a conflict, so plan again from the facts that are left.
        commit_row(replan="facts"),
        SETTLE,
        Step("swap", requires=(SESSION, TURNS, STORED), produces=(OUTCOME,), take=take_swap),
    ),
    laws=remember.STATEMENT_LAWS,
)  # fmt: skip
