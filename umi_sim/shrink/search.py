"""The search: candidates that were run, the best of them, and the end of the search.

Law 1. Only a smaller candidate that fails with the same fingerprint becomes the best. Other failures are
       kept, at most OTHER_COUNT_MAX, and not shrunk.
Law 2. A candidate is run once, hardly further than the best run, and without healing if that one failed
       before it; the last round runs to the end.
Law 3. The end of the budget and Ctrl-C leave the best candidate unchanged.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from operator import lt
from typing import Final, TypeVar

import msgspec

from umi_core.data import SET_LATER, Owner
from umi_core.messages.effects import Reply
from umi_sim.kernel.wording import plural
from umi_sim.record import fingerprint
from umi_sim.record.verdict import Failure, Verdict
from umi_sim.runs.runner import run_once
from umi_sim.shrink.candidate import Candidate, Scale
from umi_sim.shrink.references import ReplyListener, follow_ids

T = TypeVar("T")
OTHER_COUNT_MAX: Final = 10
STEPS_MORE: Final = 4  # a run may fail a little later than the best one
Reach = tuple[int, int]  # limits of a run: steps under faults, steps after healing
TO_THE_END: Final[Reach] = (sys.maxsize, sys.maxsize)


class OutOfBudget(Exception):
    """No runs or no seconds are left; the message says which."""


class Budget(Owner):
    """The runs and seconds that a search may take; None means unlimited."""

    runs_max: int | None
    seconds_max: int | None
    runs: int = 0
    clock: Callable[[], float] = time.monotonic
    began_s: float = SET_LATER
    is_spent: bool = False

    def __post_init__(self) -> None:
        self.began_s = self.clock()

    def spend(self) -> None:
        """Count one more run. Raises OutOfBudget if there is none left."""
        if self.runs_max is not None and self.runs >= self.runs_max:
            raise OutOfBudget("out of runs")
        if self.seconds_max is not None and self.clock() - self.began_s >= self.seconds_max:
            self.is_spent = True
            raise OutOfBudget("out of seconds")
        self.runs += 1

    def limit(self, found: Iterator[T]) -> Iterator[T]:
        """Yield values, each of which takes a run, while there is time."""
        with suppress(OutOfBudget):
            self.spend()
            for each in found:
                yield each
                self.spend()

    def describe_end(self) -> str:
        return f"after {plural(self.seconds_max or 0, 'second')} (--seconds)"

    def seconds_left(self) -> int | None:
        """Return the whole seconds that are left; None if their number is unlimited."""
        if self.seconds_max is None:
            return None
        return max(0, int(self.began_s + self.seconds_max - self.clock()))


class ShrinkSearch(Owner):
    """Looks for smaller runs of one failure. `verdict`: that of the best; None before the first failure."""

    fingerprint: str
    budget: Budget
    best: Candidate
    others: dict[str, Verdict] = {}
    verdict: Verdict | None = None
    scale: Scale = msgspec.field(default_factory=Scale)
    reach: Reach = TO_THE_END
    replies: dict[str, Reply] = {}  # replies in the best run
    _tried: dict[bytes, tuple[Reach, str]] = {}  # by digest, the reach and the result

    def tries(self, candidate: Candidate, reach: Reach | None = None) -> bool:
        """Return True if this candidate is smaller than the best and fails alike; then it becomes the best.

        Otherwise, if it has ids that no reply returns any more, it is tried with the ids of the new replies.
        `reach`: the limits of the run, by default those of the best.
        """
        until = reach or self.reach
        replies: dict[str, Reply] = {}
        if self.tries_unchanged(candidate, until, replies):
            return True
        # A shorter name gives the fact another id, while the next `forget` still has the old one:
        #   remember "a" -> ent_9f..., forget ent_41...   refused, so the run passes
        #   the same with forget ent_9f...                fails as before
        other = follow_ids(candidate, self.replies, replies) if replies else None
        return other is not None and self.tries_unchanged(other, until, {})

    def tries_unchanged(self, candidate: Candidate, reach: Reach, replies: dict[str, Reply]) -> bool:
        """Try a candidate with its own ids, like `tries`; store the replies to it in `replies`."""
        if self.verdict is not None and not self.scale.is_smaller(candidate, self.best):
            return False
        # A try with reach (90, 0) says nothing about reach (90, 24), which continues after healing.
        known = self._tried.get(self.scale.digest(candidate)) if self._tried else None
        if known is not None and not any(map(lt, known[0], reach)):
            return False
        self.budget.spend()
        verdict = self.run(candidate, reach, replies)
        if verdict is None or not self.is_same(verdict.failure):
            failure = None if verdict is None else verdict.failure
            outcome = "passes" if failure is None else f"fails by {failure.rule}"
            self._tried[self.scale.digest(candidate)] = reach, outcome if verdict else "cannot run"
            return False
        self.best, self.verdict, self.replies = candidate, verdict, replies
        self.reach = reach_of(verdict)
        return True

    def outcome(self, candidate: Candidate) -> str:
        """Return the result of a tried candidate that did not fail in the same way."""
        return self._tried[self.scale.digest(candidate)][1]

    def is_same(self, failure: Failure | None) -> bool:
        return failure is not None and fingerprint.of(failure) == self.fingerprint

    def run(self, candidate: Candidate, reach: Reach, replies: dict[str, Reply]) -> Verdict | None:
        """Run a candidate and store its replies in `replies`; None if the simulator cannot run it."""
        try:
            verdict, _ = run_once(
                candidate.config, candidate.items, step_max=reach[0], healed_step_max=reach[1],
                inspector=ReplyListener(candidate.config, replies),
            )  # fmt: skip
        except Exception:  # an exception of the simulator says nothing about the failure
            return None
        self.keep_other(verdict, reach)
        return verdict

    def keep_other(self, verdict: Verdict, reach: Reach) -> None:
        """Keep another failure of the target, for a seed file of its own."""
        failure = verdict.failure
        if failure is None or self.is_same(failure) or len(self.others) >= OTHER_COUNT_MAX:
            return
        # A crash outside umi_core is a problem of the simulator with an unusual run.
        is_ours = failure.kind == "crash" and not failure.frame.startswith("umi_core")
        is_stopped = failure.kind == "timeout" and reach != TO_THE_END
        if not is_ours and not is_stopped:
            self.others.setdefault(fingerprint.of(failure), verdict)


def reach_of(verdict: Verdict) -> Reach:
    """Return the reach with which another run can fail as this one did, or a little later."""
    failure = verdict.failure
    assert failure is not None
    if failure.kind == "timeout":
        return TO_THE_END
    # A failure after healing may come at any step of it; one before healing needs no healing.
    return failure.step + STEPS_MORE, sys.maxsize if verdict.healed_at_step else 0
