"""Reached: which answers the rows of all workflows have met in a sweep, and which they never did.

The engine marks every answer as `workflow.step: kind`. What can come at all follows from the tables: a row
asks one service, and each service has its kinds of answers.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from umi_core.effects import Asked, AskModel, Commit, Embed, Read
from umi_core.workflow import Workflow
from umi_core.workflows import WORKFLOWS

KINDS: Final[Mapping[type[Asked], tuple[str, ...]]] = {
    AskModel: ("ok", "unusable", "timeout", "unavailable", "rate_limited", "too_long"),
    Embed: ("ok", "unusable", "timeout", "unavailable"),
    Read: ("ok", "timeout", "unavailable"),
    Commit: ("ok", "conflict", "refused", "full", "unknown", "unavailable"),
}
NEVER: Final = ("recall.resolve: unusable",)  # any reply to it has a verdict, `resolution: ...`


def possible(workflows: Iterable[Workflow] = WORKFLOWS) -> tuple[str, ...]:
    """Every mark that an answer can leave, in the order of the tables."""
    rows = [(flow.name, step) for flow in workflows for step in flow.steps if step.effect is not None]
    marks = [f"{name}.{step.id}: {kind}" for name, step in rows for kind in KINDS[step.effect or Read]]
    return tuple(mark for mark in marks if mark not in NEVER)


def unreached(marks: Mapping[str, int]) -> tuple[str, ...]:
    """The answers that no row has met."""
    return tuple(mark for mark in possible() if not marks.get(mark))
