"""The page of a saved run of a store: its requests and replies, the faults, and the broken promise.

Law 1. The page is made from the file alone: the store is not run, and only the name of a class is taken from
       the file into a command.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from shlex import join
from typing import Final

from umi_sim.pages.lanes import Arrow, line
from umi_sim.pages.lives import PageRun, PageStep
from umi_sim.pages.page_data import About, page_data
from umi_sim.record.saved_failures import name_subject
from umi_sim.targets import life
from umi_sim.targets.checker import NOT_ASKED
from umi_sim.targets.promises import tell_promise
from umi_sim.targets.reports import warn_unexplored
from umi_sim.targets.seed_files import SavedRun

LANES: Final = ("clients", "store", "files", "clock")
CLIENTS, STORE = range(2)
LOOKS: Final = {"clients": "fault", "store": "life", "files": "fault", "clock": "clock"}
UNSEEN: Final = "What a store keeps is its own: known is what it was asked, and what it said."


def data_of(file: str, saved: SavedRun) -> dict[str, object]:
    """Return the data of the page as JSON values."""
    name = name_subject(saved.target, "MODULE:CLASS")
    facts = (
        (("promised", tell_promise(saved.rule, saved.op)), ("instead", saved.message)) if saved.rule else ()
    )
    if warning := warn_unexplored(saved.jobs):
        facts = (*facts, ("jobs", warning))
    about = About(
        f"{saved.rule}: {name}" if saved.rule else name, join(["umi-sim", "target", name, "--replay", file]),
        "FAIL" if saved.rule else "PASS", facts, rule=saved.rule, unseen=UNSEEN,
    )  # fmt: skip
    return page_data(about, partial(play_saved, saved), len(saved.steps))


def play_saved(saved: SavedRun, roots: Sequence[str], first: int) -> PageRun:
    """Return the run from step `first` on. `roots` are ignored: the state of the store is not recorded."""
    now_ms, steps = 0, list[PageStep]()
    for number, step in enumerate(saved.steps, 1):
        now_ms += step.item.number if step.item.kind == "advance" else 0
        steps.append(PageStep(number, now_ms, "", 0, line(step.item), tuple(arrows(step))))
    return PageRun(LANES, tuple(steps[first - 1 :]), len(steps))


def arrows(step: life.TargetStep) -> Iterator[Arrow]:
    """Yield the requests, the fault, and the replies of a step."""
    item = step.item
    unasked = {at for at, text in enumerate(step.replies) if text.startswith(f"{NOT_ASKED}: ")}
    for at, op in enumerate(item.ops):
        yield Arrow(CLIENTS, CLIENTS if at in unasked else STORE, "request", line(op))
    if place := item.of.place:
        lane = LANES.index(place)
        yield Arrow(lane, lane, LOOKS[place], line(item.event))
    for at, text in enumerate(step.replies):
        yield Arrow(CLIENTS if at in unasked else STORE, CLIENTS, "reply", line(text))
