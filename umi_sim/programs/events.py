"""Events: the steps, calls, injections and endings of a run, in order."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from umi_core.data import Data
from umi_sim.formats.schema import text, whole

EVENT_COUNT_MAX: Final = 400  # the most events in a file
SUBJECT_CHARS_MAX: Final = 100
TEXT_CHARS_MAX: Final = 300
EventKind = Literal["step", "call", "injection", "process", "end"]


class ProgramEvent(Data):
    """An event of a run. `ms`: milliseconds since its start. `subject`: the task, or "".

    `step`: how many callbacks the event loop had run. The kind is injection if a perturbation caused it.
    """

    ms: Annotated[int, whole(0, 2**53)]
    step: Annotated[int, whole(0, 10**9)]
    kind: EventKind
    subject: Annotated[str, text(bytes_max=4 * SUBJECT_CHARS_MAX)]
    text: Annotated[str, text(bytes_max=4 * TEXT_CHARS_MAX)]

    def __str__(self) -> str:
        return f"{self.subject} {self.text}".strip()


def choose_events(events: Sequence[ProgramEvent]) -> list[ProgramEvent]:
    """Return at most EVENT_COUNT_MAX events: all injections, and the last of the others."""
    left = EVENT_COUNT_MAX - sum(each.kind == "injection" for each in events)
    others = [at for at, each in enumerate(events) if each.kind != "injection"]
    first = others[-left] if len(others) > left else 0
    return [each for at, each in enumerate(events) if at >= first or each.kind == "injection"]
