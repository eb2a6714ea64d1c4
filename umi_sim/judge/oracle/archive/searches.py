"""Searches: what a query was taken for, and which hits are due.

Law 1. A query is searched as it was given unless a model's rewrite passed the gate, now or a short while ago
for the same words after the same turns. Law 2. An id whose relevance is certain is among the hits if it is
due. Law 3. One list keeps its scores; several are fused by the rule.
Law 4. While searches lie behind, what was told within that time may be missing, and nothing else.
"""

from typing import Final

import attrs

from umi_core.data import Data
from umi_core.invariants import limits
from umi_core.messages.answers import Answer, ModelReplied, ReadDone
from umi_core.messages.requests import Descent, Recall
from umi_core.messages.results import Hit, Recalled, Resolution
from umi_core.rows import Ended, Entity, Row
from umi_core.values import Turn
from umi_sim.judge.oracle.archive.context import ArchivePart, is_shown, wants
from umi_sim.judge.oracle.archive.evidence import Degradations, reason_of
from umi_sim.judge.oracle.archive.facts import FactState
from umi_sim.judge.oracle.archive.log import BatchLog, rule_of_relations
from umi_sim.judge.oracle.archive.operations import ArchiveOperation
from umi_sim.judge.oracle.promises import is_damaged
from umi_sim.judge.plain.queries import (
    is_deep,
    is_missing,
    light_words,
    read_rewrite,
    read_variants,
    references,
    resolve_without_model,
    shown_turns,
    stands,
    terms_of,
)
from umi_sim.judge.plain.requests import fields_of, may_hold, meets
from umi_sim.judge.plain.scores import fuse_lists, fused_ppm, rank_variant, united_ppm, vector_ppm, words_ppm
from umi_sim.judge.plain.text import words
from umi_sim.record import rules

Asking = Recall | Descent
Asked = tuple[str, tuple[Turn, ...]]  # a query, and the turns it is asked after
KEPT: Final = ("resolved", "unchanged")
SURE_PPM: Final = {  # by what became of the references; where they are resolved, as sure as the model says
    "clear": 1_000_000, "unchanged": 0, "rejected": 0,
    "disabled": 500_000, "no_context": 500_000, "failed": 500_000,
}  # fmt: skip
CACHED_COUNT: Final = limits.RESOLVE_CACHE_COUNT_MAX
Missable = tuple[tuple[int, ...] | None, ...]

SEARCHES: Final = ("by_vector", "by_words")  # the steps of a recall that read entities
FOREIGN: Final = "read:foreign_rows"
DAMAGED: Final = "read:damaged_rows"


@attrs.frozen
class ExpectedRewrite(Data):
    """What an answer made of a question, and when; `tick` counts events."""

    resolution: Resolution
    at_ms: int
    lapses_ms: int
    tick: int

    def is_alive(self, now_ms: int) -> bool:
        return now_ms < self.lapses_ms


@attrs.define
class Searches(ArchivePart):
    """Judges recalls. `rewrites`: what this life was told about each question, and when."""

    degradations: Degradations
    log: BatchLog
    rewrites: dict[Asked, list[ExpectedRewrite]] = attrs.field(factory=dict)

    def judge_recall(self, op: ArchiveOperation, value: Recalled, names: list[str]) -> None:
        request, hits = op.request, value.hits
        assert isinstance(request, Recall)
        self.judge_resolution(op, request, value.resolution)
        self.judge_variants(op, request, value)
        limit = self.context.config.recall_limit_default if request.limit is None else request.limit
        order = [(-hit.score_ppm, hit.id) for hit in hits]
        is_once = len({hit.id: None for hit in hits}) == len(hits) <= limit
        self.demand(
            is_once and order == sorted(order), rules.HITS_ORDERED, "hits are out of order", limit, order
        )
        is_fused = len(value.variants) > 1
        for hit in hits:
            self.judge_hit(op, request, hit, is_fused=is_fused)
        self.judge_newest(op, hits, names)
        self.judge_context(op, request, hits, names)
        self.judge_replaced(op, request, hits, names)
        is_any = may_hold(request.where, "entities", self.context.scope)
        is_asked = is_any or not (op.answers_of("by_words") or op.answers_of("by_vector"))
        self.demand(is_asked, rules.FILTER_NARROWS, "searched, and the filter leaves nobody", request.where)
        self.degradations.judge_causes(op, names, len(value.variants) if is_any else 0)
        self.judge_due(op, request, value, names, limit)

    # What the query was taken for.

    def judge_resolution(self, op: ArchiveOperation, request: Asking, got: Resolution) -> None:
        sure_ppm = SURE_PPM.get(got.outcome, got.confidence_ppm)
        told = "how sure it is of what was meant"
        self.demand(got.certainty_ppm == sure_ppm, rules.REFERENCE_AGREES, told, sure_ppm, got.certainty_ppm)
        turns, answers = self.shown(request), op.answers_of("resolve")
        is_wanted = request.resolve and self.context.config.resolve_queries
        unasked = resolve_without_model(request.query, request.turns, is_wanted, request.force)
        if unasked is not None:
            self.demand(
                not answers, rules.REWRITE_ONLY_IF_NEEDED, "a model was asked to resolve", (), answers
            )
            self.demand(got == unasked, rules.REFERENCE_AGREES, "another resolution", unasked, got)
            return
        allowed = self.resolutions(op, request, turns)
        self.judge_rewrite(request, got, turns)
        rule = rules.REFERENCE_AGREES if answers else rules.CACHE_INVISIBLE
        self.demand(got in allowed, rule, "nobody resolved it so", allowed, got)

    def shown(self, request: Asking) -> tuple[Turn, ...]:
        return shown_turns(request.turns, self.context.config.resolve_turn_count_max)

    def resolutions(self, op: ArchiveOperation, request: Asking, turns: tuple[Turn, ...]) -> list[Resolution]:
        """What the answers come to: the last one, if none can be missing; without any, what is known."""
        terms = terms_of(references(request.query))
        last = op.plan.last("resolve")
        if last is None:
            return [it.resolution for it in self.usable(op, request, turns)]
        if isinstance(last.answer, ModelReplied):
            return [self.judged(last.answer, request, turns)]
        kind = reason_of(last.answer)
        return [Resolution("failed", request.query, terms, kind, turn_count=len(turns))]

    def judged(self, answer: ModelReplied, request: Asking, turns: tuple[Turn, ...]) -> Resolution:
        floor_ppm = self.context.config.resolve_confidence_min_ppm
        return read_rewrite(answer.text, request.query, turns, floor_ppm)

    # What may be remembered of earlier questions.

    def hear_rewrite(self, op: ArchiveOperation, answer: Answer) -> None:
        """A memory that knows the answer does not ask; what it hears now it may know for a while."""
        request = op.request
        if not isinstance(request, Recall | Descent) or not self.context.config.resolve_cache:
            return
        turns = self.shown(request)
        known = [it for it in self.usable(op, request, turns) if it.is_alive(self.context.seen_ms)]
        is_known = any(it.tick < op.began for it in known) and len(self.rewrites) <= CACHED_COUNT
        self.demand(not is_known, rules.REWRITE_ONLY_IF_NEEDED, "resolved a short while ago", known, answer)
        found = self.judged(answer, request, turns) if isinstance(answer, ModelReplied) else None
        if found is not None and found.outcome in KEPT:
            at_ms = self.context.seen_ms
            lapses_ms = at_ms + self.context.config.resolve_cache_ms
            rewrite = ExpectedRewrite(found, at_ms, lapses_ms, self.context.tick)
            self.rewrites.setdefault((request.query, turns), []).append(rewrite)

    def lapses(self) -> tuple[int, ...]:
        """When what may be remembered is so no more."""
        found = (it.lapses_ms for rewrites in self.rewrites.values() for it in rewrites)
        return tuple(at_ms for at_ms in found if at_ms >= self.context.seen_ms)

    def usable(self, op: ArchiveOperation, request: Asking, turns: tuple[Turn, ...]) -> list[ExpectedRewrite]:
        """What a memory may have known when it was asked: alive then, and not surely replaced."""
        if not self.context.config.resolve_cache:
            return []
        alive = [it for it in self.rewrites.get((request.query, turns), []) if it.is_alive(op.began_ms)]
        sure = [n for n, it in enumerate(alive) if it.tick < op.began]
        return alive[sure[-1] :] if sure else alive

    def judge_rewrite(self, request: Asking, got: Resolution, turns: tuple[Turn, ...]) -> None:
        """An adopted rewrite keeps what was asked and invents nothing; a word may have another ending."""
        before, after = references(request.query), references(got.query)
        light = light_words(before)
        others = [word for word in before.others if word not in light]
        kept = [word for word in others if is_missing(word, got.query, after, before)]
        texts = (request.query, *(turn.text for turn in turns))
        known = [*light, *(word for text in texts for word in words(text))]
        new = [word for word in after.others if not stands(word, known, known, after.big, before.spoken)]
        self.demand(not kept, rules.REWRITE_GATE, "the rewrite drops words of the query", (), kept)
        self.demand(not new, rules.REWRITE_GATE, "the rewrite has words of nobody", (), new)
        is_own = got.outcome == "resolved" or got.query == request.query
        self.demand(is_own, rules.REWRITE_GATE, "a query that was not resolved", request.query, got.query)

    def judge_variants(self, op: ArchiveOperation, request: Recall, value: Recalled) -> None:
        """The query first; more only for a deep search, as a model said."""
        query, answers = value.resolution.query, op.answers_of("expand")
        if not is_deep(query, request.deep):
            self.demand(not answers, rules.DEEP_BY_TRIGGER, "a model was asked for variants", (), answers)
            self.demand(
                value.variants == (query,), rules.DEEP_BY_TRIGGER, "variants", (query,), value.variants
            )
            return
        text = op.plan.text("expand")
        due = (read_variants(text, query) if text is not None else None) or (query,)
        self.demand(value.variants == due, rules.DEEP_BY_TRIGGER, "variants", due, value.variants)

    # Hits.

    def judge_newest(self, op: ArchiveOperation, hits: tuple[Hit, ...], names: list[str]) -> None:
        """No hit is older than what this recall itself has read."""
        if FOREIGN in names or DAMAGED in names:
            return  # such a page is read again, and counts for nothing
        rows = [row for row in rows_read(op, *SEARCHES) if not is_damaged(row)]
        for hit in hits:
            read = [it.body.version for it in rows if it.address.id == hit.id and isinstance(it.body, Entity)]
            newest, told = max(read, default=0), f"{hit.id} is older than what was read of it"
            self.demand(newest <= hit.version, rules.HITS_ORDERED, told, newest, hit.version)

    def judge_context(
        self, op: ArchiveOperation, request: Recall, hits: tuple[Hit, ...], names: list[str]
    ) -> None:
        """Demand of each hit the first fact that was told after it, as storage showed it."""
        if FOREIGN in names or DAMAGED in names:
            return  # such a page is read again, and counts for nothing
        after: dict[str, Entity] = {}
        for it in (row.body for row in rows_read(op, "context") if not is_damaged(row)):
            if isinstance(it, Entity) and it.follows is not None and "context:none" not in names:
                first = after.setdefault(it.follows, it)
                after[it.follows] = min(first, it, key=lambda one: (one.created_ms, one.id))
        due = [(after[hit.id].id, after[hit.id].content) if hit.id in after else (None, "") for hit in hits]
        got = [(hit.next_id, hit.next_content) for hit in hits]
        self.demand(got == due, rules.HITS_ORDERED, "what was told after the hits", due, got)
        for it in (after[hit.id] for hit in hits if hit.id in after):
            told, meant = "is told after a hit", self.leaves(request, it)
            self.demand(meant, rules.FILTER_NARROWS, f"{it.id} {told}, and not meant", request.where, it)
            states = self.log.states_since(it.id, op)
            is_there = any(one.entity == it for one in states)
            self.demand(is_there, rules.HITS_ORDERED, f"{it.id} {told}, and cannot be", states[:3], it)

    def judge_replaced(
        self, op: ArchiveOperation, request: Recall, hits: tuple[Hit, ...], names: list[str]
    ) -> None:
        """Demand of each hit what it has ended, as storage showed it; at rest, all that it has ended."""
        if FOREIGN in names or DAMAGED in names:
            return  # such a page is read again, and counts for nothing
        rows = [] if "replaced:none" in names else rows_read(op, "replaced")
        fit = {row.address.id: row.body for row in rows if not is_damaged(row)}
        shown = [it for it in fit.values() if isinstance(it, Ended)]
        for it in shown:
            states = self.log.states_since(it.id, op)
            is_there = any(one.ended == it for one in states)
            told = f"{it.id} is replaced by a hit, and has not ended"
            self.demand(is_there, rules.HITS_ORDERED, told, states[:3], it)
        near = self.context.surroundings
        is_whole = not near.atlas.losses and "replaced:none" not in names
        if is_whole and self.log.is_at_rest(op, near.lag_since(op.asked_ms)):
            now = [self.log.state(key).ended for key in self.log.facts.entries]
            shown = [it for it in now if it is not None]
        elif any(map(is_damaged, rows)):
            return  # that page was read again
        for hit in hits:
            ended = [it for it in shown if it.by == hit.id and self.leaves(request, it.fact)]
            ended.sort(key=lambda it: (it.at_ms, it.id))
            due = tuple((it.id, it.fact.content) for it in ended)
            self.demand(hit.replaced == due, rules.HITS_ORDERED, f"what {hit.id} replaced", due, hit.replaced)

    def leaves(self, request: Recall, it: Entity) -> bool:
        """Return whether the filter of a recall leaves a fact."""
        return wants(request, it.type, it.time_ms) and self.meets(request, it)

    def judge_hit(self, op: ArchiveOperation, request: Recall, hit: Hit, *, is_fused: bool) -> None:
        """What a hit shows was so at some position, and the request asks for it."""
        is_ppm = 0 <= hit.relevance_ppm <= limits.PPM
        self.demand(
            is_ppm, rules.HITS_ORDERED, f"{hit.id} has no such relevance", limits.PPM, hit.relevance_ppm
        )
        low, high = (fused_ppm(hit.relevance_ppm, rank_ppm) for rank_ppm in (0, limits.PPM))
        is_fair = low <= hit.score_ppm <= high if is_fused else hit.score_ppm == hit.relevance_ppm
        self.demand(
            is_fair, rules.FUSION_RULE, f"{hit.id} scores otherwise", hit.relevance_ppm, hit.score_ppm
        )
        is_wanted = wants(request, hit.type, hit.time_ms) and hit.relevance_ppm >= self.floor_of(request)
        self.demand(is_wanted, rules.FILTER_BEFORE_CUT, f"{hit.id} is not what was asked for", request, hit)
        states = self.log.states_since(hit.id, op)
        kept = [state for state in states if is_shown(state, hit)]
        facts = [it for state in kept if (it := state.entity) is not None]
        meant = not kept or any(self.meets(request, it) for it in facts)
        self.demand(meant, rules.FILTER_NARROWS, f"{hit.id} is not of the filter", request.where, hit)
        rule, told = self.log.rule_of(hit.id, states, hit.version), f"{hit.id} is a hit that cannot be"
        rule = rule if rule in (rules.ALL_OR_NOTHING, rules.DELETED_STAYS_DELETED) else rules.HITS_ORDERED
        is_ours = kept or not self.context.is_elsewhere(hit.id)
        self.demand(is_ours, rules.SCOPE_APART, told, states[:3], hit)
        self.demand(kept, rule, told, states[:3], hit)
        known = [it.contradicts for it in facts]
        rule, told = rule_of_relations(kept, hit.contradicts), f"what {hit.id} contradicts"
        self.demand(not kept or hit.contradicts in known, rule, told, known, hit)

    def floor_of(self, request: Recall) -> int:
        floor_ppm = self.context.config.recall_min_score_ppm
        return max(1, floor_ppm if request.min_score_ppm is None else request.min_score_ppm)

    def meets(self, request: Recall, it: Entity) -> bool:
        """Whether its filter leaves a fact."""
        is_any = may_hold(request.where, "entities", self.context.scope)
        return is_any and meets(request.where, fields_of(it, ())) is True

    def judge_due(
        self, op: ArchiveOperation, request: Recall, value: Recalled, names: list[str], limit: int
    ) -> None:
        """Exactly the hits that are due, if no fact has changed meanwhile."""
        near, lag_ms = self.context.surroundings, self.context.surroundings.lag_since(op.asked_ms)
        vectors = self.vectors(op, len(value.variants), names)
        is_spoilt = FOREIGN in names or DAMAGED in names or near.atlas.losses or not vectors
        if is_spoilt or not self.log.is_at_rest(op, lag_ms):
            return
        states = [state for key in self.log.facts.entries if (state := self.log.state(key)).entity]
        lists = [
            self.relevances(request, states, text, vector, 2 * limit)
            for text, vector in zip(value.variants, vectors, strict=True)
        ]
        self.judge_list(
            value.hits, fuse_lists([rank_variant(it, limit) for it in lists], limit), len(lists) > 1
        )

    def judge_list(self, hits: tuple[Hit, ...], due: list[tuple[str, int, int]], is_fused: bool) -> None:
        got = [(hit.id, hit.score_ppm, hit.relevance_ppm) for hit in hits]
        relevances = {(key, ppm) for key, _, ppm in due} == {(key, ppm) for key, _, ppm in got}
        rule = rules.FUSION_RULE if is_fused and relevances else rules.FILTER_BEFORE_CUT
        rule = rule if hits else rules.ERROR_IS_NOT_EMPTY
        self.demand(got == due, rule, "other hits than are due", due, got)

    def vectors(self, op: ArchiveOperation, count: int, names: list[str]) -> Missable:
        """What its searches went by, one for each variant; none if nobody knows."""
        if "by_vector:words_only" in names:
            return (None,) if count == 1 else ()  # some variants have vectors and some have not
        return op.plan.vectors(count, self.context.config.embedding_dims)

    def relevances(
        self, request: Recall, states: list[FactState], text: str, vector: tuple[int, ...] | None, most: int
    ) -> list[tuple[str, int]]:
        """How relevant each fact is to a variant that is in one of the two lists, cut to so many."""
        facts = [it for state in states if (it := state.entity) is not None]
        said = words_ppm(text, [it.name_and_text() for it in facts])
        near = [vector_ppm(vector, it.vector) if vector and it.vector else 0 for it in states]
        meant = [self.leaves(request, it) for it in facts]
        floor_ppm = self.floor_of(request)
        columns = [
            [ppm if ppm >= floor_ppm and is_meant else 0 for ppm, is_meant in zip(column, meant, strict=True)]
            for column in (near, said)
        ]
        both = zip(facts, *(cut_to(most, column, facts) for column in columns), strict=True)
        return [(it.id, united_ppm(*ppms)) for it, *ppms in both if any(ppms)]


def cut_to(most: int, column: list[int], facts: list[Entity]) -> list[int]:
    """Return the scores of the best so many facts, of equal ones those of the lower ids; others have none."""
    order = sorted(range(len(facts)), key=lambda at: (-column[at], facts[at].id))
    return [ppm if at in order[:most] else 0 for at, ppm in enumerate(column)]


def rows_read(op: ArchiveOperation, *steps: str) -> list[Row]:
    """By these steps, in all their reads."""
    answers = [answer for step in steps for answer in op.answers_of(step)]
    return [row for answer in answers if isinstance(answer, ReadDone) for row in answer.rows]


def damaged_ids(op: ArchiveOperation, *steps: str) -> dict[str, None]:
    """Rows that came without a body, or with one that is not theirs, in any of its reads."""
    return {row.address.id: None for row in rows_read(op, *steps) if is_damaged(row)}
