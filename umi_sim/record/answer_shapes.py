"""Shapes of answers: is the message of a service an answer at all, whatever its values are?

Law 1. The functions never raise, for any instance of a class of answers.
Law 2. They check types, addresses, versions, and key and type of a receipt. Other checks judge bodies,
vectors and texts.
"""

from typing import Any, Final

from umi_core.messages.answers import Answer, Committed, EffectFailed, Embedded, ModelReplied, ReadDone
from umi_core.messages.effects import AskModel, Commit, Embed, Read
from umi_core.rows import Address, Receipt, Row

ANSWER_TYPES: Final[dict[type, type]] = {
    AskModel: ModelReplied,
    Embed: Embedded,
    Read: ReadDone,
    Commit: Committed,
}
"""The class of a successful answer, by the class of the effect."""


def is_answer_to(effect: object, answer: Answer) -> bool:
    """Return whether `answer` can answer `effect`: it has the right shape, or is a failure."""
    if type(answer) is EffectFailed:
        return True
    is_answer = type(answer) is ANSWER_TYPES[type(effect)] and is_shaped(answer)
    return is_answer and (not isinstance(effect, Commit) or has_own_receipt(effect, answer))


def is_shaped(answer: Any) -> bool:
    match answer:
        case ModelReplied():
            return type(answer.text) is str
        case Embedded():
            return type(answer.vectors) is tuple
        case Committed():
            return type(answer.versions) is tuple and all(map(is_version, answer.versions))
        case ReadDone():
            is_page = type(answer.rows) is tuple and all(map(is_row, answer.rows))
            return is_page and is_or_none(answer.cursor, str) and is_or_none(answer.count, int)
    return True


def has_own_receipt(effect: Commit, answer: Any) -> bool:
    """Return whether the receipt has the key of its commit and, for the same request, its type of value."""
    got = answer.receipt
    sent = next((write.body for write in effect.writes if isinstance(write.body, Receipt)), None)
    if sent is None:
        return True
    is_same = type(got) is Receipt and got.key == sent.key
    return is_same and (got.request_digest != sent.request_digest or type(got.value) is type(sent.value))


def is_version(value: Any) -> bool:
    return type(value) is tuple and len(value) == 2 and type(value[0]) is Address and type(value[1]) is int


def is_row(row: Any) -> bool:
    if type(row) is not Row or type(row.address) is not Address:
        return False
    return type(row.version) is int and is_or_none(row.score_ppm, int)


def is_or_none(value: object, cls: type) -> bool:
    return value is None or type(value) is cls
