"""The gate: repeats one run in several ways, all of which must have the same trace.

fresh      drawn from the seed, in another process and environment (DET-1)
record     replayed from the items of the fresh run (ORA-2)
extra_draw drawn from the seed, with an extra draw at every event from a stream that nothing else uses (DET-2)
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, Literal

from msgspec import structs

from umi_sim.faults.declaration import ArgsMaker
from umi_sim.judge.equivalences import OF_LIVES
from umi_sim.kernel.prng import Stream
from umi_sim.record.items import ClockMove, Fault, Op
from umi_sim.record.run_config import RunConfig
from umi_sim.record.trace import Trace
from umi_sim.record.verdict import Verdict
from umi_sim.runs.runner import run_once
from umi_sim.seedfile.files import config_to_json
from umi_sim.world.generator import Generator, Watched

Variant = Literal["fresh", "record", "extra_draw"]
VARIANTS: Final[tuple[Variant, ...]] = ("fresh", "record", "extra_draw")
RULES: Final[Mapping[Variant, str]] = {
    "fresh": "same-seed-same-trace", "record": "record-replays", "extra_draw": "stream-independence",
}  # fmt: skip
ONE_IN: Final = 20


def is_gated(seed: int) -> bool:
    """Return True for one seed in twenty, the same seeds in every sweep."""
    return Stream(seed, "gate").word() % ONE_IN == 0


class ExtraDraws(Generator):
    """The generator with an extra draw at every call."""

    def __init__(self, config: RunConfig, known: Watched) -> None:
        super().__init__(config, known)
        self._idle = Stream(config.seed, "idle")

    def next_items(self, agent: str, now_ms: int, in_flight: int) -> Sequence[Op | ClockMove]:
        self._idle.word()
        return super().next_items(agent, now_ms, in_flight)

    def fault(self, verb: str, site: str, event: str, data: str, make_args: ArgsMaker) -> Fault | None:
        self._idle.word()
        return super().fault(verb, site, event, data, make_args)

    def choose(self, ready: Sequence[str]) -> int:
        self._idle.word()
        return super().choose(ready)


def hashes(config: RunConfig) -> dict[Variant, str]:
    """Return the trace hash of each variant."""
    fresh = run_once(config)[0]
    # Equivalences of OF_LIVES are not part of the trace, so they are not repeated if they held.
    within = tuple(name for name in config.equivalences if name not in OF_LIVES)
    rest = config if fresh.failure else structs.replace(config, equivalences=within)
    record, extra_draw = run_once(rest, fresh.items)[0], run_variant(rest, "extra_draw")[0]
    return {"fresh": fresh.trace_hash, "record": record.trace_hash, "extra_draw": extra_draw.trace_hash}


def write_trace(config: RunConfig, variant: Variant, path: Path) -> None:
    """Write all records of one variant into a file."""
    run_variant(config, variant, keep_trace=True)[1].write(path, config_to_json(config))


def run_variant(config: RunConfig, variant: Variant, *, keep_trace: bool = False) -> tuple[Verdict, Trace]:
    if variant == "extra_draw":
        return run_once(config, partial(ExtraDraws, config), keep_trace=keep_trace)
    items = run_once(config)[0].items if variant == "record" else None
    return run_once(config, items, keep_trace=keep_trace)
