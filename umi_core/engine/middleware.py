"""Middleware: interceptors around the steps and the effects of a memory, and how they are called.

    memory.intercept(Interceptor("slow", "effect", before=shorten, effects=("model",)))
    memory.intercept(Interceptor("trace", "step", before=opened, after=closed, on_error=closed))

They are nested by (priority, order of registration), the first outermost. E is what they enclose: one attempt
of an effect, or one run of a step.

    all pass                     a.before  b.before  E  b.after     a.after
    E fails                      a.before  b.before  E  b.on_error  a.on_error
    b.before refuses             a.before  b.before                 a.on_error
    b.before substitutes         a.before  b.before                 a.after
    b.on_error substitutes       a.before  b.before  E  b.on_error  a.after
    b.after refuses              a.before  b.before  E  b.after     a.on_error

Law 1. An interceptor around a step encloses all its attempts and units; one around an effect encloses each
attempt. A hook sees the question as outer hooks left it, and the answer as inner hooks left it.
Law 2. A hook whose `before` passed gets exactly one of `after` and `on_error` per attempt, or run of a step.
Law 3. If a hook raises, or returns a verdict that is not allowed, the reply names the hook with the class of
the exception or `bad_result`. With `on_raise="ignore"` it is skipped for that attempt; with `on_raise="fail"`
it refuses, where that is allowed. It never hides the cause of a failure. An AssertionError is never caught.
Law 4. A rewrite may give a model another prompt, an embedder as many other texts, or narrow the question:
less time, fewer rows. A substituted answer is one that the service could have given, by all its field types.
Law 5. A commit may be refused before it is sent, but never changed; once durable it cannot be undone.
Law 6. Late answers, crashes and the end of an incarnation call no hook. An operation keeps the set of
interceptors that it began with.
Law 7. Steps of a workflow that retries without end (recovery) can be observed, but not changed.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from hashlib import blake2b
from typing import Any, Final, Generic, Literal, Protocol, TypeVar, get_args

from msgspec import structs

from umi_core.answer_checks import is_answer, is_of, is_typed
from umi_core.conditions import CONDITION_COUNT_MAX, Where
from umi_core.data import Data
from umi_core.engine.facts import Facts
from umi_core.engine.workflow import Step, abort_error
from umi_core.errors import BadWorkflow, Error, Rejected
from umi_core.ids import pack
from umi_core.language.prompts import FIXED
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

Site = Literal["effect", "step"]
OnRaise = Literal["ignore", "fail"]
EMBED_TASK: Final = "embed"
TASKS: Final = (*FIXED, EMBED_TASK)


# The arguments of a hook, and its verdicts.


class HookContext(Data):
    """The context of a hook call, also used by filters. Around a step `attempt` is 0 and `task` is empty.

    `operation`: the number of the operation, by which a hook can pair `before` with `after` or `on_error`.
    """

    workflow: str
    step: str
    attempt: int
    task: str
    operation: int


class Pass(Data):
    """The verdict that changes nothing."""


class Rewrite(Data):
    """The verdict to send this request instead; allowed only in `before` of an effect."""

    request: Asked


class Refuse(Data):
    """The verdict to send or begin nothing, or to discard the result: a failure of kind `refused`."""

    reason: str


class Substitute(Data):
    """The verdict to use `value` instead: an answer (its request_id is filled in), or all facts of a step."""

    value: object


Verdict = Pass | Rewrite | Refuse | Substitute
Before = Callable[[HookContext, Any], Verdict]
After = Callable[[HookContext, Any, Any], Verdict]


def pass_on(*_: object) -> Verdict:
    return Pass()


class Interceptor(Data):
    """Three hooks around effects, or around steps. Raises Rejected(BadFilter).

        site      before sees          after also sees         on_error also sees
        effect    the request          its answer              its EffectFailed
        step      the Facts known      the Facts produced      the error with which the operation would end

    Filters are exact names, and an empty filter matches all. Around a step, `effects` filters by the effect
    that the step asks. `tasks` filters effects only, because the task is not known before the step asks.
    """

    name: str
    site: Site = "effect"
    before: Before = pass_on
    after: After = pass_on
    on_error: After = pass_on
    priority: int = 0
    on_raise: OnRaise = "ignore"
    workflows: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # A step has no task before it asks, so a hook around steps with such a filter would never be called.
        known_tasks = TASKS if self.site == "effect" else ()
        unknown = (
            *(name for name in (self.site,) if name not in get_args(Site)),
            *(name for name in (self.on_raise,) if name not in get_args(OnRaise)),
            *(name for name in self.effects if name not in EFFECT_NAMES.values()),
            *(name for name in self.tasks if name not in known_tasks),
        )
        if unknown:
            raise Rejected(BadWorkflow("BadFilter", self.name, unknown))

    def applies(self, context: HookContext, effect: str) -> bool:
        return (
            (not self.workflows or context.workflow in self.workflows)
            and (not self.steps or context.step in self.steps)
            and (not self.effects or effect in self.effects)
            and (not self.tasks or context.task in self.tasks)
        )


class Interceptors(Data, dict=True):
    """One set of interceptors (a generation): at most INTERCEPTOR_COUNT_MAX, outermost first."""

    ordered: tuple[Interceptor, ...] = ()

    def add(self, interceptor: Interceptor) -> "Interceptors":
        if interceptor.name in self.named:
            raise Rejected(BadWorkflow("InterceptorExists", interceptor.name))
        if len(self.ordered) >= INTERCEPTOR_COUNT_MAX:
            raise Rejected(BadWorkflow("TooManyInterceptors", interceptor.name))
        # The sort is stable: of two with equal priority, the one registered first is the outer one.
        return Interceptors(tuple(sorted((*self.ordered, interceptor), key=lambda known: known.priority)))

    def remove(self, name: str) -> "Interceptors":
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
        """Return a digest of names and sites in order, by which saved operations identify their set."""
        return blake2b(pack([[known.name, known.site] for known in self.ordered]), digest_size=8).hexdigest()


# Calling hooks.

C = TypeVar("C")
StepResult = Mapping[str, object] | Error
"""The facts that a step produces, or the error with which its operation ends."""


class Wrapped(Protocol[C]):
    """Describe what hooks enclose, an attempt or a step; C is the type of its result or failure."""

    @property
    def context(self) -> HookContext: ...
    @property
    def effect_name(self) -> str: ...
    @property
    def seen(self) -> object: ...
    def rewrite(self, request: Asked) -> "Wrapped[C]": ...
    def refuse(self) -> C: ...
    def substitute(self, value: object) -> C: ...
    def show(self, result: C) -> object: ...
    def has_failed(self, result: C) -> bool: ...
    def allows_before(self, verdict: object) -> bool: ...
    def allows_after(self, result: C, verdict: object) -> bool: ...


class BeforeResult(Data, Generic[C]):
    """The decision of the `before` hooks: the attempt or step runs, or `result` is used in its place.

    `names`: the interceptors whose `before` passed, outermost first; they get `after` or `on_error` later.
    """

    wrapped: Wrapped[C]
    names: tuple[str, ...]
    result: C | None
    notes: tuple[HookNote, ...]


def run_before(hooks: Iterable[Interceptor], wrapped: Wrapped[C]) -> BeforeResult[C]:
    """Call the `before` hooks, outermost first, until one refuses or substitutes."""
    names: tuple[str, ...] = ()
    notes: tuple[HookNote, ...] = ()
    for hook in hooks:
        if not hook.applies(wrapped.context, wrapped.effect_name):
            continue
        # `call_hook` replaces a verdict that is not allowed by Pass, so the verdicts below are allowed.
        verdict, failed = call_hook(wrapped.allows_before, hook.before, wrapped.context, wrapped.seen)
        if not failed and isinstance(verdict, Pass):
            names += (hook.name,)
            continue
        notes += note_of(hook, "before", verdict, failed, wrapped.context)
        if isinstance(verdict, Refuse) or (must_fail(hook, failed) and wrapped.allows_before(Refuse(failed))):
            return BeforeResult(wrapped, names, wrapped.refuse(), notes)
        if isinstance(verdict, Substitute):
            return BeforeResult(wrapped, names, wrapped.substitute(verdict.value), notes)
        if isinstance(verdict, Rewrite):
            wrapped = wrapped.rewrite(verdict.request)
            names += (hook.name,)
    return BeforeResult(wrapped, names, None, notes)


def run_after(
    hooks: Interceptors, names: tuple[str, ...], wrapped: Wrapped[C], result: C
) -> tuple[C, tuple[HookNote, ...]]:
    """Call the `after` or `on_error` hooks, innermost first; return the final result and the notes."""
    notes: tuple[HookNote, ...] = ()
    for hook in (hooks.named[name] for name in reversed(names)):
        kind, call = ("on_error", hook.on_error) if wrapped.has_failed(result) else ("after", hook.after)
        allows = partial(wrapped.allows_after, result)
        verdict, failed = call_hook(allows, call, wrapped.context, wrapped.seen, wrapped.show(result))
        if not failed and isinstance(verdict, Pass):
            continue
        notes += note_of(hook, kind, verdict, failed, wrapped.context)
        if isinstance(verdict, Substitute):
            result = wrapped.substitute(verdict.value)
        # A durable commit or a failure cannot be refused; then the hook's own failure is only noted.
        elif isinstance(verdict, Refuse) or (must_fail(hook, failed) and allows(Refuse(failed))):
            result = wrapped.refuse()
    return result, notes


def note_of(
    hook: Interceptor, kind: str, verdict: Verdict, failed: str, context: HookContext
) -> tuple[HookNote, ...]:
    """Return the note of this verdict for the reply; a successful rewrite is not noted."""
    what = "refused" if isinstance(verdict, Refuse) else "substituted"
    is_reported = failed != "" or not isinstance(verdict, Rewrite)
    return (HookNote(hook.name, kind, failed or what, context.step),) if is_reported else ()


def must_fail(hook: Interceptor, failed: str) -> bool:
    return failed != "" and hook.on_raise == "fail"


def call_hook(
    is_allowed: Callable[[object], bool], hook: Callable[..., Verdict], *args: object
) -> tuple[Verdict, str]:
    """Return the verdict, and the fault of the hook: an exception class, `bad_result`, or empty for none."""
    try:
        # Hooks are user code. Their exceptions are noted, except AssertionError, so that tests can assert.
        verdict = hook(*args)
        return (verdict, "") if is_allowed(verdict) else (Pass(), "bad_result")
    except AssertionError:
        raise
    except Exception as raised:
        return Pass(), type(raised).__name__


# What hooks enclose: an attempt or a step.


class Attempt(Data):
    """One attempt of an effect; its result is an answer."""

    context: HookContext
    seen: Asked

    @property
    def effect_name(self) -> str:
        return EFFECT_NAMES[type(self.seen)]

    def rewrite(self, request: Asked) -> "Attempt":
        return Attempt(self.context, request)

    def refuse(self) -> Answer:
        return EffectFailed(self.seen.request_id, "refused")

    def substitute(self, value: object) -> Answer:
        assert isinstance(value, Answer)
        return structs.replace(value, request_id=self.seen.request_id)

    def show(self, result: Answer) -> object:
        return result

    def has_failed(self, result: Answer) -> bool:
        return isinstance(result, EffectFailed)

    def allows_before(self, verdict: object) -> bool:
        return may_before(self.seen, verdict)

    def allows_after(self, result: Answer, verdict: object) -> bool:
        return may_after(self.seen, result, verdict)


class StepRun(Data):
    """One run of a step; its result is the facts produced, or the error with which the operation ends.

    `is_final`: the error allows no substitute, because the caller or the table is at fault, or the step is
    planned again. `never_ends`: hooks may only pass.
    """

    context: HookContext
    row: Step
    seen: Facts
    never_ends: bool
    attempts: int = 0
    is_final: bool = False

    @property
    def effect_name(self) -> str:
        return EFFECT_NAMES[self.row.effect] if self.row.effect else ""

    def rewrite(self, request: Asked) -> "StepRun":
        raise AssertionError(request)  # allows_before admits no Rewrite

    def refuse(self) -> StepResult:
        return abort_error(self.row, "refused", self.attempts)

    def substitute(self, value: object) -> StepResult:
        assert isinstance(value, Mapping)
        return dict(value)

    def show(self, result: StepResult) -> object:
        return result if isinstance(result, Error) else Facts(result)

    def has_failed(self, result: StepResult) -> bool:
        return isinstance(result, Error)

    def allows_before(self, verdict: object) -> bool:
        may_refuse = isinstance(verdict, Refuse) and not self.never_ends
        return isinstance(verdict, Pass) or may_refuse or self.allows_facts(verdict)

    def allows_after(self, result: StepResult, verdict: object) -> bool:
        if isinstance(verdict, Refuse):
            return not (isinstance(result, Error) or self.row.effect is Commit or self.never_ends)
        return isinstance(verdict, Pass) or (not self.is_final and self.allows_facts(verdict))

    def allows_facts(self, verdict: object) -> bool:
        """Check for a substitute of exactly the facts that the step produces; a commit allows none."""
        if not isinstance(verdict, Substitute) or self.row.effect is Commit or self.never_ends:
            return False
        # Types are checked down to the last field, because these facts may be saved and restored.
        facts, learns = verdict.value, self.row.learns
        if not isinstance(facts, dict) or facts.keys() != learns.keys():
            return False
        return all(is_of(facts[name], fact.kind) for name, fact in learns.items())


# The verdicts allowed for an effect and its answer.


def may_before(request: Asked, verdict: object) -> bool:
    if isinstance(verdict, Rewrite):
        return may_rewrite(request, verdict.request)
    if isinstance(verdict, Substitute):
        return is_answer(request, verdict.value)
    return isinstance(verdict, Pass | Refuse)


def may_after(request: Asked, answer: Answer, verdict: object) -> bool:
    if isinstance(verdict, Substitute):
        return is_answer(request, verdict.value)
    if isinstance(verdict, Refuse):
        return not isinstance(answer, EffectFailed | Committed)
    return isinstance(verdict, Pass)


def may_rewrite(before: Asked, after: object) -> bool:
    """Check a rewrite: another prompt, a shorter timeout, as many other texts, or a narrower read.

    Texts to embed may not be blank, and a commit may not change.
    """
    if type(before) is not type(after) or isinstance(before, Commit) or not is_typed(after):
        return False
    if isinstance(before, AskModel):
        assert isinstance(after, AskModel)
        # Restore the fields that may differ, then compare all, so that fields added later may not differ.
        same = structs.replace(after, prompt=before.prompt, timeout_ms=before.timeout_ms) == before
        return same and is_text(after.prompt) and 0 < after.timeout_ms <= before.timeout_ms
    if isinstance(before, Embed):
        assert isinstance(after, Embed)
        same = structs.replace(after, texts=before.texts) == before
        are_valid = all(is_text(text) and text.strip() for text in after.texts)
        return same and are_valid and len(after.texts) == len(before.texts)
    assert isinstance(before, Read)
    assert isinstance(after, Read)
    return structs.replace(after, query=before.query) == before and is_narrower(before.query, after.query)


def is_narrower(before: Query, after: Query) -> bool:
    """Check for the same query with a lower limit or more conditions."""
    if type(before) is not type(after) or isinstance(before, ByIds):
        return before == after
    assert isinstance(before, ByFilter | CountRows | ByVector | ByWords)
    assert isinstance(after, ByFilter | CountRows | ByVector | ByWords)
    if not adds_conditions(before.where, after.where):
        return False
    if isinstance(after, CountRows):
        return structs.replace(after, where=before.where) == before
    assert not isinstance(before, CountRows)
    same = structs.replace(after, where=before.where, limit=before.limit)
    # A read of all rows goes on page by page; a limit would turn the first page into the whole answer.
    is_lowered = before.limit is not None and after.limit is not None and 1 <= after.limit <= before.limit
    return same == before and (is_lowered or after.limit is before.limit is None)


def adds_conditions(before: Where, after: Where) -> bool:
    """Check that `after` begins with all conditions of `before`; added conditions only leave out rows."""
    return after[: len(before)] == before and len(after) <= max(len(before), CONDITION_COUNT_MAX)
