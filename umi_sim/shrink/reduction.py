"""Reduction: lists with fewer members, smaller numbers, shorter texts, as long as something still works.

Law 1. Pure: what works is asked of the caller, and nothing else decides.
Law 2. What comes back works if what came in did, and is never larger.
Law 3. Where nothing smaller works, at last every single step down was asked for.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
Text = TypeVar("Text", str, bytes)


def ending(units: Sequence[T], works: Callable[[Sequence[T]], bool]) -> Sequence[T]:
    """The shortest end of the list that works, of 1, 2, 4 ... members; short ends are quick to try."""
    count = 1
    while count < len(units):
        if works(units[-count:]):
            return units[-count:]
        count *= 2
    return units


def fewer(units: Sequence[T], works: Callable[[Sequence[T]], bool]) -> Sequence[T]:
    """What is left when runs of members are taken out, long ones first, from the end to the start."""
    kept = tuple(units)
    size = (len(kept) + 1) // 2
    while size:
        end = len(kept)
        while end > 0:
            left = kept[: max(0, end - size)] + kept[end:]
            end -= size
            if works(left):
                kept = left
        size = min((size + 1) // 2 if size > 1 else 0, len(kept))
    return kept


def lower(number: int, works: Callable[[int], bool]) -> int:
    """A number nearer to zero: 0 or 1 if they work, else found by halving; then its lower neighbour fails."""
    sign = -1 if number < 0 else 1
    if sign < 0 and works(-number):
        return lower(-number, works)
    for least in (0, 1):
        if abs(number) > least and works(sign * least):
            return sign * least
    low, high = 1, abs(number)
    while high - low > 1 and works(sign * (high // 2)):
        high //= 2
    if high - low < 2 or not works(sign * (high - 1)):
        return sign * high
    low, high = max(low, high // 2), high - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if works(sign * middle) else (middle, high)
    return sign * high


def shorter(text: Text, letter: Text, works: Callable[[Text], bool]) -> Text:
    """A shorter text: nothing, this letter alone, or without parts of it, down to an eighth of a long one."""
    for least in (text[:0], letter):
        if (len(least), least) < (len(text), text) and works(least):
            return least
    size = len(text) // 2
    while size > 0 and size >= len(text) // 8:
        end = len(text)
        while end > 0 and len(text) > 1:
            left = text[: max(0, end - size)] + text[end:]
            end -= size
            if works(left):
                text = left
        size = min(size // 2, len(text) // 2)
    return text
