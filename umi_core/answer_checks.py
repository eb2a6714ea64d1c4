"""Checks of answers: whether an answer of the world is valid for the question that was asked.

Law 1. An invalid answer counts as a failure of the service, which the step of the workflow handles. It is
       never used, and never raises.
Law 2. A row returned by a read must match the query, or it counts as foreign, and its body must belong to its
       address, or it counts as damaged. A wrong row that passes both checks cannot be recognised.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from operator import attrgetter
from typing import Annotated, Any, Final, Literal, get_args, get_origin

from msgspec import structs

from umi_core.conditions import admits
from umi_core.data import Data, is_struct, list_fields
from umi_core.domains import is_int
from umi_core.ids import commit_key
from umi_core.limits import PPM
from umi_core.messages.answers import Answer, Committed, EffectFailed, Embedded, ModelReplied, ReadDone
from umi_core.messages.effects import (
    Asked,
    AskModel,
    ByFilter,
    ByIds,
    ByVector,
    ByWords,
    Commit,
    Embed,
    FailureKind,
    Read,
)
from umi_core.rows import (
    BODIES,
    Address,
    Body,
    Receipt,
    Row,
)
from umi_core.text import is_text


def check_answer(asked: Asked, answer: Answer) -> Answer:
    """Return the answer if it is valid, else a failure; the outcome of a commit is unknown then."""
    if is_answer_of(asked, answer):
        return answer
    # Storage has answered something, so the batch may be durable.
    return EffectFailed(answer.request_id, "unknown" if isinstance(asked, Commit) else "unavailable")


def is_answer_of(asked: Asked, answer: Answer) -> bool:
    """Check that the answer has the class and types for this question, or is one of its failures."""
    match answer:
        case EffectFailed(kind=kind, retry_after_ms=wait_ms):
            return kind in asked.failures and is_typed(answer) and wait_ms >= 0
        case ModelReplied(text=text):
            return isinstance(asked, AskModel) and type(text) is str
        case Embedded():  # the step checks the vectors (`learn_vectors`)
            return isinstance(asked, Embed)
        case ReadDone(cursor=cursor):
            is_valid = isinstance(asked, Read) and is_typed(answer) and (cursor is None or is_text(cursor))
            return is_valid and all(row.version >= 0 for row in answer.rows)
    return isinstance(asked, Commit) and is_typed(answer) and is_receipt_of(asked, answer)


def is_receipt_of(asked: Commit, answer: Committed) -> bool:
    """Check that the receipt has the key of this commit, and that each row put by this plan has a version.

    Under the operation's own key, the receipt must be of an earlier plan of this operation. Under a request
    key it may be of any request.
    """
    own = next((write for write in asked.writes if isinstance(write.body, Receipt)), None)
    if own is not None:
        mine, receipt = own.body, answer.receipt
        assert isinstance(mine, Receipt)
        if not isinstance(receipt, Receipt) or receipt.key != mine.key or not is_valid_body(receipt):
            return False
        if receipt.request_digest == mine.request_digest and type(receipt.value) is not type(mine.value):
            return False
        is_own_key = mine.key == commit_key(own.address.scope, *mine.by, "commit")
        if is_own_key and (receipt.by, receipt.request_digest) != (mine.by, mine.request_digest):
            return False
        # Another plan was committed: the versions are of its rows, which may differ from those of this plan.
        if receipt.plan_digest != mine.plan_digest:
            return True
    versions = dict.fromkeys(address for address, version in answer.versions if version > 0)
    return all(write.address in versions for write in asked.writes if write.body is not None)


# Rows.


class Judged(Data):
    """The valid rows of an answer, the counts of others by reason, and the failure if they make one."""

    rows: tuple[Row, ...]
    left_out: tuple[tuple[str, int], ...] = ()
    failure: FailureKind | None = None


def judged_rows(asked: Read, answer: ReadDone, spares: Collection[str]) -> Judged:
    """Judge the rows of an answer. Foreign and damaged rows are left out of a search; another read fails.

    A damaged row of a kind in `spares` of the step is valid, without its body.
    """
    judged = [row if is_valid_row(row) else structs.replace(row, body=None) for row in answer.rows]
    mine = asked_for(asked, judged)
    kept = tuple([row for row in mine if row.body is not None or row.address.kind in spares])
    counts = {"foreign": len(judged) - len(mine), "damaged": sum(row.body is None for row in mine)}
    left_out = tuple((reason, count) for reason, count in counts.items() if count)
    if isinstance(asked.query, ByVector | ByWords) or len(kept) == len(answer.rows):
        return Judged(kept, left_out)
    return Judged((), left_out, "unavailable" if counts["foreign"] else "damaged")


def following_page(asked: Read, answer: ReadDone) -> Read | None:
    """Return the read of the next page; None if the query has a limit, or if this page was the last."""
    query = asked.query
    if not isinstance(query, ByFilter) or query.limit is not None or answer.cursor is None:
        return None
    return structs.replace(asked, query=structs.replace(query, cursor=answer.cursor))


def asked_for(asked: Read, rows: Sequence[Row]) -> tuple[Row, ...]:
    """Return the rows that match the query: its addresses, or its scope, kinds, conditions and scores."""
    query = asked.query
    if isinstance(query, ByIds):
        addresses = dict.fromkeys(query.addresses)
        return tuple(row for row in rows if row.address in addresses and may_have(row.score_ppm))
    kinds = (query.kind,) if isinstance(query, ByVector | ByWords) else query.kinds
    scope, where = query.scope, query.where
    return tuple(
        row
        for row in rows
        if row.address.kind in kinds
        and row.address.scope == scope
        # Conditions cannot be checked on a damaged row, so it counts as damaged, not as foreign.
        and (row.body is None or admits(where, row.body))
        and (
            is_score(row.score_ppm, query.min_score_ppm)
            if isinstance(query, ByVector | ByWords)
            else may_have(row.score_ppm)
        )
    )


def may_have(score_ppm: int | None) -> bool:
    """Check the score of a row that was not found by a search: None, or any valid score."""
    return score_ppm is None or is_score(score_ppm, 0)


def is_score(score_ppm: int | None, min_ppm: int) -> bool:
    return score_ppm is not None and min_ppm <= score_ppm <= PPM


def is_valid_row(row: Row) -> bool:
    """Check that the row has a body, that it fits the address, and that its fields are in their domains."""
    return row.body is not None and is_body_of(row.address, row.body)


def is_body_of(address: Address, body: object) -> bool:
    """Check that a body fits an address; a kind of a custom workflow may have any body."""
    cls = BODIES.get(address.kind)
    if cls is None:
        return True
    return isinstance(body, cls) and is_valid_body(body) and body.own_id() in (None, address.id)


def is_valid_body(body: Body) -> bool:
    """Check that the fields are in their domains, and the value of a receipt is of its declared types."""
    value = body.value if isinstance(body, Receipt) else None
    return body.is_sound and (value is None or is_typed(value))


def in_order(asked: Read, rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """Return the rows of a judged answer in the promised order, without duplicates."""
    # If a later page repeats a row, the later one counts.
    once = {(row.address.scope.agent, row.address.kind, row.address.id): row for row in rows}.values()
    if once and isinstance(asked.query, ByIds):
        at = {address: n for n, address in enumerate(asked.query.addresses)}
        return tuple(sorted(once, key=lambda row: at[row.address]))
    return tuple(sorted(once, key=lambda row: (-(row.score_ppm or 0), row.address.kind, row.address.id)))


# Answers that interceptors substitute: valid for the question, and with fields of the declared types.


def is_answer(asked: Asked, answer: object) -> bool:
    """Check that an interceptor may give this answer to the question; never to a commit. The step itself
    checks the vectors in it."""
    if not is_typed(answer):
        return False
    match asked, answer:
        case AskModel(), ModelReplied():
            return True
        case Embed(texts=texts), Embedded(vectors=vectors):
            return len(vectors) == len(texts)
        case Read(), ReadDone(rows=rows, cursor=None):  # the answer of an interceptor has no next page
            return asked_for(asked, rows) == rows and all(
                is_valid_row(row) and is_typed(row.body) for row in rows
            )
    return False


def is_typed(value: object) -> bool:
    """Check that a value of our classes has fields of the declared types, recursively."""
    cls: type = type(value)
    return is_struct(cls) and type_check(cls)(value)


def is_of(value: object, kind: Any) -> bool:
    """Check that a value is exactly of a declared type.

    A bool is not an int, and neither is a number of more than 64 bits.
    """
    return type_check(kind)(value)


Check = Callable[[object], bool]
UNCHECKED: Final = (object, Body | None)  # a body is checked separately, by the fields of its own class


@cache
def type_check(kind: Any) -> Check:
    kind = bare(kind)
    args = get_args(kind)
    if kind in UNCHECKED:
        return lambda value: True
    if get_origin(kind) is tuple:
        return tuple_check(args)
    if get_origin(kind) is Literal:
        return lambda value: type(value) is str and value in args
    if args:
        return any_check(args)
    if is_struct(kind):
        return object_check(kind)
    return is_int if kind is int else lambda value: type(value) is kind


def tuple_check(kinds: tuple[Any, ...]) -> Check:
    """Return a check of tuples: of any length for `tuple[int, ...]`, else with one type for each value."""
    if kinds[1:] == (...,):
        each = type_check(kinds[0])
        return lambda values: type(values) is tuple and all(map(each, values))
    checks = tuple(map(type_check, kinds))

    def check(values: object) -> bool:
        if type(values) is not tuple or len(values) != len(checks):
            return False
        return all(one(value) for one, value in zip(checks, values, strict=True))

    return check


def any_check(kinds: tuple[Any, ...]) -> Check:
    """Return a check for any of these types; the check of a class runs only for its own objects."""
    plain = {kind: type_check(kind) for kind in kinds if isinstance(kind, type) and kind is not object}
    others = tuple(type_check(kind) for kind in kinds if kind not in plain)

    def check(value: object) -> bool:
        known = plain.get(type(value))
        return known(value) if known else any(other(value) for other in others)

    return check


def object_check(cls: type) -> Check:
    """Return a check of objects that compares the classes of all fields at once, for reads of many rows."""
    kinds = dict(fields_within(cls))
    exact = {path: kind for path, kind in kinds.items() if isinstance(kind, type) and kind is not int}
    classes = [*exact.values(), type(cls)]
    parts = tuple((attrgetter(path), type_check(kind)) for path, kind in kinds.items() if path not in exact)
    values = attrgetter(*exact, "__class__") if exact else lambda _: (cls,)  # `__class__`: always a tuple

    def check(value: object) -> bool:
        try:
            if type(value) is not cls or [*map(type, values(value))] != classes:
                return False
        except AttributeError:  # an object of another class, without these fields
            return False
        for part, one in parts:  # noqa: SIM110, `all` would create a generator for each row that is read
            if not one(part(value)):
                return False
        return True

    return check


def fields_within(cls: type, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path and the type of each checked field, including fields of nested objects."""
    for field in list_fields(cls):
        kind = bare(field.type)
        if kind not in UNCHECKED:
            yield path + field.name, kind
            if is_struct(kind):
                yield from fields_within(kind, f"{path}{field.name}.")


def bare(kind: Any) -> Any:
    """Return the type without its domain."""
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind
