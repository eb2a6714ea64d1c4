"""Goal: what goes over httpx or redis can fail before it is done or after, and is then judged as that."""

import asyncio
import sys
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from umi_sim.targets import MISSING, Kv
from umi_sim.targets.faults import install_network
from umi_sim.targets.hunt import hunt, moments_of
from umi_sim.targets.items import STEP, ContractOp, Item
from umi_sim.targets.life import run

BASE = "http://store"


class Remote(Kv):
    """A store behind a server of rows, which lives in another process."""

    durable = True
    values = "text"
    odd = False

    def make(self) -> None:
        self.rows = self.outside.setdefault("rows", {})
        self.client = httpx.Client(base_url=BASE, transport=httpx.MockTransport(self._serve))

    def close(self) -> None:
        self.client.close()

    def _serve(self, request: httpx.Request) -> httpx.Response:
        key = request.url.path
        if request.method == "PUT":
            self.rows[key] = request.content.decode()
        elif request.method == "POST":
            self.rows[key] = self.rows.get(key, "") + request.content.decode()
        elif request.method == "DELETE":
            return httpx.Response(200 if self.rows.pop(key, None) is not None else 404)
        return httpx.Response(200, text=self.rows[key]) if key in self.rows else httpx.Response(404)

    def put(self, key: str, value: str) -> None:
        self.client.put(f"/{key}", content=value)

    def get(self, key: str) -> object:
        found = self.client.get(f"/{key}")
        return found.text if found.status_code == 200 else MISSING

    def delete(self, key: str) -> bool:
        return self.client.delete(f"/{key}").status_code == 200


class Caches(Remote):
    """It keeps what it puts before it was put."""

    def make(self) -> None:
        super().make()
        self.kept: dict[str, str] = {}

    def put(self, key: str, value: str) -> None:
        self.kept[key] = value
        super().put(key, value)

    def get(self, key: str) -> object:
        return self.kept.get(key) or super().get(key)

    def delete(self, key: str) -> bool:
        self.kept.pop(key, None)
        return super().delete(key)


class Swallows(Remote):
    """The caller of put does not learn that nothing was sent."""

    def put(self, key: str, value: str) -> None:
        with suppress(httpx.ConnectError):
            super().put(key, value)


class Later(Remote):
    def make(self) -> None:
        self.rows = self.outside.setdefault("rows", {})
        self.web = httpx.AsyncClient(base_url=BASE, transport=httpx.MockTransport(self._serve))

    async def put(self, key: str, value: str) -> None:  # type: ignore[override]  # the same, to be waited for
        await self.web.put(f"/{key}", content=value)

    async def get(self, key: str) -> object:
        found = await self.web.get(f"/{key}")
        return found.text if found.status_code == 200 else MISSING

    async def delete(self, key: str) -> bool:  # type: ignore[override]  # the same, to be waited for
        return (await self.web.delete(f"/{key}")).status_code == 200

    async def close(self) -> None:  # type: ignore[override]  # the same, to be waited for
        await self.web.aclose()


@pytest.mark.parametrize("store", [Remote, Later])
def test_a_store_that_asks_a_server_is_left_alone(store: type[Kv]) -> None:
    sites = {site for each in moments_of(store).values() for site, _ in each}
    assert sites - {STEP} == {"request", "response"}
    assert hunt(store, range(12)).first is None


@pytest.mark.parametrize(("store", "rule"), [(Caches, "error-applied"), (Swallows, "done-lost")])
def test_what_was_not_sent_must_not_be_there(store: type[Kv], rule: str) -> None:
    small = hunt(store, range(200)).small
    assert small is not None
    assert small.broken is not None
    assert small.broken.rule == rule
    assert len(small.items) <= 3


@pytest.mark.parametrize(("site", "answer"), [("request", "nothing"), ("response", "'v'")])
def test_a_lost_response_has_done_its_work(site: str, answer: str) -> None:
    put = ContractOp("put", {"key": "a", "value": "v"})
    verdict = run(Remote, (Item("fail", (put,), 1, site), Item("op", (ContractOp("get", {"key": "a"}),))))
    assert verdict.broken is None
    assert [step.told for step in verdict.steps][1] == answer


class Sites:
    def __init__(self) -> None:
        self.reached: list[str] = []
        self.latency_ms = 0

    def reach(self, site: str, error: Exception) -> None:
        self.reached.append(f"{site}: {error}")


def test_redis_is_met_where_its_clients_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Redis as its documentation has it; examples/targets/redis_stores.py runs with the real one."""

    class Client:
        def execute_command(self, name: str) -> str:
            return name

    class Pipeline(Client):
        def execute(self) -> list[str]:
            return ["done"]

    class LaterClient:
        async def execute_command(self, name: str) -> str:
            return name

    class LaterPipeline(LaterClient):
        async def execute(self) -> list[str]:
            return ["done"]

    later: Any = SimpleNamespace(Redis=LaterClient, client=SimpleNamespace(Pipeline=LaterPipeline))
    errors = {"ConnectionError": ConnectionError, "TimeoutError": TimeoutError}
    redis: Any = SimpleNamespace(
        Redis=Client, client=SimpleNamespace(Pipeline=Pipeline), asyncio=later, **errors
    )
    monkeypatch.setitem(sys.modules, "redis", redis)
    sites = Sites()
    with install_network(sites):
        assert Client().execute_command("GET") == "GET"
        assert Pipeline().execute() == ["done"]
        assert asyncio.run(LaterClient().execute_command("SET")) == "SET"
        assert asyncio.run(LaterPipeline().execute()) == ["done"]
    assert sites.reached == ["request: connection refused", "response: timed out"] * 4
    Client().execute_command("GET")
    assert len(sites.reached) == 8
