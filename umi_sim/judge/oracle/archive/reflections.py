"""Reflections: what the end of a session leaves is what a model was told of it, or its beginning.

Law 1. A reflection is made of resources that may be of its session, and of all that surely are. Law 2. Its
text is what the last answer says; the beginning of what was shown, if that is of no use. Law 3. While nothing
else was told in a session, ending it again asks nobody and changes nothing.
"""

from collections.abc import Iterator
from typing import Any, Final

import attrs

from umi_core.data import Data
from umi_core.messages.answers import Answer, ModelReplied
from umi_core.messages.effects import Asked, AskModel, ByFilter, Embed, Read
from umi_core.messages.requests import EndSession, ForgetResource
from umi_core.messages.results import Reflected
from umi_sim.judge.oracle.archive.context import Part
from umi_sim.judge.oracle.archive.documents import Documents, Resource
from umi_sim.judge.oracle.archive.evidence import Degradations, Evidence
from umi_sim.judge.oracle.archive.possible import Operation
from umi_sim.judge.plain.hierarchy import MEDIA, lines_of
from umi_sim.judge.plain.replies import read_summary
from umi_sim.judge.plain.rows import reflection_id
from umi_sim.judge.plain.text import asked_about, byte_count, cut
from umi_sim.record import rules
from umi_sim.services.calls import Call

BEGINNING_BYTES: Final = 500
SHOWN_BYTES: Final = 100_000
SHOWN_COUNT: Final = 100
PARTIAL: Final = "told:partial"
Sources = tuple[tuple[str, int], ...]


@attrs.frozen
class Question(Data):
    """The texts that a model was shown, and what its answer says; None if that is of no use."""

    texts: tuple[str, ...]
    text: str | None

    @property
    def beginning(self) -> str:
        return cut("\n".join(self.texts), BEGINNING_BYTES).rstrip()


@attrs.define
class Reflections(Part):
    """Judges what ends of sessions say. By session: `told`, all that may ever have been stored; `made`, what
    the last one that replied was made of, unless a model had failed; `there`, since when there surely is one;
    `doubted`, that an end may still remove it of which nobody knows how it ended. `open`: ends in flight.
    `unasked`: the sessions that are ended by upkeep, by operation.
    """

    evidence: Evidence
    degradations: Degradations
    documents: Documents
    asked: dict[Operation, Question] = attrs.field(factory=dict)
    told: dict[str, dict[str, None]] = attrs.field(factory=dict)
    made: dict[str, Sources] = attrs.field(factory=dict)
    there: dict[str, int] = attrs.field(factory=dict)
    doubted: dict[str, None] = attrs.field(factory=dict)
    open: dict[Operation, str] = attrs.field(factory=dict)
    unasked: dict[str, str] = attrs.field(factory=dict)

    # Hearing.

    def begin(self, op: Operation) -> None:
        if isinstance(op.request, EndSession) and op.error is None:
            self.open[op] = op.request.session_id
        elif isinstance(op.request, ForgetResource) and op.error is None:
            self.may_empty(op.request.resource_id)

    def may_empty(self, resource: str) -> None:
        """A reflection may say nothing from now on, since a text that it was made of leaves."""
        it = self.documents.resources[resource]
        for session in (home for home in it.homes_since(0) if isinstance(home, str)):
            self.told.setdefault(session, {})[""] = None
            self.made.pop(session, None)

    def answered(self, op: Operation, step: str, effect: Asked, answer: Answer) -> None:
        assert isinstance(op.request, EndSession)
        session = op.request.session_id
        if step == "embed_reflection" and isinstance(effect, Embed):
            is_known = len(effect.texts) == 1 and self.may_say(session, effect.texts[0])
            told = f"the reflection of {session} is found by another text than its own"
            self.demand(
                is_known, rules.VECTORS_AS_ANSWERED, told, list(self.told.get(session, {})), effect.texts
            )
        if step != "ask" or not isinstance(effect, AskModel):
            return
        self.asked[op] = asked = self.hear(session, effect, answer)
        self.judge_shown(op, session, asked.texts)

    def overheard(self, call: Call, answer: Answer) -> None:
        """What nobody asked for may change or remove a reflection, and nobody tells how it ends."""
        query = call.effect.query if isinstance(call.effect, Read) else None
        if isinstance(query, ByFilter):
            session = str(query.where[0].value)
            self.unasked[call.op_id] = session
            self.doubted[session] = None
            self.made.pop(session, None)
            self.there.pop(session, None)
        if call.step == "ask" and isinstance(call.effect, AskModel):
            self.hear(self.unasked[call.op_id], call.effect, answer)

    def hear(self, session: str, effect: AskModel, answer: Answer) -> Question:
        """What a model says of these texts, or their beginning, may be stored."""
        shown = tuple(asked_about(effect.prompt)["texts"])
        text = read_summary(answer.text) if isinstance(answer, ModelReplied) else None
        asked, may_be = Question(shown, text), self.told.setdefault(session, {})
        may_be[asked.beginning] = None
        if text is not None:
            may_be[text] = None
        return asked

    def ended(self, op: Operation, value: object, *, is_unsure: bool) -> None:
        """`value`: what it says that it did, None if it did nothing; `is_unsure`: nobody knows."""
        self.asked.pop(op, None)
        self.open.pop(op, None)
        if not isinstance(op.request, EndSession) or op.is_refuted:
            return
        session = op.request.session_id
        if isinstance(value, Reflected):
            self.stored(session, value)
        else:
            self.made.pop(session, None)
        if is_unsure:
            self.there.pop(session, None)
            self.doubted[session] = None

    def stored(self, session: str, value: Reflected) -> None:
        """What is written anew, no older plan removes: it was made of another version of the row. What it
        says has been judged, and stays when its text is told in another session."""
        if value.text:
            self.told.setdefault(session, {})[value.text] = None
        if value.reflection_id is None or value.is_degraded:
            self.made.pop(session, None)
        else:
            self.made[session] = value.sources
        if value.change in ("created", "updated"):
            self.doubted.pop(session, None)
        if value.reflection_id is None:
            self.there.pop(session, None)
        elif session not in self.doubted:
            self.there.setdefault(session, self.context.tick)

    def wiped(self) -> None:
        for table in (self.told, self.made, self.there, self.doubted):
            table.clear()

    # What may be shown.

    def of_session(self, session: str, began: int) -> dict[str, Resource]:
        """The resources that may have been told in it."""
        known = self.documents.resources.items()
        return {key: it for key, it in known if session in it.homes_since(began)}

    def texts_of(self, session: str) -> list[str]:
        return list(self.told.get(session, {}))

    def may_say(self, session: str, text: str) -> bool:
        """Whether a model gave this text, or some text of the session begins so."""
        texts = [text for it in self.of_session(session, 0).values() for text in normalised(it, 0)]
        begins = [cut(it, BEGINNING_BYTES).rstrip() for it in texts]
        return text in self.told.get(session, {}) or any(it and text.startswith(it) for it in begins)

    def judge_shown(self, op: Operation, session: str, shown: tuple[str, ...]) -> None:
        """A model is shown what was told in this session, and nothing else."""
        resources = self.of_session(session, op.began).values()
        known = [text for it in resources for text in normalised(it, op.began)]
        others = [text for text in shown if text not in known]
        told = f"the reflection of {session} is to be made of what was not told in it"
        self.demand(not others, rules.REFLECTION_OF_SESSION, told, known, others)

    def judge_row(self, key: str, session: str, text: str) -> None:
        own = reflection_id(self.context.scope, session)
        self.demand(key == own, rules.READ_SCOPE, f"the reflection of {session} is of nobody", own, key)
        told, may_be = (
            f"the reflection of {session} says what no model gave",
            list(self.told.get(session, {})),
        )
        self.demand(self.may_say(session, text), rules.REFLECTION_OF_SESSION, told, may_be, text)

    def certain(self, op: Operation) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Those that were there when this was asked, and are, each with what is certain of it."""
        for session, since in self.there.items():
            if since < op.began and session not in self.open.values():
                key = reflection_id(self.context.scope, session)
                yield key, [{"id": key, "session_id": session}]

    # Judging.

    def judge_end(self, op: Operation, value: Reflected, names: list[str]) -> None:
        assert isinstance(op.request, EndSession)
        session, asked = op.request.session_id, self.asked.get(op)
        own = reflection_id(self.context.scope, session)
        is_own = value.reflection_id in (None, own)
        self.demand(is_own, rules.REFERENCE_AGREES, "another reflection", own, value.reflection_id)
        self.degradations.judge_causes(op, names, 0)
        self.judge_sources(op, session, value, names)
        if self.evidence.is_exact(op) and not op.is_turned_away:
            self.judge_text(session, value, asked)

    def judge_sources(self, op: Operation, session: str, value: Reflected, names: list[str]) -> None:
        named, may_be = [key for key, _ in value.sources], self.of_session(session, op.began)
        others = [key for key in named if key not in may_be]
        told = f"the reflection of {session} is made of what was not told in it"
        self.demand(not others, rules.REFLECTION_OF_SESSION, told, list(may_be), others)
        left_out = [
            key for key, it in may_be.items() if is_surely(it, session, op.began) and key not in named
        ]
        most = [max(map(byte_count, normalised(it, op.began)), default=0) for it in may_be.values()]
        is_full = sum(most) > SHOWN_BYTES or len(may_be) > SHOWN_COUNT
        self.demand(is_full or PARTIAL not in names, rules.DEGRADATION_NAMED, PARTIAL, sum(most), names)
        told = f"the reflection of {session} lacks what was told in it"
        self.demand(is_full or not left_out, rules.REFLECTION_OF_SESSION, told, left_out, named)

    def judge_text(self, session: str, value: Reflected, asked: Question | None) -> None:
        """Of an end that had time: what it says, and whether anything was to be asked."""
        rule, is_idle = rules.REPEAT_SAME_ROWS, asked is None
        is_made = value.sources != () and self.made.get(session) == value.sources
        self.demand(is_idle or not is_made, rule, f"{session} was ended twice, and a model asked", "", asked)
        if asked is None:
            is_kept = value.change in ("unchanged", "removed")
            self.demand(
                is_kept, rule, f"{session} has a new reflection that no model was asked for", "", value
            )
            return
        due = (asked.text or asked.beginning, asked.text is None)
        got = (value.text, value.is_degraded)
        self.demand(got == due, rules.REFERENCE_AGREES, f"what the reflection of {session} says", due, got)
        counts = len(asked.texts), len(value.sources)
        told = f"the sources of the reflection of {session} are not what was shown"
        self.demand(counts[0] == counts[1], rules.DERIVED_FOLLOWS_SOURCE, told, *counts)


def normalised(it: Resource, began: int) -> list[str]:
    """What a model may be shown of this resource."""
    given = [value for value in it.since(began) if isinstance(value, tuple)]
    texts = ["\n".join(lines_of(*value[::-1])) for value in given if value[0] not in MEDIA]
    texts += [text for value in given for text in it.said_of(value)]
    return [cut(text.strip(), SHOWN_BYTES) for text in texts]


def is_surely(it: Resource, session: str, began: int) -> bool:
    """Whether it was told in this session, says something, and has been there since then."""
    is_kept = all(at < began for _, at in (*it.texts.settled, *it.homes.settled))
    given = [value for value in it.since(began) if isinstance(value, tuple) and value[0] not in MEDIA]
    says = all(normalised(it, began)) and len(given) == len(it.since(began))
    return is_kept and says and it.homes_since(began) == [session]
