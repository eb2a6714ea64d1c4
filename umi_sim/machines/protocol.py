"""What is tested, behind a protocol and a base class: this is all that the world knows about it.

A *machine* is one life of what is tested. It takes requests and answers and asks for effects, which the world
answers; Umi's own is in `umi_sim.machines.umi`. A store that is called and does its own I/O is a machine that
asks for nothing: `umi_sim.machines.subject`. A *target* says how a life begins and which requests it serves.
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
    """The origin of an effect: the row of a workflow, for a request or in the background.

    `number` tells background operations of one life apart.
    """

    op_id: str | None
    workflow: str
    number: int
    step: str


class Machine(Protocol):
    """One life of what is tested. It ends when the agent crashes; only what is stored outlives it."""

    @property
    def marks(self) -> Sequence[str]:
        """The rare things that the last step did, for the coverage of a sweep."""

    @property
    def seen_ms(self) -> int:
        """The latest reading of its clock that it believed."""

    @property
    def is_recovering(self) -> bool:
        """Return True while it reads what an earlier life has stored."""

    @property
    def is_committing(self) -> bool:
        """A commit is on its way."""

    @property
    def is_working(self) -> bool:
        """Return True while it waits for an answer, for a user or for itself."""

    def step(self, now_ms: int, value: Value) -> Sequence[Effect]: ...
    def deadline_ms(self) -> int | None: ...
    def digest(self) -> bytes: ...

    def running(self) -> Iterator[str]:
        """The workflows that wait for an answer."""

    def awaits(self, request_id: int, reading_ms: int) -> bool:
        """Return whether it will take an answer to this question at this reading of its clock."""

    def origin_of(self, effect: Asked) -> Origin: ...

    def make_copy(self) -> "Machine | None":
        """Return the same machine, made anew from its snapshot; None if it cannot be saved."""


class InitialStorage(Data):
    """The storage that a new life may find: what services hold, and the commits that are on their way."""

    services: Services
    commits: Callable[[], Iterable[Commit]]


class Target(ABC):
    """A system that can be tested: how its lives begin, and what may be asked of them.

    `requests`: the names of those that it serves. `fence`: around its steps.
    """

    requests: Collection[str]
    fence: Fence

    @abstractmethod
    def services(self) -> Services:
        """Return the simulated services that its effects are answered by."""

    @abstractmethod
    def begin(self, agent: str, scope: Scope, stored: InitialStorage) -> Machine:
        """Begin the next life of an agent."""

    def close(self) -> None:  # noqa: B027 # most have nothing to end
        """End with the run; nothing in this process outlives it."""

    def revise(self, op_id: str | None, machines: Iterable[Machine]) -> bool:
        """Change the program under running machines, if that is due before this op; return whether it was.

        `op_id` None: the world has healed, and nothing turns requests away any more.
        """
        return False

    def entry_counts(self, scope: Scope, services: Services) -> tuple[int, int]:
        """Return the range of limits that a later life may have for its entries; none where both are 0."""
        return 0, 0

    def limit_entries(self, agent: str, entry_count_max: int | None) -> bool:
        """Give later lives of this agent room for so many entries; None: as configured. True if new."""
        return False


class NothingServed(ValueError):
    """The target serves none of the requests that a configuration asks for."""


def served_part(config: RunConfig, target: Target) -> RunConfig:
    """The configuration without the requests that the target does not serve."""
    served = {name: weight for name, weight in config.weights.items() if name in target.requests}
    if len(served) == len(config.weights):
        return config
    if not served:
        asked, serves = ", ".join(config.weights), ", ".join(target.requests)
        raise NothingServed(f"the weights ask for {asked} alone, and the target serves {serves}")
    return structs.replace(config, weights=served)
