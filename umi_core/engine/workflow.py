"""Workflows: operations as tables, and the classes that tables are written with.

Law 1. A workflow is a value. Every change makes a new revision that is valid as a whole, or changes nothing.
Law 2. An operation finishes on the revision it began with; all revisions stay reachable.
Law 3. `ask` reads and `take` learns; nothing else changes a tier. Facts are added, never replaced.
Law 4. What a failure means (retry, plan again, substitute, give up) is data of the step.
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
"""What every operation is for: the reply, once the last step is done."""

EPOCH: Final = Fact("epoch", int)
"""What recovery has claimed: its own commits expect it before the memory knows."""

# What a row's functions give.


class Learned(Data):
    """New facts; a later row to go on with; what was left out, as (substitute, reason, count).

    `shapes`: names of what a parser dropped or mended in the answer; they are marked, and change nothing.
    """

    # degraded: (("no_vectors", "unavailable", 3),) means three texts without a vector, for want of an answer.
    facts: Mapping[str, object] = {}
    skip_to: str | None = None
    degraded: tuple[tuple[str, str, int], ...] = ()
    shapes: tuple[str, ...] = ()


class Unusable(Data):
    """The answer says nothing that can be used: the end of the row's policy at once."""

    reason: str


class Rejection(Data):
    """The operation ends here: the caller's fault, nothing changed."""

    error: errors.Error


Taken = Learned | Unusable | Rejection
E = TypeVar("E")
A = TypeVar("A")
Ask = Callable[[Facts, View], E]
Take = Callable[[Facts, A, View], Taken]
Claims = Callable[[Facts, View], tuple[str, ...]]
Vectors = tuple[tuple[int, ...] | None, ...]


# What failure means.


class Degrade(Data):
    """Go on with stated facts instead; `name` goes into the reply as `step:name`."""

    name: str
    facts: Callable[[Facts, str], Mapping[str, object]]


class OnFailure(Data):
    """`attempts` in all (0: without end, whatever the kind), then degrade or, with None, abort.

    At a conflict: `conflict_error` may name the caller's fault; else go back to the row `replan`,
    PLAN_COUNT_MAX plans in all (without end if `attempts` is 0); without `replan` a conflict aborts.
    """

    attempts: int
    then: Degrade | None = None
    replan: str | None = None
    conflict_error: Callable[[Facts, EffectFailed, View], errors.Error | None] | None = None
    plans_max: int = PLAN_COUNT_MAX


def abort_error(row: "Step", kind: str, attempts: int) -> errors.StepFailed:
    """Return the error of an operation that ended at this row; a hook refused it if it has no effect."""
    # The class says which service has failed, so that a caller need not know the names of rows.
    by_effect: dict[type[Asked] | None, type[errors.StepFailed]] = {
        AskModel: errors.ModelFailed,
        Embed: errors.EmbedFailed,
    }
    of_commit = {"refused": errors.StorageRefused, "full": errors.StorageFull, "conflict": errors.Conflict}
    by_effect |= {Commit: of_commit.get(kind, errors.StorageFailed), Read: errors.StorageFailed}
    return by_effect.get(row.effect, errors.StepFailed)(row.id, kind, attempts)


def backoff_ms(count: int) -> int:
    """Return how long to wait after so many attempts or plans: twice as long each time, up to a limit."""
    # 100, 200, 400, 800, 1,600, 3,200, 5,000, 5,000 ms; the shift is bounded, as recovery tries without end.
    return min(BACKOFF_MS_MAX, BACKOFF_MS_MIN << min(count - 1, 16))


# Rows and tables.


class Step(Data, dict=True):
    """A row. `effect`, `ask` and `on_failure` are given together, by `asks` below, or not at all.

    With `each`, ask and take run once per unit of that fact, in order; each produced fact is the tuple of
    what the units gave. A row whose `when` is false is skipped and leaves `left`. A damaged row of a
    kind that is in `spares` reaches `take` without a body; any other one makes the read fail. The next commit
    expects each row that was read to be as it was, unless its kind is in `loose`: the plan is right whatever
    becomes of such a row. A later operation of this memory that `claims` the same waits until this one has
    ended.
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
        """Return what it asks, a model with today's day; None if it asks nothing."""
        asked = self.ask(facts, view) if self.ask else None
        return add_today(asked, day_of(view.now_ms, view.config)) if isinstance(asked, AskModel) else asked

    @cached_property
    def options(self) -> Mapping[str, str | int | bool]:
        """Return its options; one that asks a model or an embedder has a profile, whatever it declares."""
        profile = {"profile": "default"} if self.effect in (AskModel, Embed) else {}
        return {**profile, **dict(self.config)}

    @cached_property
    def left(self) -> Mapping[str, object]:
        """Return what it leaves if it is skipped: its `otherwise`, and None for its other facts."""
        return {**dict.fromkeys(self.learns), **(self.otherwise or {})}

    @cached_property
    def needs(self) -> Mapping[str, Fact[Any]]:
        """Return the facts that must be known before it runs, by name."""
        return {fact.name: fact for fact in (*self.requires, *([self.each] if self.each else []))}

    @cached_property
    def learns(self) -> Mapping[str, Fact[Any]]:
        """Return the facts that are known after it, by name."""
        return {fact.name: fact for fact in self.produces}


class Law(Data):
    """A relation between facts that holds beside their types, once all of them are known.

    Steps rely on it, so it is checked where facts come from outside: from the bytes of a saved memory.
    """

    said: str
    of: tuple[Fact[Any], ...]
    holds: Callable[[Facts, Scope], bool]

    def holds_of(self, known: Mapping[str, Any], scope: Scope) -> bool:
        """Check the law; it holds, too, while a fact is unknown, or is None because its step was skipped."""
        # A skipped step leaves None, and nothing that follows reads it, so there is nothing to hold.
        return any(known.get(fact.name) is None for fact in self.of) or self.holds(Facts(known), scope)


class Workflow(Data, dict=True):
    """`given`: what is known at the begin; its request, under a key that knows the class of it."""

    name: str
    given: tuple[Fact[Any], ...]
    steps: tuple[Step, ...]
    laws: tuple[Law, ...] = ()

    @cached_property
    def never_ends(self) -> bool:
        """Return True if it tries without end, as recovery does: it must not be ended from outside then."""
        return any(step.on_failure is not None and step.on_failure.attempts == 0 for step in self.steps)

    @cached_property
    def commits(self) -> bool:
        """Return True if one of its rows commits."""
        return any(step.effect is Commit for step in self.steps)

    @cached_property
    def knows(self) -> Mapping[str, Fact[Any]]:
        """Return the given facts, by name."""
        return {fact.name: fact for fact in self.given}

    def index(self, step_id: str) -> int | None:
        return next((at for at, step in enumerate(self.steps) if step.id == step_id), None)

    @cached_property
    def fingerprint(self) -> str:
        """Return a digest of the rows, their order, policies and options, and the names of their functions.

        It does not see what a function does: a table whose function means something new under its old name
        has the same fingerprint. Give such a function another name, or its row another option, so that a
        memory saved in flight under the old table is refused.
        """
        # As texts: the parts are texts, numbers, flags and lists of these, each with one spelling.
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
    """Return names and types: saved facts are read under the types that they were checked for."""
    return sorted(f"{fact.name}: {fact.kind}" for fact in facts)


def describe_failure(policy: OnFailure) -> tuple[object, ...]:
    then = (policy.then.name, qualify_name(policy.then.facts)) if policy.then else ()
    return policy.attempts, policy.replan, policy.plans_max, qualify_name(policy.conflict_error), *then


def qualify_name(function: Callable[..., object] | None) -> str:
    return f"{function.__module__}.{function.__qualname__}" if function else ""


# The words that tables are written with.


def retry(
    attempts: int,
    then: Degrade | None = None,
    replan: str | None = None,
    conflict_error: Callable[[Facts, EffectFailed, View], errors.Error | None] | None = None,
) -> OnFailure:
    """Make `attempts` in all, then abort or degrade; after a conflict plan again from the row `replan`."""
    assert attempts >= 1
    return OnFailure(attempts, then, replan, conflict_error)


def forever(replan: str | None = None) -> OnFailure:
    """Try without end. This is only for recovery: no other operation may do so."""
    return OnFailure(0, None, replan)


def degrade(to: str, facts: Mapping[str, object] = {}) -> Degrade:
    """Degrade to constants; substitutes that depend on facts or the failure are `Degrade(name, function)`."""
    return Degrade(to, lambda known, reason: facts)


def one_read(
    name: str, request: Fact[Any], ask: Ask[Read | None], take: Take[ReadDone], spares: tuple[str, ...] = ()
) -> Workflow:
    """Return the table of an operation that is one read; if that fails, so does the operation."""
    asking = asks(Read, ask, take, retry(3))
    return Workflow(
        name, (request,), (Step("read", requires=(request,), produces=(OUTCOME,), spares=spares, **asking),)
    )


# What most answers teach: the rows of a read as they are, and one vector for each text.


def learn_rows(fact: Fact[tuple[Row, ...]]) -> Take[ReadDone]:
    return lambda facts, answer, view: Learned(fact(answer.rows))


def learn_unit_rows(fact: Fact[Any]) -> Take[ReadDone]:
    return lambda facts, answer, view: Learned(fact.unit(answer.rows))


def learn_vectors(
    answer: Embedded | None,
    count: int,
    lack: str,
    learn: Callable[[Vectors], dict[str, object]],
    view: View,
) -> Taken:
    """Learn `count` vectors, None for each that is missing, or for all if none was asked for.

    `lack`: how a missing one is named in the reply.
    """
    if answer is None:
        return Learned(learn((None,) * count))
    vectors = sound_vectors(answer.vectors, count, view.config.embedding_dims)
    if vectors is None:
        return Unusable("wrong number of vectors")
    missing = lacking_vectors(lack, answer.vectors, view.config.embedding_dims)
    return Learned(learn(vectors), degraded=missing)


# Which answer a row gets to which effect, so that a table with another one is a type error:
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
    """Ask this effect, or nothing where `ask` returns None; then `take` gets None, or of a read no rows."""
    return Asking(effect=effect, ask=ask, take=take, on_failure=on_failure)
