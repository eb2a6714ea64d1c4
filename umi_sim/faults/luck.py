"""Luck: the draws of a kind of fault that is about to strike, each under a name of its own."""

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

Luck = Callable[[str, int], int]
"""(label, n) -> a whole number in 0 .. n-1."""


def pick(luck: Luck, label: str, options: Sequence[T]) -> T:
    return options[luck(label, len(options))]


def log_uniform(luck: Luck, label: str, high: int) -> int:
    """Draw 1 .. high, every power of two as likely."""
    # high 60,000 has 16 bits: 1 .. 16 bits are as likely; the last power of two is cut at `high`.
    bits = 1 + luck(f"{label}.bits", high.bit_length())
    return min(high, (1 << (bits - 1)) + luck(label, 1 << (bits - 1)))
