"""load_session: a saved session takes the place of the one there is, and its facts are told to this agent.

    researcher   remember "Ann likes tea."   save, hand to the writer, carries facts      forget it
    writer                                                                load: told of it    load: not told

Law 1. A load checks everything before anything changes; a missing or foreign session is an error.
Law 2. A session names its facts and holds none of their texts. A load reads them where they were told, and
its batch expects them as they were read: what is forgotten, or has ended, is carried nowhere.
Law 3. A carried fact is told as by a remember: known, it changes nothing; new, it is compared with what is
known, by the time at which it was told first. Law 4. What was not declared is not read.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import structs

from umi_core.chats.reader import read_chat_file
from umi_core.chats.values import ChatMessage
from umi_core.conditions import Condition
from umi_core.domains import ROLES
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import OUTCOME, Learned, Rejection, Step, Taken, Workflow, asks, nothing, retry
from umi_core.errors import Error, SessionNotFound
from umi_core.language.dates import day_of
from umi_core.language.extraction import Mention
from umi_core.limits import TEXT_BYTES_MAX, TURN_CHARS_MAX, TURN_COUNT_MAX
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import ByFilter, ByIds, Done, Read
from umi_core.messages.requests import LoadSession
from umi_core.messages.results import Remembered, SessionLoaded
from umi_core.rows import Address, Entity, Resource, Row, SessionRow, bodies_of, body_as
from umi_core.text import size
from umi_core.tiers.session import decode
from umi_core.tiers.working import drop_expired
from umi_core.values import Scope, Turn
from umi_core.workflows import remember
from umi_core.workflows.commits import (
    CORE,
    PLAN,
    SETTLE,
    STORED,
    commit_row,
    index_rows,
    read_core,
)
from umi_core.workflows.drafting import (
    DRAFTS,
    Drafted,
    SharedOptions,
    chain_drafts,
    draft_fact,
    keep_ended,
)
from umi_core.workflows.evolving import COMPARED_FROM, DROPPED, MENTIONS, STATED, STATED_ON
from umi_core.workflows.sessions import put_in_place, session_address

LOAD: Final = Fact("request", LoadSession)
SESSION: Final = Fact("session", Row, ("session",))
TURNS: Final = Fact("turns", tuple[Turn, ...])
CARRIED: Final = Fact("carried", tuple[Entity, ...])  # in the order in which they were told

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
    learned = CARRIED(carried) | MENTIONS(tuple(map(mention_of, carried))) | DROPPED(())
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
    rows, core, carried = index_rows(answer), read_core(answer, view), facts[CARRIED]
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
        Step("facts", requires=(SESSION,), produces=(CARRIED, MENTIONS, DROPPED, STATED, STATED_ON),
             skips_to=("swap",), **asks(Read, ask_facts, take_facts, retry(3))),
        Step("lookup", requires=(LOAD, STATED, MENTIONS, CARRIED), produces=(DRAFTS, CORE),
             otherwise=nothing(DRAFTS, CORE), claims=remember.claim_entities,
             **asks(Read, remember.ask_lookup, take_lookup, retry(3))),
        *BETWEEN,
        Step("plan", requires=PLANNED_FROM, produces=(PLAN,), otherwise=nothing(PLAN), take=take_plan),
        # A fact that was forgotten meanwhile is a conflict: the new plan reads again what there is.
        commit_row(replan="facts"),
        SETTLE,
        Step("swap", requires=(SESSION, TURNS, STORED), produces=(OUTCOME,), take=take_swap),
    ),
    laws=remember.TOLD_LAWS,
)  # fmt: skip
