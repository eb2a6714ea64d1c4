"""Hooks: a fallback that an interceptor gave is told with what the operation went without."""

from umi_core.messages.effects import Done, Reply
from umi_sim.judge.state.vectors import BY_HOOK
from umi_sim.record import rules
from umi_sim.record.broken import demand


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
