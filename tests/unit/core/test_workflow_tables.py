"""Goal: every operation is the workflow that its table promises: its rows, what they ask, how they fail."""

import pytest

from tests.spec_tables import Row, marked, rows
from umi_core.engine.workflow import Degrade, OnFailure, Step, Workflow
from umi_core.messages.effects import EFFECT_NAMES
from umi_core.workflows import WORKFLOWS

ONE_READ = {row["workflow"] for page in ("memory", "kelpie") for row in rows(page, "workflows of one read")}


def policy(rule: OnFailure | None) -> str:
    """Return a failure policy in the words of the tables."""
    if rule is None:
        return ""
    again = f"; at a conflict plan again from {rule.replan}" if rule.replan else ""
    if rule.attempts == 0:
        return f"retry without end{again}"
    other = f"go on with `{rule.then.name}`" if isinstance(rule.then, Degrade) else "give up"
    return f"retry {rule.attempts}; {other}{again}"


def write_step(step: Step) -> tuple[str, str, str]:
    return step.id, EFFECT_NAMES[step.effect] if step.effect else "", policy(step.on_failure)


def table_of(name: str) -> list[Row]:
    """The rows of an operation on the page that owns it; those of one read share a table."""
    for page in ("memory", "hierarchy", "kelpie"):
        if ("table", f"workflow {name}") in marked(page):
            return rows(page, f"workflow {name}")
    assert name in ONE_READ
    return [{"row": "read", "asks": "read", "on failure": "retry 3; give up"}]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow.name)
def test_the_rows_are_those_of_the_table(workflow: Workflow) -> None:
    rows = table_of(workflow.name)
    promised = [(row["row"], row["asks"], row["on failure"]) for row in rows]
    assert [write_step(step) for step in workflow.steps] == promised
