"""Retrievals: what a retrieve replies, beside what its answers make of it.

Law 1. The hits are what the answers gave, each once, in order, cut. Law 2. Each hit is true: some possible
state shows it. Law 3. Of a retrieve that took so long that an answer may have come too late only that is
demanded which holds of any.
"""

from collections.abc import Iterator

import attrs

from umi_core.messages.effects import Asked, ByVector, ByWords, Read
from umi_core.messages.requests import Descent
from umi_core.messages.results import LevelHit, Retrieved
from umi_core.values import CATEGORIES
from umi_sim.judge.oracle.archive.context import Part
from umi_sim.judge.oracle.archive.degradations import STORAGE_MADE
from umi_sim.judge.oracle.archive.documents import Documents
from umi_sim.judge.oracle.archive.evidence import Evidence
from umi_sim.judge.oracle.archive.paths import Path, asked_levels
from umi_sim.judge.oracle.archive.possible import Operation, PossibleState, rule_of
from umi_sim.judge.oracle.archive.reflections import Reflections
from umi_sim.judge.oracle.archive.searches import Searches, Shown
from umi_sim.judge.oracle.archive.showing import shown
from umi_sim.judge.oracle.archive.summaries import Summaries
from umi_sim.judge.oracle.archive.tracks import Tracks
from umi_sim.judge.plain.descents import ALL, due_in_context, read_context
from umi_sim.judge.plain.filters import OF_SCOPE, may_hold
from umi_sim.judge.plain.ids import category_id
from umi_sim.judge.plain.parts import lines_of
from umi_sim.record import rules
from umi_sim.record.run_config import OF_ANY_ROW


@attrs.define
class Retrievals(Part):
    """Judges retrieves and searches. `questions`: what was asked at each step, by operation."""

    evidence: Evidence
    tracks: Tracks
    searches: Searches
    documents: Documents
    summaries: Summaries
    reflections: Reflections
    questions: dict[Operation, dict[str, Asked]] = attrs.field(factory=dict)

    def answered(self, op: Operation, step: str, effect: Asked) -> None:
        self.questions.setdefault(op, {})[step] = effect
        asked = effect.query if isinstance(effect, Read) else None
        if isinstance(asked, ByVector | ByWords):
            request = op.request
            assert isinstance(request, Descent)
            due = [it for it in request.where if it[0] not in OF_SCOPE]
            got = [(it.field, it.operator, it.value) for it in asked.where]
            more = (), tuple(due[-1:]), (OF_ANY_ROW,)  # which an interceptor of the world may have put behind
            holds = any(got == [*due, *each] for each in more)
            self.demand(holds, rules.FILTER_NARROWS, f"the conditions of {step}", due, got)

    def ended(self, op: Operation) -> None:
        self.questions.pop(op, None)

    def is_clear(self, op: Operation, names: list[str]) -> bool:
        """Whether the last answer to each step is the one that counted, whole."""
        config = self.context.config
        least_ms = min(config.model_timeout_ms, config.store_timeout_ms)
        is_prompt = self.context.seen_ms - op.began_ms < least_ms
        return is_prompt and not op.is_turned_away and not any(name in STORAGE_MADE for name in names)

    def judge_retrieve(self, op: Operation, value: Retrieved, names: list[str]) -> None:
        request = op.request
        assert isinstance(request, Descent)
        self.judge_shape(request, value)
        self.tracks.settle_all(op, [it for hit in value.hits for it in self.judge_hit(op, hit)])
        if not self.is_clear(op, names):
            return
        config = self.context.config
        path = Path(
            op, request, self.context.scope, value.resolution, self.questions.get(op, {}),
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

    def judge_hit(self, op: Operation, hit: LevelHit) -> Iterator[Shown]:
        """Of an entity its id, and what it may be."""
        if hit.level == "entities":
            yield self.judge_entity(op, hit)
        elif hit.level == "categories":
            may_be = self.summaries.told.get(hit.name, {})
            is_own = hit.name in CATEGORIES and hit.id == category_id(self.context.scope, hit.name)
            is_told = self.summaries.may_show(hit.name, hit.text, op.began)
            is_true = is_told or hit.text == CATEGORIES.get(hit.name)
            self.demand(is_own, rules.READ_SCOPE, "a category of nobody", hit.name, hit.id)
            message = f"the category {hit.name} shows what no model gave"
            rule = rules.DELETE_REACHES_ALL if hit.text in self.summaries.gone else rules.READ_SCOPE
            self.demand(is_true, rule, message, list(may_be), hit.text)
        elif hit.level == "reflections":
            self.reflections.judge_row(hit.id, hit.name, hit.text)
        else:
            texts, told = list(self.texts_of(op, hit)), f"{hit.id} shows what nobody gave"
            self.demand(hit.text in texts, rules.READ_SCOPE, told, texts, hit.text)

    def texts_of(self, op: Operation, hit: LevelHit) -> Iterator[str]:
        """What a resource may hold: its text, what a model said of it, or a part of some text."""
        it = self.documents.resources.get(hit.id)
        if it is not None:
            for value in it.since(op.began):
                yield from (str(value[1]), *it.said_of(value)) if isinstance(value, tuple) else ()
            return
        for other in self.documents.resources.values():
            values = [value for value in other.since(op.began) if isinstance(value, tuple)]
            for modality, text in values:
                wholes = ["\n".join(lines_of(text, modality)), *other.said_of((modality, text))]
                if any(hit.text in whole for whole in wholes):
                    yield hit.text

    def judge_entity(self, op: Operation, hit: LevelHit) -> Shown:
        track = self.tracks.track(hit.id)
        states = self.tracks.states_since(track, op)
        kept = tuple(it for it in states if is_shown(it, hit))
        is_ours = kept or not self.context.is_elsewhere(hit.id)
        self.tracks.must(track, is_ours, rules.READ_SCOPE, "is a hit, of another scope", states[:3], hit)
        rule = rule_of(track, states, [shown(state, None) for state in states], hit.version)
        self.tracks.must(track, kept, rule, "is a hit that cannot be", states[:3], hit)
        return track, kept

    # Whether it came about as it must.

    def judge_words(self, op: Operation, path: Path, value: Retrieved) -> None:
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
        asked = list(dict.fromkeys(step for step, _ in path.op.answers))
        more = [step for step in asked if step not in path.steps]
        self.demand(not more, rules.STOP_MEANS_STOP, "questions that nobody needs", path.steps, more)
        is_enough_rule = value.stop_reason == path.stop
        self.demand(is_enough_rule, rules.ENOUGH_RULE, "why it stopped", path.stop, value.stop_reason)
        lacks = [step for step in path.steps if step not in asked]
        self.demand(not lacks, rules.STOP_MEANS_STOP, "questions that were due", lacks, asked)
        for what, due, got in path.astray:
            self.demand(False, rules.REFERENCE_AGREES, what, due, got)
        heard = path.op.answers_of("resolve")[-1:]
        lost = any(not self.evidence.is_of_use(path.op, "resolve", it, 0) for it in heard)
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
        due, rule = due_in_context(best, self.context.config.context_bytes_max), rules.REFERENCE_AGREES
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


def is_shown(state: PossibleState, hit: LevelHit) -> bool:
    it = state.entity
    return it is not None and (it.version, it.name, it.content) == (hit.version, hit.name, hit.text)
