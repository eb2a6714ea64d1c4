"""Permissions: what a hook may do with an effect and its answer.

Law 1. A question is only ever narrowed: another prompt, as many other texts, less time, fewer rows.
Law 2. An answer in place of the world's is one that the world could have given, down to the types of its last
field. Law 3. A commit may be refused before it is sent, and never changed; once durable it cannot be undone.
"""

import attrs

from umi_core.answer_checks import is_answer, is_typed
from umi_core.conditions import CONDITION_COUNT_MAX, Where
from umi_core.engine.interceptors import Pass, Refuse, Rewrite, Substitute
from umi_core.messages.answers import Answer, Committed, EffectFailed
from umi_core.messages.effects import (
    Asked,
    AskModel,
    ByFilter,
    ByIds,
    ByVector,
    ByWords,
    Commit,
    CountRows,
    Embed,
    Query,
    Read,
)
from umi_core.text import is_text


def may_before(request: Asked, verdict: object) -> bool:
    if isinstance(verdict, Rewrite):
        return may_rewrite(request, verdict.request)
    if isinstance(verdict, Substitute):
        return is_answer(request, verdict.value)
    return isinstance(verdict, Pass | Refuse)


def may_after(request: Asked, answer: Answer, verdict: object) -> bool:
    if isinstance(verdict, Substitute):
        return is_answer(request, verdict.value)
    if isinstance(verdict, Refuse):
        return not isinstance(answer, EffectFailed | Committed)
    return isinstance(verdict, Pass)


def may_rewrite(before: Asked, after: object) -> bool:
    """Prompt and shorter timeout; as many other texts, none blank; narrower reads. Nothing of a commit."""
    if type(before) is not type(after) or isinstance(before, Commit) or not is_typed(after):
        return False
    if isinstance(before, AskModel):
        assert isinstance(after, AskModel)
        same = attrs.evolve(after, prompt=before.prompt, timeout_ms=before.timeout_ms) == before
        return same and is_text(after.prompt) and 0 < after.timeout_ms <= before.timeout_ms
    if isinstance(before, Embed):
        assert isinstance(after, Embed)
        same = attrs.evolve(after, texts=before.texts) == before
        is_whole = all(is_text(text) and text.strip() for text in after.texts)
        return same and is_whole and len(after.texts) == len(before.texts)
    assert isinstance(before, Read)
    assert isinstance(after, Read)
    return attrs.evolve(after, query=before.query) == before and is_narrower(before.query, after.query)


def is_narrower(before: Query, after: Query) -> bool:
    """The same query with a lower limit or further conditions; of all rows the steps want all that fit."""
    if type(before) is not type(after) or isinstance(before, ByIds):
        return before == after
    assert isinstance(before, ByFilter | CountRows | ByVector | ByWords)
    assert isinstance(after, ByFilter | CountRows | ByVector | ByWords)
    if not adds_conditions(before.where, after.where):
        return False
    if isinstance(after, CountRows):
        return attrs.evolve(after, where=before.where) == before
    assert not isinstance(before, CountRows)
    same = attrs.evolve(after, where=before.where, limit=before.limit)  # type: ignore[arg-type]
    is_lowered = before.limit is not None and after.limit is not None and 1 <= after.limit <= before.limit
    return same == before and (is_lowered or after.limit is before.limit is None)


def adds_conditions(before: Where, after: Where) -> bool:
    """Further conditions come behind those that were there."""
    return after[: len(before)] == before and len(after) <= max(len(before), CONDITION_COUNT_MAX)
