"""Summaries: what a summarise says is what a model was told of, and who is a member is told of.

Law 1. The summary is what the last answer says, or the old one. Law 2. Its sources are those of the summary
that the prompt shows, if it shows one, and the facts that it shows: each in a version that was there. Law 3.
Whoever is surely a member is among them, if it is called clean.
"""

from typing import Any

import attrs

from umi_core.data import Data
from umi_core.invariants.limits import SUMMARY_MEMBER_COUNT_MAX
from umi_core.messages.answers import Answer, ModelReplied
from umi_core.messages.effects import Asked, AskModel, Embed
from umi_core.messages.requests import Summarise
from umi_core.messages.results import ResourceForgotten, Summarised
from umi_core.values import CATEGORIES
from umi_sim.judge.oracle.archive.context import Part
from umi_sim.judge.oracle.archive.degradations import Degradations
from umi_sim.judge.oracle.archive.evidence import Evidence
from umi_sim.judge.oracle.archive.possible import Operation
from umi_sim.judge.oracle.archive.tracks import Tracks
from umi_sim.judge.plain.prompts import asked_about
from umi_sim.judge.plain.summaries import read_summary
from umi_sim.record import rules
from umi_sim.record.rules import Rule

Sources = tuple[tuple[str, int], ...]


@attrs.frozen
class Question(Data):
    """What a model was shown, and the text of its answer; None if that is of no use."""

    old: str | None
    shown: Sources
    text: str | None


@attrs.define
class Summaries(Part):
    """Judges summarises. `told`: all summaries that may ever have been stored, by category. `made`: of what
    each of them was made, as replies tell; `gone`: since when one is not shown any more."""

    evidence: Evidence
    degradations: Degradations
    tracks: Tracks
    asked: dict[Operation, Question] = attrs.field(factory=dict)
    told: dict[str, dict[str, None]] = attrs.field(factory=dict)
    made: dict[str, dict[Sources, None]] = attrs.field(factory=dict)
    gone: dict[str, int] = attrs.field(factory=dict)

    def answered(self, op: Operation, step: str, effect: Asked, answer: Answer) -> None:
        if step == "home":
            self.asked.pop(op, None)  # it begins anew
        if step == "embed_summary" and isinstance(effect, Embed) and isinstance(op.request, Summarise):
            name = op.request.category  # without a fact there is no summary, and no model is asked
            due = list(self.told.get(name, {})) if op in self.asked else [f"{name}: {CATEGORIES[name]}"]
            is_due = len(effect.texts) == 1 and effect.texts[0] in due
            told = f"{name} is found by another text than its summary"
            self.demand(is_due, rules.VECTORS_AS_ANSWERED, told, due, effect.texts)
        if step != "ask" or not isinstance(effect, AskModel):
            return
        asked = asked_about(effect.prompt)
        shown = tuple(end_of(fact) for fact in asked["facts"])
        text = read_summary(answer.text) if isinstance(answer, ModelReplied) else None
        self.asked[op] = Question(asked.get("summary"), shown, text)
        if text is not None and isinstance(op.request, Summarise):
            self.told.setdefault(op.request.category, {})[text] = None

    def overheard(self, step: str, effect: Asked, answer: Answer) -> None:
        """An answer that nobody asked for makes a summary as well; of what it is made nobody tells."""
        text = read_summary(answer.text) if isinstance(answer, ModelReplied) else None
        if step == "ask" and isinstance(effect, AskModel) and text is not None:
            category = str(asked_about(effect.prompt)["category"])
            self.told.setdefault(category, {})[text] = None
            self.made.setdefault(text, {}).update({(): None, (("", 0),): None})

    def ended(self, op: Operation) -> None:
        self.asked.pop(op, None)

    def shortened(self, value: object) -> None:
        """What a text told is forgotten: no summary that was made of it is shown any more."""
        if not isinstance(value, ResourceForgotten) or self.asked:
            return  # of what is asked just now nobody knows yet what it is made of
        less = [it.id for it in value.entities if it.change != "unchanged"]
        for may_be in self.told.values():
            for text in list(may_be):
                made = list(self.made.get(text, ()))
                if made and all(any(key in less for key, _ in sources) for sources in made):
                    del may_be[text]
                    self.gone[text] = self.context.tick

    def rule_of(self, text: str) -> Rule:
        """What somebody has broken who shows a summary that may not be shown."""
        return rules.DELETE_REACHES_ALL if text in self.gone else rules.REFERENCE_AGREES

    def wiped(self) -> None:
        for table in (self.told, self.made, self.gone):
            table.clear()

    def may_show(self, name: str, text: str, began: int) -> bool:
        """Whether a model gave this summary; one that has gone may still be shown to who asked before."""
        return text in self.told.get(name, {}) or began < self.gone.get(text, 0)

    def judge_summarise(self, op: Operation, value: Summarised, names: list[str]) -> None:
        assert isinstance(op.request, Summarise)
        self.degradations.judge_causes(op, names, 0)
        asked, may_be = self.asked.get(op), self.told.get(op.request.category, {})
        is_known = value.summary == "" or self.may_show(op.request.category, value.summary, op.began)
        self.demand(is_known, rules.REFERENCE_AGREES, "a summary that no model gave", list(may_be), value)
        if asked is not None and asked.text is not None and self.evidence.is_exact(op):
            told = "another summary than the answer says"
            self.demand(value.summary == asked.text, rules.REFERENCE_AGREES, told, asked.text, value.summary)
            self.judge_sources(asked, value)
        told, is_old = "an old summary is called clean", "ask:old_summary" in names
        self.demand(value.is_dirty or not is_old, rules.DERIVED_FOLLOWS_SOURCE, told, "dirty", value)
        self.made.setdefault(value.summary, {})[value.sources] = None
        if value.summary and not value.is_dirty:
            self.judge_members(op, op.request.category, value)

    def judge_sources(self, asked: Question, value: Summarised) -> None:
        """All that was shown, and nothing that was not: the old summary may stand for others."""
        lost = [end for end in asked.shown if end not in value.sources]
        more = [end for end in value.sources if end not in asked.shown]
        holds = not lost and (asked.old is not None or not more)
        told = "the sources of a summary are not what was shown"
        self.demand(holds, rules.DERIVED_FOLLOWS_SOURCE, told, asked.shown, value.sources)
        made = list(self.made.get(asked.old or "", {}))
        left = [end for end in made[0] if end not in value.sources] if asked.old and len(made) == 1 else []
        told = "a summary is shown that was made of what is no more"
        self.demand(not left, rules.DERIVED_FOLLOWS_SOURCE, told, left, value.sources)

    def judge_members(self, op: Operation, category: str, value: Summarised) -> None:
        named = dict(value.sources)
        for track in list(self.tracks.tracks.values()):
            states = self.tracks.states_since(track, op)
            is_member = bool(states) and all(category in state.links for state in states)
            left_out = is_member and track.id not in named and len(named) < SUMMARY_MEMBER_COUNT_MAX
            told = f"{track.id} is a member of {category}, and its summary is called clean without it"
            self.demand(not left_out, rules.DERIVED_FOLLOWS_SOURCE, told, track.id, value.sources)
            there = [state.version for state in states if state.entity]
            is_true = track.id not in named or not states or named[track.id] in there
            told = f"the summary of {category} was made of another version of {track.id}"
            self.demand(is_true, rules.DERIVED_FOLLOWS_SOURCE, told, there, named.get(track.id))


def end_of(fact: Any) -> tuple[str, int]:
    key, _, version = str(fact["ref"]).rpartition("@")
    return key, int(version)
