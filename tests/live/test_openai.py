"""Goal: whatever an endpoint sends is an answer or a failure that the memory knows; nothing is lost by it."""

import asyncio
import itertools
import random
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("apsw", reason="the extra `live` is not installed")
pytest.importorskip("httpx", reason="the extra `live` is not installed")

import numpy as np

from tests.live.endpoint import EMBEDDER, FAILURES, MODEL, OF_EMBEDDER, OF_MODEL, serving
from umi_core.config import Config
from umi_core.limits import RETRY_AFTER_MS_MAX
from umi_live import LiveError, ServiceFailed, open_memory
from umi_live.local import DIMS, hash_text
from umi_live.openai import TABLE, ChatModel, TextEmbedder, retry_after_ms, round_components

CASES = {  # what each failure is; all rows of the table are met
    "hangs": "no_answer", "breaks off": "no_connection", "408": "gateway", "504": "gateway", "429": "busy",
    "429 with seconds": "busy", "500": "broken", "503 with seconds": "broken", "400 too long": "too_long",
    "413": "too_long", "400": "refused", "401": "refused", "404": "refused", "301": "refused",
    "empty": "no_json", "cut off JSON": "no_json", "deep": "no_json", "large": "too_large",
    "no choices": "no_form", "no object": "no_form", "no text": "no_form", "blank text": "no_form",
    "stopped": "cut_off", "refusal": "declined", "filtered": "declined", "too few vectors": "vectors",
    "short vectors": "vectors", "no numbers": "vectors", "not finite": "vectors", "zeros": "vectors",
}  # fmt: skip


async def asked(failure: str, question: str) -> Any:
    async with serving(lambda: failure) as url:
        model, embedder = ChatModel(url + MODEL, "key"), TextEmbedder(url + EMBEDDER)
        try:
            if question == "embed":
                return await embedder.embed(("tea", "Ann"), 200)
            return await model.ask("expand", 'INPUT query = "tea"', 200)
        finally:
            await model.close()
            await embedder.close()


@pytest.fixture(autouse=True)
def small_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("umi_live.openai.BODY_BYTES_MAX", 1_000_000)


def test_every_row_of_the_table_is_met() -> None:
    assert sorted(set(CASES.values())) == sorted(TABLE)
    assert sorted(CASES) == sorted(FAILURES)


@pytest.mark.parametrize(
    ("failure", "question"),
    [*((it, "ask") for it in OF_MODEL), *((it, "embed") for it in OF_EMBEDDER)],
)
def test_a_failure_is_the_one_of_its_row(failure: str, question: str) -> None:
    with pytest.raises(ServiceFailed) as failed:
        asyncio.run(asked(failure, question))
    case = CASES[failure]
    if question == "embed" and failure in ("no object", "no choices"):
        case = "vectors"
    assert (failed.value.kind, str(failed.value)) == (TABLE[case].kind, TABLE[case].what)
    assert failed.value.retry_after_ms == (50 if "with seconds" in failure else 0)


def test_vectors_come_in_the_order_of_the_texts_and_point_where_the_floats_point() -> None:
    assert asyncio.run(asked("", "embed")) == (hash_text("tea"), hash_text("Ann"))


def test_more_texts_than_an_endpoint_takes_go_in_several_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, counts, post = tuple(f"text {number}" for number in range(205)), list[int](), TextEmbedder.post

    async def counted(self: TextEmbedder, path: str, body: Any, timeout_ms: int) -> Any:
        counts.append(len(body["input"]))
        return await post(self, path, body, timeout_ms)

    async def embedded() -> Any:
        async with serving(lambda: "") as url:
            embedder = TextEmbedder(url + EMBEDDER)
            try:
                return await embedder.embed(texts, 5_000)
            finally:
                await embedder.close()

    monkeypatch.setattr(TextEmbedder, "post", counted)
    assert asyncio.run(embedded()) == tuple(hash_text(text) for text in texts)
    assert counts == [100, 100, 5]


def test_an_endpoint_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(ServiceFailed) as failed:
        asyncio.run(ChatModel("http://127.0.0.1:9/v1#m").ask("expand", "", 500))
    assert failed.value.kind == "unavailable"


@pytest.mark.parametrize(
    "url",
    ["", "127.0.0.1", "ftp://host/v1#m", "http://host/v1", "http://[::1#m", "http:///v1#m",
     "http://host:99999/v1#m", "https://host/v1#m:", "https://host/v1#m:" + 5_000 * "9"],
)  # fmt: skip
def test_a_malformed_address_is_reported(url: str) -> None:
    with pytest.raises(LiveError, match="is no address of"):
        open_memory(":memory:", user="ann", agent="helper", embedder=url)
    if not url.endswith(("#m:", "999")):
        with pytest.raises(LiveError, match="is no address of"):
            open_memory(":memory:", user="ann", agent="helper", model=url)


def test_a_time_to_wait_is_read_as_seconds_or_a_date() -> None:
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    assert [retry_after_ms(it) for it in ("2", "0.5", "-3", "soon", "nan", "1e999", None)] == [
        2_000, 500, 0, 0, 0, 0, 0,
    ]  # fmt: skip
    assert retry_after_ms("99999999") == RETRY_AFTER_MS_MAX + 1
    assert 55_000 < retry_after_ms(soon) <= 60_000


def test_rounding_keeps_nearly_all_of_a_ranking() -> None:
    """Random directions are the hardest case: nothing is much nearer than anything else."""
    chance = np.random.default_rng(1)
    rows, queries = chance.standard_normal((2_000, 256)), chance.standard_normal((20, 256))
    whole = np.array([round_components(row) for row in rows.tolist()])
    kept = [len(np.intersect1d(best(rows, query), best(whole, query))) for query in queries]
    assert sum(kept) >= 0.95 * 10 * len(queries)


def best(rows: Any, query: Any) -> Any:
    return np.argsort(-(rows @ query) / np.linalg.norm(rows, axis=1))[:10]


async def count_lost_facts(path: Path, count: int, fails: Any, timeout_ms: int) -> tuple[int, dict[str, int]]:
    """How many of so many facts are lost, and what was named as degraded."""
    degraded: dict[str, int] = {}
    config = Config(model_timeout_ms=timeout_ms)
    async with serving(fails) as url:
        memory = open_memory(
            path, user="ann", agent="helper", model=url + MODEL, embedder=url + EMBEDDER, config=config
        )
        async with memory:
            texts = [f"Ann{n} likes thing{n}. Bob{n} likes tea." for n in range(count)]
            for result in await asyncio.gather(*map(memory.remember, texts)):
                for it in result.degraded:
                    degraded[it.name] = degraded.get(it.name, 0) + 1
            kept = " ".join([entity.content async for entity in memory.entities()])
            words = frozenset(kept.replace(".", " ").split())
        lost = [n for n in range(count) if f"thing{n}" not in words or f"Bob{n}" not in words]
    return len(lost), degraded


@pytest.mark.slow
def test_a_bad_endpoint_loses_nothing_and_everything_degraded_is_named(tmp_path: Path) -> None:
    chance, names = random.Random(1), itertools.cycle(sorted({*OF_MODEL, *OF_EMBEDDER}))

    def fails() -> str:
        return next(names) if chance.randrange(3) == 0 else ""

    lost, degraded = asyncio.run(count_lost_facts(tmp_path / "agent.db", 100, fails, timeout_ms=300))
    assert lost == 0
    assert set(degraded) >= {"extract:notes", "embed:no_vectors"}


def test_a_sound_endpoint_degrades_nothing(tmp_path: Path) -> None:
    # Nothing hangs here, so a busy machine may take its time.
    assert asyncio.run(count_lost_facts(tmp_path / "agent.db", 5, lambda: "", timeout_ms=60_000)) == (0, {})


@pytest.mark.slow
def test_another_embedder_embeds_everything_again_and_loses_nothing(tmp_path: Path) -> None:
    class Turned:
        name, dims = "turned", DIMS // 2

        async def embed(self, texts: tuple[str, ...], timeout_ms: int) -> tuple[tuple[int, ...], ...]:
            return tuple(hash_text(text)[: DIMS // 2] for text in texts)

        async def close(self) -> None: ...

    async def live() -> None:
        path = tmp_path / "agent.db"
        async with open_memory(path, user="ann", agent="helper") as memory:
            for n in range(40):
                await memory.remember(f"Fact {n} is told.", extract=False)
        async with open_memory(path, user="ann", agent="helper", embedder=Turned()) as memory:
            assert await memory.count() == 40
            assert len(await memory.recall("fact 7", limit=100, min_score_ppm=0)) == 40
            assert memory.repairing is not None
            await memory.repairing
            vectors = [row.body async for row in memory.rows(("vector",))]
            assert {len(it.components) for it in vectors} == {DIMS // 2}  # type: ignore[union-attr]
            assert len(vectors) == 40
            assert not [it async for it in memory.entities() if it.vector_missing]

    asyncio.run(live())


def test_the_table_of_failures_is_that_of_the_page() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "hosting.md").read_text()
    rows = "".join(f"| {case.what} | `{case.kind}` |\n" for case in TABLE.values())
    assert rows in page
