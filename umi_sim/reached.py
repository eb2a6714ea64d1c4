"""Reached: which answers the rows of all workflows have met in a sweep, and which they never did.

The engine marks every answer as `workflow.step: kind`. What can come at all follows from the tables: a row
asks one service, each service has its kinds of answers, and whether an answer may be unusable is said by the
type of what the row takes from it.
"""

from collections.abc import Iterable, Mapping
from typing import Final, get_args, get_type_hints

from umi_core.effects import Asked, AskModel, Commit, Embed, Read
from umi_core.workflow import Step, Unusable, Workflow
from umi_core.workflows import WORKFLOWS

KINDS: Final[Mapping[type[Asked], tuple[str, ...]]] = {
    AskModel: ("ok", "unusable", "timeout", "unavailable", "rate_limited", "too_long"),
    Embed: ("ok", "unusable", "timeout", "unavailable"),
    Read: ("ok", "timeout", "unavailable"),
    Commit: ("ok", "conflict", "refused", "full", "unknown", "unavailable"),
}


def by_row(workflows: Iterable[Workflow] = WORKFLOWS) -> dict[str, tuple[str, ...]]:
    """The kinds of answers that each row can meet, in the order of the tables."""
    rows = [(flow.name, step) for flow in workflows for step in flow.steps if step.effect is not None]
    return {f"{name}.{step.id}": kinds_of(step) for name, step in rows}


def possible(workflows: Iterable[Workflow] = WORKFLOWS) -> tuple[str, ...]:
    """Every mark that an answer can leave, in the order of the tables."""
    return tuple(f"{row}: {kind}" for row, kinds in by_row(workflows).items() for kind in kinds)


def kinds_of(step: Step) -> tuple[str, ...]:
    """The kinds of answers that this row can meet."""
    assert step.effect is not None
    can_refuse = Unusable in get_args(get_type_hints(step.take)["return"])
    return tuple(kind for kind in KINDS[step.effect] if kind != "unusable" or can_refuse)


def unreached(marks: Mapping[str, int]) -> tuple[str, ...]:
    """The answers that no row has met."""
    return tuple(mark for mark in possible() if not marks.get(mark))
