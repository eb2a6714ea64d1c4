"""A second implementation of Umi: ours, as `examples/targets/umi_over_pipes.py` serves it, in this process.

What is asked and answered goes through JSON as over pipes, without the time that a process takes to start.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec import structs

from umi_core.memory import Memory
from umi_core.workflows import BUILT_IN
from umi_sim.kernel.child_process import ProcessBroken
from umi_sim.machines import process
from umi_sim.machines.protocol import InitialStorage
from umi_sim.machines.umi import UmiTarget
from umi_sim.record.run_config import RunConfig
from umi_sim.record.verdict import Verdict
from umi_sim.runs.runner import run_once
from umi_sim.scenario import files
from umi_sim.targets.whole_memory import given_to

SERVER: Final = Path(__file__).resolve().parent.parent / "examples" / "targets" / "umi_over_pipes.py"
COMMAND: Final = "second"
Twist = Callable[[dict[str, Any], dict[str, Any]], None]  # what was asked, and the answer that it changes


def load_server() -> Any:
    spec = spec_from_file_location("umi_over_pipes", SERVER)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ANSWER: Final = load_server().answer


def unchanged(asked: dict[str, Any], message: dict[str, Any]) -> None:
    """As it comes."""


def counts_one_more(asked: dict[str, Any], message: dict[str, Any]) -> None:
    """Of entries in the working tier: each reply that is a number is one more."""
    for effect in message.get("effects", ()):
        done = effect[2] if isinstance(effect[2], list) else []
        if asked["op"] == "step" and len(done) == 3 and type(done[1]) is int:
            done[1] += 1


def saves_what_it_was() -> Twist:
    """It answers each `save` with what it answered to the first."""
    first: list[Any] = []

    def twist(asked: dict[str, Any], message: dict[str, Any]) -> None:
        if asked["op"] == "save":
            first.append(message["saved"])
            message["saved"] = first[0]

    return twist


class Here:
    """In the place of a process."""

    def __init__(self, command: str, *, twist: Twist = unchanged, **_: Any) -> None:
        self.lives: dict[int, Memory] = {}
        self.asked: list[str] = []
        self.twist = twist
        self.is_killed = False

    def ask(self, request: Any) -> dict[str, Any]:
        asked = json.loads(json.dumps(request))
        self.asked.append(asked["op"])
        answer = ANSWER(self.lives, asked, BUILT_IN)
        self.twist(asked, answer)
        found: dict[str, Any] = json.loads(json.dumps({"id": 1, "answer": answer}))
        return found

    def kill(self) -> None:
        self.is_killed = True


class Broken(Here):
    """One that ends at its first step."""

    def ask(self, request: Any) -> dict[str, Any]:
        if request["op"] == "step":
            raise ProcessBroken("has ended with status 3")
        return super().ask(request)


@contextmanager
def served_here(twist: Twist = unchanged, kind: type[Here] = Here) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "Process", partial(kind, twist=twist))
        yield


def drawn(
    scenario: str, seed: int, *, is_compared: bool, settings: Mapping[str, str] | None = None
) -> RunConfig:
    return given_to(COMMAND, files.draw(files.find(scenario), seed, settings or {}), is_compared=is_compared)


def run_beside_ours(scenario: str, seed: int, twist: Twist = unchanged) -> Verdict:
    with served_here(twist):
        return run_once(drawn(scenario, seed, is_compared=True))[0]


class Outside:
    """Our memory, of which only that is seen which another one shows too."""

    def __init__(self, memory: Any) -> None:
        self.memory = memory

    def __getattr__(self, name: str) -> Any:
        return getattr(self.memory, name)

    def make_copy(self) -> None:
        return


class OutsideTarget(UmiTarget):
    def begin(self, agent: str, scope: Any, stored: InitialStorage) -> Any:
        return Outside(super().begin(agent, scope, stored))


def run_from_outside(config: RunConfig) -> Verdict:
    """The same run of our own memory in this process."""
    plain = structs.replace(config, command="")
    return run_once(plain, target_of=lambda config, registry: OutsideTarget(config, registry))[0]
