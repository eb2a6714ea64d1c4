"""Revisions: all workflows change while operations run, through the public calls of the registry.

Law 1. A change has no effect outside: steps that do nothing are added, configured, replaced and removed.
Law 2. These steps come first in a table. So a memory that wrongly continues an operation with the steps of
another revision repeats a step or skips one. An unused workflow is registered, and changes like all others.
Law 3. The numbers of ops decide when they change, so removing other items moves no change.
Law 4. If `revise_every` is even, the first change adds interceptors that only observe: two around effects and
two around steps. Their calls must be nested: `before` outer first, `after` inner first. All other effects of
interceptors are tested by calls (tests/properties/test_answers.py).
Law 5. If `revise_every` is 2, 6, 10 and so on, each change adds or removes outermost interceptors. These
refuse effects of some operations, before an effect is sent or after its answer, by a verdict or by raising,
or they substitute the model's answer. In other operations they refuse the last step, after the commit. Each
reply names them, and is judged as if the world had answered so. When the world heals, they are removed.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from msgspec import structs

from umi_core.engine.facts import Facts, View
from umi_core.engine.middleware import (
    HookContext,
    Interceptor,
    Pass,
    Refuse,
    Site,
    Substitute,
    Verdict,
)
from umi_core.engine.registry import Registry
from umi_core.engine.workflow import OUTCOME, Learned, Step, Workflow
from umi_core.messages.answers import Answer, ModelReplied
from umi_core.messages.effects import Asked, AskModel, Commit, Done, Embed, Read
from umi_sim.record import rules
from umi_sim.record.broken import demand
from umi_sim.record.run_config import LATE_REFUSING_HOOK, REFUSING_HOOK, SUBSTITUTING_HOOK

CHANGE_COUNT_MAX: Final = 500  # a registry keeps 1000 revisions of a workflow


def nothing_learned(facts: Facts, answer: Answer | None, view: View) -> Learned:
    return Learned()


def all_done(facts: Facts, answer: Answer | None, view: View) -> Learned:
    return Learned(OUTCOME(Done()))


ROW: Final = Step("nothing", take=nothing_learned, otherwise={}, config=(("every", 1),))
FIRST: Final = Step("first", take=nothing_learned, otherwise={})
UNUSED: Final = Workflow("of nobody", (), (Step("alone", take=all_done, produces=(OUTCOME,)),))


class Revisions:
    """The changes of all workflows: one after every so many ops; 0 is never."""

    def __init__(self, every: int) -> None:
        self._every = every
        self._count = 0
        self._tables: Registry | None = None  # the present workflows, without interceptors
        self._observers = (NestedObservers("effect"), NestedObservers("step"))

    def change_before(self, op_id: str | None, registry: Registry) -> Registry:
        """Return the registry with which this op begins. `op_id`: None for the audit of a healed world."""
        if not self._every:
            return registry
        if op_id is None:
            return remove_hooks(registry)
        self.check()
        # The number of the op decides (o12 and every 5: two changes), not a count of calls: if o7 is removed
        # from the record, o12 must still find the same tables (law 3).
        change_count = min(int(op_id[1:]) // self._every, CHANGE_COUNT_MAX)
        while self._count < change_count:
            self._count += 1
            self._tables = change_tables(self._tables or registry)
            registry = structs.replace(registry, revisions=self._tables.revisions)
            if self._count == 1 and self._every % 2 == 0:
                for observers in self._observers:
                    registry = observers.add_hooks(registry)
            # 2, 6, 10 and so on: besides observers (law 4), interceptors that refuse (law 5).
            if self._every % 4 == 2:
                registry = toggle_hooks(registry)
        return registry

    def check(self) -> None:
        """Demand that observers are called in nested order, and that both kinds of them are called."""
        for each in self._observers:
            each.check()
        counts = {each.site: each.call_count for each in self._observers}
        is_called = max(counts.values()) < CALL_COUNT_MIN or min(counts.values()) > 0
        demand(is_called, rules.HOOK_ORDER, "some interceptors are never called", "all of them", counts)


def change_tables(registry: Registry) -> Registry:
    """Return the registry with each workflow in the next of its five forms (`changed_one`)."""
    if UNUSED.name not in registry.revisions:
        registry = registry.register(UNUSED)
    for name in registry.revisions:
        registry = changed_one(registry, name)
    return registry


def changed_one(registry: Registry, name: str) -> Registry:
    """Return the registry with one workflow in its next form, which differs in rows that do nothing."""
    steps = registry.at(name).steps
    if steps[0].id == ROW.id:
        is_new = steps[0].config == ROW.config
        #   none    [nothing]    [nothing every=2]    [first]    [first, nothing]    none
        return registry.configure(name, ROW.id, every=2) if is_new else registry.replace(name, ROW.id, FIRST)
    if steps[0].id != FIRST.id:
        return registry.insert_before(name, steps[0].id, ROW)
    if steps[1].id != ROW.id:
        return registry.insert_after(name, FIRST.id, ROW)
    return registry.remove(name, ROW.id).remove(name, FIRST.id)


# Interceptors that observe.

ATTEMPT_MAX: Final[Mapping[Site, int]] = {"effect": 1_000_000, "step": 0}
"""Steps have no attempts. Only recovery retries without a limit, and no run has so many attempts."""
ASKED: Final[Mapping[Site, tuple[type, ...]]] = {"effect": (AskModel, Embed, Read, Commit), "step": (Facts,)}
CALL_COUNT_MIN: Final = 200
"""If one kind of observer was called so often, the other was called as well."""
ORDER: Final = {"out": ("outer", "inner"), "back": ("inner", "outer")}


class NestedObservers:
    """Two interceptors around effects, or around steps, which check the order of their calls."""

    def __init__(self, site: Site) -> None:
        self.site: Site = site
        self.call_count = 0
        self._due: tuple[str, str] | None = None  # direction and name of the call that must come next
        self._wrong = ""

    def add_hooks(self, registry: Registry) -> Registry:
        """Return the registry with both. The inner one is registered first, but priorities decide."""
        for name, priority in (("inner", 3), ("outer", 1)):
            out, back = partial(self._check_call, "out", name), partial(self._check_call, "back", name)
            hook = Interceptor(f"{name} {self.site}", self.site, out, back, back, priority)
            registry = registry.with_interceptor(hook)
        return registry

    def check(self) -> None:
        """Raises Broken if a call was ever out of order."""
        if self.call_count:
            what = f"interceptors of {self.site}s were called otherwise than they must be"
            demand(not self._wrong, rules.HOOK_ORDER, what, "nested calls", self._wrong)

    def _check_call(self, direction: str, name: str, context: HookContext, asked: object, *_: object) -> Pass:
        first, last = ORDER[direction]
        self.call_count += 1
        # Attempts of effects are counted from 1; a step has no attempts, and its number is 0.
        if context.attempt not in range(self.site == "effect", ATTEMPT_MAX[self.site] + 1):
            self._wrong = self._wrong or f"{name} on the way {direction}, in attempt {context.attempt}"
        if not isinstance(asked, ASKED[self.site]):
            self._wrong = self._wrong or f"{name} on the way {direction}, around {asked!r}"
        # Outwards `outer` is called first, and `inner` right after it; on the way back `inner` is first.
        is_first = self._due is None and name == first
        if not is_first and self._due != (direction, name):
            self._wrong = self._wrong or f"{name} on the way {direction}, due {self._due}"
        self._due = (direction, last) if name == first else None
        return Pass()


# Interceptors that refuse.

TURNS_AWAY_EVERY: Final = 5
REFUSED: Final = ("extract", "evolve", "expand", "route")  # model steps that an operation can do without
CLOSED: Final = ("get_entity", "remember", "forget", "write_block")  # their reads or commits may fail
UNHEARD: Final = ("evolve", "expand", "route")  # model steps on whose answers no other step depends
REFUSED_LATE: Final = ("write_block",)  # has committed before its last step
NO_USE: Final = ModelReplied(0, "")


class Stumbled(Exception):
    """An exception such as a user's interceptor may raise."""


def toggle_hooks(registry: Registry) -> Registry:
    """Return the registry with the interceptors that refuse, or without them if it has them."""
    if REFUSING_HOOK in registry.generations[-1].named:
        return remove_hooks(registry)
    before, after = or_stumble(refuse_request), or_stumble(refuse_reply)
    refuse_late = or_stumble(refuse_last_step)
    for hook in (
        Interceptor(REFUSING_HOOK, before=before, after=after, on_raise="fail"),
        Interceptor(SUBSTITUTING_HOOK, on_error=substitute, priority=-2),
        Interceptor(LATE_REFUSING_HOOK, "step", before=refuse_late, steps=("reply",), on_raise="fail"),
    ):
        registry = registry.with_interceptor(hook)
    return registry


def remove_hooks(registry: Registry) -> Registry:
    if REFUSING_HOOK in registry.generations[-1].named:
        for name in (REFUSING_HOOK, SUBSTITUTING_HOOK, LATE_REFUSING_HOOK):
            registry = registry.without_interceptor(name)
    return registry


def or_stumble(turns: Callable[..., Verdict]) -> Callable[..., Verdict]:
    """Return a hook that refuses by a verdict, or by raising: both must have the same result."""

    def hook(context: HookContext, *seen: object) -> Verdict:
        verdict = turns(context, *seen)
        if isinstance(verdict, Refuse) and context.operation % 2:
            raise Stumbled
        return verdict

    return hook


def refuse_request(context: HookContext, request: Asked) -> Verdict:
    """Refuse or answer a question to the model in some operations, and refuse commits or reads in others."""
    turn, rest = divmod(context.operation, TURNS_AWAY_EVERY)
    if rest:
        return Pass()
    if isinstance(request, AskModel) and context.step in REFUSED:
        return Refuse("nobody is asked") if turn % 2 else Substitute(NO_USE)
    is_chosen = turn % 3 == 0 and context.workflow in CLOSED
    may_fail = isinstance(request, Commit) or context.workflow == "get_entity"
    return Refuse("closed") if is_chosen and may_fail else Pass()


def refuse_reply(context: HookContext, request: Asked, answer: Answer) -> Verdict:
    """Refuse the model's reply in some other operations."""
    is_chosen = context.operation % TURNS_AWAY_EVERY == 1 and context.step in UNHEARD
    return Refuse("not heard") if is_chosen and isinstance(request, AskModel) else Pass()


def substitute(context: HookContext, request: Asked, answer: Answer) -> Verdict:
    """Substitute an empty reply for a failed question in every third operation, which continues with it."""
    is_chosen = context.operation % 3 == 0 and isinstance(request, AskModel) and context.step in REFUSED
    return Substitute(NO_USE) if is_chosen else Pass()


def refuse_last_step(context: HookContext, facts: Facts) -> Verdict:
    """Refuse the last step of some other operations, after all their effects."""
    is_chosen = context.operation % TURNS_AWAY_EVERY > 1 and context.workflow in REFUSED_LATE
    return Refuse("over") if is_chosen else Pass()
