"""Interceptors: what somebody else may see and change of the effects of a memory.

Law 1. Onion order: (priority, order of registration), first = outermost; inwards on the way out, and back.
Law 2. A hook whose `before` passed gets exactly one of `after`, `on_error` per attempt.
Law 3. A hook that raises, or returns what it may not, is noted in the reply and is out for that attempt; it
never masks the answer or the failure of the effect. AssertionError is never caught.
Law 4. A commit may be refused before it is sent, and never changed; once durable it cannot be undone.
Law 5. Late answers and crashes call no hook. An operation keeps the set it began with.
"""

from collections.abc import Callable
from functools import cached_property, partial
from hashlib import blake2b

import attrs

from umi_core.answer_checks import is_answer, is_typed
from umi_core.conditions import Where
from umi_core.data import Data
from umi_core.errors import BadWorkflow, Rejected
from umi_core.ids import pack
from umi_core.limits import INTERCEPTOR_COUNT_MAX
from umi_core.messages.answers import Answer, Committed, EffectFailed
from umi_core.messages.effects import (
    EFFECT_NAMES,
    Asked,
    AskModel,
    ByFilter,
    ByIds,
    ByVector,
    ByWords,
    Commit,
    CountRows,
    Embed,
    HookNote,
    Query,
    Read,
)
from umi_core.text import is_text


@attrs.frozen
class Pass(Data):
    """Go on as if nothing had been here."""


@attrs.frozen
class Rewrite(Data):
    """Send this instead; `before` only."""

    request: Asked


@attrs.frozen
class Refuse(Data):
    """Do not send it, or discard its answer: the effect failed, kind `refused`."""

    reason: str


@attrs.frozen
class Substitute(Data):
    """Go on with this answer (its request_id is filled in)."""

    answer: Answer


Verdict = Pass | Rewrite | Refuse | Substitute


@attrs.frozen
class Place(Data):
    """Where an attempt stands: what filters and hooks may know."""

    workflow: str
    step: str
    attempt: int
    task: str


Before = Callable[[Place, Asked], Verdict]
After = Callable[[Place, Asked, Answer], Verdict]
OnError = Callable[[Place, Asked, EffectFailed], Verdict]


def passes(*_: object) -> Verdict:
    return Pass()


@attrs.frozen
class Interceptor(Data):
    """Three hooks around effects; filters are exact names, empty means all. Raises Rejected(BadFilter)."""

    name: str
    before: Before = passes
    after: After = passes
    on_error: OnError = passes
    priority: int = 0
    workflows: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()

    def __attrs_post_init__(self) -> None:
        if unknown := tuple(name for name in self.effects if name not in EFFECT_NAMES.values()):
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
        if any(known.name == interceptor.name for known in self.ordered):
            raise Rejected(BadWorkflow("InterceptorExists", interceptor.name))
        if len(self.ordered) >= INTERCEPTOR_COUNT_MAX:
            raise Rejected(BadWorkflow("TooManyInterceptors", interceptor.name))
        return Interceptors(tuple(sorted((*self.ordered, interceptor), key=lambda known: known.priority)))

    def removed(self, name: str) -> "Interceptors":
        return Interceptors(tuple(known for known in self.ordered if known.name != name))

    def named(self, name: str) -> Interceptor:
        return next(known for known in self.ordered if known.name == name)

    @cached_property
    def fingerprint(self) -> str:
        return blake2b(pack([known.name for known in self.ordered]), digest_size=8).hexdigest()


# The way out.


@attrs.frozen
class Sent(Data):
    """What `before` hooks made of a request: send it, or go on with an answer instead."""

    request: Asked
    onion: tuple[str, ...]
    answer: Answer | None
    notes: tuple[HookNote, ...]


def outward(hooks: Interceptors, place: Place, request: Asked) -> Sent:
    onion: tuple[str, ...] = ()
    notes: tuple[HookNote, ...] = ()
    for hook in hooks.ordered:
        if not hook.applies(place, EFFECT_NAMES[type(request)]):
            continue
        verdict, failed = called(partial(may_before, request), hook.before, place, request)
        if failed:
            notes += (HookNote(hook.name, "before", failed, place.step),)
            continue
        if isinstance(verdict, Rewrite):
            request = verdict.request
        elif isinstance(verdict, Refuse):
            notes += (HookNote(hook.name, "before", "refused", place.step),)
            return Sent(request, onion, EffectFailed(request.request_id, "refused"), notes)
        elif isinstance(verdict, Substitute):
            notes += (HookNote(hook.name, "before", "substituted", place.step),)
            return Sent(request, onion, stamped(verdict.answer, request), notes)
        onion += (hook.name,)
    return Sent(request, onion, None, notes)


# The way back.


def inward(
    hooks: Interceptors, onion: tuple[str, ...], place: Place, request: Asked, answer: Answer
) -> tuple[Answer, tuple[HookNote, ...]]:
    """The answer as the onion leaves it, innermost hook first; `request` is the one that was sent."""
    notes: tuple[HookNote, ...] = ()
    for name in reversed(onion):
        hook = hooks.named(name)
        is_error = isinstance(answer, EffectFailed)
        call: Callable[..., Verdict] = hook.on_error if is_error else hook.after
        verdict, failed = called(partial(may_after, request, answer), call, place, request, answer)
        kind = "on_error" if is_error else "after"
        if failed:
            notes += (HookNote(name, kind, failed, place.step),)
        elif isinstance(verdict, Substitute):
            notes += (HookNote(name, kind, "substituted", place.step),)
            answer = stamped(verdict.answer, request)
        elif isinstance(verdict, Refuse):
            notes += (HookNote(name, kind, "refused", place.step),)
            answer = EffectFailed(request.request_id, "refused")
    return answer, notes


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


def stamped(answer: Answer, request: Asked) -> Answer:
    return attrs.evolve(answer, request_id=request.request_id)


# What a hook may do.


def may_before(request: Asked, verdict: object) -> bool:
    if isinstance(verdict, Rewrite):
        return may_rewrite(request, verdict.request)
    if isinstance(verdict, Substitute):
        return is_answer(request, verdict.answer)
    return isinstance(verdict, Pass | Refuse)


def may_after(request: Asked, answer: Answer, verdict: object) -> bool:
    if isinstance(verdict, Substitute):
        return is_answer(request, verdict.answer)
    if isinstance(verdict, Refuse):
        return not isinstance(answer, EffectFailed | Committed)
    return isinstance(verdict, Pass)


def may_rewrite(before: Asked, after: object) -> bool:
    """Prompt and shorter timeout; as many other texts, none blank; narrower reads. Nothing of a commit."""
    if type(before) is not type(after) or isinstance(before, Commit) or not is_typed(after):
        return False
    if isinstance(before, AskModel):
        assert isinstance(after, AskModel)
        same = attrs.evolve(after, prompt=before.prompt, timeout_ms=before.timeout_ms) == before
        return same and is_text(after.prompt) and 0 < after.timeout_ms <= before.timeout_ms
    if isinstance(before, Embed):
        assert isinstance(after, Embed)
        same = attrs.evolve(after, texts=before.texts) == before
        is_whole = all(is_text(text) and text.strip() for text in after.texts)
        return same and is_whole and len(after.texts) == len(before.texts)
    assert isinstance(before, Read)
    assert isinstance(after, Read)
    return attrs.evolve(after, query=before.query) == before and is_narrower(before.query, after.query)


def is_narrower(before: Query, after: Query) -> bool:
    """The same query with a lower limit or further conditions."""
    if type(before) is not type(after) or isinstance(before, ByIds):
        return before == after
    assert isinstance(before, ByFilter | CountRows | ByVector | ByWords)
    assert isinstance(after, ByFilter | CountRows | ByVector | ByWords)
    if not adds_conditions(before.where, after.where):
        return False
    if isinstance(after, CountRows):
        return attrs.evolve(after, where=before.where) == before
    assert not isinstance(before, CountRows)
    same = attrs.evolve(after, where=before.where, limit=before.limit)  # type: ignore[arg-type]
    lowered = before.limit is not None and after.limit is not None and 1 <= after.limit <= before.limit
    return lowered and same == before


def adds_conditions(before: Where, after: Where) -> bool:
    names = [field.name for field in attrs.fields(Where)]
    return all(getattr(before, name) in (None, getattr(after, name)) for name in names)
