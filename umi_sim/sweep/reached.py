"""Reached: the possible events that happened in a sweep, and those that never did.

    steps    each step of each workflow: asked nothing, skipped, and each answer and each end
    replies  each verdict of a parser on a reply of the model, such as the kind of a dropped part
    rules    each checked rule, reached when it had something to judge

Law 1. The possible events are derived from the tables and types of umi_core. The only list is ALWAYS_ASK:
steps whose type allows them to ask nothing, but which always ask.
Law 2. The engine marks the events of a step as `workflow.step: what`, and those of its parser as
       `workflow.step reply: what`; rules are counted.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, get_args, get_type_hints

from umi_core.data import Data
from umi_core.engine.workflow import Degrade, Step, Unusable, Workflow
from umi_core.language import decisions, evolution, extraction, ranks, rewriting, routing
from umi_core.language.replies import UNREAD
from umi_core.messages.effects import Asked, AskModel, Commit, Embed, Read
from umi_core.messages.results import StopReason
from umi_core.values import LEVELS
from umi_core.workflows import WORKFLOWS
from umi_sim.judge.equivalences import TRIED
from umi_sim.record.rules import RULES

ANSWERS: Final[Mapping[type[Asked], tuple[str, ...]]] = {
    AskModel: ("ok", "unusable", "timeout", "unavailable", "rate_limited", "too_long"),
    Embed: ("ok", "unusable", "timeout", "unavailable"),
    Read: ("ok", "timeout", "unavailable"),
    Commit: ("ok", "conflict", "refused", "full", "unknown", "timeout", "unavailable"),
}
DECIDED: Final = (*decisions.UNDECIDED, "adopted", "bad_rewrite")
PARSED: Final[Mapping[str, tuple[str, ...]]] = {
    "remember.extract reply": (*UNREAD, *extraction.SHAPES),
    "remember.evolve reply": (*UNREAD, *evolution.SHAPES),
    "remember.route reply": (*UNREAD, *routing.SHAPES),
    "recall.resolve reply": rewriting.VERDICTS,
    "recall.expand reply": (*UNREAD, *rewriting.SHAPES),
    "retrieve.route reply": DECIDED,
    "retrieve.resolve reply": rewriting.VERDICTS,
    **{f"retrieve.enough_{level} reply": DECIDED for level in tuple(LEVELS)[:-1]},
    **{f"retrieve.rank_{level} reply": (*UNREAD, *ranks.SHAPES) for level in LEVELS},
    "retrieve.build reply": get_args(StopReason),
}
"""The results that the parser of a step may report of a reply, by step."""


ALWAYS_ASK: Final = (
    "delete_archival.facts", "delete_archival.ends",  # an earlier step refuses an absent record
    "delete_archival.commit", "delete_agent.commit",  # there is a row to write, for the same reason
)  # fmt: skip


class ReachedRow(Data):
    """The counts of each possible event of one step, of one parser, or of the rules."""

    name: str
    counts: Mapping[str, int]

    @property
    def met(self) -> list[str]:
        return [what for what, count in self.counts.items() if count]

    @property
    def never(self) -> list[str]:
        return [what for what, count in self.counts.items() if not count]


def steps(marks: Mapping[str, int], workflows: Iterable[Workflow] = WORKFLOWS) -> list[ReachedRow]:
    """Return the counts of every step, in the order of the tables."""
    rows = [
        (f"{flow.name}.{step.id}", kinds_of(step, is_jumped(flow, at)))
        for flow in workflows
        for at, step in enumerate(flow.steps)
    ]
    return [part(name, possible(name, kinds), marks) for name, kinds in rows]


def possible(name: str, kinds: Iterable[str]) -> list[str]:
    return [kind for kind in kinds if kind != "no question" or name not in ALWAYS_ASK]


def replies(marks: Mapping[str, int]) -> list[ReachedRow]:
    """Return the counts of every parser."""
    return [part(name, kinds, marks) for name, kinds in PARSED.items()]


def rules(judged: Mapping[str, int]) -> ReachedRow:
    """Return how often each checked rule judged, in the order of the table."""
    return ReachedRow("rules", {rule.name: judged.get(rule.name, 0) for rule in RULES if rule.is_checked})


def never(marks: Mapping[str, int], judged: Mapping[str, int]) -> Iterator[tuple[str, list[str]]]:
    """Yield (name, events that never happened); no events means that nothing of it ever happened."""
    for each in (*steps(marks), *replies(marks), rules(judged)):
        if each.never:
            yield each.name, each.never if each.met else []


def part(name: str, kinds: Iterable[str], marks: Mapping[str, int]) -> ReachedRow:
    """Return the counts of these events, in the runs and in the small worlds beside them (E-FAIL)."""
    counts = {kind: [marks.get(f"{also}{name}: {kind}", 0) for also in ("", TRIED)] for kind in kinds}
    return ReachedRow(name, {kind: sum(each) for kind, each in counts.items()})


def kinds_of(step: Step, is_jumped: bool = False) -> tuple[str, ...]:
    """Return the possible events of a step: answers, no question, skipped, and ends after a failure."""
    # `ask` returns None if there is nothing to ask; its return type shows whether that is possible.
    is_open = step.ask is None or type(None) in get_args(get_type_hints(step.ask)["return"])
    others = {"no question": is_open, "skipped": step.when is not None or is_jumped}
    return (*answers(step), *(kind for kind, can_be in others.items() if can_be), *ends(step))


def answers(step: Step) -> tuple[str, ...]:
    """Return the answers of the step's service; `unusable` only if the return type of `take` allows it."""
    if step.effect is None:
        return ()
    can_refuse = Unusable in get_args(get_type_hints(step.take)["return"])
    return tuple(kind for kind in ANSWERS[step.effect] if kind != "unusable" or can_refuse)


def ends(step: Step) -> tuple[str, ...]:
    """Return the ends that the failure policy of a step allows."""
    policy = step.on_failure
    if policy is None:
        return ()
    end = "degraded" if isinstance(policy.then, Degrade) else "aborted"
    may_be = {
        # A step with one attempt is never retried; 0 means unlimited attempts, so it never ends in failure.
        "retried": policy.attempts != 1, "planned again": policy.replan is not None, end: policy.attempts > 0,
    }  # fmt: skip
    return tuple(kind for kind, can_be in may_be.items() if can_be)


def is_jumped(workflow: Workflow, at: int) -> bool:
    """Return True if an earlier step may skip this one."""
    jumps = [
        (n, workflow.index(name) or 0) for n, step in enumerate(workflow.steps) for name in step.skips_to
    ]
    # A jump from step 1 to step 4 skips 2 and 3.
    return any(start < at < end for start, end in jumps)
