"""Goal: a sweep runs on any executor, whatever the arguments of its shutdown, and tells the same."""

import shutil
import sys
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from functools import cache
from typing import Any, Final

import pytest
from click.testing import Result

from tests.unit.sim.commands import refused, umi
from umi_sim.sweep import executors

SWEEP: Final = ("sweep", "own.toml", "bad.toml", "--seeds", "0..3", "--jobs", "2")
pytestmark = pytest.mark.usefixtures("small_worlds", "shared_children")


class Hosting:
    """Not a kind of Executor, and no context manager: submit and shutdown alone."""

    def __init__(self, jobs: int) -> None:
        self.inner = ThreadPoolExecutor(jobs)
        self.open.append(self)

    open: "list[Any]" = []  # filled by all that are made

    def submit(self, work: Any, given: Any) -> "Future[Any]":
        return self.inner.submit(work, given)

    def shutdown(self) -> None:
        self.inner.shutdown()
        self.open.remove(self)


class LikeDask(Hosting, Executor):
    """As dask.distributed: it cannot cancel what waits."""

    def submit(self, work: Any, /, *args: Any, **more: Any) -> "Future[Any]":  # type: ignore[override]
        return self.inner.submit(work, *args, **more)

    def shutdown(self, wait: bool = True) -> None:  # type: ignore[override]
        super().shutdown()


class LikeLoky(LikeDask):
    """As loky."""

    def shutdown(self, wait: bool = True, kill_workers: bool = False) -> None:  # type: ignore[override]
        super().shutdown(wait)


class Point:
    name = "mine"

    def __init__(self, make: object) -> None:
        self.make = make

    def load(self) -> object:
        return self.make


def named_mine(monkeypatch: pytest.MonkeyPatch, make: object) -> None:
    points = {executors.GROUP: [Point(make)]}
    monkeypatch.setattr(executors, "entry_points", lambda group: points.get(group, []))


@cache
def swept(*args: str) -> Result:
    """A sweep by processes of its own, once for all executors."""
    done = umi(*SWEEP, *args)
    shutil.rmtree(".umi-sim")  # earlier failures are reported too
    return done


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "args"), [(Hosting, ()), (LikeDask, ("--stop-first",)), (LikeLoky, ())],
    ids=["no Executor", "like dask, until the first failure", "like loky"],
)  # fmt: skip
def test_a_sweep_on_any_executor_tells_the_same_and_leaves_none_open(
    make: type[Hosting], args: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    named_mine(monkeypatch, make)
    here = swept(*args)
    there = umi(*SWEEP, *args, "--executor", "mine")
    assert here.stdout.startswith("FAIL sweep of 2 scenarios")
    assert (there.exit_code, there.stdout, there.stderr) == (here.exit_code, here.stdout, here.stderr)
    assert Hosting.open == []


def test_an_executor_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    named_mine(monkeypatch, Hosting)
    assert executors.executor_named("mine") is Hosting
    with pytest.raises(executors.NoExecutor, match="known: local, dask, mine"):
        executors.executor_named("other")


def test_without_its_package_dask_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dask", None)
    assert "pip install 'umi-sim[dask]'" in refused("sweep", "own.toml", "--executor", "dask")
