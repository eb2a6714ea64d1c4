"""Goal: nothing is found twice: each seed file of the corpus ends as it says, with any generator."""

from pathlib import Path

import pytest
from msgspec import structs

from umi_sim.kernel.prng import Stream
from umi_sim.runs import corpus
from umi_sim.runs.replay import replay
from umi_sim.runs.runner import run_once
from umi_sim.scenario import files as scenario
from umi_sim.seedfile import files as seed_file
from umi_sim.workload import arguments, pools, workloads
from umi_sim.world import generator

CORPUS = sorted((Path(__file__).resolve().parent.parent.parent / "scenarios" / "seeds").glob("*.json"))


def test_the_corpus_is_not_empty() -> None:
    assert CORPUS


def test_an_open_bug_has_a_ticket_and_a_name_of_its_own() -> None:
    for path in CORPUS:
        assert corpus.problem_of(seed_file.read(path)) == "", path


# The generator may change: what is kept is a record, and no record is drawn again.


def failing() -> seed_file.SeedFile:
    """A kept failure, of a planted bug: the bugs of the corpus are mended."""
    found = scenario.find("working")
    drawn = (structs.replace(scenario.draw(found, seed), planted="get-alive-at-expiry") for seed in range(50))
    verdicts = (run_once(config)[0] for config in drawn)
    return seed_file.of_verdict(next(verdict for verdict in verdicts if verdict.failure))


def fresh() -> tuple[object, ...]:
    return run_once(scenario.draw(scenario.find("working"), 3))[0].items


def another_generator(patch: pytest.MonkeyPatch) -> None:
    """Tables in another order, other weights, and a draw more for each request."""
    drawn = workloads.Workload._draw

    def with_a_draw_more(workload: workloads.Workload, stream: Stream) -> object:
        stream.word()
        return drawn(workload, stream)

    patch.setattr(workloads.Workload, "_draw", with_a_draw_more)
    fewer = {name: structs.replace(habit, share=(1, 3)) for name, habit in arguments.HABITS.items()}
    patch.setattr(arguments, "HABITS", fewer)
    patch.setattr(arguments, "habits_of", arguments.habits_of.__wrapped__)  # a cache would outlive the test
    patch.setattr(pools, "KEYS", pools.KEYS[::-1])
    patch.setattr(generator, "AT_ONCE", (1, 7))
    patch.setattr(generator, "LANDING_MS", (2, 1, 0))
    patch.setattr(generator, "ACTIVE_SITES", 1)


def test_the_seed_alone_means_something_else_to_another_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    items = fresh()
    another_generator(monkeypatch)
    assert fresh() != items


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_a_kept_file_replays_as_recorded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that diverges may no longer reach the bug that it guards against.

    Plant that bug, see the file fail relaxed, then `umi-sim bless` it; if it passes, record another run. If
    `umi-sim replay` says that the file does replay as recorded, then the replay asked the generator.
    """
    another_generator(monkeypatch)
    replays_as_recorded(seed_file.read(path))


def test_a_kept_failure_replays_as_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    seed = failing()
    another_generator(monkeypatch)
    replays_as_recorded(seed)


def replays_as_recorded(seed: seed_file.SeedFile) -> None:
    done = replay(seed)
    assert (done.exit_code, done.why) == (0, "as recorded")
    assert done.verdict.skipped == {}
