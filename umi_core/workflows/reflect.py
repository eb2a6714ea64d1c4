"""reflect: at the end of a session, writes one text about the resources that were memorized in it.

Law 1. `sources` are exactly the resources, with the versions of their rows, that the model was shown.
Law 2. A session has one reflection, however often it is ended. If its resources have not changed since, no
model is asked and nothing is written. Law 3. If the model fails, the beginning of the resources takes the
place of the text, marked `degraded`; ending the session again asks the model again.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from umi_core.conditions import Condition
from umi_core.conversations import NORMALISERS
from umi_core.data import Data
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import (
    Degrade,
    Learned,
    Rejection,
    Step,
    TakeResult,
    Unusable,
    Workflow,
    asks,
    degrade,
    retry,
)
from umi_core.errors import SessionNotFound
from umi_core.ids import reflection_id
from umi_core.language.dates import day_of
from umi_core.language.prompts import ask_reflection
from umi_core.language.summaries import Unwritten, parse_summary
from umi_core.limits import BEGINNING_BYTES_MAX, SOURCE_COUNT_MAX, TEXT_BYTES_MAX
from umi_core.messages.answers import ModelReplied, ReadDone
from umi_core.messages.effects import AskModel, ByFilter, ByIds, Embed, Read
from umi_core.messages.requests import EndSession
from umi_core.messages.results import Reflected
from umi_core.rows import Address, Reflection, Resource, Row, SessionRow, body_as
from umi_core.text import cut, size
from umi_core.values import Scope
from umi_core.workflows.commits import (
    PLAN,
    REPLY,
    SETTLE,
    Plan,
    address,
    ask_if_any,
    commit_row,
    index_rows,
    put,
)
from umi_core.workflows.linking import VECTOR, take_vector, vector_row
from umi_core.workflows.sessions import session_address

REQUEST: Final = Fact("request", EndSession)
REFLECTION: Final = Fact("reflection", Row | None)  # the stored reflection
TEXTS: Final = Fact("texts", tuple[Row, ...])  # the resources that are shown, the oldest first
TEXT: Final = Fact("text", str | None)  # the new text; None if the old one stays, or without resources
BEGINS: Final = Fact("begins", bool)  # the text is only the beginning of the resources


class ShownResource(Data):
    """A resource as it is shown to a model. `end`: its id and row version."""

    end: tuple[str, int]
    at_ms: int
    text: str


# session: check that this agent may end it, and read its stored reflection.


def own_id(facts: Facts, view: View) -> str:
    return reflection_id(view.scope, facts[REQUEST].session_id)


def addresses(facts: Facts, scope: Scope) -> tuple[Address, Address]:
    """Return the addresses of the session and of its reflection."""
    session = facts[REQUEST].session_id
    return session_address(scope, session), address(scope, "reflection", reflection_id(scope, session))


def ask_session(facts: Facts, view: View) -> Read:
    return Read(ByIds(addresses(facts, view.scope)))


def take_session(facts: Facts, answer: ReadDone, view: View) -> TakeResult:
    rows, (session, reflection) = index_rows(answer), addresses(facts, view.scope)
    found = body_as(rows.get(session), SessionRow)
    if found is None or view.scope.agent not in found.members:
        return Rejection(SessionNotFound(facts[REQUEST].session_id))
    return Learned(REFLECTION(rows.get(reflection)))


# texts: read the resources of the session; keep the last ones that fit into one question.


def ask_texts(facts: Facts, view: View) -> Read:
    where = (Condition("session_id", "eq", facts[REQUEST].session_id), Condition("parent_id", "eq", None))
    return Read(ByFilter(view.scope, ("resource",), where))


def take_texts(facts: Facts, answer: ReadDone, view: View) -> Learned:
    shown = sorted((it for it in shown_of(answer.rows) if it.text), key=lambda it: (it.at_ms, it.end))
    ends = [it.end for it in last_fitting(shown)]
    rows = {row.address.id: row for row in answer.rows}
    left_out = len(shown) - len(ends)
    partial = (("partial", "too_many", left_out),) if left_out else ()
    return Learned(TEXTS(tuple(rows[key] for key, _ in ends)), degraded=partial)


def shown_of(rows: Iterable[Row]) -> list[ShownResource]:
    found = ((row, row.body) for row in rows)
    return [as_shown(row, body) for row, body in found if isinstance(body, Resource)]


def as_shown(row: Row, body: Resource) -> ShownResource:
    is_text = body.modality in NORMALISERS
    shown = NORMALISERS[body.modality](body.text) if is_text else body.description
    text = cut(shown.strip(), TEXT_BYTES_MAX)
    return ShownResource((row.address.id, row.version), body.time_ms, text)


def last_fitting(shown: list[ShownResource]) -> list[ShownResource]:
    """Return the last resources that fit into one question."""
    room_bytes, count = TEXT_BYTES_MAX, 0
    for it in reversed(shown[-SOURCE_COUNT_MAX:]):
        room_bytes -= size(it.text)
        if room_bytes < 0:
            break
        count += 1
    return shown[len(shown) - count :]


def shown_in(facts: Facts) -> list[ShownResource]:
    rows = facts[TEXTS]
    return shown_of(rows)


# ask: unless the stored reflection was made from the same resources.


def reflection_of(facts: Facts) -> Reflection | None:
    return body_as(facts[REFLECTION], Reflection)


def ask_text(facts: Facts, view: View) -> AskModel | None:
    old, shown = reflection_of(facts), shown_in(facts)
    # Compared by row version: a resource replaced under the same uri is another source.
    is_made = old is not None and not old.degraded and old.sources == tuple(it.end for it in shown)
    if is_made or not shown:
        return None
    days = tuple(day_of(it.at_ms, view.config) for it in shown)
    return AskModel("reflect", ask_reflection(tuple(it.text for it in shown), days))


def take_text(facts: Facts, answer: ModelReplied | None, view: View) -> TakeResult:
    if answer is None:
        return Learned(TEXT(None) | BEGINS(False))
    text = parse_summary(answer.text)
    if isinstance(text, Unwritten):
        return Unusable(text.reason)
    return Learned(TEXT(text) | BEGINS(False))


def beginning(facts: Facts, reason: str = "") -> Mapping[str, object]:
    """Return the beginning of the resources as the text of the reflection."""
    text = "\n".join(it.text for it in shown_in(facts))
    return TEXT(cut(text, BEGINNING_BYTES_MAX).rstrip()) | BEGINS(True)


# embed_reflection.


def ask_vector(facts: Facts, view: View) -> Embed | None:
    old, text = reflection_of(facts), facts[TEXT]
    return None if text is None or (old is not None and old.text == text) else Embed((text,))


# plan. The commit expects the resources as they were read.


def take_plan(facts: Facts, answer: None, view: View) -> Learned:
    row, old, text = facts[REFLECTION], reflection_of(facts), facts[TEXT]
    if text is not None and not is_as_before(facts, text):
        return Learned(PLAN(plan_of(facts, text, view)))
    if row is None or facts[TEXTS]:
        return Learned(PLAN(Plan(view.now_ms, value=build_reply(old, "unchanged"))))
    writes = (
        put(view.scope, "reflection", row.address.id, None),
        vector_row(row.address.id, None, view.scope),
    )
    return Learned(PLAN(Plan(view.now_ms, writes, value=Reflected(None, "removed"))))


def is_as_before(facts: Facts, text: str) -> bool:
    """Check whether the model failed again for the same resources."""
    old, sources = reflection_of(facts), tuple(it.end for it in shown_in(facts))
    return facts[BEGINS] and old is not None and (old.text, old.sources) == (text, sources)


def plan_of(facts: Facts, text: str, view: View) -> Plan:
    old, shown, key = reflection_of(facts), shown_in(facts), own_id(facts, view)
    started_ms = min((it.at_ms for it in shown), default=view.now_ms)
    after = Reflection(
        key, facts[REQUEST].session_id, text, tuple(it.end for it in shown), started_ms, view.now_ms,
        view.now_ms if old is None else old.created_ms, view.now_ms, facts[BEGINS],
    )  # fmt: skip
    writes = [put(view.scope, "reflection", key, after)]
    if old is None or old.text != text:
        writes.append(vector_row(key, facts[VECTOR], view.scope))
    value = build_reply(after, "created" if old is None else "updated")
    return Plan(view.now_ms, tuple(writes), value=value)


def build_reply(reflection: Reflection | None, change: str) -> Reflected:
    if reflection is None:
        return Reflected(None, change)
    return Reflected(reflection.id, change, reflection.text, reflection.sources, reflection.degraded)


REFLECT: Final = Workflow(
    "reflect",
    given=(REQUEST,),
    steps=(
        Step("session", requires=(REQUEST,), produces=(REFLECTION,),
             claims=lambda facts, view: (own_id(facts, view),),
             **asks(Read, ask_session, take_session, retry(3))),
        Step("texts", requires=(REQUEST, REFLECTION), produces=(TEXTS,),
             **asks(Read, ask_texts, take_texts, retry(3))),
        Step("ask", requires=(REFLECTION, TEXTS), produces=(TEXT, BEGINS),
             **asks(AskModel, ask_text, take_text, retry(2, then=Degrade("beginning", beginning)))),
        Step("embed_reflection", requires=(REFLECTION, TEXT), produces=(VECTOR,),
             **asks(Embed, ask_vector, take_vector, retry(2, then=degrade("no_vectors", VECTOR(None))))),
        Step("plan", requires=(REQUEST, REFLECTION, TEXTS, TEXT, BEGINS, VECTOR), produces=(PLAN,),
             take=take_plan),
        commit_row(replan="session", ask=ask_if_any),
        SETTLE,
        REPLY,
    ),
)  # fmt: skip
