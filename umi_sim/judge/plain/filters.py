"""Filters: what is wrong with one, of which levels and kinds it leaves rows, and which rows, as H9 says."""

from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any, Final

from umi_core.errors import BadFilterValue, Error, UnknownField, UnknownOperator
from umi_core.invariants import limits
from umi_core.values import Scope
from umi_sim.judge.plain.text import byte_count, is_text, shown

Given = tuple[tuple[str, str, Any], ...]

KINDS_OF: Final[Mapping[str, str]] = {  # category, entity, resource, membership, subcategory, n: reflection
    "id": "cermsn", "created_ms": "cermsn", "updated_ms": "cersn", "name": "ces", "member_count": "c",
    "type": "e", "memory_type": "e", "event_time_ms": "e", "reinforced_count": "e", "sources": "e",
    "metadata": "e", "uri": "r", "modality": "r", "parent_id": "r", "happened_ms": "r",
    "entity_id": "m", "category_id": "ms", "subcategory_id": "m", "assigned_by": "m",
    "session_id": "rn", "started_ms": "n", "ended_ms": "n",
}  # fmt: skip
OF_SCOPE: Final = ("user", "agent")


def same(found: Any, value: Any) -> bool:
    """A flag is no number, and None is itself alone."""
    return type(found) is type(value) and found == value


def both_numbers(found: Any, value: Any) -> bool:
    return type(found) is int and type(value) is int


HOLDS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "eq": same,
    "ne": lambda found, value: not same(found, value),
    "in": lambda found, values: any(same(found, value) for value in values),
    "not_in": lambda found, values: not any(same(found, value) for value in values),
    "lt": lambda found, value: both_numbers(found, value) and found < value,
    "lte": lambda found, value: both_numbers(found, value) and found <= value,
    "gt": lambda found, value: both_numbers(found, value) and found > value,
    "gte": lambda found, value: both_numbers(found, value) and found >= value,
    "contains": lambda found, value: isinstance(found, tuple) and value in found,
    "has_key": lambda found, value: (
        isinstance(found, tuple) and value in [it[0] for it in found if type(it) is tuple]
    ),
}


def may_hold(given: Given, level: str, scope: Scope) -> bool:
    """Whether rows of this level or kind have these fields, and the scope is the one that is asked for."""
    own = {"user": scope.user, "agent": scope.agent}
    letter = "n" if level.startswith("reflection") else level[0]
    has_fields = all(letter in KINDS_OF[name] for name, _, _ in given if name not in own)
    return has_fields and all(HOLDS[how](own[name], value) for name, how, value in given if name in own)


def meets(given: Given, known: Mapping[str, Any]) -> bool | None:
    """Whether a row with these fields holds all of it; None if another field of it may decide that."""
    told = [
        HOLDS[how](known[name], value) if name in known else None
        for name, how, value in given
        if name not in OF_SCOPE
    ]
    return False if False in told else None if None in told else True


def fields_of(row: Any, unsure: Collection[str] = ()) -> dict[str, Any]:
    """The fields of a row that a filter may be about, but for those that nobody has told yet."""
    return {name: getattr(row, name) for name in names_of(row.__class__) if name not in unsure}


@cache
def names_of(cls: type) -> tuple[str, ...]:
    """The fields of such a row that a filter may be about."""
    return tuple(name for name in KINDS_OF if hasattr(cls, name))


def wrong_filter(name: str, given: object) -> Error | None:
    """The first thing wrong with a filter."""
    if type(given) is not tuple or len(given) > 20:
        return BadFilterValue(name, shown(given), "")
    for each in given:
        if type(each) is not tuple or len(each) != 3:
            return BadFilterValue(name, shown(each), "")
        field, how, value = each
        if type(field) is not str or field not in (*KINDS_OF, *OF_SCOPE):
            return UnknownField(name, shown(field), "")
        if type(how) is not str or how not in HOLDS:
            return UnknownOperator(name, shown(how), "")
        if not is_comparable(how, value):
            return BadFilterValue(name, shown(value), "")
    return None


def is_comparable(how: str, value: object) -> bool:
    if how in ("lt", "lte", "gt", "gte"):
        return is_number(value)
    if how in ("contains", "has_key"):
        return is_short(value)
    if how in ("in", "not_in"):
        return type(value) is tuple and len(value) <= 100 and all(map(is_single, value))
    return is_single(value)


def is_single(value: object) -> bool:
    return value is None or type(value) is bool or is_number(value) or is_short(value)


def is_number(value: object) -> bool:
    return type(value) is int and -(2**63) <= value < 2**63


def is_short(value: object) -> bool:
    return is_text(value) and byte_count(str(value)) <= limits.QUERY_BYTES_MAX
