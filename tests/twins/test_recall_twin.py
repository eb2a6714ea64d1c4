"""Goal: the table of recall is what we meant: a generator tells it as a story, and both ask the same.

The memory knows Alice and John. It is asked the same question twice, so that the second time may find what
the first one resolved.
"""

import json
from collections.abc import Generator
from typing import Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import structs

from tests.twins.talk import METS, Met, Sleeps, Story, Wants, attempts, reason_of, together
from tests.worlds import QUIET, Pair, saying
from umi_core.data import Data, Owner
from umi_core.errors import StorageFailed
from umi_core.messages.effects import Degraded, Done, Failed, Outcome
from umi_core.messages.requests import Recall, Remember
from umi_core.messages.results import Recalled, Resolution
from umi_core.policies.ranking import united_ppm
from umi_core.policies.similarity import vector_relevance_ppm
from umi_core.policies.term_scores import score_rows
from umi_core.rows import Entity
from umi_core.values import Turn
from umi_sim.judge.plain.scores import fuse_lists, rank_variant
from umi_sim.services.embedder import embed

CLEAR, REFERRING = "Alice and tea", "tell him"
TURNS: Final = (Turn("user", "John left on Monday"),)
FIVE_MINUTES_MS: Final = 300_000


class Says(Data):
    """What a model that answers makes of `tell him`, and which other words it finds."""

    rewrite: str = "tell John"
    more: tuple[str, ...] = ()


REWRITES: Final = ("tell John", "tell John when", REFERRING, "John left", "well...")
REFUSED: Final = {"John left": "dropped_words", "well...": "dropped_words"}
EXPANSIONS: Final = ((), ("tea",), ("tea", "who left"), ("tea", "who left", "Monday"))


# The story.


class Memo(Owner):
    """How the question was resolved before, and when; not recorded if `is_off`."""

    is_off: bool
    at_ms: int = 0
    resolution: Resolution | None = None

    def find(self, now_ms: int) -> Resolution | None:
        return self.resolution if now_ms < self.at_ms + FIVE_MINUTES_MS else None

    def keep(self, now_ms: int, resolution: Resolution) -> None:
        if resolution.outcome in ("resolved", "unchanged") and not self.is_off:
            self.at_ms, self.resolution = now_ms, resolution


def recall(request: Recall, says: Says, memo: Memo, pair: Pair) -> Story:
    less: list[Degraded] = []
    resolution = memo.find(pair.now_ms)
    if resolution is None:
        resolution = yield from resolved(request, says, less)
        memo.keep(pair.now_ms, resolution)
    variants = [resolution.query]
    is_deep = request.deep if request.deep is not None else resolution.query.endswith("when")
    if is_deep:
        kind, _ = yield from attempts("model expand", 2)
        if kind == "good":
            variants = list(dict.fromkeys([*variants, *says.more]))[:3]
        else:
            less.append(Degraded("expand:single", reason_of(kind)))
    kind, _ = yield from attempts("embed", 2)
    has_vectors = kind == "good"
    if not has_vectors:
        less.append(Degraded("embed:words_only", reason_of(kind, "wrong number of vectors")))
    with_vector = []
    for variant in variants if has_vectors else ():
        kind, _ = yield from attempts("read by vector", 2)
        with_vector += [variant] if kind == "good" else []
        less += [] if kind == "good" else [Degraded("by_vector:words_only", kind)]
    for _ in variants:
        kind, count = yield from attempts("read by words", 3)
        if kind != "good":
            return Failed(StorageFailed("by_words", kind, count))
    lists = [found(pair, variant, variant in with_vector) for variant in variants]
    limit = request.limit or 10
    hits = fuse_lists([rank_variant(it.items(), 2 * limit) for it in lists], limit)
    after: dict[str, str] = {}
    if hits:
        kind, _ = yield from attempts("read", 2)
        less += [] if kind == "good" else [Degraded("context:none", kind)]
        after = find_next_facts(pair, [key for key, *_ in hits]) if kind == "good" else {}
        kind, _ = yield from attempts("read", 2)  # nothing has ended
        less += [] if kind == "good" else [Degraded("replaced:none", kind)]
    shown = [(*hit, after.get(hit[0])) for hit in hits]
    return Done((resolution, tuple(variants), shown), summed(less))


def find_next_facts(pair: Pair, ids: list[str]) -> dict[str, str]:
    """Return by id the only fact that was stated after it, if that is no hit."""
    entities = [row.body for row in pair.rows("entity") if isinstance(row.body, Entity)]
    return {it.follows: it.id for it in entities if it.follows and it.id not in ids}


def resolved(request: Recall, says: Says, less: list[Degraded]) -> Generator[Wants | Sleeps, Met, Resolution]:
    terms, count = ("him",) if request.query == REFERRING else (), len(request.turns)
    if not request.resolve:
        return Resolution("disabled", request.query)
    if not terms or not request.turns:
        return Resolution("no_context" if terms else "clear", request.query, terms)
    kind, _ = yield from attempts("model rewrite", 2)
    rewrite = "well..." if kind == "unusable" else says.rewrite  # any line is an answer
    if kind not in ("good", "unusable"):
        less.append(Degraded("resolve:original", kind))
        return Resolution("failed", request.query, terms, kind, turn_count=count)
    if rewrite in REFUSED:
        less.append(Degraded("resolve:original", REFUSED[rewrite]))
        return Resolution("rejected", request.query, terms, REFUSED[rewrite], turn_count=count)
    if rewrite == request.query:
        return Resolution("unchanged", request.query, terms, turn_count=count)
    return Resolution("resolved", rewrite, terms, "", 1_000_000, count)


def found(pair: Pair, variant: str, has_vector: bool) -> dict[str, int]:
    """Return the hits of this variant: each list from 300_000 on, and both united."""
    entities = [row.body for row in pair.rows("entity") if isinstance(row.body, Entity)]
    rows = [(entity.name, entity.content) for entity in entities]
    scores = {}
    for entity, by_words in zip(entities, score_rows(variant, rows), strict=True):
        text = f"{entity.name}\n{entity.content}"
        by_vector = vector_relevance_ppm(embed(variant, 64), embed(text, 64)) if has_vector else 0
        lists = [score if score >= 300_000 else 0 for score in (by_vector, by_words)]
        if any(lists):
            scores[entity.id] = united_ppm(*lists)
    return scores


def summed(items: list[Degraded]) -> tuple[Degraded, ...]:
    """Each name and reason where it came last, with its count."""
    last = [item for n, item in enumerate(items) if item not in items[n + 1 :]]
    return tuple(structs.replace(item, count=items.count(item)) for item in last)


# Both.


def shown(outcome: Outcome) -> Outcome:
    """What a reply says, as the story ends."""
    if not isinstance(outcome, Done):
        return outcome
    value = outcome.value
    assert isinstance(value, Recalled)
    hits = [(hit.id, hit.score_ppm, hit.relevance_ppm, hit.next_id) for hit in value.hits]
    return structs.replace(outcome, value=(value.resolution, value.variants, hits))


def check_twins(request: Recall, says: Says, memo: Memo, pause_ms: int, script: list[Met]) -> None:
    model = saying(rewrite=says.rewrite, expand=json.dumps(says.more))
    pair = Pair(config=structs.replace(QUIET, resolve_cache=not memo.is_off), model=model).run()
    pair.ask(Remember(0, "Alice likes tea. John left on Monday"))
    for op_id in (1, 2):
        pair.step(structs.replace(request, op_id=op_id))
        expected = together(pair, op_id, recall(request, says, memo, pair), script)
        assert shown(pair.replies[op_id].outcome) == expected
        pair.now_ms += pause_ms


RECALLS: Final = st.builds(
    Recall,
    st.just(1),
    st.sampled_from([CLEAR, REFERRING, REFERRING]),
    st.sampled_from([None, 1]),
    st.sampled_from([None, True, False]),
    turns=st.sampled_from([(), TURNS, TURNS]),
    resolve=st.sampled_from([True, True, False]),
)
PLAIN: Final = Recall(1, REFERRING, turns=TURNS)
OUT: Final = Met("unavailable")


@pytest.mark.slow
@settings(max_examples=100)
@given(
    RECALLS,
    st.builds(Says, st.sampled_from(REWRITES), st.sampled_from(EXPANSIONS)),
    st.booleans(),
    st.sampled_from([0, 200_000, FIVE_MINUTES_MS - 1, FIVE_MINUTES_MS]),
    st.lists(METS, max_size=24),
)
@example(PLAIN, Says(), False, FIVE_MINUTES_MS - 1, [])
@example(PLAIN, Says(), False, FIVE_MINUTES_MS, [])
@example(PLAIN, Says(), True, 0, [])
@example(PLAIN, Says("tell John when", ("tea", "who left")), False, 0, [])
@example(PLAIN, Says("John left"), False, 0, [])
@example(PLAIN, Says(), False, 0, [OUT, OUT, Met(), Met("refused"), OUT, OUT, OUT])
@example(Recall(1, CLEAR, deep=True), Says(more=("tea",)), False, 0, [Met(), Met(), OUT, OUT, Met(), OUT])
def test_the_table_of_recall_is_the_story_of_recall(
    request: Recall, says: Says, is_off: bool, pause_ms: int, script: list[Met]
) -> None:
    check_twins(request, says, Memo(is_off), pause_ms, list(script))
