"""The page of a saved case: its tasks, its calls, the injected perturbations, and the broken rule.

Law. The page is made from the file alone. Nothing is run, and no text of the file becomes part of a command.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from umi_sim.pages.lanes import Arrow, line
from umi_sim.pages.lives import PageRun, PageStep
from umi_sim.pages.page_data import About, page_data
from umi_sim.programs.events import ProgramEvent
from umi_sim.programs.failure_files import SavedCase
from umi_sim.programs.reports import show_replay
from umi_sim.programs.rules import find_promise
from umi_sim.record.saved_failures import name_subject

LANES: Final = ("main", "other tasks", "services", "perturbations")
MAIN, TASKS, SERVICES, PERTURBATIONS = range(4)
LOOKS: Final = {  # the look of each kind of event
    "step": "wake", "end": "reply", "call": "question", "injection": "fault", "process": "life",
}  # fmt: skip
UNSEEN: Final = "What a program keeps is its own: known is where its tasks wait, and what they call."


def data_of(file: str, saved: SavedCase) -> dict[str, object]:
    """Return the data of the page as JSON values."""
    name = name_subject(saved.program)
    applied = [("injected", str(each)) for each in saved.perturbations] or [("injected", "nothing")]
    facts = [("promised", find_promise(saved.rule)), ("instead", saved.message), *applied]
    about = About(
        f"{saved.rule}: {name}", show_replay(file, name), "FAIL", tuple(it for it in facts if it[1]),
        rule=saved.rule, unseen=UNSEEN,
    )  # fmt: skip
    return page_data(about, partial(play_saved, saved), len(saved.events))


def play_saved(saved: SavedCase, roots: Sequence[str], first: int) -> PageRun:
    """Return the run from event `first` on. `roots` are ignored: the state of a program is not recorded."""
    steps = list(list_steps(saved.events))
    return PageRun(LANES, tuple(steps[first - 1 :]), len(steps))


def list_steps(events: Sequence[ProgramEvent]) -> Iterator[PageStep]:
    for number, each in enumerate(events, 1):
        lane = lane_of(each)
        arrow = Arrow(lane, lane, LOOKS[each.kind], line(each))
        yield PageStep(number, each.ms, "", 0, f"step {each.step} of the event loop", (arrow,))


def lane_of(event: ProgramEvent) -> int:
    match event.kind:
        case "call":
            return SERVICES
        case "injection" | "process":
            return PERTURBATIONS
    return TASKS if event.subject.startswith("task ") else MAIN
