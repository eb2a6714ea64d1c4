"""Calls that arrive at the services of a small world, and what a fault makes of them."""

from collections import Counter
from typing import Any, Final

from msgspec import structs

from umi_core.messages.effects import Asked
from umi_sim.faults.kinds import KINDS
from umi_sim.faults.service import Arrival
from umi_sim.record.items import Args
from umi_sim.services.calls import Call, Handled, Services

DIMS: Final = 8
AT_MS: Final = 5


def services(loss_max: int = 0) -> Services:
    return Services({"a": DIMS}, loss_max=loss_max)


def call(effect: Asked, event: str = "o1/step#1") -> Call:
    asked = structs.replace(effect, request_id=7, timeout_ms=1_000)
    return Call(event, "a", 1, "o1", "remember", "step", asked, AT_MS)


def arrival(world: Services, asked: Call) -> Arrival[Any]:
    return Arrival(asked, asked.effect, world)


def drawn(world: Services, asked: Call, kind: str, at: int = 0) -> Args | None:
    """The arguments that the draw `at` of every choice gives."""
    return KINDS[kind].args_for(arrival(world, asked), lambda label, n: at % n, Counter())


def inject(world: Services, asked: Call, at_ms: int, kind: str, args: Args) -> Handled:
    """What comes of a call that arrives then, from these arguments alone."""
    world.turn_to(at_ms)
    handled: Handled = KINDS[kind](**args).inject(arrival(world, asked))
    return handled


def draw_and_inject(world: Services, asked: Call, kind: str, at: int = 0) -> Handled:
    world.turn_to(AT_MS)
    args = drawn(world, asked, kind, at)
    assert args is not None
    return inject(world, asked, AT_MS, kind, args)
