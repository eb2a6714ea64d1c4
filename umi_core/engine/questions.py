"""Questions: which answer a step gets to which effect, so that a table with another one is a type error.

Step("read", produces=(OUTCOME,), **asks(Read, ask_entity, take_entity, retry(3)))
"""

from typing import Any, TypedDict, overload

from umi_core.engine.workflow import Ask, OnFailure, Take
from umi_core.messages.answers import Committed, Embedded, ModelReplied, ReadDone
from umi_core.messages.effects import Asked, AskModel, Commit, Embed, Read


class Asking(TypedDict):
    """Four columns of a step, given together."""

    effect: type[Asked]
    ask: Ask[Any]
    take: Take[Any]
    on_failure: OnFailure


@overload
def asks(
    effect: type[AskModel], ask: Ask[AskModel], take: Take[ModelReplied], on_failure: OnFailure
) -> Asking: ...


@overload
def asks(
    effect: type[AskModel], ask: Ask[AskModel | None], take: Take[ModelReplied | None], on_failure: OnFailure
) -> Asking: ...


@overload
def asks(effect: type[Embed], ask: Ask[Embed], take: Take[Embedded], on_failure: OnFailure) -> Asking: ...


@overload
def asks(
    effect: type[Embed], ask: Ask[Embed | None], take: Take[Embedded | None], on_failure: OnFailure
) -> Asking: ...


@overload
def asks(effect: type[Read], ask: Ask[Read], take: Take[ReadDone], on_failure: OnFailure) -> Asking: ...


@overload
def asks(
    effect: type[Read], ask: Ask[Read | None], take: Take[ReadDone | None], on_failure: OnFailure
) -> Asking: ...


@overload
def asks(effect: type[Commit], ask: Ask[Commit], take: Take[Committed], on_failure: OnFailure) -> Asking: ...


@overload
def asks(
    effect: type[Commit], ask: Ask[Commit | None], take: Take[Committed | None], on_failure: OnFailure
) -> Asking: ...


def asks(effect: type[Asked], ask: Ask[Any], take: Take[Any], on_failure: OnFailure) -> Asking:
    """The step asks this effect, or nothing where `ask` gives None; then `take` gets None as well."""
    return Asking(effect=effect, ask=ask, take=take, on_failure=on_failure)
