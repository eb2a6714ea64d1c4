"""Values, and whole memories, as canonical bytes and back.

Law 1. Equal values give equal bytes: one tag per class, fields in order, dicts sorted by key, strict types.
Law 2. Each class declares its tag, which is never reused for another class.
Law 3. Any bytes decode to a value that encodes to the same bytes, or give a typed error.
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
"""Exceptions that are raised while bytes are decoded that are not one of our values."""

TUPLE: Final = 0
DICT: Final = 1

MODULES: Final = (
    values, rows, conditions, requests, effects, answers, results, errors, config,
    core, working, session, archive, rewrites, state,
    api_rows, api_errors, api_requests, api_results, migration_rows, migration_requests,
)  # fmt: skip
"""The modules that declare classes with a tag. `register` adds classes that only workflows use."""

Plain: TypeAlias = "int | str | bytes | bool | Sequence[Plain] | None"
T = TypeVar("T")
Encoder = Callable[[Any], Any]  # gives a Plain
DECODERS: Final[dict[int, type]] = {TUPLE: tuple, DICT: dict}

PARTED: Final[frozenset[Any]] = frozenset({list, str, bytes})
PLAIN: Final[frozenset[Any]] = frozenset({type(None), bool, int, str, bytes})


def plain(value: Any) -> Plain:  # KeyError for a class that is not registered
    """Return the value in a form for msgpack, in which composites are lists that begin with their tag."""
    known: Plain = value if value.__class__ in PLAIN else ENCODERS[value.__class__](value)
    return known


def plain_parts(tag: int, values: Iterable[Any]) -> list[Plain]:
    """Return the tag and the parts in plain form. Inlined, since most parts are plain and calls are slow."""
    parts: list[Plain] = [tag]
    for value in values:
        parts.append(value if value.__class__ in PLAIN else ENCODERS[value.__class__](value))
    return parts


def plain_dict(value: Mapping[Any, object]) -> list[Plain]:
    # Sorted, so that equal dicts give equal bytes whatever their order.
    return plain_parts(DICT, [part for key in sorted(value) for part in (key, value[key])])


ENCODERS: Final[dict[type, Encoder]] = {
    tuple: partial(plain_parts, TUPLE), dict: plain_dict, archive.AccessRecords: plain_dict,
    archive.RowVersions: lambda value: plain_parts(TUPLE, value.pairs()),
}  # fmt: skip


def register(cls: type, tag: int) -> None:
    """Register a class under its tag. Classes of facts need one, so that running operations can be saved."""
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
    """Return canonical bytes. Raises KeyError for a class without a tag, which is a bug."""
    return pack(plain(value))


def decode(data: bytes) -> object:
    """Return the value that `encode` gave these bytes. Raises Rejected(StateDamaged)."""
    return read(data, lambda: msgpack.unpackb(data, list_hook=revive_value, **STRICT), encode)


def read(data: T, load: Callable[[], object], save: Callable[[object], T]) -> object:
    """Return the loaded value. Raises Rejected(StateDamaged) if saving it does not give the same data."""
    try:
        value = load()
        if save(value) != data:
            raise ValueError("not in canonical form")
    except UNREADABLE as error:
        raise errors.Rejected(errors.StateDamaged(str(error) or type(error).__name__)) from None
    return value


def revive_value(raw: list[Any]) -> object:
    """Return the composite value; its parts have been decoded already."""
    tag, *parts = raw
    if tag == DICT:
        return dict(zip(parts[::2], parts[1::2], strict=True))
    return tuple(parts) if tag == TUPLE else DECODERS[tag](*parts)


# Whole memories.


def save_state(value: "state.State", fingerprints: tuple[str, ...]) -> bytes:
    """Return the bytes of the state, with the fingerprints of the workflows of operations in flight."""
    long, body = extract_long_texts((fingerprints, value))
    # The version is outside the body, so that an older program can report it.
    return pack([FORMAT, VERSION, long, body, checksum(long, body)])


def load_state(data: bytes) -> "tuple[tuple[str, ...], state.State]":
    """Return the fingerprints and the state in these bytes. Raises Rejected(SnapshotVersion, StateDamaged).

    Memory use is proportional to the size of the data: every length in it is checked against its end.
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


# Long texts are stored once in a saved memory, even if operations in flight contain them several times: the
# lists of a search repeat rows, and a batch is in the plan, in `asked` and in `sent`.

LONG: Final = -1  # the tag of a reference to a long text, by its number
LONG_MIN: Final = 64
SHORT_BODY_BYTES: Final = 65_536  # smaller bodies are saved as they are


def extract_long_texts(value: object) -> tuple[list[Plain], bytes]:
    """Return the long texts of a value in order of appearance, and the value with references to them."""
    tree = plain(value)
    body = pack(tree)
    if len(body) < SHORT_BODY_BYTES:
        return [], body
    # ["tea...", ["x", "tea..."]] becomes ["tea..."] and [[LONG, 0], ["x", [LONG, 0]]].
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
    """Return the value of `extract_long_texts`; equal long texts in it are one object."""

    def whole(raw: list[Any]) -> object:
        # No tag of a composite is negative. The class is compared, too, because -1.0 == -1.
        return long[raw[1]] if raw[0] == LONG and raw[0].__class__ is int else revive_value(raw)

    # Without long texts, [LONG, n] is refused as an unknown tag.
    return msgpack.unpackb(body, list_hook=whole if long else revive_value, **STRICT)


def state_digest(value: "state.State") -> bytes:
    """Return a digest of 8 bytes over the whole state of a memory."""
    return blake2b(encode(value), digest_size=8).digest()


for cls in list_tagged(MODULES):
    register(cls, cls.tag)
