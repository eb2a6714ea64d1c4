"""Goal: the simulated services keep the contract of real ones, and the kit notices each one that does not."""

import json
from typing import Any, ClassVar

import pytest
from hypothesis import Phase, settings
from msgspec import structs

from umi_core.data import list_fields
from umi_core.declared import Incomplete
from umi_core.messages.answers import Committed, EffectFailed, ReadDone
from umi_core.messages.effects import ByFilter, ByIds, ByVector, ByWords, Commit, Query, Write
from umi_core.rows import BODIES, Address, Row
from umi_sim.services.embedder import embed
from umi_sim.services.model import truth
from umi_sim.services.storage import SimStorage
from umi_sim.testing import conformance, random_rows
from umi_sim.testing.conformance import (
    run_embedder_conformance,
    run_model_conformance,
    run_storage_conformance,
)

UNSHRUNK = settings(conformance.HOW, phases=[Phase.generate])  # is it found, not how small
PATIENT = settings(UNSHRUNK, max_examples=3_000)
SHORT = settings(conformance.HOW, max_examples=15)  # where the same contract is held at length elsewhere
Answer = Committed | EffectFailed | None


class Noting(SimStorage):
    """Notes two values of each field that it gave to a reader."""

    given: ClassVar[dict[tuple[str, str], set[str]]] = {}

    def read(self, request_id: int, query: Query) -> ReadDone:
        done = super().read(request_id, query)
        for row in done.rows:
            for field in list_fields(type(row.body)) if row.body else ():
                values = self.given.setdefault((row.address.kind, field.name), set())
                if len(values) < 2:  # the rest would take most of the time
                    values.add(repr(getattr(row.body, field.name)))
        return done


@pytest.mark.slow
def test_the_simulated_storage_keeps_the_contract_and_gives_several_values_of_each_field() -> None:
    run_storage_conformance(Noting, settings(conformance.HOW, max_examples=30))
    fields = [(kind, field.name) for kind, cls in BODIES.items() for field in list_fields(cls)]
    assert [it for it in fields if len(Noting.given.get(it, ())) < 2] == []


@pytest.mark.slow
def test_the_simulated_storage_keeps_the_contract_when_it_looks_everything_up_and_counts_bytes() -> None:
    run_storage_conformance(lambda: SimStorage(indexed_count_min=0, capacity_bytes=2**40), SHORT)


@pytest.mark.slow
def test_the_simulated_model_keeps_the_contract() -> None:
    run_model_conformance(truth, settings(conformance.HOW, max_examples=30))


@pytest.mark.slow
def test_the_simulated_embedder_keeps_the_contract() -> None:
    run_embedder_conformance(embed)


# Storages with one fault each.


class NotAtomic(SimStorage):
    """Writes row by row and stops at the first expect that fails."""

    def flush(self, ticket: int, now_ms: int) -> Answer:
        pending = self.pending.get(ticket)
        if pending and pending.commit.key not in self.receipts and self._list_changed(pending.commit.expects):
            self._apply(pending.commit.writes[0])
        return super().flush(ticket, now_ms)


class VersionsReused(SimStorage):
    """Forgets the version of what it deletes."""

    def flush(self, ticket: int, now_ms: int) -> Answer:
        answer = super().flush(ticket, now_ms)
        self.graves.clear()
        return answer


class KeyIgnored(SimStorage):
    """Does every batch, also one that it did already."""

    def forget(self, now_ms: int) -> None:
        self.receipts.clear()


class ExpectsBeforeKey(SimStorage):
    """Looks at the expects first, so a batch that won conflicts with itself."""

    def flush(self, ticket: int, now_ms: int) -> Answer:
        commit = self.pending[ticket].commit if ticket in self.pending else Commit((), ())
        changed = self._list_changed(commit.expects)
        if changed:
            self.pending.pop(ticket)
            return EffectFailed(commit.request_id, "conflict", changed=changed)
        return super().flush(ticket, now_ms)


class KeyForgottenEarly(SimStorage):
    """Keeps receipts for half of the time."""

    def forget(self, now_ms: int) -> None:
        super().forget(2 * now_ms)


class PendingSeen(SimStorage):
    """Shows a batch to readers when it arrives."""

    def read(self, request_id: int, query: Query) -> ReadDone:
        if not isinstance(query, ByIds):
            return super().read(request_id, query)
        writes = [write for batch in self.pending.values() for write in batch.commit.writes]
        rows = self.rows | {
            write.address: Row(write.address, 1, write.body) for write in writes if write.body
        }
        return ReadDone(request_id, tuple(rows[address] for address in query.addresses if address in rows))


class CrashKept(SimStorage):
    """Does a pending batch although it crashed."""

    def crash(self) -> None: ...


class FilterAfterCut(SimStorage):
    """Takes the best hits of everything and filters those."""

    def read(self, request_id: int, query: Query) -> ReadDone:
        if not isinstance(query, ByWords | ByVector):
            return super().read(request_id, query)
        hits = super().read(request_id, structs.replace(query, where=())).rows
        kept = super().read(request_id, structs.replace(query, limit=1_000)).rows
        return ReadDone(request_id, tuple(row for row in hits if row in kept))


class OtherScope(SimStorage):
    """Answers the row of another scope where its own is absent."""

    def read(self, request_id: int, query: Query) -> ReadDone:
        answer = super().read(request_id, query)
        if not isinstance(query, ByIds):
            return answer
        rows = [self.found(address) for address in query.addresses]
        return structs.replace(answer, rows=tuple(row for row in rows if row))

    def found(self, address: Address) -> Row | None:
        others = [structs.replace(address, scope=scope) for scope in self.row_ids]
        return next((self.rows[other] for other in (address, *others) if other in self.rows), None)


class CursorCounts(SimStorage):
    """Its cursor is how many rows were seen, which a deletion shifts."""

    def read(self, request_id: int, query: Query) -> ReadDone:
        if not isinstance(query, ByFilter) or query.limit is None:
            return super().read(request_id, query)
        rows = super().read(request_id, structs.replace(query, limit=None, cursor=None)).rows
        end = int(query.cursor or 0) + query.limit
        return ReadDone(request_id, rows[end - query.limit : end], str(end) if end < len(rows) else None)


class TiesTurned(SimStorage):
    """Puts the larger id first where scores are equal."""

    def read(self, request_id: int, query: Query) -> ReadDone:
        answer = super().read(request_id, query)
        if not isinstance(query, ByWords | ByVector):
            return answer
        rows = sorted(answer.rows, key=lambda row: (row.score_ppm or 0, row.address.id), reverse=True)
        return structs.replace(answer, rows=tuple(rows))


class SearchesLag(SimStorage):
    """Searches do not know the newest commits."""

    def read(self, request_id: int, query: Query) -> ReadDone:
        self.horizon_ms = self._now_ms - 1
        return super().read(request_id, query)


class TooSmall(SimStorage):
    """Has room for eight rows, whatever they say."""

    def flush(self, ticket: int, now_ms: int) -> Answer:
        self.capacity_bytes = 8 * 64
        return super().flush(ticket, now_ms)


BROKEN = {
    NotAtomic: "a batch with a conflict changes nothing",
    VersionsReused: "versions grow by one per write and are never reused",
    KeyIgnored: "a known key is answered as the first time",
    ExpectsBeforeKey: "a known key is answered as the first time",
    KeyForgottenEarly: "a known key|changes nothing|a durable batch is visible",  # or its receipt is gone
    PendingSeen: "a pending batch is in no read",
    CrashKept: "a crash takes the pending batches",
    FilterAfterCut: "hits are of one scope, filtered, then ordered",
    OtherScope: "rows come in the order asked for|a durable batch is visible",
    CursorCounts: "a walk is in order, each row once|a walk misses no row",
    SearchesLag: "hits are of one scope, filtered, then ordered",
    TooSmall: "versions grow by one per write and are never reused",
    TiesTurned: "hits are of one scope, filtered, then ordered",
}


@pytest.mark.slow
@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_a_broken_storage_fails_by_the_law_it_breaks(broken: type[SimStorage]) -> None:
    with pytest.raises(AssertionError, match=BROKEN[broken]):
        run_storage_conformance(broken, PATIENT)


class Losing(SimStorage):
    """Keeps of the rows of one kind one value of a field, or loses these rows."""

    kind: ClassVar[str]
    field: ClassVar[str]
    firsts: ClassVar[dict[str, Any]]

    def arrive(self, commit: Commit, sender: str) -> int:
        kept = tuple(kept for write in commit.writes if (kept := self.lost(write)) is not None)
        return super().arrive(structs.replace(commit, writes=kept), sender)

    def lost(self, write: Write) -> Write | None:
        if write.address.kind != self.kind or write.body is None:
            return write
        if not self.field:
            return None
        first = self.firsts.setdefault(self.field, getattr(write.body, self.field))
        return structs.replace(write, body=structs.replace(write.body, **{self.field: first}))


# Of a number, a text and a list. That every field has several values is above, and bodies are compared whole.
LOST = [("entity", ""), ("entity", "follows"), ("core", "blocks"), ("ended", "at_ms")]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "field"), LOST)
def test_a_storage_that_loses_a_field_or_rows_fails(kind: str, field: str) -> None:
    broken = type("Broken", (Losing,), {"kind": kind, "field": field, "firsts": {}})
    with pytest.raises(AssertionError, match=r"versions grow by one|a durable batch is visible"):
        run_storage_conformance(broken, UNSHRUNK)


def test_a_domain_without_values_for_rows_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(random_rows.VALUES, "members")
    with pytest.raises(Incomplete, match=r"members of members has no values: add some to VALUES in umi_sim/"):
        random_rows.bodies_of("session")


# Storages whose scores are not exact.


class Near(SimStorage):
    """Scores some hits by 3 ppm too low, and ranks by that."""

    off_ppm = 3
    left_out_count = 0

    def read(self, request_id: int, query: Query) -> ReadDone:
        if not isinstance(query, ByWords | ByVector):
            return super().read(request_id, query)
        exact = super().read(request_id, structs.replace(query, limit=1_000, min_score_ppm=0)).rows
        rows = [structs.replace(row, score_ppm=self.off(row)) for row in exact[self.left_out_count :]]
        good = [row for row in rows if (row.score_ppm or 0) >= max(1, query.min_score_ppm)]
        ranked = sorted(good, key=lambda row: (-(row.score_ppm or 0), row.address.id))
        return ReadDone(request_id, tuple(ranked[: query.limit]))

    def off(self, row: Row) -> int:
        return (row.score_ppm or 0) - self.off_ppm * (row.address.id == "e10")


class TooFar(Near):
    off_ppm = 4


class BestLeftOut(Near):
    left_out_count = 1


INEXACT = (
    (Near, 0, "hits are of one scope"),
    (TooFar, 3, "a score is off by no more than the tolerance"),
    (BestLeftOut, 3, "no hit is left out that is better than the last"),
    (TiesTurned, 3, "hits are of one scope"),
)


@pytest.mark.slow
def test_scores_may_be_off_by_the_tolerance_and_no_more() -> None:
    run_storage_conformance(Near, SHORT, tolerance_ppm=3)
    for broken, tolerance_ppm, law in INEXACT:
        with pytest.raises(AssertionError, match=law):
            run_storage_conformance(broken, PATIENT, tolerance_ppm=tolerance_ppm)


# Models and embedders with one fault each.


def forgetful(task: str, prompt: str) -> str:
    return json.dumps({"entities": [{"type": "note"}], "relations": []})


def obedient(task: str, prompt: str) -> str:
    """Does what the text asks for."""
    return "[]" if "JSON array" in prompt.split("INPUT", 1)[-1] else truth(task, prompt)


def lazy(task: str, prompt: str) -> str:
    """Leaves out the last entity that it was asked about."""
    return json.dumps(json.loads(truth(task, prompt))[:-1]) if task == "route" else truth(task, prompt)


class Counting:
    """Answers the same question differently the second time."""

    def __init__(self) -> None:
        self.count = 0

    def truth(self, task: str, prompt: str) -> str:
        self.count += 1
        return truth(task, prompt) + " " * self.count

    def embed(self, text: str, dims: int) -> tuple[int, ...]:
        self.count += 1
        return (self.count % 100 + 1, *embed(text, dims)[1:])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("broken", "law"),
    [
        (forgetful, "a true extraction holds nothing malformed"),
        (obedient, "an extraction has its form"),
        (Counting().truth, "the same question has the same answer"),
        (lazy, "a true routing has one sound row per entity"),
        (lambda task, prompt: "x" * 60_000, "a reply is within its limit"),
    ],
)
def test_a_broken_model_fails_by_the_law_it_breaks(broken: conformance.Truth, law: str) -> None:
    with pytest.raises(AssertionError, match=law):
        run_model_conformance(broken, UNSHRUNK)


@pytest.mark.parametrize(
    ("broken", "law"),
    [
        (lambda text, dims: (0,) * dims, "a vector has its length"),
        (lambda text, dims: (*embed(text, dims), 1), "a vector has its length"),
        (lambda text, dims: (128, *embed(text, dims)[1:]), "a vector has its length"),
        (Counting().embed, "the same text has the same vector"),
    ],
)
def test_a_broken_embedder_fails_by_the_law_it_breaks(broken: conformance.Embed, law: str) -> None:
    with pytest.raises(AssertionError, match=law):
        run_embedder_conformance(broken, UNSHRUNK)


@pytest.mark.slow
def test_a_failure_shows_the_shortest_script_that_breaks_the_contract() -> None:
    with pytest.raises(AssertionError) as failure:
        run_storage_conformance(PendingSeen)  # of all of them the quickest to shrink
    script = "\n".join(failure.value.__notes__)
    assert "state = Contract()" in script
    assert len(script) < 300
