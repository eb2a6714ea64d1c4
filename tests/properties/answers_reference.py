"""State which values may replace a question or an answer: EN5.12 to EN5.15, EN6.11 to EN6.15."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, Final

from msgspec import structs

from tests.properties.text_reference import is_text
from umi_core import limits
from umi_core.data import Data, Owner, is_struct
from umi_core.messages.answers import Committed, EffectFailed, Embedded, ModelReplied, ReadDone
from umi_core.messages.effects import (
    AskModel,
    ByFilter,
    ByIds,
    ByVector,
    ByWords,
    Commit,
    CountRows,
    Embed,
    Read,
)
from umi_core.rows import Address, Receipt, Row
from umi_sim.judge.plain.requests import fields_of, meets

Reads = ByIds | ByFilter | ByVector | ByWords


def is_meant(query: Reads, row: Row) -> bool:
    """Return whether a row was asked for; a score that was not asked for must only be a score."""
    if isinstance(query, ByVector | ByWords):
        has_score = row.score_ppm is not None and query.min_score_ppm <= row.score_ppm <= limits.PPM
    else:
        has_score = row.score_ppm is None or 0 <= row.score_ppm <= limits.PPM
    if isinstance(query, ByIds):
        return has_score and row.address in query.addresses
    kinds = query.kinds if isinstance(query, ByFilter) else [query.kind]
    if row.address.kind not in kinds or row.address.scope != query.scope or not has_score:
        return False
    where = tuple((it.field, it.operator, it.value) for it in query.where)
    return row.body is None or meets(where, fields_of(row.body)) is True


def is_wanted(query: Reads, row: Row) -> bool:
    return is_meant(query, row) and is_right(row)


def is_right(row: Row) -> bool:
    """Return whether the body lies under its own address; all that are drawn are in their ranges."""
    body = row.body
    return body is not None and body.row_kind == row.address.kind and body.own_id() == row.address.id


class Counted(Data):
    """The rows of an answer that count, how many are left out and why; why the read failed, if it did."""

    rows: tuple[Row, ...]
    left_out: tuple[tuple[str, int], ...]
    failure: str | None


def counted(query: Reads, rows: Sequence[Row], without_body: Collection[str] = ()) -> Counted:
    """Return what counts. A search goes on without the other rows, any other read fails.

    `without_body`: kinds whose rows count even if their body cannot be read.
    """
    bodies = [structs.replace(row, body=row.body if is_right(row) else None) for row in rows]
    mine = [row for row in bodies if is_meant(query, row)]
    kept = [row for row in mine if row.body is not None or row.address.kind in without_body]
    foreign, damaged = len(rows) - len(mine), sum(row.body is None for row in mine)
    left_out = tuple((name, n) for name, n in (("foreign", foreign), ("damaged", damaged)) if n)
    if isinstance(query, ByVector | ByWords) or len(kept) == len(rows):
        return Counted(tuple(kept), left_out, None)
    return Counted((), left_out, "unavailable" if foreign else "damaged")


def in_order(query: Reads, rows: Sequence[Row]) -> list[Row]:
    """Return each row once, the last of equal ones: as asked for by id, else the best first."""
    last = {row.address: row for row in rows}
    if isinstance(query, ByIds):
        return [last[it] for it in dict.fromkeys(query.addresses) if it in last]
    return sorted(last.values(), key=lambda row: (-(row.score_ppm or 0), row.address.kind, row.address.id))


class Reading(Owner):
    """A read of all rows, page by page: what it has, out of how many pages."""

    page_count: int
    rows: list[Row] = []

    def turn(self, query: ByFilter, page: Counted, *, is_last: bool) -> str | None:
        """Return `done`, why the read failed, or None if the next page is asked for."""
        if page.failure is not None:
            return page.failure
        known, self.rows = len(self.rows), in_order(query, [*self.rows, *page.rows])
        if is_last:
            return "done"
        is_allowed = self.page_count < limits.READ_PAGE_COUNT_MAX
        self.page_count += is_allowed
        return None if len(self.rows) > known and is_allowed else "unavailable"


# What an interceptor may send instead of a question.

CONDITIONS_MAX: Final = 20
FOR_ALL: Final = ("timeout", "unavailable", "rate_limited", "refused")
FAILURES: Final[Mapping[type, tuple[str, ...]]] = {
    AskModel: (*FOR_ALL, "too_long"), Embed: (*FOR_ALL, "too_long"), Read: FOR_ALL,
    Commit: (*FOR_ALL, "full", "conflict", "unknown"),
}  # fmt: skip


def is_number(value: object, least: int = limits.I64_MIN) -> bool:
    return type(value) is int and least <= value <= limits.I64_MAX


def is_none_or_number(value: object) -> bool:
    return value is None or is_number(value)


def is_same(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other


def differ_in(one: Any, other: Any, *names: str) -> bool:
    """Return whether two objects of a class are equal in all fields but these."""
    fields = [it for it in one.__struct_fields__ if it not in names]
    return all(is_same(getattr(one, it), getattr(other, it)) for it in fields)


def may_replace(asked: Any, given: Any) -> bool:
    if type(asked) is not type(given):
        return False
    match given:
        case AskModel(prompt=prompt, timeout_ms=timeout_ms):
            is_sooner = is_number(timeout_ms, 1) and timeout_ms <= asked.timeout_ms
            return differ_in(asked, given, "prompt", "timeout_ms") and is_text(prompt) and is_sooner
        case Embed(texts=texts):
            are_texts = type(texts) is tuple and all(is_text(it) and it.strip() for it in texts)
            return differ_in(asked, given, "texts") and are_texts and len(texts) == len(asked.texts)
        case Read(query=query):
            return differ_in(asked, given, "query") and is_narrower(asked.query, query)
    return False


def is_narrower(asked: Any, given: Any) -> bool:
    """Return whether there is a lower limit if there was one, and only further conditions."""
    if type(asked) is not type(given) or isinstance(asked, ByIds):
        return is_same(asked, given)
    where = given.where
    has_more = type(where) is tuple and where[: len(asked.where)] == asked.where
    if not (has_more and all(map(is_condition, where)) and differ_in(asked, given, "where", "limit")):
        return False
    if len(where) > max(len(asked.where), CONDITIONS_MAX):
        return False
    if isinstance(asked, CountRows) or asked.limit is None:
        return getattr(given, "limit", None) is None
    return is_number(given.limit, 1) and given.limit <= asked.limit


def is_condition(given: Any) -> bool:
    cls: type = type(given)
    if not is_struct(cls) or list(cls.__struct_fields__) != ["field", "operator", "value"]:
        return False
    if type(given.field) is not str or type(given.operator) is not str:
        return False
    values = given.value if type(given.value) is tuple else (given.value,)
    return all(it is None or type(it) in (bool, str) or is_number(it) for it in values)


# What may come as an answer: from an interceptor, and from the world.


def may_stand_for(asked: Any, answer: Any) -> bool:
    if not is_number(getattr(answer, "request_id", None)):
        return False
    match asked, answer:
        case AskModel(), ModelReplied(text=text):
            return type(text) is str
        case Embed(texts=texts), Embedded(vectors=vectors):
            are_vectors = type(vectors) is tuple and all(type(it) is tuple for it in vectors)
            return are_vectors and len(vectors) == len(texts)
        case Read(query=query), ReadDone(cursor=None) if not isinstance(query, CountRows):
            return is_answer_to_read(answer) and all(map(partial(is_wanted, query), answer.rows))
    return False


def is_possible(asked: Any, answer: Any) -> bool:
    """Return whether the world may answer this question so at all."""
    match answer:
        case EffectFailed(kind=kind):
            is_whole = is_number(answer.request_id) and is_number(answer.retry_after_ms, 0)
            return is_whole and kind in FAILURES[type(asked)] and are_versions(answer.changed)
        case ModelReplied(text=text):
            return isinstance(asked, AskModel) and type(text) is str
        case Embedded():
            return isinstance(asked, Embed)
        case ReadDone():
            is_whole = is_number(answer.request_id) and is_answer_to_read(answer)
            return isinstance(asked, Read) and is_whole
        case Committed():
            is_whole = is_number(answer.request_id) and are_versions(answer.versions)
            return isinstance(asked, Commit) and is_whole and is_receipt_of(asked, answer)
    return False


def is_answer_to_read(answer: ReadDone) -> bool:
    rows: Any = answer.rows
    are_rows = type(rows) is tuple and all(
        type(it) is Row and is_number(it.version, 0) and is_none_or_number(it.score_ppm) for it in rows
    )
    return are_rows and (answer.cursor is None or is_text(answer.cursor)) and is_none_or_number(answer.count)


def are_versions(given: Any) -> bool:
    return type(given) is tuple and all(
        type(it) is tuple and len(it) == 2 and type(it[0]) is Address and is_number(it[1]) for it in given
    )


def is_receipt_of(asked: Commit, answer: Committed) -> bool:
    """Return whether the version of each row is there, under the receipt of this key.

    Another plan may have won under the same key; then the versions are those of its rows.
    """
    own = [write.body for write in asked.writes if isinstance(write.body, Receipt)]
    if own:
        receipt = answer.receipt
        if not isinstance(receipt, Receipt) or receipt.key != own[0].key:
            return False
        is_same_request = receipt.request_digest == own[0].request_digest
        if is_same_request and type(receipt.value) is not type(own[0].value):
            return False
        if receipt.plan_digest != own[0].plan_digest:
            return True
    put = [write.address for write in asked.writes if write.body is not None]
    return all(it in [address for address, version in answer.versions if version > 0] for it in put)
