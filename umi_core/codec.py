"""Values, and whole memories, as canonical bytes and back.

Law 1. Equal values give equal bytes: one tag per class, fields in order, dicts sorted by key, strict types.
Law 2. The tag of a class stands where the class is declared, and is never used again for another class.
Law 3. Any bytes decode to a value that encodes to the same bytes, or to a typed error.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from operator import attrgetter
from typing import Any, Final, TypeAlias, TypeVar

import msgpack

from umi_core import conditions, config, errors, rows, state, values
from umi_core.data import list_compared
from umi_core.declared import Incomplete, list_tagged
from umi_core.ids import pack
from umi_core.kelpie import errors as api_errors
from umi_core.kelpie import requests as api_requests
from umi_core.kelpie import results as api_results
from umi_core.kelpie import rows as api_rows
from umi_core.messages import answers, effects, requests, results
from umi_core.migration import requests as migration_requests
from umi_core.migration import rows as migration_rows
from umi_core.tiers import archive, core, rewrites, session, working

FORMAT: Final = "umi.state"
VERSION: Final = 3
STRICT: Final = {"max_map_len": 0, "max_ext_len": 0}
UNREADABLE: Final = (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError)
"""Exceptions that reading raises for bytes that are no value of ours."""

TUPLE: Final = 0
DICT: Final = 1

MODULES: Final = (
    values, rows, conditions, requests, effects, answers, results, errors, config,
    core, working, session, archive, rewrites, state,
    api_rows, api_errors, api_requests, api_results, migration_rows, migration_requests,
)  # fmt: skip
"""Where classes with a tag are declared. Those that only one workflow knows are added by `register`."""

Plain: TypeAlias = "int | str | bytes | bool | Sequence[Plain] | None"
T = TypeVar("T")
Encoder = Callable[[Any], Any]  # gives a Plain
DECODERS: Final[dict[int, type]] = {TUPLE: tuple, DICT: dict}

PARTED: Final[frozenset[Any]] = frozenset({list, str, bytes})
PLAIN: Final[frozenset[Any]] = frozenset({type(None), bool, int, str, bytes})


def plain(value: Any) -> Plain:  # a class that is not registered is a KeyError
    """Return the value as msgpack can hold it: composites are lists that begin with their tag."""
    known: Plain = value if value.__class__ in PLAIN else ENCODERS[value.__class__](value)
    return known


def plain_parts(tag: int, values: Iterable[Any]) -> list[Plain]:
    """Return the parts in plain form. Most are plain already: a call for each would be most of the cost."""
    parts: list[Plain] = [tag]
    for value in values:
        parts.append(value if value.__class__ in PLAIN else ENCODERS[value.__class__](value))
    return parts


def plain_dict(value: Mapping[Any, object]) -> list[Plain]:
    # Sorted, so that the order in which keys were put does not change the bytes.
    return plain_parts(DICT, [part for key in sorted(value) for part in (key, value[key])])


ENCODERS: Final[dict[type, Encoder]] = {
    tuple: partial(plain_parts, TUPLE), dict: plain_dict, archive.AccessRecords: plain_dict,
    archive.RowVersions: lambda value: plain_parts(TUPLE, value.pairs()),
}  # fmt: skip


def register(cls: type, tag: int) -> None:
    """Give a class its tag. The class of a fact needs one, else no operation could be saved in flight."""
    if type(tag) is not int:
        raise Incomplete(f"{cls.__name__} has the tag {tag!r}: give it a whole number that was never used")
    if tag in DECODERS:
        raise Incomplete(
            f"{cls.__name__} has the tag {tag} of {DECODERS[tag].__name__}: give it one of its own"
        )
    DECODERS[tag] = cls
    ENCODERS[cls] = fields_encoder(list_compared(cls), tag)


def fields_encoder(names: Sequence[str], tag: int) -> Encoder:
    if not names:
        return lambda value: [tag]
    if len(names) == 1:
        only = attrgetter(names[0])
        return lambda value: [tag, plain(only(value))]
    getter = attrgetter(*names)
    return lambda value: plain_parts(tag, getter(value))


def encode(value: object) -> bytes:
    """Return canonical bytes. Raises KeyError for a class without a tag: a bug, not bad input."""
    return pack(plain(value))


def decode(data: bytes) -> object:
    """Return the value that these bytes are. Raises Rejected(StateDamaged)."""
    return read(data, lambda: msgpack.unpackb(data, list_hook=revive_value, **STRICT), encode)


def read(data: T, load: Callable[[], object], save: Callable[[object], T]) -> object:
    """Return the loaded value if saving it gives the same data again. Raises Rejected(StateDamaged)."""
    try:
        value = load()
        if save(value) != data:
            raise ValueError("not in canonical form")
    except UNREADABLE as error:
        raise errors.Rejected(errors.StateDamaged(str(error) or type(error).__name__)) from None
    return value


def revive_value(raw: list[Any]) -> object:
    """Return one composite, whose parts are values already."""
    tag, *parts = raw
    if tag == DICT:
        return dict(zip(parts[::2], parts[1::2], strict=True))
    return tuple(parts) if tag == TUPLE else DECODERS[tag](*parts)


# Whole memories.


def save_state(value: "state.State", fingerprints: tuple[str, ...]) -> bytes:
    """Return the bytes of the state, with the fingerprints of the workflows of operations in flight."""
    long, body = extract_long_texts((fingerprints, value))
    # The version stands outside the body, so that an older program can say what it does not understand.
    return pack([FORMAT, VERSION, long, body, checksum(long, body)])


def load_state(data: bytes) -> "tuple[tuple[str, ...], state.State]":
    """Return what `save_state` saved. Raises Rejected(SnapshotVersion, StateDamaged) and loads nothing then.

    Allocates in proportion to the data, which holds no length that is not checked against its end.
    """
    match unpack_value(data):
        case [name, version, *_] if name == FORMAT and type(version) is int and version != VERSION:
            raise errors.Rejected(errors.SnapshotVersion(version))
        case [name, int(), list(long), bytes(body), digest] if (
            name == FORMAT and pack([FORMAT, VERSION, long, body, digest]) == data
        ):
            pass
        case _:
            raise errors.Rejected(errors.StateDamaged("not a saved memory"))
    if checksum(long, body) != digest:
        raise errors.Rejected(errors.StateDamaged("checksum differs"))
    match read((long, body), lambda: restore_long_texts(long, body), extract_long_texts):
        case (tuple() as fingerprints, state.State() as value):
            return fingerprints, value
    raise errors.Rejected(errors.StateDamaged("holds something else than a memory"))


def unpack_value(data: bytes) -> object:
    try:
        return msgpack.unpackb(data, **STRICT)
    except (ValueError, TypeError):
        return None


def checksum(long: Sequence[Plain], body: bytes) -> bytes:
    return blake2b(pack(long) + body, digest_size=16).digest()


# Long texts stand once in a saved memory, however often operations in flight hold them: each list of a search
# brings the same notes, and a batch is what was planned, asked and sent.

LONG: Final = -1  # the tag of a number: which of the long ones it is
LONG_MIN: Final = 64
SHORT_BODY_BYTES: Final = 65_536  # below it nothing is looked for


def extract_long_texts(value: object) -> tuple[list[Plain], bytes]:
    """Return the long texts of a value in order of appearance, and the value with numbers in their places."""
    tree = plain(value)
    body = pack(tree)
    if len(body) < SHORT_BODY_BYTES:
        return [], body
    # ["tea...", ["x", "tea..."]] becomes [[LONG, 0], ["x", [LONG, 0]]], and "tea..." stands once before it.
    numbers: dict[Plain, int] = {}
    body = pack(number_texts(tree, numbers))
    return list(numbers), body


def number_texts(tree: Plain, numbers: dict[Plain, int]) -> Plain:
    if isinstance(tree, list):
        return [number_texts(part, numbers) if part.__class__ in PARTED else part for part in tree]
    if isinstance(tree, str | bytes) and len(tree) >= LONG_MIN:
        return [LONG, numbers.setdefault(tree, len(numbers))]
    return tree


def restore_long_texts(long: Sequence[Plain], body: bytes) -> object:
    """Return the value again; equal long texts in it are one object."""

    def whole(raw: list[Any]) -> object:
        # A composite begins with its tag, and no tag is negative. -1.0 == -1, and a float is no tag.
        return long[raw[1]] if raw[0] == LONG and raw[0].__class__ is int else revive_value(raw)

    # With no long texts a [LONG, n] is an unknown tag, and refused.
    return msgpack.unpackb(body, list_hook=whole if long else revive_value, **STRICT)


def state_digest(value: "state.State") -> bytes:
    """Return 8 bytes over everything that a memory is."""
    return blake2b(encode(value), digest_size=8).digest()


for cls in list_tagged(MODULES):
    register(cls, cls.tag)
