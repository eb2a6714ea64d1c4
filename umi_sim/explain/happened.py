"""What happened: the last events of a run that failed, and what its failing step changed."""

import re
from collections.abc import Container, Iterator, Sequence
from shlex import join
from typing import Final

from umi_sim.explain.calls import HANG
from umi_sim.kernel.report import ReportRow, row, under
from umi_sim.kernel.wording import LINE_CHARS_MAX, cut, group_digits
from umi_sim.record.items import ClockMove, Item
from umi_sim.record.run_config import RunConfig
from umi_sim.record.verdict import Event

EVENT_COUNT_MAX: Final = 11
CHANGE_COUNT_MAX: Final = 4
EVENT_COLUMN: Final = 18
LAST_COUNT: Final = 3  # the last events, which are always shown
STORY_CHARS_MAX: Final = 108
TEXT_CHARS_MAX: Final = 2 * LINE_CHARS_MAX - 20


def list_changes(
    texts: Sequence[str], config: RunConfig, items: Sequence[Item], file: str
) -> Iterator[ReportRow]:
    """Yield what the failing step changed, one line for each place."""
    # A clock reading minus the start is world time only if no clock was moved.
    head, *places = (
        texts if are_clocks_moved(config, items) else [with_moments(text, config) for text in texts]
    )
    shown = places if len(places) <= CHANGE_COUNT_MAX else places[: CHANGE_COUNT_MAX - 1]
    look = f": {join(['umi-sim', 'step', file])}" if file else ""
    more = [f"and {len(places) - len(shown)} more places{look}"] if len(shown) < len(places) else []
    lines = (f"{head} {shown[0]}", *shown[1:], *more)
    yield from under("changed", (row("", cut(line, TEXT_CHARS_MAX), hang=HANG) for line in lines))


def with_moments(text: str, config: RunConfig) -> str:
    """Append the world time to each clock reading in a text."""

    def add_moment(found: re.Match[str]) -> str:
        # A number of 13 digits that is not a time within this run (an id, a count) stays unchanged.
        at_ms = int(found[0]) - config.start_ms
        return f"{found[0]} ({group_digits(at_ms)} ms)" if 0 <= at_ms <= RUN_MS_MAX else found[0]

    return text if config.start_ms < CLOCK_MS_MIN else re.sub(CLOCK_TIME, add_moment, text)


def are_clocks_moved(config: RunConfig, items: Sequence[Item]) -> bool:
    """Check whether any clock may differ from world time."""
    return any(isinstance(it, ClockMove) for it in items) or any(agent.skew_ms for agent in config.agents)


# From September 2001 to the year 2286, a time in milliseconds has 13 digits.
CLOCK_MS_MIN: Final = 10**12
CLOCK_TIME: Final = r"\b\d{13}\b"
RUN_MS_MAX: Final = 400 * 86_400_000  # longer than any run


# Events.


def room_for_changes(changes: Sequence[str]) -> int:
    """Return how many events fit on a screen that shows these changes."""
    return EVENT_COUNT_MAX - min(CHANGE_COUNT_MAX, len(changes)) - bool(changes)


def story(tail: Sequence[Event], items: Sequence[Item], rule: str, room: int) -> Iterator[ReportRow]:
    """Yield lines such as `step    7  1 ms  o8  Reply Done b''`, the failing one marked."""
    events = shown_of(tail, {item.id for item in items}, room)
    width = max(len(group_digits(event.world_ms)) for event in events)
    step, rows = -1, list[ReportRow]()
    for number, event in enumerate(events):
        label = "" if event.step == step else f"step {event.step:>4}"
        mark = f"<- {rule}" if number == len(events) - 1 else ""
        at_ms = f"{group_digits(event.world_ms):>{width}} ms"
        line = f"{label:9}  {at_ms}  {event.event:{EVENT_COLUMN}} {event.what}"
        rows.append(row("", cut(line, STORY_CHARS_MAX - len(mark)), mark, hang=HANG))
        step = event.step
    yield from under("events", rows)


def shown_of(tail: Sequence[Event], ids: Container[str], room: int) -> list[Event]:
    """Choose the last events, then earlier ones, preferring requests and faults to their consequences."""
    count = len(tail)

    def worth(at: int) -> tuple[bool, bool, int]:
        # Sort key, most worth showing last: the last LAST_COUNT events, then requests and faults ("o7")
        # over their consequences ("o7/commit#1"), then later events over earlier ones.
        return at >= count - LAST_COUNT, tail[at].event in ids, at

    return [tail[at] for at in sorted(sorted(range(count), key=worth)[-room:])]
