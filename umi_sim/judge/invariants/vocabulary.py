"""Vocabulary: the words that stand in stored rows, in requests and in replies are those of docs/spec.

Law 1. A word of these is never renamed: rows that were stored years ago hold it, and so do callers' programs.
Law 2. No class that was released gets another number (umi_sim/judge/plain/tags.py).
"""

from collections.abc import Iterable, Mapping
from typing import Final, get_args

from umi_core import api_domains, domains, filters, level_domains, values
from umi_core.codec import DECODERS
from umi_core.invariants.broken import demand
from umi_core.messages import effects
from umi_sim.judge.plain.tags import TAGS
from umi_sim.record import rules

FOR_ANYBODY: Final = "timeout unavailable rate_limited refused"


def words_of(question: type[effects.Question]) -> Iterable[str]:
    """What hooks and tables call it, who answers it, under which name, and how that may fail."""
    return question.word, question.service, question.verb, *question.failures


WORDS: Final[Mapping[str, tuple[Iterable[str], str]]] = {
    "failures": (
        get_args(effects.FailureKind),
        "timeout unavailable rate_limited refused too_long full conflict unknown unusable damaged",
    ),
    "blocks": (values.BLOCK_KINDS, "system persona human facts goals scratch"),
    "types of entities": (
        values.ENTITY_TYPES,
        "self person organization project topic location event task preference note",
    ),
    "what a new fact does": (values.EVOLUTION_KINDS, "update extend derive contradict"),
    "relations": (values.LINK_KINDS, "works_at knows manages relates_to prefers part_of located_in"),
    "types of memories": (values.MEMORY_TYPES, "profile event knowledge behavior skill"),
    "modalities": (values.MODALITIES, "text message document conversation image audio video"),
    "categories": (values.CATEGORIES, "facts preferences skills rules context"),
    "levels": (values.LEVELS, "categories entities reflections resources"),
    "rows of levels": (values.LEVELS.values(), "category entity reflection resource"),
    "roles": (domains.ROLES, "user assistant system tool"),
    "forms of a rendering": (domains.FORMS, "xml markdown"),
    "kinds of rows that are listed": (
        domains.LISTED,
        "entity resource category membership subcategory reflection",
    ),
    "who says that it is enough": (level_domains.JUDGES, "score model score_then_model never"),
    "who ranks": (level_domains.RANKERS, "vector model"),
    "comparisons of numbers": (filters.NUMBERS, "lt lte gt gte"),
    "comparisons with lists": (filters.LISTS, "in not_in"),
    "comparisons of texts": (filters.TEXTS, "contains has_key"),
    "authors": (values.AUTHORS, "user model"),
    "forms of a prompt": (api_domains.PROMPT_FORMS, "xml markdown tagged"),
    "changes of a block": (
        api_domains.CHANGES,
        "created set appended replaced described imported deleted unchanged",
    ),
    "logs": (api_domains.LOGS, "message archival"),
    "roles of messages": (api_domains.ROLES, "user assistant system tool"),
    "parts of a call": (api_domains.DETAILS, "tool_call_id tool_name arguments tool_return status"),
    "what is moved": (api_domains.MOVED_KINDS, "blocks archival messages"),
    "phases": (
        api_domains.PHASES,
        "legacy dual_write dual_read umi_primary cleanup done rolling_back",
    ),
    "questions to a model": (words_of(effects.AskModel), f"model model ask {FOR_ANYBODY} too_long"),
    "questions to an embedder": (words_of(effects.Embed), f"embed embedder embed {FOR_ANYBODY} too_long"),
    "reads": (words_of(effects.Read), f"read storage read {FOR_ANYBODY}"),
    "commits": (words_of(effects.Commit), f"commit storage commit {FOR_ANYBODY} full conflict unknown"),
}


def check_vocabulary() -> None:
    """Raises Broken at the first word, or number of a class, that is another."""
    for what, (got, wanted) in WORDS.items():
        told = " ".join(got)
        demand(told == wanted, rules.REFERENCE_AGREES, f"the words for {what}", wanted, told)
    parts = TAGS.split()
    for tag, name in zip(map(int, parts[::2]), parts[1::2], strict=True):
        got = getattr(DECODERS.get(tag), "__name__", "nothing")
        demand(got == name, rules.REFERENCE_AGREES, f"what is saved under {tag}", name, got)
