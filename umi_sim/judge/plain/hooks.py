"""What may stand in the place of a question or of its answer, as EN6.11 to EN6.15, EN5.13, EN5.15 say."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from umi_core.invariants import limits
from umi_core.messages.answers import Committed, EffectFailed, Embedded, ModelReplied, ReadDone
from umi_core.messages.effects import (
    AskModel,
    ByIds,
    Commit,
    CountRows,
    Embed,
    Read,
)
from umi_core.rows import Address, Receipt, Row
from umi_sim.judge.plain.answers import is_meant
from umi_sim.judge.plain.text import is_text

ANYBODY: Final = ("timeout", "unavailable", "rate_limited", "refused")
FAILURES: Final[Mapping[type, tuple[str, ...]]] = {
    AskModel: (*ANYBODY, "too_long"), Embed: (*ANYBODY, "too_long"), Read: ANYBODY,
    Commit: (*ANYBODY, "full", "conflict", "unknown"),
}  # fmt: skip
CONDITIONS_MAX: Final = 20


def is_number(value: object, least: int = limits.I64_MIN) -> bool:
    return type(value) is int and least <= value <= limits.I64_MAX


def same(one: Any, other: Any, *but: str) -> bool:
    """Equal fields of equal types, but for these."""
    names = [it for it in attrs.fields_dict(type(one)) if it not in but]
    return all(is_same(getattr(one, it), getattr(other, it)) for it in names)


def is_same(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other


# Another question.


def may_replace(asked: Any, given: Any) -> bool:
    """Whether `before` may send this instead."""
    if type(asked) is not type(given):
        return False
    match given:
        case AskModel():
            is_shorter = is_number(given.timeout_ms, 1) and given.timeout_ms <= asked.timeout_ms
            return same(asked, given, "prompt", "timeout_ms") and is_text(given.prompt) and is_shorter
        case Embed():
            are_texts = type(given.texts) is tuple and all(is_text(it) and it.strip() for it in given.texts)
            return same(asked, given, "texts") and are_texts and len(given.texts) == len(asked.texts)
        case Read():
            return same(asked, given, "query") and is_narrower(asked.query, given.query)
    return False


def is_narrower(asked: Any, given: Any) -> bool:
    """A lower limit where there is one, further conditions behind those that there are."""
    if type(asked) is not type(given) or isinstance(asked, ByIds):
        return is_same(asked, given)
    where = given.where
    if (
        type(where) is not tuple
        or where[: len(asked.where)] != asked.where
        or not all(map(is_condition, where))
    ):
        return False
    if len(where) > max(len(asked.where), CONDITIONS_MAX) or not same(asked, given, "where", "limit"):
        return False
    if isinstance(asked, CountRows) or asked.limit is None:
        return getattr(given, "limit", None) is None
    return is_number(given.limit, 1) and given.limit <= asked.limit


def is_condition(given: Any) -> bool:
    cls: type = type(given)
    if not attrs.has(cls) or list(attrs.fields_dict(cls)) != ["field", "operator", "value"]:
        return False
    if type(given.field) is not str or type(given.operator) is not str:
        return False
    values = given.value if type(given.value) is tuple else (given.value,)
    return all(it is None or type(it) in (bool, str) or is_number(it) for it in values)


# An answer of a hook.


def may_stand_for(asked: Any, answer: Any, is_right: Callable[[Row], bool]) -> bool:
    """Whether a hook may give this in the place of an answer."""
    if not is_number(getattr(answer, "request_id", None)):
        return False
    match asked, answer:
        case AskModel(), ModelReplied():
            return type(answer.text) is str
        case Embed(), Embedded():
            return are_vectors(answer.vectors) and len(answer.vectors) == len(asked.texts)
        case Read(query=query), ReadDone(cursor=None) if not isinstance(query, CountRows):
            is_whole = is_answer_to_read(answer) and all(row.body is not None for row in answer.rows)
            return is_whole and all(is_meant(query, it) and is_right(it) for it in answer.rows)
    return False


def are_vectors(given: Any) -> bool:
    return type(given) is tuple and all(type(it) is tuple for it in given)


# An answer of the world.


def is_due(asked: Any, answer: Any) -> bool:
    """Whether this can be an answer to that at all."""
    match answer:
        case EffectFailed():
            is_whole = is_number(answer.request_id) and is_number(answer.retry_after_ms, 0)
            return is_whole and answer.kind in FAILURES[type(asked)] and are_versions(answer.changed)
        case ModelReplied():
            return isinstance(asked, AskModel) and type(answer.text) is str
        case Embedded():
            return isinstance(asked, Embed)
        case ReadDone():
            is_whole = is_number(answer.request_id) and is_answer_to_read(answer)
            return isinstance(asked, Read) and is_whole
        case Committed():
            return isinstance(asked, Commit) and is_number(answer.request_id) and is_told(asked, answer)
    return False


def is_answer_to_read(answer: ReadDone) -> bool:
    if type(answer.rows) is not tuple or not all(map(is_row, answer.rows)):
        return False
    return (answer.cursor is None or is_text(answer.cursor)) and is_none_or_number(answer.count)


def is_row(row: Any) -> bool:
    return type(row) is Row and is_number(row.version, 0) and is_none_or_number(row.score_ppm)


def is_none_or_number(value: object) -> bool:
    return value is None or is_number(value)


def are_versions(given: Any) -> bool:
    return type(given) is tuple and all(
        type(it) is tuple and len(it) == 2 and type(it[0]) is Address and is_number(it[1]) for it in given
    )


def is_told(asked: Commit, answer: Committed) -> bool:
    """The version of each row that is put, under the receipt of its key, which others may have used."""
    if not are_versions(answer.versions):
        return False
    own = [write.body for write in asked.writes if isinstance(write.body, Receipt)]
    if own:
        told = answer.receipt
        if not isinstance(told, Receipt) or told.key != own[0].key:
            return False
        is_same_request = told.request_digest == own[0].request_digest
        if is_same_request and type(told.value) is not type(own[0].value):
            return False
        if told.plan_digest != own[0].plan_digest:
            return True
    put = [write.address for write in asked.writes if write.body is not None]
    return all(it in [address for address, version in answer.versions if version > 0] for it in put)
