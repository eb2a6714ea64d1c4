"""Models: parts of the oracle, each of which derives the right replies of one memory to some requests.

A model is a second, simpler implementation. The working tier, for example, is a dict with a deadline for each
key: the reply to a `Get` must be the value in that dict. A model observes each request when it is issued,
each answer of the world to it, and its reply. At the reply the model demands that the outcome is one of those
that are possible.

Law 1. Each kind of request is judged by exactly one model. Other models may observe its replies.
Law 2. A model uses only what users and services can observe, and does not see injected faults.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Final, TypeVar, cast

import msgspec

from umi_core.data import Owner
from umi_core.declared import Incomplete
from umi_core.messages.answers import Answer
from umi_core.messages.effects import Done, Outcome
from umi_core.messages.requests import Request
from umi_core.rows import Address
from umi_core.values import Scope
from umi_sim.record import rules
from umi_sim.record.broken import demand
from umi_sim.services.atlas import Atlas
from umi_sim.services.calls import Call

Value = TypeVar("Value")
RequestTypes = tuple[type[Request], ...]


NO_TIME: Final = -1
"""The world time if the world is not known; the time of a world begins at 0."""


def return_no_time() -> int:
    return NO_TIME


def never(*_: object) -> int:
    """Return 0, the answer for an unknown world: nothing is durable, and searches do not lag."""
    return 0


class Surroundings(Owner):
    """Functions by which every model of a run may query the world.

    `world_ms`: the world time, by which storage keeps its receipts. `durable_count`: the number of durable
    batches of all agents. `lag_since`: the longest lag of searches since a time, in ms. `durable_keys`: the
    keys of durable batches. `is_durable`: whether the operation with an op_id has a durable batch.
    `epoch_of`: the last epoch that was claimed in a scope. `entities`: the addresses of present and deleted
    entities. `atlas`: the losses of the world.
    """

    world_ms: Callable[[], int] = return_no_time
    durable_count: Callable[[], int] = never
    lag_since: Callable[[int], int] = never
    durable_keys: Callable[[], frozenset[str]] = frozenset
    is_durable: Callable[[str], int] = never
    epoch_of: Callable[[Scope], int] = never
    entities: Callable[[], Iterable[Address]] = tuple
    atlas: Atlas = msgspec.field(default_factory=Atlas)


class Ending(Owner):
    """The end of a request.

    `now_ms`: the latest time that this incarnation has seen; `reading_ms`: its clock, which is less after a
    jump back. `is_sure`: storage has not lost what it acknowledged to this request; otherwise it may not be
    durable although it is done. `is_turned_away`: an interceptor refused or answered one of its questions.
    """

    op_id: str
    request: Any
    outcome: Outcome
    now_ms: int
    reading_ms: int
    is_sure: bool = True
    is_turned_away: bool = False

    def value(self, shape: type[Value]) -> Value | None:
        """Return the value of the reply, or None if it is not done. Raises Broken for another class."""
        if not isinstance(self.outcome, Done):
            return None
        value, message = self.outcome.value, f"the value that {type(self.request).__name__} is done with"
        demand(isinstance(value, shape), rules.REFERENCE_AGREES, message, shape.__name__, value)
        return cast(Value, value)


class OracleModel:
    """Judges the replies of one memory. A subclass names its requests and overrides the events that it needs.

    `judges`: the kinds of request that this model judges. `watches`: other kinds whose events it observes.
    """

    judges: ClassVar[RequestTypes] = ()
    watches: ClassVar[RequestTypes] = ()

    def observe_request(self, op_id: str, request: Any, now_ms: int) -> None:
        """Observe that a request of one of its kinds was given to the memory."""

    def observe_answer(self, call: Call, request: Any, answer: Answer, now_ms: int) -> None:
        """Observe the world's answer to an effect of a request of one of its kinds."""

    def turned_away(self, op_id: str, step: str, answer: Answer) -> None:
        """Observe from a reply that an interceptor answered this step in place of the world."""

    def observe_reply(self, ending: Ending) -> None:
        """Observe the end of a request of one of its kinds. Raises Broken if that end is not allowed."""

    def observe_crash(self) -> None:
        """Observe that the memory has crashed: requests in flight get no reply."""

    def observe_wipe(self) -> None:
        """Observe that storage has lost everything, after all incarnations have ended."""

    def observe_closing(self) -> None:
        """Observe that the agent was closed: its rows are deleted, and requests in flight start again."""


def check_models(models: Sequence[type[OracleModel]], requests: Sequence[type[Request]]) -> None:
    """Raise Incomplete unless every kind of request is judged by exactly one of these models."""
    for request in requests:
        judges = [model.__name__ for model in models if request in model.judges]
        if not judges:
            raise Incomplete(
                f"no model of the oracle judges {request.__name__}: name it in `judges` of the one that knows"
                " what it must answer (umi_sim/judge/oracle)"
            )
        if len(judges) > 1:
            raise Incomplete(f"{request.__name__} is judged by {' and '.join(judges)}: one of them is enough")
