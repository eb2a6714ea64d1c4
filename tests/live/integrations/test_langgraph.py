"""Goal: LangGraph finds what it keeps, as its own suite for checkpointers and its store promise."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")
pytest.importorskip("langgraph.checkpoint.base", reason="the extra `langgraph` is not installed")

from langgraph.checkpoint.base import ERROR, empty_checkpoint
from langgraph.store.base import BaseStore, GetOp, PutOp

from umi_live import LiveError, host, open_blocking, open_memory
from umi_live.integrations import records
from umi_live.integrations.langgraph_saver import UmiSaver
from umi_live.integrations.langgraph_store import UmiStore
from umi_live.storage import wall_ms

TEA: dict[str, Any] = {"text": "Ann likes tea.", "cups": 3, "at": {"city": "Porto"}}


def test_the_suite_of_langgraph_finds_a_complete_checkpointer(tmp_path: Path) -> None:
    suite = pytest.importorskip(
        "langgraph.checkpoint.conformance", reason="langgraph-checkpoint-conformance is not installed"
    )
    paths = iter(tmp_path / f"{number}.db" for number in range(100))

    @suite.checkpointer_test(name="Umi")  # type: ignore[untyped-decorator]  # it is not looked at
    async def saver() -> Any:
        async with open_memory(next(paths), user="ann", agent="helper") as memory:
            yield UmiSaver(memory)

    report = asyncio.run(suite.validate(saver))
    failed = {name: found.failures for name, found in report.results.items() if found.passed is False}
    assert failed == {}
    assert report.passed_all_base()


def test_a_graph_goes_on_where_it_was_interrupted_by_the_end_of_its_process(tmp_path: Path) -> None:
    graphs = pytest.importorskip("langgraph.graph", reason="langgraph is not installed")
    types = pytest.importorskip("langgraph.types")

    def ask(state: dict[str, Any], *, store: BaseStore) -> dict[str, Any]:
        store.put(("asked",), "q", {"text": "Which tea?"})
        return {"tea": types.interrupt("Which tea?")}

    def run(what: Any) -> Any:
        with open_blocking(tmp_path / "agent.db", user="ann", agent="helper") as memory:
            builder = graphs.StateGraph(dict)
            builder.add_node("ask", ask)
            builder.set_entry_point("ask")
            graph = builder.compile(checkpointer=UmiSaver(memory), store=UmiStore(memory))
            found = graph.invoke(what, {"configurable": {"thread_id": "1"}})
            assert UmiStore(memory).get(("asked",), "q").value == {"text": "Which tea?"}
            return found

    assert run({"who": "Ann"})["__interrupt__"][0].value == "Which tea?"
    assert run(types.Command(resume="green"))["tea"] == "green"


def test_an_error_takes_the_place_of_the_one_before_and_another_write_counts_once(tmp_path: Path) -> None:
    config = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}
    with open_blocking(tmp_path / "agent.db", user="ann", agent="helper") as memory:
        saver = UmiSaver(memory)
        at = saver.put(config, empty_checkpoint(), {}, {})
        for number in range(2):
            saver.put_writes(at, [("cups", number)], "task")
            saver.put_writes(at, [(ERROR, number)], "task")
        [found] = saver.list(config)
        assert found.pending_writes == [("task", ERROR, 1), ("task", "cups", 0)]


def test_items_are_found_by_namespace_key_filter_and_words(tmp_path: Path) -> None:
    with open_blocking(tmp_path / "agent.db", user="ann", agent="helper") as memory:
        store = UmiStore(memory)
        store.put(("ann", "food"), "tea", {"text": "Ann likes jam."})
        store.put(("ann", "work"), "job", {"text": "Ann works in a café.", "cups": "three"})
        store.put(("bob", "food"), "tea", {"text": "Bob likes tea."})
        created = store.get(("ann", "food"), "tea").created_at
        store.put(("ann", "food"), "tea", TEA)
        item = store.get(("ann", "food"), "tea")
        assert (item.value, item.created_at) == (TEA, created)
        assert item.updated_at > created
        assert store.get(("ann", "food"), "coffee") is None
        assert [it.key for it in store.search(("ann",))] == ["tea", "job"]  # the newest first
        assert [it.key for it in store.search(("ann",), limit=1, offset=1)] == ["job"]
        for wanted in (
            {"cups": {"$gt": 2}},
            {"cups": 3},
            {"at": {"city": "Porto"}},
            {"cups": {"$gte": 3, "$ne": 4}},
        ):
            assert [it.key for it in store.search(("ann",), filter=wanted)] == ["tea"], wanted
        assert store.search(("ann",), filter={"cups": {"$lt": 3}}) == []
        assert {it.namespace for it in store.search((), query="tea")} == {("ann", "food"), ("bob", "food")}
        [best, other] = store.search((), query="Bob tea")
        assert (best.value["text"], best.score > other.score) == ("Bob likes tea.", True)
        assert [it.key for it in store.search((), query="cafe")] == ["job"]
        store.delete(("bob", "food"), "tea")
        assert store.list_namespaces() == [("ann", "food"), ("ann", "work")]
        assert store.list_namespaces(max_depth=1) == [("ann",)]
        assert store.list_namespaces(suffix=("food",), prefix=("*",)) == [("ann", "food")]
        results = store.batch(
            [PutOp(("a",), "k", {"v": 1}), GetOp(("a",), "k"), PutOp(("a",), "k", {"v": 2})]
        )
        assert results == [None, None, None]  # reads see what was there before
        assert store.get(("a",), "k").value == {"v": 2}


def test_an_item_is_found_until_its_time_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    later_ms = 0
    for module in (records, host):  # the memory has the same clock
        monkeypatch.setattr(module, "wall_ms", lambda: wall_ms() + later_ms)
    with open_blocking(tmp_path / "agent.db", user="ann", agent="helper") as memory:
        store = UmiStore(memory, ttl={"default_ttl": 10, "refresh_on_read": False})
        long = "a long text " * 9_000  # of more than one record
        store.put(("soon",), "tea", {"text": "Ann likes tea."}, ttl=1)
        store.put(("soon",), "jam", {"text": long})
        store.put(("ever",), "tea", TEA, ttl=None)
        first = store.get(("soon",), "tea")
        later_ms = 50_000
        assert store.get(("soon",), "tea", refresh_ttl=True) == first  # also its times
        assert store.search(("soon",), query="tea")[0].value == first.value
        later_ms = 61_000
        assert store.get(("soon",), "tea").created_at == first.created_at
        later_ms = 111_000
        assert store.get(("soon",), "tea") is None
        assert {it.key for it in store.search(("soon",))} == {"jam"}
        assert [it.namespace for it in store.search((), query="likes")] == [("ever",)]
        later_ms = 601_000
        assert store.list_namespaces() == [("ever",)]
        assert memory.stats()["records"] > 3
        assert (store.sweep_ttl(), store.sweep_ttl()) == (2, 0)
        assert memory.stats()["records"] == 1
        store.put(("soon",), "tea", {"text": "gone"}, ttl=1)
        later_ms += 61_000
        store.put(("soon",), "tea", {"text": "Ann likes tea."}, ttl=None)
        again = store.get(("soon",), "tea", refresh_ttl=True)
        assert (again.value, again.created_at > first.created_at) == ({"text": "Ann likes tea."}, True)
        assert (asyncio.run(store.asweep_ttl()), store.get(("soon",), "tea")) == (1, again)
        store.put(("soon",), "jam", {"text": "x"}, ttl=1)
        later_ms += 61_000
        store.delete(("soon",), "jam")
        assert memory.stats()["records"] == 2
        store.put(("soon",), "jam", {"text": "x"}, ttl=5)

    async def read_only() -> None:  # finds it, and writes nothing
        path = tmp_path / "agent.db"
        async with open_memory(path, user="ann", agent="helper", read_only=True) as memory:
            assert await UmiStore(memory).aget(("soon",), "jam") is not None

    asyncio.run(read_only())


def test_what_a_store_cannot_promise_is_refused_with_the_limit(tmp_path: Path) -> None:
    with open_blocking(tmp_path / "agent.db", user="ann", agent="helper") as memory:
        store = UmiStore(memory)
        with pytest.raises(LiveError, match="1 to 256 bytes"):
            store.put(("ann",), "k" * 300, TEA)
        with pytest.raises(LiveError, match="at most 8999910 can be kept"):
            store.put(("ann",), "k", {"text": "x" * 9_000_000})
        store.put(("ann",), "k", {"text": "x"})
        with pytest.raises(ValueError, match=r"\$like is no operator of a filter; there are: \$eq, \$ne"):
            store.search(("ann",), filter={"text": {"$like": "x"}})
        with pytest.raises(NotImplementedError):
            UmiSaver(memory).prune(["1"])
