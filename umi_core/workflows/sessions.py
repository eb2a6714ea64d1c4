"""Sessions: the working tier as a row that its members hand on, with the names of the facts told in it.

    save    pack version 2 ............................ told: version 3; what is here comes from 2
    load                read version 2   put in place

    researcher   remember "Ann likes tea."   save, hand to the writer, carries facts      forget it
    writer                                                                load: told of it    load: not told

Law 1. A save names the version it was made from; at most one of two saves from one version succeeds.
Law 2. A session lies in a scope of its own, (user, session id): no search, count or other memory meets it.
Law 3. A memory holds the version that it loaded or saved last; a save that is answered after a load says
nothing of what was loaded. Law 4. A load checks everything before anything changes; a missing or foreign
session is an error. Law 5. A session names its facts and holds none of their texts. A load reads them where
they were told, and its batch expects them as they were read: what is forgotten, or has ended, is carried
nowhere. Law 6. A carried fact is told as by a remember: known, it changes nothing; new, it is compared with
what is known, by the time at which it was told first. Law 7. What was not declared is not read.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import structs

from umi_core.chats.reader import read_chat_file
from umi_core.chats.values import ChatMessage
from umi_core.conditions import Condition
from umi_core.domains import ROLES
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import OUTCOME, Learned, Rejection, Step, Taken, Workflow, asks, retry
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
        Step("commit", requires=(PLAN, INFO), produces=(STORED, LOST), **asks(Commit, ask_commit, take_save,
                    retry(3, replan="plan", conflict_error=changed_by_another))),
        REPLY,
    ),
)  # fmt: skip


# Load: a saved session takes the place of the one there is, and its facts are told to this agent.


LOAD: Final = Fact("request", LoadSession)
SESSION: Final = Fact("session", Row, ("session",))
TURNS: Final = Fact("turns", tuple[Turn, ...])
CARRIED_FACTS: Final = Fact("carried", tuple[Entity, ...])  # in the order in which they were told

# read: the session, whole and of this agent, before anything else is asked.


def ask_session(facts: Facts, view: View) -> Read:
    return Read(ByIds((session_address(view.scope, facts[LOAD].session_id),)))


def take_session(facts: Facts, answer: ReadDone, view: View) -> Taken:
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
    """Return the archive in which the facts and messages of the session lie."""
    return Scope(view.scope.user, body_of(facts).saved_by)


# messages: the last ones of the conversations that the agent which saved it has memorized in the session.


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
    """Return the messages of a conversation, each as a model is shown it (M13.5)."""
    found = read_chat_file(text)
    messages = [message for chat in found.chats for message in chat.messages] if found else []
    return [turn_of(it) for it in messages if it.text.strip()]


def turn_of(message: ChatMessage) -> Turn:
    is_role = message.role in ROLES
    # A person who is called by name says more than a role could: "Ann: I like tea."
    text = message.text if is_role else f"{message.role}: {message.text}"
    return Turn(message.role if is_role else ROLES[0], text[:TURN_CHARS_MAX])


# facts: as they are where they were told. What has ended there, or was forgotten, is not read.


def is_own(facts: Facts, view: View) -> bool:
    """Check whether this agent saved the session itself, so that its facts are in its archive already."""
    return body_of(facts).saved_by == view.scope.agent


def ask_facts(facts: Facts, view: View) -> Read | None:
    body, owner = body_of(facts), owner_of(facts, view)
    if "facts" not in body.carries or is_own(facts, view) or not body.told:
        return None
    return Read(ByIds(tuple(Address(owner, "entity", key) for key in body.told)))


def take_facts(facts: Facts, answer: ReadDone, view: View) -> Learned:
    found = {it.id: it for it in bodies_of(answer.rows, Entity)}
    carried = last_fitting(tuple(found[key] for key in body_of(facts).told if key in found))
    stated = "\n".join(it.content for it in carried)
    learned = CARRIED_FACTS(carried) | MENTIONS(tuple(map(mention_of, carried))) | DROPPED(())
    learned |= STATED(stated) | STATED_ON(day_of(view.now_ms, view.config))
    # In doubt the commit is asked all the same: only its receipt tells what an earlier plan has stored.
    return Learned(learned, skip_to=None if carried or view.in_doubt else "swap")


def last_fitting(carried: tuple[Entity, ...]) -> tuple[Entity, ...]:
    """Return the last of these facts that are together no longer than the text of a remember."""
    room_bytes, count = TEXT_BYTES_MAX, 0
    for it in reversed(carried):
        room_bytes -= size(it.content) + 1  # each in a line of its own
        if room_bytes < 0:
            break
        count += 1
    return carried[len(carried) - count :]


def mention_of(fact: Entity) -> Mention:
    return Mention(
        fact.type, fact.name, fact.content, fact.confidence_ppm, bool(fact.about), others=fact.others
    )


# lookup and the steps of remember behind it.


def take_lookup(facts: Facts, answer: ReadDone, view: View) -> Learned:
    rows, core, carried = index_rows(answer), read_core(answer, view), facts[CARRIED_FACTS]
    bare = [draft_fact(mention_of(it), SharedOptions(), rows, view) for it in carried]
    pairs = zip(carried, keep_ended(bare, facts[STATED]), strict=True)
    drafts = tuple(it if it.old is not None else draft_carried(fact, rows, view) for fact, it in pairs)
    return Learned(DRAFTS(drafts) | CORE(core))


def draft_carried(fact: Entity, rows: Mapping[Address, Row], view: View) -> Drafted:
    """Return the draft of a carried fact that is new, so that it takes over what was said of it besides."""
    # Its time is that of its first telling: what this agent was told since is newer, and stays.
    options = SharedOptions(fact.time_ms, fact.importance_ppm, fact.metadata)
    return draft_fact(mention_of(fact), options, rows, view)


def take_plan(facts: Facts, answer: None, view: View) -> Learned:
    drafts = chain_drafts(remember.place_drafts(facts), facts[STATED], None)
    return Learned(PLAN(remember.plan_of(drafts, facts, view)))


# swap: the session takes its place once its facts are stored.


def take_swap(facts: Facts, answer: None, view: View) -> Taken:
    row, body, stored = facts[SESSION], body_of(facts), facts[STORED]
    loaded = decode(body.snapshot, view.now_ms, view.config)
    if isinstance(loaded, Error):  # its bytes were read above: only an edited saved memory comes here
        return Rejection(loaded)
    drop_expired(view.tiers.working, view.now_ms)  # what has expired is counted, whatever takes its place
    loaded.tier.expired_count = view.tiers.working.expired_count
    view.tiers.working = loaded.tier
    info = structs.replace(loaded.info, version=row.version, creator=body.creator, members=body.members)
    remembered = stored if isinstance(stored, Remembered) else None
    if is_own(facts, view):
        info = structs.replace(info, told=body.told, left_out_count=body.left_out_count)
    elif remembered is not None:
        info = structs.replace(info, told=tuple(it.id for it in remembered.entities))
    view.tiers.session = put_in_place(info, view)
    is_carried = "facts" in body.carries and not is_own(facts, view)
    left_count = len(body.told) - len(remembered.entities if remembered else ()) if is_carried else 0
    value = SessionLoaded(row.version, loaded.expired_at_rest, facts[TURNS], remembered, left_count)
    return Learned(OUTCOME(Done(value)))


PLANNED_FROM: Final = (
    STATED, MENTIONS, DROPPED, DRAFTS, *COMPARED_FROM, CORE, remember.VECTORS, remember.ROUTES,
)  # fmt: skip

# What remember does from there to its plan, a load does alike.
REMEMBERED: Final = remember.REMEMBER.steps
BETWEEN: Final = REMEMBERED[(remember.REMEMBER.index("lookup") or 0) + 1 : remember.REMEMBER.index("plan")]

LOAD_SESSION: Final = Workflow(
    "load_session",
    given=(LOAD,),
    steps=(
        Step("read", requires=(LOAD,), produces=(SESSION,),
             **asks(Read, ask_session, take_session, retry(3))),
        # A message that is memorized meanwhile makes no other plan.
        Step("messages", requires=(LOAD, SESSION), produces=(TURNS,), loose=("resource",),
             **asks(Read, ask_messages, take_messages, retry(3))),
        Step("facts", requires=(SESSION,), produces=(CARRIED_FACTS, MENTIONS, DROPPED, STATED, STATED_ON),
             skips_to=("swap",), **asks(Read, ask_facts, take_facts, retry(3))),
        Step("lookup", requires=(LOAD, STATED, MENTIONS, CARRIED_FACTS), produces=(DRAFTS, CORE),
             claims=remember.claim_entities, **asks(Read, remember.ask_lookup, take_lookup, retry(3))),
        *BETWEEN,
        Step("plan", requires=PLANNED_FROM, produces=(PLAN,), take=take_plan),
        # A fact that was forgotten meanwhile is a conflict: the new plan reads again what there is.
        commit_row(replan="facts"),
        SETTLE,
        Step("swap", requires=(SESSION, TURNS, STORED), produces=(OUTCOME,), take=take_swap),
    ),
    laws=remember.TOLD_LAWS,
)  # fmt: skip
