"""retrieve: searches the levels of the archive for a query, from summaries to sources, until it has enough.

Every level has the same steps; the option `level` of a step names its level.

Law 1. The levels are searched in a fixed order, only those requested, up to the first after which the results
are enough. Law 2. If the decision of a model cannot be parsed, the search goes on.
Law 3. The original query is searched unless a rewrite of it is accepted (`judge_rewrite`). Law 4. If a level
fails, the reply names it and the search goes on. If nothing was found and a level has failed, that level is
read again, and a second failure is an error, never an empty result. Law 5. Rows found are ordered, without
duplicates, and limited; a model may order them but adds none. Law 6. A model decides whether results are
enough only if their scores do not.
"""

from collections.abc import Iterable, Mapping
from typing import Final, Literal, get_args

from umi_core.conditions import conditions_of, reaches
from umi_core.data import Data
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import (
    OUTCOME,
    Degrade,
    Law,
    Learned,
    Step,
    TakeResult,
    Unusable,
    Workflow,
    asks,
    degrade,
    learn_rows,
    learn_unit_rows,
    learn_vectors,
    retry,
)
from umi_core.language.decisions import Decision, parse_decision
from umi_core.language.prompts import FOUND_BYTES_MAX, FoundText, ask_enough, ask_need, ask_rank
from umi_core.language.ranks import alias_of, parse_ranks
from umi_core.language.replies import UnusableReply
from umi_core.language.rewriting import judge_rewrite, shown_turns
from umi_core.limits import RANK_CANDIDATE_COUNT_MAX
from umi_core.messages.answers import Embedded, ModelReplied
from umi_core.messages.effects import AskModel, ByVector, ByWords, Done, Embed, Read
from umi_core.messages.requests import Descent
from umi_core.messages.results import LevelHit, LevelTried, Resolution, Retrieved, StopReason
from umi_core.policies.ranking import LIST_FACTOR, ScoredRow, is_enough, join_lists, union
from umi_core.rows import Category, Entity, Reflection, Resource, Row, bodies_of
from umi_core.text import cut, size
from umi_core.tiers.rendering import escape
from umi_core.tiers.session import record_recall
from umi_core.values import LEVELS, Scope, Turn
from umi_core.workflows import recall
from umi_core.workflows.commits import entity_ids
from umi_core.workflows.recall import ASKED_ON, DATE, list_texts

REQUEST: Final = Fact("request", Descent)
RESOLUTION: Final = Fact("resolution", Resolution | None)  # None if nothing is searched

Vector = tuple[int, ...]


class LevelFacts(Data):
    """The facts about one level of the archive; `before`: the level above it."""

    name: str
    before: str | None
    vector: Fact[Vector | None]
    texts: Fact[tuple[str, ...]]  # texts of its searches by words
    by_vector: Fact[tuple[Row, ...]]
    by_words: Fact[tuple[tuple[Row, ...] | None, ...]]  # one list for each text; None: the search failed
    order: Fact[tuple[str, ...] | None]  # ids in the order of a model; None: ordered by score
    stop: Fact[str]  # why the search ends after this level; empty to go on
    query: Fact[str | None]  # a rewritten query for the following levels


def facts_of_level(name: str, before: str | None) -> LevelFacts:
    kinds = (LEVELS[name],)
    return LevelFacts(
        name, before,
        Fact(f"{name}_vector", Vector | None), Fact(f"{name}_texts", tuple[str, ...]),
        Fact(f"{name}_by_vector", tuple[Row, ...], kinds),
        Fact(f"{name}_by_words", tuple[tuple[Row, ...] | None, ...], kinds),
        Fact(f"{name}_order", tuple[str, ...] | None), Fact(f"{name}_stop", str),
        Fact(f"{name}_query", str | None),
    )  # fmt: skip


NAMES: Final = tuple(LEVELS)
OF: Final = {name: facts_of_level(name, NAMES[at - 1] if at else None) for at, name in enumerate(NAMES)}


# Which levels.


def asked_levels(request: Descent, scope: Scope) -> tuple[str, ...]:
    """Return the levels to search, in order of LEVELS; none if the limits are 0.

    Levels where the filter can match no row are left out.
    """
    is_wanted = request.limit_per_level > 0 and request.total_limit > 0
    names = tuple(name for name in NAMES if name in request.levels) if is_wanted else ()
    return tuple(name for name in names if reaches(request.where, LEVELS[name], scope))


def skipped_levels(request: Descent, scope: Scope) -> tuple[str, ...]:
    """Return the requested levels where the filter can match no row."""
    asked = (name for name in NAMES if name in request.levels)
    return tuple(name for name in asked if not reaches(request.where, LEVELS[name], scope))


def tried_levels(request: Descent, scope: Scope) -> tuple[str, ...]:
    return asked_levels(request, scope)[: request.levels_max]


def level_of(view: View) -> LevelFacts:
    return OF[str(view.options["level"])]


def is_tried(facts: Facts, view: View) -> bool:
    return level_of(view).name in tried_levels(facts[REQUEST], view.scope)


def query_at(facts: Facts, name: str | None) -> str:
    """Return the query after this level: the last rewrite up to it, or the query of the request."""
    while name is not None:
        if (query := facts.get(OF[name].query)) is not None:
            return query
        name = OF[name].before
    resolution = facts[RESOLUTION]
    return facts[REQUEST].query if resolution is None else resolution.query


# embed.


def ask_first_vector(facts: Facts, view: View) -> Embed:
    return Embed((query_at(facts, None),))


def ask_vector(facts: Facts, view: View) -> Embed | None:
    """Ask for a vector only if the query differs from that of the level before."""
    before = level_of(view).before
    assert before is not None  # the first level always asks
    return Embed((query_at(facts, before),)) if facts[OF[before].query] is not None else None


def texts_at(facts: Facts, name: str) -> tuple[str, ...]:
    """Return the texts of the searches by words at this level."""
    return list_texts(query_at(facts, OF[name].before), facts[ASKED_ON])


def texts_law(name: str) -> Law:
    """Return the law that a level has the texts of its query, or no texts if it was skipped."""
    level = OF[name]
    return Law(
        f"the query of {name} with its dates", (ASKED_ON, level.texts),
        lambda facts, scope: facts[level.texts] in ((), texts_at(facts, name)),
    )  # fmt: skip


def take_vector(facts: Facts, answer: Embedded | None, view: View) -> TakeResult:
    level = level_of(view)
    if answer is None:
        assert level.before is not None
        before = OF[level.before]
        return Learned(level.vector(facts[before.vector]) | level.texts(facts[before.texts]))
    texts = level.texts(texts_at(facts, level.name))
    return learn_vectors(answer, 1, "words_only", lambda found: level.vector(found[0]) | texts, view)


# by_vector and by_words: one search by vector, and one by words for each text.


def list_limit(request: Descent) -> int:
    wanted = LIST_FACTOR * request.limit_per_level
    # A model that orders the hits is shown the best 50, even if fewer hits are requested.
    return max(wanted, RANK_CANDIDATE_COUNT_MAX) if request.rank == "model" else wanted


def least_score(request: Descent) -> int:
    return max(1, request.min_score_ppm)


def ask_by_vector(facts: Facts, view: View) -> Read | None:
    level, request = level_of(view), facts[REQUEST]
    vector = facts[level.vector]
    if vector is None or not is_tried(facts, view):
        return None
    least_ppm, kind = least_score(request), LEVELS[level.name]
    where = conditions_of(request.where)
    return Read(ByVector(view.scope, vector, where, list_limit(request), least_ppm, kind))


def by_words(facts: Facts, view: View, name: str, text: str) -> Read:
    request = facts[REQUEST]
    least_ppm, where = least_score(request), conditions_of(request.where)
    return Read(ByWords(view.scope, text, where, list_limit(request), least_ppm, LEVELS[name]))


def ask_by_words(facts: Facts, view: View) -> Read | None:
    level = level_of(view)
    return by_words(facts, view, level.name, facts.unit(level.texts)) if is_tried(facts, view) else None


def has_failed(facts: Facts, name: str) -> bool:
    """Check whether a search by words has failed at this level."""
    return None in facts[OF[name].by_words]


# rank.


def candidates(facts: Facts, level: LevelFacts) -> tuple[ScoredRow, ...]:
    """Return the rows for a model to order; if no model is asked, these are the result."""
    request = facts[REQUEST]
    limit = RANK_CANDIDATE_COUNT_MAX if request.rank == "model" else request.limit_per_level
    by_vector, by_words = facts[level.by_vector], facts[level.by_words]
    return union(level.name, by_vector, join_lists(by_words, least_score(request)), limit)


def ask_order(facts: Facts, view: View) -> AskModel | None:
    request, level = facts[REQUEST], level_of(view)
    shown = candidates(facts, level) if request.rank == "model" else ()
    if not shown:
        return None
    listed = tuple((alias_of(number), as_found(it)) for number, it in enumerate(shown))
    query = query_at(facts, level.before)
    return AskModel("rank", ask_rank(query, request.limit_per_level, listed))


def take_order(facts: Facts, answer: ModelReplied | None, view: View) -> TakeResult:
    level = level_of(view)
    if answer is None:
        return Learned(level.order(None))
    shown = candidates(facts, level)
    ranks = parse_ranks(answer.text, len(shown), facts[REQUEST].limit_per_level)
    if isinstance(ranks, UnusableReply):
        return Unusable(ranks.reason)
    ids = {alias_of(number): it.row.address.id for number, it in enumerate(shown)}
    return Learned(level.order(tuple(ids[alias] for alias in ranks.aliases)), shapes=ranks.dropped)


def found_at(facts: Facts, level: LevelFacts) -> tuple[ScoredRow, ...]:
    """Return the result of this level in its final order."""
    shown, order = candidates(facts, level), facts[level.order]
    if order is None:
        return shown[: facts[REQUEST].limit_per_level]
    by_id = {it.row.address.id: it for it in shown}
    return tuple(by_id[row_id] for row_id in order)


def order_law(name: str) -> Law:
    """Return the law that the order of a model contains only rows found at this level, without duplicates."""
    level = OF[name]

    def is_order(facts: Facts, scope: Scope) -> bool:
        ids, shown = facts[level.order], {it.row.address.id: None for it in candidates(facts, level)}
        return ids is None or ids == tuple(key for key in dict.fromkeys(ids) if key in shown)

    return Law(f"an order of {name} that were found", (REQUEST, level.by_vector, level.order), is_order)


def found_until(facts: Facts, name: str) -> tuple[ScoredRow, ...]:
    """Return the results of this level and of those before it."""
    names = NAMES[: NAMES.index(name) + 1]
    return tuple(it for each in names for it in found_at(facts, OF[each]))


def text_of(found: ScoredRow) -> str:
    """Return the text of a row as it is shown to a model."""
    name, text = name_and_text(found.row)
    return f"{name}: {text}" if name else text


def as_found(found: ScoredRow) -> FoundText:
    """Return a found row as it is shown to a model: its text with its times."""
    body, text = found.row.body, text_of(found)
    if isinstance(body, Entity):
        return FoundText(text, body.updated_ms, body.event_time_ms)
    if isinstance(body, Resource):
        return FoundText(text, body.created_ms, body.happened_ms)
    assert isinstance(body, Category | Reflection)
    return FoundText(text, body.updated_ms)


def name_and_text(row: Row) -> tuple[str, str]:
    body = row.body
    if isinstance(body, Entity):
        return body.name, body.content
    if isinstance(body, Category):
        return body.name, body.summary or body.description
    if isinstance(body, Reflection):
        return body.session_id, body.text
    assert isinstance(body, Resource)  # a search finds only undamaged rows of the kind of its level
    return body.uri or "", body.shown


# enough.


def stop_reason(facts: Facts, name: str, scope: Scope) -> str | None:
    """Return why the search ends after this level, empty if it goes on; None if a model must decide."""
    request, found = facts[REQUEST], found_until(facts, name)
    # If the caller limits the reply to two hits, two are enough.
    wanted = min(request.min_results, request.total_limit)
    by_score = request.enough in ("score", "score_then_model")
    tried = tried_levels(request, scope)
    # After the last level there is nothing to stop; the reply says `exhausted` then.
    if name not in tried or name == asked_levels(request, scope)[-1]:
        return ""
    if by_score and is_enough(found, wanted, request.min_avg_ppm):
        return "enough"
    if len(found) >= request.total_limit:
        return "limit"
    if name == tried[-1]:
        return "levels_max"
    by_model = request.enough in ("model", "score_then_model")
    return None if by_model and found_at(facts, OF[name]) else ""


def ask_verdict(facts: Facts, view: View) -> AskModel | None:
    level = level_of(view)
    if stop_reason(facts, level.name, view.scope) is not None:
        return None
    texts = tuple(map(as_found, found_until(facts, level.name)))
    return AskModel("decide_enough", ask_enough(query_at(facts, level.before), texts))


def take_verdict(facts: Facts, answer: ModelReplied | None, view: View) -> Learned:
    level = level_of(view)
    if answer is None:
        reason = stop_reason(facts, level.name, view.scope) or ""
        return learn_stop(level, reason, None, ())
    decision = parse_decision(answer.text)
    if decision.is_enough:
        return learn_stop(level, "enough", None, ())
    # A rewrite may use words of the results found so far, so these count as turns of the conversation.
    texts = (cut(text_of(it), FOUND_BYTES_MAX) for it in found_until(facts, level.name))
    results = (Turn("tool", text) for text in texts)
    turns = (*shown_turns(facts[REQUEST].turns), *results)
    query = query_at(facts, level.before)
    rewrite, shapes = adopt(decision, query, turns, view.config.resolve_confidence_min_ppm)
    return learn_stop(level, "", rewrite.query if rewrite is not None else None, shapes)


def learn_stop(level: LevelFacts, reason: str, query: str | None, shapes: tuple[str, ...]) -> Learned:
    return Learned(level.stop(reason) | level.query(query), "missed" if reason else None, shapes=shapes)


def adopt(
    decision: Decision, query: str, turns: tuple[Turn, ...], confidence_min_ppm: int
) -> tuple[Resolution | None, tuple[str, ...]]:
    """Return the rewrite of a decision if `judge_rewrite` accepts it, else None; and marks of the answer."""
    shapes = (decision.why,) if decision.why is not None else ()
    if decision.rewrite is None or not turns:
        return None, shapes
    resolution = judge_rewrite(decision.rewrite, query, turns, confidence_min_ppm)
    if resolution.outcome == "resolved":
        return resolution, (*shapes, "adopted")
    return None, (*shapes, "bad_rewrite") if resolution.outcome == "rejected" else shapes


# The steps of a level.


def steps_of(name: str) -> tuple[Step, ...]:
    """Return the steps that embed the query, search the level by vector and by words, and order the hits."""
    level = OF[name]
    known = tuple(OF[it].query for it in NAMES[: NAMES.index(name)])
    before = (OF[level.before].vector, OF[level.before].texts) if level.before is not None else ()
    config = (("level", name),)
    lists = (level.by_vector, level.by_words)

    def no_vector(facts: Facts, reason: str) -> Mapping[str, object]:
        return level.vector(None) | level.texts(texts_at(facts, name))

    return (
        Step(f"embed_{name}", requires=(REQUEST, RESOLUTION, ASKED_ON, *known, *before),
             produces=(level.vector, level.texts), otherwise=level.vector(None) | level.texts(()),
             config=config,
             **asks(Embed, ask_vector if level.before else ask_first_vector, take_vector,
                    retry(2, then=Degrade("words_only", no_vector)))),
        Step(f"{name}_by_vector", requires=(REQUEST, level.vector), produces=(level.by_vector,),
             otherwise=level.by_vector(()), config=config,
             **asks(Read, ask_by_vector, learn_rows(level.by_vector),
                    retry(2, then=degrade("words_only", level.by_vector(()))))),
        Step(f"{name}_by_words", each=level.texts, requires=(REQUEST,), produces=(level.by_words,),
             otherwise=level.by_words(()), config=config,
             **asks(Read, ask_by_words, learn_unit_rows(level.by_words),
                    retry(3, then=degrade("failed", level.by_words.unit(None))))),
        Step(f"rank_{name}", requires=(REQUEST, RESOLUTION, *known, *lists), produces=(level.order,),
             otherwise=level.order(None), config=config,
             **asks(AskModel, ask_order, take_order, retry(2, then=degrade("by_score", level.order(None))))),
    )  # fmt: skip


def verdict_of(name: str) -> Step:
    """Return the step that asks whether the results up to this level are enough."""
    names = NAMES[: NAMES.index(name) + 1]
    lists = tuple(fact for it in names for fact in (OF[it].by_vector, OF[it].by_words, OF[it].order))
    known, level = tuple(OF[it].query for it in names[:-1]), OF[name]
    go_on = level.stop("") | level.query(None)
    return Step(
        f"enough_{name}", requires=(REQUEST, RESOLUTION, *known, *lists), produces=(level.stop, level.query),
        otherwise=go_on, skips_to=("missed",), config=(("level", name),),
        **asks(AskModel, ask_verdict, take_verdict, retry(2, then=degrade("go_on", go_on))),
    )  # fmt: skip


# The descent through the levels.


Need = Literal["retrieve", "not_needed", "nothing_asked"]
NEED: Final = Fact("need", str)
OFFERED: Final = Fact("offered", Resolution | None)  # the rewrite in the answer of `route`
Missed = tuple[str, str]  # a level, and a text of its search by words
MISSED: Final = Fact("missed", tuple[Missed, ...])  # failed searches to repeat, if nothing was found
AGAIN: Final = Fact("again", tuple[tuple[Row, ...], ...], tuple(LEVELS.values()))  # results of the repetition


# route: ask whether the query needs the archive at all.


def ask_route(facts: Facts, view: View) -> AskModel | None:
    request = facts[REQUEST]
    if not request.route_intention or not asked_levels(request, view.scope):
        return None
    return AskModel("decide_need", ask_need(request.query, shown_turns(request.turns)))


def take_route(facts: Facts, answer: ModelReplied | None, view: View) -> Learned:
    request = facts[REQUEST]
    if answer is None:
        return learn_need("retrieve" if asked_levels(request, view.scope) else "nothing_asked", None, ())
    decision, turns = parse_decision(answer.text), shown_turns(request.turns)
    if decision.is_enough:
        return learn_need("not_needed", None, ())
    floor_ppm = view.config.resolve_confidence_min_ppm
    return learn_need("retrieve", *adopt(decision, request.query, turns, floor_ppm))


def learn_need(need: Need, offered: Resolution | None, shapes: tuple[str, ...]) -> Learned:
    return Learned(NEED(need) | OFFERED(offered), None if need == "retrieve" else "missed", shapes=shapes)


# resolve: as in recall, unless the answer of `route` has a rewrite.


def ask_resolution(facts: Facts, view: View) -> AskModel | None:
    return recall.ask_resolution(facts, view) if facts[OFFERED] is None else None


def take_resolution(facts: Facts, answer: ModelReplied | None, view: View) -> Learned:
    offered = facts[OFFERED]
    return recall.take_resolution(facts, answer, view) if offered is None else Learned(RESOLUTION(offered))


# missed, again: repeat failed searches before the reply says that nothing was found.


def missed_lists(facts: Facts) -> tuple[Missed, ...]:
    # Only searches by words count: a level without its vector search was still searched.
    failed = tuple(
        (name, text) for name in NAMES if has_failed(facts, name) for text in facts[OF[name].texts]
    )
    is_empty = not any(found_at(facts, OF[name]) for name in NAMES)
    return failed if is_empty else ()


def ask_again(facts: Facts, view: View) -> Read:
    return by_words(facts, view, *facts.unit(MISSED))


# build: the reply.


def take_hits(facts: Facts, answer: None, view: View) -> Learned:
    request, found = facts[REQUEST], best_found(facts)
    hits = tuple(map(hit_of, found))
    context, left_out_count = context_of(hits, view.config.context_bytes_max)
    tiers = view.tiers
    entities = bodies_of([it.row for it in found], Entity)
    tiers.access = tiers.access.record_recall(entities, view.now_ms, entity_ids(tiers.core))
    if facts[NEED] != "nothing_asked":
        tiers.session = record_recall(tiers.session, request.query)
    asked = asked_levels(request, view.scope)
    tried = tuple(tried_of(facts, asked))
    value = Retrieved(
        query_at(facts, tried[-1].level if tried else None), facts[RESOLUTION], hits, asked,
        tried, reason_of(facts, asked), request.rank, context, left_out_count,
        skipped_levels(request, view.scope),
    )  # fmt: skip
    return Learned(OUTCOME(Done(value)), shapes=(value.stop_reason,))


def found_in(facts: Facts, name: str) -> tuple[ScoredRow, ...]:
    """Return the final result of a level; that of the repeated search, if there was one."""
    missed, given = facts[MISSED], facts[AGAIN]
    # Empty if any level found something: then MISSED is empty.
    again = [rows for (level, _), rows in zip(missed, given, strict=True) if level == name]
    request = facts[REQUEST]
    by_words = join_lists(again, least_score(request))
    return union(name, (), by_words, request.limit_per_level) if again else found_at(facts, OF[name])


def best_found(facts: Facts) -> list[ScoredRow]:
    """Return the hits, ordered by score, level and id; if a model ordered them, level by level."""
    request, found = facts[REQUEST], [it for name in NAMES for it in found_in(facts, name)]
    if request.rank == "vector":
        found.sort(key=lambda it: (-it.score_ppm, NAMES.index(it.level), it.row.address.id))
    return found[: request.total_limit]


def reached_levels(facts: Facts, asked: tuple[str, ...]) -> tuple[str, ...]:
    """Return the levels that were searched, in order."""
    # Otherwise the steps of all levels were skipped.
    if facts[NEED] != "retrieve":
        return ()
    tried = asked[: facts[REQUEST].levels_max]
    # The first level with a reason to stop is the last one that was searched.
    end = next((at for at, name in enumerate(tried) if facts.get(OF[name].stop)), len(tried))
    return tried[: end + 1]


def tried_of(facts: Facts, asked: tuple[str, ...]) -> Iterable[LevelTried]:
    for name in reached_levels(facts, asked):
        is_failed = not facts[MISSED] and has_failed(facts, name)
        yield LevelTried(name, query_at(facts, OF[name].before), len(found_in(facts, name)), is_failed)


def reason_of(facts: Facts, asked: tuple[str, ...]) -> StopReason:
    """Return why the search ended: the reason of `route` or of the last level reached, else `exhausted`."""
    levels = reached_levels(facts, asked)
    stop = facts.get(OF[levels[-1]].stop) if levels else facts[NEED]
    return next((reason for reason in get_args(StopReason) if reason == stop), "exhausted")


def hit_of(found: ScoredRow) -> LevelHit:
    body, (name, text) = found.row.body, name_and_text(found.row)
    # A fact has a version of its own; for other rows it is the row version.
    version = body.version if isinstance(body, Entity) else found.row.version
    row_id = found.row.address.id
    return LevelHit(found.level, row_id, version, found.score_ppm, found.vector_ppm, name, text)


def context_of(hits: tuple[LevelHit, ...], bytes_max: int) -> tuple[str, int]:
    """Return the texts of the first hits that fit into `bytes_max`, and the number of hits left out."""
    lines: list[tuple[str, str]] = []
    room_bytes = bytes_max
    for hit in hits:
        # The first text is cut instead of left out, so the context of any hits is not empty.
        text = hit.text if lines else cut(hit.text, bytes_max)
        if size(text) > room_bytes:
            break
        room_bytes -= size(text)
        lines.append((hit.level, line_of(hit, text)))
    return "".join(section(name, lines) for name in NAMES), len(hits) - len(lines)


def line_of(hit: LevelHit, text: str) -> str:
    name = f' name="{escape(hit.name)}"' if hit.name else ""
    return f'<hit id="{escape(hit.id)}" score="{hit.score_ppm}"{name}>{escape(text)}</hit>\n'


def section(name: str, lines: list[tuple[str, str]]) -> str:
    inside = "".join(line for level, line in lines if level == name)
    return f"<{name}>\n{inside}</{name}>\n" if inside else ""


LEVEL_STEPS: Final = tuple(
    step for name in NAMES for step in (*steps_of(name), *((verdict_of(name),) if name != NAMES[-1] else ()))
)
LEVEL_FACTS: Final = tuple(
    fact for level in OF.values() for fact in (level.texts, level.by_vector, level.by_words, level.order)
)
STOPS: Final = tuple(fact for name in NAMES[:-1] for fact in (OF[name].stop, OF[name].query))

RETRIEVE: Final = Workflow(
    "retrieve",
    given=(REQUEST,),
    steps=(
        DATE,
        Step("route", requires=(REQUEST,), produces=(NEED, OFFERED), skips_to=("missed",),
             **asks(AskModel, ask_route, take_route,
                    retry(2, then=degrade("retrieve", NEED("retrieve") | OFFERED(None))))),
        Step("resolve", requires=(REQUEST, OFFERED), produces=(RESOLUTION,),
             **asks(AskModel, ask_resolution, take_resolution,
                    retry(2, then=Degrade("original", recall.original)))),
        *LEVEL_STEPS,
        Step("missed", requires=(REQUEST, *LEVEL_FACTS), produces=(MISSED,),
             take=lambda facts, answer, view: Learned(MISSED(missed_lists(facts)))),
        Step("again", each=MISSED, requires=(REQUEST,), produces=(AGAIN,),
             **asks(Read, ask_again, learn_unit_rows(AGAIN), retry(3))),
        Step("build", requires=(REQUEST, NEED, RESOLUTION, MISSED, AGAIN, *LEVEL_FACTS, *STOPS),
             produces=(OUTCOME,), take=take_hits),
    ),
    laws=(
        *(texts_law(name) for name in NAMES),
        *(order_law(name) for name in NAMES),
        Law("lists that failed", (MISSED,), lambda facts, scope: facts[MISSED] == missed_lists(facts)),
    ),
)  # fmt: skip
