"""recall: the entities that answer a query, by vector and by words.

Law 1. Storage filters before it cuts; the memory asks for twice the limit of each list. Law 2. A row's
relevance is the better of the two; ties go to the smaller id. Law 3. Without vectors words find it, and the
reply says so; without words the read failed, and the reply is an error, never an empty result.
"""

from umi_core.effects import ByVector, ByWords, Done, Embed, Read, Where
from umi_core.inputs import Answer, Embedded, ReadDone, Recall
from umi_core.policies.similarity import sound_vectors
from umi_core.results import Hit
from umi_core.state import Facts, View
from umi_core.tiers.session import recalled
from umi_core.values import Entity, Row
from umi_core.workflow import Learned, Step, Taken, Unusable, Workflow, degrade, retry
from umi_core.workflows.commits import entity_ids


def asked(facts: Facts) -> Recall:
    request = facts["request"]
    assert isinstance(request, Recall)
    return request


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


def take_variants(facts: Facts, answer: Answer | None, view: View) -> Learned:
    return Learned({"variants": (asked(facts).query,)})


def ask_vectors(facts: Facts, view: View) -> Embed:
    variants = facts["variants"]
    assert isinstance(variants, tuple)
    return Embed(variants)


def take_vectors(facts: Facts, answer: Answer | None, view: View) -> Taken:
    assert isinstance(answer, Embedded)
    variants = facts["variants"]
    assert isinstance(variants, tuple)
    vectors = sound_vectors(answer.vectors, len(variants), view.config.embedding_dims)
    if vectors is None or None in vectors:
        return Unusable("unsound vectors")
    return Learned({"vectors": vectors})


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


def take_hits(facts: Facts, answer: Answer | None, view: View) -> Learned:
    vector_lists, word_lists = facts["vector_lists"], facts["word_lists"]
    assert isinstance(vector_lists, tuple)
    assert isinstance(word_lists, tuple)
    best: dict[str, Row] = {}
    for row in (row for rows in (*vector_lists, *word_lists) for row in rows):
        if row.address.id not in best or (row.score_ppm or 0) > (best[row.address.id].score_ppm or 0):
            best[row.address.id] = row
    ranked = sorted(best.values(), key=lambda row: (-(row.score_ppm or 0), row.address.id))
    rows = ranked[: limit_of(facts, view)]
    entities = [row.body for row in rows if isinstance(row.body, Entity)]
    tiers = view.tiers
    tiers.access = tiers.access.recalled(entities, view.now_ms, entity_ids(tiers.core))
    tiers.session = recalled(tiers.session, asked(facts).query)
    return Learned({"outcome": Done(tuple(hit_of(row) for row in rows))})


def hit_of(row: Row) -> Hit:
    entity, score_ppm = row.body, row.score_ppm or 0
    assert isinstance(entity, Entity)
    return Hit(
        entity.id,
        entity.version,
        entity.type,
        entity.name,
        entity.content,
        score_ppm,
        score_ppm,
        entity.time_ms,
    )


RECALL = Workflow(
    "recall",
    given=("request",),
    steps=(
        Step("variants", requires=("request",), produces=("variants",), take=take_variants),
        Step("embed", requires=("variants",), produces=("vectors",), config=(("profile", "default"),),
             effect=Embed, ask=ask_vectors, take=take_vectors,
             on_failure=retry(2, then=degrade("words_only", vectors=(None,)))),
        Step("by_vector", each="vectors", requires=("request",), produces=("vector_lists",), effect=Read,
             ask=ask_by_vector, take=take_vector_list,
             on_failure=retry(2, then=degrade("words_only", vector_lists=()))),
        Step("by_words", each="variants", requires=("request",), produces=("word_lists",), effect=Read,
             ask=ask_by_words, take=take_word_list, on_failure=retry(3)),
        Step("rank", requires=("vector_lists", "word_lists"), produces=("outcome",), take=take_hits),
    ),
)  # fmt: skip
