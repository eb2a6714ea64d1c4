"""Workers: each has one child process, asks it one question at a time, and ends it when it breaks a limit.

Law 1. When a child dies, one question is lost, and nothing else.
Law 2. Children of the gate have an environment that differs in everything that must not matter.
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
# A kernel without modern instructions, a zone with an offset of 5:45 hours, plain C as locale.
ELSEWHERE: Final = {"OPENBLAS_CORETYPE": "Prescott", "TZ": "Asia/Kathmandu", "LC_ALL": "C"}
START_MS_MAX: Final = 600_000
LAST_MOMENT_S: Final = 5


class Died(Exception):
    """A child ended without an answer; `status` as of a process, negative for a signal."""

    def __init__(self, status: int) -> None:
        how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        super().__init__(f"its process {how}")
        self.status = status


class OutOfLimit(Exception):
    """A child broke a limit and was ended: `args` are "time" or "memory", and a message."""


class Worker(Owner):
    """A child, started when it is first needed; signals of a terminal do not reach it.

    `overlay`: the first folder of its import path; with one, its standard error is dropped.
    """

    kind: Kind
    overlay: str = ""
    process: "subprocess.Popen[bytes] | None" = None

    def ask(self, question: Mapping[str, Any]) -> Plain:
        """Ask a question and return the answer. Raises Died or OutOfLimit; then a new child is started."""
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
            # This signal means that the run has computed for too long.
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
            # A process group of its own: Ctrl-C reaches this process alone, which then ends its children.
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0,
            stderr=subprocess.DEVNULL if self.overlay else None,
        )  # fmt: skip
        try:
            self.answer(START_MS_MAX)
        except OutOfLimit:  # which says nothing about the seed that it was to run
            raise Died(-signal.SIGKILL) from None

    def answer(self, wall_ms_max: int) -> Plain:
        """Read the next line of the child, which is killed if there is none in this time."""
        process = self.process
        assert process is not None
        assert process.stdout is not None
        pipe = select.poll()
        pipe.register(process.stdout, select.POLLIN)
        # This waits for the first byte only: a child writes its answer in one piece.
        if not pipe.poll(wall_ms_max):
            self.end()
            raise OutOfLimit("time", f"no answer after {wall_ms_max // 1000} s")
        line = process.stdout.readline()
        if not line.endswith(b"\n"):
            raise Died(self.end(by_force=False))
        answer: Plain = json.loads(line)
        return answer

    def end(self, *, by_force: bool = True) -> int:
        """End the child and return its status. Without force it has a moment to end by itself."""
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
    """The workers of this process: the idle ones, and all."""

    idle: dict[Kind, list[Worker]] = msgspec.field(default_factory=lambda: defaultdict(list))
    all: list[Worker] = []
    is_open: bool = True

    @contextmanager
    def one(self, kind: Kind) -> Iterator[Worker]:
        """Give this thread a worker until the block ends. Raises Died if the sweep is over."""
        if not self.is_open:
            raise Died(-signal.SIGTERM)  # the sweep is over
        try:
            # pop and append of a list are one step for the interpreter, so threads need no lock here.
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
        """End all children; none is started until the crew is open again."""
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
    """Return the environment of a child: with the import path of this process, behind the overlay.

    One thread for linear algebra, since there is a process for every core.
    """
    here = map(os.path.abspath, sys.path)  # the empty entry is the folder that this process is in
    path = os.pathsep.join(filter(None, (overlay, *here, str(folders.PROJECT))))
    # The user's own number of threads takes precedence over 1, but our path over the user's.
    around = {"OPENBLAS_NUM_THREADS": "1", **os.environ, "PYTHONPATH": path}
    if kind == "gate":
        around |= ELSEWHERE
        # Another hash seed than that of this process.
        around["PYTHONHASHSEED"] = "2" if os.environ.get("PYTHONHASHSEED") != "2" else "1"
    return around
