"""Evidence: what model and embedder answered to an operation, and what may follow from it.

Law 1. Of an operation that took less time than a model has, and that met no conflict, the last answer to each
step is what it used. Of any other an answer may have come too late, or a second plan may have asked anew.
"""

from typing import Final

import attrs

from umi_core.invariants.limits import EVOLVE_CANDIDATE_COUNT_MAX, EVOLVE_PAIR_COUNT_MAX
from umi_core.messages.answers import Answer, Embedded, ModelReplied
from umi_core.messages.requests import Descent, EndSession, EvolveCategory, Memorize, Recall, Summarise
from umi_sim.judge.oracle.archive.context import Part
from umi_sim.judge.oracle.archive.possible import Operation, PossibleState
from umi_sim.judge.plain.descriptions import read_description
from umi_sim.judge.plain.extraction import read_extraction
from umi_sim.judge.plain.groups import read_name
from umi_sim.judge.plain.parts import lines_of, read_starts
from umi_sim.judge.plain.rewrites import read_rewrite, read_variants, shown_turns
from umi_sim.judge.plain.routes import read_routes
from umi_sim.judge.plain.scores import sound_vectors
from umi_sim.judge.plain.summaries import read_summary
from umi_sim.judge.plain.verdicts import read_verdicts

EXTEND: Final = "extend"
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

    def kinds(self, op: Operation, key: str, state: PossibleState) -> tuple[str, ...]:
        """What a next version may do to the one before: as a model said, or extend it."""
        pair = (f"{key}@{state.version + 1}", f"{key}@{state.version}")
        floor_ppm = self.context.config.evolve_confidence_min_ppm
        replies = [it.text for it in op.answers_of("evolve") if isinstance(it, ModelReplied)]
        read = [read_verdicts(reply, (pair,), floor_ppm) for reply in replies]
        told = [dict(it.by_pair).get(pair) for it in read if it is not None]
        found = dict.fromkeys(verdict.kind if verdict else EXTEND for verdict in told)
        is_sure = len(told) == len(op.answers_of("evolve")) and self.is_asked(op) and not self.is_late(op)
        return tuple(found) if found and is_sure else (*(kind for kind in found if kind != EXTEND), EXTEND)

    def is_asked(self, op: Operation) -> bool:
        """Whether every version pair is among those that are asked, however many candidates there are."""
        return len(op.mentions) * (1 + EVOLVE_CANDIDATE_COUNT_MAX) <= EVOLVE_PAIR_COUNT_MAX
