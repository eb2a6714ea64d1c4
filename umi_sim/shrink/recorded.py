"""Shrinking of recordings: fewer requests and fewer answers that still break the same rule."""

from collections.abc import Sequence

from umi_core.recordings import RecordedStep, RecordingHead
from umi_sim.runs.recorded import Label, RecordingRun, labels_of, run_recording
from umi_sim.shrink import NothingToShrink

Items = list[tuple[RecordedStep, Label | None]]


def shrink_recording(head: RecordingHead, steps: Sequence[RecordedStep], runs_max: int) -> RecordingRun:
    """Return the smallest run found within `runs_max` runs; if these suffice, no single step can be removed.

    Raises NothingToShrink.
    """
    first = run_recording(head, steps)
    if not first.failure:
        raise NothingToShrink("every rule holds, so there is nothing to shrink")
    # Without the steps after the failure: `first.steps` ends with it.
    items = list(zip(steps, labels_of(head, steps), strict=True))[: len(first.steps)]
    size, runs_left = len(items) // 2, runs_max
    while size and runs_left > 0:
        before = len(items)
        # Parts of this size are removed from the end on, since later steps depend on earlier ones and
        # hardly ever the reverse.
        end = len(items)
        while end > 0 and runs_left > 0:
            start, runs_left = max(0, end - size), runs_left - 1
            rest = items[:start] + items[end:]
            items = rest if run_items(head, rest).failure == first.failure else items
            end = start
        # Single steps are tried again until all are needed, since one may be needed only by a later one.
        if size > 1 or len(items) == before:
            size //= 2
    return run_items(head, items)


def run_items(head: RecordingHead, items: Items) -> RecordingRun:
    return run_recording(head, [step for step, _ in items], [label for _, label in items])
