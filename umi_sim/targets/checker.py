"""The checker: follows the possible states of a store, and finds the first answer that fits none of them.

Law 1. It sees the requests, the answers and their times; never the store.
Law 2. Besides the possible states it keeps suspected ones, which only a broken promise explains: an error
       whose operation was applied, a batch applied in part. If no possible state fits an answer, and a
       suspected one does, the promise of that one is reported as broken.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, permutations, product
from typing import Any, Final

from msgspec import structs

from umi_core.data import Data
from umi_sim.kernel.wording import LINE_CHARS_MAX, show_value
from umi_sim.targets.clocks import START_MS
from umi_sim.targets.items import ContractOp
from umi_sim.targets.model import (
    REFUSED,
    AnyOrder,
    Contract,
    Exactly,
    Expectation,
    Flags,
    Outcome,
    State,
    marks_in,
    members_during,
    resolve_flags,
    take,
)
from umi_sim.targets.promises import SCOPES, name_anomaly
from umi_sim.targets.values import MISSING, key_of, same

STATE_COUNT_MAX: Final = 256
MOVE_COUNT_MAX: Final = 1_000
LISTED_MAX: Final = 20  # lists up to this length are shown without a difference
SUSPECT_COUNT_MAX: Final = 24  # three concurrent requests add nine


class TooMany(Exception):
    """More states are possible than can be followed, so the rest of the run is not judged."""


class Got(Data):
    """The answer of an operation: a value, or the class name and the text of an error."""

    value: object = None
    error: str = ""
    text: str = ""
    is_refusal: bool = False
    is_busy: bool = False
    frame: str = ""
    seen: str = ""  # shown to people instead of the value, which the trace of a run has
    torn: str = ""  # what was done of a partial call that failed, or in which the process died
    is_unknown: bool = False  # it was cut off or its response was lost: it may have been applied

    def __str__(self) -> str:
        torn = f", with {self.torn}" if self.torn else ""
        if self.error == NOT_ASKED:
            return f"{NOT_ASKED}: {self.text}"
        if self.error:
            return (TOLD.get(self.error) or f"raised {self.error}: {self.text}") + torn
        return show_value(self.value) + torn

    @property
    def told(self) -> str:
        return self.seen or ("MISSING" if self.value is MISSING else str(self))


NOT_ASKED: Final = "not asked"  # the value of `error` if the request was never made
TOLD: Final = {"Killed": "died", "CancelledError": "cancelled"}


class BrokenContract(Data):
    """A broken promise: its rule, the operation, its answer, and the answers that were allowed."""

    rule: str
    op: str
    got: str
    allowed: str = ""
    error: str = ""
    frame: str = ""
    anomaly: str = ""  # the standard name of the anomaly
    hint: str = ""  # a possible explanation

    @property
    def message(self) -> str:
        allowed = f"; expected {self.allowed}" if self.allowed else ""
        return f"{self.op}: {self.got}{allowed}"


class Suspects(Data):
    """Suspected states: if the store is in one of them, the promise `rule` is broken.

    `evidence`: the key of the anomaly that they show, if they leave no doubt (`promises.py`).
    """

    rule: str = ""
    states: Sequence[State] = ()
    evidence: str = ""


NO_SUSPECTS: Final = Suspects()


class CutOff(Suspects, kw_only=True):
    """An operation that was cut off, with the states after it, applied or not, whatever later reads returned.

    If one answer shows that it was applied, and another one that it was not, this names the promise.
    """

    op: ContractOp


class Checker:
    def __init__(self, contract: Contract, flags: Flags, ops: Mapping[str, Sequence[str]]) -> None:
        self.contract = contract
        self.possible: list[State] = [contract.initial(each) for each in resolve_flags(contract, flags, ops)]
        self.suspects: list[Suspects] = []
        self.cut_off: list[CutOff] = []
        self.cut_off_before: list[CutOff] = []  # `cut_off` before the last operation
        self.blamed = NO_SUSPECTS
        self.past: list[ContractOp] = []
        self.has_died = False  # whether the process died in the last operation
        self.raised: list[ContractOp] = []  # operations that returned an error, which may act later
        self.earlier: list[State] = []
        self.before_restart: list[State] = []  # all possible states until the last restart
        self.since_restart: list[Callable[[Sequence[State]], list[State]]] = []  # what followed
        self.last_reads: dict[object, object] = {}  # the value of each read since the last write
        self.deadlines: set[int] = set()  # of all entries so far, replaced ones included
        self.removed: dict[str, str] = {}  # removed values, each with the operation that removed it

    # Following answers.

    def take_answer(
        self, op: ContractOp, got: Got, times_ms: Sequence[int], spared: str = ""
    ) -> BrokenContract | None:
        """Follow an operation that returned. `spared`: the promise that is broken if it was not applied."""
        if got.error == NOT_ASKED:
            return None
        self.note_past([op], times_ms)
        before = self.possible
        if not self.narrow(lambda states: self.after(states, op, got, times_ms)):
            # A statement of `get` failed, so it returned nothing: no restart has lost the entry.
            if spared and self.blamed.rule == "reopen-lost":
                self.blamed = NO_SUSPECTS
            return self.describe_break(op, got, times_ms)
        if op.name in self.contract.reads:
            self.last_reads[key_of(op)] = got.value
        if self.is_removal(op, got):
            self.note_removed(before, op.name)
        if spared:
            self.suspect(spared, before)
        if got.is_refusal:
            self.note_raised(op)
            self.suspect("error-applied", self.states_unanswered(before, op, times_ms))
        return None

    def at_once(
        self, ops: Sequence[ContractOp], gots: Sequence[Got], times_ms: Sequence[int]
    ) -> BrokenContract | None:
        """Follow concurrent operations. A promise is broken unless some order of all explains the answers."""
        asked = [pair for pair in zip(ops, gots, strict=True) if pair[1].error != NOT_ASKED]
        ops, gots = [op for op, _ in asked], [got for _, got in asked]
        if not asked:
            return None
        is_cut = gots[0].is_unknown  # the first operation was cancelled
        self.note_past(ops[:1], times_ms, is_cut=is_cut)
        if is_cut:  # concurrent reads do not decide whether it was applied
            with suppress(TooMany):
                self.note_cut("cancel-split", ops[0], self.after_cut(self.possible, ops[0], times_ms)[0])
        self.note_past(ops[1:], times_ms)
        before, each = self.possible, range(len(ops))

        def in_some_order(states: Sequence[State], is_torn: bool = False) -> list[State]:
            found: list[State] = []
            for order in permutations(each):
                left = list(states)
                for at in order:
                    if gots[at].is_unknown:
                        left = self.after_cut(left, ops[at], times_ms)[is_torn]
                    else:
                        left = self.after(left, ops[at], gots[at], times_ms)
                found = distinct([*found, *left])
            return found

        if self.narrow(in_some_order):
            if is_cut:
                with suppress(TooMany):
                    self.suspect("cancel-split", in_some_order(before, is_torn=True))
            if removing := [op.name for op, got in zip(ops, gots, strict=True) if self.is_removal(op, got)]:
                self.note_removed(before, "+".join(sorted(removing)))
            for op, got in zip(ops, gots, strict=True):
                if got.is_refusal:
                    self.note_raised(op)
            # Suspect states in which some were lost, or a batch was applied in part: a later answer that only
            # these explain breaks at-once.
            is_update = sum(op.name not in self.contract.reads for op in ops) > 1
            lost, parts = [], list[State]()
            for order in chain.from_iterable(permutations(each, count) for count in range(1, len(ops))):
                left = before
                for at in order:
                    left = self.all_after(left, ops[at], times_ms)
                lost.append(left)
                for at in each:
                    if at not in order:
                        parts += chain.from_iterable(self.halves(left, ops[at], times_ms))
            with suppress(TooMany):
                self.suspect("at-once", parts)
            for left in lost:
                self.suspect("at-once", left, "lost" if is_update else "")
            return None
        answers = ", ".join(f"{op.name} {got.told}" for op, got in zip(ops, gots, strict=True))
        names = "+".join(sorted(op.name for op in ops))
        error, rule = next((got.error for got in gots if got.error), ""), self.blamed.rule or "at-once"
        changed = {key_of([op.name, op.args.get("ns"), op.args.get("key")]) for op in ops}
        is_lost = len(changed) == 1 and ops[0].name in self.contract.counts
        anomaly = name_anomaly(rule, "lost" if is_lost else "")
        return BrokenContract(rule, names, answers, "the answers of some order", error, anomaly=anomaly)

    def take_pages(
        self, ops: Sequence[ContractOp], gots: Sequence[Got], times_ms: Sequence[int]
    ) -> BrokenContract | None:
        """Follow a scan with operations between its pages: it has each row that stayed, and none twice."""
        self.note_past(ops[1:], times_ms)
        scan, *others = zip(ops, gots, strict=True)

        def follow(states: Sequence[State]) -> list[State]:
            paths: list[tuple[State, ...]] = [(state,) for state in states]
            for op, got in others:
                paths = [(*path, new) for path in paths for new in self.after(path[-1:], op, got, times_ms)]
            return distinct(path[-1] for path in paths if self.is_seen(path, *scan, times_ms))

        if self.narrow(follow):
            return None
        broken = (self.take_answer(op, got, times_ms) for op, got in others)
        rule, got = self.blamed.rule or "pages", gots[0]
        is_changed = any(op.name not in self.contract.reads for op, _ in others)
        pages = BrokenContract(
            rule, scan[0].name, got.told, "all that was there from its first page to its last, once",
            got.error, anomaly=name_anomaly(rule, "changes" if is_changed else ""),
        )  # fmt: skip
        return next(filter(None, broken), pages)

    def is_seen(self, path: Sequence[State], op: ContractOp, got: Got, times_ms: Sequence[int]) -> bool:
        if got.is_refusal:
            return got.is_busy or self.contract.is_odd(op)
        answers = [answer for state in path for answer, _ in self.outcomes(state, op, times_ms)]
        return members_during(answers).takes(got.value)

    def take_failure(self, op: ContractOp, times_ms: Sequence[int]) -> None:
        """Follow an operation that raised because a call below it failed: it must not have been applied."""
        self.note_past([op], times_ms, is_cut=True)
        self.note_raised(op)
        # `put k 1` raised: k is absent, and k=1 is only suspected. If the next `get` returns 1, no possible
        # state fits but the suspected one does, so the promise error-applied is broken.
        after = [*self.states_unanswered(self.possible, op, times_ms), *self.losses(self.possible, op)]
        allowed, forbidden = self.halves(self.possible, op, times_ms)
        self.possible = distinct([*self.not_applied(self.possible, op), *allowed])
        self.suspect("error-applied", after)
        self.suspect("batch-split", forbidden)

    def take_cut_off(self, op: ContractOp, times_ms: Sequence[int], rule: str) -> None:
        """Follow an operation that was cut off: both outcomes, applied and not applied, are possible."""
        self.note_past([op], times_ms, is_cut=True)
        self.possible, torn = self.after_cut(self.possible, op, times_ms)
        with suppress(TooMany):  # suspected states stay suspected with either outcome
            self.suspects = [
                structs.replace(each, states=self.after_cut(each.states, op, times_ms)[0])
                for each in self.suspects
            ]
        is_suspected = self.suspect(rule, torn)
        self.has_died = rule == "crash-split" and is_suspected
        self.note_cut(rule, op, self.possible)

    def take_reopening(self, is_durable: bool) -> None:
        """Follow a restart. A store that is not durable is empty after it.

        Losses by the operation in which the process died, and changes by an operation that raised, are not
        blamed on the restart. Example: `delete a` raised, and a is gone after the restart. If the restart
        alone loses a, the shrinker removes that `delete`, and the loss is then blamed on the restart.
        """
        empty = [self.contract.initial(state.flags) for state in self.possible]
        if is_durable:
            of_death, others = self.suspects[: self.has_died], self.suspects[self.has_died :]
            applied = [each for each in others if each.rule == "error-applied"]
            self.suspects = [each for each in others if each.rule != "error-applied"]
            self.suspect("reopen-lost", empty)
            self.suspects = [*of_death, *applied, *self.suspects]
            readings = [state.flags for state in self.possible]
            self.before_restart = [state for state in self.earlier if state.flags in readings]
            self.since_restart = []
        else:
            self.possible, self.suspects, self.cut_off, self.raised = distinct(empty), [], [], []

    def is_removal(self, op: ContractOp, got: Got) -> bool:
        return op.name in self.contract.removes and not got.is_refusal

    def note_removed(self, before: Iterable[State], op_name: str) -> None:
        """Record the values that some state had before this operation, and no state has after it."""
        held, left = (self.contract.marked_values(states) for states in (before, self.possible))
        self.removed |= dict.fromkeys(sorted(held - left), op_name)

    def note_past(self, ops: Iterable[ContractOp], times_ms: Sequence[int], *, is_cut: bool = False) -> None:
        """Record operations. `is_cut`: they may not have been applied."""
        self.has_died, self.cut_off_before = False, self.cut_off
        for op in ops:
            self.follow_cut(op, times_ms, is_cut=is_cut)
            self.past.append(op)
            for value in marks_in(op.args):
                self.removed.pop(value, None)  # this operation may write it again
            if op.name not in self.contract.reads:
                self.last_reads.clear()
        self.earlier += self.possible
        self.deadlines.update(end_ms for state in self.possible for end_ms in self.contract.deadlines(state))

    def note_raised(self, op: ContractOp) -> None:
        if op.name not in self.contract.reads:
            self.raised.append(op)

    def note_cut(self, rule: str, op: ContractOp, states: Sequence[State]) -> None:
        if op.name not in self.contract.reads:
            self.cut_off.append(CutOff(rule, states, op=op))

    def follow_cut(self, op: ContractOp, times_ms: Sequence[int], *, is_cut: bool) -> None:
        """Apply a write to the states of operations that were cut off before."""
        before, self.cut_off = self.cut_off, []
        for each in before:
            with suppress(TooMany):
                states = each.states
                if op.name not in self.contract.reads:
                    after = self.all_after(states, op, times_ms)
                    states = distinct([*states, *after]) if is_cut else after
                self.cut_off.append(structs.replace(each, states=states))

    def infer_flags(self, given: Flags, ops: Mapping[str, Sequence[str]]) -> tuple[tuple[str, object], ...]:
        """Return the flags that the class leaves open and the answers determine, with their values."""
        met = {"", *given, *ops, *chain.from_iterable(ops.values())}
        found = []
        for name, choices in self.contract.flags.items():
            is_open = choices[0] is None and name not in given
            values = [*dict.fromkeys(state.flags[name] for state in self.possible)]
            if is_open and len(values) == 1 and self.contract.concerns.get(name, "") in met:
                found.append((name, values[0]))
        return tuple(found)

    def take_name(self, name: str, others: Sequence[str]) -> None:
        """Follow an answer with an id of this name; one of the adds `others` may have made its entry."""

        def each_way(states: Sequence[State]) -> list[State]:
            return once([new for state in states for new in self.contract.follow_name(state, name, others)])

        self.possible = each_way(self.possible)  # not limited: the answer will rule most out
        self.suspects = [structs.replace(each, states=each_way(each.states)) for each in self.suspects]
        self.cut_off = [structs.replace(each, states=each_way(each.states)) for each in self.cut_off]

    # States.

    def narrow(self, step: Callable[[Sequence[State]], list[State]]) -> bool:
        """Apply a step to all states. Return whether a possible one is left; if not, set `blamed`."""
        left = step(self.possible)
        suspects = [structs.replace(each, states=step(each.states)) for each in self.suspects]
        suspects = [each for each in suspects if each.states]
        if self.before_restart:
            self.since_restart.append(step)
        if left:
            self.possible, self.suspects = left, suspects
        else:
            self.blamed = suspects[0] if suspects else self.find_rollback()
        return bool(left)

    def find_rollback(self) -> Suspects:
        """Return the states after a restart that undid earlier writes, if they explain all later answers.

        Example: `delete a` returned, the process died, and a is back.
        """
        left: Sequence[State] = once(self.before_restart)
        with suppress(TooMany):
            for each in self.since_restart:
                left = each(left)
            return Suspects("reopen-lost", left) if left else NO_SUSPECTS
        return NO_SUSPECTS

    def accept(self, ops: Sequence[ContractOp]) -> bool:
        """Continue after a known divergence, from the suspected states. Return False if there are none.

        After reads the states stay as they are: a search that misses a row does not mean that it is lost.
        """
        if ops and all(op.name in self.contract.reads for op in ops):
            return True
        if self.blamed.states:
            self.possible, self.suspects = list(self.blamed.states), []
        return bool(self.blamed.states)

    def after(
        self, states: Iterable[State], op: ContractOp, got: Got, times_ms: Sequence[int]
    ) -> list[State]:
        found = []
        for state in states:
            for answer, new in self.outcomes(state, op, times_ms):
                if answer.takes(REFUSED if got.is_refusal else got.value):
                    found.append(new)
            found += [] if got.is_refusal else self.contract.follow_reuse(state, op, got.value, times_ms[-1])
            if got.is_busy or (got.is_refusal and self.contract.is_odd(op)):
                found.append(state)
        return distinct(found)

    def outcomes(self, state: State, op: ContractOp, times_ms: Sequence[int]) -> Iterator[Outcome]:
        for now_ms in times_ms:
            yield from self.contract.outcomes(state, op, now_ms)

    def all_after(self, states: Iterable[State], op: ContractOp, times_ms: Sequence[int]) -> list[State]:
        return distinct(new for state in states for _, new in self.outcomes(state, op, times_ms))

    def states_unanswered(
        self, states: Iterable[State], op: ContractOp, times_ms: Sequence[int]
    ) -> list[State]:
        """Return the states after an operation that was applied but did not return."""
        return [self.contract.untold(state, op) for state in self.all_after(states, op, times_ms)]

    def after_cut(
        self, states: Sequence[State], op: ContractOp, times_ms: Sequence[int]
    ) -> tuple[list[State], list[State]]:
        """Return the possible and the suspected states after an operation was cut off."""
        allowed, forbidden = self.halves(states, op, times_ms)
        after = self.states_unanswered(states, op, times_ms)
        possible = distinct([*self.not_applied(states, op), *after, *allowed])
        return possible, [*forbidden, *self.losses(states, op)]

    def halves(
        self, states: Iterable[State], op: ContractOp, times_ms: Sequence[int]
    ) -> tuple[list[State], list[State]]:
        """Return the states with a part of a batch applied: the possible and the suspected ones."""
        found: tuple[list[State], list[State]] = [], []
        for state in states:
            found[state.flags.get("batch_atomic", True)].extend(self.contract.halves(state, op, times_ms[-1]))
        return found

    def not_applied(self, states: Iterable[State], op: ContractOp) -> list[State]:
        return [new for state in states for new in self.contract.not_applied(state, op)]

    def losses(self, states: Iterable[State], op: ContractOp) -> list[State]:
        return [new for state in states for new in self.contract.losses(state, op)]

    def suspect(self, rule: str, states: Iterable[State], evidence: str = "") -> bool:
        """Add suspected states, except for those that are possible. Return whether any was added."""
        if not (odd := [*states]):
            return False
        if new := [state for state in odd if not is_among(state, self.possible)]:
            self.suspects = [Suspects(rule, distinct(new), evidence), *self.suspects][:SUSPECT_COUNT_MAX]
        return bool(new)

    # Describing a broken promise.

    def describe_break(self, op: ContractOp, got: Got, times_ms: Sequence[int]) -> BrokenContract:
        """Describe the allowed answers, and the rule that this answer breaks."""
        answers = [answer for state in self.possible for answer, _ in self.outcomes(state, op, times_ms)]
        allowed = " or ".join(list(dict.fromkeys(map(str, answers)))[:3])
        reasons = {self.contract.absence(state, op, times_ms[-1]) for state in self.possible}
        if len(reasons) == 1:
            allowed = ": ".join(filter(None, (allowed, *sorted(reasons))))
        allowed += tell_lacking(answers, got.value) or tell_difference(answers, got.value)
        if self.blamed.rule in ("", "reopen-lost"):
            for each in self.cut_off_before:
                if self.would_answer(each.states, op, got, times_ms[-1]):
                    self.blamed = each
                    allowed += f"; by one answer {each.op}, which was cut off, was done, and by another not"
                    break
        if not self.blamed.rule and (late := self.find_applied_later(op, got, times_ms)) is not None:
            self.blamed = Suspects("error-applied")
            allowed += f"; as if {late}, which raised an error, was done later"
        rule = "raises" if got.error else self.blamed.rule or self.rule_of(op, got, answers, times_ms[-1])
        if rule == "answer":
            allowed += self.tell_names_taken(op, got, times_ms[-1])
        anomaly = name_anomaly(rule, self.evidence_of(op, got, times_ms[-1]))
        return BrokenContract(rule, op.name, got.told, allowed, got.error, got.frame, anomaly)

    def evidence_of(self, op: ContractOp, got: Got, now_ms: int) -> str:
        """Return the evidence of a failure, as a key of the table of anomalies (`promises.py`)."""
        if self.blamed.rule == "at-once":
            return self.blamed.evidence
        if op.name not in self.contract.reads:
            return ""
        if self.blamed.rule:
            return "read"
        if not same(self.last_reads.get(key_of(op), got.value), got.value):
            return "repeated"
        if op.name == "render" or not self.removed.keys().isdisjoint(marks_in(got.value)):
            return "removed"
        if op.name != "get" or got.value in (None, MISSING, []):
            return ""  # missing rows may be a loss
        is_old = self.would_answer(self.earlier, op, got, now_ms)
        is_absent = all(self.contract.absence(state, op, now_ms) for state in self.possible)
        return "" if not is_old else "removed" if is_absent else "older"

    def find_applied_later(self, op: ContractOp, got: Got, times_ms: Sequence[int]) -> ContractOp | None:
        """Return an operation that raised, if the answer is right once it is applied after all others.

        Example: `put a 1` raised, `put a 2` returned, and then `get a` returns 1.
        """
        for late in reversed(self.raised):
            with suppress(TooMany):
                if self.would_answer(self.all_after(self.possible, late, times_ms), op, got, times_ms[-1]):
                    return late
        return None

    def rule_of(self, op: ContractOp, got: Got, answers: Sequence[Any], now_ms: int) -> str:
        if op.name == "scan":
            return "pages"
        if op.name == "ttl" or self.is_explained_by_time(op, got, now_ms):
            return "ttl"
        expected = [getattr(answer, "value", None) for answer in answers]
        if any(isinstance(each, list) and AnyOrder(each).takes(got.value) for each in expected):
            return "order"
        if any(answer.allows_each(got.value) for answer in answers):
            return "answer"  # hits are missing, and none is of another scope
        moved = self.find_names_taken(op, got, now_ms)
        return "answer" if moved.keys().isdisjoint(SCOPES) else "scope"

    def find_names_taken(self, op: ContractOp, got: Got, now_ms: int) -> Mapping[str, tuple[object, object]]:
        """Return the names of an earlier operation that explain the answer if they are replaced by others.

        Example: after `put("ab", 1)`, `get("a")` returns 1, which is right if the put was to "a". The result
        is {"key": ("ab", "a")}. It is empty if an operation explains the answer with its own names. If the
        failure happens without the put too, the shrinker removes the put, so this is not reported.
        """
        found: Mapping[str, tuple[object, object]] = {}
        for state, (past, moved) in product(self.possible, self.moves(op)):
            after = (new for _, new in self.contract.outcomes(state, moved, now_ms))
            if self.would_answer(after, op, got, now_ms):
                if self.contract.bind(past, state.flags) == self.contract.bind(moved, state.flags):
                    return {}
                found = found or {
                    name: (value, moved.args[name])
                    for name, value in past.args.items()
                    if not same(value, moved.args[name])
                }
        return found

    def tell_names_taken(self, op: ContractOp, got: Got, now_ms: int) -> str:
        """Return which two names of one scope may be confused: `put("a", 1)`, then `get("A")` returns 1."""
        moved = self.find_names_taken(op, got, now_ms)
        if not moved.keys().isdisjoint(SCOPES):
            return ""
        return "".join(f"; as if {name} {one!r} were {other!r}" for name, (one, other) in moved.items())

    def moves(self, op: ContractOp) -> list[tuple[ContractOp, ContractOp]]:
        """Return each earlier operation with copies of it: with the names of `op`, or each if `op` has none.

        The list is empty if there are more than MOVE_COUNT_MAX: so many would explain nearly any answer.
        """
        places: dict[str, dict[object, object]] = {name: {} for name in self.contract.names}
        for name, value in chain.from_iterable(past.args.items() for past in self.past):
            if name in places:
                taken = op.args.get(name, value)
                places[name][key_of(taken)] = taken
        found = []
        for past in {key_of(past): past for past in self.past[:-1]}.values():
            named = [name for name in past.args if name in places]
            for values in product(*(places[name].values() for name in named)):
                moved = ContractOp(past.name, {**past.args, **dict(zip(named, values, strict=True))})
                found.append((past, moved))
                if len(found) > MOVE_COUNT_MAX:
                    return []
        return found

    def is_explained_by_time(self, op: ContractOp, got: Got, now_ms: int) -> bool:
        """Return whether the answer would be right just before or after the deadline of some entry.

        Also if it would be right with the deadline of an earlier entry: an old timer was not cancelled.
        False if no operation had a `ttl` and no time has passed.
        """
        if now_ms == START_MS and not any("ttl" in past.args for past in self.past):
            return False
        ends_ms = sorted(self.deadlines)
        around = (at_ms for end_ms in ends_ms for at_ms in (end_ms - 1, end_ms + 1))
        earlier = (
            new
            for state in self.possible
            for end_ms in ends_ms
            for new in self.contract.with_deadline(state, end_ms)
        )
        is_near = any(self.would_answer(self.possible, op, got, at_ms) for at_ms in around)
        return is_near or self.would_answer(earlier, op, got, now_ms)

    def would_answer(self, states: Iterable[State], op: ContractOp, got: Got, now_ms: int) -> bool:
        """Return whether one of these states allows this answer."""
        outcomes = (each for state in states for each in self.contract.outcomes(state, op, now_ms))
        return any(answer.takes(got.value) for answer, _ in outcomes)


def tell_lacking(answers: Iterable[Expectation], got: object) -> str:
    """Return the missing or the extra rows of a long list; "" for a list short enough to read."""
    for answer in answers:
        if isinstance(answer, AnyOrder) and isinstance(got, list):
            lacking, more = [*answer.must], [*got]
            take(lacking, got)
            take(more, [*answer.must, *answer.may])
            if len(answer.must) <= LISTED_MAX and len(repr(got)) <= LINE_CHARS_MAX:
                return ""
            if lacking and answer.limit is None:
                return f"; it lacks {len(lacking)} of {len(answer.must)}: {show_value(lacking[:3])}"
            return f"; it has {len(more)} too much: {show_value(more[:3])}" if more else ""
    return ""


def tell_difference(answers: Iterable[Expectation], got: object) -> str:
    """Return how a long answer differs from the expected one; "" if both are short enough to read."""
    wanted = next((answer.value for answer in answers if isinstance(answer, Exactly)), None)
    place = ""
    while max(len(repr(wanted)), len(repr(got))) > LINE_CHARS_MAX:
        match wanted, got:
            case list(), list():
                at = [n for n, pair in enumerate(zip(wanted, got, strict=False)) if not same(*pair)]
                if len(at) != 1 or len(wanted) != len(got):
                    return f"; the answer{place} {tell_members(wanted, got, at)}"
                wanted, got, place = wanted[at[0]], got[at[0]], f"{place}[{at[0]}]"
            case dict(), dict():
                names = {**wanted, **got}
                name = next(it for it in names if not same(wanted.get(it, MISSING), got.get(it, MISSING)))
                wanted, got, place = wanted.get(name, MISSING), got.get(name, MISSING), f"{place}[{name!r}]"
            case str(), str():
                pairs = enumerate(zip(wanted, got, strict=False))
                start = next((n for n, (one, other) in pairs if one != other), min(len(wanted), len(got)))
                texts = f"is {show_value(got[start:])}, expected {show_value(wanted[start:])}"
                return f"; the answer{place} from character {start} on {texts}"
            case _:
                break
    return f"; the answer{place} is {show_value(got)}, expected {show_value(wanted)}" if place else ""


def tell_members(wanted: Sequence[object], got: Sequence[object], differing: Sequence[int]) -> str:
    """Return the missing and extra members of a list; if only the order differs, the first difference."""
    lacking, more = [*wanted], [*got]
    take(lacking, got)
    take(more, wanted)
    if not (lacking or more):
        at = differing[0]
        return f"has another order: at {at} {show_value(got[at])}, expected {show_value(wanted[at])}"
    parts = [f"has {len(wanted) - len(lacking)} of {len(wanted)}"]
    parts += [f"lacks {show_value(each)}" for each in lacking[:1]]
    parts += [f"has {show_value(each)}, which is too much" for each in more[:1]]
    return ", ".join(parts)


def distinct(states: Iterable[State]) -> list[State]:
    """Return each state once. Raises TooMany. States with different flags are never compared."""
    by_flags: dict[object, list[State]] = {}
    for state in states:
        by_flags.setdefault((*state.flags.values(),), []).append(state)
    found = [each for alike in by_flags.values() for each in once(alike, STATE_COUNT_MAX)]
    if len(found) > STATE_COUNT_MAX:
        raise TooMany
    return found


def once(states: Sequence[State], most: int | None = None) -> list[State]:
    """Return each state once. Raises TooMany if there are more than `most`.

    States are compared with each other: they share most parts, which makes that quicker than a key of each.
    """
    found: list[State] = []
    for state in states:
        if not is_among(state, found):
            if len(found) == most:
                raise TooMany
            found.append(state)
    return found


def is_among(state: State, others: Iterable[State]) -> bool:
    """Return whether another state is the same. `==` is quick and rules most out, but takes 1 for True."""
    return any(each == state and same(each, state) for each in others)
