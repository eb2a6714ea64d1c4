"""Events: what happened in a run, in order: steps, calls, injections, endings."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from umi_core.data import Data
from umi_sim.formats.schema import text, whole

EVENT_COUNT_MAX: Final = 400  # in a file
SUBJECT_CHARS_MAX: Final = 100
TEXT_CHARS_MAX: Final = 300
EventKind = Literal["step", "call", "injection", "process", "end"]


class ProgramEvent(Data):
    """Something that happened `ms` after the start: what a task or a service did.

    `step`: how many callbacks the event loop had run. `kind` is injection if a perturbation did it.
    """

    ms: Annotated[int, whole(0, 2**53)]
    step: Annotated[int, whole(0, 10**9)]
    kind: EventKind
    subject: Annotated[str, text(bytes_max=4 * SUBJECT_CHARS_MAX)]
    text: Annotated[str, text(bytes_max=4 * TEXT_CHARS_MAX)]

    def __str__(self) -> str:
        return f"{self.subject} {self.text}".strip()


def choose_events(events: Sequence[ProgramEvent]) -> list[ProgramEvent]:
    """Return at most EVENT_COUNT_MAX of them: what was injected, and the last of the others."""
    left = EVENT_COUNT_MAX - sum(each.kind == "injection" for each in events)
    others = [at for at, each in enumerate(events) if each.kind != "injection"]
    first = others[-left] if len(others) > left else 0
    return [each for at, each in enumerate(events) if at >= first or each.kind == "injection"]
