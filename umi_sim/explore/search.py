"""Search: plays all lists of actions up to a length, shortest first.

Law 1. Breadth first visits each world once, so the first failure has the fewest actions.
Law 2. A world is stored as the number of its parent and one action. Its fingerprint says whether it is new.
Law 3. Depth first, with increasing depth, stores only the path, and plays every list.
Law 4. A list that failed must fail again when its items are replayed; otherwise the simulator is broken.
"""

from array import array
from collections.abc import Iterator
from typing import Final, Literal

import msgspec
from msgspec import structs

from umi_core.data import Data, Owner
from umi_core.engine.registry import Registry
from umi_core.workflows import BUILT_IN
from umi_sim.explore.play import (
    Action,
    Explored,
    NothingChanged,
    Untraced,
    find_next_draws,
    first_world,
    inspector_of,
    list_actions,
    list_fault_choices,
    play,
    source_of,
)
from umi_sim.explore.state_fingerprint import Fingerprinter
from umi_sim.kernel import fork
from umi_sim.kernel.prng import Keyed
from umi_sim.mutants import plant_mutant
from umi_sim.record.items import Item, Op
from umi_sim.record.run_config import RunConfig
from umi_sim.record.verdict import Verdict
from umi_sim.runs import runner
from umi_sim.scenario.action_set import ActionSet
from umi_sim.scenario.files import BadScenario, Scenario, draw
from umi_sim.world.agent import Tally

fork.copied_by(fork.share, Untraced, Tally, Keyed)  # copies share these: they only count, or never change

DEPTH_MAX: Final = 64
STATES_MAX: Final = 1_000_000
SEED: Final = 0  # one seed is enough, because a list determines everything

Result = Literal["complete", "failed", "stopped"]


class ListFailed(Exception):
    """A list failed. `world`: the world in which it failed; `why`: the exception."""

    def __init__(self, world: Explored, why: Exception) -> None:
        super().__init__(str(why))
        self.world, self.why = world, why


class Explanation(Data):
    """The result of an exploration.

    `depth`: the length of the failed list, or the depth up to which every list was tried. `verdict`: of the
    run that repeats the failure. `state_count`: different worlds; depth first counts one for each list.
    """

    result: Result
    depth: int
    list_count: int
    state_count: int
    step_count: int
    verdict: Verdict | None = None


def explore(
    scenario: Scenario,
    depth: int,
    *,
    states_max: int = STATES_MAX,
    depth_first: bool = False,
    mutant: str | None = None,
) -> Explanation:
    """Try every list of actions up to this depth; `mutant` plants a bug. Raises BadScenario, Unrepeated."""
    action_set = scenario.explore
    if action_set is None:
        raise BadScenario(f"{scenario.id}: explore: missing, so there are no actions to explore with")
    config = structs.replace(draw(scenario, SEED, PLAIN), planted=mutant or scenario.mutant)
    with plant_mutant(config.planted, BUILT_IN) as registry:
        search = (DepthFirst if depth_first else BreadthFirst)(config, action_set, registry, states_max)
        try:
            return search.run(depth)
        except ListFailed as found:
            end = found.world
            counts = (search.depth, 0, search.state_count, search.step_count)
    return Explanation("failed", *counts, verdict=repeat_list(config, end))


PLAIN: Final = {"scenario.swarm.mode": "plain"}


class Unrepeated(Exception):
    """A list failed, and the run of its items does not."""


def repeat_list(config: RunConfig, end: Explored) -> Verdict:
    """Return the verdict of a run of a failed list. Raises Unrepeated."""
    # A run that passes is tried again with one more request, which keeps the world busy to the end.
    items: list[Item] = list(source_of(end).record)
    last = Op(source_of(end).next_id("o"), end.now_ms, end.lone.name, "len", {})
    for record in (items, [*items, last]):
        verdict = runner.run(config, record)
        if verdict.failure is not None:
            return verdict
    raise Unrepeated(f"a list of {len(items)} items failed, and does not fail when they are replayed")


class StateSearch(Owner):
    """The base of both searches, with the actions that follow any world."""

    config: RunConfig
    action_set: ActionSet
    registry: Registry
    states_max: int
    depth: int = 0
    step_count: int = 0

    def run(self, depth_max: int) -> Explanation:
        """Try all lists. Raises ListFailed."""
        raise NotImplementedError

    @property
    def state_count(self) -> int:
        raise NotImplementedError

    def branches(self, world: Explored) -> Iterator[tuple[Action, Explored]]:
        """Yield every action that changes this world, and the world after it. Raises ListFailed."""
        for action in list_actions(world, self.action_set):
            child = self.after(world, action)
            if child is None:
                continue
            yield action, child
            for with_fault in list_fault_choices(source_of(child), action, self.action_set):
                yield from self.try_actions(world, with_fault)

    def try_actions(self, world: Explored, with_fault: Action) -> Iterator[tuple[Action, Explored]]:
        """Yield an action with a fault, and the world after it, for each combination of the fault's draws."""
        action: Action | None = with_fault
        while action is not None:
            child = fork.fork_graph(world)
            if self.play_action(child, action):
                yield action, child
            action = find_next_draws(source_of(child), action)

    def after(self, world: Explored, action: Action) -> Explored | None:
        child = fork.fork_graph(world)
        return child if self.play_action(child, action) else None

    def play_action(self, child: Explored, action: Action) -> bool:
        """Play an action; return False if it changes nothing. Raises ListFailed."""
        before = child.step_count
        try:
            play(child, action, self.action_set)
        except NothingChanged:
            return False
        except Exception as why:
            raise ListFailed(child, why) from why
        finally:
            self.step_count += child.step_count - before
        return True

    def judge(self, world: Explored) -> None:
        """Check every rule and, if the action set asks for it, a run's end from here. Raises ListFailed."""
        inspector, storage = inspector_of(world), world.services.storage
        try:
            for agent in world.agents.values():
                if agent.machine is not None:
                    inspector.check(agent.machine, storage)
            if self.action_set.finish:
                finish(fork.fork_graph(world))
        except Exception as why:
            raise ListFailed(world, why) from why


def finish(world: Explored) -> None:
    """Heal, drain, audit and restart, as at the end of any run."""
    world.is_awake = False
    source_of(world).begin(None)
    runner.Run(world.config, world, world.source, inspector_of(world)).run_phases()


class BreadthFirst(StateSearch):
    """A search that numbers worlds in the order of discovery, so that those of one depth are consecutive."""

    numbers: dict[bytes, int] = {}  # by digest
    parents: "array[int]" = msgspec.field(default_factory=lambda: array("L"))
    by: "array[int]" = msgspec.field(default_factory=lambda: array("L"))  # index of the action in `spelt`
    seen: dict[Action, int] = {}
    spelt: list[Action] = []
    edges: "array[int]" = msgspec.field(default_factory=lambda: array("L"))
    ends: "array[int]" = msgspec.field(default_factory=lambda: array("L"))  # of the edges of each world
    near: tuple[int, Explored] | None = None  # the last parent that was played again, with its number

    @property
    def state_count(self) -> int:
        return len(self.numbers)

    def run(self, depth_max: int) -> Explanation:
        fingerprinter = Fingerprinter(self.config, self.action_set)
        first = first_world(self.config, self.registry)
        self.near = (0, first)
        self.enter(fingerprinter.digest(first), 0, Action(""))
        self.judge(first)
        low, high = 0, 1
        for self.depth in range(1, depth_max + 1):
            for number in range(low, high):
                for action, child in self.branches(self.world_of(number)):
                    digest = fingerprinter.digest(child)
                    target = self.numbers.get(digest)
                    if target is None:
                        if len(self.numbers) == self.states_max:
                            return self.explain("stopped", self.depth - 1)
                        target = self.enter(digest, number, action)
                        self.judge(child)
                    self.edges.append(target)
                self.ends.append(len(self.edges))
            # The worlds of this depth are those that were entered since, because numbers increase.
            low, high = high, len(self.numbers)
        return self.explain("complete", depth_max)

    def enter(self, digest: bytes, parent: int, action: Action) -> int:
        """Store a new world and return its number."""
        number = self.numbers[digest] = len(self.numbers)
        if action not in self.seen:
            self.seen[action] = len(self.spelt)
            self.spelt.append(action)
        self.parents.append(parent)
        self.by.append(self.seen[action])
        return number

    def world_of(self, number: int) -> Explored:
        """Return the world with this number, by playing its action in its parent."""
        assert self.near is not None
        if number == 0:
            return first_world(self.config, self.registry)
        # A world takes far more than the 16 bytes of a number and an action, so it is played again instead
        # of stored. Consecutive worlds mostly have the same parent.
        parent = self.parents[number]
        if self.near[0] != parent:
            self.near = (parent, self.world_of(parent))
        world = fork.fork_graph(self.near[1])
        play(world, self.spelt[self.by[number]], self.action_set)
        return world

    def explain(self, result: Result, depth: int) -> Explanation:
        return Explanation(result, depth, self.list_count(depth), self.state_count, self.step_count)

    def list_count(self, depth: int) -> int:
        """Count the lists of 1 to `depth` actions that lead to known worlds."""
        # Two actions that commute lead to one world by two lists: it is visited once and counted twice.
        total, reached = 0, {0: 1}
        for _ in range(depth):
            following: dict[int, int] = {}
            for number, count in reached.items():
                start = self.ends[number - 1] if number else 0
                for target in self.edges[start : self.ends[number]]:
                    following[target] = following.get(target, 0) + count
            reached = following
            total += sum(reached.values())
        return total


class DepthFirst(StateSearch):
    """A search that stores only the current path, so each depth starts from the first world again."""

    tried: int = 0

    @property
    def state_count(self) -> int:
        return self.tried

    def run(self, depth_max: int) -> Explanation:
        before = 0
        for self.depth in range(1, depth_max + 1):
            self.tried = 0
            if not self.dive(first_world(self.config, self.registry), self.depth):
                return Explanation("stopped", self.depth - 1, before, self.tried, self.step_count)
            before = self.tried
        return Explanation("complete", depth_max, self.tried, self.tried, self.step_count)

    def dive(self, world: Explored, depth: int) -> bool:
        """Try every list of up to `depth` more actions; return False if there are too many."""
        for _, child in self.branches(world):
            self.tried += 1
            if self.tried > self.states_max:
                return False
            if depth == 1:
                self.judge(child)
            elif not self.dive(child, depth - 1):
                return False
        return True
