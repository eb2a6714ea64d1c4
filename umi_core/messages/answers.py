"""Answers: the values that a memory receives from outside, besides requests."""

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
    """One vector per text, in order. A vector that is not of whole numbers in range counts as missing."""

    tag = 70
    request_id: int
    # Components may be of any type here: `sound_vectors` accepts valid vectors and treats others as missing.
    vectors: tuple[tuple[object, ...], ...]


class ReadDone(Data):
    """The rows of a read; `cursor` is set if there are more rows, `count` only for `CountRows`."""

    tag = 71
    request_id: int
    rows: tuple[Row, ...] = ()
    cursor: str | None = None
    count: int | None = None


class Committed(Data):
    """The batch is durable. `versions` are the new row versions, in the order of its writes.

    `receipt` is the body of its receipt row if it has one. If storage already knows the key, both are those
    of the first batch with that key.
    """

    tag = 72
    request_id: int
    # (Address(scope, "entity", "fct_1"), 3): the row now has version 3. A deleted row has a version too, so
    # that a row put there later gets a higher one.
    versions: tuple[tuple[Address, int], ...] = ()
    # Any object, since it comes from outside; `is_receipt_of` in answer_checks.py compares it with the batch.
    receipt: object = None


class EffectFailed(Data):
    """An effect failed. `changed`: at a conflict, the expected rows that differ, with the versions found."""

    tag = 73
    request_id: int
    kind: FailureKind
    retry_after_ms: int = 0
    changed: tuple[tuple[Address, int], ...] = ()


class Wake(Data):
    """Nothing but time has passed."""

    tag = 74


Answer = ModelReplied | Embedded | ReadDone | Committed | EffectFailed
Value = Request | Answer | Wake
