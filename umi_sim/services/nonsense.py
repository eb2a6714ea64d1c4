"""Malformed answers: one part has a wrong type, is missing, or is infinite.

Law 1. Pure and total: any answer and any number give an answer that a memory can recognise as malformed.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import structs

from umi_core.messages.answers import Answer, Committed, Embedded, ModelReplied, ReadDone
from umi_core.rows import Address, Row
from umi_core.values import Scope

ENDLESS: Final = float("inf")
NOWHERE: Final = Address(Scope("u", "a"), "entity", "ent")
Change = Callable[[Any], Answer]


def put(name: str, *values: object) -> tuple[Change, ...]:
    """Return one change for each value, which replaces the part `name` by it."""
    # `value=value` binds each value now. Otherwise all changes would use the last one.
    return tuple(lambda answer, value=value: structs.replace(answer, **{name: value}) for value in values)


def first_row(**parts: Any) -> Change:
    """Return a change of parts of the first row; a page without rows gets one first."""

    def change(answer: Any) -> Answer:
        rows = answer.rows or (Row(NOWHERE, 1, None),)
        other: Answer = structs.replace(answer, rows=(structs.replace(rows[0], **parts), *rows[1:]))
        return other

    return change


def receipt_with(**parts: Any) -> Change:
    """Return a change of parts of the receipt; an answer without a receipt loses its versions instead."""

    def change(answer: Any) -> Answer:
        if answer.receipt is None:
            return put("versions", None)[0](answer)
        changed: Answer = structs.replace(answer, receipt=structs.replace(answer.receipt, **parts))
        return changed

    return change


def answers_of(*classes: type) -> tuple[Change, ...]:
    """Return changes that turn an answer into one of these classes, which answer another question."""
    parts: dict[type, dict[str, Any]] = {ModelReplied: {"text": "{}"}, Embedded: {"vectors": ((1,),)}}
    return tuple(lambda answer, cls=cls: cls(answer.request_id, **parts.get(cls, {})) for cls in classes)


WRONG: Final[Mapping[type, tuple[Change, ...]]] = {
    ModelReplied: (
        *answers_of(Embedded, Committed), *put("text", None, 7, b"{}", ENDLESS, ("{}",), {"entities": []}),
    ),
    Embedded: answers_of(ModelReplied, ReadDone, Committed),  # other kinds of faults make wrong vectors
    ReadDone: (
        *answers_of(ModelReplied, Committed), *put("rows", None, 7, [], ENDLESS, (None,)),
        *put("rows", ((NOWHERE, 1, None),)), *put("cursor", 7, ENDLESS, b"next"),
        *put("count", ENDLESS, "many", True),
        first_row(version=ENDLESS), first_row(version="1"), first_row(address=None),
        first_row(score_ppm=ENDLESS),
    ),
    Committed: (
        *answers_of(ReadDone, Embedded), *put("versions", None, 7, [], ENDLESS, (None,), ((NOWHERE,),)),
        *put("versions", ((NOWHERE, ENDLESS),), ((None, 1),), (("entity", 1),)),
        receipt_with(value=7), receipt_with(value="done"), receipt_with(value=ENDLESS),
        receipt_with(key="another's"),
    ),
}  # fmt: skip


def nonsense(answer: Answer, choice: int) -> Answer:
    """Return the `choice`-th malformed variant of an answer; a failure has none and is returned unchanged."""
    options = WRONG.get(type(answer), ())
    return options[choice % len(options)](answer) if options else answer
