"""The checker: which states a store can be in by what it answered, and the first answer that fits none.

Law 1. It sees what was asked, what was answered and when; never the store.
Law 2. Beside the states that may be, it keeps those that must not: of an error that was applied all the same,
       of a batch that was applied in part. When no state is left that may be, these name the promise.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any, Final

import attrs

from umi_core.data import Data
from umi_sim.targets.items import Op
from umi_sim.targets.model import REFUSED, Contract, Flags, Members, Outcome, State, resolved
from umi_sim.targets.values import shown

STATE_COUNT_MAX: Final = 256
SUSPECT_COUNT_MAX: Final = 12

RULES: Final[Mapping[str, str]] = {
    "answer": "what is read is what was written",
    "raises": "what is asked in plain words is not refused, and nothing is raised",
    "error-applied": "an error means not applied, now or later",
    "done-lost": "done means done",
    "batch-split": "a batch that failed was not applied in part",
    "crash-split": "after a crash an operation was done, or was not",
    "cancel-split": "after a cancellation an operation was done, or was not",
    "at-once": "requests at once equal some order of them",
    "reopen-lost": "what was done is there after a restart",
    "scope": "scopes are apart",
    "order": "the order is the one that was promised",
    "value": "a value comes back as it was",
    "pages": "pages are complete, and nothing is in them twice",
    "hang": "every operation ends",
    "process": "the process of the store lives and speaks its protocol",
}


class TooMany(Exception):
    """More states are possible than can be followed; the run says nothing from here on."""


@attrs.frozen
class Got(Data):
    """What came of an operation: a value, or the name of an error and its text."""

    value: object = None
    error: str = ""
    text: str = ""
    is_refusal: bool = False
    is_busy: bool = False
    frame: str = ""

    def __str__(self) -> str:
        return f"raised {self.error}: {self.text}" if self.error else shown(self.value)


@attrs.frozen
class Broken(Data):
    """A promise that does not hold: at which operation, what came, and what might have."""

    rule: str
    op: str
    got: str
    allowed: str = ""
    error: str = ""
    frame: str = ""

    @property
    def message(self) -> str:
        allowed = f"; expected {self.allowed}" if self.allowed else ""
        return f"{self.op}: {self.got}{allowed}"


@attrs.frozen
class Suspects(Data):
    """States that must not be, by the promise that would be broken."""

    rule: str
    states: Sequence[State]


class Checker:
    def __init__(self, contract: Contract, flags: Flags, ops: Mapping[str, Sequence[str]]) -> None:
        self.contract = contract
        self.possible: list[State] = [contract.initial(each) for each in resolved(contract, flags, ops)]
        self.suspects: list[Suspects] = []
        self.last_resort: Sequence[State] = ()

    # What happened.

    def answered(self, op: Op, got: Got, times_ms: Sequence[int], spared: str = "") -> Broken | None:
        """An operation has ended. `spared`: the promise that is at stake if it was not applied after all."""
        before = self.possible
        if got.error and not got.is_refusal:
            return Broken("raises", op.name, str(got), error=got.error, frame=got.frame)
        broken = self.narrow(lambda states: self.after(states, op, got, times_ms), op, got, times_ms)
        if broken is None and spared:
            self.suspect(spared, before)
        if broken is None and got.is_refusal:
            self.suspect("error-applied", self.all_after(before, op, times_ms))
        return broken

    def failed(self, op: Op, times_ms: Sequence[int]) -> None:
        """It raised because something under it failed: it must not have been applied."""
        self.suspect("error-applied", self.all_after(self.possible, op, times_ms))
        halves = list(self.halves(self.possible, op, times_ms))
        self.suspect("batch-split", halves)
        self.possible = distinct([*self.possible, *self.partly(op, times_ms)])

    def undecided(self, op: Op, times_ms: Sequence[int], rule: str) -> None:
        """It was cut off: it was applied, or it was not."""
        halves = list(self.halves(self.possible, op, times_ms))
        after = self.all_after(self.possible, op, times_ms)
        self.possible = distinct([*self.possible, *after, *self.partly(op, times_ms)])
        self.suspect(rule, halves)

    def at_once(self, ops: Sequence[Op], gots: Sequence[Got], times_ms: Sequence[int]) -> Broken | None:
        """Some order of them explains all answers."""
        for op, got in zip(ops, gots, strict=True):
            if got.error and not got.is_refusal:
                return Broken("raises", op.name, str(got), error=got.error, frame=got.frame)
        found = self.in_some_order(self.possible, ops, gots, times_ms)
        suspects = [
            Suspects(each.rule, self.in_some_order(each.states, ops, gots, times_ms))
            for each in self.suspects
        ]
        suspects = [each for each in suspects if each.states]
        if not found:
            self.last_resort = suspects[0].states if suspects else ()
            told = ", ".join(f"{op.name} {got}" for op, got in zip(ops, gots, strict=True))
            rule = suspects[0].rule if suspects else "at-once"
            return Broken(rule, "+".join(sorted(op.name for op in ops)), told, "the answers of some order")
        self.possible, self.suspects = found, suspects
        return None

    def in_some_order(
        self, states: Sequence[State], ops: Sequence[Op], gots: Sequence[Got], times_ms: Sequence[int]
    ) -> list[State]:
        found: list[State] = []
        for order in permutations(range(len(ops))):
            left = list(states)
            for at in order:
                left = self.after(left, ops[at], gots[at], times_ms)
            found = distinct([*found, *left])
        return found

    def reopened(self, is_durable: bool) -> None:
        if is_durable:
            self.suspect("reopen-lost", [self.contract.initial(state.flags) for state in self.possible])
        else:
            self.possible = distinct(self.contract.initial(state.flags) for state in self.possible)
            self.suspects = []

    # States.

    def narrow(
        self, step: Callable[[Sequence[State]], list[State]], op: Op, got: Got, times_ms: Sequence[int]
    ) -> Broken | None:
        left = step(self.possible)
        suspects = [Suspects(each.rule, step(each.states)) for each in self.suspects]
        suspects = [each for each in suspects if each.states]
        if not left:
            broken = self.broken(op, got, suspects, times_ms)
            self.last_resort = next((each.states for each in suspects), ())
            return broken
        self.possible, self.suspects = left, suspects
        return None

    def accept(self) -> bool:
        """Go on from the state that must not be and yet is; whether there is one."""
        if self.last_resort:
            self.possible, self.suspects = list(self.last_resort), []
        return bool(self.last_resort)

    def after(self, states: Iterable[State], op: Op, got: Got, times_ms: Sequence[int]) -> list[State]:
        found = []
        for state in states:
            for answer, new in self.outcomes(state, op, times_ms):
                if answer.takes(REFUSED if got.is_refusal else got.value):
                    found.append(new)
            if got.is_busy or (got.is_refusal and self.contract.is_odd(op)):
                found.append(state)
        return distinct(found)

    def outcomes(self, state: State, op: Op, times_ms: Sequence[int]) -> Iterator[Outcome]:
        for now_ms in times_ms:
            yield from self.contract.outcomes(state, op, now_ms)

    def all_after(self, states: Iterable[State], op: Op, times_ms: Sequence[int]) -> list[State]:
        return distinct(new for state in states for _, new in self.outcomes(state, op, times_ms))

    def partly(self, op: Op, times_ms: Sequence[int]) -> Iterator[State]:
        for state in self.possible:
            yield from self.contract.partly(state, op, times_ms[-1])

    def halves(self, states: Iterable[State], op: Op, times_ms: Sequence[int]) -> Iterator[State]:
        halves: Any = getattr(self.contract, "halves", self.contract.partly)
        for state in states:
            yield from halves(state, op, times_ms[-1])

    def suspect(self, rule: str, states: Iterable[State]) -> None:
        """Only those that are not allowed anyway."""
        new = [state for state in states if state not in self.possible]
        if new:
            self.suspects = [Suspects(rule, distinct(new)), *self.suspects][:SUSPECT_COUNT_MAX]

    # Words.

    def broken(self, op: Op, got: Got, suspects: Sequence[Suspects], times_ms: Sequence[int]) -> Broken:
        answers = [answer for state in self.possible for answer, _ in self.outcomes(state, op, times_ms)]
        allowed = " or ".join(list(dict.fromkeys(map(str, answers)))[:3])
        rule = "raises" if got.error else suspects[0].rule if suspects else self.rule_of(op, got, answers)
        return Broken(rule, op.name, str(got), allowed, got.error, got.frame)

    def rule_of(self, op: Op, got: Got, answers: Sequence[Any]) -> str:
        if op.name == "scan":
            return "pages"
        values = got.value if isinstance(got.value, list) else [got.value]
        if any(
            Members([each]).takes([value])
            for value in values
            for state in self.possible
            for each in self.contract.foreign(state, op)
        ):
            return "scope"
        expected = [getattr(answer, "value", None) for answer in answers]
        if any(
            isinstance(each, list) and isinstance(got.value, list) and Members(each).takes(got.value)
            for each in expected
        ):
            return "order"
        return "answer"


def distinct(states: Iterable[State]) -> list[State]:
    found: list[State] = []
    for state in states:
        if state not in found:
            found.append(state)
            if len(found) > STATE_COUNT_MAX:
                raise TooMany
    return found
