"""The trace of a run: numbered records of all that happened, and one hash over all of them.

Law 1. A record is a msgpack array [seq, world_ms, tag, *fields]: integers, texts, bytes, bools, null, arrays.
       Other values are arrays as umi_core.codec writes them.
Law 2. The hash covers all records in their order, including those that are no longer kept.
Law 3. Tags are numbered here and never reused.
Law 4. Prefix hash k is the hash right after the STEP record number (k + 1) * every, that record included.
"""

from collections import deque
from collections.abc import Callable, Iterator
from enum import IntEnum
from hashlib import blake2b
from itertools import zip_longest
from pathlib import Path
from typing import Final, TypeAlias

import msgpack

from umi_core.codec import ENCODERS, Plain, plain
from umi_core.data import Data
from umi_core.text import is_text
from umi_sim.record.saved_failures import write_whole

Field: TypeAlias = Plain
Record: TypeAlias = list[Field]

FORMAT: Final = "umi-trace-1"
HEAD_BYTES: Final = 64  # the beginning of a file, which contains FORMAT
PERSON: Final = b"umi-trace-v1"
HASH_BYTES: Final = 16
KEPT_COUNT_MAX: Final = 1_000
PREFIX_BYTES: Final = 6
PREFIX_COUNT_MAX: Final = 256
STEPS_PER_PREFIX: Final = 1  # at the start; doubled whenever there are PREFIX_COUNT_MAX prefixes


class Tag(IntEnum):
    """The kinds of records; the comment at each lists its fields."""

    RUN = 1  # config digest, scenario, target
    OP = 2  # item, agent, reading, request
    STEP = 3  # agent, reading, input tag, event
    EFFECT = 4  # event, value
    REPLY = 5  # op, outcome
    ANSWER = 6  # event, value
    FAULT = 7  # item, kind, event
    CLOCK = 8  # agent, move, reading
    LIFE = 9  # crash, restart, pause or resume, agent
    SCHEDULE = 10  # taken, over
    PHASE = 11  # safety, heal, liveness or audit
    MARK = 12  # name
    STATE = 13  # agent, digest
    SKIPPED = 14  # item, why
    END = 15  # verdict, counts


STEP: Final = int(Tag.STEP)


class Trace:
    """The records of one run. Its owner sets `world_ms` when world time moves."""

    __slots__ = ("_hash", "every", "kept", "prefixes", "record_count", "step_count", "world_ms")

    def __init__(self, *, keep_all: bool = False) -> None:
        self.world_ms = 0
        self.record_count = 0
        self.step_count = 0
        self.kept: deque[bytes] = deque(maxlen=None if keep_all else KEPT_COUNT_MAX)
        self.prefixes: list[bytes] = []
        self.every = STEPS_PER_PREFIX
        self._hash = blake2b(digest_size=HASH_BYTES, person=PERSON)

    def add(self, tag: Tag, *fields: object) -> None:
        """Append the next record."""
        number = +tag  # a plain integer
        unpacked = [self.record_count, self.world_ms, number, *fields]
        try:
            record = pack(unpacked)
        except UnicodeEncodeError:
            record = pack(with_surrogates_as_bytes(unpacked))
        self.record_count += 1
        self.kept.append(record)
        self._hash.update(record)
        if number == STEP:
            self._count_step()

    def hexdigest(self) -> str:
        """Return the hash of all records so far; more may follow."""
        return self._hash.hexdigest()

    def write(self, path: Path, config: dict[str, object]) -> None:
        """Write the kept records and their configuration; the file is complete or not there."""
        records = b"".join(self.kept)
        header = {"format": FORMAT, "trace": self.hexdigest(), "body": digest_of(records), "config": config}
        write_whole(path, pack(header) + records)

    def _count_step(self) -> None:
        self.step_count += 1
        if self.step_count % self.every == 0:
            self._add_prefix(self._hash.digest()[:PREFIX_BYTES])

    def _add_prefix(self, prefix: bytes) -> None:
        self.prefixes.append(prefix)
        if len(self.prefixes) == PREFIX_COUNT_MAX:
            del self.prefixes[::2]
            self.every *= 2
        assert len(self.prefixes) * self.every == self.step_count


class Difference(Data):
    """The first record, by its number, that two traces do not share; None where a trace has ended."""

    index: int
    a: Record | None
    b: Record | None


class SavedTrace(Data):
    """A trace file: the hash of the whole run, its configuration, the records that were kept."""

    hexdigest: str
    config: dict[str, object]
    kept: tuple[bytes, ...]


def first_difference(a: Trace | SavedTrace, b: Trace | SavedTrace) -> Difference | None:
    """Find the first difference of two traces, among the records that both still keep."""
    first = max(first_index(a), first_index(b))
    for index, (ours, theirs) in enumerate(zip_longest(kept_since(first, a), kept_since(first, b)), first):
        if ours != theirs:
            return Difference(index, decode(ours) if ours else None, decode(theirs) if theirs else None)
    return None


def kept_since(index: int, trace: Trace | SavedTrace) -> list[bytes]:
    return list(trace.kept)[index - first_index(trace) :]


def first_index(trace: Trace | SavedTrace) -> int:
    """Return the number of the oldest record that is kept."""
    if not trace.kept:
        return 0
    index = decode(trace.kept[0])[0]
    assert isinstance(index, int)
    return index


def decode(record: bytes) -> Record:
    """Return the fields of a packed record."""
    fields = msgpack.unpackb(record)
    assert isinstance(fields, list)
    return fields


def read(path: Path) -> SavedTrace:
    """Return the trace in a file. Raises ValueError if it is no such file, or damaged."""
    data = path.read_bytes()
    unpacker = msgpack.Unpacker(max_buffer_size=len(data) + 1)
    unpacker.feed(data)
    match header_in(unpacker):
        case {"format": "umi-trace-1", "trace": str(hexdigest), "body": bytes(body), "config": dict(config)}:
            if body != digest_of(data[unpacker.tell() :]):
                raise ValueError(f"{path} is damaged after its header: write the trace again")
            return SavedTrace(hexdigest, config, tuple(split(unpacker, data)))
    raise ValueError(f"{path} is not a trace of format {FORMAT}: write one with --trace FILE")


def header_in(unpacker: msgpack.Unpacker) -> object:
    try:
        return unpacker.unpack()
    except (ValueError, msgpack.UnpackException):
        return None


def split(unpacker: msgpack.Unpacker, data: bytes) -> Iterator[bytes]:
    """Yield the packed records that follow the header."""
    start = unpacker.tell()
    while start < len(data):
        unpacker.skip()
        end = unpacker.tell()
        yield data[start:end]
        start = end


def digest_of(data: bytes) -> bytes:
    return blake2b(data, digest_size=HASH_BYTES, person=PERSON).digest()


def is_trace(data: bytes) -> bool:
    """Return whether a file that begins so is a trace, complete or not."""
    return FORMAT.encode() in data[:HEAD_BYTES]


def with_surrogates_as_bytes(field: object) -> object:
    """Return the field with bytes in place of texts with lone surrogates, which msgpack cannot pack."""
    if isinstance(field, str):
        return field.encode("utf-8", "surrogatepass") if not is_text(field) else field
    if isinstance(field, list):
        return [with_surrogates_as_bytes(inner) for inner in field]
    return with_surrogates_as_bytes(plain(field)) if field.__class__ in ENCODERS else field


def packable(value: object) -> object:
    """Return a value in the form to pack: the digits of an int beyond 64 bits, else the form of the codec."""
    return str(value) if type(value) is int else plain(value)


pack: Final[Callable[[object], bytes]] = msgpack.Packer(strict_types=True, default=packable).pack
