"""How long messages are under way: drawn by the name of each, so that it stays with its operation."""

from collections.abc import Callable

from umi_sim.kernel.prng import Keyed, stream_key
from umi_sim.record.run_config import RunConfig


def latency_of(config: RunConfig) -> Callable[[str], int]:
    """Delay of a message by its event name."""
    if config.latency == "instant":
        return no_delay
    keyed = Keyed(stream_key(config.seed, ("latency",)))
    if config.latency == "short":
        return lambda event: keyed.draw(event) * 6 >> 64
    return lambda event: spread(keyed.draw(event))


def no_delay(event: str) -> int:
    return 0


def spread(word: int) -> int:
    """1 .. 2047, every power of two as likely."""
    bits = 1 + (word & 0xFFFF) * 11 // 65_536
    return (1 << (bits - 1)) + (word >> 16) % (1 << (bits - 1))
