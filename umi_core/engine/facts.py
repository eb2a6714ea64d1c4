"""Facts: what an operation knows, each under a key that knows its type; and what else a step sees.

    MENTIONS: Final = Fact("mentions", tuple[Mention, ...])       beside the step that produces it
    return Learned(MENTIONS(found) | DROPPED(()))                 learnt: plain values by name
    first = facts[MENTIONS][0]                                    read: a Mention, to mypy as well

Law 1. A fact is checked once, where it is produced; a function that reads it under its key has its type.
Law 2. The state keeps plain data, values by name: a key is no part of it.
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
    """A name and the type of what is known under it: a class, a tuple, or a union of those.

    `rows`: the kinds that rows in it may have, where steps rely on that; empty for any.

    Called with a value it is what a step learns. A step with `each` learns `fact.unit(value)` per unit, and
    its fact is the tuple of those.
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
        return (lambda value: check(value) and not odd_row(value, rows)) if rows else check

    def covers(self, made: "Fact[Any]") -> bool:
        """Check whether a value made under `made` may be read under this fact."""
        of_rows = not self.rows or (bool(made.rows) and set(made.rows) <= set(self.rows))
        return of_rows and is_within(made.kind, self.kind)

    def __call__(self, value: T) -> dict[str, object]:
        return {self.name: value}

    def unit(self: "Fact[tuple[U, ...]]", value: U) -> dict[str, object]:
        return {self.name: value}


class Facts(Owner):
    """The facts that are known when a step asks or takes; `at`: the index of its unit."""

    known: Mapping[str, Any]
    at: int = 0

    def __getitem__(self, fact: Fact[T]) -> T:
        value: T = self.known[fact.name]
        return value

    def get(self, fact: Fact[T]) -> T | None:
        """Return the value of a fact; None if this workflow does not have it."""
        value: T | None = self.known.get(fact.name)
        return value

    def unit(self, fact: Fact[tuple[U, ...]]) -> U:
        """Return the unit of this fact that is asked about or taken now."""
        return self[fact][self.at]


class View(Owner):
    """Everything else that a step sees: time, scope, settings, its own options, and the tiers.

    `ask` only reads it. `take` may replace tiers; the engine puts them in place when all checks hold.
    """

    now_ms: int
    scope: Scope
    config: Config
    epoch: int
    number: int
    is_unasked: bool  # no caller waits for the reply: upkeep has begun it
    plan_count: int
    in_doubt: bool  # an earlier plan of this operation may have happened
    committed_since: int  # commits of this memory since this plan began; its own is one of them at last
    options: Mapping[str, object]
    tiers: Tiers
    marks: list[str]


# Types.


def check_of(kind: Any) -> Check:
    """Return a check of a value's classes by this type; raise TypeError if no fact can be of it."""
    if kind is object:
        return lambda value: True
    if get_origin(kind) is tuple:
        return check_of_tuple(get_args(kind))
    if classes := plain_classes(kind):
        # `value.__class__ in classes` comes first: values are seldom of a derived class.
        bases = tuple(cls for cls in classes if cls is not int)  # a bool is no number
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
    """Return the classes of a class, or of a union of nothing but classes; empty for any other type."""
    parts = get_args(kind) if get_origin(kind) in UNIONS else (kind,)
    return parts if all(isinstance(part, type) and get_origin(part) is None for part in parts) else ()


def odd_row(value: object, kinds: tuple[str, ...]) -> str:
    """Return the kind of the first row that is of none of these kinds, or damaged; empty if there is none."""
    if isinstance(value, Row):
        # A step reads the body of such a row without asking whether there is one.
        return "" if value.body is not None and value.address.kind in kinds else value.address.kind
    parts = value if isinstance(value, tuple) else ()
    return next((odd for part in parts if (odd := odd_row(part, kinds))), "")


def never(value: object) -> bool:
    return False


def unit_of(kind: Any) -> Any | None:
    """Return the type of one unit; None if a value of this type has none."""
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
    # Any part of the wider union is enough, for one part of the narrower.
    if get_origin(wide) in UNIONS:
        return any(is_within(kind, other) for other in others)
    if get_origin(kind) is tuple is get_origin(wide):
        return len(parts) == len(others) and all(map(is_within, parts, others))
    return isinstance(kind, type) and isinstance(wide, type) and issubclass(kind, wide)
