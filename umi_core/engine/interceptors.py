"""Interceptors: what added code may see and change of the steps and the effects of a memory.

    memory.intercept(Interceptor("slow", "effect", before=shorten, effects=("model",)))
    memory.intercept(Interceptor("trace", "step", before=opened, after=closed, on_error=closed))

Law 1. They are nested by (priority, order of registration), the first outermost: `before` is called from the
outside inwards, `after` and `on_error` from the inside outwards. Those around a step enclose all its attempts
and units, those around an effect each attempt.
Law 2. A hook whose `before` passed gets exactly one of `after`, `on_error`, per attempt or run of a step.
Law 3. A hook that raises, or returns what it may not, is named in the reply. With `on_raise="ignore"` it is
left out for that attempt; with `on_raise="fail"` it refuses. It never hides the cause of a failure. An
AssertionError is never caught.
Law 4. A commit may be refused before it is sent, and never changed; once durable it cannot be undone.
Law 5. Late answers, crashes and the end of a life call no hook. An operation keeps the set it began with.
Law 6. Steps of a workflow that retries without end (recovery) can be observed, but not changed.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from hashlib import blake2b
from typing import Any, Final, Literal, get_args

import attrs

from umi_core.data import Data
from umi_core.engine.calls import EMBED_TASK
from umi_core.errors import BadWorkflow, Rejected
from umi_core.ids import pack
from umi_core.language.prompts import FIXED
from umi_core.limits import INTERCEPTOR_COUNT_MAX
from umi_core.messages.effects import EFFECT_NAMES, Asked

Site = Literal["effect", "step"]
OnRaise = Literal["ignore", "fail"]
TASKS: Final = (*FIXED, EMBED_TASK)


# What a hook is told, and what it may say.


@attrs.frozen
class Place(Data):
    """Where a hook stands: what filters and hooks may know. Around a step `attempt` is 0 and `task` empty.

    `operation`: the number of the operation, by which `before` and what comes after it belong together.
    """

    workflow: str
    step: str
    attempt: int
    task: str
    operation: int


@attrs.frozen
class Pass(Data):
    """Go on as if nothing had been here."""


@attrs.frozen
class Rewrite(Data):
    """Send this instead; `before` an effect only."""

    request: Asked


@attrs.frozen
class Refuse(Data):
    """Do not send or begin it, or discard what came of it: it failed, kind `refused`."""

    reason: str


@attrs.frozen
class Substitute(Data):
    """Go on with this: an answer (its request_id is filled in), or all facts that the step produces."""

    value: object


Verdict = Pass | Rewrite | Refuse | Substitute
Before = Callable[[Place, Any], Verdict]
After = Callable[[Place, Any, Any], Verdict]


def passes(*_: object) -> Verdict:
    return Pass()


@attrs.frozen
class Interceptor(Data):
    """Three hooks around effects, or around steps. Raises Rejected(BadFilter).

        site      before sees          after sees besides      on_error sees besides
        effect    the request          its answer              its EffectFailed
        step      the Facts known      the Facts produced      the error with which the operation would end

    Filters are exact names, empty means all; `effects` around a step: what the step asks. What is asked of a
    model is not known before a step, so `tasks` filters effects alone.
    """

    name: str
    site: Site = "effect"
    before: Before = passes
    after: After = passes
    on_error: After = passes
    priority: int = 0
    on_raise: OnRaise = "ignore"
    workflows: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()

    def __attrs_post_init__(self) -> None:
        known_tasks = TASKS if self.site == "effect" else ()
        unknown = (
            *(name for name in (self.site,) if name not in get_args(Site)),
            *(name for name in (self.on_raise,) if name not in get_args(OnRaise)),
            *(name for name in self.effects if name not in EFFECT_NAMES.values()),
            *(name for name in self.tasks if name not in known_tasks),
        )
        if unknown:
            raise Rejected(BadWorkflow("BadFilter", self.name, unknown))

    def applies(self, place: Place, effect: str) -> bool:
        return (
            (not self.workflows or place.workflow in self.workflows)
            and (not self.steps or place.step in self.steps)
            and (not self.effects or effect in self.effects)
            and (not self.tasks or place.task in self.tasks)
        )


@attrs.frozen
class Interceptors(Data):
    """One generation: at most INTERCEPTOR_COUNT_MAX interceptors, outermost first."""

    ordered: tuple[Interceptor, ...] = ()

    def added(self, interceptor: Interceptor) -> "Interceptors":
        if interceptor.name in self.named:
            raise Rejected(BadWorkflow("InterceptorExists", interceptor.name))
        if len(self.ordered) >= INTERCEPTOR_COUNT_MAX:
            raise Rejected(BadWorkflow("TooManyInterceptors", interceptor.name))
        return Interceptors(tuple(sorted((*self.ordered, interceptor), key=lambda known: known.priority)))

    def removed(self, name: str) -> "Interceptors":
        return Interceptors(tuple(known for known in self.ordered if known.name != name))

    @cached_property
    def named(self) -> Mapping[str, Interceptor]:
        return {known.name: known for known in self.ordered}

    @cached_property
    def around_steps(self) -> tuple[Interceptor, ...]:
        return tuple(known for known in self.ordered if known.site == "step")

    @cached_property
    def around_effects(self) -> tuple[Interceptor, ...]:
        return tuple(known for known in self.ordered if known.site == "effect")

    @cached_property
    def fingerprint(self) -> str:
        """Of the names in order, and of what they are around: an operation in flight knows them by that."""
        return blake2b(pack([[known.name, known.site] for known in self.ordered]), digest_size=8).hexdigest()
