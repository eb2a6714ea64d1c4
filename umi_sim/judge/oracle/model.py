"""Models: parts of the oracle that know what one memory must answer to some kinds of request.

A model is a second, simpler account of the truth. The working tier, for example, is a dict with a deadline
for each key: whatever the memory replies to a `Get` must be what that dict holds. A model observes everything
that happens to its memory: each request when it is issued, each answer that the world gives it, and how each
request ended. When it ends, the model demands that the outcome is one of those that are possible now.

Law 1. Each kind of request is judged by exactly one model. Other models may watch how it ends.
Law 2. A model knows what users and services see, and nothing of the faults behind it.
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
"""The time of a world that is not known; a world begins at 0."""


def return_no_time() -> int:
    return NO_TIME


def never(*_: object) -> int:
    """Return 0, as of a world that is not known: nothing is durable, searches are up to date."""
    return 0


class Surroundings(Owner):
    """Questions that every model of a run may ask of the world.

    `world_ms`: the world's time, by which storage keeps its receipts. `durable_count`: durable batches, of
    all agents. `lag_since`: the greatest delay of searches since then, in milliseconds. `durable_keys`: the
    keys of durable batches. `is_durable`: whether an operation has such a batch, by its op_id. `epoch_of`:
    the last epoch that was claimed in a scope. `entities`: the addresses that entities have or had. `atlas`:
    what the world has destroyed.
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

    `now_ms` is the latest time that this life has seen, `reading_ms` what its clock shows: less, if the clock
    went back. `is_sure`: storage has kept what it acknowledged to this request; else a request that is done
    may not be durable. `is_turned_away`: an interceptor refused a question of it, or answered in place of the
    world.
    """

    op_id: str
    request: Any
    outcome: Outcome
    now_ms: int
    reading_ms: int
    is_sure: bool = True
    is_turned_away: bool = False

    def value(self, shape: type[Value]) -> Value | None:
        """Return the value it is done with, None if it is not done. Raises Broken for another class."""
        if not isinstance(self.outcome, Done):
            return None
        value, message = self.outcome.value, f"the value that {type(self.request).__name__} is done with"
        demand(isinstance(value, shape), rules.REFERENCE_AGREES, message, shape.__name__, value)
        return cast(Value, value)


class OracleModel:
    """Judges what one memory replies. A subclass names its requests, and overrides the events that it needs.

    `judges`: kinds of request that no other model judges. `watches`: other kinds of which it observes events.
    """

    judges: ClassVar[RequestTypes] = ()
    watches: ClassVar[RequestTypes] = ()

    def observe_request(self, op_id: str, request: Any, now_ms: int) -> None:
        """Observe that a request of one of its kinds was handed to the memory."""

    def observe_answer(self, call: Call, request: Any, answer: Answer, now_ms: int) -> None:
        """Observe the world's answer to an effect of a request of one of its kinds."""

    def turned_away(self, op_id: str, step: str, answer: Answer) -> None:
        """Observe that an interceptor answered in place of the world, as the reply names it."""

    def observe_reply(self, ending: Ending) -> None:
        """Observe the end of a request of one of its kinds. Raises Broken if that end is not allowed."""

    def observe_crash(self) -> None:
        """Observe the end of the memory's life: nothing that is in flight will reply."""

    def observe_wipe(self) -> None:
        """Observe that storage has lost everything, after all lives have ended."""

    def observe_closing(self) -> None:
        """Observe that the agent was closed: all its rows are deleted, and requests in flight start anew."""


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
