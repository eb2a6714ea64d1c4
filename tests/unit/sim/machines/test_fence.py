"""The fence: a step that reaches outside is found, with its line, and no other code is."""

import datetime
import logging
import os
import random
import socket
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Collection
from datetime import date
from pathlib import Path
from time import monotonic
from typing import Final

import pytest
from msgspec import structs

from umi_core.messages.effects import Done, Outcome
from umi_core.messages.requests import Request
from umi_sim.machines.fence import EVERYTHING, STUBS, Reach, step
from umi_sim.machines.subject import SubjectTarget
from umi_sim.machines.umi import UmiTarget
from umi_sim.record.verdict import Failure
from umi_sim.runs.runner import run
from umi_sim.scenario.files import draw, find

CALLED = {
    "a clock": ("clock", lambda: time.time_ns()),
    "a clock by its name": ("clock", lambda: monotonic()),
    "local time": ("clock", lambda: time.localtime()),
    "a text of now": ("clock", lambda: time.strftime("%Y")),
    "now": ("clock", lambda: datetime.datetime.now()),
    "today": ("clock", lambda: date.today()),
    "a nap": ("clock", lambda: time.sleep(0)),
    "chance": ("chance", lambda: random.random()),
    "chance without a seed": ("chance", lambda: random.Random()),
    "a shuffle": ("chance", lambda: random.shuffle([1, 2])),
    "entropy": ("chance", lambda: os.urandom(1)),
    "a random id": ("chance", lambda: uuid.uuid4()),
    "a secret": ("chance", lambda: random.SystemRandom().random()),
    "a file": ("files", lambda: Path(__file__).read_text()),
    "whether a file is there": ("files", lambda: Path(__file__).exists()),
    "a folder": ("files", lambda: os.listdir()),
    "a socket": ("network", lambda: socket.socket().close()),
    "a thread": ("threads", lambda: threading.Thread(target=int).start()),
    "a process": ("threads", lambda: subprocess.run(["true"])),
    "a variable": ("environment", lambda: os.environ.get("HOME")),
    "a number of processes": ("environment", lambda: os.getpid()),
}
LEFT_ALONE = {
    "a given time": lambda: time.gmtime(0),
    "a given time as a text": lambda: time.strftime("%Y", time.gmtime(0)),
    "a given date": lambda: (datetime.datetime(2020, 1, 1), isinstance(date(2020, 1, 1), date)),
    "chance with a seed": lambda: random.Random(7).random(),
    "a log": lambda: logging.getLogger("a store").warning("a line"),
    "a name for a file": lambda: tempfile.TemporaryFile().close(),
}
DEFAULT: Final[tuple[Reach, ...]] = ("clock", "chance")


def subject_of(call: Callable[[], object], *, catches: bool = False) -> type:
    class Store:
        def call(self, now_ms: int, request: Request) -> Outcome:
            try:
                call()
            except Exception:
                if not catches:
                    raise
            return Done(0)

    return Store


def failure_of(make: type, fenced: Collection[Reach], off: tuple[str, ...] = ()) -> Failure | None:
    config = structs.replace(draw(find("working"), 0), off=off)
    return run(config, target_of=lambda *_: SubjectTarget(make, ("clear",), fenced)).failure


@pytest.mark.parametrize("name", CALLED)
def test_code_that_reaches_outside_is_found_with_its_line(name: str) -> None:
    reach, call = CALLED[name]
    failure = failure_of(subject_of(call), (reach,))  # type: ignore[arg-type]  # a name of the table
    assert failure is not None
    assert failure.rule == "step-stays-inside"
    line = call.__code__.co_firstlineno
    assert failure.message.startswith(f"tests/unit/sim/machines/test_fence.py line {line} (<lambda>) ")


@pytest.mark.parametrize("name", CALLED)
def test_what_the_fence_leaves_open_happens(name: str) -> None:
    assert failure_of(subject_of(CALLED[name][1]), ()) is None


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_a_clock_or_chance_without_an_owner_is_left_alone(name: str) -> None:
    assert failure_of(subject_of(LEFT_ALONE[name]), DEFAULT) is None


def test_a_refusal_that_is_caught_is_found_all_the_same() -> None:
    failure = failure_of(subject_of(lambda: time.time(), catches=True), DEFAULT)
    assert failure is not None
    assert failure.message.endswith("read the clock: time.time")


def test_a_rule_that_is_off_fences_no_process() -> None:
    assert failure_of(subject_of(lambda: time.time()), EVERYTHING, off=("step-stays-inside",)) is None


def test_outside_steps_and_in_other_threads_everything_is_within_reach() -> None:
    times: list[float] = []

    def in_a_step(now_ms: int, value: object) -> tuple[()]:
        other = threading.Thread(target=lambda: times.append(time.time()))
        other.start()
        other.join()
        return ()

    def call() -> None:
        step(in_a_step, 0, None, UmiTarget.fence)  # type: ignore[arg-type]  # a step that takes anything

    assert failure_of(subject_of(call), ()) is None
    assert times


def test_after_a_run_every_function_is_what_it_was() -> None:
    before = [getattr(each.owner, each.name) for each in STUBS]
    names = monotonic, date, datetime
    assert failure_of(subject_of(lambda: None), EVERYTHING) is None
    assert [getattr(each.owner, each.name) for each in STUBS] == before
    assert (monotonic, date, datetime) == names
