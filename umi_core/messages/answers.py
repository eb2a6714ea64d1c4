"""All that the world tells a memory: answers to its effects, and that time has passed."""

from umi_core.data import Data
from umi_core.messages.effects import FailureKind
from umi_core.messages.requests import Request
from umi_core.rows import Address, Row


class ModelReplied(Data):
    """The reply of a model."""

    tag = 69
    request_id: int
    text: str


class Embedded(Data):
    """One vector per text, in order. The memory refuses values that are not whole numbers in range."""

    tag = 70
    request_id: int
    # Not numbers yet: `sound_vectors` takes each vector that is sound and counts the others as missing.
    vectors: tuple[tuple[object, ...], ...]


class ReadDone(Data):
    """The rows of a read; `cursor` if there are more, `count` for `CountRows`."""

    tag = 71
    request_id: int
    rows: tuple[Row, ...] = ()
    cursor: str | None = None
    count: int | None = None


class Committed(Data):
    """The batch is durable. `versions` are in order of its writes.

    `receipt` is the body of its receipt row if it has one. For a key that storage knows already, both are
    those of the first batch.
    """

    tag = 72
    request_id: int
    # (Address(scope, "entity", "fct_1"), 3): the row has version 3 now. A deleted row has one, too, so that a
    # row that is put there later has a higher one.
    versions: tuple[tuple[Address, int], ...] = ()
    # Any object, since it comes from outside; `is_receipt_of` in answer_checks.py compares it with the batch.
    receipt: object = None


class EffectFailed(Data):
    """An effect failed. `changed`, at a conflict: the expected rows that differ, with the version found."""

    tag = 73
    request_id: int
    kind: FailureKind
    retry_after_ms: int = 0
    changed: tuple[tuple[Address, int], ...] = ()


class Wake(Data):
    """Only time has passed."""

    tag = 74


Answer = ModelReplied | Embedded | ReadDone | Committed | EffectFailed
Value = Request | Answer | Wake
