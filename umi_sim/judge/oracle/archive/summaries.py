"""Judge summarise, evolve_category and upkeep."""

from typing import Final

import attrs

from umi_core.invariants.limits import SUMMARY_MEMBER_COUNT_MAX
from umi_core.messages.answers import Answer, ModelReplied, ReadDone
from umi_core.messages.effects import Asked, ByIds, Embed, Read
from umi_core.messages.requests import (
    EndSession,
    EvolveCategory,
    Memorize,
    Rebalance,
    Summarise,
)
from umi_core.messages.results import Evolved, Group, Summarised
from umi_core.rows import Resource, Row
from umi_core.values import MEMORY_TYPES, Scope
from umi_sim.judge.oracle.archive.context import ArchivePart
from umi_sim.judge.oracle.archive.evidence import Degradations
from umi_sim.judge.oracle.archive.log import BatchLog
from umi_sim.judge.oracle.archive.operations import ArchiveOperation
from umi_sim.judge.oracle.archive.timelines import Batch, CategoryState
from umi_sim.judge.plain.hierarchy import read_name
from umi_sim.judge.plain.replies import read_summary
from umi_sim.judge.plain.rows import category_id
from umi_sim.record import rules
from umi_sim.record.rules import Rule
from umi_sim.services.calls import Call

# Summaries: what a summarise says is what a model was told of, and who is a member is told of.
#
# Law 1. The summary is what the last answer says, or the old one. Law 2. Its sources are those of
# the summary that the prompt shows, if it shows one, and the facts that it shows. Law 3. Whoever is
# surely a member is among them, if it is called clean.


@attrs.define
class Summaries(ArchivePart):
    """Judges summarises, and what reads show of summaries."""

    degradations: Degradations
    log: BatchLog

    def answered(self, op: ArchiveOperation, step: str, effect: Asked) -> None:
        if step == "embed_summary" and isinstance(effect, Embed) and isinstance(op.request, Summarise):
            name = op.request.category  # without a fact there is no summary, and no model is asked
            text = read_summary(op.plan.text("ask") or "") if op.plan.last("ask") else None
            due, told = (
                (text or f"{name}: {self.context.abouts[name]}",),
                f"{name} is found by another text than its own",
            )
            self.demand(effect.texts == due, rules.VECTORS_AS_ANSWERED, told, due, effect.texts)

    def judge_landed(self, op: ArchiveOperation, batch: Batch) -> None:
        """Demand that a new summary is made of all members, whoever asked for it."""
        members = self.log.members(op.request.category) if isinstance(op.request, Summarise) else ()
        is_sure = not self.context.surroundings.atlas.losses and len(members) <= SUMMARY_MEMBER_COUNT_MAX
        if isinstance(op.request, Summarise) and is_sure:
            due = tuple(sorted((key, self.log.state(key).version) for key in members))
            got = batch.categories[op.request.category].sources
            told = f"the summary of {op.request.category} is made of other facts than its members"
            self.demand(got == due, rules.DERIVED_FOLLOWS_SOURCE, told, due, got)

    def judge_shown(self, op: ArchiveOperation, name: str, text: str, rule: Rule) -> None:
        """A read shows the summary that there is; one that is gone shows what was forgotten."""
        known = [it.summary for it in self.log.categories.since(name, op.position)]
        was_there = any(text == it.summary for _, it in self.log.categories.entries.get(name, ()))
        rule = rules.DELETE_REACHES_ALL if was_there and text not in known else rule
        self.demand(text in known, rule, f"the category {name} has another summary", known, text)

    def judge_summarise(self, op: ArchiveOperation, value: Summarised, names: list[str]) -> None:
        assert isinstance(op.request, Summarise)
        self.degradations.judge_causes(op, names, 0)
        name, batch, is_old = op.request.category, self.log.batch_of(op), "ask:old_summary" in names
        states = self.log.categories.since(name, op.position)
        if batch is not None and name in batch.categories:
            states = (batch.categories[name],)
        due = [attrs.evolve(it, is_dirty=True) if is_old else it for it in states]
        texts = [it.summary for it in due]
        self.demand(value.summary in texts, rules.REFERENCE_AGREES, "another summary", texts, value)
        got = CategoryState(value.summary, value.sources, value.is_dirty)
        told = "a summary is made of something else"
        self.demand(got in due, rules.DERIVED_FOLLOWS_SOURCE, told, due, value)
        if value.summary and not value.is_dirty:
            self.judge_members(op, name, value)

    def judge_members(self, op: ArchiveOperation, category: str, value: Summarised) -> None:
        named = dict(value.sources)
        for key, states in self.log.all_since(op).items():
            is_member = all(category in state.links for state in states)
            left_out = is_member and key not in named and len(named) < SUMMARY_MEMBER_COUNT_MAX
            told = f"{key} is a member of {category}, and its summary is called clean without it"
            self.demand(not left_out, rules.DERIVED_FOLLOWS_SOURCE, told, key, value.sources)
            there = [state.version for state in states if state.entity]
            is_true = key not in named or named[key] in there
            told = f"the summary of {category} was made of another version of {key}"
            self.demand(is_true, rules.DERIVED_FOLLOWS_SOURCE, told, there, named.get(key))


# Groups: what an evolve_category says that it did.
#
# Law 1. Names come from answers of a model or from keywords, and a substitute is named. Law 2.
# Asked again with
# nothing between, it changes nothing, asks no model, and tells the same groups. What the groups must be is
# judged where the vectors are known, from inside (umi_sim/judge/invariants/groups.py).


SUBSTITUTE: Final = "name:keywords"
PARTIAL: Final = "contents:partial"


@attrs.define
class Groups(ArchivePart):
    """`told`: by category, what the last evolve told, and at which position."""

    log: BatchLog
    told: dict[str, tuple[int, tuple[Group, ...]]] = attrs.field(factory=dict)

    def judge_evolve(self, op: ArchiveOperation, value: Evolved, names: list[str]) -> None:
        request, answers = op.request, op.answers_of("name")
        assert isinstance(request, EvolveCategory)
        is_fair, told = value.change in ("updated", "unchanged"), "neither updated nor left as it was"
        self.demand(is_fair, rules.REFERENCE_AGREES, told, "", value.change)
        lost = [it for it in answers if not isinstance(it, ModelReplied) or read_name(it.text) is None]
        is_named = SUBSTITUTE in names
        is_silent = any(it.answer is None for it in (*op.past, *op.attempts) if it.step == "name")
        is_caused = not is_named or bool(lost) or is_silent
        self.demand(is_caused, rules.DEGRADATION_NAMED, f"{SUBSTITUTE} without a cause", "", answers)
        if not op.is_replanned and answers and answers[-1] in lost:
            self.demand(is_named, rules.DEGRADATION_NAMED, SUBSTITUTE, True, names)
        self.judge_again(op, value, names)

    def may_decay(self) -> bool:
        """Whether there may be members that nobody has used for long: what becomes of them is seen inside."""
        decay_ms = self.context.config.group_decay_ms
        return 0 < decay_ms <= self.context.latest_ms - self.context.first_ms

    def judge_again(self, op: ArchiveOperation, value: Evolved, names: list[str]) -> None:
        """A scan may repair meanwhile what is not certain: members without a vector, or unread ones."""
        request, answers, changed_at = op.request, op.answers_of("name"), self.log.changed_at
        assert isinstance(request, EvolveCategory)
        is_unsure = self.may_decay() or PARTIAL in names
        told_at, before = self.told.get(request.category, (0, ()))
        if not is_unsure and not request.force and changed_at <= told_at:
            told = "an evolve after which nothing came did something once more"
            is_idle = (value.change, value.groups, answers) == ("unchanged", before, [])
            self.demand(is_idle, rules.REPEAT_SAME_ROWS, told, before, value)
        self.told.pop(request.category, None)
        is_unsure = is_unsure or op.is_replanned or bool(self.context.surroundings.atlas.losses)
        if not is_unsure and changed_at <= op.position:
            self.told[request.category] = self.log.position, value.groups


# Upkeep: memorizes that nobody asked for, judged as if the row had asked for what it lacks.
#
# Law 1. What is asked for is what the stored row says that it lacks, as the memory was told of it.
# Law 2. Nobody is told how it ends: whatever it does may have happened. The text stays what
# somebody memorized
# last: upkeep brings none back that was replaced or forgotten meanwhile.


TENDED: Final = ("upkeep", "memorize", "summarise", "reflect")


@attrs.define
class Upkeep(ArchivePart):
    """`rows`: the texts that lacked something when they were looked at last, by id."""

    rows: dict[str, Row] = attrs.field(factory=dict)

    def looked(self, answer: Answer) -> None:
        for row in answer.rows if isinstance(answer, ReadDone) else ():
            if isinstance(row.body, Resource):
                self.rows[row.address.id] = row

    def begun(self, call: Call, scope: Scope) -> Memorize | Summarise | EndSession | Rebalance | None:
        """What begins with this call; None if nobody knows."""
        if call.workflow == "rebalance":
            return Rebalance(call.op_id)
        query = call.effect.query if isinstance(call.effect, Read) else None
        if not isinstance(query, ByIds):
            return None
        ids = {it.kind: it.id for it in query.addresses}
        if call.workflow == "summarise":
            known = self.context.abouts
            return Summarise(call.op_id, *(it for it in known if category_id(scope, it) == ids["category"]))
        if call.workflow == "reflect":
            return EndSession(call.op_id, ids["session"])
        row = self.rows.get(query.addresses[0].id) if call.workflow == "memorize" else None
        body = row.body if row is not None else None
        if not isinstance(body, Resource):
            return None
        kinds = tuple(kind for kind in MEMORY_TYPES if kind in body.pending) or body.extracted_types
        return Memorize(call.op_id, body.text, body.modality, body.uri, kinds, body.happened_ms)
