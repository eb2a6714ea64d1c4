"""Reduction: lists with fewer members, smaller numbers and shorter texts that still work.

Law 1. All functions are pure, except for the caller's `works`.
Law 2. The result works if the input does, and is never larger.
Law 3. If the result is the input, every single reduction was tried.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
Text = TypeVar("Text", str, bytes)


def ending(units: Sequence[T], works: Callable[[Sequence[T]], bool]) -> Sequence[T]:
    """Return the shortest end of the list, of 1, 2, 4 ... members, that works; else the whole list."""
    count = 1
    while count < len(units):
        if works(units[-count:]):
            return units[-count:]
        count *= 2
    return units


def fewer(units: Sequence[T], works: Callable[[Sequence[T]], bool]) -> Sequence[T]:
    """Return the list without runs of members that are not needed, long runs first, from the end."""
    kept = tuple(units)
    size = (len(kept) + 1) // 2  # for 9 members runs of 5, 3, 2 and 1, so each member is tried alone
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
    """Return a number nearer to zero: 0 or 1 if it works, else one whose lower neighbour fails."""
    sign = -1 if number < 0 else 1
    if sign < 0 and works(-number):
        return lower(-number, works)
    for least in (0, 1):
        if abs(number) > least and works(sign * least):
            return sign * least
    #   100, works from 37 on    50 works    8, 16, 32 fail    41 works, 36 fails, 38 works, 37 works
    #                            the half    `magnitude`       halving between 32 and 41
    low, high = 1, abs(number)  # low fails and high works, unless both are 1
    if high > low + 1 and works(sign * (high // 2)):
        low, high = magnitude(low, high // 2, lambda least: works(sign * least))
    elif high - low < 2 or not works(sign * (high - 1)):  # already at a limit: the neighbour fails
        return number
    else:
        low, high = high // 2, high - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if works(sign * middle) else (middle, high)
    return sign * high


def magnitude(low: int, high: int, works: Callable[[int], bool]) -> tuple[int, int]:
    """Return a number that fails and one that works, with no power of two between them.

    The exponent is halved, so that a number with 60 bits takes six tries rather than sixty.
    """
    fails, good = low, high
    least, most = low.bit_length() - 1, high.bit_length()
    while most - least > 1:
        middle = (least + most) // 2
        if works(1 << middle):
            most, good = middle, 1 << middle
        else:
            least, fails = middle, 1 << middle
    return fails, good


def shorter(text: Text, letter: Text, works: Callable[[Text], bool]) -> Text:
    """Return a shorter text: empty, `letter`, its start, its end, or without parts down to a quarter."""
    for least in (text[:0], letter):
        if (len(least), least) < (len(text), text) and works(least):
            return least
    start = text[: lower(len(text), lambda count: works(text[:count]))]
    kept = start[len(start) - lower(len(start), lambda count: works(start[len(start) - count :])) :]
    size = len(kept) // 2
    # Smaller parts would cost a run for nearly every letter, and thirty letters are short enough.
    while size > 0 and size >= len(kept) // 4:
        end = len(kept)
        while end > 0 and len(kept) > 1:
            left = kept[: max(0, end - size)] + kept[end:]
            end -= size
            if works(left):
                kept = left
        size = min(size // 2, len(kept) // 2)
    return kept
