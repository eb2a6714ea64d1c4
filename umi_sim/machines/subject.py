"""Subjects: stores that are called and reply immediately. They do their own I/O and emit only replies.

    class Cache:                                       # your adapter
        def call(self, now_ms, request):
            match request:
                case Set(key=key, value=value): ...
                    return Done(None)
                ...

    verdict = run(config, target_of=lambda config, registry: SubjectTarget(Cache, ("set", "get", "len")))

The first argument is called to make a subject for each incarnation; only files outlive an incarnation.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Protocol

from umi_core.data import Owner
from umi_core.messages.answers import Value, Wake
from umi_core.messages.effects import Asked, Effect, Outcome, Reply
from umi_core.messages.requests import Request
from umi_core.values import Scope
from umi_sim.machines.fence import Fence, Reach
from umi_sim.machines.protocol import InitialStorage, Origin, Target
from umi_sim.services.calls import Services


class Subject(Protocol):
    """One incarnation of a store that is called."""

    def call(self, now_ms: int, request: Request) -> Outcome:
        """Carry out a request. `now_ms`: the reading of the agent's clock in milliseconds."""


class SubjectMachine(Owner):
    """A subject as a machine: each request is a call, and its outcome is the only effect."""

    subject: Subject
    marks: Sequence[str] = ()
    seen_ms: int = 0
    is_recovering: bool = False
    is_committing: bool = False
    is_working: bool = False

    def step(self, now_ms: int, value: Value) -> Sequence[Effect]:
        self.seen_ms = max(self.seen_ms, now_ms)
        # A subject has no timers: it can expire entries only at the next call.
        if isinstance(value, Wake):
            return ()
        assert isinstance(value, Request), value
        return (Reply(value.op_id, self.subject.call(now_ms, value)),)

    def deadline_ms(self) -> int | None:
        return None

    def digest(self) -> bytes:
        """Return nothing: its state is hidden, and its requests and replies are in the trace already."""
        return b""

    def running(self) -> Iterator[str]:
        return iter(())

    def awaits(self, request_id: int, reading_ms: int) -> bool:
        return False

    def origin_of(self, effect: Asked) -> Origin:
        raise AssertionError(f"a subject asks for nothing, but came with {effect}")

    def make_copy(self) -> None:
        return None


class SubjectTarget(Target):
    """A target of subjects that serve the named requests; runs make no others.

    `fenced`: what a call may not use, by default clock and chance: a store that uses them behaves differently
    in every run, so no seed replays it. Files, network and threads are allowed, and with `fenced=()`
    everything is.
    """

    def __init__(
        self,
        make: Callable[[], Subject],
        requests: Collection[str],
        fenced: Collection[Reach] = ("clock", "chance"),
    ) -> None:
        self.make, self.requests = make, requests
        self.fence = Fence(fenced, renames=(make.__module__,))

    def services(self) -> Services:
        return Services({})

    def begin(self, agent: str, scope: Scope, stored: InitialStorage) -> SubjectMachine:
        return SubjectMachine(self.make())
