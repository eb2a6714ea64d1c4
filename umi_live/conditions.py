"""Translate conditions to SQL if a table has their values, so that fewer rows must be decoded.

Law 1. A condition without a column is left to `umi_core.conditions.admits`; SQL only preselects rows then.
Law 2. A condition that is translated means exactly the same as in `admits`.
"""

from typing import Final

from umi_core.conditions import Condition, Where
from umi_core.ids import text_hash
from umi_core.limits import I64_MAX, I64_MIN
from umi_core.rows import BODIES, FIELDS

Binding = int | str
Clause = tuple[str, tuple[Binding, ...]]

COMPARED: Final = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
LISTED: Final = {"in": "in", "not_in": "not in"}
TEXTS: Final = {"type": ("entity",), "id": ("entity", "relation", "session")}
NAMING: Final = "number in (select number from tie where scope = ? and kind = ? and field = ? and value = ?)"
SOURCED: Final = "(select number from tie where scope = ? and kind = 'entity' and field = 'touches')"
SOURCE_LISTS: Final = {"eq": "not in", "ne": "in"}  # for the sources of a fact compared with the empty list
VALUES_MAX: Final = 500  # bindings of one statement


def clause(where: Where, kind: str, scope: int) -> tuple[str, list[Binding], bool]:
    """Return the conditions as SQL that begins with ` and`, its bindings, and whether it covers all of them.

    `kind`: the kind of the rows; `scope`: the number of their scope.
    """
    sql, bindings, is_all = "", list[Binding](), True
    for condition in where:
        # Rows of a kind without this field meet no condition on it.
        if kind not in BODIES or condition.field not in FIELDS[BODIES[kind]]:
            return " and false", [], True
        found = translate_condition(condition, kind, scope)
        if found is None:
            is_all = False
        else:
            sql += f" and {found[0]}"
            bindings += found[1]
    return sql, bindings, is_all


def excluded_ids(condition: Condition) -> tuple[object, ...] | None:
    """Return the ids that a condition excludes, which can be checked without rows; None for all others."""
    is_one = condition.field == "id" and condition.operator == "not_in"
    return condition.value if is_one and isinstance(condition.value, tuple) else None


def translate_condition(condition: Condition, kind: str, scope: int) -> Clause | None:
    """Return a condition as SQL with its bindings; None if no column has the value."""
    match condition:
        case Condition("type" | "id" as field, "in" | "not_in" as operator, tuple(values)):
            # Only texts: SQLite would convert a number to a text, but in Python it equals no text.
            is_plain = kind in TEXTS[field] and len(values) <= VALUES_MAX
            if is_plain and all(type(value) is str for value in values):
                if not values:  # SQL has no empty list
                    return str(operator == "not_in").lower(), ()
                marks = ", ".join("?" * len(values))
                return f"{field} {LISTED[operator]} ({marks})", tuple(map(str, values))
        case Condition("follows", "in", tuple(values)) if len(values) <= VALUES_MAX:
            if all(type(value) is str for value in values):
                marks = ", ".join("?" * len(values)) or "null"
                return NAMING.replace("value = ?", f"value in ({marks})"), (
                    scope, kind, "follows", *map(str, values),
                )  # fmt: skip
        case Condition("time_ms", operator, int(value)) if kind == "entity" and operator in COMPARED:
            if type(value) is int and I64_MIN <= value <= I64_MAX:
                return f"time_ms {COMPARED[operator]} ?", (value,)
        case Condition("vector_missing", "eq", bool(value)) if kind == "entity":
            return f"vector_missing = {int(value)}", ()
        case Condition("about" | "touches" as field, "contains", str(value)):
            return NAMING, (scope, kind, field, value)
        case Condition("tags", "contains", str(value)) if kind == "archival":
            return NAMING, (scope, kind, "tags", text_hash(value))
        case Condition("sources", "contains", str(value)) if kind == "entity":
            return NAMING, (scope, kind, "touches", value)
        # A fact without sources has no tie of the field `touches`, which contains them.
        case Condition("sources", "eq" | "ne" as operator, ()) if kind == "entity":
            return f"number {SOURCE_LISTS[operator]} {SOURCED}", (scope,)
    return None
