"""The search: which candidates were run, which of them is the best, and when it is over.

Law 1. Only a smaller candidate that fails with the same fingerprint becomes the best; any other failure is
       kept, at most OTHER_COUNT_MAX, and not followed.
Law 2. A candidate is run once, and no further than the best run went, nor past healing if that one did not
       get there; the last round runs to the end.
Law 3. What ends a search, a budget or a key pressed, leaves the best as it is.
"""

import sys
import time
from collections.abc import Callable
from operator import lt
from typing import Final

import msgspec

from umi_core.data import SET_LATER, Owner
from umi_core.messages.effects import Reply
from umi_sim.record import fingerprint
from umi_sim.record.verdict import Failure, Verdict
from umi_sim.runs.runner import run_once
from umi_sim.shrink.candidate import Candidate, Scale
from umi_sim.shrink.references import ReplyListener, follow_ids

OTHER_COUNT_MAX: Final = 10
STEPS_MORE: Final = 4  # a run may fail a little later than the best one
Reach = tuple[int, int]  # how far to run: steps under faults, steps after healing
TO_THE_END: Final[Reach] = (sys.maxsize, sys.maxsize)


class OutOfBudget(Exception):
    """No run or no second is left, as the message says."""


class Budget(Owner):
    """Runs and seconds that a search may take; None: as many as it needs."""

    runs_max: int | None
    seconds_max: int | None
    runs: int = 0
    clock: Callable[[], float] = time.monotonic
    began_s: float = SET_LATER

    def __post_init__(self) -> None:
        self.began_s = self.clock()

    def spend(self) -> None:
        """Take one more run. Raises OutOfBudget if there is none left."""
        if self.runs_max is not None and self.runs >= self.runs_max:
            raise OutOfBudget("out of runs")
        if self.seconds_max is not None and self.clock() - self.began_s >= self.seconds_max:
            raise OutOfBudget("out of seconds")
        self.runs += 1


class ShrinkSearch(Owner):
    """Looks for smaller runs of one failure. `verdict` is that of the best; None if nothing failed yet."""

    fingerprint: str
    budget: Budget
    best: Candidate
    others: dict[str, Verdict] = {}
    verdict: Verdict | None = None
    scale: Scale = msgspec.field(default_factory=Scale)
    reach: Reach = TO_THE_END
    replies: dict[str, Reply] = {}  # what the requests of the best were told
    _tried: dict[bytes, tuple[Reach, str]] = {}  # how far, and what came of it

    def tries(self, candidate: Candidate, reach: Reach | None = None) -> bool:
        """Return True if this candidate is smaller than the best and fails alike; then it is the best.

        If it does not, and names ids that no reply gives any more, it is tried with those of the new replies.
        It runs as far as the best did, or as `reach` says.
        """
        reach = reach or self.reach
        replies: dict[str, Reply] = {}
        if self.tries_as_it_is(candidate, reach, replies):
            return True
        # A shorter name gives the fact another id, and the `forget` that follows still names the old one:
        #   remember "a" -> ent_9f..., forget ent_41...   refused, so the run passes
        #   the same with forget ent_9f...                fails as before
        other = follow_ids(candidate, self.replies, replies) if replies else None
        return other is not None and self.tries_as_it_is(other, reach, {})

    def tries_as_it_is(self, candidate: Candidate, reach: Reach, replies: dict[str, Reply]) -> bool:
        """The same for these ids alone; what its requests are told goes to `told`."""
        # The very first candidate has nothing to be smaller than.
        if self.verdict is not None and not self.scale.is_smaller(candidate, self.best):
            return False
        if self._tried and self.has_tried(candidate, reach):
            return False
        self.budget.spend()
        verdict = self.run(candidate, reach, replies)
        if verdict is None or not self.is_same(verdict.failure):
            self._tried[self.scale.digest(candidate)] = reach, what_of(verdict)
            return False
        self.best, self.verdict, self.replies = candidate, verdict, replies
        self.reach = reach_of(verdict)
        return True

    def has_tried(self, candidate: Candidate, reach: Reach) -> bool:
        """Check whether it was run as far already."""
        # tried as far as (90, 0) says nothing about (90, 24): it never came to healing
        known = self._tried.get(self.scale.digest(candidate))
        return known is not None and not any(map(lt, known[0], reach))

    def outcome(self, candidate: Candidate) -> str:
        """Return how a tried candidate ended that did not fail in the same way."""
        return self._tried[self.scale.digest(candidate)][1]

    def is_same(self, failure: Failure | None) -> bool:
        return failure is not None and fingerprint.of(failure) == self.fingerprint

    def run(self, candidate: Candidate, reach: Reach, replies: dict[str, Reply]) -> Verdict | None:
        """Run a candidate and note its replies in `told`; None if no world can be made of it."""
        try:
            verdict, _ = run_once(
                candidate.config, candidate.items, step_max=reach[0], healed_step_max=reach[1],
                inspector=ReplyListener(candidate.config, replies),
            )  # fmt: skip
        except Exception:  # ours, not the target's: it says nothing about the failure that is sought
            return None
        self.keep_other(verdict, reach)
        return verdict

    def keep_other(self, verdict: Verdict, reach: Reach) -> None:
        """Another failure of the target is worth a seed file of its own."""
        failure = verdict.failure
        if failure is None or self.is_same(failure) or len(self.others) >= OTHER_COUNT_MAX:
            return
        # A crash outside umi_core is the simulator stumbling over a
        # run that shrinking has made odd: nothing that the memory did.
        is_ours = failure.kind == "crash" and not failure.frame.startswith("umi_core")
        is_stopped = failure.kind == "timeout" and reach != TO_THE_END
        if not is_ours and not is_stopped:
            self.others.setdefault(fingerprint.of(failure), verdict)


def reach_of(verdict: Verdict) -> Reach:
    """Return how far another run has to go to fail as this one did, or a little later."""
    failure = verdict.failure
    assert failure is not None
    if failure.kind == "timeout":
        return TO_THE_END
    # a failure after healing may come as late as it likes there; one before it needs no healing at all
    return failure.step + STEPS_MORE, sys.maxsize if verdict.healed_at_step else 0


def what_of(verdict: Verdict | None) -> str:
    if verdict is None:
        return "cannot run"
    return "passes" if verdict.failure is None else f"fails by {verdict.failure.rule}"
