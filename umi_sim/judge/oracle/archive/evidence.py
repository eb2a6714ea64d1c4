"""Judge what an operation had to do without: what is named has a cause, and what failed is named.

A remember whose model was away stores the text as notes and says `extract:notes`. Said without a cause
it is a lie; a note without those words is a loss that nobody was told.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import attrs

from umi_core.invariants import limits
from umi_core.kelpie.requests import DeleteArchival
from umi_core.messages.answers import Answer, EffectFailed, Embedded, ModelReplied
from umi_core.messages.effects import Degraded
from umi_core.messages.requests import (
    CreateEntity,
    Descent,
    EndSession,
    EvolveCategory,
    ForgetResource,
    Memorize,
    Recall,
    Remember,
    Summarise,
    UpdateEntity,
)
from umi_core.rows import Entity
from umi_sim.judge.oracle.archive.context import ArchivePart
from umi_sim.judge.oracle.archive.operations import ArchiveOperation, Exchange
from umi_sim.judge.plain.extraction import Extracted, read_extraction
from umi_sim.judge.plain.hierarchy import lines_of, read_description, read_name, read_starts
from umi_sim.judge.plain.queries import read_rewrite, read_variants, shown_turns
from umi_sim.judge.plain.replies import read_routes, read_summary, read_verdicts, why_unusable
from umi_sim.judge.plain.scores import sound_vectors
from umi_sim.record import rules

OF_SHELF: Final = ("embed_shelf", "embed_summary", "embed_reflection")

Vectors = tuple[tuple[int, ...], ...]


@attrs.define
class Evidence(ArchivePart):
    """Reads the answers that an operation was given. It demands nothing."""

    def is_of_use(self, op: ArchiveOperation, it: Exchange, count: int) -> bool:
        """Whether the memory can go on with what came; `count` is 0 if nobody knows how many vectors."""
        step, answer = it.step, it.answer
        if step == "embed":
            return bool(self.sound(answer, count)) if count else isinstance(answer, Embedded)
        if step in OF_SHELF:
            return len(self.sound(answer, it.count)) == it.count
        if not isinstance(answer, ModelReplied):
            return False
        text, request = answer.text, op.request
        if isinstance(request, Summarise | EndSession):
            return read_summary(text) is not None
        if isinstance(request, EvolveCategory):
            return read_name(text) is not None
        if step == "evolve":
            return read_verdicts(text, (), 0) is not None
        if step == "preprocess":
            return read_description(text) is not None
        if isinstance(request, Memorize):
            lines = lines_of(request.text, request.modality)
            return read_starts(text, len(lines)) is not None
        if step == "extract":
            return read_extraction(text, "", 0) is not None
        if step == "resolve" and isinstance(request, Recall | Descent):
            config = self.context.config
            floor_ppm = config.resolve_confidence_min_ppm
            turns = shown_turns(request.turns, config.resolve_turn_count_max)
            found = read_rewrite(text, request.query, turns, floor_ppm)
            return found.outcome != "rejected" or found.reason == "unresolved"
        if step == "expand":
            return read_variants(text, "") is not None
        return read_routes(text, (), self.context.config) is not None

    def vectors(self, op: ArchiveOperation, count: int) -> list[Vectors]:
        """The sound answers of the embedder, of this many vectors each."""
        answers = [it.answer for it in (*op.past, *op.attempts) if it.step == "embed"]
        return [found for answer in answers if (found := self.sound(answer, count))]

    def sound(self, answer: Answer | None, count: int) -> Vectors:
        """The vectors of an answer if there are that many, and all of them are sound."""
        dims = self.context.config.embedding_dims
        found = sound_vectors(answer.vectors, count, dims) if isinstance(answer, Embedded) else None
        vectors = tuple(vector for vector in found or () if vector)
        return vectors if len(vectors) == count else ()


STORAGE_MADE: Final = ("read:foreign_rows", "read:damaged_rows")
SUBSTITUTES: Final[Mapping[type, Mapping[str, str]]] = {  # by step
    Remember: {
        "extract": "extract:notes", "evolve": "evolve:table", "embed": "embed:no_vectors",
        "route": "route:table",
    },
    Memorize: {
        "preprocess": "preprocess:none", "segment": "segment:windows", "evolve": "evolve:table",
        "embed": "embed:no_vectors", "embed_shelf": "embed_shelf:no_vectors",
    },
    CreateEntity: {"embed": "embed:no_vectors", "embed_shelf": "embed_shelf:no_vectors"},
    ForgetResource: {}, DeleteArchival: {},
    UpdateEntity: {"embed": "embed:no_vectors", "embed_shelf": "embed_shelf:no_vectors"},
    Summarise: {"ask": "ask:old_summary", "embed_summary": "embed_summary:no_vectors"},
    EndSession: {"ask": "ask:beginning", "embed_reflection": "embed_reflection:no_vectors"},
    Recall: {"resolve": "resolve:original", "expand": "expand:single", "embed": "embed:words_only"},
}  # fmt: skip
OF_LEVELS: Final = tuple(
    name
    for level in ("categories", "entities", "reflections", "resources")
    for name in (
        f"embed_{level}:words_only", f"{level}_by_vector:words_only", f"{level}_by_words:failed",
        f"rank_{level}:by_score", f"enough_{level}:go_on",
    )
)  # fmt: skip
NAMES: Final = (
    *OF_LEVELS, "route:retrieve",
    *(name for names in SUBSTITUTES.values() for name in names.values()),
    "extract:partial", "extract:uncovered", "evolve:partial", "route:partial", "candidates:none",
    "compare:partial", "extract:unit_missing", "name:keywords", "contents:partial", "told:partial",
    "by_vector:words_only", "context:none", "replaced:none", "settle:core_unread", *STORAGE_MADE,
)  # fmt: skip

PLAIN_REASONS: Final = ("extract", "evolve", "route", "expand")
"""Steps that say of a useless reply what is wrong with any text that has no payload."""
OF_UNITS: Final = ("evolve",)
"""Steps that ask several questions, each with a substitute of its own."""
ATTEMPTS: Final = 2
"""How often a step is tried before something takes its place."""
PASSING: Final = ("rate_limited", "timeout", "unavailable")


def may_pass(answer: Answer | None) -> bool:
    """Whether the same question may be answered another time, soon; None has timed out."""
    if answer is None:
        return True
    if not isinstance(answer, EffectFailed):
        return False  # of no use, and so it would be again
    return answer.kind in PASSING and answer.retry_after_ms <= limits.RETRY_AFTER_MS_MAX


def reason_of(answer: Answer | None) -> str:
    """Why an answer to a model's question was of no use."""
    if answer is None:
        return "timeout"
    if isinstance(answer, EffectFailed):
        return answer.kind
    return why_unusable(answer.text) if isinstance(answer, ModelReplied) else ""


@attrs.define
class Degradations(ArchivePart):
    """Judges the names of what an operation had to do without."""

    evidence: Evidence

    def judge_names(self, names: list[str]) -> None:
        is_known = all(name in NAMES for name in names)
        self.demand(is_known, rules.DEGRADATION_NAMED, "there is no such degradation", NAMES, names)

    def judge_causes(self, op: ArchiveOperation, names: list[str], count: int) -> None:
        """Each substitute has a cause, and what failed is named; `count` vectors were asked for."""
        for step, substitute in SUBSTITUTES[type(op.request)].items():
            is_named, now = substitute in names, list(op.plan.tried(step))
            if op.is_replanned:  # an earlier plan asked for other vectors, or for none
                tried = [it for it in (*op.past, *op.attempts) if it.step == step]
                is_caused = any(not self.evidence.is_of_use(op, it, it.count) for it in tried)
                told = f"{substitute} without a cause"
                self.demand(is_caused or not is_named, rules.DEGRADATION_NAMED, told)
                continue
            last = op.plan.questions(step) if step in OF_UNITS else now[-1:]
            failed = [it for it in last if not self.evidence.is_of_use(op, it, count)]
            self.demand(is_named == bool(failed), rules.DEGRADATION_NAMED, substitute, bool(failed), names)
            for it in failed:
                tried = [other for other in now if step not in OF_UNITS or other.prompt == it.prompt]
                is_patient = len(tried) >= ATTEMPTS or not may_pass(it.answer)
                self.demand(is_patient, rules.DEGRADATION_NAMED, f"{substitute} after one try", ATTEMPTS, now)
        if count and not self.evidence.vectors(op, count):
            is_named = any(name.startswith("embed:") for name in names)
            self.demand(is_named, rules.DEGRADATION_NAMED, "a failed embedding is not named")

    def judge_extraction(self, op: ArchiveOperation, names: list[str], found: Extracted | None) -> None:
        """A note in place of what a model should have found is named, and sentences that it passed over."""
        assert isinstance(op.request, Remember)
        is_note = op.request.extract and found is None
        is_named = "extract:notes" in names
        self.demand(is_named == is_note, rules.DEGRADATION_NAMED, "extract:notes", is_note, names)
        is_due, is_named = found is not None and found.uncovered_count > 0, "extract:uncovered" in names
        self.demand(is_named == is_due, rules.SENTENCE_NEVER_LOST, "extract:uncovered", is_due, names)

    def judge_reasons(self, op: ArchiveOperation, lacks: Iterable[Degraded]) -> None:
        """What a model failed with is told; why a rewrite or a vector is of no use has names of its own."""
        by_model = [name for step, name in SUBSTITUTES[type(op.request)].items() if step in PLAIN_REASONS]
        for lack in lacks:
            step = lack.name.partition(":")[0]
            tried = [it for it in (*op.past, *op.attempts) if it.step == step]
            reasons = [reason_of(it.answer) for it in tried]
            allowed = reasons if op.is_replanned or step in OF_UNITS else reasons[-1:]
            is_told = lack.reason in allowed if lack.name in by_model else lack.reason != ""
            self.demand(is_told, rules.DEGRADATION_NAMED, f"why {lack.name}", allowed, lack.reason)

    def judge_partial(
        self, op: ArchiveOperation, names: list[str], found: Extracted | None, changed: list[Entity]
    ) -> None:
        """What was malformed in a reply of use is named."""
        self.judge_verdicts(op, names)
        for step in ("extract", "route") if not op.is_replanned else ():
            name, last, text = f"{step}:partial", op.plan.last(step), op.plan.text(step)
            is_due = False
            if last is not None and text is not None:
                is_due = self.is_malformed(last, text, found, changed)
            self.demand((name in names) == is_due, rules.DEGRADATION_NAMED, name, is_due, names)

    def judge_verdicts(self, op: ArchiveOperation, names: list[str]) -> None:
        """Demand that rows of verdicts that were dropped are named."""
        if op.is_replanned:
            return
        asked = [(it.text, it.pairs) for it in op.plan.questions("evolve")]
        read = [read_verdicts(text, pairs, 0) for text, pairs in asked if text is not None]
        name, is_due = "evolve:partial", any(it is not None and it.dropped for it in read)
        self.demand((name in names) == is_due, rules.DEGRADATION_NAMED, name, is_due, names)

    def is_malformed(self, last: Exchange, text: str, found: Extracted | None, changed: list[Entity]) -> bool:
        """Whether something in a reply was malformed."""
        if last.step == "extract":
            return found is not None and found.partial
        routes = read_routes(text, [(it.id, it.type) for it in changed], self.context.config)
        return routes is not None and bool(routes.faults)
