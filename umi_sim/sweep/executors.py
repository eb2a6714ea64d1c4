"""Executors, which run chunks, and their interface.

Law 1. An executor is one of `concurrent.futures`, or any object with their `submit` and `shutdown` whose
`submit` returns a future of `concurrent.futures`.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from importlib.metadata import entry_points
from typing import Any, Final, Protocol

GROUP: Final = "umi_sim.executors"
LOCAL: Final = "local"
DASK: Final = "dask"


class Workers(Protocol):
    """The methods of an executor that a sweep uses."""

    def submit(self, work: Callable[[Any], Any], given: Any, /) -> "Future[Any]": ...
    def shutdown(self) -> object: ...


Make = Callable[[int], Workers]


class NoExecutor(ValueError):
    """No executor has this name; the message lists the known names."""


def executor_named(name: str) -> Make:
    """Return the function that makes an executor of this name for a number of jobs. Raises NoExecutor."""
    if name == LOCAL:
        return ThreadPoolExecutor  # each thread has a child process; see worker_process.py
    if name == DASK:
        from umi_sim.sweep.dask_cluster import DaskWorkers

        return DaskWorkers
    known = {point.name: point for point in entry_points(group=GROUP)}
    if name not in known:
        raise NoExecutor(f"{name}: no such executor; known: {', '.join((LOCAL, DASK, *sorted(known)))}")
    make: Make = known[name].load()
    return make


@contextmanager
def hire_workers(make: Make, jobs: int) -> Iterator[Workers]:
    """Make an executor, and shut it down after the block, as not every executor is a context manager."""
    workers = make(jobs)
    try:
        yield workers
    finally:
        workers.shutdown()
