"""Goal: a run over a storage that keeps bytes, some of them from the first release, is the same run."""

from typing import Any

import msgpack
import pytest
from msgspec import structs

from umi_core.codec import STRICT, encode
from umi_core.ids import pack
from umi_core.messages.answers import ReadDone
from umi_core.messages.effects import Query
from umi_core.row_bytes import decode_row, encode_row
from umi_core.rows import Body, Resource, Row
from umi_sim.record.verdict import Verdict
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find
from umi_sim.services.storage import SimStorage

NEWEST = ["description", "session_id"]


def run_seed(scenario: str, seed: int) -> Verdict:
    return run_once(draw(find(scenario), seed))[0]


class Bytes:
    """What a storage of bytes does between a write and a read. `old_count`: rows of the first release."""

    def __init__(self) -> None:
        self.old_count = 0

    def through(self, row: Row) -> Row:
        return row if row.body is None else structs.replace(row, body=decode_row(self.written(row.body)))

    def written(self, body: Body) -> bytes:
        """By the first release, if it could have: it knew nothing of the newest fields."""
        if not isinstance(body, Resource) or body.description or body.session_id is not None:
            return encode_row(body)
        self.old_count += 1
        fields = msgpack.unpackb(encode(body), **STRICT)
        return pack([body.row_kind, 1, pack(fields[: -len(NEWEST)])])


@pytest.mark.parametrize(("scenario", "seed"), [("memorize", 1), ("crash_storm", 2), ("forget_texts", 3)])
def test_rows_of_an_earlier_release_change_nothing(
    monkeypatch: pytest.MonkeyPatch, scenario: str, seed: int
) -> None:
    plain, kept = run_seed(scenario, seed), Bytes()
    assert list(Resource.__struct_fields__)[-len(NEWEST) :] == NEWEST
    read = SimStorage.read

    def read_bytes(self: SimStorage, request_id: int, query: Query) -> ReadDone:
        answer = read(self, request_id, query)
        return structs.replace(answer, rows=tuple([kept.through(row) for row in answer.rows]))

    monkeypatch.setattr(SimStorage, "read", read_bytes)
    assert list_results(run_seed(scenario, seed)) == list_results(plain)
    assert kept.old_count > 0


def list_results(verdict: Verdict) -> tuple[Any, ...]:
    return verdict.failure, verdict.trace_hash, verdict.replies
