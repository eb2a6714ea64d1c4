"""recall: the entities that answer a query, by vector and by words, in one list per variant.

Law 1. No model is asked unless the query refers to something said, or a deep search is wanted. Law 2. Storage
filters before it cuts; the memory asks for twice the limit of each list. Law 3. A row's relevance is the best
that any list gave it; ties go to the smaller id. Law 4. What fails and is optional is named in the reply: the
original query, a single variant, words only. Without words the read failed: an error, never an empty result.
"""

from collections.abc import Mapping

from umi_core.conditions import Where
from umi_core.engine.workflow import Degrade, Learned, Step, Taken, Unusable, Workflow, degrade, retry
from umi_core.language import replies
from umi_core.language.prompts import ask_expand, ask_rewrite
from umi_core.language.pronouns import read
from umi_core.language.rewriting import detected, is_deep, judged, parse_variants, shown_turns
from umi_core.messages.answers import Answer, Embedded, ModelReplied, ReadDone
from umi_core.messages.effects import AskModel, ByVector, ByWords, Done, Embed, Read
from umi_core.messages.requests import Recall
from umi_core.messages.results import Hit, Recalled, Resolution
from umi_core.policies.ranking import Ranked, fused, merged
from umi_core.policies.similarity import sound_vectors
from umi_core.rows import Entity, Row
from umi_core.state import Facts, View
from umi_core.tiers.rewrites import rewrite_key
from umi_core.tiers.session import recalled
from umi_core.workflows.commits import entity_ids


def asked(facts: Facts) -> Recall:
    request = facts["request"]
    assert isinstance(request, Recall)
    return request


# resolve: what the query refers to.


def known_resolution(facts: Facts, view: View) -> Resolution | None:
    """What needs no model: nothing to resolve, or resolved before."""
    request, turns = asked(facts), shown_turns(asked(facts).turns)
    found = detected(request.query, turns, request.resolve)
    if found is None and view.config.resolve_cache:
        found = view.tiers.rewrites.find(rewrite_key(view.scope, request.query, turns), view.now_ms)
    return found


def ask_resolution(facts: Facts, view: View) -> AskModel | None:
    if known_resolution(facts, view) is not None:
        return None
    return AskModel("rewrite", ask_rewrite(asked(facts).query, shown_turns(asked(facts).turns)))


def take_resolution(facts: Facts, answer: Answer | None, view: View) -> Learned:
    request, turns = asked(facts), shown_turns(asked(facts).turns)
    key, tiers = rewrite_key(view.scope, request.query, turns), view.tiers
    if answer is None:
        resolution = known_resolution(facts, view)
        tiers.rewrites = tiers.rewrites.used(key, view.now_ms)
        return Learned({"resolution": resolution})
    assert isinstance(answer, ModelReplied)
    resolution = judged(answer.text, request.query, turns, view.config.resolve_confidence_min_ppm)
    if view.config.resolve_cache:
        tiers.rewrites = tiers.rewrites.put(key, view.now_ms, resolution)
    refused = resolution.outcome == "rejected" and resolution.reason != "unresolved"
    degraded = (("original", resolution.reason, 1),) if refused else ()
    return Learned({"resolution": resolution}, None, degraded, (resolution.reason or resolution.outcome,))


def original(facts: Facts, reason: str = "") -> Mapping[str, object]:
    query = asked(facts).query
    terms = tuple(dict.fromkeys(read(query).terms))
    return {"resolution": Resolution("failed", query, terms, reason)}


def resolution_of(facts: Facts) -> Resolution:
    resolution = facts["resolution"]
    assert isinstance(resolution, Resolution)
    return resolution


# expand: the same question in other words.


def ask_variants(facts: Facts, view: View) -> AskModel | None:
    query = resolution_of(facts).query
    return AskModel("expand", ask_expand(query)) if is_deep(query, asked(facts).deep) else None


def take_variants(facts: Facts, answer: Answer | None, view: View) -> Taken:
    if answer is None:
        return Learned(single(facts))
    assert isinstance(answer, ModelReplied)
    variants = parse_variants(answer.text, resolution_of(facts).query)
    if isinstance(variants, replies.Unusable):
        return Unusable(variants.reason)
    return Learned({"variants": variants.texts}, shapes=variants.dropped)


def single(facts: Facts, reason: str = "") -> Mapping[str, object]:
    return {"variants": (resolution_of(facts).query,)}


def variants_of(facts: Facts) -> tuple[str, ...]:
    variants = facts["variants"]
    assert isinstance(variants, tuple)
    return variants


# embed, by_vector, by_words: two lists per variant.


def limit_of(facts: Facts, view: View) -> int:
    limit = asked(facts).limit
    return view.config.recall_limit_default if limit is None else limit


def where_of(facts: Facts) -> Where:
    """The caller's filter, built in one place; scope, kind and currency are storage's."""
    request = asked(facts)
    start_ms, end_ms = request.time_range or (None, None)
    return Where(types=request.types, start_ms=start_ms, end_ms=end_ms)


def score_min(facts: Facts, view: View) -> int:
    given = asked(facts).min_score_ppm
    return max(1, view.config.recall_min_score_ppm if given is None else given)


def ask_vectors(facts: Facts, view: View) -> Embed:
    return Embed(variants_of(facts))


def take_vectors(facts: Facts, answer: Answer | None, view: View) -> Taken:
    assert isinstance(answer, Embedded)
    vectors = sound_vectors(answer.vectors, len(variants_of(facts)), view.config.embedding_dims)
    if vectors is None:
        return Unusable("wrong number of vectors")
    missing = vectors.count(None)
    return Learned({"vectors": vectors}, degraded=(("words_only", "unsound", missing),) if missing else ())


def no_vectors(facts: Facts, reason: str = "") -> Mapping[str, object]:
    return {"vectors": (None,) * len(variants_of(facts))}


def ask_by_vector(facts: Facts, view: View) -> Read | None:
    vector = view.unit
    if vector is None:
        return None
    assert isinstance(vector, tuple)
    query = ByVector(view.scope, vector, where_of(facts), 2 * limit_of(facts, view), score_min(facts, view))
    return Read(query)


def ask_by_words(facts: Facts, view: View) -> Read:
    assert isinstance(view.unit, str)
    query = ByWords(view.scope, view.unit, where_of(facts), 2 * limit_of(facts, view), score_min(facts, view))
    return Read(query)


def take_vector_list(facts: Facts, answer: Answer | None, view: View) -> Learned:
    return Learned({"vector_lists": rows_of(answer)})


def take_word_list(facts: Facts, answer: Answer | None, view: View) -> Learned:
    return Learned({"word_lists": rows_of(answer)})


def rows_of(answer: Answer | None) -> tuple[Row, ...]:
    return answer.rows if isinstance(answer, ReadDone) else ()


# rank: one list of all.


def take_hits(facts: Facts, answer: Answer | None, view: View) -> Learned:
    ranked = ranking(facts, limit_of(facts, view))
    entities = [it.row.body for it in ranked if isinstance(it.row.body, Entity)]
    tiers = view.tiers
    tiers.access = tiers.access.recalled(entities, view.now_ms, entity_ids(tiers.core))
    tiers.session = recalled(tiers.session, asked(facts).query)
    hits = tuple(hit_of(it) for it in ranked)
    return Learned({"outcome": Done(Recalled(hits, resolution_of(facts), variants_of(facts)))})


def ranking(facts: Facts, limit: int) -> tuple[Ranked, ...]:
    vector_lists, word_lists = facts["vector_lists"], facts["word_lists"]
    assert isinstance(vector_lists, tuple)
    assert isinstance(word_lists, tuple)
    pairs = zip(vector_lists, word_lists, strict=True)
    return fused([merged((*by_vector, *by_words), 2 * limit) for by_vector, by_words in pairs], limit)


def hit_of(it: Ranked) -> Hit:
    entity = it.row.body
    assert isinstance(entity, Entity)
    return Hit(
        entity.id, entity.version, entity.type, entity.name, entity.content, it.score_ppm, it.relevance_ppm,
        entity.time_ms, entity.contradicts,
    )  # fmt: skip


RECALL = Workflow(
    "recall",
    given=("request",),
    steps=(
        Step("resolve", requires=("request",), produces=("resolution",), config=(("profile", "default"),),
             effect=AskModel, ask=ask_resolution, take=take_resolution,
             on_failure=retry(2, then=Degrade("original", original))),
        Step("expand", requires=("request", "resolution"), produces=("variants",),
             config=(("profile", "default"),), effect=AskModel, ask=ask_variants, take=take_variants,
             on_failure=retry(2, then=Degrade("single", single))),
        Step("embed", requires=("variants",), produces=("vectors",), config=(("profile", "default"),),
             effect=Embed, ask=ask_vectors, take=take_vectors,
             on_failure=retry(2, then=Degrade("words_only", no_vectors))),
        Step("by_vector", each="vectors", requires=("request",), produces=("vector_lists",), effect=Read,
             ask=ask_by_vector, take=take_vector_list,
             on_failure=retry(2, then=degrade("words_only", vector_lists=()))),
        Step("by_words", each="variants", requires=("request",), produces=("word_lists",), effect=Read,
             ask=ask_by_words, take=take_word_list, on_failure=retry(3)),
        Step("rank", requires=("request", "resolution", "variants", "vector_lists", "word_lists"),
             produces=("outcome",), take=take_hits),
    ),
)  # fmt: skip
