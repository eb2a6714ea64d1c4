"""Policies, said again: how often a step asks, how long it waits, and what takes the place of an answer.

Law 1. Storage is asked three times, and whatever has a substitute twice: models, embedders, reads that an
operation can do without. What a service will not do is not asked again. Recovery asks without end.
Law 2. A plan that meets a conflict is made again, three times in all.
"""

from typing import Final

LEVELS: Final = ("categories", "entities", "reflections", "resources")
SUBSTITUTES: Final = {
    "candidates": "none", "evolve": "table", "route": "table", "embed": "no_vectors", "settle": "core_unread",
    "history": "unread",
    "extract": "one_note", "embed_shelf": "no_vectors", "embed_summary": "no_vectors", "expand": "single",
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
"""What takes the place of an answer, by step; of several steps with one name that of most."""
FINAL: Final = ("refused", "full", "too_long")
PLAN_COUNT: Final = 3
WITHOUT_END: Final = "recover"


def substitute(workflow: str, step: str) -> str | None:
    """What takes the place of what this step asks for; None if its operation fails."""
    if workflow == WITHOUT_END:
        return None
    return SUBSTITUTES.get(f"{workflow}.{step}", SUBSTITUTES.get(step))


def attempts(workflow: str, step: str) -> int:
    """How often it asks in all, if what it meets may pass."""
    other = substitute(workflow, step)
    return 3 if other in (None, "failed") else 2


def wait_ms(count: int, told_ms: int) -> int:
    """How long after so many attempts it asks again, if it was told to wait so long: an hour at most."""
    own_ms = 100
    for _ in range(count - 1):
        own_ms *= 2
    return max(min(own_ms, 5_000), min(told_ms, 3_600_000))
