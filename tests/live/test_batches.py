"""Goal: a batch of statements is remembered once and in order, and names what failed."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")

from umi_live import BatchStatement, RequestRefused, StoreError, open_blocking, open_memory
from umi_live.local import RuleModel
from umi_live.memory import LiveMemory

NAMES = ("Ann", "Bob", "Eve", "Tom", "Kim")
MOVES = [BatchStatement(f"{name} lives in Town{n}.", name) for n in range(40) for name in NAMES]


class WaitingModel(RuleModel):
    """Answers later, and the longer the shorter its question is; counts those that wait."""

    def __init__(self) -> None:
        self.waiting = self.most = self.asked = 0

    async def ask(self, task: str, prompt: str, timeout_ms: int) -> str:
        self.asked += 1
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        await asyncio.sleep(self.asked % 3 / 1_000)
        self.waiting -= 1
        return await super().ask(task, prompt, timeout_ms)


@pytest.mark.parametrize("waits", [False, True], ids=["at once", "waits"])
def test_of_each_conversation_the_last_statement_holds(waits: bool) -> None:
    model = WaitingModel() if waits else None
    with open_blocking(":memory:", user="ann", agent="helper", model=model) as memory:
        counts = list[int]()
        result = memory.remember_many(MOVES, report=counts.append)
        assert [it.content for name in NAMES for it in memory.facts(name)] == [
            f"{name} lives in Town39." for name in NAMES
        ]
        assert (result.remembered_count, result.repeated_count, result.failed) == (200, 0, {})
        assert (result.new_fact_count, result.ended_fact_count, result.degraded) == (200, 195, {})
        assert counts == list(range(1, 201))
        again = memory.remember_many(MOVES)
        assert (again.remembered_count, again.repeated_count, again.new_fact_count) == (200, 200, 0)
        assert memory.count() == len(NAMES)
    assert model is None or model.most > 1  # other conversations are not waited for


def test_a_statement_has_what_remember_takes_and_each_place_is_its_own() -> None:
    with open_blocking(":memory:", user="ann", agent="helper") as memory:
        at = BatchStatement("I like tea.", "c", "Bob", 1_700_000_000_000, {"lang": "en"}, "chat 1")
        result = memory.remember_many([at, "I live in Rome.", "I live in Oslo.", "I live in Rome."])
        assert (result.remembered_count, result.repeated_count, result.ended_fact_count) == (4, 0, 2)
        [fact] = memory.facts("Bob")
        assert (fact.time_ms, fact.metadata, fact.content) == (
            1_700_000_000_000, (("lang", "en"),), "I like tea.",
        )  # fmt: skip
        assert [it.content for it in memory.facts("me")] == ["I live in Rome."]


def test_what_fails_is_named_by_its_place_and_the_rest_is_remembered() -> None:
    with open_blocking(":memory:", user="ann", agent="helper") as memory:
        result = memory.remember_many(["Ann likes tea.", " ", "Ann likes jam.", "\ud800"])
        assert (result.remembered_count, list(result.failed)) == (2, [1, 3])
        assert all(isinstance(it, RequestRefused) for it in result.failed.values())
        assert memory.count() == 2
        assert memory.remember_many([]).remembered_count == 0


def test_what_is_no_statement_is_named_and_one_text_is_no_batch() -> None:
    with open_blocking(":memory:", user="ann", agent="helper") as memory:
        wrong: list[Any] = [
            "Ann likes a.", 5, "Bob likes b.", BatchStatement(None), None, BatchStatement("x", metadata=[1]),  # type: ignore[arg-type]
        ]  # fmt: skip
        counts = list[int]()
        result = memory.remember_many(wrong, report=counts.append)
        assert (result.remembered_count, list(result.failed), counts[-1]) == (2, [1, 3, 4, 5], 6)
        assert (
            str(result.failed[1]) == "statement: 5 is not allowed, expected a text or BatchStatement, got int"
        )
        assert str(result.failed[3]) == "text: None is not allowed, expected a text, got NoneType"
        assert str(result.failed[5]).startswith(
            "metadata: [1] is not allowed, expected a mapping from a text"
        )
        for one in ("Cy likes c.", BatchStatement("Cy likes c."), b"Cy", 5, None):
            with pytest.raises(
                RequestRefused, match=r"^statements: .* expected a list, each of it a text or"
            ):
                memory.remember_many(one)  # type: ignore[arg-type]
        assert memory.count() == 2


def test_a_database_that_fails_ends_the_batch_and_it_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import apsw

    async def live(memory: LiveMemory) -> None:
        async with memory:
            assert memory.store is not None
            storage, done = memory.store.storage, list[int]()
            carry_out = storage._carry_out

            def fill_up(*given: Any) -> Any:
                done.append(1)
                if len(done) > 30:
                    raise apsw.FullError("database or disk is full")
                return carry_out(*given)

            with monkeypatch.context() as broken:
                broken.setattr(storage, "_carry_out", fill_up)
                with pytest.raises(StoreError, match="the disk is full"):
                    await memory.remember_many(MOVES)
            result = await memory.remember_many(MOVES)
            assert (result.remembered_count, result.failed) == (200, {})
            assert result.repeated_count >= 1
            found = [it.content for name in NAMES for it in await memory.facts(name)]
            assert found == [f"{name} lives in Town39." for name in NAMES]

    asyncio.run(live(open_memory(tmp_path / "agent.db", user="ann", agent="helper", model=WaitingModel())))
