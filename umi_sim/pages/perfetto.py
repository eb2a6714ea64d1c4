"""A run as trace events, for the viewer of Perfetto or chrome://tracing.

Law 1. A lane is a thread. A question lasts until its answer; everything else is an instant.
Law 2. Questions of one lane overlap, so each has its own track (an asynchronous event).
Law 3. Times are those of the world in microseconds; events of one millisecond are one microsecond apart.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from umi_sim.pages.lanes import ANSWER, Arrow, base
from umi_sim.pages.lives import PageRun

MICROSECONDS: Final = 1_000
PROCESS: Final = 1


def trace_events(life: PageRun) -> Mapping[str, object]:
    """Return the whole file as plain data."""
    return {"displayTimeUnit": "ms", "traceEvents": [*lanes(life), *events(life)]}


def lanes(life: PageRun) -> Iterator[dict[str, Any]]:
    for number, name in enumerate(life.lanes):
        named = {"ph": "M", "pid": PROCESS, "tid": number}
        yield {**named, "name": "thread_name", "args": {"name": name}}
        yield {**named, "name": "thread_sort_index", "args": {"sort_index": number}}


def events(life: PageRun) -> Iterator[dict[str, Any]]:
    """Yield the events of all arrows; a question without an answer becomes an instant."""
    asked: dict[str, tuple[int, Arrow]] = {}
    now_us = 0
    for step in life.steps:
        for arrow in step.arrows:
            # Three arrows of millisecond 5 get 5,000, 5,001 and 5,002, so that the viewer keeps their order.
            now_us = max(now_us + 1, step.ms * MICROSECONDS)
            if arrow.kind == "question":
                asked[arrow.event] = now_us, arrow
            elif arrow.kind == "answer" and (found := asked.pop(base(arrow.event), None)):
                yield from ends_of(*found, now_us, arrow, step.number)
            else:
                yield instant(arrow, now_us, step.number)
    yield from (instant(arrow, at_us, 0) for at_us, arrow in asked.values())


def ends_of(from_us: int, question: Arrow, to_us: int, answer: Arrow, step: int) -> Iterator[dict[str, Any]]:
    """Yield the events of the beginning and the end of a question."""
    each = {
        "cat": "question",
        "id": question.event,
        "name": question.text,
        "pid": PROCESS,
        "tid": question.target,
    }
    yield {"ph": "b", **each, "ts": from_us, "args": {"event": question.event}}
    yield {"ph": "e", **each, "ts": to_us, "args": {"answer": answer.text, "step": step}}


def instant(arrow: Arrow, at_us: int, step: int) -> dict[str, Any]:
    # A reply is shown in the lane of its agent, although its target is the lane of the clients.
    lane = arrow.source if arrow.kind == "reply" else arrow.target
    where = {"pid": PROCESS, "tid": lane, "ts": at_us, "s": "t"}
    args = {"event": arrow.event.replace(ANSWER, " answer"), "step": step}
    return {"ph": "i", "name": arrow.text, "cat": arrow.kind, **where, "args": args}
