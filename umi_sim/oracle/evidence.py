"""Evidence: what model and embedder answered to an operation, and what may follow from it.

Law 1. Answers are read with the memory's pure parsers, which rules of their own judge. Law 2. Each
degradation has a cause among the answers, and what must have failed is named.
"""

from collections.abc import Container
from typing import Final

from umi_core.config import Config
from umi_core.inputs import Embedded, ModelReplied, Recall, Remember
from umi_core.language.evolution import Evolution, parse_evolution
from umi_core.language.replies import Unusable
from umi_core.language.rewriting import judged, parse_variants, shown_turns
from umi_core.language.routing import parse_routes
from umi_core.limits import EVOLVE_CANDIDATE_COUNT_MAX, EVOLVE_PAIR_COUNT_MAX
from umi_core.policies.similarity import sound_vectors
from umi_core.values import Scope
from umi_sim.oracle.worlds import Operation, World, Worlds

STORAGE_MADE: Final = ("read:foreign_rows", "read:damaged_rows")
STEP_OF: Final = {  # each degradation, and the step whose answer must have failed, if an oracle can see it
    "extract:one_note": "extract", "extract:partial": "extract", "embed:no_vectors": "embed",
    "candidates:none": None, "evolve:table": "evolve", "evolve:partial": None,
    "embed:words_only": "embed", "route:table": "route", "route:partial": None, "by_vector:words_only": None,
    "resolve:original": "resolve", "expand:single": "expand",
    "settle:core_unread": None, **dict.fromkeys(STORAGE_MADE),
}  # fmt: skip
EXTEND: Final = "extend"


class Evidence(Worlds):
    """The worlds of an archive, with what the answers say about them."""

    def __init__(self, scope: Scope, config: Config, off: Container[str] = ()) -> None:
        super().__init__(scope, config, off)
        self.seen_ms = self.latest_ms = 0

    def is_late(self, op: Operation) -> bool:
        """Whether it took so long that a model or an embedder may have timed out."""
        return self.seen_ms - op.began_ms >= self.config.model_timeout_ms

    def judge_causes(self, op: Operation, names: list[str], count: int) -> None:
        """Each degradation has a cause, what must have failed is named; `count` vectors were asked for."""
        for name in names:
            step = STEP_OF.get(name)
            is_caused = self.is_late(op) or step is None or self.has_failed(op, step, count)
            self.demand(is_caused, "degradation-named", f"{name} without a cause")
        if isinstance(op.request, Remember) and op.request.extract and op.extraction is None:
            self.demand("extract:one_note" in names, "degradation-named", "a failed extraction is not named")
        if count and not self.vectors(op, count):
            is_named = any(name.startswith("embed:") for name in names)
            self.demand(is_named, "degradation-named", "a failed embedding is not named")

    def has_failed(self, op: Operation, step: str, count: int) -> bool:
        """Whether some answer to this step was a failure, or of no or only partial use."""
        answers = op.answers_of(step)
        if step == "embed":  # a second plan asks for others, or for none
            return len(answers) > 1 or (len(answers) == 1 and not self.vectors(op, count or -1))
        if step == "extract":
            return len(answers) > 1 or op.extraction is None or op.extraction.partial
        return any(not (isinstance(it, ModelReplied) and self.is_of_use(op, step, it.text)) for it in answers)

    def is_of_use(self, op: Operation, step: str, text: str) -> bool:
        if step == "resolve" and isinstance(op.request, Recall):
            floor_ppm = self.config.resolve_confidence_min_ppm
            found = judged(text, op.request.query, shown_turns(op.request.turns), floor_ppm)
            return found.outcome != "rejected" or found.reason == "unresolved"
        if step == "expand":
            return not isinstance(parse_variants(text, ""), Unusable)
        if step == "evolve":
            return not isinstance(parse_evolution(text, (), 0), Unusable)
        return not isinstance(parse_routes(text, (), self.config), Unusable)

    def vectors(self, op: Operation, count: int) -> list[tuple[tuple[int, ...], ...]]:
        """The sound answers of the embedder, of this many vectors each."""
        found = [it for it in op.answers_of("embed") if isinstance(it, Embedded)]
        sound = [sound_vectors(it.vectors, count, self.config.embedding_dims) for it in found]
        return [tuple(vector for vector in it if vector) for it in sound if it is not None and None not in it]

    def kinds(self, op: Operation, key: str, world: World) -> tuple[str, ...]:
        """What a next version may do to the one before: as a model said, or extend it."""
        pair = (f"{key}@{world.version + 1}", f"{key}@{world.version}")
        floor_ppm = self.config.evolve_confidence_min_ppm
        replies = [it.text for it in op.answers_of("evolve") if isinstance(it, ModelReplied)]
        read = [parse_evolution(reply, (pair,), floor_ppm) for reply in replies]
        told = [dict(it.verdicts).get(pair) for it in read if isinstance(it, Evolution)]
        found = dict.fromkeys(verdict.kind if verdict else EXTEND for verdict in told)
        is_sure = len(told) == len(op.answers_of("evolve")) and self.is_asked(op) and not self.is_late(op)
        return tuple(found) if found and is_sure else (*(kind for kind in found if kind != EXTEND), EXTEND)

    def is_asked(self, op: Operation) -> bool:
        """Whether every version pair is among those that are asked, however many candidates there are."""
        return len(op.mentions) * (1 + EVOLVE_CANDIDATE_COUNT_MAX) <= EVOLVE_PAIR_COUNT_MAX
