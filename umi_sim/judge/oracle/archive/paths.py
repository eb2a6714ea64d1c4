"""Paths: a retrieve lived again from its answers alone.

Which question is due next, with which words, and whether it is the last. Law 1. After enough, and where
nothing is needed, nothing is asked. Law 2. Nothing of the memory's own table is used.
"""

from typing import Final

import attrs

from umi_core.data import Owner
from umi_core.invariants import limits
from umi_core.messages.answers import Answer, EffectFailed, Embedded, ModelReplied, ReadDone
from umi_core.messages.effects import Asked, AskModel, ByVector, ByWords, Embed, Read
from umi_core.messages.requests import Descent
from umi_core.messages.results import Resolution
from umi_core.rows import Row
from umi_core.values import Scope, Turn
from umi_sim.judge.oracle.archive.degradations import ATTEMPTS, may_pass
from umi_sim.judge.oracle.archive.possible import Operation
from umi_sim.judge.plain.decisions import read_decision, read_ranks
from umi_sim.judge.plain.descents import ALL, KINDS, Seen, found_in, is_enough
from umi_sim.judge.plain.filters import may_hold
from umi_sim.judge.plain.prompts import asked_about
from umi_sim.judge.plain.rewrites import read_rewrite, shown_turns
from umi_sim.judge.plain.scores import sound_vectors
from umi_sim.judge.plain.text import cut

SHOWN_BYTES: Final = 200
FOUND_BYTES: Final = 1_500
READ_ATTEMPTS: Final = 3
AGAIN: Final = "again"


def asked_levels(request: Descent, scope: Scope) -> list[str]:
    if request.limit_per_level == 0 or request.total_limit == 0:
        return []
    levels = [level for level in ALL if level in request.levels]
    return [level for level in levels if may_hold(request.where, level, scope)]


@attrs.define
class Path(Owner):
    """A retrieve as its answers tell it: what it must have asked, and what it must reply.

    `questions`: what was asked at each step. `names`: the degradations that are due. `steps`: those at which
    something is asked, in their order. `levels`: those that were reached, each with its words and whether it
    failed.
    """

    op: Operation
    request: Descent
    scope: Scope
    resolution: Resolution | None
    questions: dict[str, Asked]
    dims: int
    floor_ppm: int
    turn_count: int
    names: list[str] = attrs.field(factory=list)
    steps: list[str] = attrs.field(factory=list)
    levels: list[tuple[str, str, bool]] = attrs.field(factory=list)
    found: list[Seen] = attrs.field(factory=list)
    astray: list[tuple[str, object, object]] = attrs.field(factory=list)  # questions that are not as due
    stop: str = "exhausted"
    vector: tuple[int, ...] | None = None

    # Answers.

    def turns(self) -> tuple[Turn, ...]:
        return shown_turns(self.request.turns, self.turn_count)

    def asked(self) -> list[str]:
        return asked_levels(self.request, self.scope)

    def last(self, step: str, substitute: str, attempts: int = ATTEMPTS) -> Answer | None:
        """The answer that counts, None if the step had to do without; then its substitute is due."""
        self.steps.append(step)
        heard = self.op.answers_of(step)
        answer = heard[-1] if heard else None
        if answer is None or isinstance(answer, EffectFailed):
            self.name(step, substitute)
            if heard and len(heard) < attempts and may_pass(heard[-1]):
                self.astray.append((f"{step} after one try", attempts, heard))
            return None
        return answer

    def name(self, step: str, substitute: str) -> None:
        if substitute:
            self.names.append(f"{step}:{substitute}")

    def must_ask(self, step: str, what: str, due: object, got: object) -> None:
        if step in self.questions and due != got:
            self.astray.append((f"{what} of {step}", due, got))

    def inputs(self, step: str) -> dict[str, object]:
        effect = self.questions.get(step)
        return asked_about(effect.prompt) if isinstance(effect, AskModel) else {}

    # The way.

    def walk(self) -> None:
        request, asked = self.request, self.asked()
        if not asked:
            self.stop = "nothing_asked"
            return
        if request.route_intention and self.is_not_needed():
            self.stop = "not_needed"
            return
        query = self.resolution.query if self.resolution is not None else request.query
        self.steps += ["resolve"] if self.op.answers_of("resolve") else []
        is_new = True
        for level in ALL:
            if is_new:
                self.embed(level, query)
            is_tried = level in asked[: request.levels_max]
            if is_tried:
                self.search(level, query)
                given = self.put_in_order(level, query)
                self.found += given
            if is_tried and level != asked[-1]:
                stop, after = self.decide(level, query, bool(given))
                if stop:
                    self.stop = stop
                    break
                is_new, query = after != query, after
            else:
                is_new = False
        self.try_again()

    def is_not_needed(self) -> bool:
        answer = self.last("route", "retrieve")
        if not isinstance(answer, ModelReplied):
            return False
        self.must_ask("route", "the query", self.request.query, self.inputs("route").get("query"))
        return read_decision(answer.text)[0]

    def offered_resolution(self) -> Resolution | None:
        """The rewrite that came with the decision to look something up, if it passes."""
        heard, turns = self.op.answers_of("route"), self.turns()
        if not self.request.route_intention or not heard or not isinstance(heard[-1], ModelReplied):
            return None
        _, rewrite = read_decision(heard[-1].text)
        if rewrite is None or not turns:
            return None
        found = read_rewrite(rewrite, self.request.query, turns, self.floor_ppm)
        return found if found.outcome == "resolved" else None

    def embed(self, level: str, query: str) -> None:
        step, self.vector = f"embed_{level}", None
        answer = self.last(step, "words_only")
        if not isinstance(answer, Embedded):
            return
        effect = self.questions.get(step)
        self.must_ask(step, "the text", (query,), effect.texts if isinstance(effect, Embed) else ())
        vectors = sound_vectors(answer.vectors, 1, self.dims)
        self.vector = vectors[0] if vectors is not None else None
        if self.vector is None:
            self.name(step, "words_only")

    def search(self, level: str, query: str) -> None:
        """Both lists of a level."""
        request, step = self.request, f"{level}_by_words"
        if self.vector is not None:
            self.last(f"{level}_by_vector", "words_only")
        answer = self.last(step, "failed", READ_ATTEMPTS)
        self.levels.append((level, query, not isinstance(answer, ReadDone)))
        for name in (f"{level}_by_vector", step):
            effect = self.questions.get(name)
            asked = effect.query if isinstance(effect, Read) else None
            if isinstance(asked, ByVector | ByWords):
                floor = max(1, request.min_score_ppm)
                self.must_ask(
                    name, "kind and floor", (KINDS[level], floor), (asked.kind, asked.min_score_ppm)
                )
                self.must_ask(name, "the limit", self.list_limit(), asked.limit)
            if isinstance(asked, ByWords):
                self.must_ask(name, "the words", query, asked.text)
            elif isinstance(asked, ByVector):
                self.must_ask(name, "the vector", self.vector, asked.vector)

    def list_limit(self) -> int:
        """Two lists are united, so each is twice as long as what is wanted; a model is shown no fewer."""
        twice = 2 * self.request.limit_per_level
        return max(twice, limits.RANK_CANDIDATE_COUNT_MAX) if self.request.rank == "model" else twice

    def rows(self, step: str) -> tuple[Row, ...]:
        heard = self.op.answers_of(step)
        return heard[-1].rows if heard and isinstance(heard[-1], ReadDone) else ()

    def candidates(self, level: str) -> list[Seen]:
        by_vector = self.rows(f"{level}_by_vector") if self.vector is not None else ()
        return found_in(level, by_vector, self.rows(f"{level}_by_words"))

    def put_in_order(self, level: str, query: str) -> list[Seen]:
        request, found = self.request, self.candidates(level)
        if request.rank != "model" or not found:
            return found[: request.limit_per_level]
        found, step = found[: limits.RANK_CANDIDATE_COUNT_MAX], f"rank_{level}"
        answer = self.last(step, "by_score")
        given = {"query": query, "count": request.limit_per_level, "candidates": [
            {"id": f"c{number}", "text": cut(it.shown, SHOWN_BYTES)} for number, it in enumerate(found, 1)
        ]}  # fmt: skip
        self.must_ask(step, "the inputs", given, self.inputs(step))
        if not isinstance(answer, ModelReplied):
            return found[: request.limit_per_level]
        order = read_ranks(answer.text, [it.id for it in found], request.limit_per_level)
        if order is None:
            self.name(step, "by_score")
            return found[: request.limit_per_level]
        return [it for key in order for it in found if it.id == key]

    def decide(self, level: str, query: str, is_news: bool) -> tuple[str, str]:
        """Why the search ends behind this level, or the words to go on with. `is_news`: it gave any."""
        request, asked = self.request, self.asked()
        wanted = min(request.min_results, request.total_limit)
        if request.enough.startswith("score") and is_enough(self.found, wanted, request.min_avg_ppm):
            return "enough", query
        if len(self.found) >= request.total_limit:
            return "limit", query
        if asked[: request.levels_max][-1] == level:
            return "levels_max", query
        if not request.enough.endswith("model") or not is_news:
            return "", query
        step = f"enough_{level}"
        answer = self.last(step, "go_on")
        if not isinstance(answer, ModelReplied):
            return "", query
        texts = [cut(it.shown, FOUND_BYTES) for it in self.found]
        self.must_ask(step, "the inputs", {"query": query, "found": texts}, self.inputs(step))
        is_done, rewrite = read_decision(answer.text)
        if is_done:
            return "enough", query
        turns = (*self.turns(), *(Turn("tool", text) for text in texts))
        found = read_rewrite(rewrite, query, turns, self.floor_ppm) if rewrite is not None else None
        return "", found.query if found is not None and found.outcome == "resolved" else query

    def try_again(self) -> None:
        """Levels that failed are asked once more by words if nothing was found."""
        failed = [level for level, _, is_failed in self.levels if is_failed]
        if self.found or not failed:
            return
        self.steps.append(AGAIN)
        answers = [it for it in self.op.answers_of(AGAIN) if isinstance(it, ReadDone)]
        for level, answer in zip(failed, answers, strict=False):
            self.found += found_in(level, (), answer.rows)[: self.request.limit_per_level]
        self.levels = [(level, query, False) for level, query, _ in self.levels]

    def best(self) -> list[Seen]:
        order = self.found
        if self.request.rank == "vector":
            order = sorted(order, key=lambda it: (-it.score_ppm, ALL.index(it.level), it.id))
        return order[: self.request.total_limit]
