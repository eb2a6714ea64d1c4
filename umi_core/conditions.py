"""Conditions on rows, and the one place that decides whether a body holds them.

    Condition("type", "in", ("person", "note"))     a field, an operator, a value
    where = (condition, condition)                  all of them must hold, before any cut

Law 1. Total: any condition and any body, True or False, never an exception.
Law 2. A condition on a field that a body does not have does not hold, whatever the operator.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from umi_core.data import Data
from umi_core.rows import FIELDS

CONDITION_COUNT_MAX: Final = 20  # H9.11


Word = bool | int | str | None
Value = Word | tuple[Word, ...]


@attrs.frozen
class Condition(Data):
    """One condition: what an `operator` of OPERATORS says of a field of the body and a value."""

    tag = 21
    field: str
    operator: str
    value: Value


Where = tuple[Condition, ...]


def equal(found: object, value: object) -> bool:
    """A bool is never a number."""
    return type(found) is type(value) and found == value


def one_of(found: object, values: object) -> bool:
    """True is no 1, though Python finds it among numbers: what is not found at all need not be compared."""
    return isinstance(values, tuple) and found in values and any(equal(found, value) for value in values)


def compared(compare: Callable[[int, int], bool]) -> Callable[[object, object], bool]:
    """Of two whole numbers; nothing else has an order."""

    def holds(found: object, value: object) -> bool:
        return type(found) is int and type(value) is int and compare(found, value)

    return holds


def contains(found: object, value: object) -> bool:
    return isinstance(found, tuple) and one_of(value, found)


def has_key(found: object, value: object) -> bool:
    """Of a field that holds pairs."""
    return isinstance(found, tuple) and any(type(it) is tuple and it and equal(it[0], value) for it in found)


OPERATORS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {  # H9.4 to H9.8
    "eq": equal,
    "ne": lambda found, value: not equal(found, value),
    "in": one_of,
    "not_in": lambda found, values: isinstance(values, tuple) and not one_of(found, values),
    "lt": compared(lambda found, value: found < value),
    "lte": compared(lambda found, value: found <= value),
    "gt": compared(lambda found, value: found > value),
    "gte": compared(lambda found, value: found >= value),
    "contains": contains,
    "has_key": has_key,
}


def admits(where: Where, body: object) -> bool:
    """Whether a body holds every condition."""
    return all(holds(condition, body) for condition in where)


def holds(condition: Condition, body: object) -> bool:
    operator = OPERATORS.get(condition.operator)
    if operator is None or condition.field not in FIELDS.get(type(body), ()):
        return False
    return operator(getattr(body, condition.field), condition.value)
