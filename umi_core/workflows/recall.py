"""recall: the facts that answer a query, searched by vector and by words, in one list per variant.

Law 1. A model is asked only if the query refers to the conversation, or if a deep search is requested.
Law 2. Storage filters before it limits; each list may have twice as many rows as the reply, or eight times.
Law 3. The relevance of a row is the best that any list gave it; ties go to the smaller id. Law 4. If an
optional step fails, the reply names its substitute: the original query, a single variant, words only, hits
without context. If the search by words fails, recall fails; it never replies with an empty result instead.
Law 5. Facts shown along with a hit match the filter, too. Law 6. The dates of a query only add hits and never
remove one. Law 7. Archives of other agents are searched by the same steps, between two checks of the owners'
grants, so each hit is as it was while the reader was allowed to read it:

    owner    allows it                   withdraws it        remembers a secret
    reader              grants: allowed                                          searches   regrants: refused
"""

from collections.abc import Mapping
from itertools import chain
from typing import Final

from umi_core.conditions import Condition, Where, admits, conditions_of, reaches
from umi_core.engine.facts import Fact, Facts, View
from umi_core.engine.workflow import (
    OUTCOME,
    Degrade,
    Law,
    Learned,
    Rejection,
    Step,
    TakeResult,
    Unusable,
    Workflow,
    asks,
    degrade,
    learn_unit_rows,
    learn_vectors,
    retry,
)
from umi_core.errors import Error
from umi_core.ids import entity_id
from umi_core.language import replies
from umi_core.language.dates import day_of, list_dated
from umi_core.language.persons import is_first_person
from umi_core.language.prompts import ask_expand, ask_rewrite
from umi_core.language.rewriting import (
    is_deep,
    judge_rewrite,
    parse_variants,
    read_query,
    resolve_without_model,
    shown_turns,
)
from umi_core.language.terms import list_spellings, split_query, split_terms
from umi_core.limits import QUERY_BYTES_MAX
from umi_core.messages.answers import Embedded, ModelReplied, ReadDone
from umi_core.messages.effects import AskModel, ByFilter, ByVector, ByWords, Done, Embed, Read
from umi_core.messages.requests import Recall
from umi_core.messages.results import Hit, Recalled, Resolution
from umi_core.policies.ranking import Ranked, current, fuse_lists, join_lists, lower_others, unite_lists
from umi_core.rows import Ended, Entity, Row, bodies_of
from umi_core.tiers.rewrites import rewrite_key
from umi_core.tiers.session import record_recall
from umi_core.values import Scope
from umi_core.workflows.commits import entity_ids
from umi_core.workflows.sharing import ask_grants, find_unshared, list_owners

# The day of a query, and the texts for the search by words: the query, and the query with dates.
#
#     What did Ann do last Friday?      What did Ann do last Friday (2026-11-20)?
#
# A fact stated on that Friday contains `today (2026-11-20)`, so only the date finds it. Rows found without
# the date stay hits; the date adds rows and changes the order. Vectors are made of the query without dates,
# because embedders represent numbers poorly.


ASKED_ON: Final = Fact("asked_on", int)  # the day of the request, in days since 1970


def take_day(facts: Facts, answer: None, view: View) -> Learned:
    return Learned(ASKED_ON(day_of(view.now_ms, view.config)))


# The first step, so that `yesterday` counts from the day of the request even if a later step takes hours.
DATE: Final = Step("date", produces=(ASKED_ON,), take=take_day)


def list_texts(query: str, day: int) -> tuple[str, ...]:
    """Return the texts for the search by words: the query, and it with its dates, each text once.

    If it has other spellings, they stand behind the first text: what only that one finds comes last.
    """
    # A query that has its dates already, such as `yesterday (2026-11-28)`, gives one text.
    first = list_spellings(query, QUERY_BYTES_MAX) or (query,)
    return tuple(dict.fromkeys((*first, *list_dated(query, day, QUERY_BYTES_MAX))))


# The operation.


REQUEST: Final = Fact("request", Recall)
RESOLUTION: Final = Fact("resolution", Resolution)
VARIANTS: Final = Fact("variants", tuple[str, ...])
SearchedText = tuple[int, str]  # the index of a variant, and a text of it for the search by words
TEXTS: Final = Fact("texts", tuple[SearchedText, ...])  # all texts of all variants, in order
VECTORS: Final = Fact("vectors", tuple[tuple[int, ...] | None, ...])  # one for each variant, in order
ARCHIVES: Final = Fact("archives", tuple[Scope, ...])  # the archives to search
NearSearch = tuple[Scope, tuple[int, ...] | None]
WordSearch = tuple[Scope, str]
NEAR: Final = Fact("near", tuple[NearSearch, ...])  # each archive with each vector
WORDED: Final = Fact("worded", tuple[WordSearch, ...])  # each archive with each text
VECTOR_LISTS: Final = Fact("vector_lists", tuple[tuple[Row, ...], ...], ("entity",))  # the best first
WORD_LISTS: Final = Fact("word_lists", tuple[tuple[Row, ...], ...], ("entity",))
CONTEXT: Final = Fact("context", tuple[tuple[Row, ...], ...], ("entity",))  # facts that follow the hits
REPLACED: Final = Fact("replaced", tuple[tuple[Row, ...], ...], ("ended",))  # facts ended by the hits


# resolve: replace references such as "he" or "there" in the query.


def known_resolution(facts: Facts, view: View) -> Resolution | None:
    """Return the resolution if no model is needed: nothing to resolve, or a cached rewrite; else None."""
    request, turns = facts[REQUEST], shown_turns(facts[REQUEST].turns)
    is_wanted = request.resolve and view.config.resolve_queries
    found = resolve_without_model(request.query, turns, is_wanted, request.force)
    if found is None and view.config.resolve_cache:
        found = view.tiers.rewrites.find(rewrite_key(view.scope, request.query, turns), *alive_at(view))
    return found


def alive_at(view: View) -> tuple[int, int]:
    """Return the time, and the lifetime of a cached rewrite, both in milliseconds."""
    return view.now_ms, view.config.resolve_cache_ms


def ask_resolution(facts: Facts, view: View) -> AskModel | None:
    if known_resolution(facts, view) is not None:
        return None
    return AskModel("rewrite", ask_rewrite(facts[REQUEST].query, shown_turns(facts[REQUEST].turns)))


def take_resolution(facts: Facts, answer: ModelReplied | None, view: View) -> Learned:
    request, turns = facts[REQUEST], shown_turns(facts[REQUEST].turns)
    key, tiers = rewrite_key(view.scope, request.query, turns), view.tiers
    if answer is None:
        known = known_resolution(facts, view)
        assert known is not None  # else the model would have been asked
        tiers.rewrites = tiers.rewrites.mark_used(key, *alive_at(view))
        return Learned(RESOLUTION(known))
    resolution = judge_rewrite(answer.text, request.query, turns, view.config.resolve_confidence_min_ppm)
    if view.config.resolve_cache:
        tiers.rewrites = tiers.rewrites.put(key, view.now_ms, resolution, view.config.resolve_cache_ms)
    # `unresolved` is not degraded: the rewrite has references left, but the query is no worse than before.
    refused = resolution.outcome == "rejected" and resolution.reason != "unresolved"
    degraded = (("original", resolution.reason, 1),) if refused else ()
    return Learned(RESOLUTION(resolution), None, degraded, (resolution.reason or resolution.outcome,))


def original(facts: Facts, reason: str = "") -> Mapping[str, object]:
    query, turns = facts[REQUEST].query, shown_turns(facts[REQUEST].turns)
    terms = tuple(dict.fromkeys(read_query(query, turns).terms))
    return RESOLUTION(Resolution("failed", query, terms, reason, turn_count=len(turns)))


# expand: ask for variants of the query in other words.


def ask_variants(facts: Facts, view: View) -> AskModel | None:
    query = facts[RESOLUTION].query
    return AskModel("expand", ask_expand(query)) if is_deep(query, facts[REQUEST].deep) else None


def take_variants(facts: Facts, answer: ModelReplied | None, view: View) -> TakeResult:
    if answer is None:
        return Learned(single(facts))
    variants = parse_variants(answer.text, facts[RESOLUTION].query)
    if isinstance(variants, replies.UnusableReply):
        return Unusable(variants.reason)
    return Learned(with_texts(variants.texts, facts), shapes=variants.dropped)


def single(facts: Facts, reason: str = "") -> Mapping[str, object]:
    return with_texts((facts[RESOLUTION].query,), facts)


def with_texts(variants: tuple[str, ...], facts: Facts) -> Mapping[str, object]:
    return VARIANTS(variants) | TEXTS(texts_of(variants, facts[ASKED_ON]))


def texts_of(variants: tuple[str, ...], day: int) -> tuple[SearchedText, ...]:
    return tuple((at, text) for at, variant in enumerate(variants) for text in list_texts(variant, day))


# embed, by_vector, by_words: in each archive, one search by vector per variant and one by words per text.


def limit_of(facts: Facts, view: View) -> int:
    limit = facts[REQUEST].limit
    return view.config.recall_limit_default if limit is None else limit


def count_candidates(facts: Facts, view: View) -> int:
    """Return the limit of each list."""
    # If the query is in the first person, facts about other people with the same words may rank above those
    # of the speaker. `lower_others` can only lift the speaker's facts if the lists contain them.
    return (8 if is_of_speaker(facts) else 2) * limit_of(facts, view)


def is_of_speaker(facts: Facts) -> bool:
    return facts[REQUEST].speaker is not None and is_first_person(facts[RESOLUTION].query)


def where_of(facts: Facts) -> Where:
    """Return the filter of the caller; the search itself is limited to one scope and kind."""
    request = facts[REQUEST]
    start_ms, end_ms = request.time_range or (None, None)
    asked = ("type", "in", request.types), ("time_ms", "gte", start_ms), ("time_ms", "lte", end_ms)
    given = (Condition(*each) for each in asked if each[2] is not None)
    return (*given, *conditions_of(request.where))


def list_archives(request: Recall, scope: Scope) -> tuple[Scope, ...]:
    """Return the archives where the filter can match a fact, the agent's own archive first."""
    every = (scope, *list_owners(request, scope))
    return tuple(it for it in every if reaches(request.where, "entity", it))


def score_min(facts: Facts, view: View) -> int:
    given = facts[REQUEST].min_score_ppm
    # At least 1: a score of 0 means no relevance, so with a minimum of 0 every row would be a hit.
    return max(1, view.config.recall_min_score_ppm if given is None else given)


def ask_vectors(facts: Facts, view: View) -> Embed | None:
    return Embed(facts[VARIANTS]) if list_archives(facts[REQUEST], view.scope) else None


def take_vectors(facts: Facts, answer: Embedded | None, view: View) -> TakeResult:
    return learn_vectors(answer, len(facts[VARIANTS]), "words_only", VECTORS, view)


def no_vectors(facts: Facts, reason: str = "") -> Mapping[str, object]:
    return VECTORS((None,) * len(facts[VARIANTS]))


def ask_shared(facts: Facts, view: View) -> Read | None:
    return ask_grants(list_owners(facts[REQUEST], view.scope))


def take_grants(facts: Facts, answer: ReadDone, view: View) -> TakeResult:
    error = find_refusal(facts, answer, view)
    archives = list_archives(facts[REQUEST], view.scope)
    searches = NEAR(list_near(archives, facts)) | WORDED(list_worded(archives, facts))
    return Learned(ARCHIVES(archives) | searches) if error is None else Rejection(error)


def find_refusal(facts: Facts, answer: ReadDone, view: View) -> Error | None:
    return find_unshared(list_owners(facts[REQUEST], view.scope), answer.rows, view.scope.agent)


def list_near(archives: tuple[Scope, ...], facts: Facts) -> tuple[NearSearch, ...]:
    return tuple((archive, vector) for archive in archives for vector in facts[VECTORS])


def list_worded(archives: tuple[Scope, ...], facts: Facts) -> tuple[WordSearch, ...]:
    return tuple((archive, text) for archive in archives for _, text in facts[TEXTS])


def are_searches(facts: Facts, scope: Scope) -> bool:
    archives = list_archives(facts[REQUEST], scope)
    found = facts[ARCHIVES], facts[NEAR], facts[WORDED]
    return found == (archives, list_near(archives, facts), list_worded(archives, facts))


def ask_by_vector(facts: Facts, view: View) -> Read | None:
    archive, vector = facts.unit(NEAR)
    if vector is None:
        return None
    limit = count_candidates(facts, view)
    return Read(ByVector(archive, vector, where_of(facts), limit, score_min(facts, view)))


def ask_by_words(facts: Facts, view: View) -> Read:
    (archive, text), limit = facts.unit(WORDED), count_candidates(facts, view)
    return Read(ByWords(archive, text, where_of(facts), limit, score_min(facts, view)))


# context and replaced: read the facts that follow the hits, and the facts that the hits have ended.


def hit_ids(facts: Facts, view: View) -> tuple[str, ...]:
    """Return the ids of the hits in the archive of this unit."""
    archive = facts.unit(ARCHIVES)
    return tuple(it.row.address.id for it in ranking(facts, view) if it.row.address.scope == archive)


def ask_context(facts: Facts, view: View) -> Read | None:
    ids = hit_ids(facts, view)
    # A hit is not context of another hit: the reply shows it anyway.
    where = (Condition("follows", "in", ids), Condition("id", "not_in", ids), *where_of(facts))
    return Read(ByFilter(facts.unit(ARCHIVES), ("entity",), where)) if ids else None


def find_followers(lists: tuple[tuple[Row, ...], ...]) -> Mapping[str, Entity]:
    """Return the follower of each fact, by the id of the fact; of several the one that was stored first."""
    found: dict[str, Entity] = {}
    # Facts of two concurrent remembers may follow the same fact.
    for it in sorted(bodies_of(chain(*lists), Entity), key=lambda it: (it.created_ms, it.id)):
        found.setdefault(it.follows or "", it)
    return found


def ask_replaced(facts: Facts, view: View) -> Read | None:
    ids = hit_ids(facts, view)
    where = (Condition("by", "in", ids),)
    return Read(ByFilter(facts.unit(ARCHIVES), ("ended",), where)) if ids else None


def list_replaced(
    lists: tuple[tuple[Row, ...], ...], where: Where
) -> Mapping[str, tuple[tuple[str, str], ...]]:
    """Return the facts that each fact has ended, by its id, in order of time; only those in the filter."""
    ended = [it for it in bodies_of(chain(*lists), Ended) if admits(where, it.fact)]
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    for it in sorted(ended, key=lambda it: (it.at_ms, it.id)):
        found[it.by] = (*found.get(it.by, ()), (it.id, it.fact.content))
    return found


# regrants: check that the owners still allow reading (Law 7).


def take_regrants(facts: Facts, answer: ReadDone, view: View) -> TakeResult:
    error = find_refusal(facts, answer, view)
    return Learned() if error is None else Rejection(error)


# rank: merge all lists.


def take_hits(facts: Facts, answer: None, view: View) -> Learned:
    ranked = ranking(facts, view)
    entities = bodies_of([it.row for it in ranked if it.row.address.scope == view.scope], Entity)
    tiers = view.tiers
    tiers.access = tiers.access.record_recall(entities, view.now_ms, entity_ids(tiers.core))
    if facts[ARCHIVES]:
        tiers.session = record_recall(tiers.session, facts[REQUEST].query)
    after, before = find_followers(facts[CONTEXT]), list_replaced(facts[REPLACED], where_of(facts))
    keys = [it.row.address.id for it in ranked]
    hits = tuple(
        hit_of(it, after.get(key), before.get(key, ()), view.scope)
        for it, key in zip(ranked, keys, strict=True)
    )
    return Learned(OUTCOME(Done(Recalled(hits, facts[RESOLUTION], facts[VARIANTS]))))


def ranking(facts: Facts, view: View) -> tuple[Ranked, ...]:
    vector_lists = pool_lists(facts[VECTOR_LISTS], len(facts[VARIANTS]))
    word_lists, limit = pool_lists(facts[WORD_LISTS], len(facts[TEXTS])), limit_of(facts, view)
    candidates = count_candidates(facts, view)
    lists = current((*vector_lists, *word_lists))
    texts = facts[TEXTS]
    worded = [*zip(texts, lists[len(vector_lists) :], strict=True)]
    by_words = [
        join_lists((rows for (of, _), rows in worded if of == at), score_min(facts, view))
        for at in range(len(vector_lists))
    ]
    pairs = zip(lists[: len(vector_lists)], by_words, strict=True)
    united = [unite_lists(*pair, candidates) for pair in pairs]
    if not is_of_speaker(facts):
        return fuse_lists(united, limit)
    speaker, asked = facts[REQUEST].speaker or "", facts[RESOLUTION].query
    return lower_others(
        fuse_lists(united, len(united) * candidates), lambda row: is_of_others(row, speaker, asked), limit
    )


def is_of_others(row: Row, speaker: str, query: str) -> bool:
    """Check whether a fact is about neither the speaker nor a name in the query; a note is about nothing."""
    fact = row.body
    if not isinstance(fact, Entity) or not fact.about or entity_id(row.address.scope, speaker) in fact.about:
        return False
    return set(split_query(query)).isdisjoint(split_terms(fact.names))


def pool_lists(lists: tuple[tuple[Row, ...], ...], count: int) -> list[tuple[Row, ...]]:
    """Return `count` lists, each with the rows that one text or vector found in all archives."""
    # Two archives and three texts give lists 0 to 2 of one archive and 3 to 5 of the other: join 0 and 3.
    return [tuple(row for rows in lists[at::count] for row in rows) for at in range(count)]


def hit_of(it: Ranked, after: Entity | None, replaced: tuple[tuple[str, str], ...], own: Scope) -> Hit:
    entity, archive = it.row.body, it.row.address.scope
    assert isinstance(entity, Entity)
    return Hit(
        entity.id, entity.version, entity.type, entity.name, entity.content, it.score_ppm, it.relevance_ppm,
        entity.time_ms, entity.contradicts, after.id if after else None, after.content if after else "",
        replaced, "" if archive == own else archive.agent,
    )  # fmt: skip


RANKED_FROM: Final = (ARCHIVES, VARIANTS, TEXTS, VECTOR_LISTS, WORD_LISTS)

RECALL = Workflow(
    "recall",
    given=(REQUEST,),
    steps=(
        DATE,
        Step("resolve", requires=(REQUEST,), produces=(RESOLUTION,),
             **asks(AskModel, ask_resolution, take_resolution, retry(2, then=Degrade("original", original)))),
        Step("expand", requires=(REQUEST, RESOLUTION, ASKED_ON), produces=(VARIANTS, TEXTS),
             **asks(AskModel, ask_variants, take_variants, retry(2, then=Degrade("single", single)))),
        Step("embed", requires=(REQUEST, VARIANTS), produces=(VECTORS,),
             **asks(Embed, ask_vectors, take_vectors, retry(2, then=Degrade("words_only", no_vectors)))),
        Step("grants", requires=(REQUEST, TEXTS, VECTORS), produces=(ARCHIVES, NEAR, WORDED),
             **asks(Read, ask_shared, take_grants, retry(3))),
        Step("by_vector", each=NEAR, requires=(REQUEST,), produces=(VECTOR_LISTS,),
             **asks(Read, ask_by_vector, learn_unit_rows(VECTOR_LISTS),
                    retry(2, then=degrade("words_only", VECTOR_LISTS.unit(()))))),
        Step("by_words", each=WORDED, requires=(REQUEST,), produces=(WORD_LISTS,),
             **asks(Read, ask_by_words, learn_unit_rows(WORD_LISTS), retry(3))),
        Step("context", each=ARCHIVES, requires=(REQUEST, *RANKED_FROM), produces=(CONTEXT,),
             **asks(Read, ask_context, learn_unit_rows(CONTEXT),
                    retry(2, then=degrade("none", CONTEXT.unit(()))))),
        Step("replaced", each=ARCHIVES, requires=(REQUEST, *RANKED_FROM), produces=(REPLACED,),
             **asks(Read, ask_replaced, learn_unit_rows(REPLACED),
                    retry(2, then=degrade("none", REPLACED.unit(()))))),
        Step("regrants", requires=(REQUEST,), **asks(Read, ask_shared, take_regrants, retry(3))),
        Step("rank", requires=(REQUEST, RESOLUTION, *RANKED_FROM, CONTEXT, REPLACED),
             produces=(OUTCOME,), take=take_hits),
    ),
    laws=(
        Law("a vector or none for each variant", (VARIANTS, VECTORS),
            lambda facts, scope: len(facts[VECTORS]) == len(facts[VARIANTS])),
        Law("each variant with its dates", (ASKED_ON, VARIANTS, TEXTS),
            lambda facts, scope: facts[TEXTS] == texts_of(facts[VARIANTS], facts[ASKED_ON])),
        Law("each archive with each vector and text", (TEXTS, VECTORS, ARCHIVES, NEAR, WORDED), are_searches),
    ),
)  # fmt: skip
