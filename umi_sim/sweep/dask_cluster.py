"""`--executor dask`: workers of a dask cluster, each in its own process, here or on other machines.

The sweep uses the scheduler that dask is configured with (for example by DASK_SCHEDULER_ADDRESS). Without one
it starts a cluster on this machine, with a worker process per job, which ends with the sweep.

Law 1. Dask itself assigns the tasks of a killed worker to another worker.
"""

from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future
from typing import Any, Final

from umi_sim.sweep.executors import NoExecutor

FAILED_WORKERS_MAX: Final = 10  # after so many deaths of its worker a task is failed, not assigned again
LOST: Final = "its scheduler is gone"


class DaskWorkers:
    """An executor over a client of dask, which it closes."""

    def __init__(self, jobs: int) -> None:
        try:
            import dask
            from distributed import Client
        except ImportError:
            raise NoExecutor("dask: distributed is not installed: pip install 'umi-sim[dask]'") from None
        address = dask.config.get("scheduler-address", None)
        self.cluster = None if address else local_cluster(jobs)
        try:
            self.client = Client(address or self.cluster)
        except (OSError, ValueError) as error:
            raise NoExecutor(f"dask: no cluster at {address}: {error}") from None
        self.executor = self.client.get_executor(pure=False)  # otherwise dask never runs a lost task again

    def submit(self, work: Callable[[Any], Any], given: Any, /) -> "Future[Any]":
        if self.client.status != "running":
            raise BrokenExecutor(LOST)
        future: Future[Any] = self.executor.submit(work, given)
        return future

    def shutdown(self) -> None:
        """Wait for running tasks, and close the client, and the cluster if this sweep started it."""
        if self.client.status == "running":
            self.executor.shutdown()
        self.client.close()
        if self.cluster is not None:
            self.cluster.close()


def local_cluster(jobs: int) -> Any:
    import logging

    import dask
    from distributed import LocalCluster

    dask.config.set({"distributed.scheduler.allowed-failures": FAILED_WORKERS_MAX})
    return LocalCluster(
        # Processes with one thread each, because a run keeps some
        # state in modules (lowered limits, planted bugs, the fence).
        n_workers=jobs, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit=0,
        silence_logs=logging.CRITICAL,
    )  # fmt: skip
