"""The system under test, behind a protocol and a base class: the world knows nothing else about it.

A *machine* is one incarnation of the system. It takes requests and answers and emits effects, which the world
answers; that of Umi is in `umi_sim.machines.umi`. A store that is called and does its own I/O emits only
replies: `umi_sim.machines.subject`. A *target* begins incarnations, and names the requests that they serve.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Protocol

from msgspec import structs

from umi_core.data import Data
from umi_core.messages.answers import Value
from umi_core.messages.effects import Asked, Commit, Effect
from umi_core.values import Scope
from umi_sim.machines.fence import Fence
from umi_sim.record.run_config import RunConfig
from umi_sim.services.calls import Services


class Origin(Data):
    """The origin of an effect: a step of a workflow. `op_id` is None for an operation in the background.

    `number` distinguishes the background operations of one incarnation.
    """

    op_id: str | None
    workflow: str
    number: int
    step: str


class Machine(Protocol):
    """One incarnation of the system. It ends when the agent crashes; only stored rows outlive it."""

    @property
    def marks(self) -> Sequence[str]:
        """Return marks: names of rare events in the last step, for the coverage of a sweep."""

    @property
    def seen_ms(self) -> int:
        """Return the latest reading of its clock that it accepted."""

    @property
    def is_recovering(self) -> bool:
        """Return True while it reads what an earlier incarnation has stored."""

    @property
    def is_committing(self) -> bool:
        """Return True while a commit is in flight."""

    @property
    def is_working(self) -> bool:
        """Return True while it works on an operation of a user or of its own."""

    def step(self, now_ms: int, value: Value) -> Sequence[Effect]: ...
    def deadline_ms(self) -> int | None: ...
    def digest(self) -> bytes: ...

    def running(self) -> Iterator[str]:
        """Yield the workflows of the operations in flight."""

    def awaits(self, request_id: int, reading_ms: int) -> bool:
        """Return whether it would use an answer to this effect at this reading of its clock."""

    def origin_of(self, effect: Asked) -> Origin: ...

    def make_copy(self) -> "Machine | None":
        """Return a copy that is restored from a snapshot; None if it cannot or need not be saved."""


class InitialStorage(Data):
    """The storage that a new incarnation may find: rows in services, and commits in flight."""

    services: Services
    commits: Callable[[], Iterable[Commit]]


class Target(ABC):
    """A system under test: it begins incarnations, and says which requests they serve.

    `requests`: the names of these requests. `fence`: what a step must not reach.
    """

    requests: Collection[str]
    fence: Fence

    @abstractmethod
    def services(self) -> Services:
        """Return the simulated services that answer its effects."""

    @abstractmethod
    def begin(self, agent: str, scope: Scope, stored: InitialStorage) -> Machine:
        """Begin the next incarnation of an agent."""

    def close(self) -> None:  # noqa: B027 # most have nothing to end
        """Release resources at the end of the run; by default there are none."""

    def revise(self, op_id: str | None, machines: Iterable[Machine]) -> bool:
        """Change the workflows of running machines if a change is due before this op; return whether it was.

        `op_id`: None if the world has healed; then nothing may refuse requests any more.
        """
        return False

    def entry_counts(self, scope: Scope, services: Services) -> tuple[int, int]:
        """Return the range of limits that later incarnations may have for core entries; 0, 0 is no range."""
        return 0, 0

    def limit_entries(self, agent: str, entry_count_max: int | None) -> bool:
        """Limit the core entries of later incarnations; None: as configured. Return True if that is new."""
        return False


class NothingServed(ValueError):
    """The target serves none of the requests that a configuration asks for."""


def served_part(config: RunConfig, target: Target) -> RunConfig:
    """Return the configuration without requests that the target does not serve. Raises NothingServed."""
    served = {name: weight for name, weight in config.weights.items() if name in target.requests}
    if len(served) == len(config.weights):
        return config
    if not served:
        asked, serves = ", ".join(config.weights), ", ".join(target.requests)
        raise NothingServed(f"the weights ask for {asked} alone, and the target serves {serves}")
    return structs.replace(config, weights=served)
