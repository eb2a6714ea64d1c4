"""The JSON form of values that are sent to a process and back. It mirrors the form of the codec in bytes.

    [28, "extract", "Which entities...", "default", 7, 30000]      AskModel: its tag, then its fields in order
    [0, "a", "b"]                                                  a tuple
    {"bytes": "p5wW"}                                              bytes, in base64
    {"other": "inf"}                                               not a value: the answer is malformed

Law 1. A value is read back unchanged; a malformed value is read back as another malformed value.
Law 2. Reading any JSON gives a value with the types that its class declares, or raises Unreadable.
"""

from base64 import b64decode, b64encode
from typing import Any, Final

from umi_core.codec import DECODERS, TUPLE, UNREADABLE, plain, revive_value
from umi_core.data import Data, is_struct, list_compared
from umi_core.shapes import shape_of

BYTES: Final = "bytes"
OTHER: Final = "other"
TAGS: Final = {cls: tag for tag, cls in sorted(DECODERS.items()) if is_struct(cls)}


class Unreadable(ValueError):
    """A message is not a value, or not one of the expected type; the text says why."""


class Other(Data):
    """A value that no field may have, such as an infinite number."""

    text: str


def to_json(value: object) -> Any:
    try:
        return in_json(plain(value))
    except KeyError:  # a malformed answer: services give these on purpose
        return in_parts(value)


def in_json(tree: Any) -> Any:
    if isinstance(tree, list):
        return [in_json(part) for part in tree]
    return {BYTES: b64encode(tree).decode()} if isinstance(tree, bytes) else tree


def in_parts(value: Any) -> Any:
    if isinstance(value, tuple):
        return [TUPLE, *map(to_json, value)]
    tag = TAGS.get(type(value))
    return (
        {OTHER: repr(value)} if tag is None else [tag, *(to_json(getattr(value, it)) for it in fields(value))]
    )


def fields(value: Any) -> list[str]:
    """Return the fields of an object or class that are written."""
    cls = value if isinstance(value, type) else type(value)
    # As in the codec: a field that is not compared is derived from others, and is not sent.
    return [*list_compared(cls)]


def from_json(found: Any, kind: Any) -> Any:
    """Read a value of this type, checked down to its last field. Raises Unreadable."""
    try:
        value = read_tree(found)
    except UNREADABLE as error:
        raise Unreadable(f"{type(error).__name__}: {error}") from None
    # Its class exists, but the fields may still have values of any type.
    if wrong := shape_of(kind)(value):
        raise Unreadable(f"{type(value).__name__}{wrong}")
    return value


def read_tree(tree: Any) -> Any:
    if isinstance(tree, list):
        return revive_value([read_tree(part) for part in tree])
    if isinstance(tree, dict):
        return Other(tree[OTHER]) if OTHER in tree else b64decode(tree[BYTES], validate=True)
    return tree


def classes() -> dict[str, list[str]]:
    """Return, by tag, the name of each class and its fields in order, for other implementations."""
    return {str(tag): [cls.__name__, *fields(cls)] for cls, tag in TAGS.items()}
