"""Evidence: what model and embedder answered to an operation, and what may follow from it.

Law 1. Answers are read with the memory's pure parsers, which rules of their own judge. Law 2. Each
degradation has a cause among the answers, and what must have failed is named. Law 3. Of an operation that
took less time than a model has, and that met no conflict, the last answer to each step is what it used.
"""

from collections.abc import Container, Mapping
from typing import Final

from umi_core.config import Config
from umi_core.language.evolution import Evolution, parse_evolution
from umi_core.language.extraction import parse_extraction
from umi_core.language.replies import Unusable
from umi_core.language.rewriting import judged, parse_variants, shown_turns
from umi_core.language.routing import parse_routes
from umi_core.limits import EVOLVE_CANDIDATE_COUNT_MAX, EVOLVE_PAIR_COUNT_MAX
from umi_core.messages.answers import Answer, Embedded, ModelReplied
from umi_core.messages.requests import Recall, Remember
from umi_core.policies.similarity import sound_vectors
from umi_core.rows import Entity
from umi_core.values import Scope
from umi_sim.judge.oracle.worlds import Operation, World, Worlds

STORAGE_MADE: Final = ("read:foreign_rows", "read:damaged_rows")
SUBSTITUTES: Final[Mapping[type, Mapping[str, str]]] = {  # by step
    Remember: {
        "extract": "extract:one_note", "evolve": "evolve:table", "embed": "embed:no_vectors",
        "route": "route:table",
    },
    Recall: {"resolve": "resolve:original", "expand": "expand:single", "embed": "embed:words_only"},
}  # fmt: skip
NAMES: Final = (
    *(name for names in SUBSTITUTES.values() for name in names.values()),
    "extract:partial", "evolve:partial", "route:partial", "candidates:none", "by_vector:words_only",
    "settle:core_unread", *STORAGE_MADE,
)  # fmt: skip
EXTEND: Final = "extend"

Vectors = tuple[tuple[int, ...], ...]


class Anything:
    """Holds whatever is asked about."""

    def __contains__(self, _: object) -> bool:
        return True


ANY: Final = Anything()


class Evidence(Worlds):
    """The worlds of an archive, with what the answers say about them."""

    def __init__(self, scope: Scope, config: Config, off: Container[str] = ()) -> None:
        super().__init__(scope, config, off)
        self.seen_ms = self.latest_ms = 0

    def is_late(self, op: Operation) -> bool:
        """Whether it took so long that a model or an embedder may have timed out."""
        return self.seen_ms - op.began_ms >= self.config.model_timeout_ms

    def is_exact(self, op: Operation) -> bool:
        """Whether the last answer to each step is the one that counted, and no answer is missing."""
        return not self.is_late(op) and not op.is_replanned

    def judge_causes(self, op: Operation, names: list[str], count: int) -> None:
        """Each substitute has a cause, and what failed is named; `count` vectors were asked for."""
        for step, substitute in SUBSTITUTES[type(op.request)].items():
            heard, is_named = op.answers_of(step), substitute in names
            counts = [count] * len(heard) if self.is_exact(op) or step != "embed" else op.text_counts
            bad = [not self.is_of_use(op, step, *one) for one in zip(heard, counts, strict=True)]
            if self.is_exact(op):
                is_due = bool(bad) and bad[-1]
                self.demand(is_named == is_due, "degradation-named", substitute, is_due, names)
            else:  # a second plan asks for other vectors, or for none
                is_caused = any(bad) or self.is_late(op)
                self.demand(is_caused or not is_named, "degradation-named", f"{substitute} without a cause")
        if isinstance(op.request, Remember) and op.request.extract and op.extraction is None:
            self.demand("extract:one_note" in names, "degradation-named", "a failed extraction is not named")
        if count and not self.vectors(op, count):
            is_named = any(name.startswith("embed:") for name in names)
            self.demand(is_named, "degradation-named", "a failed embedding is not named")

    def judge_partial(self, op: Operation, names: list[str], changed: tuple[Entity, ...]) -> None:
        """What was malformed in a reply of use is named."""
        for step in ("extract", "evolve", "route") if self.is_exact(op) else ():
            name, last = f"{step}:partial", op.answers_of(step)[-1:]
            lacks = [self.lacks(op, step, it.text, changed) for it in last if isinstance(it, ModelReplied)]
            is_due = True in lacks
            is_fair = (name in names) == is_due or None in lacks
            self.demand(is_fair, "degradation-named", name, is_due, names)

    def lacks(self, op: Operation, step: str, text: str, changed: tuple[Entity, ...]) -> bool | None:
        """Whether something in a reply was malformed; None if that depends on what was asked."""
        if step == "extract":
            return op.extraction is not None and op.extraction.partial
        if step == "evolve":
            read, rows = parse_evolution(text, ANY, 0), parse_evolution(text, (), 0)
            if isinstance(read, Unusable) or isinstance(rows, Unusable) or not rows.dropped:
                return False
            return bool(read.dropped) or None
        routes = parse_routes(text, changed, self.config)
        return not isinstance(routes, Unusable) and bool(routes.degraded)

    def is_of_use(self, op: Operation, step: str, answer: Answer, count: int) -> bool:
        """Whether the memory can go on with this answer; `count` is 0 if nobody knows how many vectors."""
        if step == "embed":
            return bool(self.sound(answer, count)) if count else isinstance(answer, Embedded)
        if not isinstance(answer, ModelReplied):
            return False
        text, request = answer.text, op.request
        if step == "extract":
            return not isinstance(parse_extraction(text, "", self.config), Unusable)
        if step == "resolve" and isinstance(request, Recall):
            floor_ppm = self.config.resolve_confidence_min_ppm
            found = judged(text, request.query, shown_turns(request.turns), floor_ppm)
            return found.outcome != "rejected" or found.reason == "unresolved"
        if step == "expand":
            return not isinstance(parse_variants(text, ""), Unusable)
        if step == "evolve":
            return not isinstance(parse_evolution(text, (), 0), Unusable)
        return not isinstance(parse_routes(text, (), self.config), Unusable)

    def vectors(self, op: Operation, count: int) -> list[Vectors]:
        """The sound answers of the embedder, of this many vectors each."""
        return [found for answer in op.answers_of("embed") if (found := self.sound(answer, count))]

    def sound(self, answer: Answer, count: int) -> Vectors:
        """The vectors of an answer if there are that many, and all of them are sound."""
        dims = self.config.embedding_dims
        found = sound_vectors(answer.vectors, count, dims) if isinstance(answer, Embedded) else None
        vectors = tuple(vector for vector in found or () if vector)
        return vectors if len(vectors) == count else ()

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
