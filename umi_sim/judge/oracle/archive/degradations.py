"""Judge the names of degradations: each name has a cause, and each failure has its name in the reply.

For example, if no model answers, a remember stores the text as notes and its reply has `extract:notes`. That
name without such a failure is wrong, and so are notes without that name. The reason must be that of an answer
to the step.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from umi_core import limits
from umi_core.config import Config
from umi_core.conversations import NORMALISERS
from umi_core.language.descriptions import Undescribed, parse_description
from umi_core.language.evolution import Evolution, parse_evolution
from umi_core.language.keywords import Unnamed, parse_name
from umi_core.language.memories import Memories, Unread
from umi_core.language.replies import UnusableReply
from umi_core.language.rewriting import judge_rewrite, parse_variants, shown_turns
from umi_core.language.routing import Routes, parse_routes
from umi_core.language.segments import Useless, parse_segments
from umi_core.language.summaries import Unwritten, parse_summary
from umi_core.messages.answers import EffectFailed, Embedded
from umi_core.messages.effects import Degraded
from umi_core.messages.requests import (
    CreateEntity,
    Descent,
    EndSession,
    EvolveCategory,
    LoadSession,
    Memorize,
    Recall,
    Remember,
    Summarise,
    UpdateEntity,
)
from umi_sim.judge.oracle.archive.context import ArchivePart
from umi_sim.judge.oracle.archive.log import Batch
from umi_sim.judge.oracle.archive.operations import (
    ArchiveOperation,
    Exchange,
    parse_extraction,
    parse_memories,
    read_units,
)
from umi_sim.judge.oracle.promises import causes
from umi_sim.judge.plain.scores import SUBSTITUTES, find_missing, substitute
from umi_sim.record import rules

STORAGE_MADE: Final = ("read:foreign_rows", "read:damaged_rows")
"""A page with one of these is read again, so the degradation is not expected in a reply."""
STEPS: Final[Mapping[type, tuple[str, ...]]] = {
    Remember: ("remember", "extract", "evolve", "embed", "route"),
    LoadSession: ("load_session", "evolve", "embed", "route"),
    Memorize: ("memorize", "preprocess", "segment", "evolve", "embed", "embed_captions"),
    CreateEntity: ("create_entity", "embed", "embed_captions"),
    UpdateEntity: ("update_entity", "embed", "embed_captions"),
    Summarise: ("summarise", "ask", "embed_summary"), EndSession: ("reflect", "ask", "embed_reflection"),
    EvolveCategory: ("evolve_category", "name"), Recall: ("recall", "resolve", "expand", "embed"),
}  # fmt: skip
"""By request: its workflow, and the steps of it that have a substitute for an answer."""
MISSING: Final = "extract:unit_missing"
TOO_MANY: Final = "extract:partial"
NOT_COMPARED: Final = "compare:partial"
NAMES: Final = (
    *(f"{step.rpartition('.')[2]}:{name}" for step, name in SUBSTITUTES.items()),
    TOO_MANY, "extract:uncovered", "evolve:partial", "route:partial", NOT_COMPARED, "contents:partial",
    "texts:partial", *STORAGE_MADE,
)  # fmt: skip
OF_UNITS: Final = ("evolve", "name")
"""Steps that ask several questions, each with a substitute of its own."""
READS: Final = ("by_vector", "candidates", "context", "replaced", "settle")
"""Steps that read rows, page by page, and have a substitute for them."""
EMBEDS: Final = ("embed", "embed_captions", "embed_summary", "embed_reflection")


def tell_failure(it: Exchange) -> str:
    """Return the reason for a question without a reply: the kind of failure, or `timeout`."""
    return it.answer.kind if isinstance(it.answer, EffectFailed) else "timeout"


READERS: Final[Mapping[str, Callable[[Any, str, Config], object]]] = {
    "ask": lambda request, text, config: parse_summary(text),
    "evolve": lambda request, text, config: parse_evolution(text, (), 0),
    "expand": lambda request, text, config: parse_variants(text, ""),
    "extract": lambda request, text, config: parse_extraction(text, "", config),
    "name": lambda request, text, config: parse_name(text),
    "preprocess": lambda request, text, config: parse_description(text),
    "route": lambda request, text, config: parse_routes(text, (), config),
    "segment": lambda request, text, config: parse_segments(
        text, NORMALISERS[request.modality](request.text).count("\n") + 1
    ),
}
"""By step, the parser of a model's reply."""
EXPLAINED: Final = (
    "extract:notes", "preprocess:none", "segment:windows", "ask:old_summary", "ask:beginning",
    "embed:words_only",
    *(f"{step}:{SUBSTITUTES[step]}" for step in ("evolve", "expand", "name", "route", *EMBEDS, *READS)),
)  # fmt: skip
"""Degradations whose reason is that of an answer to their step, or of none."""
USELESS: Final = (UnusableReply, Unwritten, Unread, Useless, Undescribed, Unnamed)
"""What parsers return for a useless reply; each has a reason."""


class Degradations(ArchivePart):
    """Judges the names of the degradations of an operation."""

    def is_of_use(self, op: ArchiveOperation, it: Exchange, count: int = 0) -> bool:
        """Return whether a memory can use an answer. `count`: how many vectors it needs (0: unknown)."""
        config, request, text = self.context.config, op.request, it.text
        if it.step.startswith("embed"):
            # The last `embed` may have asked for more texts than the final plan has new facts.
            needed = count if it.step == "embed" and count else len(it.texts)
            vectors = it.vectors(needed, config.embedding_dims)
            return isinstance(it.answer, Embedded) and None not in vectors
        if text is None:
            return False
        if it.step != "resolve" or not isinstance(request, Recall | Descent):
            return not isinstance(READERS[it.step](request, text, config), USELESS)
        turns = shown_turns(request.turns, config.resolve_turn_count_max)
        found = judge_rewrite(text, request.query, turns, config.resolve_confidence_min_ppm)
        # A rewrite that leaves "he" unchanged is no failure of
        # the model: the turns may not name the person.
        return found.outcome != "rejected" or found.reason == "unresolved"

    def list_reasons(self, op: ArchiveOperation, it: Exchange) -> Iterator[str]:
        """Yield why an answer was useless; nothing if it was usable."""
        if isinstance(it.answer, Embedded):
            reason = find_missing(it.answer.vectors, len(it.texts), self.context.config.embedding_dims)[0]
            yield from (reason,) if reason else ()
        elif it.effect is not None and it.answer is not None and it.text is None:
            yield from causes(it.effect, it.answer)
        elif it.text is None:
            yield tell_failure(it)
        elif isinstance(read := READERS[it.step](op.request, it.text, self.context.config), USELESS):
            yield read.reason

    def judge_names(self, degradations: Sequence[Degraded]) -> None:
        """Demand that all names are in the specification."""
        strange = [it.name for it in degradations if it.name not in NAMES]
        self.demand(not strange, rules.DEGRADATION_NAMED, "unknown degradations", NAMES, strange)

    def judge_extraction(self, names: list[str], batch: Batch) -> None:
        """Demand that a reply names notes stored in place of facts, and sentences that no fact covers."""
        request, found = batch.op.request, batch.extraction
        is_note, is_less = request.extract and found is None, found is not None and found.uncovered_count > 0
        is_fair = ("extract:notes" in names) == is_note
        self.demand(is_fair, rules.DEGRADATION_NAMED, "extract:notes", is_note, names)
        is_fair = ("extract:uncovered" in names) == is_less
        self.demand(is_fair, rules.SENTENCE_NEVER_LOST, "extract:uncovered", is_less, names)

    def judge(
        self, op: ArchiveOperation, degradations: Sequence[Degraded], batch: Batch | None, count: int
    ) -> None:
        """Demand that a reply names all failures and nothing else; `count` vectors were needed."""
        names = [it.name for it in degradations]
        for name, is_due in self.list_names_due(op, batch, count):
            self.demand((name in names) == is_due, rules.DEGRADATION_NAMED, name, is_due, names)
        for it in (it for it in degradations if it.name in EXPLAINED):
            step = it.name.partition(":")[0]
            tried = [one for one in (*op.past, *op.attempts) if one.step == step]
            # After a second plan, or with several questions, it is
            # not known which answer led to the degradation.
            counted = tried if op.past or step in (*OF_UNITS, *EMBEDS, *READS) else tried[-1:]
            allowed = [reason for one in counted for reason in self.list_reasons(op, one)]
            message = f"the reason for {it.name}"
            self.demand(it.reason in allowed, rules.DEGRADATION_NAMED, message, allowed, it.reason)
        for name, beyond in count_beyond_limits(op, batch):
            expected = [Degraded(name, "too_many", beyond)] if beyond > 0 else []
            got = [it for it in degradations if it.name == name]
            self.demand(
                got == expected, rules.DEGRADATION_NAMED, f"the reason and count of {name}", expected, got
            )

    def list_names_due(
        self, op: ArchiveOperation, batch: Batch | None, count: int
    ) -> Iterator[tuple[str, bool]]:
        """Yield names of degradations, each with whether the reply must have it.

        After a conflict a reply may or may not have the degradations of the earlier plan; those are left out.
        """
        every = (*op.past, *op.attempts)
        workflow, *steps = STEPS.get(type(op.request), ("",))
        for step in steps:
            name = f"{step}:{substitute(workflow, step)}"
            # An earlier plan of this operation may have had other facts, and so another number of vectors.
            tried, needed = [it for it in every if it.step == step], 0 if op.past else count
            last = op.plan.questions(step) if step in OF_UNITS else op.plan.tried(step)[-1:]
            is_lost = any(not self.is_of_use(op, it, needed) for it in (tried if op.past else last))
            is_absent = step == "embed" and count > 0
            is_absent = is_absent and not any(self.is_of_use(op, it, count) for it in tried)
            if is_absent or not (op.past and is_lost):
                yield name, is_lost or is_absent
        found, request = batch.extraction if batch is not None else None, op.request
        if isinstance(request, Remember | LoadSession) and batch is not None and not op.past:
            yield "extract:partial", found is not None and found.partial
            asked = tuple(batch.entity(key) for key in batch.created)
            read = parse_routes(op.plan.text("route") or "", asked, self.context.config)
            yield "route:partial", isinstance(read, Routes) and bool(read.degraded)
        if isinstance(request, Memorize) and None in read_units(op.plan).values():
            yield MISSING, True
        if isinstance(request, Remember | Memorize | LoadSession) and not op.past:
            compared = [(it.text, it.pairs) for it in op.plan.questions("evolve")]
            verdicts = [parse_evolution(text, pairs, 0) for text, pairs in compared if text is not None]
            yield "evolve:partial", any(isinstance(it, Evolution) and it.dropped for it in verdicts)


def count_beyond_limits(op: ArchiveOperation, batch: Batch | None) -> Iterator[tuple[str, int]]:
    """Yield how many new facts exceed the limit for comparing, and how many exceed that of an answer."""
    if isinstance(op.request, Memorize | Remember | LoadSession) and getattr(op.request, "evolve", True):
        yield NOT_COMPARED, len(batch.created) - limits.EVOLVE_FACT_COUNT_MAX if batch is not None else 0
    if isinstance(op.request, Memorize):
        asked = [it for it in op.plan.tried("extract") if it.inputs]
        texts = {(it.inputs["memory_type"], it.inputs["text"]): it.text or "" for it in asked}
        found = [parse_memories(it) for it in texts.values()]
        beyond = [it.diagnostics.count("too_many") for it in found if isinstance(it, Memories)]
        yield TOO_MANY, sum(beyond)
