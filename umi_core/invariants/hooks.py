"""Hooks: which interceptors an operation in flight must tell on the way back of what it waits for.

Law 1. Those around the step, and while it asks those around the question: all whose filters name the place.
Law 2. One that did not pass on the way out is noted instead, unless the operation has no reply.
Law 3. A fallback that one of them gave is told with what the operation went without.
"""

from collections.abc import Sequence
from typing import Protocol

from umi_core.invariants import rules
from umi_core.invariants.broken import demand
from umi_core.invariants.vectors import BY_HOOK
from umi_core.messages.effects import EFFECT_NAMES, Asked, AskModel, Done, Reply
from umi_core.state import Operation


class Hook(Protocol):
    """An interceptor, as far as it says where it wants to be; what is empty names all."""

    @property
    def name(self) -> str: ...
    @property
    def site(self) -> str: ...
    @property
    def workflows(self) -> Sequence[str]: ...
    @property
    def steps(self) -> Sequence[str]: ...
    @property
    def effects(self) -> Sequence[str]: ...
    @property
    def tasks(self) -> Sequence[str]: ...


def check_hooks(operation: Operation, step: str, asks: type[Asked] | None, hooks: Sequence[Hook]) -> None:
    """Check which interceptors have to hear of the answer.

    `step`: the id of its row. `asks`: the kind of question of that row. `hooks`: its generation, outermost
    first.
    """
    if operation.asked is None:
        return  # its step has not begun
    # while a question is open, the hooks around it have to hear of its answer, too
    sites = ("step", "effect") if operation.waiting is not None else ("step",)
    around = [hook for site in sites for hook in hooks if hook.site == site]
    due = [hook.name for hook in around if is_named(hook, operation, step, asks)]
    told = [name for name in due if name in operation.entered or not may_have_failed(name, operation, step)]
    where = f"interceptors around {operation.workflow}.{step}"
    demand(told == list(operation.entered), rules.HOOK_ORDER, where, told, operation.entered)


def may_have_failed(name: str, operation: Operation, step: str) -> bool:
    return operation.op_id is None or any((it.name, it.step) == (name, step) for it in operation.notes)


def is_named(hook: Hook, operation: Operation, step: str, asks: type[Asked] | None) -> bool:
    """Return True if each filter of `hook` that is not empty names this place."""
    effect = EFFECT_NAMES[asks] if asks is not None else ""
    task = operation.asked.task if isinstance(operation.asked, AskModel) else ""
    here = (operation.workflow, step, effect, task)
    filters = (hook.workflows, hook.steps, hook.effects, hook.tasks)
    return all(each in names for each, names in zip(here, filters, strict=True) if names)


def check_fallbacks(reply: Reply, plan_number: int) -> None:
    """Demand that fallbacks of interceptors are reported as degraded; a new plan drops those of the old."""
    if not isinstance(reply.outcome, Done):
        return
    notes = [it for it in reply.hooks if (it.hook, it.what) == ("on_error", "substituted")]
    due = sorted({f"{it.step}{BY_HOOK}{it.name}" for it in notes})
    got = sorted({it.name for it in reply.outcome.degraded if BY_HOOK in it.name})
    # a new plan forgets what the old one went without, and its notes stay
    holds = due == got if plan_number == 1 else {*got} <= {*due}
    demand(holds, rules.HOOK_ORDER, "fallbacks of interceptors among the degradations", due, got)
