"""Links: how long a message is under way, by its name, so that the delay stays with its operation."""

from collections.abc import Callable

from umi_sim.prng import Keyed, stream_key
from umi_sim.run_config import RunConfig


def latency_of(config: RunConfig) -> Callable[[str], int]:
    """Delay of a message by its event name, so that it stays with its operation."""
    if config.latency == "instant":
        return lambda event: 0
    keyed = Keyed(stream_key(config.seed, ("latency",)))
    if config.latency == "short":
        return lambda event: keyed.draw(event) * 6 >> 64
    return lambda event: spread(keyed.draw(event))


def spread(word: int) -> int:
    """1 .. 2047, every power of two as likely."""
    bits = 1 + (word & 0xFFFF) * 11 // 65_536
    return (1 << (bits - 1)) + (word >> 16) % (1 << (bits - 1))
