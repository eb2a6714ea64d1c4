"""The twin of a storage: a reference implementation of the rows and answers that it must have.

Law 1. The twin is simpler than any storage: one dict, which every read scans from beginning to end.
"""

from typing import Any

from msgspec import structs

from umi_core.conditions import Condition, Where
from umi_core.data import Owner
from umi_core.messages.answers import Committed, EffectFailed
from umi_core.messages.effects import ByVector, ByWords, Commit, CountRows, Write
from umi_core.policies.similarity import vector_relevance_ppm
from umi_core.policies.term_scores import score_rows
from umi_core.rows import FIELDS, Address, Body, Category, Entity, Reflection, Resource, Row, Vector


def agree(law: str, got: object, expected: object) -> None:
    """Raise AssertionError with the law and both values unless they are equal."""
    assert got == expected, f"{law}\n  got       {got}\n  expected  {expected}"


class StorageTwin(Owner):
    """All rows ever written, in one dict; a deleted row has no body and keeps its version."""

    rows: dict[Address, Row] = {}

    def version(self, address: Address) -> int:
        """Return the version that a commit must expect: 0 for a row that is absent or deleted."""
        row = self.rows.get(address)
        return 0 if row is None or row.body is None else row.version

    def commit(self, commit: Commit) -> Committed | EffectFailed:
        differing = [e.address for e in commit.expects if self.version(e.address) != e.version]
        if differing:
            changed = tuple((address, self.version(address)) for address in differing)
            return EffectFailed(commit.request_id, "conflict", changed=changed)
        versions = tuple((write.address, self.write(write)) for write in commit.writes)
        receipts = [write.body for write in commit.writes if write.address.kind == "receipt"]
        return Committed(commit.request_id, versions, receipts[0] if receipts else None)

    def write(self, write: Write) -> int:
        last = self.rows.get(write.address, Row(write.address, 0, None))
        # Deleting an absent row changes nothing, not even its version. A row that is written again continues
        # after the version of its deletion: written as 1, deleted as 2, written again as 3.
        if last.body is not None or write.body is not None:
            self.rows[write.address] = Row(write.address, last.version + 1, write.body)
        return self.rows.get(write.address, last).version

    def rows_at(self, addresses: tuple[Address, ...]) -> tuple[Row, ...]:
        found = (self.rows.get(address) for address in addresses)
        return tuple(row for row in found if row is not None and row.body is not None)

    def matching(self, query: CountRows) -> tuple[Row, ...]:
        """Return the rows of the scope and kinds that meet all conditions, ordered by (kind, id)."""
        alive = [row for row in self.rows.values() if row.body is not None]
        found = [row for row in alive if row.address.kind in query.kinds and row.address.scope == query.scope]
        kept = [row for row in found if holds(query.where, row.body)]
        return tuple(sorted(kept, key=lambda row: (row.address.kind, row.address.id)))

    def hits(self, query: ByVector | ByWords) -> tuple[Row, ...]:
        """Return the best rows, ordered by (score descending, id)."""
        found = [row for row in self.score_rows(query) if (row.score_ppm or 0) >= max(1, query.min_score_ppm)]
        return tuple(found[: query.limit])

    def score_rows(self, query: ByVector | ByWords) -> list[Row]:
        """Return every row that meets the conditions, with its score, best first."""
        # Scores are computed before conditions apply: the weight of
        # a word depends on all rows of the kind, matching or not.
        scores = self.scores(query)
        found = self.matching(CountRows(query.scope, (query.kind,), query.where))
        return sorted([structs.replace(row, score_ppm=scores[row.address]) for row in found], key=rank_of)

    def scores(self, query: ByVector | ByWords) -> dict[Address, int]:
        """Return the score of each row of the scope and kind, whether it meets the conditions or not."""
        rows = self.matching(CountRows(query.scope, (query.kind,), ()))
        if isinstance(query, ByWords):
            scores = score_rows(query.text, [search_texts(row.body) for row in rows])
        else:
            scores = [self.vector_score(query, row.address) for row in rows]
        return {row.address: score_ppm for row, score_ppm in zip(rows, scores, strict=True)}

    def vector_score(self, query: ByVector, address: Address) -> int:
        vector = self.rows.get(structs.replace(address, kind="vector"))
        body = None if vector is None else vector.body
        return vector_relevance_ppm(query.vector, body.components) if isinstance(body, Vector) else 0


def search_texts(body: Body | None) -> tuple[str, str]:
    """Return the two texts in which a search by words looks: the name of a row, and its other text."""
    match body:
        case Entity():
            return ", ".join((body.name, *body.others)), body.content
        case Category():
            return body.name, f"{body.description} {body.summary}"
        case Resource():
            return "", f"{body.caption} {body.description or body.text}"
        case Reflection():
            return "", body.text
    raise AssertionError(body)


def rank_of(hit: Row) -> tuple[int, str]:
    return -(hit.score_ppm or 0), hit.address.id


def holds(where: Where, body: Body | None) -> bool:
    """Return True if the body has the fields of all conditions, with values that meet them."""
    known = FIELDS.get(type(body), ())  # not its properties: some have a `time_ms` that no condition names
    return all(it.field in known and is_as_asked(it, getattr(body, it.field)) for it in where)


def is_as_asked(condition: Condition, found: Any) -> bool:
    value: Any = condition.value
    match condition.operator:
        case "in":
            return bool(found in value)
        case "not_in":
            return bool(found not in value)
        case "gte":
            return bool(found >= value)
        case "lte":
            return bool(found <= value)
        case "eq":
            # `is`, because True == 1, but a flag is not a number. Conditions use `eq` for flags only.
            return bool(found is value)
    assert condition.operator == "contains"
    return bool(value in found)
