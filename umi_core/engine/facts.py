"""Facts: the values that an operation has learnt, each under a typed key; and the view of a step.

    MENTIONS: Final = Fact("mentions", tuple[Mention, ...])       beside the step that produces it
    return Learned(MENTIONS(found) | DROPPED(()))                 learnt: plain values by name
    first = facts[MENTIONS][0]                                    read: a Mention, to mypy as well

Law 1. The type of a fact is checked once, where it is produced; readers under its key rely on that type.
Law 2. The state stores only names and values of facts, as plain data; it does not store their keys.
"""

from collections.abc import Callable, Mapping
from types import UnionType
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, Union, get_args, get_origin

from msgspec import structs

from umi_core.config import Config
from umi_core.data import SET_LATER, Data, Owner
from umi_core.rows import Row
from umi_core.state import Tiers
from umi_core.values import Scope

if TYPE_CHECKING:
    from typing_extensions import TypeForm

T = TypeVar("T")
U = TypeVar("U")
Check = Callable[[object], bool]
UNIONS: Final = (Union, UnionType)


class Fact(Data, Generic[T]):
    """The key of a fact: its name, and the type of its value (a class, a tuple, or a union of those).

    `rows`: the allowed kinds of storage rows in the value; empty if any kind is allowed.

    Calling a fact with a value gives what a step learns: `COUNT(3)` is `{"count": 3}`. A step with `each`
    learns `fact.unit(value)` for each unit, and its fact is the tuple of those values.
    """

    name: str
    kind: "TypeForm[T]"
    rows: tuple[str, ...] = ()
    holds: Check = SET_LATER
    holds_unit: Check = SET_LATER
    uncompared = ("holds", "holds_unit")

    def __post_init__(self) -> None:
        unit = unit_of(self.kind)
        structs.force_setattr(self, "holds", self._with_rows(check_of(self.kind)))
        structs.force_setattr(self, "holds_unit", self._with_rows(check_of(unit)) if unit else never)

    def _with_rows(self, check: Check) -> Check:
        rows = self.rows
        return (lambda value: check(value) and not bad_row(value, rows)) if rows else check

    def covers(self, made: "Fact[Any]") -> bool:
        """Check whether a value produced under the key `made` may be read under this key."""
        of_rows = not self.rows or (bool(made.rows) and set(made.rows) <= set(self.rows))
        return of_rows and is_within(made.kind, self.kind)

    def __call__(self, value: T) -> dict[str, object]:
        return {self.name: value}

    def unit(self: "Fact[tuple[U, ...]]", value: U) -> dict[str, object]:
        return {self.name: value}


class Facts(Owner):
    """The facts known when a step asks or takes; `at` is the index of the current unit."""

    known: Mapping[str, Any]
    at: int = 0

    def __getitem__(self, fact: Fact[T]) -> T:
        value: T = self.known[fact.name]
        return value

    def get(self, fact: Fact[T]) -> T | None:
        """Return the value of a fact; None if the operation has no such fact."""
        value: T | None = self.known.get(fact.name)
        return value

    def unit(self, fact: Fact[tuple[U, ...]]) -> U:
        """Return the current unit of this fact, the one that is asked about or taken."""
        return self[fact][self.at]


class View(Owner):
    """Everything that a step sees besides facts: time, scope, settings, its own options, and the tiers.

    `ask` only reads it. `take` may replace tiers; the engine installs them after all checks have passed.
    """

    now_ms: int
    scope: Scope
    config: Config
    epoch: int
    number: int
    is_unasked: bool  # a background operation: no caller waits for a reply
    plan_count: int
    in_doubt: bool  # an earlier plan of this operation may have been committed
    committed_since: int  # commits of this memory since this plan began, in the end including its own
    options: Mapping[str, object]
    tiers: Tiers
    marks: list[str]


# Types.


def check_of(kind: Any) -> Check:
    """Return a check that values are of this type; raise TypeError if facts cannot have the type."""
    if kind is object:
        return lambda value: True
    if get_origin(kind) is tuple:
        return check_of_tuple(get_args(kind))
    if classes := plain_classes(kind):
        # `value.__class__ in classes` is the fast path: values are seldom of a derived class.
        bases = tuple(cls for cls in classes if cls is not int)  # so that a bool is not taken for a number
        return lambda value: value.__class__ in classes or isinstance(value, bases)
    if get_origin(kind) not in UNIONS:
        raise TypeError(f"a fact is of a class, a tuple or a union of those, and {kind} is none (facts.py)")
    checks = [check_of(part) for part in get_args(kind)]
    return lambda value: any(check(value) for check in checks)


def check_of_tuple(parts: tuple[Any, ...]) -> Check:
    if parts[1:] == (...,):
        each, known = check_of(parts[0]), frozenset(plain_classes(parts[0]))
        return lambda value: (
            isinstance(value, tuple) and (known.issuperset(map(type, value)) or all(map(each, value)))
        )
    checks = [check_of(part) for part in parts]
    return lambda value: (
        isinstance(value, tuple)
        and len(value) == len(checks)
        and all(check(part) for check, part in zip(checks, value, strict=True))
    )


def plain_classes(kind: Any) -> tuple[type, ...]:
    """Return the members of a union of classes, or a single class; empty for any other type."""
    parts = get_args(kind) if get_origin(kind) in UNIONS else (kind,)
    return parts if all(isinstance(part, type) and get_origin(part) is None for part in parts) else ()


def bad_row(value: object, kinds: tuple[str, ...]) -> str:
    """Return the kind of the first row that is damaged or not of these kinds; empty if there is none."""
    if isinstance(value, Row):
        # Steps read the bodies of these rows without checking for None.
        return "" if value.body is not None and value.address.kind in kinds else value.address.kind
    parts = value if isinstance(value, tuple) else ()
    return next((bad for part in parts if (bad := bad_row(part, kinds))), "")


def never(value: object) -> bool:
    return False


def unit_of(kind: Any) -> Any | None:
    """Return the type of one unit of a tuple; None if values of this type have no units."""
    parts = get_args(kind)
    if kind is object:
        return object
    return parts[0] if get_origin(kind) is tuple and parts[1:] == (...,) else None


def is_within(kind: Any, wide: Any) -> bool:
    """Check whether every value of type `kind` is also of type `wide`."""
    if wide is object or kind == wide:
        return True
    parts, others = get_args(kind), get_args(wide)
    if get_origin(kind) in UNIONS:
        return all(is_within(part, wide) for part in parts)
    # A single type is within a union if it is within any of the union's parts.
    if get_origin(wide) in UNIONS:
        return any(is_within(kind, other) for other in others)
    if get_origin(kind) is tuple is get_origin(wide):
        return len(parts) == len(others) and all(map(is_within, parts, others))
    return isinstance(kind, type) and isinstance(wide, type) and issubclass(kind, wide)
