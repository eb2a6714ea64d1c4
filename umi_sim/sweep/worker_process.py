"""Workers: each has one child process, asks it one question at a time, and ends it when it breaks a limit.

Law 1. When a child dies, only the current question is lost.
Law 2. Children of the gate have an environment that differs in everything on which a run must not depend.
"""

import atexit
import json
import os
import select
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final, Literal

import msgspec

from umi_core.data import Owner
from umi_sim.kernel import folders

Plain = dict[str, Any]
Kind = Literal["plain", "gate"]

COMMAND: Final = ("-P", "-c", "from umi_sim.sweep.child import serve; serve()")
# A BLAS kernel without modern instructions, a time zone with an offset of 5:45 hours, and the C locale.
ELSEWHERE: Final = {"OPENBLAS_CORETYPE": "Prescott", "TZ": "Asia/Kathmandu", "LC_ALL": "C"}
START_MS_MAX: Final = 600_000
LAST_MOMENT_S: Final = 5


class Died(Exception):
    """A child ended without an answer; `status`: its exit status, or a negative signal number."""

    def __init__(self, status: int) -> None:
        how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        super().__init__(f"its process {how}")
        self.status = status


class OutOfLimit(Exception):
    """A child broke a limit and was ended: `args` are "time" or "memory", and a message."""


class Worker(Owner):
    """A worker and its child, which starts at the first question; signals of a terminal do not reach it.

    `overlay`: the first folder of the child's import path; with one, its standard error is dropped.
    """

    kind: Kind
    overlay: str = ""
    process: "subprocess.Popen[bytes] | None" = None

    def ask(self, question: Mapping[str, Any]) -> Plain:
        """Ask a question and return the answer. After Died or OutOfLimit the next one starts a new child."""
        if self.process is None:
            self.start()
        assert self.process is not None
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(question).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise Died(self.end(by_force=False)) from None
        try:
            answer = self.answer(question["wall_ms_max"])
        except Died as died:
            # SIGXCPU means that the run has computed for too long.
            if died.status == -signal.SIGXCPU:
                raise OutOfLimit("time", f"no end after {question['cpu_s_max']} s of computing") from None
            raise
        if "limit" in answer:
            self.end()
            mib = question["memory_bytes_max"] // 1024**2
            raise OutOfLimit("memory", f"more than {mib} MiB were asked for")
        return answer

    def start(self) -> None:
        folder = os.sep if self.kind == "gate" else None
        self.process = subprocess.Popen(
            [sys.executable, *COMMAND], cwd=folder, env=environment(self.kind, self.overlay),
            # With its own process group, Ctrl-C does not reach the child; this process ends its children.
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0,
            stderr=subprocess.DEVNULL if self.overlay else None,
        )  # fmt: skip
        try:
            self.answer(START_MS_MAX)
        except OutOfLimit:  # a slow start proves nothing about the seed, so it counts as a death
            raise Died(-signal.SIGKILL) from None

    def answer(self, wall_ms_max: int) -> Plain:
        """Return the next answer of the child, which is killed if none begins within `wall_ms_max`."""
        process = self.process
        assert process is not None
        assert process.stdout is not None
        pipe = select.poll()
        pipe.register(process.stdout, select.POLLIN)
        # Waiting for the first byte is enough, because a child writes its answer in one piece.
        if not pipe.poll(wall_ms_max):
            self.end()
            raise OutOfLimit("time", f"no answer after {wall_ms_max // 1000} s")
        line = process.stdout.readline()
        if not line.endswith(b"\n"):
            raise Died(self.end(by_force=False))
        answer: Plain = json.loads(line)
        return answer

    def end(self, *, by_force: bool = True) -> int:
        """End the child and return its status. Without force it gets LAST_MOMENT_S to end by itself."""
        process, self.process = self.process, None
        if process is None:
            return 0
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with suppress(OSError):
                pipe.close()
        with suppress(subprocess.TimeoutExpired):
            return process.wait(0 if by_force else LAST_MOMENT_S)
        process.kill()
        return process.wait()


class Crew(Owner):
    """All workers of this process, and the idle ones by kind."""

    idle: dict[Kind, list[Worker]] = msgspec.field(default_factory=lambda: defaultdict(list))
    all: list[Worker] = []
    is_open: bool = True

    @contextmanager
    def one(self, kind: Kind) -> Iterator[Worker]:
        """Lend a worker to this thread until the block ends. Raises Died if the sweep is over."""
        if not self.is_open:
            raise Died(-signal.SIGTERM)  # the sweep is over
        try:
            # `pop` and `append` of a list are atomic in the interpreter, so threads need no lock here.
            worker = self.idle[kind].pop()
        except IndexError:
            worker = Worker(kind)
            self.all.append(worker)
        try:
            yield worker
        finally:
            self.take_back(worker)

    def take_back(self, worker: Worker) -> None:
        """Keep a worker for later, or end it if the crew was dismissed meanwhile."""
        if self.is_open:
            self.idle[worker.kind].append(worker)
        else:
            worker.end()

    def dismiss(self) -> None:
        """End all children. No worker is lent until the crew is open again."""
        self.is_open = False
        for worker in self.all:
            process = worker.process
            if process is not None:
                process.kill()
        for workers in self.idle.values():
            while workers:
                workers.pop().end()
        self.all.clear()


CREW: Final = Crew()
atexit.register(CREW.dismiss)


@contextmanager
def keep_children() -> Iterator[None]:
    """Keep children from one plan to the next, until the block ends."""
    try:
        yield
    finally:
        CREW.dismiss()
        CREW.is_open = True


def environment(kind: Kind, overlay: str = "") -> dict[str, str]:
    """Return the environment of a child, with the overlay and then the import path of this process.

    Linear algebra gets one thread, because there is a process for every core.
    """
    here = map(os.path.abspath, sys.path)  # an empty entry means the current folder
    path = os.pathsep.join(filter(None, (overlay, *here, str(folders.PROJECT))))
    # The user's number of threads overrides ours; our PYTHONPATH overrides the user's.
    around = {"OPENBLAS_NUM_THREADS": "1", **os.environ, "PYTHONPATH": path}
    if kind == "gate":
        around |= ELSEWHERE
        # The hash seed must differ from that of this process.
        around["PYTHONHASHSEED"] = "2" if os.environ.get("PYTHONHASHSEED") != "2" else "1"
    return around
