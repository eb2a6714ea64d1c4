"""Searches as an outside judge sees them: what a query was taken for, and which hits are due.

Law 1. A query is searched as it was given unless a model's rewrite passed the gate, now or a short while ago
for the same words after the same turns. Law 2. An id whose relevance is certain is among the hits if it is
due. Law 3. One list keeps its scores; several are fused by the rule, which stands here a second time.
"""

from collections.abc import Container
from typing import Final

from umi_core import limits
from umi_core.config import Config
from umi_core.inputs import ModelReplied, Recall
from umi_core.language.pronouns import read
from umi_core.language.replies import Unusable
from umi_core.language.rewriting import (
    Resolution,
    detected,
    is_deep,
    judged,
    parse_variants,
    shown_turns,
)
from umi_core.language.words import content, words
from umi_core.results import Hit, Recalled
from umi_core.values import Scope, Turn
from umi_sim.oracle.evidence import STORAGE_MADE, Evidence
from umi_sim.oracle.worlds import Operation, is_shown, relevance_of, rule_of, shown, wants

Asked = tuple[str, tuple[Turn, ...]]  # a query, and the turns it is asked after
Relevances = tuple[int, ...]  # of one id, for each variant
KEPT: Final = ("resolved", "unchanged")
RELEVANCE_TENTHS: Final = 7  # of a fused score; the rest is by rank


class Searches(Evidence):
    """The judge of recalls. `rewrites`: what this life was told about each question, and when."""

    def __init__(self, scope: Scope, config: Config, off: Container[str] = ()) -> None:
        super().__init__(scope, config, off)
        self.rewrites: dict[Asked, list[tuple[int, Resolution]]] = {}

    def judge_recall(self, op: Operation, value: Recalled, names: list[str]) -> None:
        request, hits = op.request, value.hits
        assert isinstance(request, Recall)
        self.judge_resolution(op, request, value.resolution, names)
        self.judge_variants(op, request, value, names)
        limit = self.config.recall_limit_default if request.limit is None else request.limit
        order = [(-hit.score_ppm, hit.id) for hit in hits]
        is_once = len({hit.id: None for hit in hits}) == len(hits) <= limit
        self.demand(is_once and order == sorted(order), "hits-ordered", "hits are out of order", limit, order)
        for hit in hits:
            self.judge_hit(op, request, hit, is_fused=len(value.variants) > 1)
        self.judge_causes(op, names, len(value.variants))
        self.judge_due(op, request, value, names, limit)

    # What the query was taken for.

    def judge_resolution(self, op: Operation, request: Recall, got: Resolution, names: list[str]) -> None:
        turns, answers = shown_turns(request.turns), op.answers_of("resolve")
        unasked = detected(request.query, turns, request.resolve)
        if unasked is not None:
            self.demand(not answers, "rewrite-only-if-needed", "a model was asked to resolve", (), answers)
            self.demand(got == unasked, "reference-agrees", "another resolution", unasked, got)
            return
        floor_ppm = self.config.resolve_confidence_min_ppm
        replies = [it.text for it in answers if isinstance(it, ModelReplied)]
        heard = [judged(reply, request.query, turns, floor_ppm) for reply in replies]
        known = [it for at_ms, it in self.rewrites.get((request.query, turns), []) if self.is_fresh(at_ms)]
        terms = tuple(dict.fromkeys(read(request.query).terms))
        failed = Resolution("failed", request.query, terms)
        allowed = heard + ([failed] if len(heard) < len(answers) or self.is_late(op) else [])
        allowed += known if self.config.resolve_cache and not answers else []
        self.judge_rewrite(request, got, turns)
        rule = "reference-agrees" if answers else "cache-invisible"
        self.demand(got in allowed, rule, "nobody resolved it so", allowed, got)
        is_named = "resolve:original" in names
        must_be = got.outcome == "failed" or (got.outcome == "rejected" and got.reason != "unresolved")
        self.demand(is_named == must_be, "degradation-named", "a refused rewrite", must_be, names)
        if got.outcome in KEPT and answers:
            self.rewrites.setdefault((request.query, turns), []).append((self.seen_ms, got))

    def is_fresh(self, at_ms: int) -> bool:
        return self.seen_ms < at_ms + limits.RESOLVE_CACHE_MS

    def judge_rewrite(self, request: Recall, got: Resolution, turns: tuple[Turn, ...]) -> None:
        """An adopted rewrite keeps what was asked and invents nothing."""
        asked = words(request.query)
        kept = [word for word in content(read(request.query).others) if word not in words(got.query)]
        known = dict.fromkeys((*asked, *(word for turn in turns for word in words(turn.text))))
        new = [word for word in content(read(got.query).others) if word not in known]
        self.demand(not kept, "rewrite-gate", "the rewrite drops words of the query", (), kept)
        self.demand(not new, "rewrite-gate", "the rewrite has words of nobody", (), new)
        is_own = got.outcome == "resolved" or got.query == request.query
        self.demand(is_own, "rewrite-gate", "a query that was not resolved", request.query, got.query)

    def judge_variants(self, op: Operation, request: Recall, value: Recalled, names: list[str]) -> None:
        """The query first; more only for a deep search, as a model said."""
        query, answers = value.resolution.query, op.answers_of("expand")
        if not is_deep(query, request.deep):
            self.demand(not answers, "deep-by-trigger", "a model was asked for variants", (), answers)
            self.demand(value.variants == (query,), "deep-by-trigger", "variants", (query,), value.variants)
            return
        read = [parse_variants(it.text, query) for it in answers if isinstance(it, ModelReplied)]
        sound = [it for it in read if not isinstance(it, Unusable)]
        is_single = "expand:single" in names
        allowed = [(query,)] if is_single else sound
        self.demand(value.variants in allowed, "deep-by-trigger", "variants", allowed, value.variants)
        is_caused = len(sound) < len(answers) or self.is_late(op) or not is_single
        self.demand(is_caused, "degradation-named", "expand:single without a cause")

    # Hits.

    def judge_hit(self, op: Operation, request: Recall, hit: Hit, is_fused: bool) -> None:
        is_score = 0 <= hit.score_ppm <= limits.PPM and 0 <= hit.relevance_ppm <= limits.PPM
        self.demand(is_score, "hits-ordered", f"{hit.id} has no such score", hit.relevance_ppm, hit.score_ppm)
        is_plain = is_fused or hit.score_ppm == hit.relevance_ppm
        self.demand(is_plain, "fusion-rule", f"{hit.id} of one list", hit.relevance_ppm, hit.score_ppm)
        is_wanted = wants(request, hit.type, hit.time_ms) and hit.relevance_ppm >= self.floor_of(request)
        self.demand(is_wanted, "filter-before-cut", f"{hit.id} is not what was asked for", request, hit)
        track = self.track(hit.id)
        worlds = self.seen(track, op)
        kept = tuple(world for world in worlds if is_shown(world, hit, self.latest_ms))
        rule = rule_of(track, worlds, [shown(world, None) for world in worlds], hit.version)
        rule = rule if rule in ("all-or-nothing", "deleted-stays-deleted") else "hits-ordered"
        self.must(track, kept, rule, "is a hit that cannot be", worlds[:3], hit)
        self.settle(track, op, kept)

    def floor_of(self, request: Recall) -> int:
        floor_ppm = self.config.recall_min_score_ppm
        return max(1, floor_ppm if request.min_score_ppm is None else request.min_score_ppm)

    def judge_due(
        self, op: Operation, request: Recall, value: Recalled, names: list[str], limit: int
    ) -> None:
        """The hits are those that are due, as far as that is certain."""
        count = len(value.variants)
        vectors = [] if "embed:words_only" in names else self.vectors(op, count)
        if "by_vector:words_only" in names:
            vectors = []
            if count > 1:
                return  # some variants have vectors and some have not
        is_certain = vectors == vectors[:1] * len(vectors)
        if any(name in STORAGE_MADE for name in names) or not is_certain:
            return
        relevances = self.relevances(op, request, value.variants, vectors[0] if vectors else (None,) * count)
        if count == 1:
            self.judge_cut(value.hits, {key: it[0] if it else None for key, it in relevances.items()}, limit)
        elif all(it is not None for it in relevances.values()):
            self.judge_fusion(value.hits, {key: it for key, it in relevances.items() if it}, limit)

    def relevances(
        self,
        op: Operation,
        request: Recall,
        variants: tuple[str, ...],
        vectors: tuple[tuple[int, ...] | None, ...],
    ) -> dict[str, Relevances | None]:
        """How relevant each id is to each variant; None where that is not certain."""
        pairs, floor_ppm = list(zip(variants, vectors, strict=True)), self.floor_of(request)
        found: dict[str, Relevances | None] = {}
        for track in list(self.tracks.values()):
            told = {
                tuple(relevance_of(world, request, text, vector, floor_ppm) for text, vector in pairs): None
                for world in self.seen(track, op)
            }
            only = next(iter(told)) if len(told) == 1 else (None,)
            found[track.id] = None if None in only else tuple(it or 0 for it in only)
        return found

    def judge_cut(self, hits: tuple[Hit, ...], relevances: dict[str, int | None], limit: int) -> None:
        """Of one list: each id that is certain is there with its relevance if due, and else it is not."""
        found = {hit.id: hit.score_ppm for hit in hits}
        last = (-hits[-1].score_ppm, hits[-1].id) if len(hits) == limit else (1, "")
        for key, wanted in relevances.items():
            got = found.get(key, 0)
            if wanted is not None and (got or (wanted and (-wanted, key) <= last)):
                rule = "filter-before-cut" if hits else "error-is-not-empty"
                self.demand(got == wanted, rule, f"{key} was shown as {got}, not {wanted}", wanted, got)

    def judge_fusion(self, hits: tuple[Hit, ...], relevances: dict[str, Relevances], limit: int) -> None:
        """Of several lists, all of them certain: exactly these hits, with these scores."""
        best = {key: max(each) for key, each in relevances.items() if any(each)}
        count = len(next(iter(relevances.values()), ()))
        ranks: dict[str, int] = dict.fromkeys(best, 0)
        for n in range(count):
            order = sorted((-relevances[key][n], key) for key in best if relevances[key][n])
            for rank, (_, key) in enumerate(order[: 2 * limit]):
                ranks[key] += limits.RRF_SCALE // (limits.RRF_K + rank)
        most = max(1, count * (limits.RRF_SCALE // limits.RRF_K))
        scored = {key: fused_ppm(best[key], limits.PPM * ranks[key] // most) for key in best if ranks[key]}
        expected = sorted((-score, key) for key, score in scored.items())[:limit]
        got = [(-hit.score_ppm, hit.id) for hit in hits]
        self.demand(got == expected, "fusion-rule", "the lists are fused otherwise", expected, got)


def fused_ppm(relevance_ppm: int, rank_ppm: int) -> int:
    return (RELEVANCE_TENTHS * relevance_ppm + (10 - RELEVANCE_TENTHS) * rank_ppm) // 10
