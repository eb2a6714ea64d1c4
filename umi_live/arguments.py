"""Check the arguments of a caller against the types that a method or a request declares.

    memory.remember(5)
        text: 5 is not allowed, expected a text, got int
    memory.recall("tea", turns=[("user",)])
        turns[0]: ('user',) is not allowed, expected (a text, a text), got tuple

Law 1. A value of another type raises RequestRefused, which names the argument, the value and the type.
Law 2. A type that cannot be checked, such as a protocol, admits every value.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from itertools import chain
from types import NoneType, UnionType
from typing import Any, Final, ParamSpec, TypeVar, Union, get_args, get_origin

from umi_core.conditions import Given
from umi_core.domains import bad_turns
from umi_core.errors import BadOption, BadTime, Error
from umi_core.language.times import LAST_MS
from umi_core.limits import ENTITY_NAME_BYTES_MAX
from umi_core.memory import list_misuses
from umi_core.messages.requests import Request, arguments_of, bad_request
from umi_core.text import has_control, show_value
from umi_core.values import Turn
from umi_live.errors import RequestRefused

P = ParamSpec("P")
T = TypeVar("T")

WORDS: Final[Mapping[Any, str]] = {
    str: "a text", bytes: "bytes", bool: "true or false", int: "a whole number", NoneType: "none",
    Given: "(field, operator, value), as `umi_core.conditions.filter_of` makes it",
}  # fmt: skip
PAIRS: Final = (list, tuple)  # the types that a caller may pass for a tuple of fixed length
TIMES: Final = ("event_time_ms", "happened_ms")
TIME: Final = f"milliseconds since 1970, at most {LAST_MS}, the end of the year 9999"
SPEAKER: Final = f"a name of at most {ENTITY_NAME_BYTES_MAX} bytes, without control characters"


def describe_kind(kind: Any) -> str:
    """Return a description of the values that a type admits."""
    origin, parts = get_origin(kind), get_args(kind)
    if kind in WORDS:
        return WORDS[kind]
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(map(describe_kind, parts)))
    if is_list_kind(kind):
        return f"a {'tuple' if origin is tuple else 'list'}, each of it {describe_kind(parts[0])}"
    if origin is tuple:
        return f"({', '.join(map(describe_kind, parts))})"
    if origin is Mapping:
        return f"a mapping from {describe_kind(parts[0])} to {describe_kind(parts[1])}"
    return getattr(origin or kind, "__name__", str(kind))


def is_list_kind(kind: Any) -> bool:
    """Check whether a type is a list, or a tuple of any length."""
    origin = get_origin(kind)
    return origin in (Sequence, Iterable) or (origin is tuple and get_args(kind)[1:] == (...,))


def find_misfit(name: str, value: Any, kind: Any, pairs: tuple[type, ...] = PAIRS) -> Error | None:
    """Return the error for a value, or a part of it, that is not of this type; None if it fits.

    `pairs`: the types that are admitted for a tuple.
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        found = [find_misfit(name, value, part, pairs) for part in parts]
        # Prefer the error of a part: `types[1]: 5` is clearer than `types: ['person', 5]`.
        inner = [it for it in found if isinstance(it, BadOption) and it.option != name]
        return (inner[0] if inner else misfit(name, value, kind)) if all(found) else None
    if is_list_kind(kind):
        is_list = isinstance(value, pairs if origin is tuple else Iterable)
        if not is_list or isinstance(value, str | bytes | Mapping):
            return misfit(name, value, kind)
        # The items of an iterator are not checked, since it can be read only once.
        items = enumerate(value) if isinstance(value, Collection) else ()
        return first_of(find_misfit(f"{name}[{at}]", it, parts[0], pairs) for at, it in items)
    if origin is tuple:
        if not (isinstance(value, tuple | list) and isinstance(value, pairs)) or len(value) != len(parts):
            return misfit(name, value, kind)
        found = [find_misfit(name, it, part, pairs) for it, part in zip(value, parts, strict=True)]
        return misfit(name, value, kind) if any(found) else None
    if origin is Mapping:
        if not isinstance(value, Mapping):
            return misfit(name, value, kind)
        each = chain.from_iterable(zip(it, parts, strict=True) for it in value.items())
        return misfit(name, value, kind) if any(find_misfit(name, *it) for it in each) else None
    return None if is_instance(value, origin or kind) else misfit(name, value, kind)


def is_instance(value: object, kind: Any) -> bool:
    """Check a value against a class. A bool is no int; protocols and types that are no classes admit all."""
    if kind is int and isinstance(value, bool):
        return False
    is_open = not isinstance(kind, type) or kind is float or getattr(kind, "_is_protocol", False)
    return is_open or isinstance(value, kind)


def first_of(errors: Iterable[Error | None]) -> Error | None:
    return next(filter(None, errors), None)


def misfit(name: str, value: object, kind: Any) -> Error:
    return BadOption(name, show_value(value), f"{describe_kind(kind)}, got {type(value).__name__}")


def refuse(error: Error | None) -> None:
    """Raise RequestRefused if there is an error."""
    if error is not None:
        raise RequestRefused(error, str(error))


# Arguments of a method.


def check_arguments(
    function: Callable[..., Any], given: Sequence[object], named: Mapping[str, object]
) -> None:
    """Raise RequestRefused for an argument that is not of the type that the function declares."""
    kinds, names = function.__annotations__, function.__code__.co_varnames
    for name, value in chain(zip(names, given, strict=False), named.items()):
        if name in kinds:
            refuse(find_misfit(name, value, kinds[name]))


def checking(function: Callable[P, T]) -> Callable[P, T]:
    """Return the function with a check of its arguments before each call."""

    @wraps(function)
    def call_checked(*args: P.args, **kwargs: P.kwargs) -> T:
        check_arguments(function, args, kwargs)
        return function(*args, **kwargs)

    return call_checked


def read_turns(turns: Iterable[Sequence[str]]) -> tuple[Turn, ...]:
    """Return pairs (role, text) as turns. Raises RequestRefused for an unknown role."""
    spoken = tuple(Turn(role, text) for role, text in turns)
    refuse(bad_turns("turns", spoken))
    return spoken


def as_tuples(value: Any) -> Any:
    """Return a value with tuples in place of lists, also inside dicts, since requests contain only tuples."""
    if isinstance(value, dict):
        return {name: as_tuples(part) for name, part in value.items()}
    return tuple(map(as_tuples, value)) if isinstance(value, list | tuple) else value


# Fields of a request.


def find_refusal(request: Request) -> Error | None:
    """Return the error for which a memory refuses a request in every state; None if there is none.

    Refuses also times after the year 9999, and speakers with control characters. Nothing has to be open.
    """
    for name in TIMES:
        at_ms: object = getattr(request, name, None)
        if isinstance(at_ms, int) and at_ms > LAST_MS:
            return BadTime(name, show_value(at_ms), TIME)
    speaker: object = getattr(request, "speaker", None)
    if isinstance(speaker, str) and has_control(speaker):
        return BadOption("speaker", show_value(speaker), SPEAKER)
    error = next(list_misuses(0, request), None) or bad_request(request)
    return None if error is None else explain_refusal(request, error)


def check_request(request: Request) -> None:
    """Raise RequestRefused for a request that a memory refuses in every state."""
    refuse(find_refusal(request))


def explain_refusal(request: Request, error: Error) -> Error:
    """Return the error of the first field that is not of its declared type; `error` if all fit."""
    given = ((it.name, getattr(request, it.name), it.type) for it in arguments_of(type(request)))
    return first_of(find_misfit(*it, (tuple,)) for it in given) or error
