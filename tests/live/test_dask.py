"""Goal: a sweep by `--executor dask`, on a cluster of two processes, tells what a local one tells."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.unit.sim.commands import BAD, umi

distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")
import dask  # noqa: E402  # comes with it

pytestmark = pytest.mark.slow
SWEEP = ("sweep", "bad.toml", "--seeds", "0..19", "--jobs", "2", "--no-shrink")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from umi_sim.sweep.dask_cluster import local_cluster

    with local_cluster(2) as two:
        yield two


def kill_one_at_work(cluster: Any, killed: list[int]) -> None:
    """End the process of a worker as the system does, in the middle: more than the canary has begun."""
    nannies = {nanny.worker_address: nanny for nanny in cluster.workers.values()}
    while not killed:
        time.sleep(0.01)
        busy = [each for each in list(cluster.scheduler.workers.values()) if each.processing]
        for address in [each.address for each in busy if len(busy) == 2]:
            if address in nannies:
                killed.append(nannies[address].pid)
                os.kill(killed[0], signal.SIGKILL)
                return


def test_a_sweep_on_a_cluster_tells_the_same_also_when_a_worker_is_killed(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = []
    killed: list[int] = []
    for name, more in (("here", ()), ("there", ("--executor", "dask"))):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        Path("bad.toml").write_text(BAD)
        if more:
            Thread(target=kill_one_at_work, args=(cluster, killed), daemon=True).start()
        with dask.config.set({"scheduler-address": cluster.scheduler_address}):
            results.append(umi(*SWEEP, *more))
    here, there = results
    assert here.stdout.startswith("FAIL sweep of 1 scenario")
    assert (there.exit_code, there.stdout) == (here.exit_code, here.stdout)
    assert len(killed) == 1
    assert killed[0] not in [nanny.pid for nanny in cluster.workers.values()]


def test_without_an_address_a_cluster_of_processes_is_started_and_ends() -> None:
    from umi_sim.sweep.dask_cluster import DaskWorkers

    workers = DaskWorkers(2)
    pids = {workers.submit(pid_after, 0.2).result() for _ in range(2)}
    futures = [workers.submit(pid_after, 0.2) for _ in range(8)]
    pids |= {future.result() for future in futures}
    assert len(pids) == 2
    assert os.getpid() not in pids
    workers.shutdown()
    assert workers.client.status == "closed"


def pid_after(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def test_a_missing_cluster_is_reported_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.toml").write_text(BAD)
    near = {"scheduler-address": "tcp://127.0.0.1:1", "distributed.comm.timeouts.connect": "100ms"}
    with dask.config.set(near):
        result = umi(*SWEEP, "--executor", "dask")
    assert result.exit_code == 2
    assert result.stderr.startswith("umi-sim: dask: no cluster at tcp://127.0.0.1:1")
    assert result.stderr.count("\n") == 1


def test_a_scheduler_that_has_gone_is_an_executor_that_broke(cluster: Any) -> None:
    from concurrent.futures import BrokenExecutor

    from umi_sim.sweep.dask_cluster import DaskWorkers

    with dask.config.set({"scheduler-address": cluster.scheduler_address}):
        workers = DaskWorkers(2)
    workers.client.close()
    with pytest.raises(BrokenExecutor, match="its scheduler is gone"):
        workers.submit(pid_after, 0)
    workers.shutdown()
