"""Hooks called one inside the other, around an attempt of an effect or around a step. E is what they enclose:

    all pass                     a.before  b.before  E  b.after     a.after
    E fails                      a.before  b.before  E  b.on_error  a.on_error
    b.before refuses             a.before  b.before                 a.on_error
    b.before substitutes         a.before  b.before                 a.after
    b.on_error substitutes       a.before  b.before  E  b.on_error  a.after
    b.after refuses              a.before  b.before  E  b.after     a.on_error

Law 1. A hook sees the question as the hooks outside it left it, and the answer as those inside it left it.
Law 2. A hook that fails is noted by the class of what it raised, or as `bad_result`. At `before` and `after`
it refuses if its interceptor has `on_raise="fail"` and refusing is allowed there; at `on_error` the first
cause of the failure stays.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Generic, Protocol, TypeVar

import attrs

from umi_core.answer_checks import is_of
from umi_core.data import Data
from umi_core.engine.facts import Facts
from umi_core.engine.interceptors import (
    Interceptor,
    Interceptors,
    Pass,
    Place,
    Refuse,
    Rewrite,
    Substitute,
    Verdict,
)
from umi_core.engine.permissions import may_after, may_before
from umi_core.engine.workflow import Step, abort_error
from umi_core.errors import Error
from umi_core.messages.answers import Answer, EffectFailed
from umi_core.messages.effects import EFFECT_NAMES, Asked, Commit, HookNote

C = TypeVar("C")
StepCame = Mapping[str, object] | Error
"""What a step produces, or the error with which its operation ends."""


class Wrapped(Protocol[C]):
    """What hooks are put around; C is what comes of it, a failure included."""

    @property
    def place(self) -> Place: ...
    @property
    def effect_name(self) -> str: ...
    @property
    def seen(self) -> object: ...
    def rewritten(self, request: Asked) -> "Wrapped[C]": ...
    def refused(self) -> C: ...
    def substituted(self, value: object) -> C: ...
    def shown(self, came: C) -> object: ...
    def has_failed(self, came: C) -> bool: ...
    def allows_before(self, verdict: object) -> bool: ...
    def allows_after(self, came: C, verdict: object) -> bool: ...


@attrs.frozen
class Entered(Data, Generic[C]):
    """What `before` hooks made of it: it happens, or `came` is given in its place.

    `names`: whose `before` passed, outermost first; they are called again on the way back.
    """

    wrapped: Wrapped[C]
    names: tuple[str, ...]
    came: C | None
    notes: tuple[HookNote, ...]


def outward(hooks: Iterable[Interceptor], wrapped: Wrapped[C]) -> Entered[C]:
    names: tuple[str, ...] = ()
    notes: tuple[HookNote, ...] = ()
    for hook in hooks:
        if not hook.applies(wrapped.place, wrapped.effect_name):
            continue
        verdict, failed = called(wrapped.allows_before, hook.before, wrapped.place, wrapped.seen)
        if not failed and isinstance(verdict, Pass):
            names += (hook.name,)
            continue
        notes += noted(hook, "before", verdict, failed, wrapped.place)
        if isinstance(verdict, Refuse) or (must_fail(hook, failed) and wrapped.allows_before(Refuse(failed))):
            return Entered(wrapped, names, wrapped.refused(), notes)
        if isinstance(verdict, Substitute):
            return Entered(wrapped, names, wrapped.substituted(verdict.value), notes)
        if isinstance(verdict, Rewrite):
            wrapped = wrapped.rewritten(verdict.request)
            names += (hook.name,)
    return Entered(wrapped, names, None, notes)


def inward(
    hooks: Interceptors, names: tuple[str, ...], wrapped: Wrapped[C], came: C
) -> tuple[C, tuple[HookNote, ...]]:
    """What came, as the onion leaves it, innermost hook first."""
    notes: tuple[HookNote, ...] = ()
    for hook in (hooks.named[name] for name in reversed(names)):
        kind, call = ("on_error", hook.on_error) if wrapped.has_failed(came) else ("after", hook.after)
        allows = partial(wrapped.allows_after, came)
        verdict, failed = called(allows, call, wrapped.place, wrapped.seen, wrapped.shown(came))
        if not failed and isinstance(verdict, Pass):
            continue
        notes += noted(hook, kind, verdict, failed, wrapped.place)
        if isinstance(verdict, Substitute):
            came = wrapped.substituted(verdict.value)
        elif isinstance(verdict, Refuse) or (must_fail(hook, failed) and allows(Refuse(failed))):
            came = wrapped.refused()
    return came, notes


def noted(hook: Interceptor, kind: str, verdict: Verdict, failed: str, place: Place) -> tuple[HookNote, ...]:
    """What the reply tells of it; a request that was rewritten is not told of."""
    what = "refused" if isinstance(verdict, Refuse) else "substituted"
    is_told = failed != "" or not isinstance(verdict, Rewrite)
    return (HookNote(hook.name, kind, failed or what, place.step),) if is_told else ()


def must_fail(hook: Interceptor, failed: str) -> bool:
    return failed != "" and hook.on_raise == "fail"


def called(
    is_allowed: Callable[[object], bool], hook: Callable[..., Verdict], *args: object
) -> tuple[Verdict, str]:
    """The verdict, and what is wrong with the hook: the class of what it raised, or `bad_result`."""
    try:
        verdict = hook(*args)
        return (verdict, "") if is_allowed(verdict) else (Pass(), "bad_result")
    except AssertionError:
        raise
    except Exception as raised:
        return Pass(), type(raised).__name__


# What hooks are put around.


@attrs.frozen
class Attempt(Data):
    """One attempt of an effect: what comes of it is an answer."""

    place: Place
    seen: Asked

    @property
    def effect_name(self) -> str:
        return EFFECT_NAMES[type(self.seen)]

    def rewritten(self, request: Asked) -> "Attempt":
        return Attempt(self.place, request)

    def refused(self) -> Answer:
        return EffectFailed(self.seen.request_id, "refused")

    def substituted(self, value: object) -> Answer:
        assert isinstance(value, Answer)
        return attrs.evolve(value, request_id=self.seen.request_id)

    def shown(self, came: Answer) -> object:
        return came

    def has_failed(self, came: Answer) -> bool:
        return isinstance(came, EffectFailed)

    def allows_before(self, verdict: object) -> bool:
        return may_before(self.seen, verdict)

    def allows_after(self, came: Answer, verdict: object) -> bool:
        return may_after(self.seen, came, verdict)


@attrs.frozen
class StepRun(Data):
    """One run of a step: what comes of it is what it produces, or the error with which the operation ends.

    `is_final`: nothing may be put in the place of that error; it is the fault of the caller, or of the table,
    or the step is planned again. `never_ends`: hooks may only pass.
    """

    place: Place
    row: Step
    seen: Facts
    never_ends: bool
    attempts: int = 0
    is_final: bool = False

    @property
    def effect_name(self) -> str:
        return EFFECT_NAMES[self.row.effect] if self.row.effect else ""

    def rewritten(self, request: Asked) -> "StepRun":
        raise AssertionError(request)  # allows_before admits no Rewrite

    def refused(self) -> StepCame:
        return abort_error(self.row, "refused", self.attempts)

    def substituted(self, value: object) -> StepCame:
        assert isinstance(value, Mapping)
        return dict(value)

    def shown(self, came: StepCame) -> object:
        return came if isinstance(came, Error) else Facts(came)

    def has_failed(self, came: StepCame) -> bool:
        return isinstance(came, Error)

    def allows_before(self, verdict: object) -> bool:
        may_refuse = isinstance(verdict, Refuse) and not self.never_ends
        return isinstance(verdict, Pass) or may_refuse or self.allows_facts(verdict)

    def allows_after(self, came: StepCame, verdict: object) -> bool:
        if isinstance(verdict, Refuse):
            return not (isinstance(came, Error) or self.row.effect is Commit or self.never_ends)
        return isinstance(verdict, Pass) or (not self.is_final and self.allows_facts(verdict))

    def allows_facts(self, verdict: object) -> bool:
        """Exactly what the step produces, of the right types; never of a commit."""
        if not isinstance(verdict, Substitute) or self.row.effect is Commit or self.never_ends:
            return False
        facts, learns = verdict.value, self.row.learns
        if not isinstance(facts, dict) or facts.keys() != learns.keys():
            return False
        return all(is_of(facts[name], fact.kind) for name, fact in learns.items())
