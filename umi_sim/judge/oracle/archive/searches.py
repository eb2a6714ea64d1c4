"""Searches: what a query was taken for, and which hits are due.

Law 1. A query is searched as it was given unless a model's rewrite passed the gate, now or a short while ago
for the same words after the same turns. Law 2. An id whose relevance is certain is among the hits if it is
due. Law 3. One list keeps its scores; several are fused by the rule.
Law 4. While searches lie behind, what was told within that time may be missing, and nothing else.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final

import attrs

from umi_core.data import Data
from umi_core.invariants import limits
from umi_core.messages.answers import Answer, Embedded, ModelReplied, ReadDone
from umi_core.messages.requests import Descent, Recall
from umi_core.messages.results import Hit, Recalled, Resolution
from umi_core.rows import Entity, Row
from umi_core.values import Turn
from umi_sim.judge.oracle.archive.context import Part, is_shown, relevance_of, wants
from umi_sim.judge.oracle.archive.evidence import Degradations, Evidence, reason_of
from umi_sim.judge.oracle.archive.facts import FactState
from umi_sim.judge.oracle.archive.log import Log, rule_of_relations
from umi_sim.judge.oracle.archive.operations import Operation
from umi_sim.judge.oracle.promises import is_damaged
from umi_sim.judge.plain.queries import (
    is_deep,
    is_missing,
    light_words,
    read_rewrite,
    read_variants,
    references,
    shown_turns,
    stands,
    terms_of,
    without_model,
)
from umi_sim.judge.plain.requests import fields_of, may_hold, meets
from umi_sim.judge.plain.scores import (
    fused,
    fused_ppm,
    ranked,
    shares_terms,
    sound_vectors,
    words_ppm,
)
from umi_sim.judge.plain.text import words
from umi_sim.record import rules

Asking = Recall | Descent
Asked = tuple[str, tuple[Turn, ...]]  # a query, and the turns it is asked after
Relevances = tuple[int, ...]  # of one id, for each variant
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
class Rewrite(Data):
    """What an answer made of a question, and when; `tick` counts events."""

    resolution: Resolution
    at_ms: int
    lapses_ms: int
    tick: int

    def is_alive(self, now_ms: int) -> bool:
        return now_ms < self.lapses_ms


@attrs.define
class Searches(Part):
    """Judges recalls. `rewrites`: what this life was told about each question, and when."""

    evidence: Evidence
    degradations: Degradations
    log: Log
    rewrites: dict[Asked, list[Rewrite]] = attrs.field(factory=dict)

    def judge_recall(self, op: Operation, value: Recalled, names: list[str]) -> None:
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
        is_any = may_hold(request.where, "entities", self.context.scope)
        is_asked = is_any or not (op.answers_of("by_words") or op.answers_of("by_vector"))
        self.demand(is_asked, rules.FILTER_NARROWS, "searched, and the filter leaves nobody", request.where)
        self.degradations.judge_causes(op, names, len(value.variants) if is_any else 0)
        self.judge_due(op, request, value, names, limit)

    # What the query was taken for.

    def judge_resolution(self, op: Operation, request: Asking, got: Resolution) -> None:
        sure_ppm = SURE_PPM.get(got.outcome, got.confidence_ppm)
        told = "how sure it is of what was meant"
        self.demand(got.certainty_ppm == sure_ppm, rules.REFERENCE_AGREES, told, sure_ppm, got.certainty_ppm)
        turns, answers = self.shown(request), op.answers_of("resolve")
        is_wanted = request.resolve and self.context.config.resolve_queries
        unasked = without_model(request.query, request.turns, is_wanted, request.force)
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

    def resolutions(self, op: Operation, request: Asking, turns: tuple[Turn, ...]) -> list[Resolution]:
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

    def hear_rewrite(self, op: Operation, answer: Answer) -> None:
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
            rewrite = Rewrite(found, at_ms, lapses_ms, self.context.tick)
            self.rewrites.setdefault((request.query, turns), []).append(rewrite)

    def lapses(self) -> tuple[int, ...]:
        """When what may be remembered is so no more."""
        found = (it.lapses_ms for rewrites in self.rewrites.values() for it in rewrites)
        return tuple(at_ms for at_ms in found if at_ms >= self.context.seen_ms)

    def usable(self, op: Operation, request: Asking, turns: tuple[Turn, ...]) -> list[Rewrite]:
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

    def judge_variants(self, op: Operation, request: Recall, value: Recalled) -> None:
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

    def judge_newest(self, op: Operation, hits: tuple[Hit, ...], names: list[str]) -> None:
        """No hit is older than what this recall itself has read."""
        if FOREIGN in names or DAMAGED in names:
            return  # such a page is read again, and counts for nothing
        rows = [row for row in rows_read(op, *SEARCHES) if not is_damaged(row)]
        for hit in hits:
            read = [it.body.version for it in rows if it.address.id == hit.id and isinstance(it.body, Entity)]
            newest, told = max(read, default=0), f"{hit.id} is older than what was read of it"
            self.demand(newest <= hit.version, rules.HITS_ORDERED, told, newest, hit.version)

    def judge_hit(self, op: Operation, request: Recall, hit: Hit, *, is_fused: bool) -> None:
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
        meant = self.is_meant(request, {"id": hit.id, "type": hit.type, "name": hit.name}) is not False
        self.demand(meant, rules.FILTER_NARROWS, f"{hit.id} is not of the filter", request.where, hit)
        states = self.log.states_since(hit.id, op)
        kept = [state for state in states if is_shown(state, hit)]
        meant = not kept or any(self.meets(request, state) for state in kept)
        self.demand(meant, rules.FILTER_NARROWS, f"{hit.id} is not of the filter", request.where, hit)
        rule, told = self.log.rule_of(hit.id, states, hit.version), f"{hit.id} is a hit that cannot be"
        rule = rule if rule in (rules.ALL_OR_NOTHING, rules.DELETED_STAYS_DELETED) else rules.HITS_ORDERED
        is_ours = kept or not self.context.is_elsewhere(hit.id)
        self.demand(is_ours, rules.SCOPE_APART, told, states[:3], hit)
        self.demand(kept, rule, told, states[:3], hit)
        known = [it.contradicts for state in kept if (it := state.entity) is not None]
        rule, told = rule_of_relations(kept, hit.contradicts), f"what {hit.id} contradicts"
        self.demand(not kept or hit.contradicts in known, rule, told, known, hit)

    def floor_of(self, request: Recall) -> int:
        floor_ppm = self.context.config.recall_min_score_ppm
        return max(1, floor_ppm if request.min_score_ppm is None else request.min_score_ppm)

    def is_meant(self, request: Recall, known: Mapping[str, object]) -> bool | None:
        """Whether its filter leaves an entity with these fields; None if nobody knows."""
        return may_hold(request.where, "entities", self.context.scope) and meets(request.where, known)

    def meets(self, request: Recall, state: FactState) -> bool:
        return state.entity is not None and self.is_meant(request, fields_of(state.entity, ())) is True

    def judge_due(
        self, op: Operation, request: Recall, value: Recalled, names: list[str], limit: int
    ) -> None:
        """The hits are those that are due, as far as that is certain."""
        count = len(value.variants)
        if "by_vector:words_only" in names and count > 1:
            return  # some variants have vectors and some have not
        ways = self.ways(op, count, names) or [(None,) * count]
        damaged = damaged_ids(op, *SEARCHES) if DAMAGED in names else {}
        if FOREIGN in names or len(ways) > 1 or len(damaged) > limit:
            return  # of two times the limit that storage is asked for, no more than the limit is missing
        relevances = self.relevances(op, request, value.variants, ways[0], 0 if damaged else limit)
        relevances |= dict.fromkeys((*damaged, *written_again(op)))
        if count == 1:
            self.judge_cut(value.hits, {key: it[0] if it else None for key, it in relevances.items()}, limit)
            return
        certain = {key: it for key, it in relevances.items() if it is not None}
        self.judge_found(value.hits, certain, len(relevances) - len(certain), limit)
        if len(certain) == len(relevances):
            self.judge_fusion(value.hits, certain, limit)

    def ways(self, op: Operation, count: int, names: list[str]) -> list[Missable]:
        """The vectors that its searches may have gone by, one for each variant; None is a missing one."""
        answers, dims = op.answers_of("embed"), self.context.config.embedding_dims
        if "by_vector:words_only" in names:
            return [(None,) * count]
        if "embed:words_only" not in names:
            return list(dict.fromkeys(self.evidence.vectors(op, count)))
        read = [sound_vectors(it.vectors, count, dims) for it in answers[-1:] if isinstance(it, Embedded)]
        usable = [vectors for vectors in read if vectors is not None]
        return usable or [(None,) * count]

    def relevances(
        self,
        op: Operation,
        request: Recall,
        variants: tuple[str, ...],
        vectors: Missable,
        limit: int,
    ) -> dict[str, Relevances | None]:
        """How relevant each id is to each variant; None where that is not certain, or which lists count:
        what was written meanwhile counts where the newer version is. `limit`: 0 if rows may be missing."""
        floor_ppm, known = self.floor_of(request), self.known_texts(op, limit)
        said = [self.said_ppm(text, known) for text in variants]
        pairs = list(zip(said, variants, vectors, strict=True))
        found: dict[str, Relevances | None] = {}
        for key, states in self.log.all_since(op).items():
            told = {
                tuple(
                    self.relevance(state, request, self.by_words(state, ppms, text), vector, floor_ppm)
                    for ppms, text, vector in pairs
                ): None
                for state in states
            }
            is_still = len(told) == len({state.version: None for state in states}) == 1
            only = next(iter(told)) if is_still and self.is_indexed(key, op) else (None,)
            found[key] = None if None in only else tuple(it or 0 for it in only)
        return found

    def known_texts(self, op: Operation, limit: int) -> dict[str, tuple[str, str]] | None:
        """Return name and content of all current facts, by id; None if they are not all certain.

        A score by words depends on all of them. Nor is it known which facts a list has that was cut.
        """
        found: dict[str, tuple[str, str]] = {}
        if self.context.surroundings.atlas.losses:
            return None
        for key, states in self.log.all_since(op).items():
            entities = [state.entity for state in states]
            texts = list(dict.fromkeys((it.name, it.content) if it else None for it in entities))
            if len(texts) != 1 or not self.is_indexed(key, op):
                return None
            if texts[0] is not None:
                found[key] = texts[0]
        return found if len(found) <= 2 * limit else None

    def said_ppm(self, text: str, known: dict[str, tuple[str, str]] | None) -> dict[str, int] | None:
        """Return how well each fact answers a text by words; None if that is not known."""
        return None if known is None else dict(zip(known, words_ppm(text, [*known.values()]), strict=True))

    def by_words(self, state: FactState, ppms: Mapping[str, int] | None, text: str) -> int | None:
        """Return the score by words of a fact; without a term of the text it is 0, whatever others say."""
        it = state.entity
        if it is None or not shares_terms(text, it.name, it.content):
            return 0
        return None if ppms is None else ppms[it.id]

    def relevance(
        self,
        state: FactState,
        request: Recall,
        said_ppm: int | None,
        vector: tuple[int, ...] | None,
        floor_ppm: int,
    ) -> int | None:
        """0 of what the filter leaves out."""
        return relevance_of(state, request, said_ppm, vector, floor_ppm) if self.meets(request, state) else 0

    def is_indexed(self, key: str, op: Operation) -> bool:
        """Whether every search of this recall knows what this id was when it was asked."""
        lag_ms = self.context.surroundings.lag_since(op.asked_ms)
        return not lag_ms or self.log.changed_ms(key) + lag_ms <= op.asked_ms

    def judge_cut(self, hits: tuple[Hit, ...], relevances: dict[str, int | None], limit: int) -> None:
        """Of one list: each id that is certain is there with its relevance if due, and else it is not."""
        found = {hit.id: hit.score_ppm for hit in hits}
        last = (-hits[-1].score_ppm, hits[-1].id) if len(hits) == limit else (1, "")
        for key, wanted in relevances.items():
            got = found.get(key, 0)
            if wanted is not None and (got or (wanted and (-wanted, key) <= last)):
                rule = rules.FILTER_BEFORE_CUT if hits else rules.ERROR_IS_NOT_EMPTY
                self.demand(got == wanted, rule, f"{key} was shown as {got}, not {wanted}", wanted, got)

    def judge_found(
        self, hits: tuple[Hit, ...], relevances: dict[str, Relevances], unsure_count: int, limit: int
    ) -> None:
        """Of several lists: an id that is certain is there if it must be, as relevant as one of them says.

        Each list is cut, so an id may be missing from the one that it is most relevant to. `unsure_count`: of
        so many other ids nobody knows where they stand.
        """
        found = {hit.id: hit.relevance_ppm for hit in hits}
        last_ppm = hits[-1].score_ppm if len(hits) == limit else -1
        sure = certainly_found(relevances, 2 * limit - unsure_count)
        for key, each in relevances.items():
            least, best, got = sure.get(key, 0), max(each, default=0), found.get(key, 0)
            if got or (least and fused_ppm(least, 0) > last_ppm):
                rule = rules.FILTER_BEFORE_CUT if hits else rules.ERROR_IS_NOT_EMPTY
                told = f"{key} was shown as {got}, not {best}"
                self.demand(got in each and least <= got <= best, rule, told, (least, best), got)

    def judge_fusion(self, hits: tuple[Hit, ...], relevances: dict[str, Relevances], limit: int) -> None:
        """Of several lists, all of them certain: exactly these hits, with these scores."""
        columns = zip(*relevances.values(), strict=True)  # one for each variant
        found = ([it for it in zip(relevances, column, strict=True) if it[1]] for column in columns)
        expected = fused([ranked(it, limit) for it in found], limit)
        got = [(hit.id, hit.score_ppm, hit.relevance_ppm) for hit in hits]
        self.demand(got == expected, rules.FUSION_RULE, "the lists are fused otherwise", expected, got)


def certainly_found(relevances: Mapping[str, Relevances], count: int) -> dict[str, int]:
    """The best of each id in lists that certainly have it: it is among the first so many of them."""
    found: dict[str, int] = {}
    for column in zip(*relevances.values(), strict=True):
        order = sorted((-ppm, key) for key, ppm in zip(relevances, column, strict=True) if ppm)
        for ppm, key in order[: max(0, count)]:
            found[key] = max(-ppm, found.get(key, 0))
    return found


def rows_read(op: Operation, *steps: str) -> list[Row]:
    """By these steps, in all their reads."""
    answers = [answer for step in steps for answer in op.answers_of(step)]
    return [row for answer in answers if isinstance(answer, ReadDone) for row in answer.rows]


def written_again(op: Operation) -> list[str]:
    """Ids whose row came in two versions: the newer one counts, with its own scores alone."""
    seen = dict.fromkeys((row.address.id, row.version) for row in rows_read(op, *SEARCHES))
    return [key for key, count in Counter(key for key, _ in seen).items() if count > 1]


def damaged_ids(op: Operation, *steps: str) -> dict[str, None]:
    """Rows that came without a body, or with one that is not theirs, in any of its reads."""
    return {row.address.id: None for row in rows_read(op, *steps) if is_damaged(row)}
