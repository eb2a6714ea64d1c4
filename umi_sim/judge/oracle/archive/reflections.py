"""Reflections: what the end of a session leaves is what a model was told of it, or its beginning.

Law 1. A reflection is made of the resources of its session, and of all of them. Law 2. Its text is what the
last answer says; the beginning of what was shown, if that is of no use. Law 3. While nothing else was told in
a session, ending it again asks nobody and changes nothing.
"""

from collections.abc import Iterator
from typing import Any, Final

import attrs

from umi_core.messages.effects import Asked, AskModel, Embed
from umi_core.messages.requests import EndSession
from umi_core.messages.results import Reflected
from umi_sim.judge.oracle.archive.context import ArchivePart
from umi_sim.judge.oracle.archive.evidence import Degradations
from umi_sim.judge.oracle.archive.log import BatchLog
from umi_sim.judge.oracle.archive.operations import ArchiveOperation
from umi_sim.judge.oracle.archive.plain_memory import BEGINNING_BYTES, SHOWN_BYTES
from umi_sim.judge.oracle.archive.timelines import MemorizedText, ReflectionState
from umi_sim.judge.plain.hierarchy import MEDIA
from umi_sim.judge.plain.replies import read_summary
from umi_sim.judge.plain.rows import reflection_id
from umi_sim.judge.plain.text import byte_count, cut, read_inputs
from umi_sim.record import rules

SHOWN_COUNT: Final = 100
PARTIAL: Final = "told:partial"


@attrs.define
class Reflections(ArchivePart):
    """Judges what ends of sessions say, and what reads show of them."""

    degradations: Degradations
    log: BatchLog

    def answered(self, op: ArchiveOperation, step: str, effect: Asked) -> None:
        assert isinstance(op.request, EndSession)
        session = op.request.session_id
        if step == "embed_reflection" and isinstance(effect, Embed):
            due = self.text_due(op)
            told = f"the reflection of {session} is found by another text than its own"
            is_due = due is not None and effect.texts == (due,)
            self.demand(is_due, rules.VECTORS_AS_ANSWERED, told, due, effect.texts)
        elif step == "ask" and isinstance(effect, AskModel):
            known = [text for key, it in self.of_session(session, op) for text in self.log.texts_of(key, it)]
            others = [text for text in read_inputs(effect.prompt)["texts"] if text not in known]
            told = f"the reflection of {session} is to be made of what was not told in it"
            self.demand(not others, rules.REFLECTION_OF_SESSION, told, known, others)

    def text_due(self, op: ArchiveOperation) -> str | None:
        """What the last answer says, or the beginning of what was shown; None if nothing was."""
        ask = op.plan.last("ask")
        if ask is None:
            return None
        text = read_summary(op.plan.text("ask") or "")
        return cut("\n".join(ask.inputs["texts"]), BEGINNING_BYTES).rstrip() if text is None else text

    def of_session(self, session: str, op: ArchiveOperation) -> list[tuple[str, MemorizedText]]:
        """The resources that have been told in it at some time since a request was issued."""
        known = self.log.resources
        found = ((key, it) for key in known.entries for it in known.since(key, op.position))
        return [(key, it) for key, it in found if it is not None and it.session == session]

    def since(self, session: str, op: ArchiveOperation) -> tuple[ReflectionState | None, ...]:
        return self.log.reflections.since(session, op.position)

    def judge_row(self, op: ArchiveOperation, key: str, session: str, text: str) -> None:
        own = reflection_id(self.context.scope, session)
        self.demand(key == own, rules.READ_SCOPE, f"the reflection of {session} is of nobody", own, key)
        known = [it.text for it in self.since(session, op) if it is not None]
        told = f"the reflection of {session} says what it does not"
        self.demand(text in known, rules.REFLECTION_OF_SESSION, told, known, text)

    def certain(self, op: ArchiveOperation) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Those that have been there since this was asked, each with what is certain of it."""
        for session in self.log.reflections.entries:
            if None not in self.since(session, op):
                key = reflection_id(self.context.scope, session)
                yield key, [{"id": key, "session_id": session}]

    # Judging.

    def judge_end(self, op: ArchiveOperation, value: Reflected, names: list[str]) -> None:
        assert isinstance(op.request, EndSession)
        session = op.request.session_id
        own = reflection_id(self.context.scope, session)
        is_own = value.reflection_id in (None, own)
        self.demand(is_own, rules.REFERENCE_AGREES, "another reflection", own, value.reflection_id)
        self.degradations.judge_causes(op, names, 0)
        self.judge_sources(op, session, value, names)
        if not op.is_turned_away:
            self.judge_text(op, session, value)

    def judge_sources(self, op: ArchiveOperation, session: str, value: Reflected, names: list[str]) -> None:
        named, may_be = [key for key, _ in value.sources], dict(self.of_session(session, op))
        others = [key for key in named if key not in may_be]
        told = f"the reflection of {session} is made of what was not told in it"
        self.demand(not others, rules.REFLECTION_OF_SESSION, told, list(may_be), others)
        sure = [key for key in may_be if self.is_surely(key, session, op)]
        left_out = [key for key in sure if key not in named]
        most = [max(map(byte_count, self.log.texts_of(key, it)), default=0) for key, it in may_be.items()]
        is_full = sum(most) > SHOWN_BYTES or len(may_be) > SHOWN_COUNT
        self.demand(is_full or PARTIAL not in names, rules.DEGRADATION_NAMED, PARTIAL, sum(most), names)
        told = f"the reflection of {session} lacks what was told in it"
        self.demand(is_full or not left_out, rules.REFLECTION_OF_SESSION, told, left_out, named)

    def is_surely(self, key: str, session: str, op: ArchiveOperation) -> bool:
        """Whether it has been in this session all the while, and says something."""
        states = self.log.resources.since(key, op.position)
        there = [it for it in states if it is not None and it.session == session]
        says = all(it.given[0] not in MEDIA and self.log.texts_of(key, it) for it in there)
        return len(there) == len(states) and says

    def judge_text(self, op: ArchiveOperation, session: str, value: Reflected) -> None:
        """What it says, and whether anything was to be asked."""
        states, batch = self.since(session, op), self.log.batch_of(op)
        if batch is not None and session in batch.reflections:
            states = (batch.reflections[session],)
        due = [(it.text, it.is_degraded) if it is not None else ("", False) for it in states]
        got, told = (value.text, value.is_degraded), f"what the reflection of {session} says"
        self.demand(got in due, rules.REFERENCE_AGREES, told, due, got)
        ask, rule = op.plan.last("ask"), rules.REPEAT_SAME_ROWS
        told = f"{session} was ended twice, and a model asked"
        self.demand(ask is None or not self.is_made(session, op), rule, told, "", value)
        if ask is None:
            told = f"{session} has a new reflection that no model was asked for"
            self.demand(value.change in ("unchanged", "removed"), rule, told, "", value)
            return
        counts = len(ask.inputs["texts"]), len(value.sources)
        told = f"the sources of the reflection of {session} are not what was shown"
        self.demand(counts[0] == counts[1], rules.DERIVED_FOLLOWS_SOURCE, told, *counts)

    def is_made(self, session: str, op: ArchiveOperation) -> bool:
        """Whether there was a reflection of these very texts when it was asked for, and none has changed."""
        made = [it for it in self.log.reflections.entries.get(session, ()) if it[0] <= op.position]
        made_at, it = made[-1] if made else (0, None)
        if it is None or it.is_degraded or not it.sources:
            return False
        texts = self.log.resources.entries.items()
        later = [(key, text) for key, entries in texts for at, text in entries if at > made_at]
        return not any(key in it.sources or (text and text.session == session) for key, text in later)
