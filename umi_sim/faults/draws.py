"""Draws for the arguments of a fault, each under a label of its own."""

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

Draws = Callable[[str, int], int]
"""(label, n) -> a whole number in 0 .. n-1."""


def pick(draws: Draws, label: str, options: Sequence[T]) -> T:
    return options[draws(label, len(options))]


def log_uniform(draws: Draws, label: str, high: int) -> int:
    """Draw a number in 1 .. high, each bit length equally likely."""
    # 60,000 has 16 bits, so lengths of 1 .. 16 bits are equally likely; a larger result becomes `high`.
    bits = 1 + draws(f"{label}.bits", high.bit_length())
    return min(high, (1 << (bits - 1)) + draws(label, 1 << (bits - 1)))
