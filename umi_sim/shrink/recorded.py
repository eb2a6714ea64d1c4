"""Shrinking of recordings: fewer requests and fewer answers that still break the same rule."""

from collections.abc import Sequence

from umi_core.recordings import RecordingHead, Taken
from umi_sim.runs.recorded import Label, Lived, labels_of, live
from umi_sim.shrink import NothingToShrink

Items = list[tuple[Taken, Label | None]]


def shrink_recording(head: RecordingHead, steps: Sequence[Taken], runs_max: int) -> Lived:
    """Return the smallest life that is found within so many runs: then no single step can be left out.

    Raises NothingToShrink.
    """
    first = live(head, steps)
    if not first.failure:
        raise NothingToShrink("every rule holds, so there is nothing to shrink")
    # Nothing behind the step that failed: `first.steps` ends with it.
    items = list(zip(steps, labels_of(head, steps), strict=True))[: len(first.steps)]
    size, left = len(items) // 2, runs_max
    while size and left > 0:
        before = len(items)
        items, left = without(head, items, size, first.failure, left)
        # Single steps are tried again until none goes: one that
        # was needed by a later one may go once that is gone.
        if size > 1 or len(items) == before:
            size //= 2
    return live_items(head, items)


def without(head: RecordingHead, items: Items, size: int, failure: str, left: int) -> tuple[Items, int]:
    """Leave out every part of this size that is not needed, from the end; return the rest, and runs left."""
    end = len(items)
    while end > 0 and left > 0:
        start, left = max(0, end - size), left - 1
        rest = items[:start] + items[end:]
        if live_items(head, rest).failure == failure:
            items = rest
        # From the end: later steps need earlier ones, hardly ever the other way round.
        end = start
    return items, left


def live_items(head: RecordingHead, items: Items) -> Lived:
    return live(head, [step for step, _ in items], [label for _, label in items])
