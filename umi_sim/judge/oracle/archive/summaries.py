"""Judge summarise, evolve_category and upkeep."""

from typing import Any, Final

import attrs

from umi_core.data import Data
from umi_core.invariants.limits import SUMMARY_MEMBER_COUNT_MAX
from umi_core.kelpie.requests import DeleteArchival
from umi_core.messages.answers import Answer, ModelReplied, ReadDone
from umi_core.messages.effects import Asked, AskModel, ByIds, Embed, Read
from umi_core.messages.requests import (
    CreateEntity,
    EvolveCategory,
    Forget,
    ForgetResource,
    Memorize,
    Rebalance,
    Remember,
    Summarise,
    UpdateEntity,
)
from umi_core.messages.results import Evolved, Group, ResourceForgotten, Summarised
from umi_core.rows import Resource, Row
from umi_core.values import CATEGORIES, MEMORY_TYPES
from umi_sim.judge.oracle.archive.context import Part
from umi_sim.judge.oracle.archive.evidence import Degradations, Evidence
from umi_sim.judge.oracle.archive.possible import Operation
from umi_sim.judge.oracle.archive.tracks import Tracks
from umi_sim.judge.plain.hierarchy import read_name
from umi_sim.judge.plain.replies import read_summary
from umi_sim.judge.plain.text import asked_about
from umi_sim.record import rules
from umi_sim.record.rules import Rule
from umi_sim.services.calls import Call

# Summaries: what a summarise says is what a model was told of, and who is a member is told of.
#
# Law 1. The summary is what the last answer says, or the old one. Law 2. Its sources are those of
# the summary
# that the prompt shows, if it shows one, and the facts that it shows: each in a version that was
# there. Law 3.
# Whoever is surely a member is among them, if it is called clean.


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


# Groups: what an evolve_category says that it did.
#
# Law 1. Names come from answers of a model or from keywords, and a substitute is named. Law 2.
# Asked again with
# nothing between, it changes nothing, asks no model, and tells the same groups. What the groups must be is
# judged where the vectors are known, from inside (umi_sim/judge/invariants/groups.py).


CHANGING: Final = (
    Memorize, CreateEntity, UpdateEntity, Remember, Forget, ForgetResource, DeleteArchival, Rebalance,
)  # fmt: skip
SUBSTITUTE: Final = "name:keywords"
PARTIAL: Final = "contents:partial"


@attrs.define
class Groups(Part):
    """`told`: by category, what the last evolve told, if nothing can have changed since. `changing_count`:
    how often something began or ended that changes members; `begun`: by operation, how often when it began.
    """

    evidence: Evidence
    tracks: Tracks
    told: dict[str, tuple[Group, ...]] = attrs.field(factory=dict)
    answers: dict[Operation, list[Answer]] = attrs.field(factory=dict)
    changing_count: int = 0
    begun: dict[Operation, int] = attrs.field(factory=dict)

    def begin(self, op: Operation) -> None:
        """What changes members, or who may do so already, leaves nothing certain."""
        if isinstance(op.request, CHANGING):
            self.change()
        elif isinstance(op.request, EvolveCategory):
            self.begun[op] = self.changing_count

    def change(self) -> None:
        self.told.clear()
        self.changing_count += 1

    def answered(self, op: Operation, step: str, answer: Answer) -> None:
        if step == "name":
            self.answers.setdefault(op, []).append(answer)

    def ended(self, op: Operation) -> None:
        self.answers.pop(op, None)
        self.begun.pop(op, None)
        if isinstance(op.request, CHANGING):
            self.change()

    def forget(self) -> None:
        self.told.clear()
        self.answers.clear()
        self.begun.clear()

    def judge_evolve(self, op: Operation, value: Evolved, names: list[str]) -> None:
        request, answers = op.request, self.answers.get(op, [])
        assert isinstance(request, EvolveCategory)
        is_fair, told = value.change in ("updated", "unchanged"), "neither updated nor left as it was"
        self.demand(is_fair, rules.REFERENCE_AGREES, told, "", value.change)
        lost = [it for it in answers if not isinstance(it, ModelReplied) or read_name(it.text) is None]
        is_named = SUBSTITUTE in names
        is_caused = not is_named or bool(lost) or self.evidence.is_late(op)
        self.demand(is_caused, rules.DEGRADATION_NAMED, f"{SUBSTITUTE} without a cause", "", answers)
        if self.evidence.is_exact(op) and answers and answers[-1] in lost:
            self.demand(is_named, rules.DEGRADATION_NAMED, SUBSTITUTE, True, names)
        self.judge_again(op, value, names)

    def may_decay(self) -> bool:
        """Whether there may be members that nobody has used for long: what becomes of them is seen inside."""
        decay_ms = self.context.config.group_decay_ms
        return 0 < decay_ms <= self.context.latest_ms - self.context.first_ms

    def judge_again(self, op: Operation, value: Evolved, names: list[str]) -> None:
        """A scan may repair meanwhile what is not certain: members without a vector, or unread ones."""
        request, answers = op.request, self.answers.get(op, [])
        assert isinstance(request, EvolveCategory)
        before = None if self.may_decay() or PARTIAL in names else self.told.get(request.category)
        if before is not None and not request.force:
            told = "an evolve after which nothing came did something once more"
            is_idle = (value.change, value.groups, answers) == ("unchanged", before, [])
            self.demand(is_idle, rules.REPEAT_SAME_ROWS, told, before, value)
        others = (it.request for it in self.tracks.flying.values() if it is not op)
        is_unsure = op.is_replanned or self.context.surroundings.atlas.losses or PARTIAL in names
        is_unsure = is_unsure or self.may_decay() or self.begun.get(op) != self.changing_count
        if is_unsure or any(isinstance(it, CHANGING) for it in others):
            self.told.pop(request.category, None)
        else:
            self.told[request.category] = value.groups


# Upkeep: memorizes that nobody asked for, judged as if the row had asked for what it lacks.
#
# Law 1. What is asked for is what the stored row says that it lacks, as the memory was told of it.
# Law 2. Nobody is told how it ends: whatever it does may have happened. The text stays what
# somebody memorized
# last: upkeep brings none back that was replaced or forgotten meanwhile.


TENDED: Final = ("upkeep", "memorize", "summarise", "reflect")


@attrs.define
class Upkeep(Part):
    """`rows`: the texts that lacked something when they were looked at last, by id. `going`: what is being
    done, by the name that the world has for it."""

    rows: dict[str, Row] = attrs.field(factory=dict)
    going: dict[str, Memorize] = attrs.field(factory=dict)

    def looked(self, answer: Answer) -> None:
        for row in answer.rows if isinstance(answer, ReadDone) else ():
            if isinstance(row.body, Resource):
                self.rows[row.address.id] = row

    def begun(self, call: Call) -> Memorize | None:
        """What a memorize that begins with this call does; None if nobody knows."""
        query = call.effect.query if isinstance(call.effect, Read) else None
        row = self.rows.get(query.addresses[0].id) if isinstance(query, ByIds) else None
        body = row.body if row is not None else None
        if not isinstance(body, Resource):
            return None
        kinds = tuple(kind for kind in MEMORY_TYPES if kind in body.pending) or body.extracted_types
        request = Memorize(call.op_id, body.text, body.modality, body.uri, kinds, body.happened_ms)
        return self.going.setdefault(call.op_id, request)
