"""Conditions on rows, and the one function that decides whether a body meets them.

    Condition("type", "in", ("person", "note"))     a field, an operator, a value
    where = (condition, condition)                  all must hold; applied before any limit

Law 1. Total: any condition on any body gives True or False, never an exception.
Law 2. A condition on a field that the body lacks is false, whatever the operator.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

from umi_core.data import Data
from umi_core.domains import Domain, is_int
from umi_core.errors import BadFilterValue, Error, UnknownField, UnknownOperator
from umi_core.limits import QUERY_BYTES_MAX
from umi_core.rows import FIELDS
from umi_core.text import is_text, show_value, size
from umi_core.values import Scope

CONDITION_COUNT_MAX: Final = 20  # H9.11


Word = bool | int | str | None
Value = Word | tuple[Word, ...]


class Condition(Data):
    """One condition: `operator` (of OPERATORS) compares a field of the body with a value."""

    tag = 21
    field: str
    operator: str
    value: Value


Where = tuple[Condition, ...]


def equal(found: object, value: object) -> bool:
    """Compare two values; a bool never equals a number."""
    return type(found) is type(value) and found == value


def one_of(found: object, values: object) -> bool:
    """Check whether the value is in the tuple; unlike in Python, True does not equal 1."""
    # `in` first, because it is fast; it is wrong only for True and 1, False and 0.
    return isinstance(values, tuple) and found in values and any(equal(found, value) for value in values)


def make_comparison(compare: Callable[[int, int], bool]) -> Callable[[object, object], bool]:
    """Return a comparison of two whole numbers, which is false for values of other types."""

    def holds(found: object, value: object) -> bool:
        return type(found) is int and type(value) is int and compare(found, value)

    return holds


def contains(found: object, value: object) -> bool:
    # `metadata__contains` looks for a pair in a tuple of pairs; other fields are tuples of texts.
    return isinstance(found, tuple) and one_of(value, found)


def has_key(found: object, value: object) -> bool:
    """Check whether a field of pairs has this key."""
    return isinstance(found, tuple) and any(type(it) is tuple and it and equal(it[0], value) for it in found)


OPERATORS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {  # H9.4 to H9.8
    "eq": equal,
    "ne": lambda found, value: not equal(found, value),
    "in": one_of,
    "not_in": lambda found, values: isinstance(values, tuple) and not one_of(found, values),
    "lt": make_comparison(lambda found, value: found < value),
    "lte": make_comparison(lambda found, value: found <= value),
    "gt": make_comparison(lambda found, value: found > value),
    "gte": make_comparison(lambda found, value: found >= value),
    "contains": contains,
    "has_key": has_key,
}


def admits(where: Where, body: object) -> bool:
    """Check whether a body meets every condition."""
    return all(holds(condition, body) for condition in where)


def holds(condition: Condition, body: object) -> bool:
    operator = OPERATORS.get(condition.operator)
    if operator is None or condition.field not in FIELDS.get(type(body), ()):
        return False
    return operator(getattr(body, condition.field), condition.value)


# Filters: conditions as callers of a search or a list write them.
#
#     (("type", "in", ("person", "note")), ("user", "eq", "ann"))     all conditions must hold
#     filter_of({"type__in": ("person", "note"), "user": "ann"})      the same
#
# Law 1. A filter only narrows: the scope applies in addition. Law 2. None is a value like any
# other, and equals only itself. Law 3. An unknown field or operator is refused, never ignored.


VALUE_COUNT_MAX: Final = 100
SCOPE_FIELDS: Final = ("user", "agent")
ANY_ROW: Final = ("id", "created_ms", "updated_ms")
FIELDS_OF: Final[Mapping[str, tuple[str, ...]]] = {  # H9.3, by kind of row
    "category": (*ANY_ROW, "name", "member_count"),
    "entity": (
        *ANY_ROW, "type", "memory_type", "name", "event_time_ms", "reinforced_count", "sources",
        "about", "metadata",
    ),
    "ended": ("id", "about", "by", "how", "at_ms"),
    "resource": (*ANY_ROW, "uri", "modality", "parent_id", "happened_ms", "session_id"),
    "membership": ("id", "created_ms", "entity_id", "category_id", "subcategory_id", "assigned_by"),
    "subcategory": (*ANY_ROW, "category_id", "name"),
    "reflection": (*ANY_ROW, "session_id", "started_ms", "ended_ms"),
}  # fmt: skip
KNOWN: Final = tuple(
    dict.fromkeys((*SCOPE_FIELDS, *(name for names in FIELDS_OF.values() for name in names)))
)
NUMBERS: Final = ("lt", "lte", "gt", "gte")
LISTS: Final = ("in", "not_in")
TEXTS: Final = ("contains", "has_key")
HAS_PAIR: Final = ("metadata", "contains")  # a key and its value

Given = tuple[str, str, Value]  # field, operator, value


def filter_of(fields: Mapping[str, Value]) -> tuple[Given, ...]:
    """Return the conditions of names `field` or `field__operator`, which are split at the last `__`."""
    return tuple(condition_of(name, value) for name, value in fields.items())


def condition_of(name: str, value: Value) -> Given:
    # `memory_type` is a field; `created_ms__gte` is a field with an operator.
    field, _, operator = name.rpartition("__")
    return (field, operator, value) if field else (name, "eq", value)


# Checks of filters.


def bad_filter(name: str, value: object) -> Error | None:
    """Return the error of the first invalid condition."""
    if type(value) is not tuple or len(value) > CONDITION_COUNT_MAX:
        return BadFilterValue(name, show_value(value), f"at most {CONDITION_COUNT_MAX} conditions")
    return next((error for each in value if (error := bad_condition(name, each)) is not None), None)


def bad_condition(name: str, given: object) -> Error | None:
    if type(given) is not tuple or len(given) != 3:
        return BadFilterValue(name, show_value(given), "(field, operator, value)")
    field, operator, value = given
    if type(field) is not str or field not in KNOWN:
        return UnknownField(name, show_value(field), " ".join(KNOWN))
    if type(operator) is not str or operator not in OPERATORS:
        return UnknownOperator(name, show_value(operator), " ".join(OPERATORS))
    wanted = what_fits(field, operator, value)
    return None if wanted is None else BadFilterValue(name, show_value(value), f"{wanted} for {operator}")


def what_fits(field: str, operator: str, value: object) -> str | None:
    """Return the kind of value that this operator needs for this field; None if the value is right."""
    if operator in NUMBERS:
        return None if is_int(value) else "a whole number"
    if (field, operator) == HAS_PAIR and isinstance(value, tuple):
        return None if len(value) == 2 and all(map(is_short, value)) else "a key with its value"
    if operator in TEXTS:
        return None if is_short(value) else "a text"
    if operator in LISTS:
        is_list = type(value) is tuple and len(value) <= VALUE_COUNT_MAX and all(map(is_word, value))
        return None if is_list else f"a tuple of at most {VALUE_COUNT_MAX} values"
    return None if is_word(value) else "a text, a whole number, true, false or none"


def is_word(value: object) -> bool:
    return value is None or isinstance(value, bool) or is_int(value) or is_short(value)


def is_short(value: object) -> bool:
    return is_text(value) and size(value) <= QUERY_BYTES_MAX


Filter = Annotated[tuple[Given, ...], Domain("filter", bad_filter)]
RowFilter = Annotated[tuple[Given, ...], Domain("row_filter", bad_filter)]  # of one kind of row


# From a filter to conditions on rows.


def conditions_of(given: tuple[Given, ...]) -> Where:
    """Return the conditions on rows, without those on the scope."""
    return tuple(Condition(*each) for each in given if each[0] not in SCOPE_FIELDS)


def reaches(given: tuple[Given, ...], kind: str, scope: Scope) -> bool:
    """Check whether rows of this kind can match the filter: they have its fields, and the scope matches."""
    for field, operator, value in given:
        if field in SCOPE_FIELDS:
            if not OPERATORS[operator](getattr(scope, field), value):
                return False
        # Law 2 of conditions: no row of a kind without the field can match.
        elif field not in FIELDS_OF[kind]:
            return False
    return True
