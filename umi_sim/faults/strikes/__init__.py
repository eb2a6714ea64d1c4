"""Strikes: what each fault kind does to one call of a service.

Law 1. `ARGS` draws everything a fault needs, or None if it would change nothing. Law 2. `EFFECTS` does it,
from the args alone: that is all that a replay needs.
"""

from collections import Counter
from typing import Final

from umi_sim.faults.kinds import ArgsMaker, Draw
from umi_sim.faults.strikes import embedder, model, storage
from umi_sim.faults.strikes.service import MakeArgs, Strike, no_args
from umi_sim.record.items import Args
from umi_sim.services.calls import Call, Handled, Services

__all__ = ["ARGS", "EFFECTS", "args_for", "strike"]

ARGS: Final[dict[str, MakeArgs]] = {**model.ARGS, **embedder.ARGS, **storage.ARGS}
EFFECTS: Final[dict[str, Strike]] = {**model.EFFECTS, **embedder.EFFECTS, **storage.EFFECTS}


def args_for(services: Services, call: Call, blunt: Counter[str]) -> ArgsMaker:
    """Draws the args of a fault about to strike this call; None, and counted, if it would change nothing."""

    def make_args(kind: str, draw: Draw) -> Args | None:
        args = ARGS.get(kind, no_args)(services, call, draw)
        if args is None:
            blunt[kind] += 1
        return args

    return make_args


def strike(services: Services, call: Call, now_ms: int, fault: str, args: Args) -> Handled:
    """What comes of a call that arrives now and that this fault strikes."""
    if services.is_away(call, now_ms):
        return services.handle(call, now_ms)
    return EFFECTS[fault](services, call, now_ms, args)
