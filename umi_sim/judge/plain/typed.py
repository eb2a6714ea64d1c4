"""Whether a value holds what the fields of its class may hold: the judge's own reading of types.

Hit(version=1, ...)        whole
Hit(version="1", ...)      not: a text where a whole number is declared
Hit(version=True, ...)     not: a flag is no number, nor is what 64 bits do not hold
Hit(score_ppm=-1, ...)     not: what its unit cannot be
Stored(change="lost", ...) not: no word of this field
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, Final, Literal, get_args, get_origin

import attrs

from umi_core.errors import Error
from umi_core.invariants.limits import I64_MAX, PPM

Holds = Callable[[Any], bool]

COUNTED: Final = ("_ms", "_count", "_bytes", "_ppm", "version", "seq", "total", "attempts")
"""How numbers are called that are never below zero; those of errors may be what a caller gave."""
OF_ROWS: Final = ("Stored", "Hit", "LevelHit", "Entity", "Version", "SessionSaved", "SessionLoaded")
"""What has the version of a row, which begins with 1."""
LEVELS: Final = "categories entities reflections resources"
WORDS: Final[Mapping[tuple[str, str], str]] = {
    ("Stored", "change"): "created updated unchanged forgotten",
    ("Memorized", "change"): "created updated unchanged",
    ("Evolved", "change"): "updated unchanged",
    ("Reflected", "change"): "created updated unchanged removed",
    ("BlockWritten", "change"): "created set appended replaced described imported deleted unchanged",
    ("AgentSwitched", "change"): "closed opened unchanged purged",
    ("Appended", "log"): "message archival",
    ("RecordAdded", "log"): "archival",
    ("RoutingDecision", "block"): "persona human facts goals scratch",
    ("RoutingDecision", "routed_by"): "model table kept",
    ("RoutingDecision", "outcome"): "not_asked promoted already_in_core moved refused_full refused_quota",
    ("Block", "kind"): "system persona human facts goals scratch",
    ("LevelHit", "level"): LEVELS,
    ("LevelTried", "level"): LEVELS,
    ("Retrieved", "ordered_by"): "vector model",
}
"""By class and field, the words that may stand there."""


def is_whole(value: Any) -> bool:
    """Of an object, or a tuple of them, whether every field holds what it may."""
    if type(value) is tuple:
        return all(map(is_whole, value))
    cls: Any = type(value)
    return fields_hold(cls)(value) if attrs.has(cls) else cls is not int or is_number(value)


def is_number(value: Any) -> bool:
    return type(value) is int and -I64_MAX - 1 <= value <= I64_MAX


def misfit(value: Any, name: str = "") -> str:
    """What it holds and may not, as `Hit.version = '1'`."""
    cls: Any = type(value)
    if cls is tuple:
        return next((misfit(part, name) for part in value if not is_whole(part)), f"{name} = {value!r}")
    for field, fits in declared(cls) if attrs.has(cls) else ():
        held, at = getattr(value, field), f"{cls.__name__}.{field}"
        if not is_whole(held) or not fits(held):
            return misfit(held, at)
    return f"{name} = {value!r}"


@cache
def declared(cls: Any) -> list[tuple[str, Holds]]:
    return [(field.name, field_holds(cls, field.name, field.type)) for field in attrs.fields(cls)]


@cache
def fields_hold(cls: Any) -> Holds:
    each = declared(cls)
    return lambda value: all(fits(getattr(value, name)) for name, fits in each)


def field_holds(cls: type, name: str, kind: Any) -> Holds:
    """What a field may hold by its type, its unit and its words."""
    fits = holds(kind)
    if (words := WORDS.get((cls.__name__, name))) is not None:
        known = words.split()
        return lambda value: value in known
    if not name.endswith(COUNTED) or issubclass(cls, Error):
        return fits
    most = PPM if name.endswith("_ppm") else I64_MAX
    least = 1 if cls.__name__ in OF_ROWS and name == "version" else 0
    return lambda value: fits(value) and (type(value) is not int or least <= value <= most)


@cache
def holds(kind: Any) -> Holds:
    """What a field of this type may hold; of a type that is only named, whatever is whole by itself."""
    of, origin = get_args(kind), get_origin(kind)
    if origin is Annotated:
        return holds(of[0])
    if kind is object or isinstance(kind, str):
        return is_whole
    if origin is Literal:
        return lambda value: isinstance(value, str) and value in of
    if origin is tuple:
        return tuple_of(of)
    if of:
        each = [holds(one) for one in of]
        return lambda value: any(fits(value) for fits in each)
    if attrs.has(kind):  # or of a class below it, as one of many errors is an Error
        return lambda value: isinstance(value, kind) and is_whole(value)
    return is_number if kind is int else lambda value: type(value) is kind


def tuple_of(kinds: tuple[Any, ...]) -> Holds:
    if kinds[1:] == (...,):
        every = holds(kinds[0])
        return lambda values: type(values) is tuple and all(map(every, values))
    each = [holds(kind) for kind in kinds]
    return lambda values: (
        type(values) is tuple
        and len(values) == len(each)
        and all(fits(value) for fits, value in zip(each, values, strict=True))
    )
