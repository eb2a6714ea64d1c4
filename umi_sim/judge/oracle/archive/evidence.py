"""Read what model and embedder answered to an operation, and judge degradations by it."""

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
from umi_sim.judge.oracle.archive.context import Part
from umi_sim.judge.oracle.archive.possible import Operation
from umi_sim.judge.plain.extraction import read_extraction
from umi_sim.judge.plain.hierarchy import lines_of, read_description, read_name, read_starts
from umi_sim.judge.plain.queries import read_rewrite, read_variants, shown_turns
from umi_sim.judge.plain.replies import read_routes, read_summary, read_verdicts, why_unusable
from umi_sim.judge.plain.scores import sound_vectors
from umi_sim.record import rules

# Evidence: what model and embedder answered to an operation, and what may follow from it.
#
# Law 1. Of an operation that took less time than a model has, and that met no conflict, the last
# answer to each
# step is what it used. Of any other an answer may have come too late, or a second plan may have asked anew.


OF_SHELF: Final = ("embed_shelf", "embed_summary", "embed_reflection")

Vectors = tuple[tuple[int, ...], ...]


class Anything:
    """Holds whatever is asked about."""

    def __contains__(self, _: object) -> bool:
        return True


ANY: Final = Anything()


@attrs.define
class Evidence(Part):
    """Reads the answers that an operation was given. It demands nothing."""

    def is_late(self, op: Operation) -> bool:
        """Whether it took so long that a model or an embedder may have timed out."""
        return self.context.seen_ms - op.began_ms >= self.context.config.model_timeout_ms

    def is_exact(self, op: Operation) -> bool:
        """Whether the last answer to each step is the one that counted, and no answer is missing."""
        return not self.is_late(op) and not op.is_replanned

    def is_of_use(self, op: Operation, step: str, answer: Answer, count: int) -> bool:
        """Whether the memory can go on with this answer; `count` is 0 if nobody knows how many vectors."""
        if step == "embed":
            return bool(self.sound(answer, count)) if count else isinstance(answer, Embedded)
        if step in OF_SHELF:
            return len(self.sound(answer, count)) == count
        if not isinstance(answer, ModelReplied):
            return False
        text, request = answer.text, op.request
        if isinstance(request, Summarise | EndSession):
            return read_summary(text) is not None
        if isinstance(request, EvolveCategory):
            return read_name(text) is not None
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
        if step == "evolve":
            return read_verdicts(text, (), 0) is not None
        return read_routes(text, (), self.context.config) is not None

    def vectors(self, op: Operation, count: int) -> list[Vectors]:
        """The sound answers of the embedder, of this many vectors each."""
        return [found for answer in op.answers_of("embed") if (found := self.sound(answer, count))]

    def sound(self, answer: Answer, count: int) -> Vectors:
        """The vectors of an answer if there are that many, and all of them are sound."""
        dims = self.context.config.embedding_dims
        found = sound_vectors(answer.vectors, count, dims) if isinstance(answer, Embedded) else None
        vectors = tuple(vector for vector in found or () if vector)
        return vectors if len(vectors) == count else ()


# Degradations: each that a reply names has a cause among the answers, and what must have failed is named.
#
# A remember whose model was away stores the text as one note and says `extract:notes`. Said
# without a cause
# it is a lie; a note without those words is a loss that nobody was told.


STORAGE_MADE: Final = ("read:foreign_rows", "read:damaged_rows")
SUBSTITUTES: Final[Mapping[type, Mapping[str, str]]] = {  # by step
    Remember: {
        "extract": "extract:notes", "evolve": "evolve:table", "embed": "embed:no_vectors",
        "route": "route:table",
    },
    Memorize: {
        "preprocess": "preprocess:none",
        "segment": "segment:windows", "embed": "embed:no_vectors", "embed_shelf": "embed_shelf:no_vectors",
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
    "extract:unit_missing", "name:keywords", "contents:partial", "told:partial", "by_vector:words_only",
    "settle:core_unread", *STORAGE_MADE,
)  # fmt: skip

PLAIN_REASONS: Final = ("extract", "evolve", "route", "expand")
"""Steps that say of a useless reply what is wrong with any text that has no payload."""
ATTEMPTS: Final = 2
"""How often a step is tried before something takes its place."""
PASSING: Final = ("rate_limited", "timeout", "unavailable")


def may_pass(answer: Answer) -> bool:
    """Whether the same question may be answered another time, soon."""
    if not isinstance(answer, EffectFailed):
        return False  # of no use, and so it would be again
    return answer.kind in PASSING and answer.retry_after_ms <= limits.RETRY_AFTER_MS_MAX


def reason_of(answer: Answer) -> str:
    """Why an answer to a model's question was of no use."""
    if isinstance(answer, EffectFailed):
        return answer.kind
    return why_unusable(answer.text) if isinstance(answer, ModelReplied) else ""


@attrs.define
class Degradations(Part):
    """Judges the names of what an operation had to do without."""

    evidence: Evidence

    def judge_names(self, names: list[str]) -> None:
        is_known = all(name in NAMES for name in names)
        self.demand(is_known, rules.DEGRADATION_NAMED, "there is no such degradation", NAMES, names)

    def judge_causes(self, op: Operation, names: list[str], count: int) -> None:
        """Each substitute has a cause, and what failed is named; `count` vectors were asked for."""
        for step, substitute in SUBSTITUTES[type(op.request)].items():
            heard, is_named = op.answers_of(step), substitute in names
            counts = [count] * len(heard) if self.evidence.is_exact(op) or step != "embed" else op.text_counts
            counts = op.shelf_counts if step in OF_SHELF else counts
            bad = [not self.evidence.is_of_use(op, step, *one) for one in zip(heard, counts, strict=True)]
            if self.evidence.is_exact(op):
                is_due = bool(bad) and bad[-1]
                self.demand(is_named == is_due, rules.DEGRADATION_NAMED, substitute, is_due, names)
                is_patient = not is_named or len(heard) == ATTEMPTS or not may_pass(heard[-1])
                self.demand(
                    is_patient, rules.DEGRADATION_NAMED, f"{substitute} after one try", ATTEMPTS, heard
                )
            else:  # a second plan asks for other vectors, or for none
                is_caused = any(bad) or self.evidence.is_late(op)
                self.demand(
                    is_caused or not is_named, rules.DEGRADATION_NAMED, f"{substitute} without a cause"
                )
        if isinstance(op.request, Remember) and op.request.extract and op.extraction is None:
            self.demand("extract:notes" in names, rules.DEGRADATION_NAMED, "a failed extraction is not named")
        if count and not self.evidence.vectors(op, count):
            is_named = any(name.startswith("embed:") for name in names)
            self.demand(is_named, rules.DEGRADATION_NAMED, "a failed embedding is not named")

    def judge_reasons(self, op: Operation, lacks: Iterable[Degraded]) -> None:
        """What a model failed with is told; why a rewrite or a vector is of no use has names of its own."""
        by_model = [name for step, name in SUBSTITUTES[type(op.request)].items() if step in PLAIN_REASONS]
        for lack in lacks:
            step = lack.name.partition(":")[0]
            heard = [reason_of(answer) for answer in op.answers_of(step)]
            allowed = heard[-1:] if self.evidence.is_exact(op) else [*heard, "timeout"]
            is_told = lack.reason in allowed if lack.name in by_model else lack.reason != ""
            self.demand(is_told, rules.DEGRADATION_NAMED, f"why {lack.name}", allowed, lack.reason)

    def judge_partial(self, op: Operation, names: list[str], changed: tuple[Entity, ...]) -> None:
        """What was malformed in a reply of use is named."""
        for step in ("extract", "evolve", "route") if self.evidence.is_exact(op) else ():
            name, last = f"{step}:partial", op.answers_of(step)[-1:]
            lacks = [self.lacks(op, step, it.text, changed) for it in last if isinstance(it, ModelReplied)]
            is_due = True in lacks
            is_fair = (name in names) == is_due or None in lacks
            self.demand(is_fair, rules.DEGRADATION_NAMED, name, is_due, names)

    def judge_uncovered(self, op: Operation, names: list[str]) -> None:
        """Sentences that an answer of use passes over are named, and nothing else is."""
        if self.evidence.is_exact(op):
            is_due = op.extraction is not None and op.extraction.uncovered_count > 0
            is_named = "extract:uncovered" in names
            self.demand(is_named == is_due, rules.SENTENCE_NEVER_LOST, "extract:uncovered", is_due, names)

    def lacks(self, op: Operation, step: str, text: str, changed: tuple[Entity, ...]) -> bool | None:
        """Whether something in a reply was malformed; None if that depends on what was asked."""
        if step == "extract":
            return op.extraction is not None and op.extraction.partial
        if step == "evolve":
            read, rows = read_verdicts(text, ANY, 0), read_verdicts(text, (), 0)
            if read is None or rows is None or not rows.dropped:
                return False
            return bool(read.dropped) or None
        routes = read_routes(text, [(it.id, it.type) for it in changed], self.context.config)
        return routes is not None and bool(routes.faults)
