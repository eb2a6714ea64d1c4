"""Faults that any service may have: silence, refusals, windows, answers around the time-out."""

from typing import Any, ClassVar, Generic, TypeVar

from msgspec import structs

from umi_core.data import Owner
from umi_core.messages.answers import Answer
from umi_core.messages.effects import Asked, Commit, FailureKind
from umi_sim.faults.arguments import among, below, span_ms
from umi_sim.faults.declaration import FaultKind
from umi_sim.faults.window import WINDOW_MS_MAX
from umi_sim.services.calls import Call, Flush, Handled, Later, Services, fail_call
from umi_sim.services.nonsense import nonsense
from umi_sim.services.stores import SimStore

E = TypeVar("E", bound=Asked)


class Arrival(Generic[E], Owner):
    """A call that arrives at its service now; faults are drawn from it and applied to it."""

    call: Call
    effect: E
    services: Services

    @property
    def now_ms(self) -> int:
        return self.services.now_ms

    @property
    def store(self) -> SimStore:
        """Return the store of a read or a commit."""
        return self.services.store_of(self.effect)  # type: ignore[arg-type]  # never called for others

    def begin_commit(self, reported: str | int) -> Flush:
        """Hand the batch to its store, where it becomes durable one flush later."""
        return self.services.begin_commit(self.call, self.effect, reported)  # type: ignore[arg-type]  # as above

    def answer(self) -> Answer:
        """Return the true answer."""
        return self.services.answer(self.call)

    def handle_unharmed(self) -> Handled:
        """Handle the call without a fault."""
        return self.services.handle(self.call, self.now_ms)

    def fails(self, kind: FailureKind) -> Later:
        return fail_call(self.call, kind, self.now_ms)


class Fails(FaultKind):
    """Family of faults: the call fails."""

    failure: ClassVar[FailureKind]

    def apply(self, call: Arrival[Any]) -> Handled:
        return call.fails(self.failure)


class Silent(FaultKind):
    """Family of faults: the service answers, and the answer is lost."""

    def apply(self, call: Arrival[Any]) -> Handled:
        # Called for its side effect: the model stores the answer, which a later fault may give to another
        # question.
        call.answer()
        return None


class NoAnswer(FaultKind):
    """Family of faults: part of the answer has a wrong type or is endless; a batch still becomes durable."""

    choice: int = below(2**32)

    def apply(self, call: Arrival[Any]) -> Handled:
        if isinstance(call.effect, Commit):
            # A commit is answered by its flush, which replaces the answer then.
            return structs.replace(call.begin_commit("true"), nonsense=self.choice)
        return Later(nonsense(call.answer(), self.choice), call.now_ms)


class TimesOut(FaultKind):
    """Family of faults: the call fails before the memory's own time-out."""

    after_ms: int = below(lambda call: call.effect.timeout_ms)

    def apply(self, call: Arrival[Any]) -> Handled:
        return fail_call(call.call, "timeout", call.call.sent_ms + self.after_ms)


class RefusesForNow(FaultKind):
    """Family of faults: the service refuses the call and gives a time to wait before the next one."""

    retry_after_ms: int = among(lambda call: (0, 1, 999, 1_000, 60_000, call.effect.timeout_ms + 1))

    def apply(self, call: Arrival[Any]) -> Handled:
        return fail_call(call.call, "rate_limited", call.now_ms, self.retry_after_ms)


def around(ms: int) -> tuple[int, ...]:
    # Just before the time-out, at it, just after it, and long after the memory has asked again.
    return ms - 1, ms, ms + 1, 10 * ms


class AroundTimeout(FaultKind):
    """Family of faults: the true answer comes around the time-out."""

    after_ms: int = among(lambda call: around(call.effect.timeout_ms))

    def apply(self, call: Arrival[Any]) -> Handled:
        # The call itself may have been delayed, and arrive only after that time.
        at_ms = max(call.now_ms, call.call.sent_ms + self.after_ms)
        if isinstance(call.effect, Commit):
            return call.begin_commit(at_ms)
        return Later(call.answer(), at_ms)


class GoesAway(FaultKind):
    """Family of faults: this call and all others of the service fail for a while."""

    for_ms: int = span_ms(1, WINDOW_MS_MAX)

    def apply(self, call: Arrival[Any]) -> Handled:
        call.services.away_until_ms[call.call.service] = call.now_ms + self.for_ms
        return call.fails("unavailable")
