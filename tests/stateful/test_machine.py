"""Goal: rules in random order keep every promise; a failing example leaves a seed file that replays."""

import unittest
from pathlib import Path

import pytest
from hypothesis import Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from umi_core.messages.requests import OF_MEMORY
from umi_sim.record.items import ClockMove, Fault
from umi_sim.runs.runner import run_once, verdict_of
from umi_sim.scenario.files import find
from umi_sim.seedfile import files as seed_file
from umi_sim.testing.hypothesis_machine import MemoryMachine, machine
from umi_sim.testing.machine_arguments import ARGS

SHORT = settings(max_examples=12, stateful_step_count=15, deadline=None, derandomize=True, database=None)


@pytest.mark.parametrize("scenario", ["working", "smoke"])
def test_the_memory_keeps_its_promises(scenario: str) -> None:
    run_state_machine_as_test(machine(scenario), settings=SHORT)


def test_a_failing_example_leaves_a_seed_file_that_replays(tmp_path: Path) -> None:
    broken = machine("working", mutant="get-alive-at-expiry", folder=tmp_path)
    more = settings(
        SHORT, max_examples=200, stateful_step_count=25, phases=(Phase.generate,), report_multiple_bugs=False
    )
    with pytest.raises(AssertionError, match="umi-sim replay"):
        run_state_machine_as_test(broken, settings=more)
    found = [seed_file.read(path) for path in sorted(tmp_path.glob("*.json"))]
    assert found
    verdict, _ = run_once(found[0].config, found[0].items)
    assert verdict.failure is not None


def test_a_failing_example_is_shrunk_as_any_run_is_and_reported_once(tmp_path: Path) -> None:
    """By the bug that the scenario itself plants; all of its hostile ids are one failure."""
    path = tmp_path / "mine.toml"
    shipped = Path(str(find("sessions").folder), "sessions.toml").read_text()
    path.write_text(shipped.replace("[scenario]\n", '[scenario]\nmutant = "missing-session-succeeds"\n', 1))
    broken = machine(str(path), profile="ci", folder=tmp_path)
    with pytest.raises(AssertionError, match=r"loaded '.*', which was never created here") as raised:
        run_state_machine_as_test(broken, settings=broken.TestCase.settings)
    (found,) = tmp_path.glob("*.json")
    seed = seed_file.read(found)
    assert seed.minimised is not None
    assert (len(seed.items), seed.minimised.one_minimal) == (1, True)
    assert f"  repeat   umi-sim replay {found.as_posix()}\n" in str(raised.value)


def test_a_bug_or_a_profile_that_there_is_not_is_named() -> None:
    with pytest.raises(ValueError, match=r"^nope: no such planted bug; known: get-alive-at-expiry, "):
        machine("calm", mutant="nope")
    with pytest.raises(ValueError, match=r"^night: no such profile; known: dev, ci$"):
        machine("calm", profile="night")


def test_every_request_has_a_rule_and_so_have_the_moments_of_a_run() -> None:
    assert ARGS.keys() == OF_MEMORY.keys()
    assert {"arm_fault", "crash", "heal", "jump_clock"} <= vars(machine("all_faults")).keys()
    assert not {"arm_fault", "crash", "heal", "jump_clock"} & vars(machine("calm")).keys()


def test_a_profile_says_whether_examples_are_fresh() -> None:
    assert machine("calm", profile="ci").TestCase.settings.derandomize
    assert not machine("calm", profile="dev").TestCase.settings.derandomize
    assert machine("calm", profile="dev").TestCase.settings.deadline is None


@pytest.fixture
def life() -> MemoryMachine:
    """A life to be led by hand."""
    return machine("storm")()


def test_a_fault_strikes_one_of_the_next_events(life: MemoryMachine) -> None:
    life.source.arm("storage_refused", after=1)
    for _ in range(3):
        life.issue("remember", 0, {"text": "Alice likes tea."})
    (fault,) = [item for item in life.source.record if isinstance(item, Fault)]
    assert fault.at.startswith("o2/commit#1")
    life.teardown()


def test_a_landing_meets_the_instant_of_an_expiry(life: MemoryMachine) -> None:
    life.issue("set", 0, {"key": "k", "value": b"tea", "ttl_ms": 100})
    assert life.wait_ms((0, -1)) == 99
    assert life.wait_ms((0, 0)) == 100
    assert life.issue("get", 100, {"key": "k"}) is None
    assert life.wait_ms((0, 0)) > 100  # what is over is no instant that matters
    life.teardown()


@pytest.mark.slow
@pytest.mark.parametrize("number", range(2))
def test_the_world_that_must_fail_fails_in_every_test(number: int, tmp_path: Path) -> None:
    broken = machine("canary", folder=tmp_path)
    fresh = settings(broken.TestCase.settings, database=None)
    with pytest.raises(AssertionError, match="alive exactly until its deadline") as raised:
        run_state_machine_as_test(seed(number)(broken), settings=fresh)
    assert "FAIL safety ttl-boundary" in str(raised.value)


NOT_SEEN = (
    (
        "calm",
        "zero-vector-kept",
        "calm shows it: it takes embed_zero, which only a scenario like all_faul",
    ),
    (
        "calm",
        "xml-unescaped",
        "calm shows it: answers is a scenario that shows it; or give it more examples",
    ),
    ("canary", None, "canary shows it: give it more examples, or more steps"),
)


@pytest.mark.parametrize(("scenario", "mutant", "examples"), NOT_SEEN)
def test_a_planted_bug_that_no_example_shows_is_a_failure_too(
    scenario: str, mutant: str | None, examples: str, tmp_path: Path
) -> None:
    """As unittest and pytest run it; nothing is drawn, so nothing is seen."""
    case = machine(scenario, mutant=mutant, folder=tmp_path).TestCase
    case.settings = settings(SHORT, max_examples=1, stateful_step_count=1)
    result = unittest.TestResult()
    case().run(result)
    ((_, failure),) = result.failures
    assert f"is planted, and no example of {examples}" in failure


def test_what_replies_tell_is_taken_up(life: MemoryMachine) -> None:
    created = life.issue("create_session", 0, {})
    life.issue("save_session", 0, {})
    assert life.issue("load_session", 0, {"session_id": created.session_id}) is not None  # type: ignore[attr-defined]
    life.teardown()


def test_an_example_is_a_record_that_replays(life: MemoryMachine) -> None:
    life.source.arm("agent_crash", after=3, choice=5)
    life.issue("remember", 5, {"text": "Alice likes tea."})
    life.source.push(ClockMove("c1", life.world.now_ms, "a", "jump", {"by_ms": 1_000}))
    life.issue("len", 0, {})
    life.teardown()
    again, _ = run_once(life.config, life.source.record)
    assert again.skipped == {}
    assert again.trace_hash == verdict_of(life.run_, None).trace_hash
