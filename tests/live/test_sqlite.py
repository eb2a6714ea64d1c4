"""Goal: SqliteStorage keeps the contract of a storage, on a file and in memory."""

import itertools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")

from hypothesis import settings
from msgspec import structs

from umi_core.conditions import Condition, admits
from umi_core.kelpie.rows import Archival
from umi_core.limits import RECEIPT_MS_MAX
from umi_core.messages.answers import Committed, EffectFailed, ReadDone
from umi_core.messages.effects import ByFilter, ByIds, ByWords, Commit, CountRows, Expect, Query, Write
from umi_core.policies.term_scores import score_rows
from umi_core.rows import Address, Body, Ended, Entity, Membership, Receipt, Relation
from umi_core.values import Scope
from umi_live.conditions import clause
from umi_live.contents import delete_rows_of_user
from umi_live.sqlite import SqliteStorage
from umi_live.storage import PRESENT, SqlStorage
from umi_sim.testing.conformance import HOW, run_storage_conformance


class TwoEnds:
    """A storage whose commits arrive and are flushed in two steps; a crash opens the file again."""

    def __init__(self, path: str, make: Callable[[str], SqlStorage] = SqliteStorage) -> None:
        self.path, self.make, self.storage = path, make, make(path)
        self.pending: dict[int, Commit] = {}
        self.tickets = itertools.count(1)

    def arrive(self, commit: Commit, sender: str) -> int:
        ticket = next(self.tickets)
        self.pending[ticket] = commit
        return ticket

    def flush(self, ticket: int, now_ms: int) -> Committed | EffectFailed | None:
        commit = self.pending.pop(ticket, None)
        return None if commit is None else self.storage.commit(commit, now_ms)

    def crash(self) -> None:
        self.pending.clear()
        if self.path != ":memory:":
            self.storage.close()
            self.storage = self.make(self.path)

    def read(self, request_id: int, query: Query) -> ReadDone:
        return self.storage.read(request_id, query)

    def close(self) -> None:
        self.storage.close()


@pytest.mark.slow
def test_it_keeps_the_contract_in_memory() -> None:
    run_storage_conformance(lambda: TwoEnds(":memory:"), settings(HOW, max_examples=5))  # a file: all of them


@pytest.mark.slow
def test_it_keeps_the_contract_on_a_file(tmp_path: Path) -> None:
    run_storage_conformance(files_in(tmp_path), settings(HOW, max_examples=15))


def files_in(folder: Path) -> Callable[[], TwoEnds]:
    names = itertools.count()
    return lambda: TwoEnds(str(folder / f"{next(names)}.db"))


def test_a_scope_that_another_process_deletes_and_makes_again_is_searched_anew(tmp_path: Path) -> None:
    """By another process, as it were: nothing that was kept in memory may be shown of it."""
    path, scopes = str(tmp_path / "agent.db"), [Scope(user, "helper") for user in ("ann", "bob")]
    ours, theirs = SqliteStorage(path), SqliteStorage(path)
    for scope in scopes:
        theirs.commit(make_commit(scope, "ent_1", "green tea"), 1)
        assert found(ours, scope) == ["ent_1"]
    delete_rows_of_user(theirs, "bob")
    theirs.commit(make_commit(Scope("eve", "helper"), "ent_2", "green tea"), 1)
    theirs.commit(make_commit(scopes[1], "ent_3", "green tea"), 1)
    assert [found(ours, scope) for scope in scopes] == [["ent_1"], ["ent_3"]]
    ours.close()
    theirs.close()


def make_commit(scope: Scope, row_id: str, content: str) -> Commit:
    body = Entity(row_id, "note", "note", content, 1, 0, 0, "facts", 1, 1)
    return Commit((Write(Address(scope, "entity", row_id), body),), ())


def keyed(scope: Scope, row_id: str, content: str, key: str) -> Commit:
    return structs.replace(make_commit(scope, row_id, content), key=key)


def receipt_count(storage: SqliteStorage) -> Any:
    return storage.connection.execute("select count(*) from receipt").get


def found(storage: SqlStorage, scope: Scope) -> list[str]:
    return [row.address.id for row in storage.read(0, ByWords(scope, "tea", (), 10, 1)).rows]


def test_a_key_and_its_receipt_are_known_for_a_day_and_gone_after_it() -> None:
    storage, scope = SqliteStorage(":memory:"), Scope("ann", "helper")
    place = Address(scope, "receipt", "k")
    once = Commit((Write(place, Receipt("k", b"", b"", 7, 1)),), (), "k")
    first = storage.commit(once, 1)
    assert storage.commit(once, RECEIPT_MS_MAX) == first
    other = Commit((), (), "other")
    storage.commit(other, RECEIPT_MS_MAX)
    assert storage.read(0, ByIds((place,))).rows != ()
    storage.commit(structs.replace(other, key="later"), RECEIPT_MS_MAX + 1)
    assert storage.read(0, ByIds((place,))).rows == ()
    again = storage.commit(once, RECEIPT_MS_MAX + 1)
    assert isinstance(again, Committed)
    assert again.versions == ((place, 3),)  # 2 was its deletion
    assert storage.commit(once, RECEIPT_MS_MAX + 2) == again


def test_keys_that_are_old_are_looked_for_again_after_a_commit_that_failed() -> None:
    """What such a commit has deleted is there again."""
    storage, scope = SqliteStorage(":memory:"), Scope("ann", "helper")
    for number in range(3):
        storage.commit(keyed(scope, f"ent_{number}", "tea", f"k{number}"), 1)
    lone = Commit((Write(Address(Scope("\ud800", "x"), "receipt", "r"), None),), (), "bad")
    with pytest.raises(UnicodeEncodeError):
        storage.commit_all([keyed(scope, "ent_3", "tea", "k3"), lone], RECEIPT_MS_MAX + 1)
    assert receipt_count(storage) == 3
    storage.commit(keyed(scope, "ent_4", "tea", "k4"), RECEIPT_MS_MAX + 1)
    assert receipt_count(storage) == 1


def test_a_batch_sees_what_the_batches_of_its_group_have_written() -> None:
    storage, scope = SqliteStorage(":memory:"), Scope("ann", "helper")
    place = Address(scope, "entity", "ent_1")
    first, second = keyed(scope, "ent_1", "tea", "k1"), keyed(scope, "ent_1", "coffee", "k2")
    stale = structs.replace(second, key="k3", expects=(Expect(place, 1),))
    fresh = structs.replace(second, key="k4", expects=(Expect(place, 2),))
    answers = storage.commit_all([first, second, stale, fresh], 1)
    assert [type(it) for it in answers] == [Committed, Committed, EffectFailed, Committed]
    assert [row.version for row in storage.read(1, ByIds((place,))).rows] == [3]


def test_a_row_that_is_damaged_is_read_without_its_body_and_the_others_whole() -> None:
    storage, scope = SqliteStorage(":memory:"), Scope("ann", "helper")
    for row_id in ("ent_1", "ent_2"):
        storage.commit(make_commit(scope, row_id, "green tea"), 1)
    storage.connection.execute("update row set body = x'00' where id = 'ent_1'")
    rows = storage.read(0, ByWords(scope, "tea", (), 10, 1)).rows
    assert [(row.address.id, row.body is None) for row in rows] == [("ent_1", True), ("ent_2", False)]


def test_conditions_that_no_column_answers_are_decided_row_by_row() -> None:
    storage, scope = SqliteStorage(":memory:"), Scope("ann", "helper")
    for row_id, content in (("ent_1", "green tea"), ("ent_2", "black tea")):
        storage.commit(make_commit(scope, row_id, content), 1)
    where = (Condition("content", "eq", "black tea"),)
    assert storage.read(0, CountRows(scope, ("entity",), where)).count == 1
    for query in (ByWords(scope, "tea", where, 10, 1), ByFilter(scope, ("entity",), where)):
        assert [row.address.id for row in storage.read(0, query).rows] == ["ent_2"]
    nothing = (Condition("nothing", "eq", 1),)
    assert storage.read(0, CountRows(scope, ("entity", "unheard"), nothing)).count == 0


def test_an_adoption_that_fails_leaves_no_transaction_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others in the process use the same connection."""
    storage, scope = SqliteStorage(":memory:"), Scope("ann", "helper")
    with monkeypatch.context() as broken:
        broken.setattr(SqliteStorage, "_number_commit", None)
        with pytest.raises(TypeError):
            storage.adopt(scope, "hash")
    storage.adopt(scope, "hash")
    assert storage.embedder_of(scope) == "hash"


def test_scores_by_words_are_those_of_every_row_for_questions_of_any_length() -> None:
    """Of five words three are as many as a name is worth; 300 words are counted in more than a byte."""
    chance, storage, scope = random.Random(1), SqliteStorage(":memory:"), Scope("ann", "helper")
    known = [f"word{n}" for n in range(320)]
    bodies = {}
    for n in range(60):
        name, content = (
            chance.sample(known[:8], chance.randrange(1, 3)),
            chance.sample(known[:8], 3) if n else known,
        )
        bodies[f"ent_{n}"] = body = Entity(
            f"ent_{n}", "note", " ".join(name), " ".join(content), 1, 0, 0, "facts", 1, 1
        )
        storage.commit(Commit((Write(Address(scope, "entity", body.id), body),), ()), 1)
    storage.commit(Commit((Write(Address(scope, "entity", "ent_7"), None),), ()), 1)
    del bodies["ent_7"]
    for count in (1, 2, 3, 4, 5, 6, 254, 255, 300):
        question = " ".join(known[:count])
        texts = [(body.name, body.content) for body in bodies.values()]
        scores = dict(zip(bodies, score_rows(question, texts), strict=True))
        best = sorted((-score, it) for it, score in scores.items() if score)[:20]
        rows = storage.read(0, ByWords(scope, question, (), 20, 1)).rows
        assert [(-(row.score_ppm or 0), row.address.id) for row in rows] == best


def test_a_word_counts_as_often_as_it_stands_also_if_no_row_has_it_twice() -> None:
    storage, scope = SqliteStorage(":memory:"), Scope("ann", "helper")
    rows = [("Ann", "tea milk jam"), ("Bob", "tea tea tea"), ("Eve", "jam jam jam jam jam"), ("Tom", "milk")]
    for name, content in rows:
        body = Entity(f"ent_{name}", "note", name, content, 1, 0, 0, "facts", 1, 1)
        storage.commit(Commit((Write(Address(scope, "entity", body.id), body),), ()), 1)
    for question in ("tea", "jam", "milk", "none"):
        found = storage.read(0, ByWords(scope, question, (), 20, 1)).rows
        scores = {f"ent_{rows[at][0]}": it for at, it in enumerate(score_rows(question, rows)) if it}
        assert {row.address.id: row.score_ppm for row in found} == scores


def fact(row_id: str, about: tuple[str, ...], sources: tuple[str, ...]) -> Entity:
    return Entity(
        row_id, "person", "Ann", "tea", 1, 0, 0, "human", 1, 1, sources=sources, about=about, is_direct=True
    )


FACTS: Final = (
    fact("fct_1", ("ent_1",), ()),
    fact("fct_2", ("ent_1", "ent_2"), ("res_1",)),
    fact("fct_3", (), ("res_1", "res_2")),
    fact("fct_4", ("res_1",), ("ent_1",)),
)
NAMED: Final[tuple[Body, ...]] = (
    *FACTS,
    *(Ended(f"past_{it.id}", structs.replace(it, id=f"past_{it.id}"), "fct_9", "update", 2) for it in FACTS),
    Relation("rel_1", "knows", ("ent_1", 0), ("ent_2", 0), 0, "", "model", 1),
    Relation("rel_2", "knows", ("ent_1", 0), ("ent_1", 0), 0, "", "model", 1),
    Membership("mem_1", "ent_1", 1, "res_1", "user", 1),
    Archival("arc_000000000001", 1, "Ann likes tea.", ("tea", "life"), (), 1),
    Archival("arc_000000000002", 2, "Ann likes jam.", ("life",), (), 1),
    Archival("arc_000000000003", 3, "Ann likes it.", (), (), 1),
)
NAMING: Final = (
    *(Condition(field, "contains", key) for field in ("about", "touches", "sources") for key in (
        "ent_1", "ent_2", "res_1", "res_2", "nobody",
    )),
    *(Condition("sources", operator, ()) for operator in ("eq", "ne")),
    *(Condition("tags", "contains", tag) for tag in ("tea", "life", "absent")),
)  # fmt: skip


def test_what_rows_name_is_found_as_by_a_look_at_each_and_no_other_row_is_read() -> None:
    """Also once the rows name others, are gone, or are there again, and not those of another scope."""
    storage, scope, other = SqliteStorage(":memory:"), Scope("ann", "helper"), Scope("bob", "helper")
    rows = {body.own_id() or "": body for body in NAMED}
    put = [
        Write(Address(it, body.row_kind, key), body) for key, body in rows.items() for it in (scope, other)
    ]
    storage.commit(Commit(tuple(put), ()), 1)
    rows["fct_1"] = fact("fct_1", ("ent_2",), ("res_2",))
    rows["rel_1"] = Relation("rel_1", "knows", ("ent_2", 0), ("res_1", 0), 0, "", "model", 1)
    rows["arc_000000000003"] = Archival("arc_000000000003", 3, "Ann likes it.", ("tea",), (), 1)
    del rows["fct_2"], rows["past_fct_3"], rows["arc_000000000002"]
    changed = ("fct_1", "rel_1", "fct_2", "past_fct_3", "arc_000000000002", "arc_000000000003")
    kinds = {body.own_id(): body.row_kind for body in NAMED}
    storage.commit(
        Commit(tuple(Write(Address(scope, kinds[key], key), rows.get(key)) for key in changed), ()), 2
    )
    searched = ("entity", "ended", "relation", "membership", "archival")
    for condition, kind in itertools.product(NAMING, searched):
        held = [key for key, it in rows.items() if it.row_kind == kind and admits((condition,), it)]
        found = storage.read(0, ByFilter(scope, (kind,), (condition,))).rows
        assert [row.address.id for row in found] == sorted(held), (condition, kind)
        assert storage.read(0, CountRows(scope, (kind,), (condition,))).count == len(held)
        assert clause((condition,), kind, 1)[2], (condition, kind)  # which no row has to be decoded for
    delete_rows_of_user(storage, "ann")
    ties = storage.connection.execute("select count(distinct scope) from tie").get
    assert ties == 1


def test_facts_about_an_entity_are_looked_up_and_not_searched_for(tmp_path: Path) -> None:
    """Else what they cost would grow with all other facts."""
    storage = SqliteStorage(str(tmp_path / "agent.db"))
    named = (
        ("about", ("entity", "ended")),
        ("touches", ("entity", "relation", "membership")),
        ("tags", ("archival",)),
    )
    for field, kinds in named:
        for kind in kinds:
            sql, bindings, _ = clause((Condition(field, "contains", "ent_1"),), kind, 1)
            query = f"explain query plan select body from row where {PRESENT} and id > ? {sql} order by id"
            steps = [row[3] for row in storage.connection.execute(query, (1, kind, "", *bindings))]
            assert steps[0] == "SEARCH row USING INTEGER PRIMARY KEY (rowid=?)", steps
            assert any(
                "SEARCH tie USING PRIMARY KEY (scope=? AND kind=? AND field=? AND value=?)" in it
                for it in steps
            )
    storage.close()
