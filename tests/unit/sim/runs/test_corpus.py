"""Goal: of each failure the smallest run that still fails is kept, and what is mended goes after a while."""

from pathlib import Path

import pytest
from msgspec import structs

from umi_sim.record.items import Deviation
from umi_sim.runs import corpus, replay, runner
from umi_sim.runs.acceptance import NotBlessed, bless
from umi_sim.runs.corpus import NotKept, keep, keep_for_good, replay_kept
from umi_sim.scenario import files as scenario
from umi_sim.seedfile import files as seed_file
from umi_sim.seedfile.files import BadSeedFile, History, SeedFile


@pytest.fixture(scope="module")
def failing() -> SeedFile:
    """A failure with one item more than it needs."""
    found = scenario.find("working")
    for number in range(50):
        config = structs.replace(scenario.draw(found, number), planted="get-alive-at-expiry")
        verdict = runner.run(config)
        if verdict.failure is not None:
            return seed_file.of_verdict(verdict)
    raise AssertionError("the planted bug is not seen")


@pytest.fixture
def folder(own_folder: Path) -> Path:
    return seed_file.EPHEMERAL


def longer(seed: SeedFile) -> SeedFile:
    """The same failure with an item more, whose moment never comes."""
    return structs.replace(seed, items=(*seed.items, Deviation("s999999", "o1", "never")))


def mended(seed: SeedFile) -> SeedFile:
    return structs.replace(seed, config=structs.replace(seed.config, planted=None))


# The ephemeral folder.


def test_the_smallest_run_of_a_failure_is_kept_and_hits_add_up(failing: SeedFile, folder: Path) -> None:
    path = keep(longer(failing), folder)
    shrunk = structs.replace(failing, original=longer(failing).items)
    assert keep(shrunk, folder) == path
    assert keep(longer(failing), folder) == path
    kept = seed_file.read(path)
    assert kept.items == failing.items
    assert kept.history.hits == 3
    assert kept.repro == f"umi-sim replay {path.as_posix()}"


def test_a_run_that_passes_now_is_not_replaced(failing: SeedFile, folder: Path) -> None:
    path = keep(failing, folder)
    fixed = structs.replace(failing, items=failing.items[:1])  # it passes, with the name of the failure
    seed_file.write(path, fixed)
    other = keep(failing, folder)
    assert other != path
    assert (seed_file.read(path).items, seed_file.read(other).items) == (fixed.items, failing.items)
    assert keep(failing, folder) == other
    assert seed_file.read(other).history.hits == 2


def test_a_larger_run_of_something_else_is_not_replaced(failing: SeedFile, folder: Path) -> None:
    """Two bugs can have one fingerprint; only a run that was shrunk to the other one replaces it."""
    path = keep(longer(failing), folder)
    other = keep(failing, folder)
    assert other != path
    assert seed_file.read(path).items == longer(failing).items
    assert keep(structs.replace(failing, original=longer(failing).items), folder) == path
    assert seed_file.read(path).items == failing.items


def test_what_cannot_be_read_is_not_replaced(failing: SeedFile, folder: Path) -> None:
    path = keep(failing, folder)
    path.write_text("{}")
    assert keep(failing, folder) != path
    assert path.read_text() == "{}"


def test_a_file_that_passes_stays_until_it_is_pruned(failing: SeedFile, folder: Path) -> None:
    path = keep(failing, folder)
    assert [each.replayed.what for each in replay_kept(folder) if each.replayed] == ["same failure"]
    seed_file.write(path, mended(failing))
    for passes in range(1, 6):
        (kept,) = replay_kept(folder)
        assert not kept.is_removed
        assert seed_file.read(path).history.passes == passes
    (kept,) = replay_kept(folder, removes=True)
    assert kept.is_removed
    assert not path.exists()


def test_a_failure_in_between_forgets_the_passes(failing: SeedFile, folder: Path) -> None:
    path = folder / "a.json"
    seed_file.write(path, structs.replace(failing, history=History(passes=2)))
    list(replay_kept(folder))
    assert seed_file.read(path).history.passes == 0


def test_what_cannot_be_read_is_reported_and_stays(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "a.json").write_text("{}")
    (kept,) = replay_kept(folder)
    assert (kept.seed, kept.is_removed) == (None, False)
    assert kept.problem.startswith(str(folder / "a.json"))


# The durable folder.


def test_an_open_bug_is_kept_for_good_with_a_ticket_only(failing: SeedFile, folder: Path) -> None:
    path = keep(failing, folder)
    with pytest.raises(NotKept, match="an open bug needs a ticket: --ticket TEXT"):
        keep_for_good(path)
    there = keep_for_good(path, ticket="17", notes="An entry outlives its time by one.")
    assert there == corpus.DURABLE / path.name
    assert seed_file.read(there).history.ticket == "17"
    assert not path.exists()


def test_what_does_not_come_to_what_it_expects_is_not_kept(failing: SeedFile, folder: Path) -> None:
    seed_file.write(Path("mended.json"), mended(failing))
    with pytest.raises(NotKept, match=r"umi-sim bless mended\.json"):
        keep_for_good(Path("mended.json"), ticket="17")
    with pytest.raises(BadSeedFile, match="cannot be read"):
        keep_for_good(Path("absent.json"))


# Bless.


def test_a_failure_that_is_gone_is_expected_to_stay_away(failing: SeedFile) -> None:
    done = bless(mended(failing))
    assert done.changes[0] == "result fail -> pass"
    assert any(change.startswith(f"steps {failing.expect.steps} -> ") for change in done.changes)
    assert done.seed.expect.result == "pass"
    assert done.seed.history.fixed_in
    assert done.seed.failure == failing.failure  # what came back, if it does
    assert replay.replay(done.seed).exit_code == 0
    assert bless(done.seed).is_new is False


def test_a_bug_that_came_back_needs_a_ticket(failing: SeedFile) -> None:
    fixed = bless(mended(failing)).seed
    back = structs.replace(fixed, config=failing.config)
    with pytest.raises(NotBlessed, match="it passed and fails now, "):
        bless(back)
    again = bless(back, "18").seed
    assert (again.expect.result, again.history.ticket, again.history.fixed_in) == ("fail", "18", "")


def test_another_failure_is_not_taken_for_the_recorded_one(failing: SeedFile) -> None:
    stranger = structs.replace(failing, fingerprint="0" * 12)
    with pytest.raises(NotBlessed, match=r"fails in another way than recorded, .*--other"):
        bless(stranger)
    assert bless(stranger, other=True).seed.fingerprint == failing.fingerprint


def test_a_file_edited_by_hand_is_whole_again(failing: SeedFile) -> None:
    done = bless(structs.replace(failing, is_edited=True))
    assert (done.is_new, done.changes, done.seed.is_edited) == (True, (), False)
