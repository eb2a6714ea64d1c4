"""Descending: how one level of the archive is searched, and whether what was found so far is enough.

The steps of a level are the same for all; each is told by its options which level it is of.

Law 1. Only levels that were asked for are searched. Law 2. The rows found are ordered, each once, and cut; a
model that orders them adds none. Law 3. Scores decide before a model is asked.
"""

from collections.abc import Mapping
from typing import Final

from umi_core.conditions import conditions_of, reaches
from umi_core.data import Data
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import Degrade, Law, Learned, Step, Taken, Unusable, asks, degrade, retry
from umi_core.language.decisions import Decision, parse_decision
from umi_core.language.prompts import FOUND_BYTES_MAX, FoundText, ask_enough, ask_rank
from umi_core.language.ranks import alias_of, parse_ranks
from umi_core.language.replies import UnusableReply
from umi_core.language.rewriting import judge_rewrite, shown_turns
from umi_core.limits import RANK_CANDIDATE_COUNT_MAX
from umi_core.messages.answers import Embedded, ModelReplied, ReadDone
from umi_core.messages.effects import AskModel, ByVector, ByWords, Embed, Read
from umi_core.messages.requests import Descent
from umi_core.messages.results import Resolution
from umi_core.policies.ranking import join_lists
from umi_core.policies.similarity import lacking_vectors, sound_vectors
from umi_core.policies.sufficiency import LIST_FACTOR, ScoredRow, is_enough, union
from umi_core.rows import Category, Entity, Reflection, Resource, Row
from umi_core.text import cut
from umi_core.values import LEVELS, Scope, Turn
from umi_core.workflows.dating import ASKED_ON, list_texts

REQUEST: Final = Fact("request", Descent)
RESOLUTION: Final = Fact("resolution", Resolution | None)  # None if nothing is looked up

Vector = tuple[int, ...]


class LevelFacts(Data):
    """The facts about one level of the archive; `before`: the level above it."""

    name: str
    before: str | None
    vector: Fact[Vector | None]
    texts: Fact[tuple[str, ...]]  # what its words are searched by
    by_vector: Fact[tuple[Row, ...]]
    by_words: Fact[tuple[tuple[Row, ...] | None, ...]]  # for each text; None: it failed
    order: Fact[tuple[str, ...] | None]  # ids, as a model put them
    stop: Fact[str]  # why nothing more is looked up; empty to go on
    query: Fact[str | None]  # other words for the levels that follow


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
    """Return the levels to search, in their own order; none if no hit is wanted.

    Levels of which the filter can match no row are left out.
    """
    is_wanted = request.limit_per_level > 0 and request.total_limit > 0
    names = tuple(name for name in NAMES if name in request.levels) if is_wanted else ()
    return tuple(name for name in names if reaches(request.where, LEVELS[name], scope))


def skipped_levels(request: Descent, scope: Scope) -> tuple[str, ...]:
    """Return the levels of which the filter can match no row."""
    asked = (name for name in NAMES if name in request.levels)
    return tuple(name for name in asked if not reaches(request.where, LEVELS[name], scope))


def tried_levels(request: Descent, scope: Scope) -> tuple[str, ...]:
    return asked_levels(request, scope)[: request.levels_max]


def level_of(view: View) -> LevelFacts:
    return OF[str(view.options["level"])]


def is_tried(facts: Facts, view: View) -> bool:
    return level_of(view).name in tried_levels(facts[REQUEST], view.scope)


def query_at(facts: Facts, name: str | None) -> str:
    """Return the query behind this level: the last words that were found for it."""
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
    """Ask for a vector only if the words differ from those of the level before."""
    before = level_of(view).before
    assert before is not None  # the first level always asks
    return Embed((query_at(facts, before),)) if facts[OF[before].query] is not None else None


def texts_at(facts: Facts, name: str) -> tuple[str, ...]:
    """Return the texts by which the words of this level are searched."""
    return list_texts(query_at(facts, OF[name].before), facts[ASKED_ON])


def texts_law(name: str) -> Law:
    """Return the law that the texts of a level are those of its query, or none if it was skipped."""
    level = OF[name]
    return Law(
        f"the query of {name} with its dates", (ASKED_ON, level.texts),
        lambda facts, scope: facts[level.texts] in ((), texts_at(facts, name)),
    )  # fmt: skip


def take_vector(facts: Facts, answer: Embedded | None, view: View) -> Taken:
    level = level_of(view)
    if answer is None:
        assert level.before is not None
        before = OF[level.before]
        return Learned(level.vector(facts[before.vector]) | level.texts(facts[before.texts]))
    vectors = sound_vectors(answer.vectors, 1, view.config.embedding_dims)
    if vectors is None:
        return Unusable("wrong number of vectors")
    lacking = lacking_vectors("words_only", answer.vectors, view.config.embedding_dims)
    texts = level.texts(texts_at(facts, level.name))
    return Learned(level.vector(vectors[0]) | texts, degraded=lacking)


# A list by vector, and one by words for each text.


def list_limit(request: Descent) -> int:
    wanted = LIST_FACTOR * request.limit_per_level
    # A model that orders gets the best 50, however few hits are wanted of the level.
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


def take_by_vector(facts: Facts, answer: ReadDone | None, view: View) -> Learned:
    return Learned(level_of(view).by_vector(answer.rows if answer is not None else ()))


def by_words(facts: Facts, view: View, name: str, text: str) -> Read:
    request = facts[REQUEST]
    least_ppm, where = least_score(request), conditions_of(request.where)
    return Read(ByWords(view.scope, text, where, list_limit(request), least_ppm, LEVELS[name]))


def ask_by_words(facts: Facts, view: View) -> Read | None:
    level = level_of(view)
    return by_words(facts, view, level.name, facts.unit(level.texts)) if is_tried(facts, view) else None


def take_by_words(facts: Facts, answer: ReadDone | None, view: View) -> Learned:
    return Learned(level_of(view).by_words.unit(answer.rows if answer is not None else ()))


def has_failed(facts: Facts, name: str) -> bool:
    """Check whether a list by words is missing at this level."""
    return None in facts[OF[name].by_words]


# rank.


def candidates(facts: Facts, level: LevelFacts) -> tuple[ScoredRow, ...]:
    """Return the rows that a model may put in order, or the result itself if no model is asked."""
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


def take_order(facts: Facts, answer: ModelReplied | None, view: View) -> Taken:
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
    """Return the law that the order of a model consists of rows that this level found, each once."""
    level = OF[name]
    return Law(
        f"an order of {name} that were found", (REQUEST, level.by_vector, level.order),
        lambda facts, scope: is_order(facts, level),
    )  # fmt: skip


def is_order(facts: Facts, level: LevelFacts) -> bool:
    ids, shown = facts[level.order], {it.row.address.id: None for it in candidates(facts, level)}
    return ids is None or ids == tuple(key for key in dict.fromkeys(ids) if key in shown)


def found_until(facts: Facts, name: str) -> tuple[ScoredRow, ...]:
    """Return the results of this level and of those before it."""
    names = NAMES[: NAMES.index(name) + 1]
    return tuple(it for each in names for it in found_at(facts, OF[each]))


def text_of(found: ScoredRow) -> str:
    """Return the text of a row as a model or a reader is shown it."""
    name, text = name_and_text(found.row)
    return f"{name}: {text}" if name else text


def as_found(found: ScoredRow) -> FoundText:
    """Return a found row with its times: a summary is told when it was written."""
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
    assert isinstance(body, Resource)  # a search gives rows of its kind, and whole ones
    return body.uri or "", body.shown


# enough.


def stop_reason(facts: Facts, name: str, scope: Scope) -> str | None:
    """Return why the search ends behind this level, if no model is needed for that; else None."""
    request, found = facts[REQUEST], found_until(facts, name)
    # A caller that takes two hits in all has enough with two.
    wanted = min(request.min_results, request.total_limit)
    by_score = request.enough in ("score", "score_then_model")
    tried = tried_levels(request, scope)
    # Nothing follows the last level, so there is nothing to stop; the reply says `exhausted` then.
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
    # New words may come from what was found so far, not only from the conversation.
    turns = (*shown_turns(facts[REQUEST].turns), *map(as_turn, found_until(facts, level.name)))
    query = query_at(facts, level.before)
    rewrite, shapes = adopt(decision, query, turns, view.config.resolve_confidence_min_ppm)
    return learn_stop(level, "", rewrite.query if rewrite is not None else None, shapes)


def as_turn(found: ScoredRow) -> Turn:
    """Return a found row as a turn: from now on both sides of the conversation know it."""
    return Turn("tool", cut(text_of(found), FOUND_BYTES_MAX))


def learn_stop(level: LevelFacts, reason: str, query: str | None, shapes: tuple[str, ...]) -> Learned:
    return Learned(level.stop(reason) | level.query(query), "missed" if reason else None, shapes=shapes)


def adopt(
    decision: Decision, query: str, turns: tuple[Turn, ...], confidence_min_ppm: int
) -> tuple[Resolution | None, tuple[str, ...]]:
    """Return the rewrite of a decision, if it passes the gate, and the marks of the reply."""
    shapes = (decision.why,) if decision.why is not None else ()
    if decision.rewrite is None or not turns:
        return None, shapes
    resolution = judge_rewrite(decision.rewrite, query, turns, confidence_min_ppm)
    if resolution.outcome == "resolved":
        return resolution, (*shapes, "adopted")
    return None, (*shapes, "bad_rewrite") if resolution.outcome == "rejected" else shapes


# The steps of a level.


def steps_of(name: str) -> tuple[Step, ...]:
    """Return the steps that embed the query, read the level by vector and by words, and order it."""
    level = OF[name]
    known = tuple(OF[it].query for it in NAMES[: NAMES.index(name)])
    before = (OF[level.before].vector, OF[level.before].texts) if level.before is not None else ()
    here, model = (("level", name),), (("level", name), ("profile", "default"))
    lists = (level.by_vector, level.by_words)

    def no_vector(facts: Facts, reason: str) -> Mapping[str, object]:
        return level.vector(None) | level.texts(texts_at(facts, name))

    return (
        Step(f"embed_{name}", requires=(REQUEST, RESOLUTION, ASKED_ON, *known, *before),
             produces=(level.vector, level.texts), otherwise=level.vector(None) | level.texts(()),
             config=model,
             **asks(Embed, ask_vector if level.before else ask_first_vector, take_vector,
                    retry(2, then=Degrade("words_only", no_vector)))),
        Step(f"{name}_by_vector", requires=(REQUEST, level.vector), produces=(level.by_vector,),
             otherwise=level.by_vector(()), config=here,
             **asks(Read, ask_by_vector, take_by_vector,
                    retry(2, then=degrade("words_only", level.by_vector(()))))),
        Step(f"{name}_by_words", each=level.texts, requires=(REQUEST,), produces=(level.by_words,),
             otherwise=level.by_words(()), config=here,
             **asks(Read, ask_by_words, take_by_words,
                    retry(3, then=degrade("failed", level.by_words.unit(None))))),
        Step(f"rank_{name}", requires=(REQUEST, RESOLUTION, *known, *lists), produces=(level.order,),
             otherwise=level.order(None), config=model,
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
        otherwise=go_on, skips_to=("missed",), config=(("level", name), ("profile", "default")),
        **asks(AskModel, ask_verdict, take_verdict, retry(2, then=degrade("go_on", go_on))),
    )  # fmt: skip
