"""Goal: a mistake in the simulator itself is found by what it checks (S21.3).

Each is planted in the code of umi_sim, and the check that is promised for it is run with it and without it.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest
from msgspec import structs

from tests.counters_in_jobs import LOSING, LockedDict
from tests.known_seeds import seeds_of
from tests.second_memory import counts_one_more, run_beside_ours, saves_what_it_was
from umi_sim.faults.declaration import args_maker
from umi_sim.judge.inspector import Inspector
from umi_sim.kernel.prng import Stream
from umi_sim.machines import process
from umi_sim.mutants import Mutant
from umi_sim.mutants.registry import MUTANTS
from umi_sim.record.items import Fault, Item
from umi_sim.record.trace import Tag
from umi_sim.runs import matrix
from umi_sim.runs.runner import run_once
from umi_sim.scenario import files, floors
from umi_sim.seedfile import files as seed_file
from umi_sim.shrink import shrink
from umi_sim.shrink.search import ShrinkSearch
from umi_sim.sweep import gate
from umi_sim.targets.hunt import hunt
from umi_sim.targets.loop import Loop
from umi_sim.targets.threads import Lock
from umi_sim.workload.workloads import Sections
from umi_sim.world.generator import Generator
from umi_sim.world.source import At, Replay
from umi_sim.world.world import World

Plant = Callable[[pytest.MonkeyPatch], None]
STORMY = files.draw(files.find("storm"), 3)
BUGS = {bug.kind: bug for bug in MUTANTS.values() if bug.kind}
WORD_COUNT = 200_000
LOOK_COUNT = 3  # seeds; the first of them are known to show a bug
FLOOR_SEEDS = range(10, 15)
RACES = range(1_000, 1_015)  # each store that loses updates shows it in one of them


# Mistakes.


def fault_without_effect(patch: pytest.MonkeyPatch) -> None:
    """A declared kind of fault is drawn and recorded, and does nothing."""

    def inject(self: World, at: At, here: Callable[[], object]) -> None:
        fault = self.source.fault(*at, args_maker(here, self.tally.without_effect))
        if fault is not None:
            self.tally.fired[fault.fault] += 1
            self.trace.add(Tag.FAULT, fault.id, fault.fault, at[2])

    patch.setattr(World, "inject", inject)


def crash_keeps_memory(patch: pytest.MonkeyPatch) -> None:
    """After a crash the memory goes on with its volatile state."""
    kept = dict[str, Any]()
    crash, begin = World.crash, World.start

    def crashed(self: World, agent: Any, down_ms: int) -> None:
        kept[agent.name] = agent.machine
        crash(self, agent, down_ms)

    def started(self: World, agent: Any) -> None:
        begin(self, agent)
        agent.machine = kept.pop(agent.name, agent.machine)

    patch.setattr(World, "crash", crashed)
    patch.setattr(World, "start", started)


def one_stream_for_all(patch: pytest.MonkeyPatch) -> None:
    """All sites draw from one stream, so one more draw changes every later decision."""
    whole, begin, pool = Stream.__init__, Generator.__init__, list[int]()
    source = Stream(1, "one")
    words = [source.word() for _ in range(WORD_COUNT)]

    def drawn(self: Stream, seed: int, *path: str | int) -> None:
        whole(self, seed, *path)
        self._words = pool

    def begun(self: Generator, *args: Any, **more: Any) -> None:
        pool[:] = words
        begin(self, *args, **more)

    patch.setattr(Stream, "__init__", drawn)
    patch.setattr(Sections, "begin", lambda self, index: None)
    patch.setattr(Generator, "__init__", begun)


def oracle_forgives_everything(patch: pytest.MonkeyPatch) -> None:
    """Once any fault was injected, the oracle accepts every later reply."""
    original = World.inject

    def inject(self: World, at: At, here: Callable[[], object]) -> Any:
        done = original(self, at, here)
        if done is not None:
            self.judge.is_forgiving = True  # type: ignore[attr-defined]  # of this mistake alone
        return done

    patch.setattr(World, "inject", inject)
    for name in ("observe_reply", "observe_step", "observe_answer"):
        patch.setattr(Inspector, name, forgiving(getattr(Inspector, name)))


def forgiving(judge: Callable[..., None]) -> Callable[..., None]:
    def judged(self: Inspector, *args: Any) -> None:
        if not getattr(self, "is_forgiving", False):
            judge(self, *args)

    return judged


def replay_without_faults(patch: pytest.MonkeyPatch) -> None:
    """A replay runs the recorded operations and leaves out the recorded faults."""
    file = Replay._file

    def filed(self: Replay, item: Item) -> None:
        if not isinstance(item, Fault):
            file(self, item)

    patch.setattr(Replay, "_file", filed)


def shrink_swaps_failure(patch: pytest.MonkeyPatch) -> None:
    """The shrinker keeps a smaller run that breaks another promise than the first."""
    patch.setattr(ShrinkSearch, "is_same", lambda self, failure: failure is not None)


def nothing_is_compared(patch: pytest.MonkeyPatch) -> None:
    """The answers of a second implementation are not compared with ours."""
    patch.setattr(process, "must_be_alike", lambda ours, theirs: None)


def saved_form_unread(patch: pytest.MonkeyPatch) -> None:
    """A second implementation is not restarted from what it saved, so a lost field is never missed."""
    patch.setattr(process.Server, "count_step", lambda self: None)


def tiers_never_fill(patch: pytest.MonkeyPatch) -> None:
    """The workload never fills a tier, so refusal, displacement and eviction are never tried."""
    draw = files.draw
    patch.setattr(files, "draw", lambda *args: structs.replace(draw(*args), memory={}))


def jobs_never_pause(patch: pytest.MonkeyPatch) -> None:
    """A job of a store goes on where it should pause, so two of them never meet."""
    patch.setattr(Loop, "is_pause", lambda self: False)


def locks_let_all_in(patch: pytest.MonkeyPatch) -> None:
    """A lock of a store is taken by two jobs at once."""

    def release(self: Lock, *_: object) -> None:
        if self.real.locked():
            self.real.release()

    patch.setattr(Lock, "acquire", lambda self, blocking=True, *_: self.real.acquire(False) or blocking)
    patch.setattr(Lock, "release", release)
    patch.setattr(Lock, "__exit__", release)


# What must find them: an empty text if there is nothing to find.


def kinds_show_their_bugs() -> str:
    """ORA-1 and ORA-4: each kind of fault is seen by a bug that needs it."""
    sample = ("storage_refused", "model_unavailable", "clock_jump_forward", "embed_zero")
    return " ".join(kind for kind in sample if not is_seen(BUGS[kind]))


def is_seen(bug: Mutant) -> bool:
    return matrix.find_failure(bug, bug.rules, islice(seeds_of(bug), LOOK_COUNT)) is not None


def runs_with_crashes() -> str:
    """A sweep of a world full of crashes."""
    scenario = files.find("crash_storm")
    failures = (run_once(files.draw(scenario, seed))[0].failure for seed in range(1, 5))
    return next((failure.rule for failure in failures if failure), "")


def gate_of_a_run() -> str:
    """DET-2 and ORA-2, as a sweep asks for them."""
    traces = gate.hashes(STORMY)
    return " ".join(gate.RULES[variant] for variant in gate.VARIANTS if traces[variant] != traces["fresh"])


def shrunk_failures() -> str:
    """ORA-3: of a run in which a bug shows in many ways."""
    try:
        shrink(next(failing_runs("unknown-is-refused")))
    except AssertionError as error:
        return str(error)
    return ""


def failing_runs(bug: str) -> Iterator[seed_file.SeedFile]:
    for seed in seeds_of(MUTANTS[bug]):
        config = structs.replace(files.draw(files.find(MUTANTS[bug].scenario), seed), planted=bug)
        verdict = run_once(config)[0]
        if verdict.failure is not None:
            yield seed_file.of_verdict(verdict)


def second_memory_that_differs() -> str:
    """E-SECOND: of a memory that counts one entry more than there is."""
    failure = run_beside_ours("working", 0, counts_one_more).failure
    return "" if failure and failure.rule == "second-implementation" else "not seen"


def second_memory_that_forgets() -> str:
    """DET-3: of a memory that saves what it was."""
    failure = run_beside_ours("smoke", 1, saves_what_it_was()).failure
    return "" if failure and failure.rule == "copied-state-continues" else "goes on as if nothing were lost"


def floors_of_core() -> str:
    """ORA-5: a mark that a scenario must reach, and does in a quarter of its runs."""
    scenario, met = files.find("core"), floors.Summary()
    for seed in FLOOR_SEEDS:
        met.add(floors.summary_of(scenario, run_once(files.draw(scenario, seed))[0]))
    mark = "mark core: an entry left"
    return " ".join(what for what in floors.lacking(scenario, met) if what.startswith(mark))


def racing_jobs() -> str:
    """Of stores that lose updates, and of a twin that does not."""
    passed = [store.__name__ for store in LOSING if hunt(store, RACES).small is None]
    accused = [store.__name__ for store in (LockedDict,) if hunt(store, RACES).small]
    return " ".join([*(f"{name} passed" for name in passed), *(f"{name} accused" for name in accused)])


FINDS: dict[Plant, tuple[Callable[[], str], str]] = {
    fault_without_effect: (kinds_show_their_bugs, "storage_refused model_unavailable"),
    crash_keeps_memory: (runs_with_crashes, ""),
    one_stream_for_all: (gate_of_a_run, "stream-independence"),
    oracle_forgives_everything: (kinds_show_their_bugs, "storage_refused"),
    replay_without_faults: (gate_of_a_run, "record-replays"),
    shrink_swaps_failure: (shrunk_failures, "the shrinker kept another failure"),
    nothing_is_compared: (second_memory_that_differs, "not seen"),
    saved_form_unread: (second_memory_that_forgets, "goes on as if nothing were lost"),
    tiers_never_fill: (floors_of_core, "mark core: an entry left for a better one: 0 of 5 runs"),
    jobs_never_pause: (racing_jobs, "InDict passed InFile passed InSqlite passed"),
    locks_let_all_in: (racing_jobs, "LockedDict accused"),
}


@pytest.mark.slow
@pytest.mark.parametrize("find", dict(FINDS.values()), ids=lambda find: find.__name__)
def test_without_a_mistake_nothing_is_found(find: Callable[[], str]) -> None:
    assert find() == ""


@pytest.mark.slow
@pytest.mark.parametrize("plant", FINDS, ids=lambda plant: plant.__name__)
def test_a_mistake_of_the_simulator_is_found(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    find, message = FINDS[plant]
    found = find()
    assert found
    assert message in found
