"""Searches: how a query was resolved, and which hits are expected.

Law 1. The query is the given one, unless a model's rewrite of it has passed the gate, either now or shortly
before for the same words after the same turns.
Law 2. The hits of a recall are those expected at some position of each archive that it searches. While
searches lag, facts that changed shortly before may be missing. The facts shown next to a hit are those of
some position as well.
Law 3. A retrieve is recomputed from the answers to it, without the memory's workflow. It must ask nothing
more once it has enough hits, or if nothing is needed; its hits follow from the answers.
"""

from collections import Counter
from itertools import combinations, product
from typing import Any, Final

from msgspec import structs

from umi_core import limits
from umi_core.config import Config
from umi_core.data import Data, Owner
from umi_core.ids import entity_id as id_of_entity
from umi_core.language.decisions import parse_decision
from umi_core.language.persons import is_first_person
from umi_core.language.ranks import Ranks, parse_ranks
from umi_core.language.rewriting import (
    Variants,
    is_deep,
    judge_rewrite,
    parse_variants,
    read_query,
    resolve_without_model,
    shown_turns,
)
from umi_core.language.terms import split_query, split_terms
from umi_core.messages.answers import Answer, EffectFailed, Embedded, ModelReplied, ReadDone
from umi_core.messages.effects import AskModel, ByVector, ByWords, Embed, Read
from umi_core.messages.requests import Descent, Recall
from umi_core.messages.results import Hit, LevelHit, LevelTried, Recalled, Resolution, Retrieved, StopReason
from umi_core.policies.ranking import united_ppm
from umi_core.policies.similarity import vector_relevance_ppm
from umi_core.policies.term_scores import score_rows
from umi_core.rows import Entity, Row
from umi_core.text import cut
from umi_core.values import Scope, Turn
from umi_sim.judge.oracle.archive.context import ArchivePart
from umi_sim.judge.oracle.archive.degradations import STORAGE_MADE, Degradations, tell_failure
from umi_sim.judge.oracle.archive.log import BatchLog, choose_rule_of_relations
from umi_sim.judge.oracle.archive.operations import ArchiveOperation, Exchange, list_texts
from umi_sim.judge.oracle.archive.sharing import Archive, Sharing
from umi_sim.judge.oracle.archive.states import FactState, Vector
from umi_sim.judge.plain.levels import (
    ALL,
    KINDS,
    LevelRow,
    expect_context,
    is_enough,
    rank_level,
    read_context,
)
from umi_sim.judge.plain.requests import OF_SCOPE, fields_of, may_hold, meets
from umi_sim.judge.plain.scores import (
    fuse_lists,
    fused_ppm,
    join_scores,
    rank_variant,
    sound_vectors,
    substitute,
)
from umi_sim.record import rules

KEPT: Final = ("resolved", "unchanged")
CACHED_COUNT: Final = limits.RESOLVE_CACHE_COUNT_MAX
UNINDEXED_MAX: Final = 3  # facts that a lagging search may miss: 2 ** 3 sets at each position
VIEWS_MAX: Final = 8  # with more views of a recall, each hit is judged only by itself
Sight = tuple[Archive, int, tuple[str, ...]]  # an archive, a position, and facts that searches do not see yet
View = tuple[Sight, ...]  # one sight for each archive
Asking = Recall | Descent
FusedHit = tuple[str, int, int]  # id, score and relevance
Scores = dict[str, int]  # by the id of a fact


class ExpectedRewrite(Data):
    """The resolution by an answer, and until when the memory caches it. `tick`: the number of events then."""

    resolution: Resolution
    lapses_ms: int
    tick: int


SHOWN_BYTES: Final = 200
FOUND_BYTES: Final = 1_500
AGAIN: Final = "again"


class Path(Owner):
    """A retrieve recomputed from its answers: its expected questions and its expected reply.

    `asked`: the requested levels. `names`: the expected degradations. `steps`: the steps that ask, in order.
    `levels`: the levels that were reached. `wrong`: questions that differ from the expected ones.
    """

    op: ArchiveOperation
    config: Config
    scope: Scope
    turns: tuple[Turn, ...]
    resolution: Resolution | None
    asked: list[str] = []
    names: list[str] = []
    steps: list[str] = []
    levels: list[LevelTried] = []
    found: list[LevelRow] = []
    wrong: list[tuple[str, object, object]] = []
    stop: StopReason = "exhausted"
    vector: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        request = self.op.request
        is_any = request.limit_per_level != 0 and request.total_limit != 0
        levels = [level for level in ALL if level in request.levels and is_any]
        self.asked = [level for level in levels if may_hold(request.where, level, self.scope)]

    def ask(self, step: str, expected: Any, tried: list[Exchange] | None = None) -> Answer | None:
        """Take a step whose question must be `expected`; return its answer, or None without a usable one.

        `tried`: the attempts of the question, by default all attempts of the step.
        """
        self.steps.append(step)
        attempts = self.op.plan.tried(step) if tried is None else tried
        answer = attempts[-1].answer if attempts else None
        last = attempts[-1] if attempts else None
        if last and last.effect is not None and (got := describe_question(last, expected)) != expected:
            self.wrong.append((f"the question of {step}", expected, got))
        if answer is not None and not isinstance(answer, EffectFailed):
            return answer
        self.lose(step)
        return None

    def lose(self, step: str) -> None:
        self.names.append(f"{step}:{substitute('retrieve', step)}")

    def read_rewritten(self, reply: str, query: str, turns: tuple[Turn, ...]) -> Resolution | None:
        """Return the resolution by a rewrite in a model's reply, if it passes the gate."""
        rewrite = parse_decision(reply).rewrite
        floor_ppm = self.config.resolve_confidence_min_ppm
        found = judge_rewrite(rewrite, query, turns, floor_ppm) if rewrite is not None else None
        return found if found is not None and found.outcome == "resolved" else None

    def follow(self) -> None:
        """Take all steps in the order of the specification."""
        request, asked = self.op.request, self.asked
        if not asked:
            self.stop = "nothing_asked"
            return
        if request.route_intention:
            answer = self.ask("route", {"query": request.query})
            if isinstance(answer, ModelReplied) and parse_decision(answer.text).is_enough:
                self.stop = "not_needed"
                return
        query = self.resolution.query if self.resolution is not None else request.query
        self.steps += ["resolve"] if self.op.plan.last("resolve") is not None else []
        is_new = True
        # A query is embedded when it is new: at the first level, even if that level is not requested, and at
        # each level for which a model has given another query.
        for level in ALL:
            if is_new:
                self.embed(level, query)
            is_new = False
            if level not in asked[: request.levels_max]:
                continue
            given = self.search(level, query)
            self.found += given
            if level != asked[-1]:
                self.stop, after = self.decide(level, query, is_news=bool(given))
                if self.stop != "exhausted":
                    break
                is_new, query = after != query, after
        failed = [it.level for it in self.levels if it.is_failed]
        # If there is no hit at all, the levels whose reads failed are read once more.
        if failed and not self.found:
            self.steps.append(AGAIN)
            answers = [it.rows for it in self.op.plan.answers(AGAIN) if isinstance(it, ReadDone)]
            for it in (it for it in self.levels if it.is_failed):
                count = len(self.list_texts(it.query))
                found = rank_level(it.level, (), answers[:count], self.least_ppm)
                self.found += found[: request.limit_per_level]
                answers = answers[count:]
            self.levels = [structs.replace(it, is_failed=False) for it in self.levels]

    def embed(self, level: str, query: str) -> None:
        answer, self.vector = self.ask(f"embed_{level}", (query,)), None
        if isinstance(answer, Embedded):
            vectors = sound_vectors(answer.vectors, 1, self.config.embedding_dims)
            self.vector = vectors[0] if vectors is not None else None
            if self.vector is None:
                self.lose(f"embed_{level}")

    @property
    def least_ppm(self) -> int:
        return max(1, int(self.op.request.min_score_ppm))

    def list_texts(self, query: str) -> tuple[str, ...]:
        return list_texts(query, self.op, self.config)

    def search(self, level: str, query: str) -> list[LevelRow]:
        """Return the hits of a level, in order, up to the limit.

        They are the union of two lists, so each list has up to twice as many, and at least as many as a model
        ranks.
        """
        request, is_ranked = self.op.request, self.op.request.rank == "model"
        limit = max(2 * request.limit_per_level, limits.RANK_CANDIDATE_COUNT_MAX if is_ranked else 0)
        what = KINDS[level], self.least_ppm, limit
        near = self.ask(f"{level}_by_vector", (*what, self.vector)) if self.vector is not None else None
        by_words = self.search_words(f"{level}_by_words", what, self.list_texts(query))
        self.levels.append(LevelTried(level, query, 0, None in by_words))
        by_vector = near.rows if isinstance(near, ReadDone) else ()
        found = rank_level(level, by_vector, by_words, self.least_ppm)
        found = self.rank(level, query, found) if is_ranked and found else found
        return found[: request.limit_per_level]

    def search_words(
        self, step: str, what: tuple[object, ...], texts: tuple[str, ...]
    ) -> list[tuple[Row, ...] | None]:
        """Return the list of hits by words for each text; None if its read failed."""
        tried, found = self.op.plan.tried(step), list[tuple[Row, ...] | None]()
        asked = list(dict.fromkeys(find_text(it) for it in tried))
        if tried and asked != [*texts]:
            self.wrong.append((f"the texts that {step} searches for", texts, asked))
        for text in texts:
            answer = self.ask(step, (*what, text), [it for it in tried if find_text(it) == text])
            found.append(answer.rows if isinstance(answer, ReadDone) else None)
        return found

    def rank(self, level: str, query: str, found: list[LevelRow]) -> list[LevelRow]:
        """Return the rows in the order given by a model."""
        found, count = found[: limits.RANK_CANDIDATE_COUNT_MAX], self.op.request.limit_per_level
        shown = [
            {"id": f"c{n}", "text": cut(it.shown, SHOWN_BYTES), **it.times} for n, it in enumerate(found, 1)
        ]
        answer = self.ask(f"rank_{level}", {"query": query, "count": count, "candidates": shown})
        if not isinstance(answer, ModelReplied):
            return found
        order = parse_ranks(answer.text, len(found), count)
        if not isinstance(order, Ranks):
            self.lose(f"rank_{level}")
            return found
        by_alias = {f"c{n}": it for n, it in enumerate(found, 1)}
        return [by_alias[alias] for alias in order.aliases]

    def decide(self, level: str, query: str, *, is_news: bool) -> tuple[StopReason, str]:
        """Return why the search ends after this level, and the next query.

        "exhausted" means that it goes on. `is_news`: whether this level had hits.
        """
        request = self.op.request
        # The order of these tests decides which reason is reported: first
        # enough by score, then the limits, and last the model.
        wanted = min(request.min_results, request.total_limit)
        if request.enough.startswith("score") and is_enough(self.found, wanted, request.min_avg_ppm):
            return "enough", query
        if len(self.found) >= request.total_limit:
            return "limit", query
        if self.asked[: request.levels_max][-1] == level:
            return "levels_max", query
        if not request.enough.endswith("model") or not is_news:
            return "exhausted", query
        texts = [cut(it.shown, FOUND_BYTES) for it in self.found]
        shown = [{"text": text, **it.times} for text, it in zip(texts, self.found, strict=True)]
        answer = self.ask(f"enough_{level}", {"query": query, "found": shown})
        if not isinstance(answer, ModelReplied):
            return "exhausted", query
        # The hits count as turns, so the next query may refer to them.
        turns = (*self.turns, *(Turn("tool", text) for text in texts))
        after = self.read_rewritten(answer.text, query, turns)
        is_done = parse_decision(answer.text).is_enough
        return "enough" if is_done else "exhausted", after.query if after is not None else query

    def reply(self, value: Retrieved) -> tuple[Retrieved, list[LevelRow]]:
        """Return the expected reply and its hits; the counts of rows by level are copied from `value`."""
        request, is_needless = self.op.request, self.stop in ("nothing_asked", "not_needed")
        best = self.found
        if request.rank == "vector":
            best = sorted(best, key=lambda it: (-it.score_ppm, ALL.index(it.level), it.id))
        best = best[: request.total_limit]
        levels = [it for it in ALL if it in request.levels]
        counts = [it.found_count for it in value.tried] + [0] * len(self.levels)
        expected = structs.replace(
            value, query=request.query if is_needless else self.levels[-1].query,
            resolution=None if is_needless else value.resolution, asked=tuple(self.asked),
            hits=tuple(LevelHit(*(getattr(it, name) for name in LevelHit.__struct_fields__)) for it in best),
            tried=tuple(
                structs.replace(it, found_count=n) for it, n in zip(self.levels, counts, strict=False)
            ),
            stop_reason=self.stop, ordered_by=request.rank,
            left_out_count=len(best) - len(expect_context(best, self.config.context_bytes_max)),
            skipped=tuple(it for it in levels if not may_hold(request.where, it, self.scope)),
        )  # fmt: skip
        return expected, best


class Searches(ArchivePart):
    """Judges recalls, retrieves and searches. `rewrites`: the resolutions of this incarnation, by query."""

    degradations: Degradations
    log: BatchLog
    sharing: Sharing
    rewrites: dict[tuple[str, tuple[Turn, ...]], list[ExpectedRewrite]] = {}

    def judge_recall(self, op: ArchiveOperation, value: Recalled, names: list[str]) -> None:
        request, query = op.request, value.resolution.query
        self.judge_resolution(op, value.resolution)
        is_wanted, text = is_deep(query, request.deep), op.plan.text("expand")
        read = parse_variants(text, query) if is_wanted and text is not None else None
        expected = read.texts if isinstance(read, Variants) else (query,)
        is_fair = value.variants == expected and (is_wanted or not op.plan.answers("expand"))
        self.demand(is_fair, rules.DEEP_BY_TRIGGER, "the variants of a query", expected, value.variants)
        is_asked = bool(op.plan.answers("by_words") or op.plan.answers("by_vector"))
        self.sharing.judge_recall(op)
        archives = self.sharing.list_archives(op)
        message = "archives were searched, though the filter excludes all facts"
        self.demand(archives or not is_asked, rules.FILTER_NARROWS, message, request.where)
        texts = [list_texts(it, op, self.context.config) for it in value.variants]
        every, asked = [text for each in texts for text in each], op.plan.tried("by_words")
        got, message = list(dict.fromkeys(map(find_text, asked))), "the texts that are searched for"
        is_right = not asked or op.is_turned_away or got == list(dict.fromkeys(every))
        self.demand(is_right, rules.REFERENCE_AGREES, message, every, got)
        queries = [it.effect.query for it in asked if isinstance(it.effect, Read)]
        searched = list(dict.fromkeys(it.scope for it in queries if isinstance(it, ByWords)))
        scopes = [it.scope for it in archives]
        is_right = not asked or op.is_turned_away or searched == scopes
        message = "the archives that are searched"
        self.demand(is_right, rules.SHARED_AS_GRANTED, message, scopes, searched)
        limit, order = self.limit_of(request), [(-hit.score_ppm, hit.id) for hit in value.hits]
        is_sound = order == sorted(order) and len({hit.id: None for hit in value.hits}) == len(order) <= limit
        message = "scores and ids of hits"
        self.demand(is_sound, rules.HITS_ORDERED, message, f"{limit} at most, in order, each once", order)
        by_agent = {it.agent: it for it in archives}
        for hit in value.hits:
            message = "a hit of an archive that was not to be searched"
            self.demand(hit.agent in by_agent, rules.SHARED_AS_GRANTED, message, [*by_agent], hit)
            if hit.agent in by_agent:
                self.judge_hit(op, hit, query, by_agent[hit.agent], is_fused=len(value.variants) > 1)
        if self.context.surroundings.atlas.losses or any(name in STORAGE_MADE for name in names):
            return
        views = self.list_views(op, archives)
        # Each list of each variant may have been read at another view: two
        # variants and three views give 3 ** 4 combinations. So with several
        # texts the hits are compared as a whole only if there is one view.
        if 0 < len(views) <= (1 if len(every) > 1 else VIEWS_MAX):
            self.judge_due(op, value, names, views, texts)
        for archive, step in product(archives, ("context", "replaced")):
            hits = [it for it in value.hits if it.agent == archive.agent]
            # Each archive is read separately, and the degradation does not name the one that failed.
            is_lost = f"{step}:none" in names
            if hits and (not is_lost or len(archives) == 1):
                self.judge_neighbours(op, hits, step, archive, is_lost=is_lost)

    # Resolutions.

    def judge_resolution(
        self, op: ArchiveOperation, got: Resolution, offered: Resolution | None = None
    ) -> None:
        """Demand the right resolution of a query. `offered`: one by an earlier step, so no model is asked."""
        request, turns, answers = op.request, self.list_turns(op.request), op.plan.answers("resolve")
        is_wanted = request.resolve and self.context.config.resolve_queries
        unasked = offered or resolve_without_model(request.query, turns, is_wanted, request.force)
        message = "answers of a model to a query that needs no resolution"
        self.demand(unasked is None or not answers, rules.REWRITE_ONLY_IF_NEEDED, message, (), answers)
        # A query without references is its own resolution. Otherwise the model's reply counts or, if no model
        # was asked, a cached resolution of the same query.
        allowed = [unasked] if unasked is not None else self.list_resolutions(op, turns)
        is_known = unasked is None and not answers
        rule = rules.REWRITE_GATE if got.outcome == "resolved" else rules.REFERENCE_AGREES
        rule = rules.CACHE_INVISIBLE if is_known else rule
        self.demand(got in allowed, rule, "the resolution of a query", allowed, got)

    def list_turns(self, request: Asking) -> tuple[Turn, ...]:
        return shown_turns(request.turns, self.context.config.resolve_turn_count_max)

    def list_resolutions(self, op: ArchiveOperation, turns: tuple[Turn, ...]) -> list[Resolution]:
        """Return the resolution by the last answer; if no model was asked, those that may be cached."""
        query, last = op.request.query, op.plan.last("resolve")
        if last is None:
            return [it.resolution for it in self.list_usable(op, turns)]
        if last.text is not None:
            return [self.read_rewritten(last.text, query, turns)]
        terms = tuple(dict.fromkeys(read_query(query, turns).terms))
        return [Resolution("failed", query, terms, tell_failure(last), turn_count=len(turns))]

    def read_rewritten(self, reply: str, query: str, turns: tuple[Turn, ...]) -> Resolution:
        return judge_rewrite(reply, query, turns, self.context.config.resolve_confidence_min_ppm)

    def hear_rewrite(self, op: ArchiveOperation, answer: Answer) -> None:
        """Demand that a memory asks no model for a cached resolution; record the new one."""
        request, now_ms = op.request, self.context.seen_ms
        if not isinstance(request, Asking) or not self.context.config.resolve_cache:
            return
        turns = self.list_turns(request)
        known = [it for it in self.list_usable(op, turns) if it.tick < op.began and now_ms < it.lapses_ms]
        # If there were more queries than the cache holds, the memory may have dropped any of them.
        is_right = not known or len(self.rewrites) > CACHED_COUNT
        message = "an answer about a query that was resolved a short while ago"
        self.demand(is_right, rules.REWRITE_ONLY_IF_NEEDED, message, known, answer)
        if isinstance(answer, ModelReplied):
            found = self.read_rewritten(answer.text, request.query, turns)
            rewrite = ExpectedRewrite(found, now_ms + self.context.config.resolve_cache_ms, self.context.tick)
            if found.outcome in KEPT:
                self.rewrites.setdefault((request.query, turns), []).append(rewrite)

    def lapses(self) -> tuple[int, ...]:
        """Return the times at which cached resolutions expire."""
        found = (it.lapses_ms for rewrites in self.rewrites.values() for it in rewrites)
        return tuple(at_ms for at_ms in found if at_ms >= self.context.seen_ms)

    def list_usable(self, op: ArchiveOperation, turns: tuple[Turn, ...]) -> list[ExpectedRewrite]:
        """Return the resolutions that a memory may have cached at the request: not expired, not replaced."""
        known = self.rewrites.get((op.request.query, turns), []) if self.context.config.resolve_cache else []
        alive = [it for it in known if op.began_ms < it.lapses_ms]
        # With answers r1 and r2, then this recall, then r3: r2 was cached at the request, and r3 may be now;
        # r1 had certainly been replaced.
        sure = [n for n, it in enumerate(alive) if it.tick < op.began]
        return alive[sure[-1] :] if sure else alive

    # Hits.

    def leaves(self, request: Recall, it: Entity, scope: Scope) -> bool:
        """Return whether the filter of a request includes a fact; a time range includes both ends."""
        start_ms, end_ms = request.time_range or (None, None)
        is_in_time = (start_ms is None or start_ms <= it.time_ms) and (end_ms is None or it.time_ms <= end_ms)
        is_typed = request.types is None or it.type in request.types
        is_any = may_hold(request.where, "entities", scope)
        return is_in_time and is_typed and is_any and meets(request.where, fields_of(it)) is True

    def limit_of(self, request: Recall) -> int:
        return self.context.config.recall_limit_default if request.limit is None else request.limit

    def floor_of(self, request: Recall) -> int:
        floor_ppm = self.context.config.recall_min_score_ppm
        return max(1, floor_ppm if request.min_score_ppm is None else request.min_score_ppm)

    def is_of_speaker(self, request: Recall, query: str) -> bool:
        return request.speaker is not None and is_first_person(query)

    def is_of_others(self, request: Recall, query: str, fact: Entity, scope: Scope) -> bool:
        """Return whether a query is about its speaker, and a fact about others that it does not name."""
        asked = {*split_query(query)}
        own = request.speaker is None or id_of_entity(scope, request.speaker) in fact.about
        named = (term in asked for name in (fact.name, *fact.others) for term in split_terms(name))
        return self.is_of_speaker(request, query) and fact.about != () and not own and not any(named)

    def judge_hit(
        self, op: ArchiveOperation, hit: Hit, query: str, archive: Archive, *, is_fused: bool
    ) -> None:
        """Demand that a hit shows a fact of some position, and that the request includes it."""
        floor_ppm, ppm = self.floor_of(op.request), hit.relevance_ppm
        message, expected = f"the relevance of {hit.id}", f"{floor_ppm} to {limits.PPM}"
        self.demand(floor_ppm <= ppm <= limits.PPM, rules.FILTER_BEFORE_CUT, message, expected, ppm)
        # The rank of a hit in each list is not known here, so
        # the score is between those of no rank and the best.
        low, high = (fused_ppm(ppm, rank_ppm) for rank_ppm in (0, limits.PPM)) if is_fused else (ppm, ppm)
        states = archive.states(hit.id)
        facts = [it.entity for it in states if it.entity is not None]
        # All versions of a fact are about the same entities, since they have the same id.
        if any(self.is_of_others(op.request, query, it, archive.scope) for it in facts):
            low, high = low * 4 // 5, high * 4 // 5
        message = f"the score of {hit.id}"
        self.demand(
            low <= hit.score_ppm <= high, rules.FUSION_RULE, message, f"{low} to {high}", hit.score_ppm
        )
        shown = [it for it in facts if is_shown(hit, it)]
        rule = archive.log.choose_rule(hit.id, states, hit.version)
        message = f"the fact {hit.id} as a hit shows it"
        # Other rules of `choose_rule` are about writes, but here the search is wrong.
        rule = rule if rule in (rules.ALL_OR_NOTHING, rules.DELETED_STAYS_DELETED) else rules.HITS_ORDERED
        is_elsewhere = archive.log is self.log and self.context.is_elsewhere(hit.id)
        rule = rules.SCOPE_APART if not shown and is_elsewhere else rule
        if archive.agent and any(is_shown(hit, it.entity) for it in archive.log.facts.since(hit.id, 0)):
            rule = rules.SHARED_AS_GRANTED  # the fact was stored while the archive was not shared
        self.demand(shown, rule, message, states[:3], hit)
        known, message = [it.contradicts for it in shown], f"the contradictions of {hit.id}"
        rule = choose_rule_of_relations([FactState(entity=it) for it in shown], hit.contradicts)
        self.demand(hit.contradicts in known, rule, message, known, hit)
        is_meant = any(self.leaves(op.request, it, archive.scope) for it in shown)
        message = f"{hit.id} is a hit that the filter excludes"
        self.demand(is_meant, rules.FILTER_NARROWS, message, op.request, hit)

    def list_views(self, op: ArchiveOperation, archives: list[Archive]) -> list[View]:
        """Return all combinations of sights of the archives; at most VIEWS_MAX + 1 of them."""
        each = [self.list_sights(op, archive) for archive in archives]
        views = list[View]([()])
        for sights in each:
            views = [(*view, sight) for view in views for sight in sights][: VIEWS_MAX + 1]
        return views

    def list_sights(self, op: ArchiveOperation, archive: Archive) -> list[Sight]:
        """Return what searches may show of an archive; empty if there are too many possibilities.

        A lagging search may miss any of the facts that changed shortly before it, or since.
        """
        lag_ms, entries = self.context.surroundings.lag_since(op.asked_ms), archive.log.facts.entries
        first = archive.positions(op.asked_ms, lag_ms)[0]
        fresh = [key for key, changes in entries.items() if lag_ms and changes[-1][0] > first]
        counts = range(len(fresh) + 1) if len(fresh) <= UNINDEXED_MAX else ()
        hidden = [some for count in counts for some in combinations(fresh, count)]
        return list(product([archive], archive.positions(), hidden))

    def judge_due(
        self, op: ArchiveOperation, value: Recalled, names: list[str], views: list[View],
        texts: list[tuple[str, ...]],
    ) -> None:  # fmt: skip
        """Demand the expected hits; vectors may have been read at another position than words.

        `texts`: for each variant, the texts for its search by words.
        """
        request, count, limit = op.request, len(value.variants), self.limit_of(op.request)
        query = value.resolution.query
        most = (8 if self.is_of_speaker(request, query) else 2) * limit
        is_worded = "by_vector:words_only" in names
        if is_worded and count * len(views[0]) > 1:
            return  # it is not known which variants, or which archives, were searched by vector
        vectors = op.plan.vectors(0 if is_worded else count, self.context.config.embedding_dims)
        by_vector, by_words = (
            [[self.list_variant(request, at, some, it, most) for some, it in each] for at in views]
            for each in ([((), it) for it in vectors or (None,)], [(some, None) for some in texts])
        )
        expected = list[list[FusedHit]]()
        lists = product(zip(views, by_vector, strict=True), zip(views, by_words, strict=True))
        for (at, near), (to, scores) in lists:
            pairs = [self.unite_lists(*each, at, to) for each in zip(near, scores, strict=True)]
            fused = fuse_lists([rank_variant(it.items(), most) for it in pairs], len(pairs) * most)
            expected.append(self.lower_others(request, query, fused, (to, at))[:limit])
        got = [(hit.id, hit.score_ppm, hit.relevance_ppm) for hit in value.hits]
        related, wanted = ({(key, ppm) for key, _, ppm in each} for each in (got, expected[-1]))
        rule = rules.FUSION_RULE if related == wanted else rules.FILTER_BEFORE_CUT
        rule = rules.HITS_ORDERED if sorted(expected[-1]) == sorted(got) else rule
        rule = rule if got else rules.ERROR_IS_NOT_EMPTY
        self.demand(got in expected, rule, "the hits of a recall", expected[-1], got)

    def lower_others(
        self, request: Recall, query: str, fused: list[FusedHit], views: tuple[View, View]
    ) -> list[FusedHit]:
        """Return the hits in order, after lowering the scores of facts about others to four fifths."""
        lowered = list[FusedHit]()
        for key, score_ppm, best_ppm in fused:
            # One of the two lists may have been read before the fact was stored, or after it ended.
            states = (
                (archive.log.facts.at(key, position).entity, archive.scope)
                for view in views
                for archive, position, _ in view
                if key in archive.log.facts.entries
            )
            is_lowered = any(it and self.is_of_others(request, query, it, scope) for it, scope in states)
            lowered.append((key, score_ppm * 4 // 5 if is_lowered else score_ppm, best_ppm))
        return sorted(lowered, key=lambda it: (-it[1], it[0]))

    def unite_lists(self, near: Scores, scores: Scores, near_view: View, words_view: View) -> Scores:
        """Return the union of a list by vector and one by words, each read at its own view.

        If a row was written between the two reads, only its score in the later list counts.
        """
        united = dict[str, int]()
        for key in near | scores:
            log, at, to = next(
                (archive.log, at, to)
                for (archive, at, _), (_, to, _) in zip(near_view, words_view, strict=True)
                if key in archive.log.facts.entries
            )
            is_same = log.facts.at(key, at).entity == log.facts.at(key, to).entity
            # If a fact was rewritten between the two reads (vectors at position 4, words at 5), the hit shows
            # its version at 5, so the score of the older version does not count.
            is_one = is_same or key not in near or key not in scores
            by_vector, by_words = (ppms.get(key, 0) for ppms in (near, scores))
            united[key] = united_ppm(by_vector * (is_one or at > to), by_words * (is_one or at < to))
        return united

    def list_variant(
        self, request: Recall, view: View, texts: tuple[str, ...], vector: Vector, most: int
    ) -> Scores:
        """Return the scores of a variant in all archives: by these texts, or by its vector without texts."""
        found = Scores()
        for sight in view:
            lists = [self.list_facts(request, sight, text, vector, most) for text in texts or ("",)]
            found |= join_scores(lists, self.floor_of(request))
        return found

    def list_facts(self, request: Recall, sight: Sight, text: str, vector: Vector, most: int) -> Scores:
        """Return one list of a variant: the `most` best facts, in case of equal scores those of lower id."""
        archive, position, hidden = sight
        entries = archive.log.facts.entries
        known = [archive.log.facts.at(key, position) for key in entries if key not in hidden]
        states = [it for it in known if it.entity is not None]
        facts = [it.entity for it in states if it.entity is not None]
        scores = score_rows(text, [it.name_and_text() for it in facts]) if text else [
            vector_relevance_ppm(vector, it.vector) if vector and it.vector else 0 for it in states
        ]  # fmt: skip
        floor_ppm = self.floor_of(request)
        pairs = zip(facts, scores, strict=True)
        scope = archive.scope
        found = [(-ppm, it.id) for it, ppm in pairs if ppm >= floor_ppm and self.leaves(request, it, scope)]
        return {key: -ppm for ppm, key in sorted(found)[:most]}

    def judge_neighbours(
        self, op: ArchiveOperation, hits: list[Hit], step: str, archive: Archive, *, is_lost: bool
    ) -> None:
        """Demand that hits show the fact that follows each, or those that each has ended, at one position."""
        is_next, ids, request = step == "context", [it.id for it in hits], op.request
        got = [(it.next_id, it.next_content) if is_next else it.replaced for it in hits]
        find, empty = (self.find_next, (None, "")) if is_next else (self.find_replaced, ())
        find = (lambda *_: [empty for _ in hits]) if is_lost else find
        positions = archive.positions()
        expected = [find(request, ids, archive, at) for at in positions]
        # If the result is right for a request without the filter, the rule of the filter is broken.
        bare = structs.replace(request, where=(), types=None, time_range=None)
        is_filtered = got in expected or got not in [find(bare, ids, archive, at) for at in positions]
        rule = rules.HITS_ORDERED if is_filtered else rules.FILTER_NARROWS
        self.demand(got in expected, rule, f"{step} of the hits", expected[-1], got)

    def find_next(self, request: Recall, ids: list[str], archive: Archive, position: int) -> list[object]:
        """Return for each fact the first fact that follows it and is no hit itself."""
        facts, scope = archive.log.facts, archive.scope
        found = {key: facts.at(key, position).entity for key in facts.entries}
        others = [
            it for key, it in found.items() if it and key not in ids and self.leaves(request, it, scope)
        ]
        # Newest first, so that of several facts with the same `follows` the oldest stays in the dict.
        firsts = sorted(others, key=lambda it: (it.created_ms, it.id), reverse=True)
        after = {it.follows: (it.id, it.content) for it in firsts}
        return [after.get(key, (None, "")) for key in ids]

    def find_replaced(self, request: Recall, ids: list[str], archive: Archive, position: int) -> list[object]:
        """Return for each fact the facts that it has ended, in order."""
        facts, scope = archive.log.facts, archive.scope
        found = [facts.at(key, position).ended for key in facts.entries]
        ended = [it for it in found if it is not None and self.leaves(request, it.fact, scope)]
        ended.sort(key=lambda it: (it.at_ms, it.id))
        return [tuple((it.id, it.fact.content) for it in ended if it.by == key) for key in ids]

    # Retrieves.

    def judge_conditions(self, op: ArchiveOperation, asked: Exchange) -> None:
        """Demand that a search has the conditions of its request."""
        query = asked.effect.query if isinstance(asked.effect, Read) else None
        if isinstance(query, ByVector | ByWords):
            expected = [it for it in op.request.where if it[0] not in OF_SCOPE]
            got = [(it.field, it.operator, it.value) for it in query.where]
            self.demand(
                got == expected, rules.FILTER_NARROWS, f"the conditions of {asked.step}", expected, got
            )

    def judge_level_hits(self, op: ArchiveOperation, hits: tuple[LevelHit, ...]) -> None:
        """Demand limits, scores and order of the hits of a retrieve, and that its facts are stored."""
        request, ids = op.request, [(it.level, it.id) for it in hits]
        by_level = Counter(it.level for it in hits)
        is_within = len(dict.fromkeys(ids)) == len(ids) <= request.total_limit
        is_within = is_within and max(by_level.values(), default=0) <= request.limit_per_level
        least_ppm = max(1, request.min_score_ppm)
        message = "hits twice there, too many, or of too low a score"
        is_sound = is_within and all(it.score_ppm >= least_ppm for it in hits)
        self.demand(is_sound, rules.HITS_WITHIN_LIMITS, message, request, hits)
        order = [(-it.score_ppm, ALL.index(it.level), it.id) for it in hits]
        # A model may choose any order within a level, so only the order of levels is checked.
        order = order if request.rank == "vector" else [(0, place, "") for _, place, _ in order]
        message = "hits are out of order"
        self.demand(order == sorted(order), rules.HITS_WITHIN_LIMITS, message, request.rank, hits)
        for it in (hit for hit in hits if hit.level == "entities"):
            states, wanted = self.log.states_since(it.id, op), (it.version, it.name, it.text)
            facts = [state.entity for state in states if state.entity is not None]
            holds = any((fact.version, fact.name, fact.content) == wanted for fact in facts)
            rule = self.log.choose_rule(it.id, states, it.version)
            rule = rules.READ_SCOPE if self.context.is_elsewhere(it.id) else rule
            self.demand(holds, rule, f"the fact {it.id} as a hit shows it", states[:3], it)

    def judge_retrieve(self, op: ArchiveOperation, value: Retrieved, names: list[str]) -> None:
        self.judge_level_hits(op, value.hits)
        if op.is_turned_away or any(name in STORAGE_MADE for name in names):
            return  # a page of rows was read again, and it is not known which one
        path = Path(
            op, self.context.config, self.context.scope, self.list_turns(op.request), value.resolution
        )
        offered = path.read_rewritten(op.plan.text("route") or "", op.request.query, path.turns)
        is_offered = bool(op.request.route_intention and path.turns)
        if value.resolution is not None:
            self.judge_resolution(op, value.resolution, offered if is_offered else None)
        path.follow()
        expected, best = path.reply(value)
        message = "levels that the filter excludes"
        self.demand(
            value.skipped == expected.skipped, rules.FILTER_NARROWS, message, expected.skipped, value.skipped
        )
        asked = list(dict.fromkeys(it.step for it in op.attempts))
        more = [step for step in asked if step not in path.steps]
        self.demand(not more, rules.STOP_MEANS_STOP, "steps that a retrieve must not ask", path.steps, more)
        texts, message = {(it.level, it.id): it.text for it in expected.hits}, "hits with another text"
        others = [it for it in value.hits if it.text != texts.get((it.level, it.id), it.text)]
        self.demand(not others, rules.READ_SCOPE, message, expected.hits, others)
        ids, message = (
            {(it.level, it.id): None for it in value.hits},
            "a hit twice, or more than are expected",
        )
        is_within = len(ids) == len(value.hits) <= len(expected.hits)
        self.demand(is_within, rules.HITS_WITHIN_LIMITS, message, expected.hits, value.hits)
        # Specific rules were checked first, so that a wrong hit is not reported as a wrong reply.
        self.compare(value, expected)
        missing = [step for step in path.steps if step not in asked]
        self.demand(not missing, rules.STOP_MEANS_STOP, "steps that a retrieve has not asked", missing, asked)
        for what, wanted, got in path.wrong:
            self.demand(False, rules.REFERENCE_AGREES, what, wanted, got)
        is_lost = any(not self.degradations.is_of_use(op, it) for it in op.plan.tried("resolve")[-1:])
        wanted_names = sorted({*path.names, *(["resolve:original"] if is_lost else [])})
        is_right, message = sorted({*names}) == wanted_names, "the degradations of a retrieve"
        self.demand(is_right, rules.DEGRADATION_NAMED, message, wanted_names, names)
        shown: object = expect_context(best, self.context.config.context_bytes_max)
        message = "the hits that the context shows"
        self.demand(read_shown(value.context) == shown, rules.REFERENCE_AGREES, message, shown, value.context)


def is_shown(hit: Hit, fact: Entity | None) -> bool:
    """Return whether a hit shows this fact."""
    names = "version", "type", "name", "content", "time_ms"
    return fact is not None and all(getattr(fact, name) == getattr(hit, name) for name in names)


def find_text(it: Exchange) -> str | None:
    """Return the text of a search by words; None for another question."""
    query = it.effect.query if isinstance(it.effect, Read) else None
    return query.text if isinstance(query, ByWords) else None


def describe_question(it: Exchange, expected: Any) -> object:
    """Return a question in the form of `expected`, which describes the right one."""
    match it.effect:
        case AskModel():
            return {name: it.inputs.get(name) for name in expected}
        case Embed(texts=texts):
            return texts
        case Read(query=ByVector() as query):
            return query.kind, query.min_score_ppm, query.limit, query.vector
        case Read(query=ByWords() as query):
            return query.kind, query.min_score_ppm, query.limit, query.text
    return it.effect


def read_shown(context: str) -> object:
    try:
        return read_context(context)
    except ValueError:
        return context
