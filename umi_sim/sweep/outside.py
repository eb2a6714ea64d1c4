"""Inputs of a sweep from outside: time, for budgets and progress, and a commit id or chance for a base."""

import os
import time
from typing import Final

import msgspec

from umi_core.data import Owner
from umi_sim.kernel.prng import parse_seed
from umi_sim.record.provenance import describe_commit

MINUTE_MS: Final = 60_000


class Stopwatch(Owner):
    """Measures the milliseconds since it was created."""

    started_ns: int = msgspec.field(default_factory=time.monotonic_ns)

    def elapsed_ms(self) -> int:
        return (time.monotonic_ns() - self.started_ns) // 1_000_000


def base() -> str:
    """Return the id of the commit that holds this package, without `-dirty`; without one, a random base."""
    commit = describe_commit().removesuffix("-dirty")
    try:
        parse_seed(commit)
    except ValueError:
        return f"0x{int.from_bytes(os.urandom(8), 'big'):016x}"
    return commit
