"""Judge retrieve and search: the steps taken, and what each level gave."""

from collections.abc import Iterator
from typing import Final

import attrs

from umi_core.data import Owner
from umi_core.invariants import limits
from umi_core.messages.answers import Answer, EffectFailed, Embedded, ModelReplied, ReadDone
from umi_core.messages.effects import Asked, ByVector, ByWords, Embed, Read
from umi_core.messages.requests import Descent
from umi_core.messages.results import LevelHit, Resolution, Retrieved
from umi_core.rows import Row
from umi_core.values import Scope, Turn
from umi_sim.judge.oracle.archive.context import ArchivePart
from umi_sim.judge.oracle.archive.evidence import ATTEMPTS, STORAGE_MADE, Evidence, may_pass
from umi_sim.judge.oracle.archive.facts import FactState
from umi_sim.judge.oracle.archive.log import BatchLog
from umi_sim.judge.oracle.archive.operations import ArchiveOperation
from umi_sim.judge.oracle.archive.reflections import Reflections
from umi_sim.judge.oracle.archive.searches import Searches
from umi_sim.judge.oracle.archive.summaries import Summaries
from umi_sim.judge.plain.hierarchy import (
    ALL,
    KINDS,
    LevelRow,
    expect_context,
    is_enough,
    lines_of,
    rank_level,
    read_context,
)
from umi_sim.judge.plain.queries import read_rewrite, shown_turns
from umi_sim.judge.plain.replies import read_decision, read_ranks
from umi_sim.judge.plain.requests import OF_SCOPE, may_hold
from umi_sim.judge.plain.rows import category_id
from umi_sim.judge.plain.scores import sound_vectors
from umi_sim.judge.plain.text import cut
from umi_sim.record import rules
from umi_sim.record.run_config import OF_ANY_ROW

# Paths: a retrieve lived again from its answers alone.
#
# Which question is due next, with which words, and whether it is the last. Law 1. After enough, and where
# nothing is needed, nothing is asked. Law 2. Nothing of the memory's own table is used.


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

    `names`: the degradations that are due. `steps`: those at which
    something is asked, in their order. `levels`: those that were reached, each with its words and whether it
    failed.
    """

    op: ArchiveOperation
    request: Descent
    scope: Scope
    resolution: Resolution | None
    dims: int
    floor_ppm: int
    turn_count: int
    names: list[str] = attrs.field(factory=list)
    steps: list[str] = attrs.field(factory=list)
    levels: list[tuple[str, str, bool]] = attrs.field(factory=list)
    found: list[LevelRow] = attrs.field(factory=list)
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
        heard = list(self.op.plan.tried(step))
        answer = heard[-1].answer if heard else None
        if answer is None or isinstance(answer, EffectFailed):
            self.name(step, substitute)
            if heard and len(heard) < attempts and may_pass(answer):
                self.astray.append((f"{step} after one try", attempts, heard))
            return None
        return answer

    def name(self, step: str, substitute: str) -> None:
        if substitute:
            self.names.append(f"{step}:{substitute}")

    def must_ask(self, step: str, what: str, due: object, got: object) -> None:
        if self.effect(step) is not None and due != got:
            self.astray.append((f"{what} of {step}", due, got))

    def inputs(self, step: str) -> dict[str, object]:
        last = self.op.plan.last(step)
        return last.inputs if last is not None else {}

    def effect(self, step: str) -> Asked | None:
        """What was asked at a step; None if nothing was."""
        last = self.op.plan.last(step)
        return last.effect if last is not None else None

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
        self.steps += ["resolve"] if self.op.plan.last("resolve") is not None else []
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
        effect = self.effect(step)
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
            effect = self.effect(name)
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
        last = self.op.plan.last(step)
        return last.answer.rows if last is not None and isinstance(last.answer, ReadDone) else ()

    def candidates(self, level: str) -> list[LevelRow]:
        by_vector = self.rows(f"{level}_by_vector") if self.vector is not None else ()
        return rank_level(level, by_vector, self.rows(f"{level}_by_words"))

    def put_in_order(self, level: str, query: str) -> list[LevelRow]:
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
            self.found += rank_level(level, (), answer.rows)[: self.request.limit_per_level]
        self.levels = [(level, query, False) for level, query, _ in self.levels]

    def best(self) -> list[LevelRow]:
        order = self.found
        if self.request.rank == "vector":
            order = sorted(order, key=lambda it: (-it.score_ppm, ALL.index(it.level), it.id))
        return order[: self.request.total_limit]


# Retrievals: what a retrieve replies, beside what its answers make of it.
#
# Law 1. The hits are what the answers gave, each once, in order, cut. Law 2. Each hit is true: it was so at
# some position.


@attrs.define
class Retrievals(ArchivePart):
    """Judges retrieves and searches."""

    evidence: Evidence
    log: BatchLog
    searches: Searches
    summaries: Summaries
    reflections: Reflections

    def answered(self, op: ArchiveOperation, step: str, effect: Asked) -> None:
        asked = effect.query if isinstance(effect, Read) else None
        if isinstance(asked, ByVector | ByWords):
            request = op.request
            assert isinstance(request, Descent)
            due = [it for it in request.where if it[0] not in OF_SCOPE]
            got = [(it.field, it.operator, it.value) for it in asked.where]
            more = (), tuple(due[-1:]), (OF_ANY_ROW,)  # which an interceptor of the world may have put behind
            holds = any(got == [*due, *each] for each in more)
            self.demand(holds, rules.FILTER_NARROWS, f"the conditions of {step}", due, got)

    def judge_retrieve(self, op: ArchiveOperation, value: Retrieved, names: list[str]) -> None:
        request = op.request
        assert isinstance(request, Descent)
        self.judge_shape(request, value)
        for hit in value.hits:
            self.judge_hit(op, hit)
        if op.is_turned_away or any(name in STORAGE_MADE for name in names):
            return  # a page of rows is read again, and nobody knows which
        config = self.context.config
        path = Path(
            op, request, self.context.scope, value.resolution,
            config.embedding_dims, config.resolve_confidence_min_ppm, config.resolve_turn_count_max,
        )  # fmt: skip
        self.judge_words(op, path, value)
        path.walk()
        self.judge_path(path, value, names)

    def judge_shape(self, request: Descent, value: Retrieved) -> None:
        """What holds of any retrieve."""
        asked, hits = asked_levels(request, self.context.scope), value.hits
        skipped = [
            it for it in ALL if it in request.levels and not may_hold(request.where, it, self.context.scope)
        ]
        rule, told = rules.FILTER_NARROWS, "levels that the filter leaves out"
        self.demand(list(value.skipped) == skipped, rule, told, skipped, value.skipped)
        self.demand(list(value.asked) == asked, rules.STOP_MEANS_STOP, "the levels", asked, value.asked)
        tried = [it.level for it in value.tried]
        most = asked[: request.levels_max]
        self.demand(tried == most[: len(tried)], rules.STOP_MEANS_STOP, "levels that were tried", most, tried)
        ids = [(hit.level, hit.id) for hit in hits]
        is_once = len(dict.fromkeys(ids)) == len(ids) <= request.total_limit
        self.demand(is_once, rules.HITS_WITHIN_LIMITS, "hits", request.total_limit, ids)
        for level in ALL:
            count = sum(hit.level == level for hit in hits)
            is_within = count <= request.limit_per_level and (count == 0 or level in tried)
            told = f"hits of the level {level}"
            self.demand(is_within, rules.HITS_WITHIN_LIMITS, told, request.limit_per_level, count)
        order = [(-hit.score_ppm, ALL.index(hit.level), hit.id) for hit in hits]
        by_model = [ALL.index(hit.level) for hit in hits]
        is_sorted = order == sorted(order) if request.rank == "vector" else by_model == sorted(by_model)
        self.demand(is_sorted, rules.HITS_WITHIN_LIMITS, "hits are out of order", sorted(order), order)
        low = [hit for hit in hits if hit.score_ppm < max(1, request.min_score_ppm)]
        self.demand(not low, rules.HITS_WITHIN_LIMITS, "hits below the least score", (), low)

    # Whether a hit is true.

    def judge_hit(self, op: ArchiveOperation, hit: LevelHit) -> None:
        if hit.level == "entities":
            self.judge_entity(op, hit)
        elif hit.level == "categories":
            is_own = hit.name in self.context.abouts and hit.id == category_id(self.context.scope, hit.name)
            self.demand(is_own, rules.READ_SCOPE, "a category of nobody", hit.name, hit.id)
            if hit.text != self.context.abouts.get(hit.name):
                self.summaries.judge_shown(op, hit.name, hit.text, rules.READ_SCOPE)
        elif hit.level == "reflections":
            self.reflections.judge_row(op, hit.id, hit.name, hit.text)
        else:
            texts, told = list(self.texts_of(op, hit)), f"{hit.id} shows what nobody gave"
            self.demand(hit.text in texts, rules.READ_SCOPE, told, texts, hit.text)

    def texts_of(self, op: ArchiveOperation, hit: LevelHit) -> Iterator[str]:
        """What a resource may hold: its text, what a model said of it, or a part of some text."""
        known = self.log.resources
        keys = [hit.id] if hit.id in known.entries else list(known.entries)
        for key in keys:
            for it in known.since(key, op.position):
                if it is None:
                    continue
                said = [described.text for described in self.log.said.get((key, it.given), ())]
                if key == hit.id:
                    yield from (it.given[1], *said)
                elif any(
                    hit.text in whole for whole in ("\n".join(lines_of(it.given[1], it.given[0])), *said)
                ):
                    yield hit.text

    def judge_entity(self, op: ArchiveOperation, hit: LevelHit) -> None:
        states, told = self.log.states_since(hit.id, op), f"{hit.id} is a hit"
        holds = any(is_shown(it, hit) for it in states)
        is_ours = holds or not self.context.is_elsewhere(hit.id)
        self.demand(is_ours, rules.READ_SCOPE, f"{told}, of another scope", states[:3], hit)
        rule = self.log.rule_of(hit.id, states, hit.version)
        self.demand(holds, rule, f"{told} that cannot be", states[:3], hit)

    # Whether it came about as it must.

    def judge_words(self, op: ArchiveOperation, path: Path, value: Retrieved) -> None:
        """What the query was taken for, and that nobody was asked for it twice."""
        offered = path.offered_resolution()
        if value.resolution is None:
            return
        if offered is None:
            self.searches.judge_resolution(op, path.request, value.resolution)
            return
        told = "a rewrite came with the decision"
        self.demand(value.resolution == offered, rules.REFERENCE_AGREES, told, offered, value.resolution)
        heard = op.answers_of("resolve")
        self.demand(not heard, rules.REWRITE_ONLY_IF_NEEDED, "a model was asked to resolve", (), heard)

    def judge_path(self, path: Path, value: Retrieved, names: list[str]) -> None:
        asked = list(dict.fromkeys(it.step for it in path.op.attempts))
        more = [step for step in asked if step not in path.steps]
        self.demand(not more, rules.STOP_MEANS_STOP, "questions that nobody needs", path.steps, more)
        is_enough_rule = value.stop_reason == path.stop
        self.demand(is_enough_rule, rules.ENOUGH_RULE, "why it stopped", path.stop, value.stop_reason)
        lacks = [step for step in path.steps if step not in asked]
        self.demand(not lacks, rules.STOP_MEANS_STOP, "questions that were due", lacks, asked)
        for what, due, got in path.astray:
            self.demand(False, rules.REFERENCE_AGREES, what, due, got)
        heard = list(path.op.plan.tried("resolve"))[-1:]
        lost = any(not self.evidence.is_of_use(path.op, it, 0) for it in heard)
        due = sorted({*path.names, *(["resolve:original"] if lost else [])})
        self.demand(sorted(names) == due, rules.DEGRADATION_NAMED, "what it had to do without", due, names)
        tried = [(it.level, it.query, it.is_failed) for it in value.tried]
        self.demand(tried == path.levels, rules.REFERENCE_AGREES, "how the levels were", path.levels, tried)
        self.judge_hits(path, value)

    def judge_hits(self, path: Path, value: Retrieved) -> None:
        due = [
            LevelHit(it.level, it.id, it.version, it.score_ppm, it.vector_ppm, it.name, it.text)
            for it in path.best()
        ]
        self.demand(list(value.hits) == due, rules.REFERENCE_AGREES, "the hits", due, value.hits)
        is_needless = path.stop in ("nothing_asked", "not_needed")
        query = path.request.query if is_needless else path.levels[-1][1]
        self.demand(value.query == query, rules.REFERENCE_AGREES, "the query in the end", query, value.query)
        self.judge_context(path, value)

    def judge_context(self, path: Path, value: Retrieved) -> None:
        best = path.best()
        due, rule = expect_context(best, self.context.config.context_bytes_max), rules.REFERENCE_AGREES
        got: object = value.context
        try:
            is_due = (got := read_context(value.context)) == due
        except ValueError:
            is_due = False
        self.demand(is_due, rule, "the context does not show the hits that fit", due, got)
        left = len(best) - len(due)
        told = "hits that the context has no room for"
        self.demand(value.left_out_count == left, rule, told, left, value.left_out_count)
        ranker = path.request.rank
        self.demand(value.ordered_by == ranker, rule, "who ordered the hits", ranker, value.ordered_by)


def is_shown(state: FactState, hit: LevelHit) -> bool:
    it = state.entity
    return it is not None and (it.version, it.name, it.content) == (hit.version, hit.name, hit.text)
