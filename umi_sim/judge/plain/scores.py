"""Fusion of lists of hits, attempts of steps, and times of scheduled work."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from umi_core.limits import PPM
from umi_core.policies.term_scores import score_alone
from umi_core.rows import Category, Reflection, Resource


def sound_vectors(vectors: object, count: int, dims: int) -> tuple[tuple[int, ...] | None, ...] | None:
    """Return the vectors of an embedder, None for each invalid one; None if their number is wrong."""
    if not isinstance(vectors, tuple | list) or len(vectors) != count:
        return None
    return tuple(None if fault_of(vector, dims) else tuple(vector) for vector in vectors)


def fault_of(vector: object, dims: int) -> str:
    """Return why a vector is invalid; empty for `dims` whole numbers in -127..127, not all of them 0."""
    if not isinstance(vector, tuple | list) or len(vector) != dims:
        return "wrong_length"
    # Types are compared exactly, since True is an instance of int but no component.
    if {*map(type, vector)} != {int}:
        return "not_whole"
    if max(map(abs, vector)) > 127:
        return "out_of_range"
    return "" if any(vector) else "zero"


def find_missing(value: object, count: int, dims: int) -> tuple[str, int]:
    """Return the reason for the first missing vector, and their number; a wrong count of vectors is one."""
    if not isinstance(value, tuple | list) or len(value) != count:
        return "wrong number of vectors", 1
    # Two dims, [[1, 2], [0, 0], [9]]: ("zero", 2), since [0, 0] and [9] are invalid and [0, 0] is the first.
    faults = [fault for vector in value if (fault := fault_of(vector, dims))]
    return (faults[0], len(faults)) if faults else ("", 0)


# Lists of hits.

Found = tuple[str, int]  # an id and its relevance


def join_scores(lists: Sequence[dict[str, int]], least_ppm: int) -> dict[str, int]:
    """Return the scores by words of a variant: its first list may have other spellings, later ones dates.

    A row has its best score of the later lists; if only the first has it, the least score and a tenth of the
    rest.
    """
    plain, *dated = lists
    best = {key: max(each.get(key, 0) for each in dated) for each in dated for key in each}
    low = {key: max(least_ppm, (9 * least_ppm + score_ppm) // 10) for key, score_ppm in plain.items()}
    return {**low, **best} if dated else plain


def rank_variant(found: Iterable[Found], most: int) -> list[Found]:
    """Return at most `most` hits of one variant of a query, each id once with its best score."""
    best: dict[str, int] = {}
    for key, relevance_ppm in found:
        best[key] = max(relevance_ppm, best.get(key, 0))
    return sorted(best.items(), key=lambda it: (-it[1], it[0]))[:most]


def fuse_lists(lists: Sequence[Sequence[Found]], limit: int) -> list[tuple[str, int, int]]:
    """Return the best (id, score, relevance) of the ranked lists of all variants.

    With one list the scores are its relevances. With several, seven tenths of a score are the best relevance
    and three tenths the rank, but a score is at least 95 % of the relevance in the list of the query itself,
    the first one.
    """
    asked = dict(lists[0])
    shown = []
    for key in dict.fromkeys(key for each in lists for key, _ in each):
        best_ppm = max(relevance_ppm for each in lists for found, relevance_ppm in each if found == key)
        fused = best_ppm if len(lists) == 1 else fused_ppm(best_ppm, rank_ppm(key, lists))
        score_ppm = max(fused, 95 * asked.get(key, 0) // 100)
        shown.append((key, score_ppm, best_ppm))
    return sorted(shown, key=lambda it: (-it[1], it[0]))[:limit]


def fused_ppm(relevance_ppm: int, rank_ppm: int) -> int:
    return (7 * relevance_ppm + 3 * rank_ppm) // 10


def rank_ppm(key: str, lists: Sequence[Sequence[Found]]) -> int:
    """Return the rank of an id in all lists, in ppm: one million if it is the first of each."""
    places = [rank for each in lists for rank, (found, _) in enumerate(each) if found == key]
    # Reciprocal rank fusion with the constant 60: the first place counts 1/60, the second 1/61.
    return PPM * sum(10**12 // (60 + rank) for rank in places) // (len(lists) * (10**12 // 60))


def fit_alone(query: str, content: str, record: str) -> tuple[int, int]:
    """Return the lowest and highest relevance of a record if only its text is known; both are equal."""
    own = score_alone(query, "", content)
    return own, own


# Policies: how often a step asks, how long it waits, and the substitutes of answers.
#
# Law 1. A step is tried three times, or twice if it has a substitute (models, embedders, optional reads).
# After a final refusal it is not tried again. Recovery tries without end.
# Law 2. After a conflict a plan is made again, three times in total.


LEVELS: Final = ("categories", "entities", "reflections", "resources")
SUBSTITUTES: Final = {
    "candidates": "none", "context": "none", "replaced": "none", "evolve": "none", "route": "table",
    "embed": "no_vectors", "settle": "core_unread",
    "extract": "notes", "embed_captions": "no_vectors", "embed_summary": "no_vectors", "expand": "single",
    "embed_reflection": "no_vectors", "resolve": "original", "by_vector": "words_only",
    "preprocess": "none", "segment": "windows", "name": "keywords", "unembedded": "none",
    "recall.embed": "words_only", "memorize.extract": "unit_missing", "summarise.ask": "old_summary",
    "reflect.ask": "beginning", "retrieve.route": "retrieve", "rebalance.embed": "none",
    **{f"embed_{level}": "words_only" for level in LEVELS},
    **{f"{level}_by_vector": "words_only" for level in LEVELS},
    **{f"{level}_by_words": "failed" for level in LEVELS},
    **{f"rank_{level}": "by_score" for level in LEVELS},
    **{f"enough_{level}": "go_on" for level in LEVELS[:-1]},
}  # fmt: skip
"""Substitutes for answers, by step; an entry with the workflow's name overrides that of the step alone."""
FINAL: Final = ("refused", "full", "too_long")
PLAN_COUNT: Final = 3
WITHOUT_END: Final = "recover"


def substitute(workflow: str, step: str) -> str | None:
    """Return the substitute for an answer to this step; None if its operation fails without one."""
    if workflow == WITHOUT_END:
        return None
    return SUBSTITUTES.get(f"{workflow}.{step}", SUBSTITUTES.get(step))


def count_attempts(workflow: str, step: str) -> int:
    """Return how often a step is tried in total after temporary failures."""
    other = substitute(workflow, step)
    # "failed" is no substitute but the loss of a list, so such
    # a step is tried as often as one without a substitute.
    return 3 if other in (None, "failed") else 2


def wait_ms(count: int, named_ms: int) -> int:
    """Return the wait after `count` attempts of a step, in ms.

    `named_ms`: the wait named by the failure, which counts up to an hour.
    """
    return max(min(100 << (count - 1), 5_000), min(named_ms, 3_600_000))


# Times at which unfinished work is scheduled.


A_DAY_MS: Final = 86_400_000


def division_ms(category: Category, config: Any) -> int | None:
    """Return when the members of a category must be divided again; None if they need not be."""
    if not config.auto_evolution or category.evolved_digest != "":
        return None
    if category.member_count < config.cluster_size_min and not category.subcategory_ids:
        return None
    since_ms = category.evolved_ms if category.evolved_ms is not None else category.created_ms
    return since_ms + int(config.evolution_interval_ms)


def again_ms(body: object, now_ms: int, config: Any) -> int:
    """Return when work that fails now is tried again: after the age of its row, within limits."""
    assert isinstance(body, Resource | Category | Reflection)
    wait_ms = int(config.upkeep_interval_ms)
    if now_ms - body.updated_ms > wait_ms:
        wait_ms = max(wait_ms, min(now_ms - body.updated_ms, A_DAY_MS))
    return now_ms + wait_ms
