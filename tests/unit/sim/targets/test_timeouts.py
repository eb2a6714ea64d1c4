"""Goal: what a store does after it gave up on a job, or raised, is found: an error means no effect, ever."""

import asyncio

import pytest

from tests.kv_store import EndsByTimers
from umi_sim.targets import MISSING, Kv
from umi_sim.targets.adapter import Adapter
from umi_sim.targets.drawing import draw_items, moments_at
from umi_sim.targets.hunt import hunt
from umi_sim.targets.items import TIMEOUT, ContractOp, Item
from umi_sim.targets.life import run


class GivesUp(Kv):
    """A write may take a second; then it raises, though the job goes on."""

    durable = True

    def make(self) -> None:
        self.rows: dict[str, object] = self.outside.setdefault("rows", {})

    def _write(self, key: str, value: object) -> None:
        self.rows[key] = value

    async def put(self, key: str, value: object) -> None:
        await asyncio.wait_for(asyncio.to_thread(self._write, key, value), timeout=1)

    async def get(self, key: str) -> object:
        return self.rows.get(key, MISSING)


class WaitsOn(GivesUp):
    """Correct: it asks again after each second, but raises nothing."""

    async def put(self, key: str, value: object) -> None:
        job = asyncio.create_task(asyncio.to_thread(self._write, key, value))
        while not job.done():
            await asyncio.wait([job], timeout=1)


class WritesLater(GivesUp):
    """Each third write takes longer than the store waits for it, and happens later."""

    busy = (asyncio.TimeoutError,)

    def make(self) -> None:
        super().make()
        self.count = 0

    async def _store(self, key: str, value: object) -> None:
        self.count += 1
        await asyncio.sleep(0.2 if self.count % 3 == 0 else 0)
        self.rows[key] = value

    async def put(self, key: str, value: object) -> None:
        await asyncio.wait_for(asyncio.shield(asyncio.create_task(self._store(key, value))), timeout=0.1)


@pytest.mark.parametrize("store", [GivesUp, WritesLater])
def test_an_effect_after_an_error_is_found_and_named(store: type[Adapter]) -> None:
    small = hunt(store, range(60)).small
    assert small is not None
    assert small.broken is not None
    assert (small.broken.rule, small.broken.anomaly) == ("error-applied", "dirty read")


def test_a_store_that_waits_for_its_job_passes() -> None:
    found = hunt(WaitsOn, range(20))
    assert found.small is None
    assert moments_at([TIMEOUT], found.moments)["put"] == [(TIMEOUT, 1)]


PUT, CHANGE = (ContractOp("put", {"key": "a", "value": value}) for value in ("v1", "v2"))
GET = ContractOp("get", {"key": "a"})


def test_the_result_comes_after_the_timer_and_the_report_says_so() -> None:
    late = Item("fail", (PUT,), 1, TIMEOUT)
    verdict = run(GivesUp, (late, Item("op", (GET,))))
    assert verdict.steps[0].replies == ("raised TimeoutError: ''",)
    assert late.describe("put") == "put, of which the result of job 1 comes after a timer"
    assert run(WaitsOn, (late, Item("op", (GET,)))).broken is None


def test_a_write_that_raised_and_replaced_a_later_one_is_told() -> None:
    ops = [ContractOp("put", {"key": "b", "value": n}) for n in range(2)]
    items = [Item("op", (op,)) for op in (*ops, PUT, CHANGE, ops[0])]
    broken = run(WritesLater, (*items, Item("advance", number=1_000), Item("op", (GET,)))).broken
    assert broken is not None
    assert (broken.rule, broken.got) == ("error-applied", "'v1'")
    assert broken.allowed.endswith(f"; as if {PUT}, which raised an error, was done later")


def test_no_process_dies_at_a_timeout() -> None:
    moments = {"put": [(TIMEOUT, 1)], "get": []}
    kinds = {item.kind for seed in range(60) for item in draw_items(GivesUp, seed, moments)}
    assert "fail" in kinds
    assert "crash_in" not in kinds


def test_a_cancelled_timer_lets_no_later_one_go_off_early() -> None:
    items = [Item("op", (ContractOp("put", {"key": "a", "value": n, "ttl": n}),)) for n in (1_000, 5_000)]
    waits = [Item("advance", number=ms) for ms in (999, 1)]
    verdict = run(EndsByTimers, (*items, *waits, Item("op", (GET,))))
    assert (verdict.broken, verdict.steps[-1].replies) == (None, ("5000",))
