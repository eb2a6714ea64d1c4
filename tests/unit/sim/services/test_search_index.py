"""Goal: the index follows every change of the rows, is lost by copies, and keeps odd rows in the answers.

That it says what a scan says, whatever the rows, is in tests/twins/test_search_twin.py.
"""

import copy
import pickle
from functools import partial
from unittest import mock

import pytest
from msgspec import structs

from tests.worlds import conditions
from umi_core.conditions import Where
from umi_core.limits import I64_MAX
from umi_core.messages.effects import ByVector, ByWords, Commit, Write
from umi_core.rows import Address, Entity, Head, Vector
from umi_core.values import Scope
from umi_sim.runs.runner import run_once
from umi_sim.scenario.files import draw, find
from umi_sim.services import calls as services
from umi_sim.services.search_index import ROOM_MIN, SearchIndex, can_answer, id_key
from umi_sim.services.storage import INDEXED_COUNT_MIN, SimStorage

HOME, AWAY = Scope("ann", "a1"), Scope("ann", "a2")


def entity(
    row_id: str, content: str = "tea", name: str = "Ann", time_ms: int = 1, scope: Scope = HOME
) -> Write:
    body = Entity(row_id, "person", name, content, 1, 1, 1, "human", time_ms, time_ms)
    return Write(Address(scope, "entity", row_id), body)


def vector(row_id: str, *components: int) -> Write:
    return Write(Address(HOME, "vector", row_id), Vector(row_id, 1, components))


def gone(write: Write) -> Write:
    return Write(write.address, None)


def put(storage: SimStorage, *writes: Write) -> None:
    storage.flush(storage.arrive(Commit(writes, ()), "a"), 0)


def holding(*writes: Write) -> SimStorage:
    storage = SimStorage(indexed_count_min=0)
    put(storage, *writes)
    return storage


def by_words(storage: SimStorage, text: str, where: Where | None = None, scope: Scope = HOME) -> list[str]:
    rows = storage.read(1, ByWords(scope, text, where or (), 10, 1)).rows
    return [row.address.id for row in rows]


def by_vector(storage: SimStorage, *components: int) -> list[str]:
    return [row.address.id for row in storage.read(1, ByVector(HOME, components, (), 10, 1)).rows]


def index_of(storage: SimStorage) -> SearchIndex:
    assert storage.index is not None
    return storage.index


# When there is one.


def test_a_small_scope_is_scanned_and_a_large_one_looked_up() -> None:
    storage = SimStorage()
    put(storage, *(entity(f"{n:03}") for n in range(INDEXED_COUNT_MIN - 1)))
    assert by_words(storage, "tea")[0] == "000"
    assert storage.index is None
    put(storage, entity("new", "tea and cake"))
    assert by_words(storage, "cake") == ["new"]
    assert list(index_of(storage).by_scope) == [HOME]


def test_a_scope_that_was_never_searched_has_no_index() -> None:
    storage = holding(entity("a"), entity("b", scope=AWAY))
    assert by_words(storage, "tea") == ["a"]
    put(storage, entity("c", scope=AWAY))
    assert list(index_of(storage).by_scope) == [HOME]
    assert by_words(storage, "tea", scope=AWAY) == ["b", "c"]


def test_a_copy_and_a_pickle_have_none_and_make_their_own() -> None:
    storage = holding(entity("a"))
    assert by_words(storage, "tea") == ["a"]
    for twin in (copy.deepcopy(storage), pickle.loads(pickle.dumps(storage))):
        assert twin == storage
        assert twin.index is None
        put(twin, entity("b"))
        assert by_words(twin, "tea") == ["a", "b"]
    assert by_words(storage, "tea") == ["a"]


def test_rows_that_were_exchanged_as_a_whole_are_indexed_anew() -> None:
    storage = holding(entity("a"))
    assert by_words(storage, "tea") == ["a"]
    storage.rows, storage.row_ids = {}, {}
    put(storage, entity("b"))
    assert by_words(storage, "tea") == ["b"]


# What follows a change.


def test_a_changed_row_is_found_by_what_it_says_now() -> None:
    storage = holding(entity("a", "tea"), vector("a", 1, 0))
    assert (by_words(storage, "tea"), by_vector(storage, 1, 0)) == (["a"], ["a"])
    put(storage, entity("a", "cake"), vector("a", 0, 1))
    assert (by_words(storage, "tea"), by_words(storage, "cake")) == ([], ["a"])
    assert (by_vector(storage, 1, 0), by_vector(storage, 0, 1)) == ([], ["a"])
    (row,) = storage.read(1, ByWords(HOME, "cake", (), 10, 1)).rows
    assert row.version == 2


def test_a_deleted_entity_is_in_no_index_and_comes_back_when_it_is_remembered_again() -> None:
    storage = holding(entity("a"), vector("a", 1, 0))
    assert by_words(storage, "tea") == ["a"]
    put(storage, gone(entity("a")))
    assert (by_words(storage, "tea"), by_vector(storage, 1, 0)) == ([], [])
    put(storage, entity("a"))
    assert (by_words(storage, "tea"), by_vector(storage, 1, 0)) == (["a"], ["a"])


def test_a_vector_comes_goes_and_changes_its_length() -> None:
    storage = holding(entity("a"))
    assert by_vector(storage, 1, 0) == []
    put(storage, vector("a", 1, 0))
    assert by_vector(storage, 1, 0) == ["a"]
    put(storage, vector("a", 1, 0, 0))
    assert (by_vector(storage, 1, 0), by_vector(storage, 1, 0, 0)) == ([], ["a"])
    put(storage, gone(vector("a", 1)))
    assert (by_vector(storage, 1, 0, 0), by_words(storage, "tea")) == ([], ["a"])


def test_a_batch_that_is_pending_torn_or_crashed_is_in_no_search() -> None:
    storage = holding(entity("a"), entity("b"))
    assert by_words(storage, "tea") == ["a", "b"]
    batch = Commit((entity("c"), gone(entity("a")), entity("b", "cake")), ())
    ticket = storage.arrive(batch, "a")
    assert by_words(storage, "tea") == ["a", "b"]
    storage.tear_batch(ticket, 3)
    assert by_words(storage, "tea") == ["a", "b"]
    storage.arrive(batch, "a")
    storage.crash()
    assert (by_words(storage, "tea"), by_words(storage, "cake")) == (["a", "b"], [])


def test_a_row_that_changes_for_ever_leaves_no_growing_pile() -> None:
    storage = holding(entity("a"), entity("b"))
    for n in range(3 * ROOM_MIN):
        put(storage, entity("a", f"tea {n}"))
        assert by_words(storage, "tea") == ["b", "a"]
    index = index_of(storage).by_scope[HOME]
    assert sum(len(table.ids) for table in index.tables.values()) <= ROOM_MIN + 8


# Rows that fit no column.


def test_odd_rows_are_found_like_all_others() -> None:
    storage = holding(
        entity("late", time_ms=I64_MAX),
        entity("long", name="word " * 60),
        entity("tall"),
        vector("tall", 128, 0),
        entity("flat"),
        vector("flat", 127, 0),
        Write(Address(HOME, "entity", "strange"), Head("tea")),
        vector("strange", 1, 0),
        entity("low"),
        vector("low", -128, 0),
    )
    assert by_words(storage, "tea") == ["flat", "late", "low", "tall", "long"]
    assert by_vector(storage, 1, 0) == ["flat", "strange", "tall"]
    assert by_words(storage, "tea", conditions(start_ms=I64_MAX)) == ["late"]
    assert by_words(storage, "tea", conditions(start_ms=2**70)) == []
    assert sorted(index_of(storage).by_scope[HOME].unindexed) == ["late", "low", "strange", "tall"]
    put(storage, gone(entity("tall")), entity("late"))
    assert by_vector(storage, 1, 0) == ["flat", "strange"]


def test_entities_to_be_left_out_are_left_out() -> None:
    storage = holding(entity("a"), entity("b"), entity("c"))
    assert by_words(storage, "tea", conditions(without=("b", "never"))) == ["a", "c"]
    unindexed = structs.replace(entity("d"), address=Address(HOME, "entity", "elsewhere"))
    put(storage, unindexed)
    assert by_words(storage, "tea", conditions(without=("elsewhere",))) == ["a", "b", "c", "elsewhere"]
    assert by_words(storage, "tea", conditions(without=("d",))) == ["a", "b", "c"]


def test_no_entity_touches_anything() -> None:
    storage = holding(entity("a"), vector("a", 1, 0), entity("odd", time_ms=I64_MAX))
    assert by_words(storage, "tea", conditions(touches="a")) == []


def test_a_query_with_a_vector_out_of_range_is_scanned() -> None:
    assert can_answer(ByVector(HOME, (1, -127), (), 1, 1))
    assert not can_answer(ByVector(HOME, (1, 128), (), 1, 1))
    assert not can_answer(ByVector(HOME, (1, -128), (), 1, 1))
    storage = holding(entity("a"), vector("a", 1, 0))
    assert by_vector(storage, 128, 0) == ["a"]
    assert storage.index is None


# Numbers.


@pytest.mark.parametrize(
    "ids",
    [
        [
            "",
            "a",
            "ent",
            "ent_",
            "ent_0",
            "ent_00",
            "ent_0000000",
            "ent_00000001",
            "ent_1",
            "ent`",
            "x",
            "日",
        ],
        ["\ud800", "\ue000", "\U00010000"],
        ["ent_\x00", "ent_a", "ent_日", "ent_日本", "ent_\ud800", "f"],
    ],
)
def test_keys_are_in_the_order_of_ids(ids: list[str]) -> None:
    in_order = sorted(ids)
    keys = [id_key(row_id) for row_id in in_order]
    assert keys == sorted(keys)
    assert all(0 <= key < 2**64 for key in keys)
    assert id_key("ent_00000000a") == id_key("ent_00000000b")  # a tie that the id itself must break


# Whole lives.


@pytest.mark.slow
@pytest.mark.parametrize("name", ["smoke", "storage_storm", "crash_storm"])
def test_a_life_is_the_same_whether_storage_scans_or_looks_up(name: str) -> None:
    for seed in (1, 2):  # seed 0 lives several times as long
        scanned = run_once(draw(find(name), seed))[1].hexdigest()
        with mock.patch.object(services, "SimStorage", partial(SimStorage, indexed_count_min=0)):
            looked_up = run_once(draw(find(name), seed))[1].hexdigest()
        assert looked_up == scanned
