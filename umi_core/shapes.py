"""Shapes: checks that a value read from bytes is as its class declares, down to the last nested field.

The check follows from the types of the fields, and from their domains, which are stricter. A class whose
fields must also fit each other has a method `unsound`.

Law 1. A check never raises: for any decoded value it returns an error as a sentence, or "" for none.
Law 2. A plain `int` has 64 bits, so that it can be encoded; one that must not be negative has a domain.
"""

from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType
from typing import Annotated, Any, Final, Literal, get_args, get_origin, get_type_hints

from umi_core.codec import ENCODERS
from umi_core.data import is_struct, list_compared
from umi_core.domains import Domain, is_int, is_union
from umi_core.domains import anything as no_wrong
from umi_core.text import is_text, show_value
from umi_core.tiers.paged import PagedTable

Wrong = Callable[[Any], str]
"""A check: it returns the error of a value as `path: sentence`, or "" if there is none."""


@cache
def shape_of(kind: Any) -> Wrong:
    """Return the check of a declared type. Raises TypeError for a type that saved classes must not use."""
    origin, args = get_origin(kind), get_args(kind)
    if kind in (object, Any):
        return anything
    # A domain checks the type, too, and its errors are more exact.
    if origin is Annotated:
        return within(args[1]) if isinstance(args[1], Domain) else shape_of(args[0])
    if origin is Literal:
        return lambda value: "" if value in args else not_a(value, " or ".join(args))
    if is_union(kind):
        return one_of(tuple(map(shape_of, args)), tuple(map(class_of, args)))
    if origin is tuple:
        return tuple_of(args)
    if origin in (dict, Mapping):
        return dict_of(*map(shape_of, args))
    if origin is PagedTable:
        return dict_of(shape_of(str), shape_of(args[0]))
    # By exact class: a bool is not an int, and an object of a subclass of str is not a text.
    if kind in SCALARS:
        return SCALARS[kind]
    if not is_struct(kind):
        raise TypeError(f"{kind} is no type of a value that is saved")
    return object_of(kind)


def class_of(kind: Any) -> type | None:
    """Return the class of all values of this type; None if the type does not name one."""
    kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    found = get_origin(kind) or kind
    return found if isinstance(found, type) else None


def not_a(value: object, wanted: str) -> str:
    return f": {show_value(value)} is not {wanted}"


# Scalars.


def scalar(cls: type, wanted: str) -> Wrong:
    return lambda value: "" if value.__class__ is cls else not_a(value, wanted)


SCALARS: Final[dict[Any, Wrong]] = {
    int: lambda value: "" if is_int(value) else not_a(value, "a whole number of 64 bits"),
    str: lambda value: "" if is_text(value) else not_a(value, "a text"),
    bytes: scalar(bytes, "bytes"),
    bool: scalar(bool, "true or false"),
    NoneType: scalar(NoneType, "nothing"),
    None: scalar(NoneType, "nothing"),  # `None` as an argument of a type
}


def within(domain: Domain) -> Wrong:
    """Return the check of a domain; if that admits anything, the check of the value by its own class."""
    if domain.wrong is no_wrong:
        return anything

    def wrong(value: object) -> str:
        error = domain.wrong("value", value)
        return "" if error is None else f": {error}"

    return wrong


# Composites.


def one_of(shapes: tuple[Wrong, ...], classes: tuple[type | None, ...]) -> Wrong:
    """Return a check that any of the shapes fits; the error is that of the shape for the value's class."""

    known = tuple(zip(classes, shapes, strict=True))

    def wrong(value: object) -> str:
        # For `Queued | Waiting` and an invalid Waiting, the error is that of the shape of Waiting.
        near = [shape for cls, shape in known if cls is None or isinstance(value, cls)] or shapes
        problem = ""
        for shape in near:
            if not (each := shape(value)):
                return ""
            problem = problem or each
        return problem

    return wrong


def tuple_of(args: tuple[Any, ...]) -> Wrong:
    if args[1:] == (...,):
        return each_of(shape_of(args[0]))
    shapes = tuple(map(shape_of, args))

    def wrong(value: object) -> str:
        if not isinstance(value, tuple) or len(value) != len(shapes):
            return not_a(value, f"a tuple of {len(shapes)}")
        for at, (shape, each) in enumerate(zip(shapes, value, strict=True)):
            if problem := shape(each):
                return f"[{at}]{problem}"
        return ""

    return wrong


def each_of(shape: Wrong) -> Wrong:
    def wrong(value: object) -> str:
        if not isinstance(value, tuple):
            return not_a(value, "a tuple")
        for at, each in enumerate(value):
            if problem := shape(each):
                return f"[{at}]{problem}"
        return ""

    return wrong


def dict_of(key_shape: Wrong, value_shape: Wrong) -> Wrong:
    def wrong(value: object) -> str:
        if not isinstance(value, Mapping):
            return not_a(value, "a table")
        for key, each in value.items():
            if problem := key_shape(key) or value_shape(each):
                return f"[{show_value(key)}]{problem}"
        return ""

    return wrong


def object_of(base: type) -> Wrong:
    """Return a check for an object of this class or of a derived class with a tag."""

    def wrong(value: object) -> str:
        cls: Any = value.__class__
        # A class without a tag cannot be encoded, so no valid state has one of its objects.
        if not issubclass(cls, base) or cls not in ENCODERS:
            return not_a(value, f"a {base.__name__}")
        return fields_of(cls)(value)

    return wrong


@cache
def fields_of(cls: Any) -> Wrong:
    hints = get_type_hints(cls, include_extras=True)
    # Only the encoded fields (`register` in codec.py); other fields are derived from them.
    shapes = [(name, shape_of(hints[name])) for name in list_compared(cls)]
    unsound = getattr(cls, "unsound", None)

    def wrong(value: object) -> str:
        for name, shape in shapes:
            if problem := shape(getattr(value, name)):
                return f".{name}{problem}"
        return f": {problem}" if unsound and (problem := unsound(value)) else ""

    return wrong


def anything(value: object) -> str:
    """Check a value of undeclared type: it is sound if all its parts are."""
    cls: Any = value.__class__
    if cls in SCALARS:
        return SCALARS[cls](value)
    if isinstance(value, tuple):
        return each_of(anything)(value)
    if isinstance(value, dict):
        return dict_of(anything, anything)(value)
    return fields_of(cls)(value) if is_struct(cls) else not_a(value, "a value of a declared type")
