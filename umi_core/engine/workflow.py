"""Workflows: operations as tables of steps, and the classes of which tables consist.

Law 1. A workflow is a value. Every change makes a new revision that is valid as a whole, or changes nothing.
Law 2. An operation finishes on the revision it began with; all revisions stay reachable.
Law 3. `ask` only reads; only `take` may change a tier. Facts are added, never replaced.
Law 4. The policy for failures (retry, plan again, substitute, give up) is data of the step.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from hashlib import blake2b
from typing import Any, Final, TypedDict, TypeVar, overload

from umi_core import errors
from umi_core.data import Data
from umi_core.engine.facts import Fact, Facts, View
from umi_core.ids import pack
from umi_core.language.dates import day_of
from umi_core.language.prompts import add_today
from umi_core.limits import BACKOFF_MS_MAX, BACKOFF_MS_MIN, PLAN_COUNT_MAX
from umi_core.messages.answers import Committed, EffectFailed, Embedded, ModelReplied, ReadDone
from umi_core.messages.effects import EFFECT_NAMES, Asked, AskModel, Commit, Done, Embed, Read, Refused
from umi_core.policies.similarity import lacking_vectors, sound_vectors
from umi_core.rows import Row
from umi_core.values import Scope

OUTCOME: Final = Fact("outcome", Done | Refused)
"""The reply of the operation, given after its last step."""

EPOCH: Final = Fact("epoch", int)
"""The epoch that recovery has claimed; its commits expect it before the state of the memory holds it."""

# The results of `take`.


class Learned(Data):
    """New facts; a later step to skip to; degradations as (substitute, reason, count).

    `shapes`: names of what a parser dropped or repaired in the answer; they only become coverage marks.
    """

    # degraded: (("no_vectors", "unavailable", 3),) means that three texts have no vector: no answer came.
    facts: Mapping[str, object] = {}
    skip_to: str | None = None
    degraded: tuple[tuple[str, str, int], ...] = ()
    shapes: tuple[str, ...] = ()


class Unusable(Data):
    """The answer cannot be used. A model is asked again; for other effects the retries end at once."""

    reason: str


class Rejection(Data):
    """The request is refused by the caller's fault: the operation ends here and has changed nothing."""

    error: errors.Error


TakeResult = Learned | Unusable | Rejection
E = TypeVar("E")
A = TypeVar("A")
Ask = Callable[[Facts, View], E]
Take = Callable[[Facts, A, View], TakeResult]
Claims = Callable[[Facts, View], tuple[str, ...]]
Vectors = tuple[tuple[int, ...] | None, ...]


# Failure policies.


class Degrade(Data):
    """Go on with substitute facts after a failure; the reply reports `step:name` as degraded."""

    name: str
    facts: Callable[[Facts, str], Mapping[str, object]]


class OnFailure(Data):
    """The failure policy of a step: `attempts` in all, then degrade by `then`, or abort if it is None.

    With 0 attempts the step retries every kind of failure without end. At a conflict, `conflict_error` may
    return an error of the caller; otherwise the operation goes back to the step `replan`, for `plans_max`
    plans in all (without end if `attempts` is 0). Without `replan` a conflict aborts.
    """

    attempts: int
    then: Degrade | None = None
    replan: str | None = None
    conflict_error: Callable[[Facts, EffectFailed, View], errors.Error | None] | None = None
    plans_max: int = PLAN_COUNT_MAX


def abort_error(row: "Step", kind: str, attempts: int) -> errors.StepFailed:
    """Return the error of an operation that ends at this step: StepFailed if the step asks nothing."""
    # The class says which service failed, so that callers need not know the names of steps.
    by_effect: dict[type[Asked] | None, type[errors.StepFailed]] = {
        AskModel: errors.ModelFailed,
        Embed: errors.EmbedFailed,
    }
    of_commit = {"refused": errors.StorageRefused, "full": errors.StorageFull, "conflict": errors.Conflict}
    by_effect |= {Commit: of_commit.get(kind, errors.StorageFailed), Read: errors.StorageFailed}
    return by_effect.get(row.effect, errors.StepFailed)(row.id, kind, attempts)


def backoff_ms(count: int) -> int:
    """Return the wait after `count` attempts or plans: doubled each time, up to BACKOFF_MS_MAX."""
    # 100, 200, 400, 800, 1,600, 3,200, 5,000, 5,000 ms. The shift is bounded because recovery never stops.
    return min(BACKOFF_MS_MAX, BACKOFF_MS_MIN << min(count - 1, 16))


# Steps and tables.


class Step(Data, dict=True):
    """A row of a table. `effect`, `ask` and `on_failure` are given together, by `asks` below, or not at all.

    With `each`, `ask` and `take` run once per unit of that fact, in order; each produced fact is the tuple of
    the results. A step whose `when` is false is skipped; its facts are then `skipped_values`. A damaged row
    of a kind in `spares` reaches `take` without a body, once reading again has not helped; any other damaged
    row makes the read fail. The next
    commit expects the versions of all rows read, except kinds in `loose`: the plan stays right however such a
    row changes. A later operation of this memory that `claims` something which this step has claimed waits
    until this operation has ended.
    """

    id: str
    take: Take[Any]
    requires: tuple[Fact[Any], ...] = ()
    produces: tuple[Fact[Any], ...] = ()
    effect: type[Asked] | None = None
    ask: Ask[Asked | None] | None = None
    on_failure: OnFailure | None = None
    each: Fact[Any] | None = None
    when: Callable[[Facts], bool] | None = None
    otherwise: Mapping[str, object] | None = None
    skips_to: tuple[str, ...] = ()
    spares: tuple[str, ...] = ()
    loose: tuple[str, ...] = ()
    claims: Claims | None = None
    config: tuple[tuple[str, str | int | bool], ...] = ()

    def question(self, facts: Facts, view: View) -> Asked | None:
        """Return the question, with today's date if it is for a model; None if the step asks nothing."""
        asked = self.ask(facts, view) if self.ask else None
        return add_today(asked, day_of(view.now_ms, view.config)) if isinstance(asked, AskModel) else asked

    @cached_property
    def options(self) -> Mapping[str, str | int | bool]:
        """Return its options; a step that asks a model or an embedder always has the option `profile`."""
        profile = {"profile": "default"} if self.effect in (AskModel, Embed) else {}
        return {**profile, **dict(self.config)}

    @cached_property
    def skipped_values(self) -> Mapping[str, object]:
        """Return its facts if it is skipped: `otherwise`, and None for the other facts."""
        return {**dict.fromkeys(self.learns), **(self.otherwise or {})}

    @cached_property
    def needs(self) -> Mapping[str, Fact[Any]]:
        """Return the facts that the step requires, by name."""
        return {fact.name: fact for fact in (*self.requires, *([self.each] if self.each else []))}

    @cached_property
    def learns(self) -> Mapping[str, Fact[Any]]:
        """Return the facts that the step produces, by name."""
        return {fact.name: fact for fact in self.produces}


class Law(Data):
    """A relation between facts, beyond their types, that holds once all of them are known.

    Steps rely on it, so it is checked when facts come from outside, in the bytes of a saved memory.
    """

    description: str
    of: tuple[Fact[Any], ...]
    holds: Callable[[Facts, Scope], bool]

    def holds_of(self, known: Mapping[str, Any], scope: Scope) -> bool:
        """Check the law; it also holds while a fact is unknown, or None because its step was skipped."""
        # No later step reads a None that a skipped step left, so no law need hold for it.
        return any(known.get(fact.name) is None for fact in self.of) or self.holds(Facts(known), scope)


class Workflow(Data, dict=True):
    """A table of steps. `given`: the facts known at the begin, such as the request, under typed keys."""

    name: str
    given: tuple[Fact[Any], ...]
    steps: tuple[Step, ...]
    laws: tuple[Law, ...] = ()

    @cached_property
    def never_ends(self) -> bool:
        """Return True if a step retries without end, as in recovery; hooks must not end such a workflow."""
        return any(step.on_failure is not None and step.on_failure.attempts == 0 for step in self.steps)

    @cached_property
    def commits(self) -> bool:
        """Return True if one of its steps commits."""
        return any(step.effect is Commit for step in self.steps)

    @cached_property
    def knows(self) -> Mapping[str, Fact[Any]]:
        """Return the given facts, by name."""
        return {fact.name: fact for fact in self.given}

    def index(self, step_id: str) -> int | None:
        return next((at for at, step in enumerate(self.steps) if step.id == step_id), None)

    @cached_property
    def fingerprint(self) -> str:
        """Return a digest of the steps, their order, policies and options, and the names of their functions.

        The bodies of functions are not part of it. Give a function whose meaning changes another name, or its
        step another option; otherwise a memory saved in flight under the old table is restored on the new.
        """
        # The parts are texts, numbers, flags and lists of these, so each has exactly one spelling as text.
        rows = [[str(part) for part in describe(step)] for step in self.steps]
        return blake2b(pack([self.name, describe_facts(self.given), rows]), digest_size=8).hexdigest()


def describe(step: Step) -> tuple[object, ...]:
    effect = EFFECT_NAMES.get(step.effect) if step.effect else ""
    return (
        step.id, describe_facts(step.requires), describe_facts(step.produces), sorted(step.otherwise or ()),
        effect,
        qualify_name(step.ask), qualify_name(step.take), qualify_name(step.when), qualify_name(step.claims),
        step.each and step.each.name,
        step.skips_to, step.spares, step.loose, step.config,
        *(describe_failure(step.on_failure) if step.on_failure else ()),
    )  # fmt: skip


def describe_facts(facts: Iterable[Fact[Any]]) -> list[str]:
    """Return names and types: a table with other types must not read facts that were saved in flight."""
    return sorted(f"{fact.name}: {fact.kind}" for fact in facts)


def describe_failure(policy: OnFailure) -> tuple[object, ...]:
    then = (policy.then.name, qualify_name(policy.then.facts)) if policy.then else ()
    return policy.attempts, policy.replan, policy.plans_max, qualify_name(policy.conflict_error), *then


def qualify_name(function: Callable[..., object] | None) -> str:
    return f"{function.__module__}.{function.__qualname__}" if function else ""


# Shorthands for tables.


def retry(
    attempts: int,
    then: Degrade | None = None,
    replan: str | None = None,
    conflict_error: Callable[[Facts, EffectFailed, View], errors.Error | None] | None = None,
) -> OnFailure:
    """Try `attempts` times in all, then degrade or abort; after a conflict plan again from step `replan`."""
    assert attempts >= 1
    return OnFailure(attempts, then, replan, conflict_error)


def forever(replan: str | None = None) -> OnFailure:
    """Retry without end. Only recovery may use this."""
    return OnFailure(0, None, replan)


def degrade(to: str, facts: Mapping[str, object] = {}) -> Degrade:
    """Degrade to constant facts; use `Degrade(name, function)` if they depend on facts or the failure."""
    return Degrade(to, lambda known, reason: facts)


def one_read(
    name: str, request: Fact[Any], ask: Ask[Read | None], take: Take[ReadDone], spares: tuple[str, ...] = ()
) -> Workflow:
    """Return the table of an operation that consists of one read, and fails if the read fails."""
    asking = asks(Read, ask, take, retry(3))
    return Workflow(
        name, (request,), (Step("read", requires=(request,), produces=(OUTCOME,), spares=spares, **asking),)
    )


# Common `take` functions: learn the rows of a read unchanged, and one vector for each text.


def learn_rows(fact: Fact[tuple[Row, ...]]) -> Take[ReadDone]:
    def take(facts: Facts, answer: ReadDone, view: View) -> Learned:
        return Learned(fact(answer.rows))

    return take


def learn_unit_rows(fact: Fact[Any]) -> Take[ReadDone]:
    def take(facts: Facts, answer: ReadDone, view: View) -> Learned:
        return Learned(fact.unit(answer.rows))

    return take


def learn_vectors(
    answer: Embedded | None,
    count: int,
    lack: str,
    learn: Callable[[Vectors], dict[str, object]],
    view: View,
) -> TakeResult:
    """Learn `count` vectors, with None for each missing one, or for all if nothing was asked.

    `lack`: the name under which the reply reports missing vectors.
    """
    if answer is None:
        return Learned(learn((None,) * count))
    vectors = sound_vectors(answer.vectors, count, view.config.embedding_dims)
    if vectors is None:
        return Unusable("wrong number of vectors")
    missing = lacking_vectors(lack, answer.vectors, view.config.embedding_dims)
    return Learned(learn(vectors), degraded=missing)


# Each effect with the class of its answer, so that a `take` for another answer is a type error:
#
#     Step("read", produces=(OUTCOME,), **asks(Read, ask_entity, take_entity, retry(3)))


class Asking(TypedDict):
    """Four columns of a step, given together."""

    effect: type[Asked]
    ask: Ask[Any]
    take: Take[Any]
    on_failure: OnFailure


@overload
def asks(
    effect: type[AskModel], ask: Ask[AskModel], take: Take[ModelReplied], on_failure: OnFailure
) -> Asking: ...


@overload
def asks(
    effect: type[AskModel], ask: Ask[AskModel | None], take: Take[ModelReplied | None], on_failure: OnFailure
) -> Asking: ...


@overload
def asks(effect: type[Embed], ask: Ask[Embed], take: Take[Embedded], on_failure: OnFailure) -> Asking: ...


@overload
def asks(
    effect: type[Embed], ask: Ask[Embed | None], take: Take[Embedded | None], on_failure: OnFailure
) -> Asking: ...


@overload
def asks(
    effect: type[Read], ask: Ask[Read | None], take: Take[ReadDone], on_failure: OnFailure
) -> Asking: ...


@overload
def asks(effect: type[Commit], ask: Ask[Commit], take: Take[Committed], on_failure: OnFailure) -> Asking: ...


@overload
def asks(
    effect: type[Commit], ask: Ask[Commit | None], take: Take[Committed | None], on_failure: OnFailure
) -> Asking: ...


def asks(effect: type[Asked], ask: Ask[Any], take: Take[Any], on_failure: OnFailure) -> Asking:
    """Return the columns of a step that asks; if `ask` returns None, `take` gets None or an empty read."""
    return Asking(effect=effect, ask=ask, take=take, on_failure=on_failure)
